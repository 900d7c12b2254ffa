"""Order statistics of long columns: by slices that fit into the processor's cache, without sorting everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

ROWS_AT_ONCE = 2**16
CELL_BITS = 12

Numbers = npt.NDArray[Any]
Place = tuple[Any, int, int]  # the value at a position, the number of values below it, and at most equal to it


def slices(records: int) -> Iterator[slice]:
    """The rows 0 … N - 1 in slices that fit into the cache."""
    for first in range(0, records, ROWS_AT_ONCE):
        yield slice(first, first + ROWS_AT_ONCE)


def parts(values: pl.Series) -> Iterator[tuple[slice, Numbers]]:
    """A column of numbers [N] as slices of rows with their values, without a copy."""
    before = 0
    for chunk in values.get_chunks():
        numbers = chunk.to_numpy()
        for rows in slices(len(numbers)):
            part = numbers[rows]
            yield slice(before, before + len(part)), part
            before += len(part)


def standing_at(values: pl.Series, places: Sequence[int]) -> list[Place]:
    """The values that sorting numbers [N] (without nulls) would put at the positions `places`, with their ranks.

    Whole numbers are counted into cells by their highest bits; only cells that contain a position are sorted.
    """
    if values.dtype.is_float():
        numbers = values.to_numpy()
        there = np.partition(numbers, np.unique(places))[places]
        return [(value, int((numbers < value).sum()), int((numbers <= value).sum())) for value in there]
    counts = np.zeros(2**CELL_BITS, np.int64)
    for _, cells in _celled(values):
        counts += np.bincount(cells.astype(np.intp), minlength=len(counts))
    reached = np.cumsum(counts)
    wanted = np.searchsorted(reached, places, side="right").tolist()
    held: dict[int, list[Numbers]] = {cell: [] for cell in wanted}
    for part, cells in _celled(values):
        for cell, own in held.items():
            own.append(part[cells == cell])
    ordered = {cell: np.sort(np.concatenate(own)) for cell, own in held.items()}
    before = reached - counts
    return [_ranked(ordered[cell], place, int(before[cell])) for place, cell in zip(places, wanted, strict=True)]


def _celled(values: pl.Series) -> Iterator[tuple[Numbers, Numbers]]:
    """Slices of whole numbers [N], and the cell of each: the highest bits of its distance from the minimum."""
    low, high = (int(edge) for edge in (values.min(), values.max()))  # type: ignore[arg-type]
    shift = max(0, (high - low).bit_length() - CELL_BITS)
    for _, part in parts(values):
        distance = (part - part.dtype.type(low)).view(f"u{part.dtype.itemsize}")  # overflow wraps correctly
        yield part, distance >> distance.dtype.type(shift)


def _ranked(ordered: Numbers, place: int, before: int) -> Place:
    value = ordered[place - before]
    less, up_to = (before + int(np.searchsorted(ordered, value, side)) for side in ("left", "right"))
    return value, less, up_to
