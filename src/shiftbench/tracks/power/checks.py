"""What is wrong with the values of the vessel's records: one by one, as columns, and as a clock."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from shiftbench.intake.tally import Tally
from shiftbench.tracks.power import schema, units
from shiftbench.tracks.power.schema import (
    DRAFT_AFT,
    DRAFT_FORE,
    FIRST_MINUTE,
    POWER,
    SINCE_DRY_DOCK,
    TIME_ID,
    WAVE_HEIGHT,
    WIND_ACROSS,
    WIND_ALONG,
    Range,
)

MOST_OUTSIDE = 0.05  # of a column's values: more are no slips
FEWEST_OUTSIDE = 2
FEWEST_FOR_MEDIAN = 20  # minutes; the median of fewer may be that of one stormy hour
DROP = "Correct or drop these rows."
WINDS = (WIND_ALONG, WIND_ACROSS)
SIGNED = "Kept; it is unsigned in the official data: take its absolute value."


@dataclass(frozen=True)
class Doubts:
    """Sentences about columns: `columns` lie elsewhere as a whole, `values` are single slips."""

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()


def check_rows(frame: pl.DataFrame, *, problems: Tally, warnings: Tally, line: int) -> None:
    """Look at the single values of a batch whose first row stands in `line`."""

    def note(tally: Tally, column: str, expected: str, wrong: pl.Series, advice: str) -> None:
        tally.add(column, expected, advice, values=frame[column], bad=wrong.fill_null(False), line=line)

    for column in schema.NAMES:
        if not problems.has(column, "numbers"):  # words, which were told of already, are read as missing
            note(problems, column, "a number in each row", frame[column].is_null(), DROP)
    for column in (DRAFT_AFT, DRAFT_FORE):
        advice = "A draft of 0 is a missing telegram: drop these rows."
        note(problems, column, "a draft above 0 m", frame[column] <= 0, advice)
    note(problems, SINCE_DRY_DOCK, "minutes since dry dock, 0 or more", frame[SINCE_DRY_DOCK] < 0, DROP)
    note(warnings, WIND_ACROSS, "a wind across of 0 kn or more", frame[WIND_ACROSS] < 0, SIGNED)
    note(warnings, WAVE_HEIGHT, "a height of 0 m or more", frame[WAVE_HEIGHT] < 0, "Kept as it is.")
    note(warnings, POWER, "a power above 0 kW", frame[POWER] <= 0, "Kept as it is.")


def check_units(frame: pl.DataFrame, *, label: str, stormy: bool = False) -> Doubts:
    """Compare each column of a table [N] with its range; `label` is what sentences call the table.

    stormy: whether the records were chosen for their wind, whose median then says nothing.
    """
    wrong: list[str] = []
    odd: list[str] = []
    for name, expected in schema.RANGES.items():
        values = frame[name].drop_nulls()
        outside = int(((values < expected.low) | (values > expected.high)).sum())
        if _misplaced(values, expected) and not (stormy and name in WINDS):
            wrong.append(f"{label}: {_elsewhere(values, expected)}")
        elif outside >= FEWEST_OUTSIDE and outside > MOST_OUTSIDE * len(values):
            wrong.append(f"{label}: {_outside(values, expected, outside)}")
        elif outside:
            odd.append(f"{label}: {_outside(values, expected, outside)}")
    return Doubts(tuple(wrong), tuple(odd))


def check_clock(frame: pl.DataFrame, *, label: str) -> Doubts:
    """Compare the two times of a table [N]: timeSinceDryDock - time_id is 10,776 minutes in all official records."""
    since, index = (frame[name].drop_nulls().to_numpy() for name in (SINCE_DRY_DOCK, TIME_ID))
    off = np.flatnonzero(since - index != FIRST_MINUTE)
    if not len(off):
        return Doubts()
    span = int(np.ptp(index))
    slope = float(np.ptp(since)) / span if span else 1.0
    if (found := units.of_slope(slope)) is not None:
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
            "Partitions go by timeSinceDryDock.",
        )
    )


def check_index(frame: pl.DataFrame, *, label: str) -> list[str]:
    """A sentence if an index of time stands for more than one record of a table [N]."""
    index = frame[TIME_ID]
    if index.n_unique() == len(index):
        return []
    twice = index.filter(index.is_duplicated())
    return [
        f"{label}: column {TIME_ID!r}: expected each once, found {twice[0]} in {int((index == twice[0]).sum())} rows "
        f"({twice.n_unique():,} such values). Drop the repeated records."
    ]


def _misplaced(values: pl.Series, expected: Range) -> bool:
    """Whether the median is under or over where it may be."""
    if len(values) < FEWEST_FOR_MEDIAN:
        return False
    under, over = (values < expected.median_low).sum(), (values > expected.median_high).sum()
    return 2 * max(under, over) > len(values)


def _looks(values: pl.Series, expected: Range) -> str:
    low, median, high = (float(values.quantile(place, "nearest") or 0.0) for place in (0.05, 0.5, 0.95))
    found = units.mistake(schema.UNITS[values.name], expected, low=low, median=median, high=high)
    return f": it looks like {found.unit}. {found.advice}." if found else ". Check its unit."


def _elsewhere(values: pl.Series, expected: Range) -> str:
    unit = schema.UNITS[values.name]
    return (
        f"column {values.name!r}: expected a median from {expected.median_low:,g} to {expected.median_high:,g} {unit}, "
        f"found {float(np.median(values.to_numpy())):,g}{_looks(values, expected)}"
    )


def _outside(values: pl.Series, expected: Range, outside: int) -> str:
    unit = schema.UNITS[values.name]
    wrong = values.filter((values < expected.low) | (values > expected.high))
    return (
        f"column {values.name!r}: expected values from {expected.low:,g} to {expected.high:,g} {unit}, found "
        f"{wrong[0]:,g} ({outside:,} of {len(values):,} outside){_looks(values, expected)}"
    )
