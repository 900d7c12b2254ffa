"""Time that never goes back, whatever a clock does."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def steady() -> int:
    """Microseconds of a clock that nobody sets."""
    return time.monotonic_ns() // 1_000


class Moments:
    """A clock that is set back goes on from where it was, at its pace, until the clock is ahead of it again.

    Moments are microseconds since 1970 UTC. Safe for several threads.
    """

    def __init__(self, clock: Callable[[], int], steady: Callable[[], int] = steady) -> None:
        self.clock, self._steady, self._lock = clock, steady, threading.Lock()
        self._wall, self._pace, self._ahead = clock(), steady(), 0

    def now(self) -> int:
        """The moment."""
        with self._lock:
            wall, pace = self.clock(), self._steady()
            step, elapsed = wall - self._wall, pace - self._pace
            if step < 0:  # set back
                self._ahead += elapsed - step
            elif self._ahead:  # set forward again
                self._ahead = max(0, self._ahead - max(0, step - elapsed))
            self._wall, self._pace = wall, pace
            return wall + self._ahead

    def raised(self, seen: int) -> int:
        """The moment, which is not before one that somebody else has seen."""
        now = self.now()
        if seen > now:
            with self._lock:
                self._ahead += seen - now
        return max(now, seen)

    def forget(self) -> None:
        """Follow the clock again, wherever it is."""
        with self._lock:
            self._wall, self._pace, self._ahead = self.clock(), self._steady(), 0
