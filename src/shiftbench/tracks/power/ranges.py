"""Whether the values of the vessel's columns fit their units: each column alone, beside the others, and all of one
unit.

A column is refused if its unit is certainly another: too many values that are impossible for a ship, or other columns
that confirm it (`consistency`). A column with a merely unusual median, as in a harbour, is kept with a note.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.io.tables import problem
from shiftbench.partition.settings import SHIFTED
from shiftbench.track.intake import units
from shiftbench.track.intake.units import Count, Doubts, Mistake, Range
from shiftbench.tracks.power import consistency, schema
from shiftbench.tracks.power.schema import (
    CURRENT_ALONG,
    POWER,
    SINCE_DRY_DOCK,
    SPEED,
    WAVE_HEIGHT,
    WIND_ACROSS,
    WIND_ALONG,
)
from shiftbench.tracks.power.units import FEET, METRES_PER_SECOND, MISTAKES, base

MOST_WIDTHS = 10  # of a range, by which single wrong values may leave it; values further off cannot be measurements
SLOWEST = -2.0  # kn through water, the lowest speed of a ship under way
ROUGH_M = 4.5  # median height in m above which there is a note
DROP = "Correct or drop these rows."
KEPT = "Kept, since no other column shows that its unit is wrong."
WINDS = (WIND_ALONG, WIND_ACROSS)
WEAK = (WIND_ACROSS, CURRENT_ALONG, consistency.CURRENT_ACROSS)


@dataclass(frozen=True)
class _Doubt:
    """A doubt about a column: whether it is certainly wrong, and its presumed unit."""

    column: str
    text: str
    certain: bool = True
    unit: Mistake | None = None


def check_units(
    frame: pl.DataFrame,
    *,
    label: str,
    partition: str = "",
    voyage: bool = True,
    but: Sequence[str] = (),
    settled: Sequence[str] = (),
) -> Doubts:
    """Compare the columns of a table [N] with their ranges and with each other, missing values left out.

    Args:
        frame: the inputs and the power.
        label: of the table in messages.
        partition: the name of the partition, if any: its bounds of the true wind are known, and the shifted ones were
            selected by wind, so their median means nothing.
        voyage: whether its records are minutes of a voyage rather than drawn or selected ones.
        but: columns to ignore.
        settled: columns whose unit is known, so that their median does not matter.
    """
    silent = (*settled, *(WINDS if partition in SHIFTED else ()))
    names = [name for name in schema.RANGES if name not in but]
    doubts = list(_by_themselves(frame, names, silent))
    wrong = {doubt.column for doubt in doubts if doubt.certain}
    beside = list(_waves(frame, voyage=voyage))
    if SPEED not in wrong:  # with which winds are compared
        beside += _winds(frame, partition, voyage=voyage)
    doubts += [doubt for doubt in beside if doubt.column not in wrong]
    doubts = list({(doubt.column, doubt.certain): doubt for doubt in doubts}.values())
    certain = [doubt for doubt in doubts if doubt.certain]
    sure = [*(doubt.text for doubt in certain), *_likewise(certain)]
    kept = [doubt.text for doubt in doubts if not doubt.certain]
    return Doubts(tuple(f"{label}: {text}" for text in sure), tuple(f"{label}: {text}" for text in kept))


def _by_themselves(frame: pl.DataFrame, names: Sequence[str], silent: Sequence[str]) -> Iterator[_Doubt]:
    """Doubts about columns by themselves, power and speed first, since others are judged by them."""
    rate, speed_unit = consistency.rate(frame), None
    for name in sorted(names, key=(POWER, SPEED, *names).index):
        values, expected = frame[name], schema.RANGES[name]
        count = Count(**frame.select(**units.counted(pl.col(name), expected)).row(0, named=True))
        misplaced = name not in silent and count.all >= units.FEWEST_FOR_MEDIAN and count.misplaced
        found, certain = None, False
        if misplaced or count.outside_too_often:
            found = units.mistake(MISTAKES.get(schema.UNITS[name], ()), expected, units.quantiles(values.drop_nulls()))
            certain = _certain(frame, name, count, found=found, rate=rate, speed_unit=speed_unit)
        if name == POWER and certain and found and rate is not None:
            rate *= found.factor
        if name == SPEED and certain:
            speed_unit = found = found or consistency.speed_unit(rate)
        if misplaced or count.outside:
            yield _by_itself(values, count, misplaced=misplaced, certain=certain, found=found)


def _by_itself(values: pl.Series, count: Count, *, misplaced: bool, certain: bool, found: Mistake | None) -> _Doubt:
    """A doubt about a column by itself: its unit, impossible values, an unusual median, or single wrong values."""
    name, expected = values.name, schema.RANGES[values.name]
    if certain:
        signed = name == WIND_ACROSS and found is None and units.quantiles(values.drop_nulls())[0] < expected.low
        end = ": it looks signed. Take its absolute value." if signed else units.looks(found)
        return _Doubt(name, _elsewhere(values, expected, count, misplaced, end), unit=found)
    if (far := _far(values, expected)).any():
        return _Doubt(name, _impossible(values, expected, far))
    end = "."
    if misplaced or count.outside_too_often:
        end = f": it may be in {found.unit}. {KEPT}" if found else f". {KEPT}"
    return _Doubt(name, _elsewhere(values, expected, count, misplaced, end), certain=False)


def _certain(
    frame: pl.DataFrame,
    name: str,
    count: Count,
    *,
    found: Mistake | None,
    rate: float | None,
    speed_unit: Mistake | None,
) -> bool:
    """Whether a column outside its range is certainly wrong rather than unusual."""
    if name == SPEED:
        return _speed_is_wrong(frame[SPEED], count, rate)
    if count.outside_too_often:
        return True
    if name == POWER:
        least, most = consistency.POWER_RATES
        return found is not None if rate is None else not least <= rate <= most
    if name == WIND_ALONG and found:
        return consistency.wind_like_speed(frame) if speed_unit == found else consistency.wind_along_in_m_s(frame)
    return name == SINCE_DRY_DOCK and found is not None and found.unit == "days"  # not hours: soon after a dry dock


def _speed_is_wrong(values: pl.Series, count: Count, rate: float | None) -> bool:
    """Whether a speed is wrong rather than that in a harbour. rate_kw: `consistency.rate` with power in kW."""
    low = 2 * count.under > count.all
    beyond = int(((values < SLOWEST) | (values > schema.RANGES[SPEED].high)).sum())
    if beyond >= units.FEWEST_OUTSIDE and beyond > units.MOST_OUTSIDE * count.all:
        return True
    if rate is None:
        return count.outside_too_often
    least, most = consistency.SPEED_RATES
    return rate > most if low or count.outside_too_often else rate < least


def _winds(frame: pl.DataFrame, partition: str, *, voyage: bool) -> Iterator[_Doubt]:
    """Doubts about winds and currents that are in their own ranges but do not fit the other columns."""
    for name in consistency.columns_of_true_wind(frame, partition):
        found = f"true winds that fall inside {partition} only if this column is converted to knots"
        yield _Doubt(name, _beside(name, "kn", found, units.looks(METRES_PER_SECOND)), unit=METRES_PER_SECOND)
    if consistency.wind_across_is_weak(frame):
        yield from _weak(sure=voyage and consistency.currents_are_weak(frame))


def _waves(frame: pl.DataFrame, *, voyage: bool) -> Iterator[_Doubt]:
    """A doubt about waves that are high in any wind, or very high."""
    height = float(frame.select(pl.col(WAVE_HEIGHT).median()).item() or 0.0)
    found = f"a median of {height:.3g} m"
    if voyage and consistency.waves_in_feet(frame):
        found += ", and high seas in light winds"
        yield _Doubt(WAVE_HEIGHT, _beside(WAVE_HEIGHT, "m", found, units.looks(FEET)), unit=FEET)
    elif height > ROUGH_M:
        end = ": it may be in feet. Kept, since such waves exist."
        yield _Doubt(WAVE_HEIGHT, _beside(WAVE_HEIGHT, "m", found, end), certain=False)


def _weak(*, sure: bool) -> Iterator[_Doubt]:
    """Doubts about a weak wind across, and (if certain) about currents that are weak as well."""
    found = "a wind far weaker than the one along without the ship's own speed"
    if not sure:
        end = ": it may be in m/s. Kept, since such routes exist."
        yield _Doubt(WIND_ACROSS, _beside(WIND_ACROSS, "kn", found, end), certain=False)
        return
    for name in WEAK:
        weak = found if name == WIND_ACROSS else "a current that varies far less than the published one"
        yield _Doubt(name, _beside(name, "kn", weak, units.looks(METRES_PER_SECOND)), unit=METRES_PER_SECOND)


def _likewise(certain: Sequence[_Doubt]) -> Iterator[str]:
    """A note for each wrong unit: other columns with the same expected unit, which could not be checked."""
    wrong = {doubt.column for doubt in certain}
    for unit in dict.fromkeys(doubt.unit for doubt in certain if doubt.unit):
        named = [doubt.column for doubt in certain if doubt.unit == unit]
        known = {base(schema.UNITS[name]) for name in named}
        others = [name for name in schema.RANGES if base(schema.UNITS[name]) in known and name not in wrong]
        if others:
            columns = f"column{'s' * (len(others) > 1)} {', '.join(map(repr, others))}"
            yield (
                f"{columns}: expected {known.pop()} as well, which could not be checked. If one column is in "
                f"{unit.unit}, others often are: check them before you convert {', '.join(map(repr, named))} alone."
            )


def _far(values: pl.Series, expected: Range) -> pl.Series:
    """Flags of values [N] that are too far from their range to be single slips."""
    reach = MOST_WIDTHS * (expected.high - expected.low)
    return ((values < expected.low - reach) | (values > expected.high + reach)).fill_null(False)


def _impossible(values: pl.Series, expected: Range, far: pl.Series) -> str:
    return (
        f"column {values.name!r}: expected values from {expected.low:,g} to {expected.high:,g} "
        f"{schema.UNITS[values.name]}, found {values[far.arg_max() or 0]:,g} in {problem.rows(far)}, which no ship "
        f"can have. {DROP}"
    )


def _beside(name: str, unit: str, found: str, end: str) -> str:
    return f"column {name!r}: expected {unit} as in the other columns, found {found}{end}"


def _elsewhere(values: pl.Series, expected: Range, count: Count, misplaced: bool, end: str) -> str:
    """A doubt about a column whose median or many values are outside the range."""
    unit = schema.UNITS[values.name]
    if misplaced:
        median = units.quantiles(values.drop_nulls())[1]
        return units.median_elsewhere(values.name, unit, expected, median, end=end)
    return units.values_outside(values.name, unit, expected, count, end=end)
