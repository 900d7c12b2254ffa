"""A further file of records to calibrate on, put below the table of the records to score."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io.tables.reading import is_table

MOST_LISTED = 3


def file_of(text: str | None) -> Path | None:
    """The file that a text names, if it ends like the name of a table; else it is a column or a condition."""
    path = Path(text or "")
    return path if is_table(path) else None


def below(
    frame: pl.DataFrame,
    other: pl.DataFrame,
    roles: Collection[str],
    *,
    needed: Collection[str] = (),
    id_column: str | None,
    where: tuple[str, str],
) -> tuple[pl.DataFrame, list[str]]:
    """The rows of both tables, those of `other` last and with its common columns only, and the columns of `frame`
    that have no counterpart of their kind.

    Args:
        frame: the records to score.
        other: those to calibrate on.
        roles: columns of `frame` that mean something; `other` may lack some of them, but not have another kind.
        needed: those of them that `other` may not lack: target and predictions.
        id_column: that of the ids; None for row numbers.
        where: what messages call the two.

    Raises:
        TableError: for records that are in both, and for columns with a role that are not of one kind.
    """
    alike = {name for name in frame.columns if name in other.columns and _alike(frame[name].dtype, other[name].dtype)}
    problems = [
        f"{where[1]}: expected column {name!r} as in {where[0]}, {frame[name].dtype}, found {other[name].dtype}. "
        "Write both files alike."
        for name in roles
        if name in other.columns and name not in alike
    ]
    if gone := [name for name in roles if name not in other.columns and name in needed]:
        problems.append(
            f"{where[1]}: expected the columns of {where[0]}, found no {', '.join(map(repr, gone[:MOST_LISTED]))}"
            f"{f' and {len(gone) - MOST_LISTED} more' * (len(gone) > MOST_LISTED)}. Give predictions of the same model "
            "in the same form."
        )
    if id_column in alike:
        common = other[id_column].filter(other[id_column].is_in(frame[id_column].implode()))
        if len(common):
            shown = ", ".join(map(str, common.head(MOST_LISTED)))
            problems.append(
                f"{where[1]}: expected other records to calibrate on than those of {where[0]}, found {len(common):,} "
                f"in both ({shown}{', …' if len(common) > MOST_LISTED else ''}). Leave them out of one."
            )
    if problems:
        raise TableError(*problems)
    kept = other.select(name for name in frame.columns if name in alike)
    return pl.concat([frame, kept], how="diagonal_relaxed"), [name for name in frame.columns if name not in alike]


def _alike(one: pl.DataType, other: pl.DataType) -> bool:
    return one == other or (one.is_numeric() and other.is_numeric())
