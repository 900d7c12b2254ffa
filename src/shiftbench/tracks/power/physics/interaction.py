"""Interaction of hull and propeller, single screw: wake, thrust deduction, relative rotative efficiency.

Holtrop & Mennen 1982 and Holtrop 1984 as in `calm_water`; for tankers and other full ships H. O. Kristensen and
M. Lützen, "Prediction of resistance and propulsion power of ships" (2013), who correct Harvald's diagrams. All are for
a clean hull; for the effect of fouling on the wake see `fouling.wake_fraction`.
"""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.errors import UnknownNameError
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.physics.viscous import FLOOR

VERSIONS = ("1982", "1984", "full")
OF_KIND = {"container": "1984", "tanker": "full"}
"""Kind of ship → its version; "full" is Kristensen & Lützen's for full ships."""


def wake_fraction(ship: Ship, loading: Loading, viscous_coefficient: Vector, *, version: str | None = None) -> Vector:
    """w [N]: the reduction of the inflow speed at the propeller, as a fraction of the ship's speed.

    Args:
        ship: hull and propeller.
        loading: at N drafts.
        viscous_coefficient: C_V [N] of `calm_water.CalmWater`; not used by the version "full".
        version: one of `VERSIONS`; None: that of the ship's kind.

    Raises:
        UnknownNameError: if there is no such version.
    """
    if _version(ship, version) == "full":
        return _wake_full(ship, loading)
    hull, c9, c11 = ship.hull, _c9(ship, loading), _c11(ship, loading)
    length, aft = loading.length_waterline_m, loading.draft_aft_m
    stern, rest = hull.stern_shape, _after_fullness(loading)
    entrance = np.sqrt(hull.beam_m / (length * rest))
    block, prismatic = loading.block_coefficient, loading.prismatic_coefficient
    viscous = c9 * viscous_coefficient * length / aft
    if _version(ship, version) == "1982":
        wake = viscous * (0.0661875 + 1.21756 * c11 * viscous_coefficient / rest) + 0.24558 * entrance
        wake = wake - 0.09726 / (0.95 - prismatic) + 0.11434 / (0.95 - block)
        return wake + stern * (0.75 * viscous_coefficient + 0.002)
    c19 = np.where(
        prismatic < 0.7,
        0.12997 / (0.95 - block) - 0.11056 / (0.95 - prismatic),
        0.18567 / (1.3571 - loading.midship_coefficient) - 0.71276 + 0.38648 * prismatic,
    )
    wake = viscous * (0.050776 + 0.93405 * c11 * viscous_coefficient / rest) + 0.27915 * entrance + c19
    return (1 + 0.015 * stern) * wake


def thrust_deduction(ship: Ship, loading: Loading, *, version: str | None = None) -> Vector:
    """t [N]: the part of the thrust that compensates the propeller's suction at the stern.

    version: one of `VERSIONS`; None: that of the ship's kind.

    Raises:
        UnknownNameError: if there is no such version.
    """
    chosen = _version(ship, version)
    if chosen == "full":
        return _deduction_full(ship, loading)
    hull, diameter = ship.hull, ship.propeller.diameter_m
    width = hull.beam_m / loading.length_waterline_m
    section = hull.beam_m * loading.draft_m
    if chosen == "1982":
        c10 = np.where(width < 1 / 5.2, width, 0.25 - 0.003328402 / (np.maximum(width, 1 / 5.2) - 0.134615385))
        slope = 0.001979 / (width * _after_fullness(loading))
        return slope + 1.0585 * c10 - 0.00524 - 0.1418 * diameter**2 / section + 0.0015 * hull.stern_shape
    afterbody = np.maximum(1 - loading.prismatic_coefficient + 0.0225 * loading.lcb_percent, FLOOR)
    loaded = (np.sqrt(section) / diameter) ** 0.2624
    return 0.25014 * width**0.28956 * loaded / afterbody**0.01762 + 0.0015 * hull.stern_shape


def relative_rotative_efficiency(ship: Ship, loading: Loading) -> Vector:
    """η_R [N]: the propeller's efficiency behind the hull over that in open water (1982; 1984 does not change it)."""
    fullness = loading.prismatic_coefficient - 0.0225 * loading.lcb_percent
    return 0.9922 - 0.05908 * ship.propeller.area_ratio + 0.07424 * fullness


def _version(ship: Ship, version: str | None) -> str:
    chosen = OF_KIND[ship.kind] if version is None else version
    if chosen not in VERSIONS:
        raise UnknownNameError("version of hull-propeller interaction", chosen, VERSIONS)
    return chosen


def _after_fullness(loading: Loading) -> Vector:
    """1 - C_P1 [N], with C_P1 = 1.45 C_P - 0.315 - 0.0225 lcb."""
    return np.maximum(1.315 - 1.45 * loading.prismatic_coefficient + 0.0225 * loading.lcb_percent, FLOOR)


def _c9(ship: Ship, loading: Loading) -> Vector:
    """c9 [N], from c8, a function of wetted area, aft draft and the propeller's diameter."""
    ratio = ship.hull.beam_m / loading.draft_aft_m
    wide = np.maximum(ratio, 5.0)
    area = loading.wetted_area_m2 / (loading.length_waterline_m * ship.propeller.diameter_m)
    c8 = area * np.where(ratio < 5, ratio, (7 * wide - 25) / (wide - 3))
    return np.where(c8 < 28, c8, 32 - 16 / (np.maximum(c8, 28.0) - 24))


def _c11(ship: Ship, loading: Loading) -> Vector:
    """c11 [N]: aft draft over the propeller's diameter, steeper from 2 on."""
    ratio = loading.draft_aft_m / ship.propeller.diameter_m
    return np.where(ratio < 2, ratio, 0.0833333 * ratio * ratio * ratio + 1.33333)


def _wake_full(ship: Ship, loading: Loading) -> Vector:
    """Harvald's w, with normal sections aft, and Kristensen & Lützen's correction for tankers and bulk carriers."""
    width = ship.hull.beam_m / loading.length_waterline_m
    steepness = 585 - 5027 * width + 11700 * width * width
    hull = 0.1 * width + 0.149 + (0.05 * width + 0.449) / (steepness * _fineness(loading) + 1)
    small = 0.00756 / (ship.propeller.diameter_m / loading.length_waterline_m + 0.002) - 0.18
    return 0.7 * (hull + np.minimum(small, 0.1)) - 0.45 + 0.08 * _slenderness(loading)


def _deduction_full(ship: Ship, loading: Loading) -> Vector:
    """Harvald's t, with normal sections aft, and Kristensen & Lützen's correction for tankers and bulk carriers."""
    width = ship.hull.beam_m / loading.length_waterline_m
    steepness = 825 - 8060 * width + 20300 * width * width
    hull = 0.625 * width + 0.08 + (0.165 - 0.25 * width) / (steepness * _fineness(loading) + 1)
    large = 2 * (ship.propeller.diameter_m / loading.length_waterline_m - 0.04)
    return hull + large - 0.26 + 0.04 * _slenderness(loading)


def _fineness(loading: Loading) -> Vector:
    """(0.98 - C_B)³ [N]."""
    fine = 0.98 - loading.block_coefficient
    return fine * fine * fine


def _slenderness(loading: Loading) -> Vector:
    """M = L / ∇^(1/3), [N]."""
    return loading.length_waterline_m / np.cbrt(loading.displacement_m3)
