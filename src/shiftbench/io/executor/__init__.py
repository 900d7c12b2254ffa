"""Runs work in many items: in this process, in others, on a Ray cluster or in the tasks of a Slurm array.

Each item writes its result to a file of its own, so that all executors give the same, and finished items are kept.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from shiftbench.errors import MissingExtraError, ShiftbenchError
from shiftbench.io import metering
from shiftbench.io.executor import processes, ray, slurm
from shiftbench.io.executor.job import Executor, Job, Reply
from shiftbench.io.metering import Used

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

__all__ = ["EXECUTORS", "Executor", "Job", "current", "require_shared", "run", "slurm", "using"]


def _in_order(job: Job, _executor: Executor) -> Generator[Reply, None, None]:
    """Do the items in this process, one after another."""
    for number in range(job.items):
        yield job.done(number)


EXECUTORS = {"serial": _in_order, "processes": processes.replies, "ray": ray.replies, "slurm": slurm.replies}
"""Name → (job, executor) → what becomes of each item, in the order in which they end."""
LISTED = 20
USUAL = Executor()
_CURRENT: ContextVar[Executor] = ContextVar("executor", default=USUAL)


@contextmanager
def using(executor: Executor) -> Iterator[None]:
    """Let what is fitted and predicted in this block be done by an executor; a cluster is joined once."""
    token = _CURRENT.set(executor)
    try:
        with ray.connected():
            yield
    finally:
        _CURRENT.reset(token)


def current() -> Executor:
    """The executor of the innermost `using`; by default processes of this machine."""
    return _CURRENT.get()


def require_shared(executor: Executor, folders: Sequence[Path]) -> None:
    """Check that an executor is available, and that its workers run this package and see the folders.

    The first folder is written to. Nothing is done.

    Raises:
        MissingExtraError, SettingsError: with all that is wrong, node by node, and what to do.
    """
    if not executor.elsewhere:
        return
    made = not folders[0].exists()
    folders[0].mkdir(parents=True, exist_ok=True)
    try:
        job = Job("shiftbench.io.executor:run", "", 0, tuple(str(folder.absolute()) for folder in folders))
        with closing(EXECUTORS[executor.name](job, executor)) as replies:
            list(replies)
    finally:
        if made:
            folders[0].rmdir()


def run(
    job: Job,
    executor: Executor,
    *,
    progress: Callable[[int, int], None] | None = None,
    ended: Callable[[int], None] | None = None,
) -> None:
    """Do all items of a job. Items with invalid input do not prevent others from being done.

    Args:
        job: the work; every item writes its result to files.
        executor: where the items run.
        progress: called with the numbers of finished and of all items.
        ended: called with the number of each item that was done without a problem.

    Raises:
        ShiftbenchError: with the problems of all items; at once if a worker dies or an item fails for another reason.
        MissingExtraError: if an item or the executor lacks a library.
        SettingsError: if the executor is not available, or its workers lack what the job needs.
    """
    problems: dict[int, tuple[str, ...]] = {}
    if not job.items:
        return
    with closing(EXECUTORS[executor.name](job, executor)) as replies:
        for done, reply in enumerate(replies, 1):
            _stop_if_fatal(reply)
            problems[reply.number] = reply.problems
            if executor.elsewhere and reply.used:  # the processes of this machine are measured from here
                cpu_seconds, peak = reply.used
                metering.add(Used(0.0, cpu_seconds, int(peak)))
            if ended and not reply.problems:
                ended(reply.number)
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
