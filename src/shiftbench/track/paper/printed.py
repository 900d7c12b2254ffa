"""From the rows of `shiftbench.track.published.results` to the columns and cells of a table."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from shiftbench.errors import UnknownNameError
from shiftbench.track import published
from shiftbench.track.paper.table import Column, Printed

LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰ"

Lookup = dict[tuple[str | None, ...], tuple[Printed, ...]]


def values(number: str, *, track: str, paper: str) -> pl.DataFrame:
    """The printed values of one table of a paper, such as "Table 9".

    Raises:
        UnknownNameError: if there are no values of this table.
    """
    every = published.results(track=track)
    every = every.filter(pl.col("source").str.starts_with(paper))
    own = pl.col("source").str.split(", ").list.last()
    found = every.filter(own == number)
    if found.is_empty():
        raise UnknownNameError("table", number, every.select(own.unique()).to_series())
    return found


def columns(frame: pl.DataFrame) -> tuple[Column, ...]:
    """Columns by dataset, then metric, then subset, in printed order."""
    datasets, metrics, subsets = (list(dict.fromkeys(frame[axis])) for axis in ("dataset", "metric", "subset"))
    places = frame.select("dataset", "metric", "subset", "unit").unique().rows()
    places.sort(key=lambda place: (datasets.index(place[0]), metrics.index(place[1]), subsets.index(place[2])))
    return tuple(Column(dataset, subset, metric, unit) for dataset, metric, subset, unit in places)


def lookup(frame: pl.DataFrame, keys: Iterable[str]) -> Lookup:
    """The printed values of each cell by the values of the columns `keys`: two if two versions differ."""
    found: Lookup = {}
    for row in frame.iter_rows(named=True):
        key = tuple(row[name] for name in keys)
        flags = tuple(row["flag"].split(";")) if row["flag"] else ()
        value = Printed(row["printed"], row["printed_std"] or "", row["source"], flags)
        found[key] = (*found.get(key, ()), value)
    return found


def marks(values: Iterable[Printed], *, quiet: Iterable[str] = ()) -> dict[str, str]:
    """A letter for every flag that a note explains, in order of appearance, except for the `quiet` ones."""
    silent = set(quiet)
    flags = dict.fromkeys(flag for value in values for flag in value.flags if flag not in silent)
    return dict(zip(flags, LETTERS, strict=False))
