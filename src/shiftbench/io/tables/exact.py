"""Whole numbers and decimals with more digits than float64 keeps: their differences, and ties from rounding."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.check import Vector

LARGEST_EXACT = 2**53  # float64 represents all whole numbers up to this one


def beyond(column: pl.Series) -> bool:
    """Whether a column [N] of integers or decimals contains any whose last digits float64 may drop."""
    if not (column.dtype.is_integer() or column.dtype.is_decimal()) or column.null_count() == len(column):
        return False
    ends: Any = (column.min(), column.max())
    scale = column.dtype.scale if isinstance(column.dtype, pl.Decimal) else 0
    return any(abs(Fraction(end)) * 10**scale > LARGEST_EXACT for end in ends)


def array(column: pl.Series) -> npt.NDArray[Any]:
    """The values [N] as an array: numbers of a type that NumPy lacks (128 bits, decimals) as float64."""
    lacking = column.dtype in (pl.Int128, pl.UInt128) or column.dtype.is_decimal()
    return (column.cast(pl.Float64) if lacking else column).to_numpy()


def differences(one: pl.Series, two: pl.Series) -> Vector:
    """one - two [N] of two columns of finite numbers; where digits matter, exact before rounding to float64."""
    if not (beyond(one) or beyond(two)):
        with np.errstate(over="ignore"):
            found: Vector = one.cast(pl.Float64).to_numpy() - two.cast(pl.Float64).to_numpy()
        return found
    exact: Any = int if one.dtype.is_integer() and two.dtype.is_integer() else Fraction
    return np.array([float(exact(a) - exact(b)) for a, b in zip(one.to_list(), two.to_list(), strict=True)])


def ties(column: pl.Series, values: Vector) -> str:
    """The problem of different numbers that become equal as float64 `values` [N]; "" if there are none."""
    if not beyond(column) or (different := column.n_unique()) == (left := len(np.unique(values))):
        return ""
    return (
        f"column {column.name!r}: expected numbers that double precision distinguishes, found {different:,} different "
        f"ones, some beyond 2^53, that become {left:,}. Subtract what they have in common, or write their ranks."
    )
