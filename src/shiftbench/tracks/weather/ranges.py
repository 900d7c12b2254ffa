"""Whether the columns of a weather table lie where their units say, as columns and value by value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.schema import Column, Range
from shiftbench.tracks.weather.units import mistake

MOST_OUTSIDE = 0.05  # of a column's values: more are no slips
FEWEST_OUTSIDE = 2
FEWEST_FOR_PEAK = 1000  # values; the highest hundredth of fewer says little
COLUMNS = {column.name: column for column in schema.COLUMNS if column.name in schema.RANGES}
MODELS = ("cmc", "gfs", "wrf")


@dataclass(frozen=True)
class Doubts:
    """Sentences about columns: `columns` lie elsewhere as a whole, `values` are single slips or uncertain."""

    columns: tuple[str, ...]
    values: tuple[str, ...]


def check_ranges(file: Path, *, label: str) -> Doubts:
    """Compare each column of a Parquet file of the schema with its range; `label` is what sentences call the file."""
    wrong: list[str] = []
    odd: list[str] = []
    for name, column in COLUMNS.items():
        expected = schema.RANGES[name]
        count = _count(column, expected, file)
        if count.misplaced or count.outside_too_often:
            (wrong if expected.known else odd).append(f"{label}: {_whole(column, expected, count, file)}")
        elif count.outside:
            odd.append(
                f"{label}: column {name!r}: {count.outside:,} of {count.all:,} values lie outside "
                f"{expected.low:g} to {expected.high:g} {column.unit}."
            )
        elif count.low_peak:
            odd.append(f"{label}: {_flat(column, expected, file)}")
    return Doubts(tuple(wrong), tuple(odd))


@dataclass(frozen=True)
class _Count:
    """How many values of a column there are, and how many of them where."""

    all: int
    outside: int
    under: int
    over: int
    peak: int
    positive: int

    @property
    def misplaced(self) -> bool:
        """Whether the median is under or over where it may be."""
        return 2 * max(self.under, self.over) > self.all

    @property
    def outside_too_often(self) -> bool:
        return self.outside >= FEWEST_OUTSIDE and self.outside > MOST_OUTSIDE * self.all

    @property
    def low_peak(self) -> bool:
        """Whether the highest hundredth is above 0, but not where it should reach."""
        told = self.all >= FEWEST_FOR_PEAK and self.positive > 0.01 * self.all
        return told and self.peak <= 0.01 * self.all


def _values(column: Column) -> pl.Expr:
    """The column where its forecast model was there: what stands elsewhere is no forecast."""
    values = pl.col(column.name)
    if column.source not in MODELS or column.name.endswith("_available"):
        return values
    return pl.when(pl.col(f"{column.source}_available").fill_null(1) != 0).then(values)


def _count(column: Column, expected: Range, file: Path) -> _Count:
    # One column at a time: all at once would hold much of the table in memory.
    values = pl.col("values")
    counts = (
        pl.scan_parquet(file, glob=False)
        .select(values=_values(column))
        .select(
            all=values.count(),
            outside=((values < expected.low) | (values > expected.high)).sum(),
            under=(values < expected.median_low).sum(),
            over=(values > expected.median_high).sum(),
            peak=(values >= expected.peak).sum(),
            positive=(values > 0).sum(),
        )
        .collect(engine="streaming")
    )
    return _Count(**counts.row(0, named=True))


def _quantiles(column: Column, file: Path, places: tuple[float, ...]) -> list[float]:
    values = pl.scan_parquet(file, glob=False).select(_values(column).alias("values")).collect()["values"].drop_nulls()
    return [float(values.quantile(place, "nearest") or 0.0) for place in places]


def _whole(column: Column, expected: Range, count: _Count, file: Path) -> str:
    low, median, high = _quantiles(column, file, (0.05, 0.5, 0.95))
    found = mistake(column.unit, expected, low=low, median=median, high=high)
    looks = f": it looks like {found.unit}. {found.advice}." if found else ". Check its unit."
    if count.misplaced:
        wanted = f"a median from {expected.median_low:g} to {expected.median_high:g} {column.unit}"
        return f"column {column.name!r}: expected {wanted}, found {median:g}{looks}"
    return (
        f"column {column.name!r}: expected values from {expected.low:g} to {expected.high:g} {column.unit}, "
        f"found {count.outside:,} of {count.all:,} outside{looks}"
    )


def _flat(column: Column, expected: Range, file: Path) -> str:
    (high,) = _quantiles(column, file, (0.99,))
    found = mistake(column.unit, expected, low=0.0, median=0.0, high=high)
    looks = f": it may be in {found.unit}. {found.advice} if so." if found else ". Check its unit."
    return (
        f"column {column.name!r}: expected high values of {expected.peak:g} {column.unit} and more, "
        f"found a 99 % quantile of {high:g}{looks}"
    )
