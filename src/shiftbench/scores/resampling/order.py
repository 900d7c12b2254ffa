"""An order of records that depends only on their content, so that no draw depends on the order of a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.scores.ranking import Index

Column = npt.NDArray[Any]  # [N] floats, integers or booleans
Hashes = npt.NDArray[np.uint64]


def canonical_order(
    shared: Sequence[Column], systems: Sequence[Sequence[Column]], records: int, *, first: Column | None = None
) -> Index:
    """Positions [N] of the records in an order that is invariant to permutations of the rows.

    Records are sorted by a 64-bit hash of their content: one sort, however many columns there are. Records with equal
    content are exchangeable. The order of the systems does not matter either.

    Args:
        shared: columns [N] that all systems share. systems: the columns [N] of each. records: N.
        first: a column [N] by which records are sorted first, and by their content where it is equal.
    """
    start = _mixed(shared, np.zeros(records, dtype=np.uint64))
    # A sum of hashes distinguishes systems whatever their names and the order of the rows.
    hashes = sorted((_mixed(columns, start) for columns in systems), key=lambda each: int(np.add.reduce(each)))
    content = _mixed(hashes, start)
    return np.argsort(content) if first is None else np.lexsort((content, _mixed([first], np.zeros_like(content))))


def _mixed(columns: Iterable[Column], state: Hashes) -> Hashes:
    for column in columns:
        state = _scrambled(state ^ _scrambled(_bits(column)))
    return state


def _bits(column: Column) -> Hashes:
    if column.dtype.kind == "f":
        # Adding zero gives minus zero the bits of zero, which it equals.
        return (column.astype(np.float64) + 0.0).view(np.uint64)
    return column.astype(np.uint64 if column.dtype.kind == "u" else np.int64).view(np.uint64)


def _scrambled(bits: Hashes) -> Hashes:
    """The output function of SplitMix64 (Steele, Lea & Flood 2014, Figure 16); sums and products wrap around."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    moved = np.empty_like(bits)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits ^= np.right_shift(bits, np.uint64(shift), out=moved)
        bits *= np.uint64(factor)
    bits ^= np.right_shift(bits, np.uint64(31), out=moved)
    return bits
