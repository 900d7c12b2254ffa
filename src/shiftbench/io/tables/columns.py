"""Columns by name: checks of their existence, expansion of patterns, and values as numbers."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence

import numpy as np
import polars as pl

from shiftbench.check import Vector
from shiftbench.errors import TableError, UnknownNameError, nearest
from shiftbench.io.tables import dtypes, problem


def expand(patterns: Iterable[str], columns: Sequence[str], *, what: str) -> list[str]:
    """The columns with these names, or matching these patterns (`obs_*`), in table order.

    Raises:
        UnknownNameError: for a pattern that matches no column; `what` describes it in the message.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        # A name is first taken literally, since columns may be called "a[1]".
        matching = [pattern] if pattern in columns else fnmatch.filter(columns, pattern)
        if not matching:
            raise UnknownNameError(what, pattern, columns)
        chosen.update(matching)
    return [column for column in columns if column in chosen]


def require(frame: pl.DataFrame, names: Iterable[str], *, where: str) -> None:
    """Check that every named column exists.

    Raises:
        TableError: naming all missing columns, each with the closest existing name.
    """
    require_names(frame.columns, names, where=where)


def require_names(known: Sequence[str], names: Iterable[str], *, where: str) -> None:
    """Check the names of columns against those of a table; raises as `require` does."""
    problems, there = [], set(known)
    for name in dict.fromkeys(names):
        if name not in there:
            near = nearest(name, known)
            has = f"It has {', '.join(map(repr, known[:10]))}{'…' * (len(known) > 10)}."
            hint = f"Did you mean {near!r}?" if near else has
            problems.append(f"{where}: expected a column {name!r}, found none. {hint}")
    if problems:
        raise TableError(*problems)


def require_plain(known: Sequence[str], *, where: str) -> None:
    """Check that no column has a name that polars treats as a pattern: `*`, or `^` … `$`.

    Raises:
        TableError: naming the first such column.
    """
    patterns = [name for name in known if name == "*" or (name.startswith("^") and name.endswith("$"))]
    if patterns:
        raise TableError(
            f"{where}: expected names of columns, found {patterns[0]!r}, which stands for many columns. Rename it."
        )


def require_labels(frame: pl.DataFrame, names: Iterable[str]) -> None:
    """Check that columns can name groups: they hold text, numbers, dates, times, or true and false.

    Raises:
        TableError: naming every column that is missing, or holds lists, records, bytes, durations or Python objects.
    """
    chosen = list(dict.fromkeys(names))
    require_names(frame.columns, chosen, where="columns of groups")
    if faults := [fault for name in chosen if (fault := label_fault(frame[name]))]:
        raise TableError(*faults)


def label_fault(values: pl.Series) -> str:
    """The problem of a column that cannot name groups, or ""."""
    if is_label(values.dtype):
        return ""
    found = f"found {values.dtype}. Choose another."
    return f"column {values.name!r}: expected text, numbers, dates, or true and false, {found}"


def is_label(dtype: pl.DataType) -> bool:
    """Whether values of a type have distinct texts."""
    return not dtype.is_nested() and dtype not in (pl.Binary, pl.Duration, pl.Object)


def numbers(frame: pl.DataFrame, column: str, *, where: str) -> Vector:
    """A column as float64 [N], missing values as NaN; booleans are 0 and 1, text must spell a number.

    Raises:
        TableError: if the column is missing or holds anything else; the message gives row and value.
    """
    return number_columns(frame, [column], where=where)[column]


def number_columns(frame: pl.DataFrame, columns: Sequence[str], *, where: str) -> dict[str, Vector]:
    """`numbers` for several columns; all problems are reported together."""
    require(frame, columns, where=where)
    values: dict[str, Vector] = {}
    problems: list[str] = []
    for column in columns:
        try:
            values[column] = _numbers(frame[column], where)
        except TableError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)
    return values


def _numbers(column: pl.Series, where: str) -> Vector:
    dtype = column.dtype
    if dtype == pl.String:
        values = dtypes.without_missing(column)
        parsed = values.cast(pl.Float64, strict=False)
        if (bad := parsed.is_null() & values.is_not_null()).any():
            raise TableError(
                f"{where}: column {column.name!r}: expected numbers, found {values.filter(bad)[0]!r} "
                f"({int(bad.sum()):,} such, {problem.rows(bad)}). Correct or drop these rows."
            )
    elif dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        parsed = column.cast(pl.Float64)
    else:
        raise TableError(f"{where}: column {column.name!r}: expected numbers, found {dtype}. Choose another column.")
    return parsed.fill_null(np.nan).to_numpy()
