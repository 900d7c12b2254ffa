"""Indices of the requests asked for: numbers, or one flag for each."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError

Rows = npt.NDArray[np.int64]


def row_numbers(rows: Any, count: int) -> Rows:
    """Rows [B] among `count` requests as numbers, from numbers in any order or `count` flags.

    Raises:
        ArrayError: for invalid rows.
    """
    expected = f"rows: expected whole numbers from 0 to {count - 1}, or {count} flags"
    try:
        asked = np.asarray(rows)
    except ValueError:
        raise ArrayError(f"{expected}, found lists of different lengths.") from None
    if asked.dtype == np.bool_ and asked.shape == (count,):
        asked = np.flatnonzero(asked)
    if asked.ndim == 1 and not asked.size:
        return np.empty(0, np.int64)
    whole = asked.dtype.kind in "iu"
    if asked.ndim != 1 or not whole or asked.min() < 0 or asked.max() >= count:
        found = f"{asked.min()} to {asked.max()}" if whole and asked.size else str(asked.dtype)
        raise ArrayError(f"{expected}, found {found} of shape {asked.shape}.")
    return asked.astype(np.int64)
