"""Systems read from files: tables of models made elsewhere (an id, an error or a target and an answer, uncertainties),
and predictions files beside a table of targets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment import calibration, fingerprints, predictions, scored
from shiftbench.assessment import column_values as values
from shiftbench.assessment.columns import Columns, named_in
from shiftbench.assessment.predictions import Predictions
from shiftbench.assessment.record_columns import described
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.slicing import own_slicing
from shiftbench.assessment.source import Source
from shiftbench.check import Flags
from shiftbench.ensembles import Categorical, Ensemble
from shiftbench.errors import ArrayError, ShiftbenchError, TableError, TableWarning, every
from shiftbench.io import tables
from shiftbench.io.tables import exact
from shiftbench.methods.targets import absent, labels
from shiftbench.partition import keys
from shiftbench.scores.score import Role

UNCHECKED = (
    "{where}: the predictions have no fingerprints of their targets, and ids are the row numbers of {truth}: whether "
    "they belong to these rows was not checked"
)
NO_PROBABILITIES = (
    "The predictions have no probabilities of this class: add them (0 where a model has never seen it), or drop these "
    "records."
)
ROUNDED = (
    "{truth}: column {target!r}: numbers beyond 2^53 are rounded to double precision, in which predictions are held; "
    "subtract what they have in common from the targets before a model is fitted"
)


@dataclass(frozen=True)
class ScoredTable:
    """A table read as one system: its ids [N], its records and its errors. task: "regression" or "classification"
    if targets and answers were given, else "errors". gaps: whether its file declares that it leaves out records
    without an answer. numbered: whether its ids are row numbers. described: [N] rows of its columns that describe
    records (target, clusters, slices); target: the column of targets among them. calibration: [N] flags of records that
    only calibrate, or None."""

    ids: pl.Series
    records: Records
    scored: Scored
    task: str
    manifest: str | None = None
    gaps: bool = False
    numbered: bool = False
    described: pl.DataFrame = field(default_factory=pl.DataFrame)
    target: str | None = None
    calibration: Flags | None = None


def load(file: str | Path, columns: Columns, *, name: str, truth: str | Path | None = None) -> ScoredTable:
    """Read a table of errors, or a predictions file beside the table of targets `truth`.

    Raises:
        TableError, PredictionsError: listing the problems of both files.
    """
    where = Path(file).name
    if truth is None:
        frame = tables.read_table(file)
        if predictions.KEY in tables.read_metadata(file) if Path(file).suffix == ".parquet" else False:
            raise TableError(
                f"{where}: expected the targets of these predictions, found no table of them. "
                "Name it with --truth TABLE, and its column with --target."
            )
        if (other := calibration.file_of(columns.calibration)) is not None:
            return _calibrated_on(other, frame, columns, name=name, where=where)
        return read(frame, columns, name=name, where=where)
    if not columns.target:
        raise TableError(f"{Path(truth).name}: expected to know the column of targets. Name it with --target.")
    predicted, other = predictions.load(file), calibration.file_of(columns.calibration)
    if other is None:
        return against(predicted, tables.read_table(truth), columns, name=name, file=file, truth=truth)
    apart = predictions.load(other)
    whole, columns = predicted.with_records(apart, where=other.name), replace(columns, calibration=None)
    system = against(whole, tables.read_table(truth), columns, name=name, file=file, truth=truth)
    return replace(system, calibration=system.ids.is_in(pl.Series(apart.ids, dtype=pl.String).implode()).to_numpy())


def _calibrated_on(file: Path, frame: pl.DataFrame, columns: Columns, *, name: str, where: str) -> ScoredTable:
    """The system in a table, with the records of a further file to calibrate on.

    Each file is read alone first, so that messages count its own rows.

    Raises:
        TableError: listing the problems of both.
    """
    own = replace(columns, calibration=None)
    frame = values.flagged(frame, own, where=where)
    other = values.flagged(tables.read_table(file), replace(own, follows=True), where=file.name)
    theirs = replace(own, drop=(), shifted=own.shifted if own.shifted in other.columns else None)
    readers = {
        "own": lambda: read(frame, own, name=name, where=where),
        "other": lambda: read(other, theirs, name=name, where=file.name),
    }
    every(readers, TableError)
    found = own.found_in(frame, where=where)
    if found.shifted and found.shifted not in other.columns:  # they are all in-domain
        frame = frame.with_columns(pl.col(found.shifted).cast(pl.String))
        other = other.with_columns(pl.lit("0").alias(found.shifted))
    whole, apart = calibration.below(
        frame,
        other,
        found.roles(frame),
        needed=found.told,
        id_column=found.id,
        where=(where, f"{file.name} (--calibration)"),
    )
    system = read(whole, replace(own, drop=(*own.drop, *apart)), name=name, where=where)
    if system.records.source is not None and not system.records.source.features.columns:
        undescribed = f"{file.name}: no column that describes records is in {where}, too"
        warnings.warn(TableWarning(f"{undescribed}, so nothing can be weighted for the shift"), stacklevel=2)
    return replace(system, calibration=np.arange(whole.height) >= frame.height)


def against(
    predicted: Predictions, table: pl.DataFrame, columns: Columns, *, name: str, file: str | Path, truth: str | Path
) -> ScoredTable:
    """Predictions scored on the rows of a table of targets that they cover; messages name both files.

    Raises:
        TableError: listing the problems of both.
    """
    where, target = Path(file).name, str(columns.target)
    table = values.flagged(table, columns, where=Path(truth).name)
    values.require_uniform(table, columns, where=Path(truth).name)
    ids = pl.Series("id", predicted.ids, dtype=pl.String)
    column = columns.id or _id_column(table, predicted.metadata.get("id_column"))
    rows = tables.line_up(table, ids, column=column, where=Path(truth).name, extra="drop")
    lengths = [columns.length] if columns.length else []
    tables.require(rows, [target, *lengths, *columns.clusters, *columns.slices], where=Path(truth).name)
    task = "classification" if isinstance(predicted.ensemble, Categorical) else "regression"
    if columns.task not in (None, task):
        raise TableError(f"{where}: expected predictions of a {columns.task}, found those of a {task}. Drop --task.")
    if predicted.fingerprints is not None:
        targets, where = rows[target], Path(truth).name
        fingerprints.require_same(ids, predicted.fingerprints, targets, task=task, where=where)
    elif column is None:
        warnings.warn(TableWarning(UNCHECKED.format(where=where, truth=Path(truth).name)), stacklevel=2)
    shifted = columns.shifted or named_in("shifted", rows.columns)
    own = tables.ids(table, column, where=Path(truth).name)
    _check_joined(table, own.is_in(ids.implode()), target, shifted, task=task, where=Path(truth).name)
    kept = rows[target].is_not_null()
    if missing := int((~kept).sum()):
        what = f"{where}: {missing:,} of {rows.height:,} predictions have no {target!r} in {Path(truth).name}"
        warnings.warn(TableWarning(f"{what} and are left out"), stacklevel=2)
    rows = rows.filter(kept)
    if task == "regression" and exact.beyond(rows[target]):
        warnings.warn(TableWarning(ROUNDED.format(truth=Path(truth).name, target=target)), stacklevel=2)
    ensemble = predicted.ensemble.select(np.flatnonzero(kept.to_numpy()))
    slicing = own_slicing(rows, columns.slices, labels=columns.clusters)
    kept_ids, groups = ids.filter(kept), keys.columns((*columns.clusters, *columns.slices), rows.columns)
    records = Records(
        rows.height,
        "all",
        values.flags(rows, shifted, where=Path(truth).name) if shifted else None,
        values.cluster_codes(rows, columns.clusters),
        slicing.labels(rows),
        calendar=slicing.calendar,
        source=Source(
            rows, kept_ids, np.arange(rows.height), replace(columns, id=column).features(rows), target, column, groups
        ),
        identity=values.identity(kept_ids, column, rows, target),
    )
    system = scored_ensemble(name, ensemble, rows[target], role="ensemble" if ensemble.members > 1 else "model")
    system = replace(system, length=values.length(rows, columns, where=Path(truth).name))
    manifest, gaps = predicted.metadata.get("manifest"), bool(predicted.metadata.get("unanswered"))
    return ScoredTable(
        kept_ids, records, system, task, manifest, gaps, numbered=column is None,
        calibration=values.calibrating(rows, columns, where=Path(truth).name),
    )  # fmt: skip


def _check_joined(
    table: pl.DataFrame, joined: pl.Series, target: str, shifted: str | None, *, task: str, where: str
) -> None:
    """Raise TableError for invalid targets and flags of joined records, with row numbers of the file."""
    if task == "regression":
        tables.numbers(table.select(pl.when(joined).then(pl.col(target)).alias(target)), target, where=where)
    if shifted:
        flag = pl.col(shifted).cast(pl.String)
        scored = joined & table[target].is_not_null()
        values.flags(
            table.select(pl.when(scored).then(flag).otherwise(pl.lit("0")).alias(shifted)), shifted, where=where
        )


def _id_column(table: pl.DataFrame, recorded: Any) -> str | None:
    """The column of ids of a table of targets: that of the predictions, else `id`, else None for row numbers."""
    return recorded if recorded in table.columns else tables.id_column(table, None)


def scored_ensemble(name: str, ensemble: Ensemble, targets: pl.Series, *, role: Role, about: str = "") -> Scored:
    """Score predictions against their targets: class names for a Categorical, numbers for other kinds.

    Raises:
        TableError: for a target that is not a number, or not one of the ensemble's classes.
    """
    if not isinstance(ensemble, Categorical):
        truth = tables.numbers(targets.to_frame(), targets.name, where="targets")
        return scored.predicted(name, ensemble, truth, role=role, about=about)
    place = {str(label): code for code, label in enumerate(ensemble.classes or ())}
    text = labels(targets.to_frame(), targets.name, where="targets")
    if problems := absent(text, list(place), where=name, advice=NO_PROBABILITIES):
        raise TableError(*problems)
    codes = text.replace_strict(place, return_dtype=pl.Int64).to_numpy()
    return scored.classification(name, ensemble, codes, role=role, about=about)


def read(frame: pl.DataFrame, columns: Columns, *, name: str, where: str) -> ScoredTable:
    """The system in a table.

    Raises:
        TableError: listing the problems of columns, ids and values.
    """
    grouping = keys.columns((*columns.clusters, *columns.slices), frame.columns)
    frame = values.flagged(frame, columns, where=where)
    columns = columns.found_in(frame, where=where)
    readers: dict[str, Callable[[], Any]] = {
        "ids": lambda: tables.ids(frame, columns.id, where=where),
        "system": lambda: (
            _forecast(name, frame, columns, where) if columns.form else _given(name, frame, columns, where)
        ),
        "shifted": lambda: columns.shifted and values.flags(frame, columns.shifted, where=where),
        "uniform": lambda: values.require_uniform(frame, columns, where=where),
        "clusters": lambda: values.cluster_codes(frame, columns.clusters),
        "slices": lambda: own_slicing(frame, columns.slices, labels=columns.clusters),
        "calibration": lambda: values.calibrating(frame, columns, where=where),
        "length": lambda: values.length(frame, columns, where=where),
    }
    parts = every(readers, TableError)
    system, task = parts["system"]
    slicing, shifted = parts["slices"], parts["shifted"] if columns.shifted else None
    labels = slicing.labels(frame)
    source = None
    if not columns.follows:  # the records are those of the first file, of which alone the table is kept
        rows, target = np.arange(frame.height), columns.target or ""
        own, told = columns.predicted()
        source = Source(
            frame, parts["ids"], rows, columns.features(frame), target, columns.id, grouping, name, own, told
        )
    system = replace(system, length=parts["length"])
    if columns.answer and not columns.error:
        system = replace(system, answers=exact.array(frame[columns.answer]))
    records = Records(
        frame.height, "all", shifted, parts["clusters"], labels, calendar=slicing.calendar, source=source,
        identity=values.identity(parts["ids"], columns.id, frame, columns.target),
    )  # fmt: skip
    return ScoredTable(
        parts["ids"], records, system, task, numbered=columns.id is None,
        described=described(frame, [columns.target, *grouping]), target=columns.target,
        calibration=parts["calibration"],
    )  # fmt: skip


def _given(name: str, frame: pl.DataFrame, columns: Columns, where: str) -> tuple[Scored, str]:
    """The system of errors (or targets and answers) and uncertainties, and its task."""
    found = every(
        {
            "errors": lambda: values.errors(frame, columns, where),
            "uncertainty": lambda: values.uncertainty(frame, columns.uncertainty, where=where),
        },
        TableError,
    )
    errors, task = found["errors"]
    try:
        return scored.given(name, errors, found["uncertainty"], root=task == "regression"), task
    except ArrayError as error:
        raise TableError(*(f"{where}: {problem}" for problem in error.problems)) from None


def _forecast(name: str, frame: pl.DataFrame, columns: Columns, where: str) -> tuple[Scored, str]:
    """The system of predictions of a form, and its task; uncertainties of the table stand before those of the form."""
    form, target = columns.form, str(columns.target)
    assert form is not None
    numeric = form.task == "regression"
    found = every(
        {
            "ensemble": lambda: form.read(frame, columns.parts, where),
            "targets": lambda: (
                values.finite(frame, [target], where=where) if numeric else values.require_classes(frame, target, where)
            ),
            "uncertainty": lambda: values.uncertainty(frame, columns.uncertainty, where=where),
            "point": lambda: columns.answer and values.finite(frame, [columns.answer], where=where)[columns.answer],
        },
        TableError,
    )
    ensemble = found["ensemble"]
    if columns.answer:
        ensemble = replace(ensemble, point=found["point"][None])
    if numeric and exact.beyond(frame[target]):
        warnings.warn(TableWarning(ROUNDED.format(truth=where, target=target)), stacklevel=2)
    try:
        system = scored_ensemble(name, ensemble, frame[target], role="ensemble" if ensemble.members > 1 else "model")
    except ShiftbenchError as error:
        raise TableError(*(f"{where}: {problem.removeprefix(f'{name}, ')}" for problem in error.problems)) from None
    if given := found["uncertainty"]:
        named = (*given, *system.system.measures)
        own = replace(system.system, measure=named[0], measures=named)
        system = replace(system, system=own, uncertainty={**given, **system.uncertainty})
    return system, form.task
