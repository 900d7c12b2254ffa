"""A board on a table of the organiser's own: what participants get, and what is sealed.

public/BOARD/train.parquet              all columns that may be known, and the target
public/BOARD/PHASE/inputs.parquet       id and features; new ids in a new order, so that neither tells the shift
public/BOARD/PHASE/example.csv          the form of a submission
sealed/BOARD/PHASE/truth.parquet        id, target, shifted, cluster and slices
sealed/BOARD/PHASE/source_ids.parquet   the ids of the organiser's table
baselines/BOARD/PHASE/NAME.parquet      the mean of train, columns that are forecasts, methods of the settings
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench import measures, pipeline
from shiftbench.assessment.predictions import Predictions
from shiftbench.challenge.creation import DEVELOPMENT, EVALUATION, Build, Place, Terms, of_board
from shiftbench.challenge.definition import TABLE, Board
from shiftbench.ensembles import Categorical
from shiftbench.io import files, tables
from shiftbench.partition import Partition, keys
from shiftbench.pipeline.existing_partition import roles
from shiftbench.pipeline.partitioning import choose_features
from shiftbench.pipeline.settings import Settings
from shiftbench.pipeline.table_data import task_of, with_target
from shiftbench.progress import Progress, silent

PHASES = {DEVELOPMENT: ("dev_in", "dev_out"), EVALUATION: ("eval_in", "eval_out")}
OWN = ("id", "target", "shifted", "cluster")  # columns of the sealed truth that slices cannot have


def from_table(terms: Terms, settings: Settings, *, cores: int = 1, progress: Progress = silent) -> Build:
    """A board on the table of a run's settings, partitioned by their rules with a secret seed.

    Methods that the settings name are fitted to train, and become reference rows.

    Raises:
        ShiftbenchError: as a run on these settings.
    """

    def build(place: Place) -> Board:
        with tempfile.TemporaryDirectory(dir=place.root) as aside:
            made = _divided(settings, Path(aside) / "parts", place.seed)
            tables.write_table(made.train, place.public("train.parquet"))
            rng = np.random.default_rng(place.seed)
            for phase in PHASES:
                _write_phase(made, place, phase, rng)
            if settings.methods:
                _fit(made, place, Path(aside), cores=cores, progress=progress)
        place.commit()
        threshold = settings.threshold if terms.threshold is None else terms.threshold
        threshold = 0.5 if threshold is None and made.settings.task == "classification" else threshold
        return of_board(terms, TABLE, {DEVELOPMENT: False, EVALUATION: True}, threshold=threshold)

    return build


@dataclass(frozen=True)
class _Divided:
    """A table in parts. settings: with the task found; features: columns that participants see of hidden records."""

    settings: Settings
    parts: Partition
    folder: Path
    train: pl.DataFrame
    features: tuple[str, ...]


def _divided(settings: Settings, folder: Path, seed: int) -> _Divided:
    """Partition the table with this seed, as `pipeline.run` does."""
    where = Path(settings.table).name
    frame = tables.read_table(Path(settings.table))
    tables.require(frame, [settings.target, *settings.clusters, *settings.slices, *settings.baselines], where=where)
    task = task_of(frame[settings.target], settings)
    frame, _ = with_target(frame, settings.target, task, where=where)
    rules = pipeline.rules_of({**settings.partition, "seed": seed})
    rules = pipeline.kept_apart(rules, clusters=settings.clusters, cut=settings.cut_clusters)
    rules = pipeline.own_ids(rules, frame)
    ids = tables.native_ids(frame, rules.id, where=where)
    unseen = [*tables.expand(settings.drop, frame.columns, what="column to drop"), settings.target]
    made = pipeline.divide(
        frame, rules, folder, ids=ids, source=Path(settings.table), clusters=settings.clusters, unseen=unseen,
        write_parts=bool(settings.methods),
    )  # fmt: skip
    settings = replace(settings, task=task)
    train = made.parts.frame("train")
    named = roles(made.manifest.rules, train.columns)
    features, _ = choose_features(train, settings, named)
    shown = tuple(name for name in frame.columns if name in {*features.columns, *settings.baselines} - {"id"})
    public = {*shown, *named, *settings.clusters, *settings.slices, settings.target}
    return _Divided(settings, made.parts, folder, train.select(c for c in frame.columns if c in public), shown)


def _write_phase(made: _Divided, place: Place, phase: str, rng: np.random.Generator) -> None:
    """Write inputs, example, truth, and the baselines that need no fit."""
    settings = made.settings
    frame = pl.concat([made.parts.frame(name) for name in PHASES[phase]])
    source = pl.concat([made.parts.ids_of(name).cast(pl.String) for name in PHASES[phase]])
    inside = made.parts.counts[PHASES[phase][0]]
    order = rng.permutation(frame.height)
    ids = pl.Series("id", [f"{phase[0]}{n:0{len(str(frame.height))}}" for n in range(1, frame.height + 1)])
    shifted = pl.Series("shifted", order >= inside)
    frame = frame[order]
    tables.write_table(frame.select(ids, *made.features), place.public(phase, "inputs.parquet"))
    truth = {"id": ids, "target": frame[settings.target], "shifted": shifted}
    if settings.clusters:
        truth["cluster"] = keys.combined(frame, settings.clusters).cast(pl.String)
    truth |= {name: frame[name] for name in settings.slices if name not in OWN}
    labels = pl.DataFrame([values.alias(name) for name, values in truth.items()])
    tables.write_table(labels, place.sealed(phase, "truth.parquet"))
    own = pl.DataFrame([ids, source[order].alias("source")])
    tables.write_table(own, place.sealed(phase, "source_ids.parquet"))
    answer, spread = _constant(made.train[settings.target])
    example = _predictions(ids, pl.Series(np.full(frame.height, answer)), rng.uniform(0.5, 1.5, frame.height) * spread)
    tables.write_table(example, place.public(phase, "example.csv"))
    tables.write_table(example, place.baseline(phase, "train-mean.parquet"))
    for name in settings.baselines:
        known = frame[name].is_not_null() & frame[name].is_not_nan() if frame[name].dtype.is_float() else None
        if known is None or known.all():
            answers = _predictions(ids, frame[name], example["uncertainty"].to_numpy())
            tables.write_table(answers, place.baseline(phase, f"{files.name_of(name)}.parquet"))


def _constant(target: pl.Series) -> tuple[float | str, float]:
    """The best answer without any feature, and a spread."""
    if target.dtype.is_numeric():
        return float(target.mean() or 0.0), float(target.var() or 1.0)  # type: ignore[arg-type]
    return str(target.mode().sort()[0]), 1.0


def _predictions(ids: pl.Series, answer: pl.Series, uncertainty: np.ndarray) -> pl.DataFrame:
    return pl.DataFrame([ids, answer.alias("answer"), pl.Series("uncertainty", uncertainty)])


def _fit(made: _Divided, place: Place, aside: Path, *, cores: int, progress: Progress) -> None:
    """Fit each method of the settings to train, and predict the inputs of the phases."""
    for n, method in enumerate(made.settings.methods):
        name = files.name_of(str(method.get("title") or method["name"]))
        chosen = replace(made.settings, methods=(method,), table=str(made.folder), partition={}, table_sha256="")
        model = aside / f"model-{n}"
        pipeline.fit_parts(chosen, made.folder, model, cores=cores, progress=progress)
        for phase in PHASES:
            path = aside / f"{phase}-{n}.parquet"
            inputs = place.public(phase, "inputs.parquet")
            found = pipeline.predict_table(model, inputs, path, id_column="id", cores=cores, progress=progress)
            tables.write_table(_plain(found), place.baseline(phase, f"{name}.parquet"))


def _plain(predictions: Predictions) -> pl.DataFrame:
    """Answers and the headline uncertainty of an ensemble."""
    ensemble = predictions.ensemble
    answers = ensemble.labels() if isinstance(ensemble, Categorical) else ensemble.answers()
    spread = measures.uncertainty(ensemble, measures.headline(ensemble))
    return _predictions(pl.Series("id", list(predictions.ids)), pl.Series(answers), spread)
