"""Whether a column lies where its unit says, and if not, which other unit it looks like."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

MOST_OUTSIDE = 0.05  # of a column's values: more are no slips
FEWEST_OUTSIDE = 2
FEWEST_FOR_MEDIAN = 20  # records; the median of fewer may be that of one stormy hour

Quantiles = tuple[float, float, float]
"""The 5 %, 50 % and 95 % quantiles of a column as it was found."""
PLACES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Range:
    """Where the values of a column lie, in its unit: what single ones cannot leave, and what their median cannot."""

    low: float
    high: float
    median_low: float
    median_high: float


@dataclass(frozen=True)
class Mistake:
    """A unit that is taken for another: value · factor + offset would be right; `advice` says so in words."""

    unit: str
    factor: float
    advice: str
    offset: float = 0.0


@dataclass(frozen=True)
class Doubts:
    """Sentences about columns: `columns` lie elsewhere as a whole, `values` are single slips or uncertain."""

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Count:
    """How many values of a column there are, how many of them lie where, and the first that is outside."""

    all: int
    outside: int
    under: int
    over: int
    first: float | None

    @property
    def misplaced(self) -> bool:
        """Whether the median is under or over where it may be."""
        return 2 * max(self.under, self.over) > self.all

    @property
    def outside_too_often(self) -> bool:
        """Whether too many single values are outside for slips."""
        return self.outside >= FEWEST_OUTSIDE and self.outside > MOST_OUTSIDE * self.all


def counted(values: pl.Expr, expected: Range) -> dict[str, pl.Expr]:
    """The fields of a `Count` of a column [N]; what is missing counts for none of them."""
    outside = (values < expected.low) | (values > expected.high)
    return {
        "all": values.count(),
        "outside": outside.sum(),
        "under": (values < expected.median_low).sum(),
        "over": (values > expected.median_high).sum(),
        "first": values.filter(outside).first(),
    }


def quantiles(values: pl.Series) -> Quantiles:
    """Those of `PLACES`, of a column [N] without missing values."""
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
    """The end of a sentence about a column: which unit it seems to be in, and what to do."""
    return f": it looks like {found.unit}. {found.advice}." if found else ". Check its unit."


def median_elsewhere(name: str, unit: str, expected: Range, median: float, *, end: str) -> str:
    """A sentence about a column whose median is not where it may be."""
    wanted = f"a median from {expected.median_low:,g} to {expected.median_high:,g} {unit}"
    return f"column {name!r}: expected {wanted}, found {median:,g}{end}"


def values_outside(name: str, unit: str, expected: Range, count: Count, *, end: str = ".") -> str:
    """A sentence about a column with values outside its range."""
    wanted = f"values from {expected.low:,g} to {expected.high:,g} {unit}"
    found = f"{count.first:,g} ({count.outside:,} of {count.all:,} outside)"
    return f"column {name!r}: expected {wanted}, found {found}{end}"
