"""Single steps of a run: fit a partitioned table, predict any table."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import methods
from shiftbench.assessment import fingerprints
from shiftbench.assessment.predictions import Predictions
from shiftbench.ensembles import Gaussian
from shiftbench.errors import ShiftbenchWarning, TableError
from shiftbench.io import files, metering, tables
from shiftbench.io.metering import Used
from shiftbench.io.tables import single_file
from shiftbench.methods.parts import predicted
from shiftbench.methods.settings import TASKS
from shiftbench.partition import read_manifest
from shiftbench.partition.features import Features
from shiftbench.pipeline import cost
from shiftbench.pipeline.existing_partition import roles
from shiftbench.pipeline.partitioning import choose_features, infinite, kept_whole
from shiftbench.pipeline.planning import own_settings, plan
from shiftbench.pipeline.settings import Settings
from shiftbench.pipeline.study import Planned, stage_of_fit
from shiftbench.pipeline.table_data import infinite_target, task_of, with_target
from shiftbench.progress import Progress, of_stage, silent

PREDICT = "predict"  # the command, as recorded in the marks of its files


def fit_parts(settings: Settings, folder: Path, place: Path, *, cores: int, progress: Progress | None = None) -> None:
    """Fit a method to the train part of a folder that `divide` wrote with its parts; dev_in is for early stopping.

    Beside the models lies what that took; see `pipeline.cost`.

    Raises:
        ShiftbenchError: no such folder, no row with a target, columns that reveal it, invalid settings.
    """
    say, job = progress or silent, fit_job(settings, folder)
    for note in job.notes:
        warnings.warn(ShiftbenchWarning(note), stacklevel=2)
    with cost.kept(place, cost.FIT, path=place / cost.FILE):
        methods.method(job.planned.method).fit(
            job.train, job.dev, features=job.features, target=settings.target, settings=job.settings, folder=place,
            cores=cores, progress=of_stage(say, stage_of_fit(job.planned)),
        )  # fmt: skip


@dataclass(frozen=True)
class FitJob:
    """A fit of a method whose data and settings are known to be valid; `notes` are for the reader."""

    train: pl.DataFrame
    dev: pl.DataFrame
    features: Features
    planned: Planned
    settings: Any
    notes: Sequence[str]


def fit_job(settings: Settings, folder: Path) -> FitJob:
    """What `fit_parts` fits, checked.

    Raises:
        ShiftbenchError: as there.
    """
    manifest = read_manifest(folder)
    frames = [tables.read_table(folder / f"{name}.parquet", retype=False) for name in ("train", "dev_in")]
    tables.require(frames[0], [settings.target, *settings.clusters], where=str(folder))
    task = task_of(frames[0][settings.target], settings)
    settings = replace(settings, task=task)
    files = [folder / "train.parquet", folder / "dev_in.parquet"]
    if task == "regression":
        bad = [
            infinite_target(frame, settings.target, where=str(file)) for frame, file in zip(frames, files, strict=True)
        ]
        if any(bad):
            raise TableError(*(problem for each in bad for problem in each))
    kept = [
        with_target(frame, settings.target, task, where=str(file)) for frame, file in zip(frames, files, strict=True)
    ]
    train, dev = (frame for frame, _ in kept)
    chosen, notes = choose_features(train, settings, roles(manifest.rules, train.columns))
    for frame, file in zip(frames, files, strict=True):
        tables.require(frame, [*chosen.numeric, *chosen.categorical, *chosen.dates], where=str(file))
    problems = [
        f"{file}: {problem}"
        for frame, file, (_, known) in zip(frames, files, kept, strict=True)
        for problem in infinite(frame, _ids(frame, manifest.rules.get("id"), file), known, chosen)
    ]
    if problems:
        raise TableError(*problems)
    planned = plan(settings)[0]
    own = own_settings(planned, settings, _kept_whole(train, folder, settings.clusters))
    return FitJob(train, dev, chosen, planned, own, notes)


def _kept_whole(train: pl.DataFrame, folder: Path, clusters: Sequence[str]) -> tuple[str, ...]:
    if not clusters:
        return ()
    return kept_whole(train, tables.read_table(folder / "eval_in.parquet", columns=clusters, retype=False), clusters)


def _ids(frame: pl.DataFrame, column: str | None, file: Path) -> pl.Series:
    """The ids of a partition's own table, if `shiftbench partition` wrote them into it."""
    named = column if column in frame.columns else None
    return tables.ids(frame, tables.id_column(frame, named), where=str(file))


def predict_table(
    model: Path,
    table: Path,
    path: Path,
    *,
    id_column: str | None = None,
    cores: int = 1,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Predictions:
    """Predict every row of a table with a fitted method, and write the predictions file.

    Ids are those of `id_column`, else of a column `id` with unique values in all rows, else the row numbers of the
    table. If the table has the target, the predictions contain fingerprints of it. What they took lies in a file beside
    them; see `pipeline.cost`. Interrupted where an executor
    predicts in parts and called again, it goes on with those that are missing.

    Raises:
        ShiftbenchError: no fitted method in `model`, missing columns, repeated ids, or an existing output file.
    """
    with single_file.replacing(path, PREDICT, overwrite=overwrite, inputs=[table], resumes=True):
        place = files.staging_of(path.parent)
        found, used = _predictions(model, table, place, id_column=id_column, cores=cores, progress=progress)
        found.save(path)
        cost.keep_beside(path, model, used, records=len(found))
    return found


def _predictions(
    model: Path, table: Path, place: Path, *, id_column: str | None, cores: int, progress: Progress | None
) -> tuple[Predictions, Used]:
    """The predictions, and what it took to make them."""
    say = progress or silent
    method = methods.fitted(model, *TASKS)
    frame = tables.read_table(table)
    if why := tables.unusable_id(frame, id_column):
        warnings.warn(ShiftbenchWarning(f"{why} Name a column of unique ids with --id"), stacklevel=3)
    column = tables.id_column(frame, id_column)
    ids = tables.ids(frame, column, where=table.name)
    every, known = frame.height, methods.answered(frame, folder=model)
    if known is not None and not known.all():
        answers = f"{table.name}: {method.name} has an answer for {np.count_nonzero(known):,} of {frame.height:,} rows"
        if not known.any():
            raise TableError(f"{answers}, so there is nothing to predict. Name another table.")
        warnings.warn(ShiftbenchWarning(f"{answers}; the others have no prediction"), stacklevel=3)
        frame, ids = frame.filter(known), ids.filter(known)
    stage = f"predict {method.name}"
    say(stage, 0, 1)
    used = [Used()]
    with metering.measured(used.append):
        ensemble = predicted(
            method, frame, folder=model, cores=cores, place=place, progress=of_stage(say, stage),
        )  # fmt: skip
    target = methods.target_of(model)
    task = "regression" if isinstance(ensemble, Gaussian) else "classification"
    about = {
        "method": method.name,
        "table": table.name,
        "target": target,
        "id_column": column,
        "unanswered": every - frame.height,
    }
    prints = fingerprints.of_table(frame, ids, target, task=task)
    return Predictions(ids.to_numpy(), ensemble, about, prints), used[-1]
