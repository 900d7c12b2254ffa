"""Properties of water, and gravity."""

from __future__ import annotations

from dataclasses import dataclass

from shiftbench.errors import SettingsError

GRAVITY = 9.81  # m/s², as in the papers
DENSITY = 1025.0  # kg/m³
VISCOSITY = 1.1883e-6  # m²/s, sea water of 15 °C (ITTC 7.5-02-01-03)


@dataclass(frozen=True)
class Water:
    """Density in kg/m³, kinematic viscosity in m²/s; by default of sea water at 15 °C.

    Raises:
        SettingsError: if the values are not those of water.
    """

    density: float = DENSITY
    viscosity: float = VISCOSITY

    def __post_init__(self) -> None:
        problems = [
            f"water.{name}: expected {low:g} to {high:g} {unit}, found {value!r}. Is it in this unit?"
            for name, value, low, high, unit in (
                ("density", self.density, 950, 1_100, "kg/m³"),
                ("viscosity", self.viscosity, 5e-7, 2.5e-6, "m²/s"),
            )
            if not low <= value <= high
        ]
        if problems:
            raise SettingsError(*problems)


SEA_WATER = Water()
