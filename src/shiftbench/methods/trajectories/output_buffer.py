"""Preallocated prediction arrays, with a memory check."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError
from shiftbench.executor import memory

RESERVE = 500 * 2**20  # bytes for networks, the blocks being computed, and libraries
CHECKED = 1  # byte for each number, while all are checked together

Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]


class OutputBuffer:
    """Two arrays of N requests, filled block by block: a second copy might not fit.

    Both lie in memory request by request, and are read with the members first.

    Args:
        records: N.
        trajectories: the shape of one request's trajectories, members first, float32.
        numbers: the shape of its scores or weights, members first, float64.

    Raises:
        ShiftbenchError: if there is not enough memory, saying how many requests fit.
    """

    def __init__(self, records: int, trajectories: tuple[int, ...], numbers: tuple[int, ...]) -> None:
        _require_memory(records, each=needed(trajectories, numbers))
        self._trajectories: Singles = np.empty((records, *trajectories), np.float32)
        self._numbers: Doubles = np.empty((records, *numbers), np.float64)
        self.done = 0

    def put(self, trajectories: Singles, numbers: Doubles) -> None:
        """Write the next block: trajectories [B, M, …] and numbers [B, M, …]."""
        rows = slice(self.done, self.done + len(trajectories))
        self._trajectories[rows], self._numbers[rows] = trajectories, numbers
        self.done = rows.stop

    @property
    def members_first(self) -> tuple[Singles, Doubles]:
        """Trajectories [M, N, …] and numbers [M, N, …], without a copy."""
        return np.moveaxis(self._trajectories, 1, 0), np.moveaxis(self._numbers, 1, 0)


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
        f"of memory, found {there / 2**30:.1f} GiB available. Predict fewer at a time (`dataset.select(rows)`; at "
        f"most {most:,} fit), or make fewer plans or modes."
    )
