"""A resistance test of a ship or its model in calm water, and its prediction by the Holtrop-Mennen method."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector, first
from shiftbench.errors import ArrayError, every
from shiftbench.tracks.power.physics import calm_water
from shiftbench.tracks.power.physics.calibration import AS_PUBLISHED, Resistance
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.physics.water import Water

SCALES = (1.0, 500.0)
COEFFICIENTS = (8e-4, 0.05)  # limits of all displacement hulls: friction alone is 1.2e-3 for the largest ships

FRESH_WATER = Water(density=999.1, viscosity=1.139e-6)
"""Fresh water of 15 °C (ITTC 7.5-02-01-03)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TowingTest:
    """One ship at one pair of drafts, towed at N speeds, as a towing tank reports it.

    ship, draft_aft_m, draft_fore_m: at full scale; the ship's own `resistance` is not used.
    scale: length of the ship over the model's; 1: the ship itself.
    speed_m_s, resistance_N: [N] of the model, measured. water: of the tank. appended: with the ship's appendages.

    Raises:
        ArrayError: naming all problems: a scale below 1, values that are not numbers, unequal lengths, impossible
            drafts, and impossible resistances, such as those in kN.
    """

    ship: Ship
    scale: float
    draft_aft_m: float
    draft_fore_m: float
    speed_m_s: Vector
    resistance_N: Vector
    water: Water
    appended: bool = False

    def __post_init__(self) -> None:
        problems = [*_scale_problems(self.scale), *self._draft_problems()]
        if kinds := self._kind_problems():  # nothing else can be checked without a valid ship
            raise ArrayError(*problems, *kinds)
        try:
            speed, measured = check.vectors(
                speed_m_s=self.speed_m_s,
                resistance_N=self.resistance_N,
                positive=("speed_m_s", "resistance_N"),
                advice="Drop these runs.",
            )
            object.__setattr__(self, "speed_m_s", speed)
            object.__setattr__(self, "resistance_N", measured)
        except ArrayError as error:
            problems += error.problems
        try:
            if not self._draft_problems():
                self._loading(1)
        except ArrayError as error:
            problems += error.problems
        if problems := problems or self._coefficient_problems():
            raise ArrayError(*problems)

    def predicted_N(self, by: Resistance = AS_PUBLISHED) -> Vector:
        """Resistance in N, [N], of the same model by the Holtrop-Mennen method.

        At the same Froude number a model and its ship have all dimensionless parts but friction in common. So the
        prediction is that for the ship in water with a viscosity of λ^1.5 times the tank's, at which its Reynolds
        number is the model's. A model is smooth and has no correlation allowance; the ship itself, at scale 1, has it.
        """
        check.kind("by", by, Resistance)
        scale = self.scale
        calm = calm_water.resistance(
            replace(self.ship, resistance=by),
            self._loading(len(self.speed_m_s)),
            self.speed_m_s * np.sqrt(scale),
            viscosity=self.water.viscosity * scale**1.5,
            density=self.water.density,
        )
        total = calm.friction_N * calm.form_factor + calm.wave_N + calm.bulb_N + calm.transom_N
        if self.appended:
            total = total + calm.appendages_N
        if scale == 1:
            total = total + calm.correlation_N
        return total / scale**3

    def deviation(self, by: Resistance = AS_PUBLISHED) -> Vector:
        """Predicted over measured resistance, less 1, [N]: 0.1 is 10 % too much."""
        return self.predicted_N(by) / self.resistance_N - 1

    def _kind_problems(self) -> list[str]:
        kinds = (("ship", Ship, "Read one with `ship.read`."), ("water", Water, "FRESH_WATER is that of a tank."))
        return [
            f"{name}: expected a {kind.__name__}, found {type(getattr(self, name)).__name__}. {advice}"
            for name, kind, advice in kinds
            if not isinstance(getattr(self, name), kind)
        ]

    def _draft_problems(self) -> list[str]:
        drafts = {"draft_aft_m": self.draft_aft_m, "draft_fore_m": self.draft_fore_m}
        readers = {
            name: partial(argument.number, name, value, np.isfinite, "a draft of the ship in m")
            for name, value in drafts.items()
        }
        try:
            every(readers, ArrayError)
        except ArrayError as error:
            return list(error.problems)
        return []

    def _loading(self, number: int) -> Loading:
        return Loading.of(self.ship, np.full(number, self.draft_aft_m), np.full(number, self.draft_fore_m))

    def _coefficient_problems(self) -> list[str]:
        pressure = 0.5 * self.water.density * self.speed_m_s**2
        area = self._loading(1).wetted_area_m2[0] / self.scale**2
        coefficient = self.resistance_N / (pressure * area)
        low, high = COEFFICIENTS
        outside = (coefficient < low) | (coefficient > high)
        if not outside.any():
            return []
        return [
            f"resistance_N: expected total coefficients C_T from {low:g} to {high:g}, found "
            f"{first(coefficient, outside)}. Are resistance and speed the model's, in N and m/s, and is it this scale?"
        ]


def _scale_problems(scale: Any) -> list[str]:
    low, high = SCALES
    if (
        isinstance(scale, (int, float, np.integer, np.floating))
        and not isinstance(scale, bool)
        and low <= scale <= high
    ):
        return []
    return [
        f"scale: expected a number from {low:g} (the ship itself) to {high:g}, found {scale!r:.40}. "
        "It is the ship's length over the model's."
    ]
