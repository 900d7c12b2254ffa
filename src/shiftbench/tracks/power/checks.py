"""What is wrong with the values of the vessel's records: one by one, as columns, and as a clock."""

from __future__ import annotations

import numpy as np
import polars as pl

from shiftbench.intake import units
from shiftbench.intake.tally import Tally
from shiftbench.intake.units import Doubts, Range
from shiftbench.tables import problem
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
    WIND_ALONG,
)
from shiftbench.tracks.power.units import MISTAKES, of_slope

MOST_WIDTHS = 10  # of a range, that a slip lies off it: what is further off was never measured
FEWEST_FOR_MEDIAN = 20  # minutes; the median of fewer may be that of one stormy hour
DROP = "Correct or drop these rows."
WINDS = (WIND_ALONG, WIND_ACROSS)
SIGNED = "Kept; it is unsigned in the official data: take its absolute value."


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


def check_units(frame: pl.DataFrame, *, label: str, stormy: bool = False, but: tuple[str, ...] = ()) -> Doubts:
    """Compare each column of a table [N] with its range; `label` is what sentences call the table.

    stormy: whether the records were chosen for their wind, whose median then says nothing. but: columns left out.
    """
    wrong: list[str] = []
    odd: list[str] = []
    for name, expected in schema.RANGES.items():
        if name in but:
            continue
        count = units.Count(**frame.select(**units.counted(pl.col(name), expected)).row(0, named=True))
        told = count.all >= FEWEST_FOR_MEDIAN and not (stormy and name in WINDS)
        if (told and count.misplaced) or count.outside_too_often:
            wrong.append(f"{label}: {_elsewhere(frame[name], expected, count, of_median=told and count.misplaced)}")
        elif count.outside and (far := _far(frame[name], expected)).any():
            wrong.append(f"{label}: {_impossible(frame[name], expected, far)}")
        elif count.outside:
            odd.append(f"{label}: {units.values_outside(name, schema.UNITS[name], expected, count)}")
    return Doubts(tuple(wrong), tuple(odd))


def check_clock(frame: pl.DataFrame, *, label: str) -> Doubts:
    """Compare the two times of a table [N]: timeSinceDryDock - time_id is 10,776 minutes in all official records."""
    since, index = (frame[name].drop_nulls().to_numpy() for name in (SINCE_DRY_DOCK, TIME_ID))
    off = np.flatnonzero(since - index != FIRST_MINUTE)
    if not len(off):
        return Doubts()
    span = int(np.ptp(index))
    slope = float(np.ptp(since)) / span if span else 1.0
    if (found := of_slope(slope)) is not None:
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


def _far(values: pl.Series, expected: Range) -> pl.Series:
    """Where values [N] are too far off their range for slips."""
    reach = MOST_WIDTHS * (expected.high - expected.low)
    return ((values < expected.low - reach) | (values > expected.high + reach)).fill_null(False)


def _impossible(values: pl.Series, expected: Range, far: pl.Series) -> str:
    return (
        f"column {values.name!r}: expected values from {expected.low:,g} to {expected.high:,g} "
        f"{schema.UNITS[values.name]}, found {values[far.arg_max() or 0]:,g} in {problem.rows(far)}, which no ship "
        f"can have. {DROP}"
    )


def _elsewhere(values: pl.Series, expected: Range, count: units.Count, *, of_median: bool) -> str:
    """What a column that lies elsewhere as a whole looks like."""
    unit, found = schema.UNITS[values.name], units.quantiles(values.drop_nulls())
    end = units.looks(units.mistake(MISTAKES.get(unit, ()), expected, found))
    if of_median:
        return units.median_elsewhere(values.name, unit, expected, found[1], end=end)
    return units.values_outside(values.name, unit, expected, count, end=end)
