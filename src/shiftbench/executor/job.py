"""What is to be done, as plain text that every process understands, and what becomes of an item."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib import import_module

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError

JOB = "job.json"  # a job for the tasks of a Slurm array
# Items are done side by side, so each of them keeps to one thread.
ONE_THREAD = dict.fromkeys(
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS", "OPENCV_FOR_THREADS_NUM"), "1"
)


@dataclass(frozen=True)
class Job:
    """Items 0 … `items` − 1 of the work `work`, "module:function", called with `argument` and an item's number.

    The function returns nothing: it leaves its result in files, whole or not at all, and skips what is there already.

    Raises:
        SettingsError: if `work` or `items` is of another form.
    """

    work: str
    argument: str
    items: int

    def __post_init__(self) -> None:
        module, _, function = self.work.partition(":") if isinstance(self.work, str) else ("", "", "")
        if not (module and function.isidentifier()):
            raise SettingsError(f"work: expected 'module:function', found {self.work!r}.")
        if not isinstance(self.items, int) or self.items < 0:
            raise SettingsError(f"items: expected a whole number from 0 on, found {self.items!r}.")

    def done(self, number: int) -> Reply:
        """Do one item here. Whatever goes wrong is in the reply."""
        module, _, function = self.work.partition(":")
        try:
            getattr(import_module(module), function)(self.argument, number)
        except MissingExtraError as error:
            return Reply(number, error.problems, "extra")
        except ShiftbenchError as error:
            return Reply(number, error.problems or (str(error),))
        except Exception as error:
            return Reply(number, (f"{type(error).__name__}: {error}",), "failure")
        return Reply(number)


@dataclass(frozen=True)
class Reply:
    """What became of an item: `problems` of its input; `fatal` says if they are not its input's ("extra", "failure").

    "extra": a library is missing; "failure": anything else, such as a full disk or a process that died.
    """

    number: int
    problems: tuple[str, ...] = ()
    fatal: str = ""


def cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def require_count(name: str, value: int | None) -> None:
    """Make sure that a setting is None or a whole number from 1 on.

    Raises:
        SettingsError: if it is not.
    """
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise SettingsError(f"{name}: expected a whole number from 1 on, found {value!r}.")
