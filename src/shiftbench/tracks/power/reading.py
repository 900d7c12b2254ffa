"""One table of the vessel's records read and checked, and what the official one of its name would be."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import polars as pl

from shiftbench.errors import TableError
from shiftbench.track.intake.form import Form
from shiftbench.track.intake.reading import Progress, Reader
from shiftbench.track.intake.sources import Source, opened
from shiftbench.track.intake.tally import Tally
from shiftbench.track.intake.units import Doubts
from shiftbench.tracks.power import schema
from shiftbench.tracks.power.checks import check_clock, check_index, check_rows, in_minutes
from shiftbench.tracks.power.ranges import check_units
from shiftbench.tracks.power.schema import DRAFT_AFT, DRAFT_FORE, POWER, SINCE_DRY_DOCK, TIME_ID


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

    voyage: whether its records are minutes of a voyage, each there once; those of a generalisation set are not.

    Raises:
        TableError: with all that is wrong: a damaged file or lines, columns missing or doubled, text among numbers,
            missing or infinite numbers, drafts of 0, an index that stands for several records; then also columns in
            another unit, which are otherwise left to `Table.doubts`.
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
    doubts, clock = _doubts(frame, label=source.label, partition=source.partition or "", voyage=voyage)
    if voyage:
        problems += check_index(frame, label=source.label)
    if problems:  # a wrong unit of time may be what repeats an index
        raise TableError(*problems, *doubts.columns, *clock.columns)
    warnings = (*reader.warnings, *reader.odd.told(source.label))
    return Table(source, frame, warnings, doubts, clock if voyage else Doubts(columns=clock.columns))


def check_test_set(frame: pl.DataFrame, *, label: str) -> list[str]:
    """Look at a table [N] that somebody wants to be scored on: the inputs and the power, `time_id` if it is there.

    Its records need not be minutes of a voyage, and it may hold further columns. Records without a power are passed
    over.

    Returns:
        What is odd about it.

    Raises:
        TableError: with all that is wrong: columns that are not there, text, missing or infinite numbers, drafts of 0,
            columns in another unit.
    """
    types = {name: dtype for name, dtype in schema.TYPES.items() if name != TIME_ID or name in frame.columns}
    Form(types).names(frame.columns, label=label)
    frame = frame.select(list(types))
    if words := [
        name for name, dtype in frame.schema.items() if not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null))
    ]:
        raise TableError(
            *(f"{label}: column {name!r}: expected numbers, found {frame.schema[name]}. Convert it." for name in words)
        )
    frame = frame.cast(pl.Float64()).fill_nan(None).drop_nulls(POWER)
    problems, odd = Tally("row"), Tally("row")
    for name in frame.columns:
        infinite, advice = frame[name].is_infinite().fill_null(False), "Correct or drop these rows."
        problems.add(name, "finite numbers", advice, values=frame[name], bad=infinite, line=1)
    check_rows(frame, problems=problems, warnings=odd, line=1)
    doubts, clock = _doubts(frame, label=label, voyage=False)
    if said := [*problems.told(label), *doubts.columns, *clock.columns]:
        raise TableError(*said)
    return [*odd.told(label), *doubts.values]


def _doubts(frame: pl.DataFrame, *, label: str, partition: str = "", voyage: bool = True) -> tuple[Doubts, Doubts]:
    """What is to be doubted of the units of a table [N], and of its clock; values that are wrong count as missing."""
    sound = frame.with_columns(
        pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64)),
    ).with_columns(
        pl.when(pl.col(DRAFT_AFT, DRAFT_FORE) > 0).then(pl.col(DRAFT_AFT, DRAFT_FORE)),
        pl.when(pl.col(SINCE_DRY_DOCK) >= 0).then(pl.col(SINCE_DRY_DOCK)),
    )
    clock, settled = Doubts(), False
    if TIME_ID in sound.columns:
        clock, settled = check_clock(sound, label=label), in_minutes(sound)
    known = (SINCE_DRY_DOCK,)  # the clock knows the unit, where a median can only guess it
    doubts = check_units(
        sound,
        label=label,
        partition=partition,
        voyage=voyage,
        but=known if clock.columns else (),
        settled=known if settled else (),
    )
    return doubts, clock


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
