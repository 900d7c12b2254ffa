"""Reads and checks a table of the vessel's records, and compares it with the official file of its name."""

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

    warnings: on the file and its values. doubts: about units. clock: about the two columns of time.
    """

    source: Source
    frame: pl.DataFrame
    warnings: tuple[str, ...]
    doubts: Doubts
    clock: Doubts

    @property
    def partition(self) -> str:
        """The name of the partition; empty if the data are not divided."""
        return self.source.partition or ""


def read(source: Source, progress: Progress | None = None, *, voyage: bool = True) -> Table:
    """Read a table (CSV, packed or in an archive, or Parquet), columns by name, and check its values.

    voyage: whether its records are minutes of a voyage, each once; those of a generalisation set are not.

    Raises:
        TableError: listing all problems: a damaged file or lines, missing or duplicate columns, text among numbers,
            missing or infinite numbers, drafts of 0, a repeated `time_id`; then also columns in another unit, which are
            otherwise left to `Table.doubts`.
    """
    reader = Reader(source, schema.FORM, progress)
    batches = []
    for line, batch in reader.batches():
        check_rows(batch, problems=reader.bad, warnings=reader.odd, line=line)
        batches.append(batch)
    frame = pl.concat(batches) if batches else pl.DataFrame(schema=schema.TYPES)
    problems = reader.problems()
    if frame.is_empty() and not problems:
        problems.append(f"{source.label}: expected rows, found none below the header. Is the file cut off?")
    doubts, clock = _doubts(frame, label=source.label, partition=source.partition or "", voyage=voyage)
    if voyage:
        problems += check_index(frame, label=source.label)
    if problems:  # a wrong unit of time may be the reason for repeated ids
        raise TableError(*problems, *doubts.columns, *clock.columns)
    warnings = (*reader.warnings, *reader.odd.messages(source.label))
    return Table(source, frame, warnings, doubts, clock if voyage else Doubts(columns=clock.columns))


def check_test_set(frame: pl.DataFrame, *, label: str) -> list[str]:
    """Check a user's test set [N]: the inputs, the power, and `time_id` if it exists.

    Its records need not be minutes of a voyage, and it may hold further columns. Records without a power are ignored.

    Returns:
        Notes on it.

    Raises:
        TableError: listing all problems: missing columns, text, missing or infinite numbers, drafts of 0,
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
    if wrong := [*problems.messages(label), *doubts.columns, *clock.columns]:
        raise TableError(*wrong)
    return [*odd.messages(label), *doubts.values]


def _doubts(frame: pl.DataFrame, *, label: str, partition: str = "", voyage: bool = True) -> tuple[Doubts, Doubts]:
    """Doubts about the units of a table [N], and about its times; invalid values count as missing."""
    sound = frame.with_columns(pl.when(pl.col(pl.Float64).is_finite()).then(pl.col(pl.Float64))).with_columns(
        pl.when(pl.col(DRAFT_AFT, DRAFT_FORE) > 0).then(pl.col(DRAFT_AFT, DRAFT_FORE)),
        pl.when(pl.col(SINCE_DRY_DOCK) >= 0).then(pl.col(SINCE_DRY_DOCK)),
    )
    clock, settled = Doubts(), False
    if TIME_ID in sound.columns:
        clock, settled = check_clock(sound, label=label), in_minutes(sound)
    known = (SINCE_DRY_DOCK,)  # the two times determine the unit, which a median only suggests
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
    """A note if a partition's CSV is not the known file byte for byte; None if it is, or if the hash is unknown."""
    known = schema.FILES.get((data, source.partition or ""))
    if known is None or not source.name.lower().endswith(".csv"):
        return None
    with opened(source) as stream:
        found = hashlib.file_digest(stream.file, "sha256").hexdigest()  # type: ignore[arg-type]
    if found == known.sha256:
        return None
    return (
        f"{source.partition}: SHA-256 {found[:12]}…, that of the known copy is {known.sha256[:12]}…: another "
        "edition, or written anew"
    )
