"""Columns that name groups of records, alone or together: "city+state" is a city of a state."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import polars as pl

from shiftbench.io import tables

TEXT = (pl.String, pl.Categorical, pl.Enum)


def parts(name: str, columns: Collection[str]) -> list[str]:
    """The columns in a name: the name itself if it is a column, else the parts joined by plus signs.

    A column with a plus sign in its name is found among them, too; the longest name wins.
    """
    words, found = name.split("+"), []
    while words:
        count = next((k for k in range(len(words), 1, -1) if "+".join(words[:k]) in columns), 1)
        found.append("+".join(words[:count]))
        words = words[count:]
    return found


def columns(names: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """The columns in several names, in their order."""
    return tuple(part for name in names for part in parts(name, known))


def key(frame: pl.DataFrame, name: str) -> pl.Series:
    """A column, or the combinations of several, [N], as `combined` returns them for the columns in a name.

    The columns must exist: see `parts` for their names.

    Raises:
        TableError: for a column that does not hold labels, such as lists or bytes.
    """
    return combined(frame, parts(name, frame.columns)).alias(name)


def combined(frame: pl.DataFrame, columns: Sequence[str]) -> pl.Series:
    """One column unchanged, or the combinations of several as text, [N]; missing if any part is.

    Raises:
        TableError: for a column that does not hold labels, such as lists or bytes.
    """
    tables.require_labels(frame, columns)
    if len(columns) == 1:
        return frame[columns[0]]
    return joined([part(frame[column]) for column in columns]).alias("+".join(columns))


def part(values: pl.Series) -> pl.Series:
    """The labels [N] of a column as parts of a combination: text with a comma or a quote in quotes, as in a CSV."""
    if values.dtype not in TEXT:
        return values.cast(pl.String)
    texts = values.cast(pl.String)
    return quoted(texts, texts.str.contains('[,"]'))


def quoted(texts: pl.Series, which: pl.Series) -> pl.Series:
    """Texts [N], with those flagged in `which` quoted and their own quotes doubled."""
    if not which.any():
        return texts
    return pl.select(pl.when(which).then('"' + texts.str.replace_all('"', '""') + '"').otherwise(texts)).to_series()


def joined(parts: Sequence[pl.Series]) -> pl.Series:
    """The parts [N] of combinations joined unambiguously by commas; missing if any part is."""
    return pl.select(pl.concat_str(list(parts), separator=", ")).to_series()
