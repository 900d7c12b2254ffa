"""Checks whether the columns of a weather table fit their units, as a whole and value by value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.track.intake import units
from shiftbench.track.intake.units import Doubts, Quantiles
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.schema import Column, Range
from shiftbench.tracks.weather.units import MISTAKES

FEWEST_FOR_PEAK = 1000  # values; the top percentile of fewer is uninformative
COLUMNS = {column.name: column for column in schema.COLUMNS if column.name in schema.RANGES}
MODELS = ("cmc", "gfs", "wrf")


def check_ranges(file: Path, *, label: str) -> Doubts:
    """Compare each column of a Parquet file of the schema with its range; `label` names the file in messages."""
    return _doubts(tables.scan_parquet(file), COLUMNS, label=label)


def check_test_set(frame: pl.DataFrame, *, label: str) -> list[str]:
    """Compare the existing columns of a test set [N] with their ranges.

    Its records may be from a cold place or a dry month, so a column is only refused if a known confusion of units
    would bring it into its range.

    Returns:
        Notes on suspicious columns.

    Raises:
        TableError: naming every column in another unit.
    """
    types = frame.schema
    columns = {name: column for name, column in COLUMNS.items() if name in types and types[name].is_numeric()}
    found = _doubts(frame.lazy(), columns, label=label, chosen=True)
    if found.columns:
        raise TableError(*found.columns)
    return list(found.values)


def _doubts(table: pl.LazyFrame, columns: Mapping[str, Column], *, label: str, chosen: bool = False) -> Doubts:
    """chosen: whether the records are a selection, so that medians may be unusual."""
    wrong: list[str] = []
    odd: list[str] = []
    for name, column in columns.items():
        expected = schema.RANGES[name]
        count = _count(column, expected, table)
        if count.misplaced or count.outside_too_often:
            finding, known = _whole(column, expected, count, table)
            sure = expected.known and not (chosen and (known is None or count.all < units.FEWEST_FOR_MEDIAN))
            (wrong if sure else odd).append(f"{label}: {finding}")
        elif count.outside:
            odd.append(f"{label}: {units.values_outside(name, column.unit, expected, count)}")
        elif count.low_peak and not chosen:
            odd.append(f"{label}: {_flat(column, expected, table)}")
    return Doubts(tuple(wrong), tuple(odd))


@dataclass(frozen=True)
class _Count(units.Count):
    """Also counts values that reach the peak, and values above 0."""

    peak: int
    positive: int

    @property
    def low_peak(self) -> bool:
        """Whether the top percentile is above 0, but below the expected peak."""
        peaked = self.all >= FEWEST_FOR_PEAK and self.positive > 0.01 * self.all
        return peaked and self.peak <= 0.01 * self.all


def _values(column: Column, table: pl.LazyFrame) -> pl.LazyFrame:
    """The column restricted to rows in which its forecast model is available."""
    values, there = pl.col(column.name), f"{column.source}_available"
    conditional = column.source in MODELS and column.name != there and there in table.collect_schema()
    return table.select(values=pl.when(pl.col(there).fill_null(1) != 0).then(values) if conditional else values)


def _count(column: Column, expected: Range, table: pl.LazyFrame) -> _Count:
    # One column at a time, since all at once would load much of the table.
    values = pl.col("values")
    counts = (
        _values(column, table)
        .select(**units.counted(values, expected), peak=(values >= expected.peak).sum(), positive=(values > 0).sum())
        .collect(engine="streaming")
    )
    return _Count(**counts.row(0, named=True))


def _read(column: Column, table: pl.LazyFrame) -> pl.Series:
    return _values(column, table).collect()["values"].drop_nulls()


def _mistake(column: Column, expected: Range, found: Quantiles) -> units.Mistake | None:
    return units.mistake(MISTAKES.get(column.unit, ()), expected, found)


def _whole(column: Column, expected: Range, count: _Count, table: pl.LazyFrame) -> tuple[str, units.Mistake | None]:
    found = units.quantiles(_read(column, table))
    known = _mistake(column, expected, found)
    end = units.looks(known)
    if count.misplaced:
        return units.median_elsewhere(column.name, column.unit, expected, found[1], end=end), known
    return units.values_outside(column.name, column.unit, expected, count, end=end), known


def _flat(column: Column, expected: Range, table: pl.LazyFrame) -> str:
    high = float(_read(column, table).quantile(0.99, "nearest") or 0.0)
    found = _mistake(column, expected, (0.0, 0.0, high))
    looks = f": it may be in {found.unit}. {found.advice} if so." if found else ". Check its unit."
    return (
        f"column {column.name!r}: expected high values of {expected.peak:g} {column.unit} and more, "
        f"found a 99 % quantile of {high:g}{looks}"
    )
