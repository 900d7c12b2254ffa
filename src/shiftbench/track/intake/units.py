"""Checks whether a column's values fit its unit, and if not, which other unit they suggest."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

MOST_OUTSIDE = 0.05  # share of a column's values; more than that are not isolated errors
FEWEST_OUTSIDE = 2
FEWEST_FOR_MEDIAN = 20  # records; a median of fewer may be that of one stormy hour

Quantiles = tuple[float, float, float]
"""The 5 %, 50 % and 95 % quantiles of a column."""
PLACES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Range:
    """The plausible range of a column's values in its unit, and that of their median."""

    low: float
    high: float
    median_low: float
    median_high: float


@dataclass(frozen=True)
class Mistake:
    """A likely confusion of units: value · factor + offset would be correct; `advice` describes the conversion."""

    unit: str
    factor: float
    advice: str
    offset: float = 0.0


@dataclass(frozen=True)
class Doubts:
    """Sentences about columns: `columns` are implausible as a whole, `values` are isolated errors or uncertain."""

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Count:
    """The number of values of a column, of those in each range, and the first value outside."""

    all: int
    outside: int
    under: int
    over: int
    first: float | None

    @property
    def misplaced(self) -> bool:
        """Whether the median is outside its range."""
        return 2 * max(self.under, self.over) > self.all

    @property
    def outside_too_often(self) -> bool:
        """Whether too many values are outside to be isolated errors."""
        return self.outside >= FEWEST_OUTSIDE and self.outside > MOST_OUTSIDE * self.all


def counted(values: pl.Expr, expected: Range) -> dict[str, pl.Expr]:
    """The fields of a `Count` of a column [N]; missing values are not counted."""
    outside = (values < expected.low) | (values > expected.high)
    return {
        "all": values.count(),
        "outside": outside.sum(),
        "under": (values < expected.median_low).sum(),
        "over": (values > expected.median_high).sum(),
        "first": values.filter(outside).first(),
    }


def quantiles(values: pl.Series) -> Quantiles:
    """The quantiles at `PLACES` of a column [N] without missing values."""
    low, median, high = (float(values.quantile(place, "nearest") or 0.0) for place in PLACES)
    return low, median, high


def mistake(known: Iterable[Mistake], expected: Range, found: Quantiles) -> Mistake | None:
    """The first of the known mistakes that brings a column into its range, or None."""
    for entry in known:
        low, median, high = (value * entry.factor + entry.offset for value in found)
        inside = expected.low <= low and high <= expected.high
        if inside and expected.median_low <= median <= expected.median_high:
            return entry
    return None


def looks(found: Mistake | None) -> str:
    """The end of a sentence about a column: the unit it seems to have, and advice."""
    return f": it looks like {found.unit}. {found.advice}." if found else ". Check its unit."


def median_elsewhere(name: str, unit: str, expected: Range, median: float, *, end: str) -> str:
    """A sentence about a column whose median is outside its range."""
    wanted = f"a median from {expected.median_low:,g} to {expected.median_high:,g} {unit}"
    return f"column {name!r}: expected {wanted}, found {median:,g}{end}"


def values_outside(name: str, unit: str, expected: Range, count: Count, *, end: str = ".") -> str:
    """A sentence about a column with values outside its range."""
    wanted = f"values from {expected.low:,g} to {expected.high:,g} {unit}"
    found = f"{count.first:,g} ({count.outside:,} of {count.all:,} outside)"
    return f"column {name!r}: expected {wanted}, found {found}{end}"
