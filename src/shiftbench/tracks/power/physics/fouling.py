"""Effects of the time since dry dock: a rougher hull has more drag, rougher blades need more torque, the wake thickens.

All three formulas are those of ITTC procedure 7.5-02-03-01.4 (1978 performance prediction method, 2017), the hull's
after Townsin & Dey (1990); the heights of the roughness are Schultz's (2007). No formula is from Seo et al. (2016) or
Farkas et al. (2020): the former use fouling as sand roughness in the blades' formula, as here, and serve as a check;
the latter give the direction of the change of wake.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.check import Vector
from shiftbench.errors import SettingsError
from shiftbench.tracks.power.physics import open_water
from shiftbench.tracks.power.physics.parts import Propeller

YEAR_S = 365.25 * 86_400
FASTEST_M = 0.01  # m a year; with more, the roughness of blades would in time exceed their length
CLEAN_HULL_M = 150e-6  # the roughness in Holtrop & Mennen's correlation allowance, and the ITTC's standard


@dataclass(frozen=True)
class Growth:
    """The growth of roughness: linear in time, unlimited.

    The default, `HEAVY_SLIME`, takes a hull from fresh antifouling paint (150 µm) to heavy slime (600 µm) in a docking
    interval of five years, the heights that Schultz (Effects of coating roughness and biofouling on ship resistance and
    powering, Biofouling 23, 2007, Table 1) gives as R_t50, the roughness in Townsin's formula; and blades
    from the 30 µm of new ones to the 300 µm of equivalent sand grains that the same table gives for heavy slime.

    Raises:
        SettingsError: if either is not a number from 0 to `FASTEST_M`.
    """

    hull_m_per_year: float = 90e-6
    propeller_m_per_year: float = 54e-6

    def __post_init__(self) -> None:
        given = {"hull_m_per_year": self.hull_m_per_year, "propeller_m_per_year": self.propeller_m_per_year}
        problems = [
            f"growth.{name}: expected 0 to {FASTEST_M:g} m a year, found {value!r}. Is it in m?"
            for name, value in given.items()
            if not 0 <= value <= FASTEST_M
        ]
        if problems:
            raise SettingsError(*problems)

    def hull_m(self, since_dry_dock_s: Vector) -> Vector:
        """Average hull roughness, [N]."""
        return CLEAN_HULL_M + self.hull_m_per_year / YEAR_S * since_dry_dock_s

    def blade_m(self, propeller: Propeller, since_dry_dock_s: Vector) -> Vector:
        """Equivalent sand roughness of the blades, [N]."""
        return propeller.roughness_m + self.propeller_m_per_year / YEAR_S * since_dry_dock_s


HEAVY_SLIME = Growth()


def friction_increase(roughness_m: Vector | float, length_m: Vector, reynolds: Vector) -> Vector:
    """Townsin's ΔC_F of a hull over a smooth one: 0.044 ((k/L)^(1/3) - 10 Re^(-1/3)) + 0.000125, at least 0, [N].

    Townsin & Dey, The correlation of roughness drag with surface characteristics (RINA 1990), as in ITTC procedure
    7.5-02-03-01.4 (1978 performance prediction method, 2017), eq. 25. At low speed a hull is smooth: no increase.
    """
    return np.asarray(np.maximum(0.044 * (np.cbrt(roughness_m / length_m) - 10 / np.cbrt(reynolds)) + 0.000125, 0))


def hull_change(growth: Growth, since_dry_dock_s: Vector, length_m: Vector, reynolds: Vector) -> Vector:
    """ΔC_F of the hull relative to the hull out of dock, whose roughness is in the correlation allowance, [N]."""
    grown = friction_increase(growth.hull_m(since_dry_dock_s), length_m, reynolds)
    return grown - friction_increase(CLEAN_HULL_M, length_m, reynolds)


def propeller_change(growth: Growth, propeller: Propeller, since_dry_dock_s: Vector) -> tuple[Vector, Vector]:
    """ΔK_T and ΔK_Q of blades relative to new ones, each [N]: less thrust, more torque.

    ΔK_T = -0.3 ΔC_D (P/D) (c Z/D) and ΔK_Q = 0.25 ΔC_D (c Z/D), with the drag of a rough section
    C_D = 2 (1 + 2 t/c) (1.89 + 1.62 log10(c/k))^(-2.5) at 0.75 of the radius and t = (0.0185 - 0.00125 Z) D: ITTC
    7.5-02-03-01.4, and Holtrop & Mennen 1982, section 5, for machined blades.

    Using the equivalent sand roughness of fouling for k follows Seo, Atlar & Goo (A study on the hydrodynamic
    effect of biofouling on marine propeller, J. Korean Society of Marine Environment & Safety 22, 2016). They computed
    a loss of efficiency of up to 15 % at k = 1 mm, J = 0.5 for a propeller of 7 m, which a test reproduces within 3
    points.
    """
    rough = _section_drag(propeller, growth.blade_m(propeller, since_dry_dock_s))
    drag = rough - _section_drag(propeller, np.asarray(propeller.roughness_m))
    solidity = open_water.chord_m(propeller) * propeller.blades / propeller.diameter_m
    return -0.3 * drag * propeller.pitch_ratio * solidity, 0.25 * drag * solidity


def wake_fraction(clean: Vector, thrust_deduction: Vector, viscous_increase: Vector) -> Vector:
    """Wake fraction behind a fouled hull, [N]: its viscous part grows as the viscous resistance does.

    w + (w - t - 0.04) · increase: the ITTC's scaling of a wake with friction (7.5-02-03-01.4, 1978), there from
    model to ship, here from the clean to the fouled hull, which is our extension; where w < t + 0.04 there is no
    viscous part to grow. The thrust deduction is unchanged. Farkas, Song, Degiuli, Martić & Demirel computed that
    fouling thickens the wake, which recovers a little of the loss (Impact of biofilm on the ship propulsion
    characteristics and the speed reduction, Ocean Engineering 199, 2020); nothing of theirs enters the formula, and the
    results were not compared.

    Args:
        clean: [N] wake fraction of the clean hull. thrust_deduction: [N].
        viscous_increase: [N] ΔC_F over the coefficient of the clean hull's viscous resistance.
    """
    return np.asarray(clean + np.maximum(clean - thrust_deduction - 0.04, 0) * viscous_increase)


def _section_drag(propeller: Propeller, roughness_m: Vector) -> Vector:
    chord = open_water.chord_m(propeller)
    thickness = (0.0185 - 0.00125 * propeller.blades) * propeller.diameter_m
    return np.asarray(2 * (1 + 2 * thickness / chord) * (1.89 + 1.62 * np.log10(chord / roughness_m)) ** -2.5)
