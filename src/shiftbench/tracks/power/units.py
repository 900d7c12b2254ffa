"""Which other unit a column was written in by mistake, told from its values."""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.tracks.power.schema import Range


@dataclass(frozen=True)
class Mistake:
    """A unit that is taken for another: value · factor would be right; `advice` says so in words."""

    unit: str
    factor: float
    advice: str


KNOT = 1852 / 3600  # m/s
MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "kn": (
        Mistake("m/s", 1 / KNOT, "Multiply by 1.943844"),
        Mistake("km/h", 1 / 1.852, "Divide by 1.852"),
    ),
    "m": (
        Mistake("feet", 0.3048, "Multiply by 0.3048"),
        Mistake("centimetres", 0.01, "Divide by 100"),
        Mistake("millimetres", 0.001, "Divide by 1,000"),
    ),
    "minutes": (
        Mistake("seconds", 1 / 60, "Divide by 60"),
        Mistake("hours", 60.0, "Multiply by 60"),
        Mistake("days", 1440.0, "Multiply by 1,440"),
    ),
    "kW": (
        Mistake("MW", 1000.0, "Multiply by 1,000"),
        Mistake("W", 0.001, "Divide by 1,000"),
    ),
}


def mistake(unit: str, expected: Range, *, low: float, median: float, high: float) -> Mistake | None:
    """The first mistake for a unit that brings a column into its range, or None.

    low, median, high: the 5 %, 50 % and 95 % quantiles of the column as it was found.
    """
    for entry in MISTAKES.get(unit, ()):
        lowest, middle, highest = (value * entry.factor for value in (low, median, high))
        inside = expected.low <= lowest and highest <= expected.high
        if inside and expected.median_low <= middle <= expected.median_high:
            return entry
    return None


def of_slope(slope: float) -> Mistake | None:
    """The unit of a time that runs so many times as fast as one in minutes, to a thousandth; None if it is minutes."""
    return next((entry for entry in MISTAKES["minutes"] if abs(slope * entry.factor - 1) < 1e-3), None)
