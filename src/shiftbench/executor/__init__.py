"""Work in many pieces, done by this process, by others, by a Ray cluster or by the tasks of a Slurm array.

A piece of work leaves its result in a file of its own, so that all ways give the same, and what is done stays done.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.executor import processes, ray, serial, slurm
from shiftbench.executor.job import Job, Reply, require_count

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["EXECUTORS", "Job", "run", "slurm"]

EXECUTORS = {"serial": serial.replies, "processes": processes.replies, "ray": ray.replies}
"""Name → (job, workers, address) → what becomes of each item, in the order in which they end."""
LISTED = 20


def run(
    job: Job,
    *,
    name: str = "processes",
    workers: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    address: str | None = None,
) -> None:
    """Do all items of a job. Those that fail for their input's sake keep no other from being done.

    Args:
        job: the work; every item leaves its result in files.
        name: "serial" (in this process), "processes", or "ray".
        workers: how many items at a time; None for one on each core, or for all that a Ray cluster has.
        progress: told how many items are done, and how many there are.
        address: of a Ray cluster that is there already; None for one on this machine, for this job alone.

    Raises:
        ShiftbenchError: with the problems of all items; at once if a worker dies or an item fails for another reason.
        MissingExtraError: if an item or the executor lacks a library.
        UnknownNameError, SettingsError: for an unknown executor or an invalid number of workers.
    """
    if name not in EXECUTORS:
        raise UnknownNameError("executor", name, EXECUTORS)
    require_count("workers", workers)
    if address is not None and name != "ray":
        raise SettingsError(f"address: expected none, for only Ray has clusters, found {address!r} for {name}.")
    problems: dict[int, tuple[str, ...]] = {}
    if not job.items:
        return
    with closing(EXECUTORS[name](job, workers, address)) as replies:
        for done, reply in enumerate(replies, 1):
            _stop_if_fatal(reply)
            problems[reply.number] = reply.problems
            if progress:
                progress(done, job.items)
    _tell([problem for number in sorted(problems) for problem in problems[number]])


def _stop_if_fatal(reply: Reply) -> None:
    if reply.fatal == "extra":
        raise MissingExtraError(*reply.problems)
    if reply.fatal:
        raise ShiftbenchError(*(f"item {reply.number}: expected to be done, found {each}" for each in reply.problems))


def _tell(problems: list[str]) -> None:
    if problems:
        more = [f"… and {len(problems) - LISTED:,} more."] if len(problems) > LISTED else []
        raise ShiftbenchError(*problems[:LISTED], *more)
