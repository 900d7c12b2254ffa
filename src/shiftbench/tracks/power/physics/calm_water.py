"""Resistance in calm water by Holtrop & Mennen (1982) and its re-analysis by Holtrop (1984).

J. Holtrop, G. G. J. Mennen, "An approximate power prediction method", International Shipbuilding Progress 29 (1982)
166-170; J. Holtrop, "A statistical re-analysis of resistance and propulsion data", ibid. 31 (1984) 272-276. Names of
coefficients (c1, m1, …) are theirs. The 1984 paper changes the form factor and the wave resistance. Full and slow ships
use the branches of the papers for high prismatic coefficients and small ratios of length to beam; a recalibration of
the method consists of its constants, see `calibration`, and is fitted to towing tests by `recalibration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector, first
from shiftbench.errors import UnknownNameError
from shiftbench.tracks.power.physics import viscous, wave_making
from shiftbench.tracks.power.physics.calibration import VERSIONS, Calibration
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.parts import Hull
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.physics.viscous import FLOOR
from shiftbench.tracks.power.physics.water import DENSITY, GRAVITY, VISCOSITY

RANGES = {
    "container": {
        "Froude number": (0.0, 0.45),
        "prismatic coefficient": (0.55, 0.67),
        "length over beam": (6.0, 9.5),
        "beam over draft": (3.0, 4.0),
    },
    "tanker": {
        "Froude number": (0.0, 0.24),
        "prismatic coefficient": (0.73, 0.85),
        "length over beam": (5.1, 7.1),
        "beam over draft": (2.4, 3.2),
    },
}
"""Kind of ship → the ranges of the models behind the regressions, as textbooks quote them from Holtrop & Mennen (1978).
"""


@dataclass(frozen=True, eq=False)
class CalmWater:
    """Resistance in N and its parts, all arrays [N].

    friction_N: of a plate with the hull's wetted area (ITTC-57); times `form_factor`, 1 + k1, it is that of the hull.
    viscous_coefficient: C_V = (1 + k1) C_F + C_A, on which the wake depends.
    """

    friction_N: Vector
    form_factor: Vector
    appendages_N: Vector
    wave_N: Vector
    bulb_N: Vector
    transom_N: Vector
    correlation_N: Vector
    total_N: Vector
    viscous_coefficient: Vector


def resistance(
    ship: Ship,
    loading: Loading,
    speed_m_s: Any,
    *,
    viscosity: float = VISCOSITY,
    density: float = DENSITY,
    version: str | None = None,
) -> CalmWater:
    """Resistance of a ship at N loadings and speeds.

    Args:
        ship: its hull is used, and the constants of its `resistance`.
        loading: at N drafts.
        speed_m_s: [N] speed through water in m/s, ≥ 0.
        viscosity: kinematic, in m²/s.
        density: in kg/m³.
        version: "1984", or "1982" for form factor and wave resistance of the first paper; None: the ship's own.

    Raises:
        ArrayError: if a speed is negative or not a number, or their number is not that of the loadings.
        UnknownNameError: if the version is not in `VERSIONS`.
    """
    version, by = ship.resistance.version if version is None else version, ship.resistance.calibration
    if version not in VERSIONS:
        raise UnknownNameError("version of the Holtrop-Mennen method", version, VERSIONS)
    speed = _speed(loading, speed_m_s)
    hull = ship.hull
    pressure = 0.5 * density * speed * speed
    plate = viscous.friction_coefficient(speed * loading.length_waterline_m / viscosity)
    form = viscous.form_factor(hull, loading, version=version, constants=by)
    bulb = wave_making.bulb_reduction(hull, loading, constants=by)
    allowance = viscous.correlation_allowance(loading, bulb, constants=by)
    friction = pressure * loading.wetted_area_m2 * plate
    appendages = pressure * plate * (hull.appendage_area_m2 * hull.appendage_factor)
    weight = density * GRAVITY * loading.displacement_m3
    transom_reduction = wave_making.transom_reduction(hull, loading, constants=by)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):  # constants without a finite result: `NO_POWER`
        bare = wave_making.bare(hull, loading, speed, version=version, constants=by)
    wave = weight * bulb * transom_reduction * bare
    bulb_resistance = density * GRAVITY * _bulb_volume(loading, speed, by)
    transom = pressure * _transom_area(hull, loading, speed, by)
    correlation = pressure * loading.wetted_area_m2 * allowance
    return CalmWater(
        friction_N=friction,
        form_factor=form,
        appendages_N=appendages,
        wave_N=wave,
        bulb_N=bulb_resistance,
        transom_N=transom,
        correlation_N=correlation,
        total_N=friction * form + appendages + wave + bulb_resistance + transom + correlation,
        viscous_coefficient=form * plate + allowance,
    )


def quantities(ship: Ship, loading: Loading, speed_m_s: Vector) -> dict[str, Vector]:
    """The quantities of `RANGES`: name → [N]."""
    length, beam = loading.length_waterline_m, ship.hull.beam_m
    return {
        "Froude number": speed_m_s / np.sqrt(GRAVITY * length),
        "prismatic coefficient": loading.prismatic_coefficient,
        "length over beam": length / beam,
        "beam over draft": beam / loading.draft_m,
    }


def validity(ship: Ship, loading: Loading, speed_m_s: Any) -> tuple[str, ...]:
    """One message for each range of `RANGES` with records outside it, with their number and the first of them.

    Args and errors as of `resistance`. Results outside are extrapolated, not wrong by themselves.
    """
    found = quantities(ship, loading, _speed(loading, speed_m_s))
    messages = []
    for name, (low, high) in RANGES[ship.kind].items():
        if (outside := (found[name] < low) | (found[name] > high)).any():
            hint = " Are speeds in m/s?" if name == "Froude number" else ""
            messages.append(
                f"{name}: the Holtrop-Mennen method rests on {ship.kind} ships from {low:g} to {high:g}, "
                f"found {first(found[name], outside)}. There it extrapolates.{hint}"
            )
    return tuple(messages)


def _speed(loading: Loading, speed_m_s: Any) -> Vector:
    advice = "Drop these records: the method does not cover sternway."
    return check.vector("speed_m_s", speed_m_s, length=len(loading.draft_m), nonnegative=True, advice=advice)


def _bulb_volume(loading: Loading, speed: Vector, by: Calibration) -> Vector:
    """Resistance of a bulb near the surface over ρ g, [N] (1982, formula for R_B)."""
    area, fore, centre = loading.bulb_area_m2, loading.draft_fore_m, loading.bulb_centre_m
    root = np.sqrt(area)
    # 3 / P_B² (`bulb_decay`) with P_B = 0.56 √A_BT / (T_F - 1.5 h_B), written without a division by zero if there is no
    # bulb
    depth = fore - 1.5 * centre
    squared = speed * speed / (GRAVITY * np.maximum(fore - centre - 0.25 * root, FLOOR) + 0.15 * speed * speed)
    emergence = np.exp(-by.bulb_decay * depth * depth / np.maximum(0.3136 * area, 1e-9))
    return by.bulb_factor * emergence * squared * np.sqrt(squared) * area * root / (1 + squared)


def _transom_area(hull: Hull, loading: Loading, speed: Vector, by: Calibration) -> Vector:
    """A_T c6 [N] in m²: a dry transom, F_nT ≥ 5, has no resistance of its own (1982, formula for R_TR)."""
    area = loading.transom_area_m2
    width = hull.beam_m * (1 + loading.waterplane_coefficient)
    froude = speed * np.sqrt(width / (2 * GRAVITY * np.maximum(area, 1e-9)))
    return area * np.maximum(by.c6_constant * (1 - by.c6_slope * froude), 0.0)
