"""Positions of values of records of different length that are stored one record after the other."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from shiftbench.ensembles.ensemble import Index, Key


def offsets(lengths: npt.NDArray[np.integer]) -> Index:
    """The start of each of N records, and the end of the last one [N+1]."""
    found = np.zeros(len(lengths) + 1, np.int64)
    np.cumsum(lengths, out=found[1:])
    return found


def places(lengths: npt.NDArray[np.integer], rows: Key) -> Key:
    """The positions of the values of these records: for consecutive records a slice, which avoids a copy.

    Raises:
        IndexError: if a record is out of range.
    """
    bounds = offsets(lengths)
    if isinstance(rows, slice) and (chosen := range(len(lengths))[rows]).step == 1:
        return slice(int(bounds[chosen.start]), int(bounds[max(chosen.start, chosen.stop)]))
    kept = np.arange(len(lengths))[rows]
    starts = offsets(lengths[kept])
    return np.repeat(bounds[kept] - starts[:-1], lengths[kept]) + np.arange(starts[-1])


def block_starts(lengths: npt.NDArray[np.integer], most: int) -> Iterator[int]:
    """The first record of each block of at most `most` values, or of a single larger record."""
    bounds, start = offsets(lengths), 0
    while start < len(lengths):
        yield start
        start = max(start + 1, int(np.searchsorted(bounds, bounds[start] + most, side="right")) - 1)


def length_problems(name: str, lengths: npt.NDArray[np.integer], found: int, of: str) -> list[str]:
    """Problems of lengths [N], or shapes [N, R], that should add up to the number of values found."""
    if not lengths.size:  # already reported
        return []
    if lengths.min() < 1:
        return [f"{name}: expected numbers >= 1, found {lengths.min()}."]
    total = int(lengths.reshape(len(lengths), -1).prod(axis=1).sum())
    if total != found:
        return [f"{name}: expected {found:,} {of} in all, as there are, found {total:,}."]
    return []
