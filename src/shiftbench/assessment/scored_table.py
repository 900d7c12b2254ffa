"""Systems read from files: tables of models made elsewhere (an id, an error or a target and an answer, uncertainties),
and predictions files beside a table of targets. Systems on the same ids are lined up for comparison."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import check
from shiftbench.assessment import calibration, fingerprints, forms, predictions, scored
from shiftbench.assessment.conformal import Split, set_aside
from shiftbench.assessment.forms import Form
from shiftbench.assessment.predictions import Predictions
from shiftbench.assessment.record_columns import described, differences
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.slicing import own_slicing
from shiftbench.assessment.source import Source
from shiftbench.check import Flags, Vector
from shiftbench.ensembles import Categorical, Ensemble
from shiftbench.errors import ArrayError, ShiftbenchError, TableError, TableWarning, UnknownNameError, every
from shiftbench.io import tables
from shiftbench.io.tables import exact, problem
from shiftbench.methods.settings import TASKS
from shiftbench.methods.targets import absent, labels
from shiftbench.partition import keys
from shiftbench.partition.expression import condition, open_condition
from shiftbench.partition.features import Features
from shiftbench.partition.features import described as features_of
from shiftbench.partition.hashing import keyed_hash
from shiftbench.scores.ranking import Index
from shiftbench.scores.score import Role

YES = {"1", "1.0", "true", "yes", "shifted", "out"}
NO = {"0", "0.0", "false", "no", "in"}
UNCHECKED = (
    "{where}: the predictions have no fingerprints of their targets, and ids are the row numbers of {truth}: whether "
    "they belong to these rows was not checked"
)
CONDITION = re.compile(r"[<>=!]|\b(in|not|is_null)\b")  # what names of columns hardly have
NO_PROBABILITIES = (
    "The predictions have no probabilities of this class: add them (0 where a model has never seen it), or drop these "
    "records."
)
ROUNDED = (
    "{truth}: column {target!r}: numbers beyond 2^53 are rounded to double precision, in which predictions are held; "
    "subtract what they have in common from the targets before a model is fitted"
)


@dataclass(frozen=True)
class Columns:
    """The roles of a table's columns; None or () selects columns of the default names, if they exist.

    id: unique ids (None: `id` if there is one, else row numbers). error: >= 0. target, answer: instead of error:
    squared error of numbers, 0/1 error of text. uncertainty: one or more; by default all whose names begin with
    `uncertainty`. shifted: 0/1, true/false, or a condition over columns. clusters: columns whose combinations are
    resampled together. slices: columns to break scores down by (see `slicing`). task: "regression" or "classification",
    of target and answer; None: a regression if both are numbers. follows: whether this is a further file on the records
    of another: it need not repeat shifted, clusters and slices, but if it does they are compared with those of the
    first. forms: form of predictions → the values of its option (see `forms`); by default columns are recognised by
    their names. form, parts: the form that was found, and its columns. calibration: a column that is 1 for records that
    calibrate conformal regions and are not scored, a condition over columns, or a further file of such records. drop:
    columns without a role that do not describe records, names or globs. length: of the record, >= 0: the report checks
    whether measures rank more than these.
    """

    id: str | None = None
    error: str | None = None
    target: str | None = None
    answer: str | None = None
    uncertainty: tuple[str, ...] = ()
    shifted: str | None = None
    clusters: tuple[str, ...] = ()
    slices: tuple[str, ...] = ()
    task: str | None = None
    follows: bool = False
    forms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    form: Form | None = None
    parts: Mapping[str, str] = field(default_factory=dict)
    calibration: str | None = None
    drop: tuple[str, ...] = ()
    length: str | None = None

    def __post_init__(self) -> None:
        if self.task not in (None, *TASKS):
            raise UnknownNameError("task", str(self.task), TASKS)

    def found_in(self, frame: pl.DataFrame, *, where: str) -> Columns:
        """These columns, completed from the names in the table.

        Raises:
            TableError: naming every column that is missing or ambiguous.
        """
        names = frame.columns
        taken = replace(
            self,
            id=self.id or _if_there("id", names),
            error=self.error or (None if self.target or self.answer else _if_there("error", names)),
            shifted=self.shifted or _if_there("shifted", names),
            uncertainty=self.uncertainty or tuple(name for name in names if name.lower().startswith("uncertainty")),
            target=self.target or _if_there("target", names),
            answer=self.answer or _if_there("answer", names),
        )
        if self.follows:
            named = _if_there(self.shifted or "shifted", names)
            taken = replace(
                taken, shifted=named or _if_there("shifted", names), clusters=(), slices=(), calibration=None
            )
        if any(self.forms.values()) or not (self.error or (taken.error and taken.uncertainty)):
            answered = bool(taken.target and taken.answer and taken.uncertainty)
            if found := forms.found_in(names, self.forms, answered=answered, where=where):
                return taken._of_form(*found, self, names, where=where)
        problems = []
        if self.target and not (taken.error or taken.answer):
            tables.require_names(names, [self.target], where=where)
            missing = "Name their column with --answer" + " and --uncertainty" * (not taken.uncertainty)
            raise TableError(
                f"{where}: expected answers beside the target {self.target!r}, found {', '.join(names)}. "
                f"{missing}, or predictions of another form: {forms.hint()}."
            )
        if not taken.error and not (taken.target and taken.answer):
            problems.append(
                f"{where}: expected a column `error`, or `target` and `answer`, found {', '.join(names)}. "
                "Name them with --error, or --target and --answer. Other predictions need `target` and columns of "
                f"these names: {forms.hint()}."
            )
        if self.error and self.answer:
            problems.append(
                f"expected --error, or --target and --answer, found --error {self.error} and --answer {self.answer}. "
                "Drop one of them."
            )
        elif not taken.error and taken.target and taken.target == taken.answer:
            problems.append(
                f"{where}: expected targets and answers in different columns, found {taken.target!r} for both. "
                "Choose others with --target and --answer."
            )
        if not taken.uncertainty:
            problems.append(
                f"{where}: expected columns whose names begin with `uncertainty`, found {', '.join(names)}. "
                "Name them with --uncertainty."
            )
        if problems:
            raise TableError(*problems)
        taken._require_in(names, where=where)
        return taken

    def _of_form(
        self, form: Form, parts: Mapping[str, str], asked: Columns, names: list[str], *, where: str
    ) -> Columns:
        """These columns with predictions of a form; `asked` are those of the options.

        Raises:
            TableError: if there are no targets, or options that do not go with this form.
        """
        problems = []
        if not self.target:
            problems.append(
                f"{where}: expected a column `target` beside {', '.join(list(parts)[:3])}, found {', '.join(names)}. "
                "Name it with --target."
            )
        if asked.error:
            problems.append(f"{where}: expected --error or {form.option}, found both. Drop one.")
        if asked.answer and not form.answers:
            problems.append(f"{where}: expected no --answer beside {form.name}, which give the answers. Drop it.")
        if asked.task not in (None, form.task):
            problems.append(f"{where}: expected {form.name} to be of a {form.task}, found {asked.task}. Drop --task.")
        if problems:
            raise TableError(*problems)
        if self.answer and not form.answers:
            told = f"{where}: column {self.answer!r} is not used: the {form.name} give the answers"
            warnings.warn(TableWarning(told), stacklevel=2)
        taken = replace(self, error=None, answer=self.answer if form.answers else None, form=form, parts=parts)
        taken._require_in(names, where=where)
        return taken

    def features(self, frame: pl.DataFrame) -> Features:
        """The columns that describe the records beside those with a role."""
        return features_of(frame, [*self.roles(frame), *tables.expand(self.drop, frame.columns, what="column to drop")])

    def roles(self, frame: pl.DataFrame) -> list[str]:
        """The columns of `frame` that mean something here."""
        calibrating = self.calibration or ""
        named = [
            self.id,
            self.error,
            self.target,
            self.answer,
            self.shifted,
            self.length,
            *self.uncertainty,
            *self.parts,
        ]
        named += keys.columns((*self.clusters, *self.slices), frame.columns)
        if calibrating and calibrating not in frame.columns:
            named += condition(calibrating, frame.schema).meta.root_names()
        if self.shifted and CONDITION.search(self.shifted):
            with suppress(ShiftbenchError):  # a column of that name
                named += condition(self.shifted, frame.schema).meta.root_names()
        known = (name for name in (*named, calibrating) if name and name in frame.columns)
        return list(dict.fromkeys(known))

    def _require_in(self, names: Sequence[str], *, where: str) -> None:
        used = [
            self.id,
            self.error,
            self.shifted,
            self.length,
            *self.uncertainty,
            *self.clusters,
            *self.slices,
            *self.parts,
        ]
        if not self.error:
            used += [self.target, self.answer]
        tables.require_names(names, [name for name in used if name], where=where)


def _if_there(name: str, columns: Sequence[str]) -> str | None:
    return name if name in columns else None


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


@dataclass(frozen=True)
class Joined:
    """Systems on the same records; manifests: system → hash of the manifest in its predictions; calibration: further
    records that conformal regions are calibrated on, with the same systems."""

    records: Records
    systems: list[Scored]
    task: str
    manifests: dict[str, str]
    calibration: Split | None = None


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


def _flagged(frame: pl.DataFrame, columns: Columns, *, where: str) -> pl.DataFrame:
    """The table with a column of flags called like the condition that tells which records are shifted, if it is one.

    A file on the records of another may lack the columns of the condition.

    Raises:
        TableError: for an invalid condition.
    """
    text = columns.shifted
    if text is None or text in frame.columns or not CONDITION.search(text):
        return frame
    try:
        return frame.with_columns(open_condition(text, frame.schema).alias(text))
    except ShiftbenchError as error:
        if columns.follows:
            return frame
        raise TableError(
            *(f"{where}: --shifted: expected a column or a condition: {each}" for each in error.problems)
        ) from None


def _calibrated_on(file: Path, frame: pl.DataFrame, columns: Columns, *, name: str, where: str) -> ScoredTable:
    """The system in a table, with the records of a further file to calibrate on.

    Each file is read alone first, so that messages count its own rows.

    Raises:
        TableError: listing the problems of both.
    """
    own = replace(columns, calibration=None)
    frame = _flagged(frame, own, where=where)
    other = _flagged(tables.read_table(file), replace(own, follows=True), where=file.name)
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
    whole, apart = calibration.below(frame, other, found.roles(frame), id_column=found.id, where=(where, file.name))
    system = read(whole, replace(own, drop=(*own.drop, *apart)), name=name, where=where)
    if system.records.source is not None and not system.records.source.features.columns:
        told = f"{file.name}: no column that describes records is in {where}, too"
        warnings.warn(TableWarning(f"{told}, so nothing can be weighted for the shift"), stacklevel=2)
    return replace(system, calibration=np.arange(whole.height) >= frame.height)


def against(
    predicted: Predictions, table: pl.DataFrame, columns: Columns, *, name: str, file: str | Path, truth: str | Path
) -> ScoredTable:
    """Predictions scored on the rows of a table of targets that they cover; messages name both files.

    Raises:
        TableError: listing the problems of both.
    """
    where, target = Path(file).name, str(columns.target)
    table = _flagged(table, columns, where=Path(truth).name)
    _require_uniform(table, columns, where=Path(truth).name)
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
    shifted = columns.shifted or _if_there("shifted", rows.columns)
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
        flags(rows, shifted, where=Path(truth).name) if shifted else None,
        cluster_codes(rows, columns.clusters),
        slicing.labels(rows),
        calendar=slicing.calendar,
        source=Source(
            rows, kept_ids, np.arange(rows.height), replace(columns, id=column).features(rows), target, column, groups
        ),
        identity=_identity(kept_ids, column, rows, target),
    )
    system = meet(name, ensemble, rows[target], role="ensemble" if ensemble.members > 1 else "model")
    system = replace(system, length=_length(rows, columns, where=Path(truth).name))
    manifest, gaps = predicted.metadata.get("manifest"), bool(predicted.metadata.get("unanswered"))
    return ScoredTable(
        kept_ids, records, system, task, manifest, gaps, numbered=column is None,
        calibration=_calibration(rows, columns, where=Path(truth).name),
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
        flags(table.select(pl.when(scored).then(flag).otherwise(pl.lit("0")).alias(shifted)), shifted, where=where)


def _id_column(table: pl.DataFrame, recorded: Any) -> str | None:
    """The column of ids of a table of targets: that of the predictions, else `id`, else None for row numbers."""
    return recorded if recorded in table.columns else tables.id_column(table, None)


def meet(name: str, ensemble: Ensemble, targets: pl.Series, *, role: Role, about: str = "") -> Scored:
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


def line_up(systems: Sequence[ScoredTable]) -> Joined:
    """Systems on the same ids, in the order of the first; a system with declared gaps may lack some of them.

    Raises:
        TableError: if their ids, shifted flags or tasks differ, or two have the same name.
    """
    first = next((system for system in systems if not system.gaps), systems[0])
    names = [system.scored.system.name for system in systems]
    problems = [
        f"expected systems of different names, found {name!r} twice." for name in set(names) if names.count(name) > 1
    ]
    found = []
    place = pl.DataFrame({"id": first.ids}).with_row_index("row")
    for system in systems:
        order = _order(place, system, first, problems)
        if order is None:
            continue
        answered = order >= 0
        found.append(system.scored.select(np.maximum(order, 0)).answering(answered))
        if system.task != first.task:
            problems.append(
                f"{system.scored.system.name}: expected {first.task} like the first file, found {system.task}."
            )
        flagged, wanted = system.records.shifted, first.records.shifted
        if (
            flagged is not None
            and wanted is not None
            and not np.array_equal(flagged[order[answered]], wanted[answered])
        ):
            problems.append(
                f"{system.scored.system.name}: expected the same records to be shifted as in the first file."
            )
        name = system.scored.system.name
        held, asked = system.calibration, first.calibration
        if held is not None and asked is not None and not np.array_equal(held[order[answered]], asked[answered]):
            problems.append(f"{name}: expected to be calibrated on the same records as the first file, found others.")
        if flagged is not None and wanted is None:
            unused = f"{name}: which records are shifted is not used, since the first file does not tell"
            warnings.warn(TableWarning(f"{unused}; name this file first to score both sides"), stacklevel=2)
        problems += differences(first.described, system.described, order, first.ids, name=name, target=first.target)
    if problems:
        raise TableError(*problems)
    manifests = {s.scored.system.name: s.manifest for s in systems if s.manifest}
    split, calibration = set_aside(first.records, found, first.calibration)
    return Joined(split[0], [*split[1]], first.task, manifests, calibration)


def _order(place: pl.DataFrame, system: ScoredTable, first: ScoredTable, problems: list[str]) -> Index | None:
    """Rows of a system in the order of the first one's ids, -1 for gaps; None, and a problem, if ids differ."""
    if system.numbered != first.numbered:
        names = [each.scored.system.name for each in (first, system)]
        with_ids, without = reversed(names) if first.numbered else names
        problems.append(
            f"{without}: expected a column of ids as in {with_ids}, found none, and row numbers say nothing about ids. "
            "Give every file such a column of one name (`id`, or the one of --id), or none of them."
        )
        return None
    if system.ids.equals(first.ids):
        return np.arange(len(system.ids))
    rows = pl.DataFrame({"id": system.ids}).with_row_index("here")
    joined = place.join(rows, on="id", how="full", coalesce=True).sort("row", nulls_last=True)
    missing, surplus = joined["here"].null_count(), joined["row"].null_count()
    if surplus or (missing and not system.gaps):
        odd = joined.filter(pl.col("here").is_null() | pl.col("row").is_null())["id"].head(3).to_list()
        problems.append(
            f"{system.scored.system.name}: expected the {len(first.ids):,} ids of the first file, found {missing:,} "
            f"missing and {surplus:,} others (such as {', '.join(map(str, odd))}). Keep the common ids in every file."
        )
        return None
    return joined["here"].cast(pl.Int64).fill_null(-1).to_numpy()


def read(frame: pl.DataFrame, columns: Columns, *, name: str, where: str) -> ScoredTable:
    """The system in a table.

    Raises:
        TableError: listing the problems of columns, ids and values.
    """
    grouping = keys.columns((*columns.clusters, *columns.slices), frame.columns)
    frame = _flagged(frame, columns, where=where)
    columns = columns.found_in(frame, where=where)
    readers: dict[str, Callable[[], Any]] = {
        "ids": lambda: tables.ids(frame, columns.id, where=where),
        "system": lambda: (
            _forecast(name, frame, columns, where) if columns.form else _given(name, frame, columns, where)
        ),
        "shifted": lambda: columns.shifted and flags(frame, columns.shifted, where=where),
        "uniform": lambda: _require_uniform(frame, columns, where=where),
        "clusters": lambda: cluster_codes(frame, columns.clusters),
        "slices": lambda: own_slicing(frame, columns.slices, labels=columns.clusters),
        "calibration": lambda: _calibration(frame, columns, where=where),
        "length": lambda: _length(frame, columns, where=where),
    }
    parts = every(readers, TableError)
    system, task = parts["system"]
    slicing, shifted = parts["slices"], parts["shifted"] if columns.shifted else None
    labels = slicing.labels(frame)
    source = None
    if not columns.follows:  # the records are those of the first file, of which alone the table is kept
        rows, target = np.arange(frame.height), columns.target or ""
        source = Source(frame, parts["ids"], rows, columns.features(frame), target, columns.id, grouping)
    system = replace(system, length=parts["length"])
    if columns.answer and not columns.error:
        system = replace(system, answers=exact.array(frame[columns.answer]))
    records = Records(
        frame.height, "all", shifted, parts["clusters"], labels, calendar=slicing.calendar, source=source,
        identity=_identity(parts["ids"], columns.id, frame, columns.target),
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
            "errors": lambda: _errors(frame, columns, where),
            "uncertainty": lambda: _uncertainty(frame, columns.uncertainty, where=where),
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
            "targets": lambda: _finite(frame, [target], where=where) if numeric else _classes(frame, target, where),
            "uncertainty": lambda: _uncertainty(frame, columns.uncertainty, where=where),
            "point": lambda: columns.answer and _finite(frame, [columns.answer], where=where)[columns.answer],
        },
        TableError,
    )
    ensemble = found["ensemble"]
    if columns.answer:
        ensemble = replace(ensemble, point=found["point"][None])
    if numeric and exact.beyond(frame[target]):
        warnings.warn(TableWarning(ROUNDED.format(truth=where, target=target)), stacklevel=2)
    try:
        system = meet(name, ensemble, frame[target], role="ensemble" if ensemble.members > 1 else "model")
    except ShiftbenchError as error:
        raise TableError(*(f"{where}: {problem.removeprefix(f'{name}, ')}" for problem in error.problems)) from None
    if given := found["uncertainty"]:
        named = (*given, *system.system.measures)
        own = replace(system.system, measure=named[0], measures=named)
        system = replace(system, system=own, uncertainty={**given, **system.uncertainty})
    return system, form.task


def _classes(frame: pl.DataFrame, target: str, where: str) -> None:
    """Check that every record has a class as its target."""
    missing = labels(frame, target, where=where).is_null()
    if missing.any():
        raise TableError(
            f"{where}: expected a target in every row, found none in {missing.sum():,} ({problem.rows(missing)}). "
            "Drop these rows."
        )


def _errors(frame: pl.DataFrame, columns: Columns, where: str) -> tuple[Vector, str]:
    if columns.error:
        if columns.task:
            raise TableError(f"{where}: expected no --task with a column of errors, found {columns.task}. Drop it.")
        return _finite(frame, [columns.error], where=where, losses=True)[columns.error], "errors"
    assert columns.target is not None
    assert columns.answer is not None
    target, answer = frame[columns.target], frame[columns.answer]
    if columns.task != "classification" and target.dtype.is_numeric() and answer.dtype.is_numeric():
        _finite(frame, [columns.target, columns.answer], where=where)
        difference = exact.differences(answer, target)
        with np.errstate(over="ignore"):
            errors = difference**2
        what = f"difference of columns {target.name!r} and {answer.name!r}"
        problems = check.value_problems(f"{where}: squared {what}", errors, nonnegative=True, rows=True)
        if problems := problems + check.difference_problems(f"{where}: {what}", difference):
            raise TableError(*problems)
        return errors, "regression"
    if columns.task == "regression":
        raise TableError(
            f"{where}: expected numbers in columns {target.name!r} and {answer.name!r} for a regression, found "
            f"{target.dtype} and {answer.dtype}. Choose other columns, or --task classification."
        )
    tables.require_labels(frame, [columns.target, columns.answer])
    missing = target.is_null() | answer.is_null()
    if missing.any():
        raise TableError(
            f"{where}: expected a target and an answer in every row, found none in {missing.sum():,} "
            f"({problem.rows(missing)}). Drop these rows."
        )
    kinds = [_kind(column.dtype) for column in (target, answer)]
    if kinds[0] != kinds[1]:
        raise TableError(
            f"{where}: expected targets and answers of one kind, found {kinds[0]} in column {target.name!r} (such as "
            f"{str(target[0])!r}) and {kinds[1]} in column {answer.name!r} (such as {str(answer[0])!r}). Write both "
            "alike; names of classes that spell numbers, dates, or true and false, as words (`class 1` for `1`)."
        )
    if kinds[0] == "text":  # two categorical columns have different codes
        target, answer = target.cast(pl.String), answer.cast(pl.String)
    return (target != answer).to_numpy().astype(np.float64), "classification"


def _kind(dtype: pl.DataType) -> str:
    """The kind of values of a type, for messages; only values of one kind can be compared."""
    if dtype.is_numeric():
        return "numbers"
    if isinstance(dtype, pl.Datetime):
        return f"dates with times{' in ' + dtype.time_zone if dtype.time_zone else ''}"
    return {pl.Boolean: "Booleans", pl.Date: "dates", pl.Time: "times"}.get(type(dtype), "text")


def _finite(frame: pl.DataFrame, names: Sequence[str], *, where: str, losses: bool = False) -> dict[str, Vector]:
    """Columns of finite numbers; `losses` must not be below 0."""
    found = tables.number_columns(frame, names, where=where)
    problems = [
        problem
        for name, values in found.items()
        for problem in check.value_problems(
            f"{where}: column {name!r}", values, nonnegative=losses, advice=check.LOSSES, rows=True
        )
    ]
    if problems:
        raise TableError(*problems)
    return found


def _length(frame: pl.DataFrame, columns: Columns, *, where: str) -> Vector | None:
    """The lengths of records [N], or None."""
    if columns.length is None:
        return None
    found = tables.number_columns(frame, [columns.length], where=where)[columns.length]
    what = f"{where}: column {columns.length!r}"
    if problems := check.value_problems(what, found, nonnegative=True, rows=True):
        raise TableError(*problems)
    return found


def _uncertainty(frame: pl.DataFrame, names: Sequence[str], *, where: str) -> dict[str, Vector]:
    """Columns of finite numbers that rank records: different ones must stay different."""
    found = _finite(frame, names, where=where)
    if problems := [f"{where}: {tied}" for name, values in found.items() if (tied := exact.ties(frame[name], values))]:
        raise TableError(*problems)
    return found


def _require_uniform(frame: pl.DataFrame, columns: Columns, *, where: str) -> None:
    """Check that dates and numbers have one notation in columns by which records are grouped."""
    parts = [
        [part for name in names for part in keys.parts(name, frame.columns)]
        for names in (columns.slices, columns.clusters)
    ]
    slices, clusters = ([name for name in names if name in frame.columns] for names in parts)
    tables.require_uniform(frame, slices, where=where, labels=clusters)


def flags(frame: pl.DataFrame, column: str, *, where: str) -> Flags:
    """A column of 0/1, true/false, yes/no or in/out as flags [N]."""
    tables.require_labels(frame, [column])
    values = frame[column]
    text: pl.Series = values.cast(pl.String).str.strip_chars().str.to_lowercase()
    known = text.is_in(list(YES | NO))
    if values.null_count() or not known.all():
        odd = int(np.argmin(known.fill_null(False).to_numpy()))
        found = f"{values.dtype} values" if values.dtype.is_temporal() else repr(values[odd])
        advice = ""
        if values[odd] is None:
            found, advice = "no value", " Fill it, or drop the record."
        if values.dtype == pl.String and values[odd] is not None and column.isidentifier():
            advice = f" Or name a condition, such as '{column} == {json.dumps(values[odd], ensure_ascii=False)}'."
        raise TableError(
            f"{where}: expected 0 or 1 (or true, false) in column {column!r}, found {found} in row {odd + 1}.{advice}"
        )
    return text.is_in(list(YES)).to_numpy()


def _calibration(frame: pl.DataFrame, columns: Columns, *, where: str) -> Flags | None:
    """The records [N] that a column or a condition over columns flags as those to calibrate on."""
    chosen = columns.calibration
    if chosen is None:
        return None
    if chosen in frame.columns:
        return flags(frame, chosen, where=where)
    try:
        return frame.select(condition(chosen, frame.schema)).to_series().to_numpy()
    except ShiftbenchError as error:
        raise TableError(
            *(f"{where}: --calibration: expected a column or a condition: {each}" for each in error.problems)
        ) from None


def _identity(
    ids: pl.Series, id_column: str | None, frame: pl.DataFrame, target: str | None
) -> npt.NDArray[Any] | None:
    """What tells records [N] apart: hashes of their ids or, where these are row numbers, of their targets, if any."""
    if id_column is not None:
        return keyed_hash(ids.cast(pl.String), seed=0)
    if target is None or not frame[target].dtype.is_numeric():
        return None
    return keyed_hash(frame[target].cast(pl.Float64).cast(pl.String).fill_null(""), seed=0)


def cluster_codes(frame: pl.DataFrame, columns: Sequence[str]) -> Any:
    """Codes [N] of the combinations of the cluster columns, or None without any."""
    if not columns:
        return None
    tables.require(frame, columns, where="clusters")
    missing = [name for name in columns if frame[name].null_count()]
    if missing:
        raise TableError(f"clusters: expected a value in every row of {', '.join(missing)}, found missing ones.")
    return check.codes("clusters", keys.combined(frame, columns).cast(pl.String).to_numpy())
