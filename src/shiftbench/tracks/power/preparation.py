"""From official files or made-up records to a prepared folder: checked, converted, divided, with a manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path

import polars as pl

from shiftbench import tables
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.intake import prepared_folder
from shiftbench.intake.prepared_folder import PublishedRules, refuse_prepared, write_data
from shiftbench.intake.sources import Source
from shiftbench.partition import PARTITIONS, Leakage, Partition, Rules, leakage, write_manifest
from shiftbench.track import Prepared, Progress
from shiftbench.tracks.power import partitions, published, schema
from shiftbench.tracks.power.reading import Table, read
from shiftbench.tracks.power.schema import POWER, TIME_ID
from shiftbench.tracks.power.sources import EXPERIMENTS, GENERALIZATION, Found, sources

TRACK = "power"
MADE = "as published: Shifts 2.0, Appendix D.1"
BY_DESIGN = (
    "train, dev_in and eval_in are drawn minute by minute, as published: neighbouring minutes lie in different ones, "
    "so intervals resample whole days"
)
GENERALIZATION_FILE = f"{GENERALIZATION}.parquet"
COLUMNS = ("id", *schema.NAMES, *partitions.DERIVED)
"""The columns of a prepared record."""

Say = Callable[[str, int, int], None]


def prepare(
    source: Path, folder: Path, *, experiment: str, climate: Path | None, progress: Progress | None = None
) -> Prepared:
    """Read the official partition files, or any table of their columns, and write a prepared folder.

    A generalisation set beside them (generalization.parquet or .csv) is taken along, unpartitioned.

    Args:
        source: a folder, an archive, or one table (.csv, .csv.gz, .parquet).
        folder: a new folder.
        experiment: "canonical"; "real" or "synthetic" where the source holds both official data sets.
        climate: must be None; vessels have none.
        progress: told how far each table is.

    Raises:
        TableError: with all that is wrong with the tables, or if partitions are missing.
        PartitionError: if records for one of the partitions are missing.
        UnknownNameError: for another experiment.
    """
    if experiment not in EXPERIMENTS:
        raise UnknownNameError("experiment", experiment, EXPERIMENTS)
    if climate is not None:
        raise TableError(f"{climate}: expected no table of climates for {TRACK}, found one. Leave out --climate.")
    refuse_prepared(source)
    say = progress or (lambda stage, done, total: None)
    found = sources(source, experiment)
    if absent := [name for name in ("train", "dev_in") if name in found.missing]:
        there = ", ".join(str(table.partition) for table in found.tables)
        raise TableError(
            f"{source}: expected the partitions train and dev_in at least, found only {there}. Add {absent[0]}."
        )
    folder.mkdir(parents=True, exist_ok=True)
    return (_published if found.divided else _whole)(found, folder, say)


def open_prepared(folder: Path) -> Prepared:
    """What a prepared folder holds, see `shiftbench.intake.prepared_folder`."""
    return prepared_folder.open_prepared(folder, TRACK)


def test_sets(folder: Path) -> dict[str, str]:
    """The sets of a prepared folder that are only scored: name → path."""
    file = folder / GENERALIZATION_FILE
    return {GENERALIZATION: str(file)} if file.is_file() else {}


# --- one table of records --------------------------------------------------------------------------------------------


def _whole(found: Found, folder: Path, say: Say) -> Prepared:
    source = found.tables[0]
    made_up = _example(source)
    (table,) = _read([source], say)
    _refuse([table])
    say("divide", 0, 1)
    records = _completed(table.frame)
    split = partitions.split(records)
    leaks = _leakage(records, split)
    shared = [item.what for item in leaks.findings if item.severity == "warning"]
    notes = [*found.notes, *_said([table]), *split.notes, *split.partition.warnings, *shared, BY_DESIGN]
    scored = _generalization(found.generalization, folder, say=say, notes=notes)
    data = write_data(folder, TRACK, origin=made_up or f"table {source.name}", notes=notes)
    say("write partitions", 0, 1)
    write_manifest(folder, split.partition, split.rules, leakage=leaks, frames=True, written=[data, *scored])
    return open_prepared(folder)


def _example(source: Source) -> str:
    """What example data say of themselves; empty for other tables."""
    if source.member is not None or not source.is_parquet:
        return ""
    said = tables.read_metadata(source.path).get("shiftbench", "")
    return said.replace(f"example {TRACK}", "made-up example", 1).strip()


def _leakage(records: pl.DataFrame, split: partitions.Split) -> Leakage:
    """What train shares with the others beside whole days: inputs that are the same, at the same time."""
    known = records.drop(POWER, partitions.WIND, partitions.INTERVAL, partitions.HALF_YEAR, partitions.DAY)
    return leakage(known, split.partition, split.rules)


# --- the official partitions -----------------------------------------------------------------------------------------


def _published(found: Found, folder: Path, say: Say) -> Prepared:
    read_tables = _read(found.tables, say)
    judged = published.compared(read_tables)
    if judged.data is None:  # the official data are what they are, and only warned of
        _refuse(read_tables)
    absent = [f"{name}: not there, so nothing is scored on it" for name in found.missing]
    notes = [*found.notes, *_said(read_tables), *judged.notes, *absent, BY_DESIGN]
    frames = {table.partition: _completed(table.frame) for table in read_tables}
    none = next(iter(frames.values())).clear()
    records = pl.concat([frames.get(name, none) for name in PARTITIONS])
    belongs = [pl.repeat(name, frames.get(name, none).height, eager=True) for name in PARTITIONS]
    made = Partition(records, records["id"], pl.concat(belongs).alias("partition"))
    scored = _generalization(found.generalization, folder, say=say, notes=notes)
    data = write_data(folder, TRACK, origin=judged.origin, notes=notes)
    say("write partitions", 0, 1)
    base = partitions.canonical_rules()
    rules = PublishedRules(**{entry.name: getattr(base, entry.name) for entry in fields(Rules)}, made=MADE)
    write_manifest(folder, made, rules, frames=True, written=[data, *scored])
    return open_prepared(folder)


# --- both ------------------------------------------------------------------------------------------------------------


def _read(found: Sequence[Source], say: Say) -> list[Table]:
    """All tables, or the problems of all of them."""
    read_tables: list[Table] = []
    problems: list[str] = []
    for source in found:
        try:
            read_tables.append(read(source, partial(say, f"read {source.partition or 'records'}")))
        except TableError as error:
            problems += error.problems
    problems += _repeated(read_tables)
    if problems:
        raise TableError(*problems)
    return read_tables


def _repeated(read_tables: Sequence[Table]) -> list[str]:
    """A sentence if an index of time stands in more than one partition."""
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
    """Raise if whole columns are in another unit."""
    if columns := [said for table in read_tables for said in (*table.doubts.columns, *table.clock.columns)]:
        raise TableError(*columns)


def _said(read_tables: Sequence[Table]) -> list[str]:
    return [
        said
        for table in read_tables
        for said in (
            *table.warnings, *table.doubts.columns, *table.clock.columns, *table.doubts.values, *table.clock.values,
        )
    ]  # fmt: skip


def _completed(frame: pl.DataFrame) -> pl.DataFrame:
    """Records in the columns of a prepared folder; the index of time is their id."""
    return partitions.described(frame.with_columns(pl.col(TIME_ID).alias("id"))).select(COLUMNS)


def _generalization(source: Source | None, folder: Path, *, say: Say, notes: list[str]) -> list[Path]:
    """Write the generalisation set, if there is one: its ids are row numbers, and its records are of no day."""
    if source is None:
        return []
    table = read(source, partial(say, f"read {GENERALIZATION}"), voyage=False)
    _refuse([table])
    notes += _said([table])
    records = partitions.described(table.frame.with_row_index("id", offset=1).cast({"id": pl.Int64}))
    columns = ("id", *schema.NAMES, partitions.WIND, partitions.INTERVAL)
    return [tables.write_table(records.select(columns), folder / GENERALIZATION_FILE)]
