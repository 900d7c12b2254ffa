"""Columns that describe records, not systems: targets, groups. Files that are compared must agree on them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from shiftbench.check import Flags
from shiftbench.io import tables
from shiftbench.scores.ranking import Index

MOST_LISTED = 3


def differences(
    first: pl.DataFrame, other: pl.DataFrame, order: Index, ids: pl.Series, *, name: str, target: str | None
) -> list[str]:
    """A sentence for each common column on which two tables of the same records disagree.

    Numbers are compared exactly; in single precision if one of the columns is Float32. Labels of groups may be written
    differently (dates, numbers as text) as long as they group the records in the same way; targets may not.

    Args:
        first: [N] rows; any columns.
        other: the rows of the other table, in any order; any columns.
        order: [N], the row of `other` for each record of the first; -1 if it has none.
        ids: [N], for messages.
        name: the system that `other` belongs to.
        target: the column of targets.
    """
    problems = []
    here = np.flatnonzero(order >= 0)
    for column in first.columns:
        if column not in other.columns:
            continue
        one, two = first[column].gather(here), other[column].gather(order[here])
        differ = _differ(one, two)
        if not differ.any() or (column != target and _same_groups(one, two)):
            continue
        shown = ", ".join(map(repr, ids.gather(here).filter(pl.Series(differ)).cast(pl.String).head(MOST_LISTED)))
        more = ", …" if differ.sum() > MOST_LISTED else ""
        place = int(np.argmax(differ))
        what = "targets" if column == target else "groups"
        problems.append(
            f"{name}: expected the {what} of the first file, found others in column {column!r} for {differ.sum():,} "
            f"of {len(here):,} records (ids {shown}{more}; {two[place]!r} for {one[place]!r}). Compare files made from "
            "the same records; if these are, give this column another name in one of them."
        )
    return problems


def _differ(one: pl.Series, two: pl.Series) -> Flags:
    """A mask of differences between two columns [N]; missing values are equal. Lists, bytes etc. are never equal."""
    if not (tables.is_label(one.dtype) and tables.is_label(two.dtype)):
        return np.ones(len(one), dtype=np.bool_)
    if one.dtype.is_numeric() and two.dtype.is_numeric() and not (one.dtype.is_integer() and two.dtype.is_integer()):
        precision = np.float32 if pl.Float32 in (one.dtype, two.dtype) else np.float64
        with np.errstate(over="ignore"):
            a, b = (column.cast(pl.Float64).to_numpy().astype(precision) for column in (one, two))
        equal: Flags = (a == b) | (np.isnan(a) & np.isnan(b))
        return ~equal
    texts = [column.cast(pl.String, strict=False) for column in (one, two)]
    differ: Flags = texts[0].ne_missing(texts[1]).to_numpy()
    return differ


def _same_groups(one: pl.Series, two: pl.Series) -> bool:
    """Whether two columns [N] group records in the same way, whatever the names of the groups."""
    if not (tables.is_label(one.dtype) and tables.is_label(two.dtype)):
        return False
    codes = [_codes(column) for column in (one, two)]
    pairs = pl.DataFrame({"one": codes[0], "two": codes[1]}).n_unique()
    return pairs == len(np.unique(codes[0])) == len(np.unique(codes[1]))


def _codes(column: pl.Series) -> Index:
    if column.dtype.is_numeric() and not column.dtype.is_integer():  # float64 may drop digits of integers
        return np.unique(column.cast(pl.Float64).to_numpy(), return_inverse=True)[1].reshape(-1)
    return column.cast(pl.String, strict=False).rank("dense").fill_null(0).to_numpy().astype(np.intp)


def described(frame: pl.DataFrame, columns: Sequence[str | None]) -> pl.DataFrame:
    """The existing ones of these columns."""
    return frame.select([name for name in dict.fromkeys(columns) if name is not None and name in frame.columns])
