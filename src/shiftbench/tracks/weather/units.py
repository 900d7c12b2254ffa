"""Which other unit a column was written in by mistake, told from its values."""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.tracks.weather.schema import Range


@dataclass(frozen=True)
class Mistake:
    """A unit that is taken for another: value · factor + offset would be right; `advice` says so in words."""

    unit: str
    factor: float
    offset: float
    advice: str


MMHG = 133.322387415  # Pa
GRAVITY = 9.80665  # m/s²
MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "C": (
        Mistake("kelvin", 1, -273.15, "Subtract 273.15"),
        Mistake("degrees Fahrenheit", 1 / 1.8, -32 / 1.8, "Subtract 32 and divide by 1.8"),
    ),
    "K": (
        Mistake("degrees Celsius", 1, 273.15, "Add 273.15"),
        Mistake("degrees Fahrenheit", 1 / 1.8, 273.15 - 32 / 1.8, "Subtract 32, divide by 1.8 and add 273.15"),
    ),
    "mmHg": (
        Mistake("hPa", 100 / MMHG, 0, "Multiply by 0.750062"),
        Mistake("Pa", 1 / MMHG, 0, "Multiply by 0.00750062"),
        Mistake("kPa", 1000 / MMHG, 0, "Multiply by 7.50062"),
    ),
    "Pa": (  # hPa of low-lying stations, read as mmHg, would be too high; mmHg, read as hPa, would not
        Mistake("mmHg", MMHG, 0, "Multiply by 133.322"),
        Mistake("hPa", 100, 0, "Multiply by 100"),
        Mistake("kPa", 1000, 0, "Multiply by 1,000"),
    ),
    "%": (Mistake("fractions of 1", 100, 0, "Multiply by 100"),),
    "0-1": (Mistake("percent", 0.01, 0, "Divide by 100"),),
    "0-3": (Mistake("percent", 0.01, 0, "Divide by 100"),),
    "gpm": (
        Mistake("geopotential in m²/s²", 1 / GRAVITY, 0, "Divide by 9.80665"),
        Mistake("decametres", 10, 0, "Multiply by 10"),
        Mistake("kilometres", 1000, 0, "Multiply by 1,000"),
    ),
    "m": (
        Mistake("centimetres", 0.01, 0, "Divide by 100"),
        Mistake("millimetres", 0.001, 0, "Divide by 1,000"),
    ),
    "mm": (Mistake("metres", 1000, 0, "Multiply by 1,000"),),
    "mm/h": (Mistake("mm/s", 3600, 0, "Multiply by 3,600"),),
    "m/s": (Mistake("km/h", 1 / 3.6, 0, "Divide by 3.6"),),
    "degrees": (Mistake("radians", 57.29577951308232, 0, "Multiply by 57.29578"),),
    "h": (Mistake("seconds", 1 / 3600, 0, "Divide by 3,600"),),
    "s": (Mistake("milliseconds", 0.001, 0, "Divide by 1,000"),),
}


def mistake(unit: str, expected: Range, *, low: float, median: float, high: float) -> Mistake | None:
    """The first mistake for a unit that brings a column into its range, or None.

    low, median, high: the 5 %, 50 % and 95 % quantiles of the column as it was found.
    """
    for entry in MISTAKES.get(unit, ()):
        lowest, middle, highest = (value * entry.factor + entry.offset for value in (low, median, high))
        inside = expected.low <= lowest and highest <= expected.high
        if inside and expected.median_low <= middle <= expected.median_high:
            return entry
    return None
