"""One order of records that follows from what they hold, so that no draw depends on how they stand in a file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.ranking import Index

Column = npt.NDArray[Any]  # [N] floats, integers or booleans
Hashes = npt.NDArray[np.uint64]


def canonical_order(shared: Sequence[Column], systems: Sequence[Sequence[Column]], records: int) -> Index:
    """Positions [N] of the records in an order that any permutation of the rows leaves as it is.

    Records are sorted by a 64-bit hash of what they hold: one sort, however many columns there are. Records that hold
    the same are exchangeable. In which order the systems are named does not matter either.

    Args:
        shared: columns [N] that all systems share. systems: the columns [N] of each. records: N.
    """
    start = _mixed(shared, np.zeros(records, dtype=np.uint64))
    # A sum of hashes tells systems apart whatever they are called and however the rows are ordered.
    hashes = sorted((_mixed(columns, start) for columns in systems), key=lambda each: int(np.add.reduce(each)))
    return np.argsort(_mixed(hashes, start))


def _mixed(columns: Iterable[Column], state: Hashes) -> Hashes:
    for column in columns:
        state = _scrambled(state ^ _scrambled(_bits(column)))
    return state


def _bits(column: Column) -> Hashes:
    if column.dtype.kind == "f":
        # Adding zero makes minus zero, which equals zero, the same bits.
        return (column.astype(np.float64) + 0.0).view(np.uint64)
    return column.astype(np.uint64 if column.dtype.kind == "u" else np.int64).view(np.uint64)


def _scrambled(bits: Hashes) -> Hashes:
    """The output function of SplitMix64 (Steele, Lea & Flood 2014, Figure 16); sums and products wrap around."""
    bits = bits + np.uint64(0x9E3779B97F4A7C15)
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
