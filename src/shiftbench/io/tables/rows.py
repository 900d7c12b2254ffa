"""Rows by id: ids are unique, and tables are aligned by id, never by the order of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl

from shiftbench import check
from shiftbench.errors import TableError, counted
from shiftbench.io.tables import problem
from shiftbench.io.tables.columns import is_label, require


def ids(frame: pl.DataFrame, column: str | None, *, where: str) -> pl.Series:
    """The ids [N] of the rows as text; row numbers from 1 if `column` is None.

    Raises:
        TableError: if the column is missing or not text or whole numbers, or an id is missing, empty or repeated.
    """
    return native_ids(frame, column, where=where).cast(pl.String)


def id_column(frame: pl.DataFrame, named: str | None) -> str | None:
    """The column of ids: the given one, else `id` if its values are valid ids, else None for row numbers."""
    if named is not None or "id" not in frame.columns or unusable_id(frame, named):
        return named
    return "id"


def unusable_id(frame: pl.DataFrame, named: str | None) -> str:
    """Why a column `id` that was not chosen explicitly has no valid ids; empty without such a column."""
    if named is not None or "id" not in frame.columns:
        return ""
    try:
        _, problems = _ids(frame, "id", "the table")
    except TableError as error:
        problems = list(error.problems)
    return f"records go by their row numbers, since {problems[0]}" if problems else ""


def native_ids(frame: pl.DataFrame, column: str | None, *, where: str) -> pl.Series:
    """The ids [N] of the rows: Int64 for whole numbers, such as row numbers, else text.

    Ten million numbers take a tenth of the memory and of the time of their texts.

    Raises:
        TableError: as `ids`.
    """
    found, problems = _ids(frame, column, where)
    if problems:
        raise TableError(*problems)
    return found


def line_up(
    frame: pl.DataFrame,
    wanted_ids: pl.Series | Sequence[str],
    *,
    column: str | None,
    where: str,
    extra: Literal["error", "drop"] = "error",
) -> pl.DataFrame:
    """The rows of `frame` in the order of `wanted_ids`; surplus rows are an error, or dropped.

    column: of the ids; row numbers from 1 if None.

    Raises:
        TableError: naming duplicated, missing and (unless `extra="drop"`) surplus ids together.
    """
    wanted = _wanted(wanted_ids, where)
    found, problems = _ids(frame, column, where)
    if not wanted.dtype.is_integer() or not found.dtype.is_integer():  # unless both are numbers, compare as text
        wanted, found = wanted.cast(pl.String), found.cast(pl.String)
    if not _is_unique(wanted):
        repeated = problem.listed(_repeated(wanted))
        problems.append(f"{where}: expected each wanted id once, found {repeated} more than once.")
    missing = wanted.filter(~wanted.is_in(found.implode())).unique(maintain_order=True)
    present = found.drop_nulls()
    surplus = present.filter(~present.is_in(wanted.implode())).unique(maintain_order=True)
    if len(missing):
        none = problem.listed(missing)
        problems.append(f"{where}: expected a row for each id, found none for {none}. Add these rows.")
    if len(surplus) and extra == "error":
        besides = problem.listed(surplus)
        problems.append(f"{where}: expected only known ids, found {besides} besides. Remove these rows.")
    if problems:
        raise TableError(*problems)
    places = pl.DataFrame({"id": found, "place": np.arange(len(found))})
    order = pl.DataFrame({"id": wanted}).join(places, on="id", how="left", maintain_order="left")["place"]
    return frame[order]


def _wanted(ids: Any, where: str) -> pl.Series:
    """Ids as text or whole numbers."""
    advice = f"{where}: expected wanted ids [N] as text or whole numbers, found"
    try:
        found = pl.Series("id", ids if isinstance(ids, pl.Series) else check.names("ids", ids))
    except (TypeError, ValueError, OverflowError, pl.exceptions.PolarsError) as error:
        raise TableError(f"{advice}: {error}.") from None
    if len(found) and (found.dtype.is_float() or not is_label(found.dtype)):
        raise TableError(f"{advice} {found.dtype}. Write them as text.")
    return found


def _ids(frame: pl.DataFrame, column: str | None, where: str) -> tuple[pl.Series, list[str]]:
    if column is None:
        return pl.int_range(1, frame.height + 1, eager=True).alias("id"), []
    require(frame, [column], where=where)
    dtype = frame[column].dtype
    if dtype.is_float() or not is_label(dtype):
        wanted = f"{where}: column {column!r}: expected ids as text or whole numbers"
        raise TableError(f"{wanted}, found {dtype}. Write them as text.")
    found = _native(frame[column]).alias("id")
    empty = found.is_null() if found.dtype.is_integer() else _is_blank(found)
    problems = []
    if empty.any():
        problems.append(
            f"{where}: column {column!r}: expected an id in each row, found none in "
            f"{int(empty.sum()):,} of {len(found):,} rows, first {problem.rows(empty)}. Fill them in."
        )
    if not _is_unique(found) and len(repeated := _repeated(found.filter(~empty))):
        shown = ", ".join(f"{value!r} in {problem.rows(found == value)}" for value in repeated.head(3))
        problems.append(
            f"{where}: column {column!r}: expected each id once, found {counted(len(repeated), 'id')} more than once: "
            f"{shown}{', …' if len(repeated) > 3 else ''}. Remove or rename these rows."
        )
    return found, problems


def _native(column: pl.Series) -> pl.Series:
    if column.dtype.is_integer():
        numbers = column.cast(pl.Int64, strict=False)
        if numbers.null_count() == column.null_count():  # fails beyond 64 bits
            return numbers
    return column.cast(pl.String)


def _is_blank(texts: pl.Series) -> pl.Series:
    return texts.is_null() | (texts.str.strip_chars().str.len_bytes() == 0).fill_null(value=True)


def _is_unique(values: pl.Series) -> bool:
    if values.dtype.is_integer() and not values.null_count() and (values.shift(-1) > values).all():
        return True
    # Distinct hashes imply distinct values, and counting integers is faster than counting text.
    return values.hash().n_unique() == len(values) or values.n_unique() == len(values)


def _repeated(values: pl.Series) -> pl.Series:
    return values.filter(values.is_duplicated()).unique(maintain_order=True)
