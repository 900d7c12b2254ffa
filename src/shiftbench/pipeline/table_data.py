"""The table of a run: read once, its task determined, rows without a target dropped and counted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.errors import CAREFUL, SettingsError, TableError, counted
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.methods.targets import OTHER_COLUMN, absent, classes_of, labels
from shiftbench.partition import PARTITIONS, Manifest, Rules, keys, windows
from shiftbench.pipeline import existing_partition
from shiftbench.pipeline.existing_partition import Given
from shiftbench.pipeline.partitioning import kept_apart, own_ids, rules_of
from shiftbench.pipeline.settings import Settings

LARGEST_TARGET = 5e74  # twice that, squared, is `check.LARGEST`
NEIGHBOURS = (
    CAREFUL
    + "records next to each other in {time!r} are both in training and in the in-domain evaluation. If neighbours "
    "resemble each other, the in-domain scores are too good and their intervals too short: name what belongs together "
    "with --cluster, such as a week"
)
LABELS = ("group", "by", "apart")  # rules whose columns are only tested for equality
MOST_CLASSES = 50  # more different values are classes only if there are five rows for each


@dataclass(frozen=True)
class Data:
    """The rows of a table that have a target, with their ids, and the settings completed by task, rules and table hash.

    ids: [N]; without a column of ids the row numbers of the whole table, from 1.
    rules: of the partition, with their column of ids; or else `given`, existing partitions.
    """

    frame: pl.DataFrame
    ids: pl.Series
    settings: Settings
    rows_read: int
    notes: tuple[str, ...]
    rules: Rules | None = None
    given: Given | None = None


class Opened:
    """A cache of tables and folders of partitions, so that each is read and hashed once for all tasks."""

    def __init__(self) -> None:
        self._tables: dict[Path, tuple[pl.DataFrame, tuple[str, ...]]] = {}
        self._partitions: dict[Path, tuple[pl.DataFrame, Given]] = {}
        self._hashes: dict[Path, str] = {}

    def table(self, path: Path) -> tuple[pl.DataFrame, tuple[str, ...]]:
        """The rows of a table, and the notes of reading it.

        Raises:
            TableError: if it cannot be read.
        """
        if path not in self._tables:
            with tables.reading_notes() as notes:
                frame = tables.read_table(path)
            self._tables[path] = (frame, tuple(notes))
        return self._tables[path]

    def partitions(self, folder: Path) -> tuple[pl.DataFrame, Given]:
        """The records of a folder of partitions, and the partition of each.

        Raises:
            PartitionError, TableError: as `existing_partition.read`.
        """
        if folder not in self._partitions:
            self._partitions[folder] = existing_partition.read(folder)
        return self._partitions[folder]

    def sha256(self, path: Path) -> str:
        """The SHA-256 of a file."""
        if path not in self._hashes:
            self._hashes[path] = files.sha256(path)
        return self._hashes[path]


def prepare(settings: Settings, opened: Opened) -> Data:
    """Read the table or the partitions, determine ids and task, drop and count the rows without a target.

    Invalid values are reported here, while rows still have their numbers in the file.
    """
    where = Path(settings.table).name
    frame, made, digest, read = _read(settings, opened)
    notes = [*read]
    named = [settings.target, *settings.baselines, *settings.clusters]
    tables.require(frame, named, where=where)
    rules = None if made else _rules(settings, frame)
    ids = made.ids if made else tables.native_ids(frame, rules.id if rules else None, where=where)
    task = task_of(frame[settings.target], settings)
    with tables.reading_notes() as read_notes:
        _require_uniform(frame, settings, where=where)
    _check_values(frame, settings.baselines if task == "regression" else (), rules, where=where)
    if task == "regression" and (
        bad := infinite_target(frame, settings.target, where=where, ids=ids if made else None)
    ):
        raise TableError(*bad)
    kept, known = with_target(frame, settings.target, task, where=where)
    if not kept.height:
        found = f"none in {len(known):,} rows"
        raise TableError(f"{where}: expected rows with a value in {settings.target!r}, found {found}.")
    used = {*named, *settings.slices, *(rules.columns() if rules else ())}
    notes = [*tables.notes_without(notes, [name for name in settings.drop if name not in used]), *read_notes]
    if rules and (why := tables.unusable_id(frame, rules.id)):
        notes.append(f"{why} Name a column of unique ids with --id")
    if rules and _neighbours_apart(rules, settings):
        notes.append(NEIGHBOURS.format(time=rules.time))
    if dropped := len(known) - kept.height:
        notes.append(f"{dropped:,} of {len(known):,} rows have no {settings.target!r} and were left out")
    settings = replace(settings, task=task, table_sha256=digest)
    if rules is not None:
        settings = replace(settings, partition=rules.to_settings())
    if task == "classification" and not settings.classes:
        settings = replace(settings, classes=classes_of(kept[settings.target]))
    if task == "classification":
        forecasts = [labels(kept, name, where=where) for name in settings.baselines]
        odd = (absent(column, settings.classes, where=where, advice=OTHER_COLUMN) for column in forecasts)
        if problems := [each for found in odd for each in found]:
            raise TableError(*problems)
    return Data(kept, ids.filter(known), settings, len(known), tuple(notes), rules, made and made.filter(known))


def _rules(settings: Settings, frame: pl.DataFrame) -> Rules:
    written = rules_of({"seed": settings.seed, **settings.partition})
    return own_ids(kept_apart(written, clusters=settings.clusters, cut=settings.cut_clusters), frame)


def _neighbours_apart(rules: Rules, settings: Settings) -> bool:
    """Whether records next to each other in time are drawn into train and eval_in one by one."""
    together = rules.apart or rules.by or settings.clusters or {"train", "eval_in"} & {*rules.where, *rules.ranges}
    return rules.time is not None and not together


def _check_values(frame: pl.DataFrame, forecasts: Sequence[str], rules: Rules | None, *, where: str) -> None:
    """Raise TableError or PartitionError for invalid values of forecasts and times."""
    tables.number_columns(frame, forecasts, where=where)
    if rules is not None and rules.time in frame.columns:
        windows.physical(frame[rules.time])


def _read(settings: Settings, opened: Opened) -> tuple[pl.DataFrame, Given | None, str, tuple[str, ...]]:
    """The records, their partitions if the table is a folder of partitions, the hash of either, and notes."""
    folder = Path(settings.table)
    if not folder.is_dir():
        digest = _expected(settings, _table_hash(folder, opened))
        frame, notes = opened.table(folder)
        return frame, None, digest, notes
    if given := [name for name, value in settings.partition.items() if value not in (None, (), {}, [])]:
        raise SettingsError(
            f"{folder}: expected no partition rules with a folder of existing partitions, found {', '.join(given)}. "
            "Drop these, or name the whole table."
        )
    frame, made = opened.partitions(folder)
    return frame, made, _expected(settings, _folder_hash(made.manifest)), ()


def _folder_hash(manifest: Manifest) -> str:
    """A hash of rules, ids and records: `read` has verified the files against the manifest."""
    parts = {name: manifest.files.get(f"{name}.parquet") for name in PARTITIONS}
    return hashlib.sha256(json.dumps([manifest.hash, parts], sort_keys=True).encode()).hexdigest()


def task_of(target: pl.Series, settings: Settings) -> str:
    """The task given in the settings, or else by the type of the target.

    Raises:
        TableError: for numbers with a few words among them, or nearly as many classes as rows.
    """
    if settings.task == "regression" or (settings.task is None and target.dtype.is_numeric()):
        return "regression"
    present = target.drop_nulls()
    if settings.task is None and present.dtype == pl.String:
        number = present.cast(pl.Float64, strict=False).is_not_null()
        if 0.5 * len(present) < number.sum() < len(present):
            odd = int(np.argmin((target.is_null() | target.cast(pl.Float64, strict=False).is_not_null()).to_numpy()))
            raise TableError(
                f"column {target.name!r}: expected numbers, as in {number.sum():,} of {len(present):,} rows, found "
                f"{target[odd]!r} in row {odd + 1}. Correct it, or use --task classification."
            )
    different = present.n_unique()
    if different > max(MOST_CLASSES, len(present) // 5):
        raise TableError(
            f"column {target.name!r}: expected classes, found {different:,} different values in {len(present):,} rows. "
            "For numbers use --task regression; otherwise choose another target."
        )
    return "classification"


def with_target(frame: pl.DataFrame, target: str, task: str, *, where: str) -> tuple[pl.DataFrame, pl.Series]:
    """The rows that have a target, with classes as text, and the mask [N] of these rows in `frame`."""
    if task == "regression":
        known = pl.Series(~np.isnan(tables.numbers(frame, target, where=where)))
    else:
        frame = frame.with_columns(labels(frame, target, where=where))
        known = frame[target].is_not_null()
    return (frame if known.all() else frame.filter(known)), known


def infinite_target(frame: pl.DataFrame, target: str, *, where: str, ids: pl.Series | None = None) -> list[str]:
    """A sentence if a regression's target [N] contains infinity, or numbers whose squared errors would overflow.

    It names rows, or ids [N] if the rows are not those of a single file.
    """
    values = tables.numbers(frame, target, where=where)
    bad = pl.Series(np.isinf(values))
    wanted, found = "finite numbers", "inf"
    if not bad.any():
        bad = pl.Series(np.abs(values) > LARGEST_TARGET)
        wanted = f"numbers within ±{LARGEST_TARGET:g}, whose squared errors can be added up"
        found = f"{values[bad.arg_true()[0]]:g}" if bad.any() else ""
    if not bad.any():
        return []
    places = problem.rows(bad) if ids is None else f"{counted(bad.sum(), 'record')} (first: id {ids.filter(bad)[0]})"
    return [f"{where}: column {target!r}: expected {wanted}, found {found} in {places}. Drop these."]


def _table_hash(table: Path, opened: Opened) -> str:
    try:
        return opened.sha256(table)
    except OSError as error:
        raise TableError(f"{table}: expected a table, found none ({error.strerror}).") from None


def _expected(settings: Settings, found: str) -> str:
    if settings.table_sha256 not in ("", found):
        raise SettingsError(
            f"{settings.table}: expected the table these settings were written for (sha256 "
            f"{settings.table_sha256[:12]}…), found another (sha256 {found[:12]}…). Take table_sha256 out of the "
            "settings to run on this one."
        )
    return found


# --- columns of one kind of value ------------------------------------------------------------------------------------


def _require_uniform(frame: pl.DataFrame, settings: Settings, *, where: str) -> None:
    """Check that no column with a role, and no possible feature, is text that is mostly numbers or dates.

    Raises:
        TableError: naming every such column, with row numbers from 1 and advice.
    """
    rules = settings.partition
    labels = _there(frame, [*settings.clusters, *(str(rules[role]) for role in LABELS if rules.get(role))])
    values = _there(frame, [*settings.slices, *([str(rules["time"])] if rules.get("time") else [])])
    if settings.task is None:
        values.append(settings.target)
    settled = {*labels, *values, settings.target, str(rules.get("id") or "id")}
    patterns = (*settings.drop, *settings.keep)
    features = [
        name for name in frame.columns if name not in settled and not any(fnmatchcase(name, each) for each in patterns)
    ]
    problems: list[str] = []
    for names, own_labels, advice in (
        (values, labels, ""),
        (features, [], "If these are codes, name the column with --keep; if it is not needed, with --drop."),
    ):
        try:
            tables.require_uniform(frame, names, where=where, labels=own_labels, advice=advice)
        except TableError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)


def _there(frame: pl.DataFrame, names: Iterable[str]) -> list[str]:
    """The existing columns of names such as `city` or `city+state`; missing ones are reported elsewhere."""
    return [part for name in names for part in keys.parts(name, frame.columns) if part in frame.columns]
