"""Checks of the vessel's records: single values, and whether the two columns of time agree."""

from __future__ import annotations

import numpy as np
import polars as pl

from shiftbench.check import Vector
from shiftbench.track.intake.tally import Tally
from shiftbench.track.intake.units import Doubts
from shiftbench.tracks.power import schema
from shiftbench.tracks.power.schema import (
    DRAFT_AFT,
    DRAFT_FORE,
    FIRST_MINUTE,
    POWER,
    SINCE_DRY_DOCK,
    TIME_ID,
    WAVE_HEIGHT,
    WIND_ACROSS,
)
from shiftbench.tracks.power.units import MISTAKES

DROP = "Correct or drop these rows."
SIGNED = "Kept; it is unsigned in the official data: take its absolute value."


def check_rows(frame: pl.DataFrame, *, problems: Tally, warnings: Tally, line: int) -> None:
    """Check the values of a batch whose first row is on line `line` of the file."""

    def note(tally: Tally, column: str, expected: str, wrong: pl.Series, advice: str) -> None:
        tally.add(column, expected, advice, values=frame[column], bad=wrong.fill_null(False), line=line)

    for column in (name for name in schema.NAMES if name in frame.columns):
        if not problems.has(column, "numbers"):  # text is read as missing and was reported already
            note(problems, column, "a number in each row", frame[column].is_null(), DROP)
    for column in (DRAFT_AFT, DRAFT_FORE):
        advice = "A draft of 0 is a missing telegram: drop these rows."
        note(problems, column, "a draft above 0 m", frame[column] <= 0, advice)
    note(problems, SINCE_DRY_DOCK, "minutes since dry dock, 0 or more", frame[SINCE_DRY_DOCK] < 0, DROP)
    note(warnings, WIND_ACROSS, "a wind across of 0 kn or more", frame[WIND_ACROSS] < 0, SIGNED)
    note(warnings, WAVE_HEIGHT, "a height of 0 m or more", frame[WAVE_HEIGHT] < 0, "Kept as it is.")
    note(warnings, POWER, "a power above 0 kW", frame[POWER] <= 0, "Kept as it is.")


def check_clock(frame: pl.DataFrame, *, label: str) -> Doubts:
    """Compare the two times of a table [N]: timeSinceDryDock - time_id is 10,776 minutes in all official records."""
    since, index = _times(frame)
    off = np.flatnonzero(since - index != FIRST_MINUTE)
    if not len(off):
        return Doubts()
    slope = _slope(since, index)
    found = next((entry for entry in MISTAKES["minutes"] if abs((slope or 0.0) * entry.factor - 1) < 1e-3), None)
    if found is not None:
        return Doubts(
            columns=(
                f"{label}: column {SINCE_DRY_DOCK!r}: expected minutes, one for each {TIME_ID!r}, found {slope:g} for "
                f"each: it looks like {found.unit}. {found.advice}.",
            )
        )
    first = since[off[0]] - index[off[0]]
    return Doubts(
        values=(
            f"{label}: expected {SINCE_DRY_DOCK} - {TIME_ID} = {FIRST_MINUTE:,} in every record as in the official "
            f"data, found it otherwise in {len(off):,} of {len(since):,} (first {first:,g}). "
            "Partitions are made by timeSinceDryDock.",
        )
    )


def in_minutes(frame: pl.DataFrame) -> bool:
    """Whether `time_id` confirms that the time since dry dock of a table [N] is in minutes.

    It does if the two differ by 10,776 minutes, or if they advance equally and no `time_id` is repeated (in whole days
    it would be).
    """
    since, index = _times(frame)
    slope = _slope(since, index)
    alike = slope is not None and abs(slope - 1) < 1e-3 and len(np.unique(index)) == len(index)
    return alike or bool(len(index) and np.all(since - index == FIRST_MINUTE))


def check_index(frame: pl.DataFrame, *, label: str) -> list[str]:
    """A problem if a `time_id` belongs to more than one record of a table [N]."""
    index = frame[TIME_ID].drop_nulls()
    if index.n_unique() == len(index):
        return []
    twice = index.filter(index.is_duplicated())
    return [
        f"{label}: column {TIME_ID!r}: expected each once, found {twice[0]} in {int((index == twice[0]).sum())} rows "
        f"({twice.n_unique():,} such values). Drop the repeated records."
    ]


def _times(frame: pl.DataFrame) -> tuple[Vector, Vector]:
    """Time since dry dock and `time_id`, [K] each, of the records that have both."""
    both = frame.select(SINCE_DRY_DOCK, TIME_ID).drop_nulls()
    return both[SINCE_DRY_DOCK].to_numpy(), both[TIME_ID].cast(pl.Float64).to_numpy()


def _slope(since: Vector, index: Vector) -> float | None:
    """The increase of `since` per unit of `index`; None if the index is constant."""
    span = float(np.ptp(index)) if len(index) else 0.0
    return float(np.ptp(since)) / span if span else None
