"""Comparison of partition files with the official ones: published counts, statistics and known hashes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from shiftbench.tracks.power import partitions, schema
from shiftbench.tracks.power.reading import Table, presumed
from shiftbench.tracks.power.schema import COUNTS, INTERVALS, STATISTICS
from shiftbench.tracks.power.sources import data_set

TOLERANCES = {"real": 1e-3, "synthetic": 0.5}  # of a standard deviation; synthetic inputs are real ones with noise
SUMMED = ("train", "dev_in", "dev_out")  # the partitions whose statistics are known, together


@dataclass(frozen=True)
class Comparison:
    """Whether data are the official ones.

    data: "real" or "synthetic" if every existing partition has the published number of records, and all columns have
    the known means; else None.
    notes: what differs.
    """

    data: str | None
    notes: tuple[str, ...]

    @property
    def origin(self) -> str:
        """The name of the data in reports."""
        return f"official, {self.data}" if self.data else "partition files"


def compared(read_tables: Sequence[Table]) -> Comparison:
    """Compare partitions with Tables 17 and 18 of Shifts 2.0, with known statistics, and with known files."""
    found = {table.partition: table.frame.height for table in read_tables}
    whole = (name for name in COUNTS if all(schema.total(name, part) == rows for part, rows in found.items()))
    data = next(whole, None)
    nearest = data or data_set(read_tables[0].source) or "synthetic"
    notes = [note for table in read_tables for note in _counts(table, nearest)]
    if data is None:
        return Comparison(None, tuple(notes))
    differing = _statistics(read_tables, data)
    hashes = [digest for table in read_tables if (digest := presumed(table.source, data))]
    return Comparison(None if differing else data, (*notes, *differing, *hashes))


def _counts(table: Table, data: str) -> list[str]:
    """A partition's number of records beside the published one; by wind interval only if they differ."""
    name = table.partition
    printed = COUNTS[data][name]
    notes = [f"{name}: {table.frame.height:,} records, published ({data}) {sum(printed):,}"]
    found = partitions.wind_counts(partitions.described(table.frame))
    if found != printed:
        pairs = zip(INTERVALS, found, printed, strict=True)
        shown = "; ".join(f"{entry.label}: {own:,} ({other:,})" for entry, own, other in pairs if own != other)
        notes.append(f"{name} by true wind speed, published in brackets: {shown}")
    return notes


def _statistics(read_tables: Sequence[Table], data: str) -> list[str]:
    """Columns whose mean or (in the real data) standard deviation is not the known one, if their partitions exist."""
    own = {table.partition: table.frame for table in read_tables}
    if not set(SUMMED) <= set(own):
        return []
    records = pl.concat([own[name] for name in SUMMED])
    notes = []
    for name, (mean, spread) in STATISTICS.items():
        values, tolerance = records[name].to_numpy(), TOLERANCES[data] * spread
        pairs = [("mean", float(np.mean(values)), mean)]
        pairs += [("standard deviation", float(np.std(values, ddof=1)), spread)] if data == "real" else []
        notes += [
            f"column {name!r} of {', '.join(SUMMED)}: {what} {found:,.6g}, known is {known:,.6g} (real data)"
            for what, found, known in pairs
            if abs(found - known) > tolerance
        ]
    return notes
