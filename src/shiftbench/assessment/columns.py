"""The roles of a table's columns: named by the user, or found by their names."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import polars as pl

from shiftbench.assessment import forms
from shiftbench.assessment.forms import Form
from shiftbench.errors import ShiftbenchError, TableError, TableWarning, UnknownNameError
from shiftbench.io import tables
from shiftbench.methods.settings import TASKS
from shiftbench.partition import keys
from shiftbench.partition.expression import condition
from shiftbench.partition.features import Features
from shiftbench.partition.features import described as features_of

CONDITION = re.compile(r"[<>=!]|\b(in|not|is_null)\b")  # what names of columns hardly have


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
            id=self.id or named_in("id", names),
            error=self.error or (None if self.target or self.answer else named_in("error", names)),
            shifted=self.shifted or named_in("shifted", names),
            uncertainty=self.uncertainty or tuple(name for name in names if name.lower().startswith("uncertainty")),
            target=self.target or named_in("target", names),
            answer=self.answer or named_in("answer", names),
        )
        if self.follows:
            named = named_in(self.shifted or "shifted", names)
            taken = replace(
                taken, shifted=named or named_in("shifted", names), clusters=(), slices=(), calibration=None
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
            unused = f"{where}: column {self.answer!r} is not used: the {form.name} give the answers"
            warnings.warn(TableWarning(unused), stacklevel=2)
        taken = replace(self, error=None, answer=self.answer if form.answers else None, form=form, parts=parts)
        taken._require_in(names, where=where)
        return taken

    def features(self, frame: pl.DataFrame) -> Features:
        """The columns that describe the records beside those with a role."""
        return features_of(frame, [*self.roles(frame), *tables.expand(self.drop, frame.columns, what="column to drop")])

    @property
    def told(self) -> set[str]:
        """The columns of targets, errors and predictions."""
        return {*filter(None, (self.error, self.target, self.answer)), *self.uncertainty, *self.parts}

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

    def predicted(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The columns that are a system's predictions, and those that reports tell in columns of their own."""
        told = (self.error, self.answer, self.shifted, self.calibration, *self.uncertainty[:1])
        return (*self.uncertainty[1:], *self.parts), tuple(filter(None, told))

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


def named_in(name: str, columns: Sequence[str]) -> str | None:
    """The name if a table has such a column."""
    return name if name in columns else None
