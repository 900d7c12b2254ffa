"""Where in a table something is wrong: rows, counted from 1 below the header, with their ids."""

from __future__ import annotations

import polars as pl

from shiftbench.errors import quoted, shortened

MOST = 3


def rows(flags: pl.Series, ids: pl.Series | None = None, numbers: pl.Series | None = None) -> str:
    """The first flagged rows [N], their ids, and how many there are: `row 3 (id b), row 7 (id c), … (12 in all)`.

    ids: text [N]. numbers: of rows of which some were left out; by default they are counted from 1.
    """
    return _listed([where for where, _ in _first(flags, ids, numbers)], int(flags.sum()))


def values(texts: pl.Series, flags: pl.Series, ids: pl.Series | None = None, numbers: pl.Series | None = None) -> str:
    """The first flagged values [N], each with its row: `'x' in row 3 (id b)`; as `rows`."""
    plain = texts.dtype != pl.String
    found = [
        f"{texts[place]:g} in {where}" if plain else f"{quoted(texts[place])} in {where}"
        for where, place in _first(flags, ids, numbers)
    ]
    return _listed(found, int(flags.sum()))


def _first(flags: pl.Series, ids: pl.Series | None, numbers: pl.Series | None) -> list[tuple[str, int]]:
    found = []
    for place in flags.arg_true().head(MOST):
        row = place + 1 if numbers is None else int(numbers[place])
        named = "" if ids is None or ids[place] is None else f" (id {shortened(ids[place][:40])})"
        found.append((f"row {row:,}{named}", place))
    return found


def _listed(shown: list[str], count: int) -> str:
    return f"{', '.join(shown)}{f', … ({count:,} in all)' if count > len(shown) else ''}"
