"""The records that systems are judged on: the evaluated partitions of the table, and tables named as test sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import features, files, tables
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical, Gaussian, concatenated
from shiftbench.errors import SettingsError, TableError
from shiftbench.features import Features
from shiftbench.fingerprints import fingerprints
from shiftbench.methods import MethodModule
from shiftbench.partition import Partition
from shiftbench.partition.settings import SPLITS
from shiftbench.run.data import infinite_target, with_target
from shiftbench.score import Role
from shiftbench.scored import Records, Scored
from shiftbench.scored_table import cluster_codes, meet
from shiftbench.settings import Settings
from shiftbench.slicing import Slicing

EVALUATED = [name for names in SPLITS.values() for name in names]

FEATURES = ("numeric", "categorical", "dates")
BLOCK = 250_000  # records of a test set that are predicted at a time
MOST_DRAWN = 500_000  # records for which every draw of a model is kept; of more, each model's are merged into one


@dataclass(frozen=True)
class Judged:
    """Records with their ids, the partition of each and the fingerprints of their targets, all [N].

    name: of a test set, or empty for the table's. id_column: of the ids; None where they are row numbers.
    """

    frame: pl.DataFrame
    ids: pl.Series
    partition: pl.Series
    fingerprints: pl.Series
    name: str = ""
    id_column: str | None = None

    @classmethod
    def of(cls, frame: pl.DataFrame, parts: Partition, settings: Settings, *, id_column: str | None) -> Judged:
        """The evaluated records of a partitioned table."""
        kept = parts.assignment.is_in(EVALUATED).fill_null(False)
        frame, ids = frame.filter(kept), parts.ids.filter(kept)
        prints = fingerprints(ids, frame[settings.target], task=settings.task or "regression")
        return cls(frame, ids, parts.assignment.filter(kept), prints, id_column=id_column)

    @property
    def splits(self) -> dict[str, tuple[str, ...]]:
        """The splits with any record, and the partitions that each is made of."""
        if self.name:
            return {self.name: (self.name,)}
        there = set(self.partition.unique())
        return {split: names for split, names in SPLITS.items() if there.intersection(names)}

    def predicted(self, module: MethodModule, place: Path, *, cores: int) -> Gaussian | Categorical:
        """What the system fitted into `place` says about all records.

        Test sets are predicted in blocks, and the draws of a model are merged if there are very many records.
        """
        if not self.name:
            return module.predict(self.frame, folder=place, cores=cores)
        said = (module.predict(block, folder=place, cores=cores) for block in self.frame.iter_slices(BLOCK))
        if self.frame.height > MOST_DRAWN:
            said = (part.merged() if isinstance(part, Gaussian) else part for part in said)
        return concatenated(list(said))

    def records(self, split: str, clusters: Sequence[str], slicing: Slicing) -> Records:
        """What all systems share on a split; a test set has the clusters and slices whose columns it has."""
        rows = self.frame.filter(self._within(split))
        if self.name:
            clusters = clusters if set(clusters) <= set(rows.columns) else ()
            return Records(
                rows.height, split, None, cluster_codes(rows, clusters), slicing.labels(rows), calendar=slicing.calendar
            )
        shifted = (self.partition.filter(self._within(split)) == SPLITS[split][1]).to_numpy()
        return Records(
            rows.height, split, shifted, cluster_codes(rows, clusters), slicing.labels(rows), calendar=slicing.calendar
        )

    def scored(
        self, split: str, name: str, ensemble: Gaussian | Categorical, *, target: str, role: Role, about: str
    ) -> Scored:
        """Errors and uncertainties on a split of a system that says `ensemble` about all records."""
        kept = self.within(split)
        part = ensemble if kept.all() else ensemble.select(np.flatnonzero(kept))
        return meet(name, part, self.frame[target].filter(kept), role=role, about=about)

    def within(self, split: str) -> Flags:
        """Which of the records [N] are of a split."""
        return self._within(split).to_numpy()

    def _within(self, split: str) -> pl.Series:
        return self.partition.is_in(list(self.splits[split]))


def test_sets(settings: Settings, train: pl.DataFrame, chosen: Features) -> tuple[list[Judged], list[str]]:
    """The test sets that the settings name, and a note for each that lost rows because they have no target.

    Raises:
        TableError: naming everything that is wrong with any of them.
    """
    found, notes, problems = [], [], []
    for name, path in settings.test_sets.items():
        try:
            with tables.reading_notes() as told:
                judged, lost = _read(name, Path(path), settings, train, chosen)
        except TableError as error:
            problems += [f"test set {name}: {said}" for said in error.problems]
            continue
        found.append(judged)
        notes += [f"test set {name}: {note}" for note in told]
        if seen := _seen(judged.frame, train, [*chosen.numeric, *chosen.categorical, *chosen.dates, settings.target]):
            notes.append(
                f"test set {name}: {seen:,} of {judged.frame.height:,} records are in train, with the same features "
                "and target, so that its scores are too good"
            )
        if lost:
            notes.append(f"test set {name}: {lost:,} rows have no {settings.target!r} and were left out")
    if problems:
        raise TableError(*problems)
    return found, notes


def _read(name: str, path: Path, settings: Settings, train: pl.DataFrame, chosen: Features) -> tuple[Judged, int]:
    frame, where = tables.read_table(path), path.name
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
    return Judged(frame, ids, partition, prints, name, column), len(known) - frame.height


def _seen(frame: pl.DataFrame, train: pl.DataFrame, columns: list[str]) -> int:
    """How many records of a table equal one of train in all these columns."""
    known = train.select(columns).unique()
    try:
        return frame.select(columns).join(known, on=columns, how="semi", nulls_equal=True).height
    except pl.exceptions.PolarsError:  # columns of other types hold other values
        return 0


def _unlike(frame: pl.DataFrame, chosen: Features, where: str) -> list[str]:
    """What of the features no model could take; found out before hours of training rather than after them."""
    problems = []
    for kind in FEATURES:
        for name in getattr(chosen, kind):
            try:
                features.matrix(frame, _only(kind, name))  # all at once need much memory
            except TableError as error:
                problems += [f"{where}: {said}" for said in error.problems]
    return problems


def _only(kind: str, name: str) -> Features:
    of_kind: dict[str, Any] = {kind: (name,)}
    return Features(**of_kind)


def hashes(settings: Settings) -> Mapping[str, str]:
    """The SHA-256 of every test set, which must be what the settings say if they say any.

    Raises:
        TableError: if one is not there.
        SettingsError: if one is another than the settings were written for.
    """
    found, problems = {}, []
    for name, path in settings.test_sets.items():
        try:
            found[name] = files.sha256(Path(path))
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
