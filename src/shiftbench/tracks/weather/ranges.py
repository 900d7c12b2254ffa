"""Whether the columns of a weather table lie where their units say, as columns and value by value."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.intake import units
from shiftbench.intake.units import Doubts, Quantiles
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.schema import Column, Range
from shiftbench.tracks.weather.units import MISTAKES

FEWEST_FOR_PEAK = 1000  # values; the highest hundredth of fewer says little
COLUMNS = {column.name: column for column in schema.COLUMNS if column.name in schema.RANGES}
MODELS = ("cmc", "gfs", "wrf")


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
            odd.append(f"{label}: {units.values_outside(name, column.unit, expected, count)}")
        elif count.low_peak:
            odd.append(f"{label}: {_flat(column, expected, file)}")
    return Doubts(tuple(wrong), tuple(odd))


@dataclass(frozen=True)
class _Count(units.Count):
    """How many values reach the peak, too, and how many are above 0."""

    peak: int
    positive: int

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
            **units.counted(values, expected),
            peak=(values >= expected.peak).sum(),
            positive=(values > 0).sum(),
        )
        .collect(engine="streaming")
    )
    return _Count(**counts.row(0, named=True))


def _read(column: Column, file: Path) -> pl.Series:
    return pl.scan_parquet(file, glob=False).select(_values(column).alias("values")).collect()["values"].drop_nulls()


def _mistake(column: Column, expected: Range, found: Quantiles) -> units.Mistake | None:
    return units.mistake(MISTAKES.get(column.unit, ()), expected, found)


def _whole(column: Column, expected: Range, count: _Count, file: Path) -> str:
    found = units.quantiles(_read(column, file))
    end = units.looks(_mistake(column, expected, found))
    if count.misplaced:
        return units.median_elsewhere(column.name, column.unit, expected, found[1], end=end)
    return units.values_outside(column.name, column.unit, expected, count, end=end)


def _flat(column: Column, expected: Range, file: Path) -> str:
    high = float(_read(column, file).quantile(0.99, "nearest") or 0.0)
    found = _mistake(column, expected, (0.0, 0.0, high))
    looks = f": it may be in {found.unit}. {found.advice} if so." if found else ". Check its unit."
    return (
        f"column {column.name!r}: expected high values of {expected.peak:g} {column.unit} and more, "
        f"found a 99 % quantile of {high:g}{looks}"
    )
