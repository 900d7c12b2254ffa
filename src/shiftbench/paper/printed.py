"""From the rows of `shiftbench.published.results` to the columns and cells of a table."""

from __future__ import annotations

from collections.abc import Iterable

import polars as pl

from shiftbench.paper.table import Column, Printed

LETTERS = "ᵃᵇᶜᵈᵉᶠᵍʰ"

Lookup = dict[tuple[str | None, ...], tuple[Printed, ...]]


def columns(frame: pl.DataFrame) -> tuple[Column, ...]:
    """Datasets, then metrics, then subsets, in the order of print."""
    datasets, metrics, subsets = (list(dict.fromkeys(frame[axis])) for axis in ("dataset", "metric", "subset"))
    rows = frame.select("dataset", "metric", "subset", "unit").unique().rows()
    rows.sort(key=lambda row: (datasets.index(row[0]), metrics.index(row[1]), subsets.index(row[2])))
    return tuple(Column(dataset, subset, metric, unit) for dataset, metric, subset, unit in rows)


def lookup(frame: pl.DataFrame, keys: Iterable[str]) -> Lookup:
    """The printed values of each cell by the values of the columns `keys`: two where two versions differ."""
    found: Lookup = {}
    for row in frame.iter_rows(named=True):
        key = tuple(row[name] for name in keys)
        flags = tuple(row["flag"].split(";")) if row["flag"] else ()
        value = Printed(row["printed"], row["printed_std"] or "", row["source"], flags)
        found[key] = (*found.get(key, ()), value)
    return found


def marks(values: Iterable[Printed], *, quiet: Iterable[str] = ()) -> dict[str, str]:
    """A letter for every flag that a note explains, in order of appearance; none for the `quiet` ones."""
    silent = set(quiet)
    flags = dict.fromkeys(flag for value in values for flag in value.flags if flag not in silent)
    return dict(zip(flags, LETTERS, strict=False))
