"""Units that the vessel's columns may be in by mistake."""

from __future__ import annotations

from shiftbench.track.intake.units import Mistake

KNOT = 1852 / 3600  # m/s
METRES_PER_SECOND = Mistake("m/s", 1 / KNOT, "Multiply by 1.943844")
FEET = Mistake("feet", 0.3048, "Multiply by 0.3048")
MISTAKES: dict[str, tuple[Mistake, ...]] = {
    "kn": (METRES_PER_SECOND, Mistake("km/h", 1 / 1.852, "Divide by 1.852")),
    "m": (FEET, Mistake("centimetres", 0.01, "Divide by 100"), Mistake("millimetres", 0.001, "Divide by 1,000")),
    "minutes": (
        Mistake("seconds", 1 / 60, "Divide by 60"),
        Mistake("days", 1440.0, "Multiply by 1,440"),  # before hours: years at sea would be too many hours
        Mistake("hours", 60.0, "Multiply by 60"),
    ),
    "kW": (Mistake("MW", 1000.0, "Multiply by 1,000"), Mistake("W", 0.001, "Divide by 1,000")),
}
"""Expected unit → units that are found instead."""


def base(unit: str) -> str:
    """The unit without its denominator: kn of kn/3min."""
    return unit.split("/")[0]
