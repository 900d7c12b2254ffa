"""Whole numbers and decimals of more digits than float64 keeps: their differences, and whether they become ties."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from shiftbench.check import Vector

LARGEST_EXACT = 2**53  # of whole numbers, up to which float64 holds every one


def beyond(column: pl.Series) -> bool:
    """Whether a column [N] of integers or decimals holds some of which float64 may drop the last digits."""
    if not (column.dtype.is_integer() or column.dtype.is_decimal()) or column.null_count() == len(column):
        return False
    ends: Any = (column.min(), column.max())
    scale = column.dtype.scale if isinstance(column.dtype, pl.Decimal) else 0
    return any(abs(Fraction(end)) * 10**scale > LARGEST_EXACT for end in ends)


def differences(one: pl.Series, two: pl.Series) -> Vector:
    """one - two [N] of two columns of finite numbers; exact until it is rounded to float64 where digits matter."""
    if not (beyond(one) or beyond(two)):
        with np.errstate(over="ignore"):
            found: Vector = one.cast(pl.Float64).to_numpy() - two.cast(pl.Float64).to_numpy()
        return found
    exact: Any = int if one.dtype.is_integer() and two.dtype.is_integer() else Fraction
    return np.array([float(exact(a) - exact(b)) for a, b in zip(one.to_list(), two.to_list(), strict=True)])


def ties(column: pl.Series, values: Vector) -> str:
    """What is wrong if different numbers of a column are the same as float64 `values` [N]; "" if none are."""
    if not beyond(column) or (different := column.n_unique()) == (left := len(np.unique(values))):
        return ""
    return (
        f"column {column.name!r}: expected numbers that double precision tells apart, found {different:,} different "
        f"ones, some beyond 2^53, that become {left:,}. Subtract what they have in common, or write their ranks."
    )
