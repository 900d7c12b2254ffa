"""Converts the official weather tables to Parquet: streamed, checked, and compared with the published counts."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import TableError, first_line
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.track.intake.form import Form
from shiftbench.track.intake.reading import Progress, Reader
from shiftbench.track.intake.sources import Source
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.checks import check_rows
from shiftbench.tracks.weather.ranges import check_ranges
from shiftbench.tracks.weather.schema import TYPES

ROW_GROUP = 100_000
FORM = Form(
    TYPES,
    optional=frozenset({schema.CLIMATE}),
    whole=(schema.TIME, schema.CLASS),
    numbers={schema.TIME: "Unix seconds as numbers"},
)

Climate = Callable[[npt.NDArray[np.float64], npt.NDArray[np.float64]], Any]
"""Latitudes [N] and longitudes [N] in degrees → names of climates [N]."""


@dataclass(frozen=True)
class Converted:
    """A table in Parquet: `id` and the 129 columns, in the types of the schema.

    counts: rows by climate, as "total", "tropical", …
    official: whether the counts are the published ones of its partition.
    warnings: of suspicious values. notes: comparisons of the counts with the published ones.
    """

    path: Path
    partition: str | None
    counts: dict[str, int]
    official: bool
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def convert(
    source: Source,
    target: str | os.PathLike[str],
    *,
    id_prefix: str | None = None,
    climate: Climate | None = None,
    progress: Progress | None = None,
) -> Converted:
    """Write a table (CSV, packed or in an archive, or Parquet) as zstd Parquet; memory does not grow with its rows.

    Args:
        source: the table.
        target: the Parquet file to write, whole or not at all.
        id_prefix: ids are "prefix-1", "prefix-2", …; the row numbers from 1 if None.
        climate: looks up climates of rows without one; if None they stay missing.
        progress: called with the amount read and the total: bytes of CSV, rows of Parquet.

    Raises:
        TableError: listing all problems: damaged files or lines, missing or repeated columns, text among numbers,
            unknown classes, invalid places, whole columns in another unit. For a file with the published number of
            rows (for the dump: about that number) units only cause warnings.
    """
    reader = Reader(source, FORM, progress)
    try:
        with files.replacing(target) as temporary:
            _write(reader, temporary, id_prefix=id_prefix, climate=climate)
            return _checked(reader, temporary, Path(target))
    except OSError as error:
        raise TableError(
            f"{target}: expected to write {source.label} as Parquet, found: {first_line(error)}. "
            "Check that the folder is writable and has enough space."
        ) from None


def _write(reader: Reader, target: Path, *, id_prefix: str | None, climate: Climate | None) -> None:
    """Stream the reader's batches into a Parquet file."""
    failures: list[BaseException] = []

    def batches() -> Iterator[pl.DataFrame]:
        try:
            yield from _completed(reader, id_prefix, climate)
        except BaseException as error:  # polars would raise another error instead
            failures.append(error)
            raise

    types = {"id": pl.Int64() if id_prefix is None else pl.String(), **TYPES}
    try:
        tables.sink(batches(), types, target, row_group=ROW_GROUP)
    except (OSError, *problem.POLARS) as error:
        if failures:
            raise failures[0] from None
        raise OSError(first_line(error)) from None


def _completed(reader: Reader, id_prefix: str | None, climate: Climate | None) -> Iterator[pl.DataFrame]:
    """The batches with ids and climates, and with checked values."""
    rows = 0
    for line, frame in reader.batches():
        if schema.CLIMATE not in frame.columns:
            frame = frame.with_columns(pl.lit(None, pl.String).alias(schema.CLIMATE))
        if climate is not None:
            frame = _with_climates(frame, climate)
        check_rows(frame, problems=reader.bad, warnings=reader.odd, line=line)
        number = pl.int_range(rows + 1, rows + 1 + pl.len(), dtype=pl.Int64)
        ids = number if id_prefix is None else pl.format("{}-{}", pl.lit(id_prefix), number)
        rows += frame.height
        yield frame.select(ids.alias("id"), *schema.NAMES)


def _with_climates(frame: pl.DataFrame, climate: Climate) -> pl.DataFrame:
    """Add climates to rows with a place but no climate."""
    names = frame[schema.CLIMATE]
    on_globe = pl.col(schema.LATITUDE).is_between(-90, 90) & pl.col(schema.LONGITUDE).is_between(-180, 180)
    rows = frame.select(names.is_null() & on_globe.fill_null(False)).to_series().arg_true()
    if rows.is_empty():
        return frame
    found = climate(frame[schema.LATITUDE].gather(rows).to_numpy(), frame[schema.LONGITUDE].gather(rows).to_numpy())
    return frame.with_columns(names.scatter(rows, pl.Series(np.asarray(found).astype(str))))


def _checked(reader: Reader, written: Path, target: Path) -> Converted:
    """The converted table; raises with all of its problems."""
    label, partition = reader.source.label, reader.source.partition
    problems = reader.problems()
    counts = _counts(written)
    if not counts["total"] and not problems:
        problems.append(f"{label}: expected rows, found none below the names. Was its writing cut off?")
    published = schema.PARTITIONS.get(partition or "")
    doubts = check_ranges(written, label=label)
    if not _as_published(counts["total"], published):
        problems += doubts.columns
    if problems:
        raise TableError(*problems)
    return Converted(
        target,
        partition,
        counts,
        official=counts == published,
        warnings=(*reader.warnings, *reader.odd.messages(label), *doubts.columns, *doubts.values),
        notes=_notes(partition, counts, published),
    )


def _as_published(rows: int, published: dict[str, int] | None) -> bool:
    """Whether a table has the published size, which for the dump is only known in round numbers."""
    if published is not None:
        return rows == published["total"]
    return abs(rows - schema.DUMP_ROWS) < schema.DUMP_ROWS / 10


def _counts(written: Path) -> dict[str, int]:
    grouped = tables.scan_parquet(written).group_by(schema.CLIMATE).agg(pl.len()).collect(engine="streaming")
    by_name = dict(grouped.iter_rows())
    counts = {"total": sum(by_name.values()), **{name: by_name.pop(name, 0) for name in schema.CLIMATES}}
    return counts | {name or "missing": count for name, count in by_name.items()}


def _notes(partition: str | None, counts: dict[str, int], published: dict[str, int] | None) -> tuple[str, ...]:
    """Comparisons of the counts with the published ones; by climate only if they differ."""
    if published is None:
        return (f"dump: {counts['total']:,} rows, published about {schema.DUMP_ROWS:,}",)
    notes = [f"{partition}: {counts['total']:,} rows, published {published['total']:,}"]
    different = [name for name in counts if name != "total" and counts[name] != published.get(name, 0)]
    if different:
        shown = ", ".join(f"{name} {counts[name]:,} ({published.get(name, 0):,})" for name in different)
        notes.append(f"{partition} by climate, published in brackets: {shown}")
    return tuple(notes)
