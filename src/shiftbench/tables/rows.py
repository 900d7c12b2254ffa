"""Rows by id: every id is there once, and tables are lined up by it, never by the order of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import polars as pl

from shiftbench.errors import TableError
from shiftbench.tables import problem
from shiftbench.tables.columns import require


def ids(frame: pl.DataFrame, column: str | None, *, where: str) -> pl.Series:
    """The ids [N] of the rows as text; row numbers from 1 if `column` is None.

    Raises:
        TableError: if the column is absent or not text or whole numbers, or an id is missing, empty or used twice.
    """
    found, problems = _ids(frame, column, where)
    if problems:
        raise TableError(*problems)
    return found


def line_up(
    frame: pl.DataFrame,
    wanted_ids: pl.Series | Sequence[str],
    *,
    column: str,
    where: str,
    extra: Literal["error", "drop"] = "error",
) -> pl.DataFrame:
    """The rows of `frame` in the order of `wanted_ids`; rows nobody asked for are an error, or dropped.

    Raises:
        TableError: naming duplicated, missing and (unless `extra="drop"`) surplus ids together.
    """
    wanted = pl.Series("id", wanted_ids, dtype=pl.String)
    found, problems = _ids(frame, column, where)
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


def _ids(frame: pl.DataFrame, column: str | None, where: str) -> tuple[pl.Series, list[str]]:
    if column is None:
        return pl.Series("id", np.arange(1, frame.height + 1)).cast(pl.String), []
    require(frame, [column], where=where)
    dtype = frame[column].dtype
    if dtype.is_float() or dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        wanted = f"{where}: column {column!r}: expected ids as text or whole numbers"
        raise TableError(f"{wanted}, found {dtype}. Write them as text.")
    found = frame[column].cast(pl.String).alias("id")
    empty = found.fill_null("").str.strip_chars() == ""
    problems = []
    if empty.any():
        problems.append(
            f"{where}: column {column!r}: expected an id in each row, found none in "
            f"{int(empty.sum()):,} of {len(found):,} rows, first {problem.rows(empty)}. Fill them in."
        )
    if not _is_unique(found) and len(repeated := _repeated(found.filter(~empty))):
        shown = ", ".join(f"{value!r} in {problem.rows(found == value)}" for value in repeated.head(3))
        problems.append(
            f"{where}: column {column!r}: expected each id once, found {len(repeated):,} ids more than once: "
            f"{shown}{', …' if len(repeated) > 3 else ''}. Remove or rename these rows."
        )
    return found, problems


def _is_unique(values: pl.Series) -> bool:
    # Distinct hashes are distinct values, and counting integers is faster than counting text.
    return values.hash().n_unique() == len(values) or values.n_unique() == len(values)


def _repeated(values: pl.Series) -> pl.Series:
    return values.filter(values.is_duplicated()).unique(maintain_order=True)
