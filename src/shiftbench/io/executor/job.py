"""The description of a job, as plain text that can be sent to any process, and replies for its items."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from importlib import import_module

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.io import files, metering

JOB = "job.json"  # a job for the tasks of a Slurm array
REPLY = "reply-{}.json"  # the reply for one of its items
# Items run in parallel, so each of them uses one thread.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)


NAMES = ("serial", "processes", "ray", "slurm")
LOCAL = "local"  # the address of a cluster that is started for one job
ELSEWHERE = ("ray", "slurm")  # executors whose workers may be on other machines


@dataclass(frozen=True)
class Executor:
    """Where the items of a job run.

    Attributes:
        name: one of `NAMES`.
        workers: the number of items at a time; None for one on each core, or for all that a cluster has.
        gpus: the number of GPUs reserved for each item; with 0, items see the GPUs that the executor shows them.
        address: of a Ray cluster, HOST:PORT, or "local" for one that is made for the job alone; if None, that of
            RAY_ADDRESS or one started on this machine, else "local".

    Raises:
        UnknownNameError, SettingsError: for an unknown executor, or invalid numbers or addresses.
    """

    name: str = "processes"
    workers: int | None = None
    gpus: int = 0
    address: str | None = None

    def __post_init__(self) -> None:
        if self.name not in NAMES:
            raise UnknownNameError("executor", self.name, NAMES)
        require_count("workers", self.workers)
        if isinstance(self.gpus, bool) or not isinstance(self.gpus, int) or self.gpus < 0:
            raise SettingsError(f"gpus: expected a whole number from 0 on, found {self.gpus!r}.")
        complete = self.address in (None, LOCAL) or self.address.rpartition(":")[2].isdecimal()
        if not complete or (self.address is not None and self.name != "ray"):
            raise SettingsError(
                f"executor {self.name}: expected ray=HOST:PORT or ray=local for Ray, and no address for other "
                f"executors, found {self.address!r}."
            )

    @classmethod
    def of(cls, text: str, *, workers: int | None = None, gpus: int = 0) -> Executor:
        """The executor of a name, of "ray=HOST:PORT" or of "ray=local"."""
        name, sign, address = text.partition("=")
        return cls(name, workers, gpus, address if sign else None)

    @property
    def elsewhere(self) -> bool:
        """Whether items may be done on other machines, which see only shared folders."""
        return self.name in ELSEWHERE

    @property
    def spreads(self) -> bool:
        """Whether items gain more from the executor than from threads here: with other machines, or several GPUs."""
        return self.elsewhere or (self.name == "processes" and self.gpus > 0)


@dataclass(frozen=True)
class Job:
    """Items 0 … `items` − 1 of the work `work`, "module:function", called with `argument` and an item's number.

    The function returns nothing: it writes its result to files, whole or not at all, and skips finished results.
    `shared` are folders that all workers must see; the first can be written to.

    Raises:
        SettingsError: if `work` or `items` is of another form.
    """

    work: str
    argument: str
    items: int
    shared: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        module, _, function = self.work.partition(":") if isinstance(self.work, str) else ("", "", "")
        if not (module and function.isidentifier()):
            raise SettingsError(f"work: expected 'module:function', found {self.work!r}.")
        if not isinstance(self.items, int) or self.items < 0:
            raise SettingsError(f"items: expected a whole number from 0 on, found {self.items!r}.")

    def done(self, number: int) -> Reply:
        """Do one item in this process. All errors are in the reply."""
        module, _, function = self.work.partition(":")
        before = metering.cpu_seconds()
        try:
            getattr(import_module(module), function)(self.argument, number)
        except MissingExtraError as error:
            return Reply(number, error.problems, "extra")
        except ShiftbenchError as error:
            return Reply(number, error.problems or (str(error),))
        except Exception as error:
            found = files.without_room(error) or f"{type(error).__name__}: {error}"
            return Reply(number, (found,), "failure")
        return Reply(number, used=(metering.cpu_seconds() - before, metering.highest()))


@dataclass(frozen=True)
class Reply:
    """The outcome of an item: `problems` of its input; `fatal` if they have another cause ("extra", "failure").

    "extra": a library is missing; "failure": anything else, such as a full disk or a process that died.
    used: the CPU seconds that it took, and the most bytes of memory that its process has ever held; empty if unknown.
    """

    number: int
    problems: tuple[str, ...] = ()
    fatal: str = ""
    used: tuple[float, ...] = field(default=(), compare=False)


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_count(name: str, value: int | None) -> None:
    """Check that a setting is None or a whole number from 1 on.

    Raises:
        SettingsError: if it is not.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise SettingsError(f"{name}: expected a whole number from 1 on, found {value!r}.")
