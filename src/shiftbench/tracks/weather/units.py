"""Which other units weather columns are written in by mistake."""

from __future__ import annotations

from shiftbench.track.intake.units import Mistake

MMHG = 133.322387415  # Pa
GRAVITY = 9.80665  # m/s²
MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "C": (
        Mistake("kelvin", 1, "Subtract 273.15", -273.15),
        Mistake("degrees Fahrenheit", 1 / 1.8, "Subtract 32 and divide by 1.8", -32 / 1.8),
    ),
    "K": (
        Mistake("degrees Celsius", 1, "Add 273.15", 273.15),
        Mistake("degrees Fahrenheit", 1 / 1.8, "Subtract 32, divide by 1.8 and add 273.15", 273.15 - 32 / 1.8),
    ),
    "mmHg": (
        Mistake("hPa", 100 / MMHG, "Multiply by 0.750062"),
        Mistake("Pa", 1 / MMHG, "Multiply by 0.00750062"),
        Mistake("kPa", 1000 / MMHG, "Multiply by 7.50062"),
    ),
    "Pa": (  # hPa of low-lying stations, read as mmHg, would be too high; mmHg, read as hPa, would not
        Mistake("mmHg", MMHG, "Multiply by 133.322"),
        Mistake("hPa", 100, "Multiply by 100"),
        Mistake("kPa", 1000, "Multiply by 1,000"),
    ),
    "%": (Mistake("fractions of 1", 100, "Multiply by 100"),),
    "0-1": (Mistake("percent", 0.01, "Divide by 100"),),
    "0-3": (Mistake("percent", 0.01, "Divide by 100"),),
    "gpm": (
        Mistake("geopotential in m²/s²", 1 / GRAVITY, "Divide by 9.80665"),
        Mistake("decametres", 10, "Multiply by 10"),
        Mistake("kilometres", 1000, "Multiply by 1,000"),
    ),
    "m": (Mistake("centimetres", 0.01, "Divide by 100"), Mistake("millimetres", 0.001, "Divide by 1,000")),
    "mm": (Mistake("metres", 1000, "Multiply by 1,000"),),
    "mm/h": (Mistake("mm/s", 3600, "Multiply by 3,600"),),
    "m/s": (Mistake("km/h", 1 / 3.6, "Divide by 3.6"),),
    "degrees": (Mistake("radians", 57.29577951308232, "Multiply by 57.29578"),),
    "h": (Mistake("seconds", 1 / 3600, "Divide by 3,600"),),
    "s": (Mistake("milliseconds", 0.001, "Divide by 1,000"),),
}
"""The unit of a column → what it may be in instead."""
