"""Scores predictions files against tables: a prepared folder of partitions, or one table with the same columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment import fingerprints, predictions, scored_table
from shiftbench.assessment.assess import Options, squared
from shiftbench.assessment.column_values import cluster_codes
from shiftbench.assessment.columns import Columns
from shiftbench.assessment.joined import line_up
from shiftbench.assessment.predictions import Predictions
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.scored_table import scored_ensemble
from shiftbench.assessment.slicing import Slicing
from shiftbench.assessment.source import Source
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical
from shiftbench.errors import PredictionsError, ShiftbenchError, TableError, counted
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.partition import Manifest, keys, read_manifest
from shiftbench.partition.features import Features
from shiftbench.partition.settings import SPLITS
from shiftbench.progress import Progress
from shiftbench.scores.ranking import Index
from shiftbench.scores.retention import Rule
from shiftbench.track.contract import MANIFEST, Prepared, ScoredFiles, Task

MOST_NAMED = 3


@dataclass(frozen=True)
class TableTruth:
    """The ground truth of a track of tables. Its tasks are called `regression` and `classification`.

    track, title: the track's name, and its title in reports. open_prepared: reads a prepared folder. clusters:
    columns whose combinations are resampled together. slices: columns to break scores down by. rule: of retention.
    """

    track: str
    title: str
    open_prepared: Callable[[Path], Prepared]
    clusters: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    rule: Rule = "published"

    def score_files(
        self, predictions: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *, progress: Progress | None = None
    ) -> list[ScoredFiles]:
        """The scores of predictions files by name, for their common task.

        Args:
            predictions: name → file, as written by `shiftbench predict` and runs.
            truth: a prepared folder, of which the parts that the files cover are scored; or one table.
            tasks: the tasks that the files may have.
            progress: called with the number of files read.

        Raises:
            ShiftbenchError: listing the problems of all files, such as another task, records without a prediction, or
                predictions made for other targets.
        """
        read = _read(predictions, progress)
        task = _task(read, predictions, tasks)
        with tables.reading_notes() as notes:
            of_folder = (truth / MANIFEST).is_file()
            found = (self._of_folder if of_folder else self._of_table)(read, predictions, truth, task)
        units: dict[str, Any] = {"threshold": 0.5, "error_name": "classification error"}
        if task.name == "regression":
            units = {
                "threshold": task.threshold, "target_unit": task.unit, "error_unit": squared(task.unit),
                "error_name": "squared error",
            }  # fmt: skip
        recipe = {
            "track": {"name": self.track, "origin": found.origin},
            **found.recipe,
            "clusters": list(self.clusters),
            "systems": {
                name: {"file": path.name, "sha256": files.sha256(path), "manifest": read[name].metadata.get("manifest")}
                for name, path in predictions.items()
            },
        }
        title = f"{self.title}, {task.title}: {' · '.join(predictions)} on {found.origin}"
        options = Options(title=title, task=task.name, rule=self.rule, recipe=recipe, **units)
        return [ScoredFiles(task, found.parts, options, (*dict.fromkeys(notes), *found.notes))]

    def _of_table(self, read: Mapping[str, Predictions], paths: Mapping[str, Path], truth: Path, task: Task) -> _Found:
        """All predictions, on the rows of a table that they cover."""
        recorded = {str(each.metadata.get("id_column") or "id") for each in read.values()}
        wanted = {task.target, "shifted", *recorded, *self.clusters, *self.slices}
        table = _table(truth, wanted)
        there = table.columns
        columns = Columns(
            target=task.target,
            clusters=self.clusters if set(self.clusters) <= set(there) else (),
            slices=tuple(name for name in self.slices if name in there),
        )
        systems, problems = [], list[str]()
        for name, path in paths.items():
            try:
                systems.append(scored_table.against(read[name], table, columns, name=name, file=path, truth=truth))
            except ShiftbenchError as error:
                problems += error.problems
        if problems:
            raise TableError(*problems)
        joined = line_up(systems)
        recipe = {"truth": {"file": truth.name, "sha256": files.sha256(truth)}}
        return _Found(truth.name, [(joined.records, joined.systems)], recipe)

    def _of_folder(self, read: Mapping[str, Predictions], paths: Mapping[str, Path], truth: Path, task: Task) -> _Found:
        """Predictions on the evaluated parts of a prepared folder that they cover, scored as in a run."""
        prepared, manifest = self.open_prepared(truth), read_manifest(truth)
        frame = self._records(truth, prepared, manifest, task)
        rows = {name: _rows(frame["id"], each) for name, each in read.items()}
        about = {
            part: any((order[(frame["part"] == part).to_numpy()] >= 0).any() for order in rows.values())
            for part in frame["part"].unique(maintain_order=True)
        }
        if not any(about.values()):
            raise PredictionsError(f"expected predictions for records of {truth}, found none. Is it the right data?")
        slicing = Slicing.of(
            frame, self.slices, labels=[*self.clusters, *(str(manifest.rules.get(role)) for role in ("group", "by"))]
        )
        kept = frame["part"].is_in([part for part, scored in about.items() if scored])
        _require_whole(frame, kept.to_numpy(), rows, read, paths)
        _require_targets(frame, rows, read, task, where=truth)
        parts = []
        for split, (_, shifted) in SPLITS.items():
            here = (kept & frame["part"].is_in(SPLITS[split])).to_numpy()
            if here.any():
                own = frame.filter(pl.Series(here))
                groups = keys.columns((*self.clusters, *self.slices), own.columns)
                source = Source(
                    own.drop("part"), own["id"], np.arange(own.height), Features(), task.target, "id", groups
                )
                records = Records(
                    own.height, split, (own["part"] == shifted).to_numpy(), cluster_codes(own, self.clusters),
                    slicing.labels(own), calendar=slicing.calendar, source=source,
                )  # fmt: skip
                parts.append(
                    (
                        records,
                        [_system(name, read[name], order[here], own[task.target]) for name, order in rows.items()],
                    )
                )
        counts = dict(frame.group_by("part").len().iter_rows())
        notes = [f"{part}: not scored, since there is no prediction for any of its {counts[part]:,} records"
                 for part, scored in about.items() if not scored]  # fmt: skip
        for name, each in read.items():
            if (other := len(each) - int(np.count_nonzero(rows[name] >= 0))) > 0:
                notes.append(f"{name}: {counted(other, 'prediction')} for other records left out")
            if each.metadata.get("manifest") not in (None, manifest.hash):
                notes.append(f"{name}: made for another partition: its model may have been fitted to evaluated records")
        recipe = {
            "manifest": manifest.hash,
            "partition": {"counts": {part: counts[part] for part, scored in about.items() if scored}},
        }
        return _Found(prepared.origin, parts, recipe, tuple(notes))

    def _records(self, folder: Path, prepared: Prepared, manifest: Manifest, task: Task) -> pl.DataFrame:
        """The columns needed for scoring of evaluated records with a target: id, part, target, clusters and slices."""
        columns = list(dict.fromkeys(("id", task.target, *self.clusters, *self.slices)))
        held = {
            part: folder / f"{part}.parquet" for parts in SPLITS.values() for part in parts if prepared.counts.get(part)
        }
        if problems := manifest.changed(held.values()):
            raise TableError(*problems)
        frames = [
            tables.read_table(path, columns=columns, retype=False).with_columns(part=pl.lit(part))
            for part, path in held.items()
        ]
        if not frames:
            raise TableError(f"{folder}: expected records to score, found none in dev and eval.")
        return pl.concat(frames).filter(pl.col(task.target).is_not_null())


@dataclass(frozen=True)
class _Found:
    """Scores of files on a ground truth: the data's origin, the scores by split, the recipe and notes."""

    origin: str
    parts: list[tuple[Records, list[Scored]]]
    recipe: Mapping[str, Any]
    notes: tuple[str, ...] = ()


def _read(paths: Mapping[str, Path], progress: Progress | None) -> dict[str, Predictions]:
    """The predictions in files; raises with the problems of all files."""
    read, problems = dict[str, Predictions](), list[str]()
    for name, path in paths.items():
        try:
            read[name] = predictions.load(path)
        except ShiftbenchError as error:
            problems += error.problems
        if progress:
            progress("read", len(read), len(paths))
    if problems:
        raise PredictionsError(*problems)
    return read


def _task(read: Mapping[str, Predictions], paths: Mapping[str, Path], tasks: Sequence[Task]) -> Task:
    """The common task of all files."""
    kinds = {
        name: "classification" if isinstance(each.ensemble, Categorical) else "regression"
        for name, each in read.items()
    }
    for task in tasks:
        if set(kinds.values()) == {task.name}:
            return task
    known = " or ".join(task.name for task in tasks)
    raise PredictionsError(
        *(f"{paths[name]}: expected predictions of a {known}, found those of a {kind}." for name, kind in kinds.items())
    )


def _table(path: Path, wanted: set[str]) -> pl.DataFrame:
    """The wanted columns that a table has; no others are read from Parquet."""
    if path.suffix.lower() != ".parquet":
        table = tables.read_table(path)
        return table.select(name for name in table.columns if name in wanted)
    with problem.reading(path, "Parquet"):
        there = tables.scan_parquet(path).collect_schema().names()
    return tables.read_table(path, columns=[name for name in there if name in wanted] or there)


def _rows(ids: pl.Series, predicted: Predictions) -> Index:
    """The position of each record's prediction, or -1."""
    given = pl.DataFrame({"id": pl.Series(predicted.ids, dtype=pl.String)}).with_row_index("row")
    wanted = pl.DataFrame({"id": ids.cast(pl.String)})
    joined = wanted.join(given, on="id", how="left", maintain_order="left")
    return joined["row"].cast(pl.Int64).fill_null(-1).to_numpy().astype(np.intp)


def _require_whole(
    frame: pl.DataFrame, kept: Flags, rows: Mapping[str, Index], read: Mapping[str, Predictions],
    paths: Mapping[str, Path],
) -> None:  # fmt: skip
    """Raise PredictionsError for records without a prediction, except in files declared to leave some out."""
    problems = []
    for name, order in rows.items():
        missing = np.flatnonzero(kept & (order < 0))
        if missing.size and not read[name].metadata.get("unanswered"):
            ids = ", ".join(map(str, frame["id"].gather(missing[:MOST_NAMED]).to_list()))
            problems.append(
                f"{paths[name]}: expected a prediction for each of {int(kept.sum()):,} records, found none for "
                f"{missing.size:,} (such as {ids}). Predict them, too."
            )
    if problems:
        raise PredictionsError(*problems)


def _require_targets(
    frame: pl.DataFrame, rows: Mapping[str, Index], read: Mapping[str, Predictions], task: Task, *, where: Path
) -> None:
    """Raise TableError for predictions that were made for other targets than those of the records."""
    for name, order in rows.items():
        if (recorded := read[name].fingerprints) is not None:
            there = order >= 0
            own, made_for = frame.filter(pl.Series(there)), recorded.gather(order[there])
            ids = own["id"].cast(pl.String)
            fingerprints.require_same(ids, made_for, own[task.target], task=task.name, where=where.name)


def _system(name: str, predicted: Predictions, order: Index, targets: pl.Series) -> Scored:
    ensemble = predicted.ensemble.select(np.maximum(order, 0))
    scored = scored_ensemble(name, ensemble, targets, role="ensemble" if ensemble.members > 1 else "model")
    return scored if (order >= 0).all() else scored.answering(order >= 0)
