"""Room for what is said about many requests, and whether there is so much, told before anything is computed."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError
from shiftbench.executor import memory

RESERVE = 500 * 2**20  # bytes for networks, the blocks at work, and libraries
CHECKED = 1  # byte for each number, while all are checked together

Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class Room:
    """Two arrays of N requests, filled block by block: a second copy might not fit.

    Args:
        records: N.
        trajectories: the shape of one request's trajectories, float32.
        numbers: the shape of its scores or weights, float64.

    Raises:
        ShiftbenchError: if there is not enough memory, saying how many requests fit.
    """

    def __init__(self, records: int, trajectories: tuple[int, ...], numbers: tuple[int, ...]) -> None:
        _require_memory(records, each=needed(trajectories, numbers))
        self.trajectories: Singles = np.empty((records, *trajectories), np.float32)
        self.numbers: Doubles = np.empty((records, *numbers), np.float64)
        self.done = 0

    def put(self, trajectories: Singles, numbers: Doubles) -> None:
        """Put what is said about the next block there."""
        rows = slice(self.done, self.done + len(trajectories))
        self.trajectories[rows], self.numbers[rows] = trajectories, numbers
        self.done = rows.stop


def needed(trajectories: tuple[int, ...], numbers: tuple[int, ...]) -> int:
    """Bytes that one request takes."""
    return math.prod(trajectories) * (4 + CHECKED) + math.prod(numbers) * (8 + CHECKED)


def _require_memory(records: int, *, each: int) -> None:
    there = memory.available()
    if there is None or records * each + RESERVE <= there:
        return
    most = max(0, there - RESERVE) // each
    raise ShiftbenchError(
        f"{records:,} requests of {each:,} bytes: expected to need about {(records * each + RESERVE) / 2**30:.1f} GiB "
        f"of memory, found {there / 2**30:.1f} GiB available. Predict fewer at a time (`situations.select(rows)`; at "
        f"most {most:,} fit), or make fewer plans or modes."
    )
