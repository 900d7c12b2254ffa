"""Records of tables that systems are scored on: the evaluated partitions, and further test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import methods
from shiftbench.assessment.column_values import cluster_codes
from shiftbench.assessment.fingerprints import fingerprints
from shiftbench.assessment.predictions import Predictions
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.scored_table import scored_ensemble
from shiftbench.assessment.slicing import Slicing
from shiftbench.assessment.source import Source
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError, TableError, counted
from shiftbench.io import tables
from shiftbench.methods.contract import Method
from shiftbench.methods.parts import predicted
from shiftbench.methods.progress import Progress
from shiftbench.partition import Partition, features, keys
from shiftbench.partition.features import Features
from shiftbench.partition.settings import SPLITS
from shiftbench.pipeline.settings import Settings
from shiftbench.pipeline.study import EvaluationSet, Fitted
from shiftbench.pipeline.table_data import Opened, infinite_target, with_target

EVALUATED = [name for names in SPLITS.values() for name in names]

FEATURES = ("numeric", "categorical", "dates")
BLOCK = 250_000  # records of a test set that are predicted at a time
MOST_DRAWN = 500_000  # records up to which all draws of a model are kept; beyond, each model's are merged into one


@dataclass(frozen=True)
class TableSystem:
    """The predictions of a fitted method for the records of an evaluation set.

    answered: [N] whether a record has an answer; None if all have.
    """

    fitted: Fitted
    ensemble: Gaussian | Categorical
    answered: Flags | None

    @property
    def name(self) -> str:
        """The name of the system in the report."""
        return self.fitted.planned.name

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The method and its complete settings."""
        return {"method": self.fitted.planned.method, **self.fitted.settings}


@dataclass(frozen=True)
class TableRecords(EvaluationSet[TableSystem]):
    """Records with their ids, the partition of each and the fingerprints of their targets, all [N].

    name: of a test set, or empty for the run's own table. id_column: of the ids; None if they are row numbers.
    clusters, slicing: groups of records in reports. features: the columns that methods see.
    manifest: the hash of the partition that methods were fitted to.
    splits: the splits with any record, and the partitions that each is made of.
    """

    frame: pl.DataFrame
    ids: pl.Series
    partition: pl.Series
    fingerprints: pl.Series
    target: str
    name: str = ""
    id_column: str | None = None
    clusters: tuple[str, ...] = ()
    slicing: Slicing = field(default_factory=Slicing)
    features: Features = field(default_factory=Features)
    manifest: str = ""
    splits: Mapping[str, tuple[str, ...]] = field(init=False)

    @classmethod
    def of(cls, frame: pl.DataFrame, parts: Partition, settings: Settings, *, id_column: str | None) -> TableRecords:
        """The evaluated records of a partitioned table."""
        kept = parts.assignment.is_in(EVALUATED).fill_null(False)
        frame, ids = frame.filter(kept), parts.ids.filter(kept)
        prints = fingerprints(ids, frame[settings.target], task=settings.task or "regression")
        return cls(frame, ids, parts.assignment.filter(kept), prints, settings.target, id_column=id_column)

    def __post_init__(self) -> None:
        there = set(self.partition.unique())
        found = {split: names for split, names in SPLITS.items() if there.intersection(names)}
        object.__setattr__(self, "splits", {self.name: (self.name,)} if self.name else found)

    def predicted(
        self, module: Method, place: Path, *, cores: int, progress: Progress | None = None
    ) -> Gaussian | Categorical:
        """The predictions of the method fitted into `place` for all records.

        Test sets are predicted in blocks, and the draws of a model are merged if there are very many records.
        """
        merges = self.name and self.frame.height > MOST_DRAWN
        found: Gaussian | Categorical = predicted(
            module, self.frame, folder=place, cores=cores, place=place, most=BLOCK if self.name else None,
            kept=lambda part: part.merged() if merges and isinstance(part, Gaussian) else part, progress=progress,
        )  # fmt: skip
        return found

    def score(
        self, systems: Sequence[TableSystem], split: str, tasks: Sequence[str]
    ) -> Mapping[str, tuple[Records, list[Scored]]]:
        """Errors and uncertainty of systems on a split; a table has one error, that of its target."""
        found = self.records(split), [self._scored(system, split) for system in systems]
        return dict.fromkeys(tasks, found)

    def records(self, split: str) -> Records:
        """What all systems share on a split; a test set has only clusters and slices for which it has the columns."""
        within = self._within(split)
        rows = self.frame.filter(within)
        clusters = self.clusters
        shifted = None
        if not self.name:
            shifted = (self.partition.filter(within) == SPLITS[split][1]).to_numpy()
        elif not set(clusters) <= set(rows.columns):
            clusters = ()
        groups, slices = cluster_codes(rows, clusters), self.slicing.labels(rows)
        named = (name for columns in self.slicing.namings.values() for name in columns)
        source = Source(
            self.frame, self.ids, np.flatnonzero(within.to_numpy()), self.features, self.target, self.id_column,
            (*keys.columns(self.clusters, rows.columns), *named),
        )  # fmt: skip
        return Records(rows.height, split, shifted, groups, slices, calendar=self.slicing.calendar, source=source)

    def _scored(self, system: TableSystem, split: str) -> Scored:
        kept = self._within(split).to_numpy()
        part = system.ensemble if kept.all() else system.ensemble.select(np.flatnonzero(kept))
        planned, targets = system.fitted.planned, self.frame[self.target].filter(kept)
        found = scored_ensemble(planned.name, part, targets, role=planned.role, about=system.fitted.about)
        if methods.method(planned.method).combine is not None:
            found = replace(found, cautions=tuple(each for each in found.cautions if not each.by_weights))
        return found if system.answered is None else found.answering(system.answered[kept])

    def write(self, system: TableSystem, folder: Path) -> None:
        """Write the predictions of the records that a system has an answer for."""
        count = len(self.ids)
        rows = np.arange(count) if system.answered is None else np.flatnonzero(system.answered)
        if not len(rows):
            return
        shown = system.ensemble if len(rows) == count else system.ensemble.select(rows)
        recipe = {
            "method": system.fitted.planned.method, "settings": system.fitted.settings, "target": self.target,
            "manifest": self.manifest, "id_column": self.id_column, "unanswered": count - len(rows),
        }  # fmt: skip
        path = folder / "predictions" / self.name / f"{system.fitted.planned.place}.parquet"
        Predictions(self.ids.to_numpy()[rows], shown, recipe, self.fingerprints[rows]).save(path)

    def _within(self, split: str) -> pl.Series:
        return self.partition.is_in(list(self.splits[split]))


def test_sets(
    settings: Settings, train: pl.DataFrame, chosen: Features, opened: Opened
) -> tuple[list[TableRecords], list[str]]:
    """The test sets named in the settings, with notes such as the number of rows without a target.

    Raises:
        TableError: listing all problems of all test sets.
    """
    found, notes, problems = [], [], []
    for name, path in settings.test_sets.items():
        try:
            with tables.reading_notes() as read_notes:
                records, lost = _read(name, Path(path), settings, chosen, opened)
        except TableError as error:
            problems += [f"test set {name}: {problem}" for problem in error.problems]
            continue
        found.append(records)
        frame, read = opened.table(Path(path))
        numbered = filter(None, [tables.unusable_id(frame, None)])
        notes += [f"test set {name}: {note}" for note in (*read, *read_notes, *numbered)]
        if seen := _seen(records.frame, train, [*chosen.numeric, *chosen.categorical, *chosen.dates, settings.target]):
            notes.append(
                f"test set {name}: {seen:,} of {records.frame.height:,} records are also in train, with the same "
                "features and target, so its scores are too good"
            )
        if lost:
            notes.append(f"test set {name}: {counted(lost, 'row')} without {settings.target!r} left out")
    if problems:
        raise TableError(*problems)
    return found, notes


def _read(name: str, path: Path, settings: Settings, chosen: Features, opened: Opened) -> tuple[TableRecords, int]:
    (frame, _), where = opened.table(path), path.name
    used = [*chosen.numeric, *chosen.categorical, *chosen.dates]
    tables.require(frame, [settings.target, *used, *settings.baselines], where=where)
    bad = [] if settings.task == "classification" else infinite_target(frame, settings.target, where=where)
    if problems := [*bad, *_unlike(frame, chosen, where)]:
        raise TableError(*problems)
    column = tables.id_column(frame, None)
    ids = tables.ids(frame, column, where=where)
    frame, known = with_target(frame, settings.target, settings.task or "regression", where=where)
    if not frame.height:
        raise TableError(f"{where}: expected rows with a value in {settings.target!r}, found none.")
    partition = pl.repeat(name, frame.height, eager=True).alias("partition")
    ids = ids.filter(known)
    prints = fingerprints(ids, frame[settings.target], task=settings.task or "regression")
    return TableRecords(frame, ids, partition, prints, settings.target, name, column), len(known) - frame.height


def _seen(frame: pl.DataFrame, train: pl.DataFrame, columns: list[str]) -> int:
    """The number of records of a table that equal one of train in all these columns."""
    known = train.select(columns).unique()
    try:
        return frame.select(columns).join(known, on=columns, how="semi", nulls_equal=True).height
    except pl.exceptions.PolarsError:  # columns of different types cannot be equal
        return 0


def _unlike(frame: pl.DataFrame, chosen: Features, where: str) -> list[str]:
    """Problems of features that no model could accept; found before hours of training rather than after."""
    problems = []
    for kind in FEATURES:
        for name in getattr(chosen, kind):
            try:
                features.matrix(frame, _only(kind, name))  # one by one, since all at once need much memory
            except TableError as error:
                problems += [f"{where}: {problem}" for problem in error.problems]
    return problems


def _only(kind: str, name: str) -> Features:
    of_kind: dict[str, Any] = {kind: (name,)}
    return Features(**of_kind)


def hashes(settings: Settings, opened: Opened) -> Mapping[str, str]:
    """The SHA-256 of every test set, compared with those in the settings, if any.

    Raises:
        TableError: if one is missing.
        SettingsError: if one is not the file that the settings were written for.
    """
    found, problems = {}, []
    for name, path in settings.test_sets.items():
        try:
            found[name] = opened.sha256(Path(path))
        except OSError as error:
            raise TableError(f"test set {name}: expected a table at {path}, found none ({error.strerror}).") from None
        if settings.test_sets_sha256.get(name, found[name]) != found[name]:
            problems.append(
                f"{path}: expected the test set that these settings were written for (sha256 "
                f"{settings.test_sets_sha256[name][:12]}…), found another (sha256 {found[name][:12]}…). Take it out of "
                "test_sets_sha256 to run on this one."
            )
    if problems:
        raise SettingsError(*problems)
    return found
