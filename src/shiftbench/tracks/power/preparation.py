"""From official files or made-up records to a prepared folder: check, convert, divide, write a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.io import tables
from shiftbench.partition import PARTITIONS, leakage, read_manifest, write_manifest
from shiftbench.progress import Progress, silent
from shiftbench.track import Prepared
from shiftbench.track.intake import prepared_folder
from shiftbench.track.intake.prepared_folder import PublishedRules, given, made_up, refuse_prepared, write_data
from shiftbench.track.intake.sources import Source, example_of
from shiftbench.tracks.power import outside, partitions, published, schema
from shiftbench.tracks.power.physics.valid_ranges import ANY
from shiftbench.tracks.power.reading import Table, read
from shiftbench.tracks.power.schema import POWER, TIME_ID, TRACK
from shiftbench.tracks.power.sources import EXPERIMENTS, GENERALIZATION, Found, sources

MADE = "as published: Shifts 2.0, Appendix D.1"
BY_DESIGN = (
    "train, dev_in and eval_in are drawn minute by minute, as published: neighbouring minutes lie in different ones, "
    "so intervals resample whole days"
)
GENERALIZATION_FILE = f"{GENERALIZATION}.parquet"
COLUMNS = ("id", *schema.NAMES, *partitions.DERIVED)
"""The columns of a prepared record."""
open_prepared = partial(prepared_folder.open_prepared, track=TRACK)


def prepare(source: Path, folder: Path, *, experiment: str, progress: Progress | None = None) -> Prepared:
    """Read the official partition files, or any table of their columns, and write a prepared folder.

    A generalisation set beside them (generalization.parquet or .csv) is copied undivided.

    Args:
        source: a folder, an archive, or one table (.csv, .csv.gz, .parquet).
        folder: a new folder.
        experiment: "canonical"; "real" or "synthetic" where the source holds both official data sets.
        progress: called with the progress of each table.

    Raises:
        TableError: listing all problems of the tables, or if partitions are missing.
        PartitionError: if there are no records for one of the partitions.
        UnknownNameError: for another experiment.
    """
    if experiment not in EXPERIMENTS:
        raise UnknownNameError("experiment", experiment, EXPERIMENTS)
    refuse_prepared(source)
    say = progress or silent
    found = sources(source, experiment)
    found.require_training(source)
    folder.mkdir(parents=True, exist_ok=True)
    return (_published if found.divided else _whole)(found, folder, say)


def test_sets(folder: Path) -> dict[str, str]:
    """The test sets of a prepared folder: name → path.

    Raises:
        TableError: if there is one that the manifest does not name, which was not checked.
    """
    file = folder / GENERALIZATION_FILE
    if not file.is_file():
        return {}
    if file.name not in read_manifest(folder).files:
        raise TableError(
            f"{file}: expected the generalisation set that `shiftbench prepare {TRACK}` wrote, found one that the "
            "manifest does not name. Put it beside the data and prepare them again, or take it away."
        )
    return {GENERALIZATION: str(file)}


# --- one table of records --------------------------------------------------------------------------------------------


def _whole(found: Found, folder: Path, say: Progress) -> Prepared:
    source = found.tables[0]
    example = example_of(source, TRACK)
    (table,), scored = _read(found, say)
    _refuse([table, *scored])
    say("divide", 0, 1)
    records = _completed(table.frame)
    split = partitions.split(records)
    days = (partitions.HALF_YEAR, partitions.DAY)  # partitions share these on purpose
    known = records.drop(POWER, partitions.WIND, partitions.INTERVAL, *days)
    leaks = leakage(known, split.partition, split.rules)
    shared = [item.what for item in leaks.findings if item.severity == "warning"]
    notes = [*found.notes, *_notes([table]), *split.notes, *split.partition.warnings, *shared, BY_DESIGN]
    notes += [note for each in (table, *scored) for note in _outside(each.source)]
    written = [_written(beside, folder, notes) for beside in scored]
    origin = made_up(example) if example else f"table {source.name}"
    data = write_data(folder, TRACK, origin=origin, notes=notes)
    say("write partitions", 0, 1)
    write_manifest(folder, split.partition, split.rules, leakage=leaks, frames=True, written=[data, *written])
    return open_prepared(folder)


# --- the official partitions -----------------------------------------------------------------------------------------


def _published(found: Found, folder: Path, say: Progress) -> Prepared:
    read_tables, scored = _read(found, say)
    judged = published.compared(read_tables)
    # The official data cannot be corrected: problems are only warnings.
    _refuse(scored if judged.data else [*read_tables, *scored])
    notes = [*found.notes, *_notes(read_tables), *judged.notes, *found.absences, BY_DESIGN]
    frames = {table.partition: _completed(table.frame) for table in read_tables}
    none = next(iter(frames.values())).clear()
    made = given([(name, frames.get(name, none)) for name in PARTITIONS])
    written = [_written(beside, folder, notes) for beside in scored]
    data = write_data(folder, TRACK, origin=judged.origin, notes=notes)
    say("write partitions", 0, 1)
    rules = PublishedRules.of(partitions.canonical_rules(), MADE)
    write_manifest(folder, made, rules, frames=True, written=[data, *written])
    return open_prepared(folder)


# --- both ------------------------------------------------------------------------------------------------------------


def _read(found: Found, say: Progress) -> tuple[list[Table], list[Table]]:
    """All tables, and the generalisation set if there is one; raises the problems and doubts of all of them."""
    beside = [found.generalization] if found.generalization else []
    read_tables: list[Table] = []
    problems: list[str] = []
    for source in (*found.tables, *beside):
        stage = GENERALIZATION if source in beside else source.partition or "records"
        try:
            read_tables.append(read(source, partial(say, f"read {stage}"), voyage=source not in beside))
        except TableError as error:
            problems += error.problems
    scored = [table for table in read_tables if table.source in beside]
    read_tables = [table for table in read_tables if table.source not in beside]
    problems += _repeated(read_tables)
    if problems:
        raise TableError(*problems, *_of_whole_columns([*read_tables, *scored]))
    return read_tables, scored


def _repeated(read_tables: Sequence[Table]) -> list[str]:
    """A problem if a `time_id` occurs in more than one partition."""
    index = pl.concat([table.frame[TIME_ID] for table in read_tables]) if read_tables else pl.Series(dtype=pl.Int64)
    twice = index.filter(index.is_duplicated())
    if twice.is_empty():
        return []
    where = [table.partition for table in read_tables if (table.frame[TIME_ID] == twice[0]).any()]
    return [
        f"column {TIME_ID!r}: expected each in one partition, found {twice[0]} in {' and '.join(where)} "
        f"({twice.n_unique():,} such values). Take all partitions from one archive."
    ]


def _refuse(read_tables: Sequence[Table]) -> None:
    """Raise TableError if whole columns are in another unit."""
    if columns := _of_whole_columns(read_tables):
        raise TableError(*columns)


def _of_whole_columns(read_tables: Sequence[Table]) -> list[str]:
    return [note for table in read_tables for note in (*table.doubts.columns, *table.clock.columns)]


def _notes(read_tables: Sequence[Table]) -> list[str]:
    return [
        note
        for table in read_tables
        for note in (
            *table.warnings, *table.doubts.columns, *table.clock.columns, *table.doubts.values, *table.clock.values,
        )
    ]  # fmt: skip


def _outside(source: Source) -> list[str]:
    """Notes on made-up labels outside the ranges of their formulas, see `outside`."""
    return outside.notes(source.path, whole=ANY) if source.is_parquet and source.member is None else []


def _completed(frame: pl.DataFrame) -> pl.DataFrame:
    """Records with the columns of a prepared folder; `time_id` is their id."""
    return partitions.described(frame.with_columns(pl.col(TIME_ID).alias("id"))).select(COLUMNS)


def _written(table: Table, folder: Path, notes: list[str]) -> Path:
    """Write the generalisation set and return notes on it: its ids are row numbers, its records belong to no day."""
    notes += _notes([table])
    records = partitions.described(table.frame.with_row_index("id", offset=1).cast({"id": pl.Int64}))
    columns = ("id", *schema.NAMES, partitions.WIND, partitions.INTERVAL)
    return tables.write_table(records.select(columns), folder / GENERALIZATION_FILE)
