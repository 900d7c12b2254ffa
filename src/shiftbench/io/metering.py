"""The cost of work: seconds, CPU seconds and memory, of this process, of its children, and of jobs elsewhere."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

try:
    import resource
except ImportError:  # not on Windows, where memory is not measured
    resource = None  # type: ignore[assignment]

SAMPLED_S = 0.1  # between looks at memory: a peak that is shorter may be missed, except for this process alone
REPORT_S = 1.0  # between reports, so that a killed process loses no more
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
CHILDREN: set[int] = set()
"""The ids of the processes that work for this one, while they run; see `executor.child`."""
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


@dataclass(frozen=True)
class Used:
    """The cost of a piece of work.

    seconds: by the clock. cpu_seconds: over all threads, processes and jobs. peak_bytes: the most memory that this
    process and its children held at once, or one job elsewhere; added_bytes: how much more that is than this process
    held when the work began.
    """

    seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    added_bytes: int = 0

    def __add__(self, other: Used) -> Used:
        """Both, one after the other: the sum of the times, the larger of the peaks."""
        return Used(
            self.seconds + other.seconds,
            self.cpu_seconds + other.cpu_seconds,
            max(self.peak_bytes, other.peak_bytes),
            max(self.added_bytes, other.added_bytes),
        )


class Meter:
    """Measures from its creation on; peaks are those of the moments at which `look` was called."""

    def __init__(self) -> None:
        self._began, self._cpu, self._held = time.perf_counter(), _cpu_seconds(), _held()
        self._highest, self._peak, self._elsewhere = highest(), self._held, Used()

    def look(self) -> None:
        """Note how much memory is held now."""
        self._peak = max(self._peak, _held())

    def add(self, used: Used) -> None:
        """Add what a job elsewhere took, except for its time by the clock."""
        self._elsewhere += Used(0.0, used.cpu_seconds, used.peak_bytes, used.added_bytes)

    @property
    def used(self) -> Used:
        """The resources used so far."""
        self.look()
        if highest() > self._highest:  # the system noted a new peak of this process, however short
            self._peak = max(self._peak, highest())
        here = Used(
            time.perf_counter() - self._began, _cpu_seconds() - self._cpu, self._peak, max(0, self._peak - self._held)
        )
        return here + self._elsewhere


_ACTIVE: list[Meter] = []


@contextmanager
def measured(tell: Callable[[Used], None]) -> Iterator[None]:
    """Measure what is done in this block; `tell` is called every second or so, from a thread, and at the end.

    Errors of the file system in these calls are ignored: no work shall fail because its cost cannot be noted.
    """
    meter, ended = Meter(), threading.Event()

    def watch() -> None:
        reported = time.perf_counter()
        while not ended.wait(SAMPLED_S):
            meter.look()
            if time.perf_counter() - reported > REPORT_S:
                reported = time.perf_counter()
                with suppress(OSError):
                    tell(meter.used)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    _ACTIVE.append(meter)
    try:
        yield
    finally:
        _ACTIVE.remove(meter)
        ended.set()
        watcher.join()
        with suppress(OSError):
            tell(meter.used)


def add(used: Used) -> None:
    """Add what a job elsewhere took to all that is being measured."""
    for meter in _ACTIVE:
        meter.add(used)


def highest() -> int:
    """The most memory that this process has ever held at once, in bytes; 0 if the system does not report it."""
    with suppress(OSError, IndexError, ValueError):
        return 1024 * int(Path("/proc/self/status").read_text().partition("VmHWM:")[2].split()[0])
    if resource is None:
        return 0
    found = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return found if sys.platform == "darwin" else 1024 * found


def cpu_seconds() -> float:
    """CPU seconds of this process and of its children that have ended."""
    ended = os.times()
    return time.process_time() + ended.children_user + ended.children_system


def _cpu_seconds() -> float:
    return cpu_seconds() + sum(seconds for _, seconds in _children())


def _held() -> int:
    """The memory that this process and its children hold now, in bytes; pages that they share count for each."""
    try:
        own = int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except OSError:  # not on Linux
        return highest()
    return own + sum(held for held, _ in _children())


def _children() -> Iterator[tuple[int, float]]:
    """Memory in bytes and CPU seconds of each running child, if the system reports them."""
    for child in tuple(CHILDREN):
        with suppress(OSError, IndexError, ValueError):
            fields = Path("/proc", str(child), "stat").read_text().rpartition(")")[2].split()
            yield int(fields[21]) * PAGE, (int(fields[11]) + int(fields[12])) / TICKS
