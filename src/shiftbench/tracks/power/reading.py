"""One table of the vessel's records read and checked, and what the official one of its name would be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import polars as pl

from shiftbench.errors import TableError
from shiftbench.intake.reading import Progress, Reader
from shiftbench.intake.sources import Source, opened
from shiftbench.intake.units import Doubts
from shiftbench.partition.settings import SHIFTED
from shiftbench.tracks.power import schema
from shiftbench.tracks.power.checks import check_clock, check_index, check_rows, check_units
from shiftbench.tracks.power.schema import SINCE_DRY_DOCK


@dataclass(frozen=True)
class Table:
    """The records of a table [N] in the columns and types of the schema.

    warnings: what is odd in file and values. doubts: about units. clock: about the two times.
    """

    source: Source
    frame: pl.DataFrame
    warnings: tuple[str, ...]
    doubts: Doubts
    clock: Doubts

    @property
    def partition(self) -> str:
        """The partition that the table is; empty if it is not divided."""
        return self.source.partition or ""


def read(source: Source, progress: Progress | None = None, *, voyage: bool = True) -> Table:
    """Read a table (CSV, packed or in an archive, or Parquet), columns by name, and look at its values.

    voyage: whether its records are minutes of a voyage, each there once; those of a generalisation set are none.

    Raises:
        TableError: with all that is wrong: a damaged file or lines, columns missing or doubled, text among numbers,
            missing or infinite numbers, drafts of 0, an index that stands for several records.
    """
    reader = Reader(source, schema.FORM, progress)
    batches = []
    for line, batch in reader.batches():
        check_rows(batch, problems=reader.bad, warnings=reader.odd, line=line)
        batches.append(batch)
    frame = pl.concat(batches) if batches else pl.DataFrame(schema=schema.TYPES)
    problems = reader.problems()
    if frame.is_empty() and not problems:
        problems.append(f"{source.label}: expected rows, found none below the names. Was its writing cut off?")
    if problems:
        raise TableError(*problems)
    clock = check_clock(frame, label=source.label)
    but = (SINCE_DRY_DOCK,) if clock.columns else ()  # the clock knows the unit, where a median can only guess it
    doubts = check_units(frame, label=source.label, stormy=source.partition in SHIFTED, but=but)
    if voyage and (twice := check_index(frame, label=source.label)):
        raise TableError(*twice, *doubts.columns, *clock.columns)  # whole days or hours would repeat an index, too
    warnings = (*reader.warnings, *reader.odd.told(source.label))
    return Table(source, frame, warnings, doubts, clock if voyage else Doubts(columns=clock.columns))


def presumed(source: Source, data: str) -> str | None:
    """A sentence if a partition's CSV is not the known file byte by byte; None if it is, or nobody knows it."""
    known = schema.FILES.get((data, source.partition or ""))
    if known is None or not source.name.lower().endswith(".csv"):
        return None
    with opened(source) as stream:
        found = hashlib.file_digest(stream.file, "sha256").hexdigest()  # type: ignore[arg-type]
    if found == known.sha256:
        return None
    return (
        f"{source.partition}: SHA-256 {found[:12]}…, that of the copy we know of is {known.sha256[:12]}…: another "
        "edition, or written anew"
    )
