"""Shaft power of a ship under way for each record: all resistances, the propeller, the drive."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.tracks.power.physics import calm_water, drafts, fouling, interaction, operating_point, resistance
from shiftbench.tracks.power.physics.calm_water import CalmWater
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.fouling import HEAVY_SLIME, Growth
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.operating_point import Codes, OperatingPoint
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.physics.valid_ranges import validity
from shiftbench.tracks.power.physics.water import SEA_WATER, Water

__all__ = [
    "ABOVE_RATING", "EMERGED", "NO_FORM", "NO_POWER", "PROBLEMS", "Powering", "describe", "shaft_power", "validity",
]  # fmt: skip

BLOCK = 16_384  # records at a time, so that temporaries stay in the cache
EMERGED, ABOVE_RATING, NO_FORM, NO_POWER = 2, 5, 6, 7
PROBLEMS = {
    **operating_point.PROBLEMS,
    EMERGED: "the propeller is not fully immersed: treated as if it were",
    ABOVE_RATING: "the propeller cannot deliver this thrust: it needs more power than the engine is rated for",
    NO_FORM: "the ship cannot float at these drafts, or its form is not known there (see `drafts.drafts_m`): no power",
    NO_POWER: "the methods give no finite resistance here: no power",
}


@dataclass(frozen=True, eq=False)
class Powering:
    """Results of N records, arrays [N]: power at the shaft, its components, and a code of problems.

    viscous_N: friction with the hull's form factor. fouling_N: its increase by roughness since dry dock.
    wind_N, waves_N, inertia_N: negative if they push the ship. total_N: the sum, equal to the propeller's thrust less
    the deduction. thrust_N: of the propeller.
    advance_ratio, kt, kq, revolutions_per_s, torque_Nm: of the propeller, see `OperatingPoint`; torque behind the hull.
    efficiency: in open water.
    problem: a code of `PROBLEMS`, 0 for none; of several the most severe, which is the highest. Power and all that
    follows from it are NaN only with `NO_FORM` or `NO_POWER`.
    draft_aft_m, draft_fore_m: as given. floats_m: the range of drafts in which the ship has a form.
    """

    power_kw: Vector
    viscous_N: Vector
    appendages_N: Vector
    wave_making_N: Vector
    bulb_N: Vector
    transom_N: Vector
    correlation_N: Vector
    fouling_N: Vector
    wind_N: Vector
    waves_N: Vector
    inertia_N: Vector
    total_N: Vector
    thrust_N: Vector
    wake_fraction: Vector
    thrust_deduction: Vector
    relative_rotative_efficiency: Vector
    advance_ratio: Vector
    kt: Vector
    kq: Vector
    revolutions_per_s: Vector
    torque_Nm: Vector
    efficiency: Vector
    problem: Codes
    draft_aft_m: Vector
    draft_fore_m: Vector
    floats_m: tuple[float, float]

    def __len__(self) -> int:
        return len(self.power_kw)


def shaft_power(
    ship: Ship, conditions: Conditions, *, water: Water = SEA_WATER, growth: Growth = HEAVY_SLIME
) -> Powering:
    """Power at the shaft of N records: P = 2π n Q / (η_R η_S), after the thrust R/(1 - t) at the speed V (1 - w).

    Calm water by Holtrop & Mennen, wind by Fujiwara, waves by STAWAVE-2, fouling by the ITTC (hull: Townsin), inertia
    of the ship and its added mass, the propeller of the Wageningen B-series. A record outside the scope of the physics
    gets a code in `Powering.problem`; `describe` explains it.

    Args:
        ship: see `ship.ship` and `ship.read`.
        conditions: of N records.
        water: density and viscosity.
        growth: how fast hull and propeller foul.

    Raises:
        ArrayError: naming every array that is empty, of another length than the rest, not finite, or out of its
            range (`conditions.RANGES`).
        SettingsError: if the ship's propeller lies outside the B-series.
    """
    for name, value, kind in (
        ("ship", ship, Ship), ("conditions", conditions, Conditions), ("water", water, Water),
        ("growth", growth, Growth),
    ):  # fmt: skip
        check.kind(name, value, kind)
    given = conditions.checked()
    n = len(given)
    made: dict[str, Any] = {
        field.name: np.empty(n, np.uint8 if field.name == "problem" else np.float64)
        for field in fields(Powering)
        if field.name != "floats_m"
    }
    for start in range(0, n, BLOCK):
        place = slice(start, min(start + BLOCK, n))
        for name, values in _block(ship, given[place], water, growth).items():
            made[name][place] = values
    return Powering(**made, floats_m=drafts.drafts_m(ship))


def describe(powering: Powering) -> list[str]:
    """Each problem that occurs, most severe first, with its number of records and the first of them."""
    check.kind("powering", powering, Powering)
    found = []
    for code in sorted(PROBLEMS, reverse=True):
        places = np.flatnonzero(powering.problem == code)
        if len(places):
            power = powering.power_kw[places[0]]
            value = _drafts(powering, places[0]) if code == NO_FORM else "" if np.isnan(power) else f", {power:,.0f} kW"
            found.append(f"{len(places):,} of {len(powering):,} records (first: {places[0]}{value}): {PROBLEMS[code]}.")
    return found


def _drafts(powering: Powering, place: int) -> str:
    """The drafts of a record, and the range in which the ship has a form."""
    aft, fore, (low, high) = powering.draft_aft_m[place], powering.draft_fore_m[place], powering.floats_m
    return f", drafts of {aft:.3g} m aft and {fore:.3g} m fore, from {low:.3g} to {high:.3g} m are possible"


def _block(ship: Ship, given: Conditions, water: Water, growth: Growth) -> dict[str, Vector | Codes]:
    """The fields of `Powering` for a block of records."""
    loading, formless = drafts.loading(ship, given.draft_aft_m, given.draft_fore_m)
    calm = calm_water.resistance(
        ship, loading, np.maximum(given.speed_through_water_m_s, 0), viscosity=water.viscosity, density=water.density
    )
    made = resistance.parts(ship, loading, calm, given, water=water, growth=growth)
    made |= _interaction(ship, loading, calm, made)
    point, undefined = _operating_point(ship, given, made, water=water, growth=growth)
    made |= _at_the_shaft(ship, point, made["relative_rotative_efficiency"])
    if (lost := formless | undefined).any():
        made = {name: np.where(lost, np.nan, values) for name, values in made.items()}
    found = {
        EMERGED: given.draft_aft_m < ship.propeller.shaft_height_m + ship.propeller.diameter_m / 2,
        ABOVE_RATING: made["power_kw"] > ship.drive.mcr_kw,
        NO_FORM: formless,
        NO_POWER: undefined,
    }
    problem = np.maximum.reduce([point.problem, *(np.uint8(code) * where for code, where in found.items())])
    return {**made, "problem": problem, "draft_aft_m": given.draft_aft_m, "draft_fore_m": given.draft_fore_m}


def _operating_point(
    ship: Ship, given: Conditions, parts: dict[str, Vector], *, water: Water, growth: Growth
) -> tuple[OperatingPoint, Flags]:
    """The propeller's operating point in open water, and flags [N] of records without a finite resistance."""
    advance_speed = given.speed_through_water_m_s * (1 - parts["wake_fraction"])
    undefined = ~np.isfinite(parts["thrust_N"] + advance_speed)
    point = operating_point.solve(
        ship.propeller,
        np.where(undefined, 0, parts["thrust_N"]),
        np.where(undefined, 0, advance_speed),
        density=water.density,
        viscosity=water.viscosity,
        roughening=fouling.propeller_change(growth, ship.propeller, given.since_dry_dock_s),
    )
    return point, undefined


def _interaction(ship: Ship, loading: Loading, calm: CalmWater, parts: dict[str, Vector]) -> dict[str, Vector]:
    """Wake, thrust deduction, relative rotative efficiency, and the thrust that they require, each [N]."""
    deduction = interaction.thrust_deduction(ship, loading)
    viscous = parts["viscous_N"] + parts["correlation_N"]
    increase = np.divide(parts["fouling_N"], viscous, out=np.zeros_like(viscous), where=viscous > 0)
    clean = interaction.wake_fraction(ship, loading, calm.viscous_coefficient)
    return {
        "wake_fraction": fouling.wake_fraction(clean, deduction, increase),
        "thrust_deduction": deduction,
        "relative_rotative_efficiency": interaction.relative_rotative_efficiency(ship, loading),
        "thrust_N": parts["total_N"] / (1 - deduction),
    }


def _at_the_shaft(ship: Ship, point: OperatingPoint, rotative: Vector) -> dict[str, Vector]:
    """The propeller's operating point behind the hull, and the shaft power, each [N]."""
    return {
        "power_kw": point.power_W / (1e3 * rotative * ship.drive.shaft_efficiency),
        "advance_ratio": point.advance_ratio,
        "kt": point.kt,
        "kq": point.kq,
        "revolutions_per_s": point.revolutions_per_s,
        "torque_Nm": point.torque_Nm / rotative,
        "efficiency": point.efficiency,
    }
