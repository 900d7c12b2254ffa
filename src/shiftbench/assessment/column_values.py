"""Values of columns by their role, checked: errors, uncertainties, flags, clusters, lengths, identities."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import check
from shiftbench.assessment.columns import CONDITION, Columns
from shiftbench.check import Flags, Vector
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import tables
from shiftbench.io.tables import exact, problem
from shiftbench.methods.targets import labels
from shiftbench.partition import keys
from shiftbench.partition.expression import condition, open_condition
from shiftbench.partition.hashing import keyed_hash

YES = {"1", "1.0", "true", "yes", "shifted", "out"}
NO = {"0", "0.0", "false", "no", "in"}


def flagged(frame: pl.DataFrame, columns: Columns, *, where: str) -> pl.DataFrame:
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


def flags(frame: pl.DataFrame, column: str, *, where: str) -> Flags:
    """A column of 0/1, true/false, yes/no, in/out or in/shifted as flags [N]."""
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
            f"{where}: expected 0 or 1 (or true, false; yes, no; in, out or shifted) in column {column!r}, found "
            f"{found} in row {odd + 1}.{advice}"
        )
    return text.is_in(list(YES)).to_numpy()


def calibrating(frame: pl.DataFrame, columns: Columns, *, where: str) -> Flags | None:
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


def cluster_codes(frame: pl.DataFrame, columns: Sequence[str]) -> Any:
    """Codes [N] of the combinations of the cluster columns, or None without any."""
    if not columns:
        return None
    tables.require(frame, columns, where="clusters")
    missing = [name for name in columns if frame[name].null_count()]
    if missing:
        raise TableError(f"clusters: expected a value in every row of {', '.join(missing)}, found missing ones.")
    names = keys.combined(frame, columns).cast(pl.String)
    return names.cast(pl.Enum(names.unique().sort())).to_physical().to_numpy().astype(np.int64)


def identity(ids: pl.Series, id_column: str | None, frame: pl.DataFrame, target: str | None) -> npt.NDArray[Any] | None:
    """What tells records [N] apart: hashes of their ids or, where these are row numbers, of their targets, if any."""
    if id_column is not None:
        return keyed_hash(ids.cast(pl.String), seed=0)
    if target is None or not frame[target].dtype.is_numeric():
        return None
    return keyed_hash(frame[target].cast(pl.Float64).cast(pl.String).fill_null(""), seed=0)


def length(frame: pl.DataFrame, columns: Columns, *, where: str) -> Vector | None:
    """The lengths of records [N], or None."""
    if columns.length is None:
        return None
    found = tables.number_columns(frame, [columns.length], where=where)[columns.length]
    what = f"{where}: column {columns.length!r}"
    if problems := check.value_problems(what, found, nonnegative=True, rows=True):
        raise TableError(*problems)
    return found


def uncertainty(frame: pl.DataFrame, names: Sequence[str], *, where: str) -> dict[str, Vector]:
    """Columns of finite numbers that rank records: different ones must stay different."""
    found = finite(frame, names, where=where)
    if problems := [f"{where}: {tied}" for name, values in found.items() if (tied := exact.ties(frame[name], values))]:
        raise TableError(*problems)
    return found


def require_uniform(frame: pl.DataFrame, columns: Columns, *, where: str) -> None:
    """Check that dates and numbers have one notation in columns by which records are grouped."""
    parts = [
        [part for name in names for part in keys.parts(name, frame.columns)]
        for names in (columns.slices, columns.clusters)
    ]
    slices, clusters = ([name for name in names if name in frame.columns] for names in parts)
    tables.require_uniform(frame, slices, where=where, labels=clusters)


def finite(frame: pl.DataFrame, names: Sequence[str], *, where: str, losses: bool = False) -> dict[str, Vector]:
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


def require_classes(frame: pl.DataFrame, target: str, where: str) -> None:
    """Check that every record has a class as its target."""
    missing = labels(frame, target, where=where).is_null()
    if missing.any():
        raise TableError(
            f"{where}: expected a target in every row, found none in {missing.sum():,} ({problem.rows(missing)}). "
            "Drop these rows."
        )


def errors(frame: pl.DataFrame, columns: Columns, where: str) -> tuple[Vector, str]:
    """The errors [N] in a table, given or of its targets and answers, and their task ("errors" if they are given)."""
    if columns.error:
        if columns.task:
            raise TableError(f"{where}: expected no --task with a column of errors, found {columns.task}. Drop it.")
        return finite(frame, [columns.error], where=where, losses=True)[columns.error], "errors"
    assert columns.target is not None
    assert columns.answer is not None
    target, answer = frame[columns.target], frame[columns.answer]
    if columns.task != "classification" and target.dtype.is_numeric() and answer.dtype.is_numeric():
        finite(frame, [columns.target, columns.answer], where=where)
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
