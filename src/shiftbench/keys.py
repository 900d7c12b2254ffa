"""Columns that name groups of records, alone or together: "city+state" is a city of a state."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from shiftbench import tables


def parts(name: str, columns: Collection[str]) -> list[str]:
    """The columns that a name stands for: itself if there is such a column, else what the plus signs join."""
    return [name] if name in columns else name.split("+")


def key(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column, or the combinations of several joined by commas, [N]; missing where any of them is.

    The columns must be there: see `parts` for which to ask for.

    Raises:
        TableError: for a column that holds no labels, such as lists or bytes.
    """
    columns = parts(name, frame.columns)
    tables.require_labels(frame, columns)
    if len(columns) == 1:
        return frame[columns[0]].alias(name)
    joined = pl.concat_str([pl.col(column).cast(pl.String) for column in columns], separator=", ")
    return frame.select(joined.alias(name)).to_series()
