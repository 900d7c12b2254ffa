"""Shaft power of a ship under way, record by record: all resistances, the propeller that overcomes them, the drive."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics import calm_water, fouling, interaction, motion, operating_point, waves, wind
from shiftbench.tracks.power.physics.calm_water import CalmWater
from shiftbench.tracks.power.physics.fouling import HEAVY_SLIME, Growth
from shiftbench.tracks.power.physics.hydrostatics import SHALLOWEST, Loading
from shiftbench.tracks.power.physics.operating_point import Codes, OperatingPoint
from shiftbench.tracks.power.physics.ship import Ship

BLOCK = 16_384  # records at a time: what they need stays in the cache
PROBES = 100  # drafts at which a ship is tried, either side of the design draft
EMERGED, ABOVE_RATING, NO_FORM, NO_POWER = 2, 5, 6, 7
PROBLEMS = {
    **operating_point.PROBLEMS,
    EMERGED: "the propeller is not wholly under water: taken as if it were",
    ABOVE_RATING: "the propeller cannot deliver this thrust within the engine's rating: more power is needed",
    NO_FORM: "the ship cannot float at these drafts, or her form is not known there (see `drafts_m`): no power",
    NO_POWER: "the methods give no finite resistance here: no power",
}

# What a record may hold, in the unit of its name; wide enough for any ship and too tight for most wrong units.
RANGES = {
    "speed_through_water_m_s": (-10.0, 25.0),
    "speed_over_ground_m_s": (-15.0, 30.0),
    "acceleration_m_s2": (-0.2, 0.2),
    "wind_speed_m_s": (0.0, 75.0),
    "wind_angle_rad": (-2 * np.pi, 2 * np.pi),
    "wave_height_m": (0.0, 40.0),
    "wave_period_s": (0.1, 60.0),
    "wave_angle_rad": (-2 * np.pi, 2 * np.pi),
    "since_dry_dock_s": (0.0, 30 * fouling.YEAR_S),
}


@dataclass(frozen=True)
class Water:
    """Sea water of 15 °C unless told otherwise: density in kg/m³, kinematic viscosity in m²/s."""

    density: float = calm_water.DENSITY
    viscosity: float = calm_water.VISCOSITY


@dataclass(frozen=True, eq=False)
class Conditions:
    """What N records hold, arrays [N], in the units of their names.

    wind_speed_m_s: true wind. wind_angle_rad: between the heading and where it comes from, 0 = from ahead.
    wave_height_m: significant. wave_period_s: mean period T_1. wave_angle_rad: like the wind's, 0 = head seas.
    """

    draft_aft_m: Vector
    draft_fore_m: Vector
    speed_through_water_m_s: Vector
    speed_over_ground_m_s: Vector
    acceleration_m_s2: Vector
    wind_speed_m_s: Vector
    wind_angle_rad: Vector
    wave_height_m: Vector
    wave_period_s: Vector
    wave_angle_rad: Vector
    since_dry_dock_s: Vector

    def __len__(self) -> int:
        return len(self.draft_aft_m)


@dataclass(frozen=True, eq=False)
class Powering:
    """Of N records, arrays [N]: power at the shaft, what it is made of, and a code for what is wrong.

    viscous_N: friction with the hull's form factor. fouling_N: what roughness since dry dock adds to it.
    wind_N, waves_N, inertia_N: negative where they push. total_N: the sum, what the propeller's thrust less its
    deduction overcomes.
    advance_ratio, kt, kq, revolutions_per_s, torque_Nm: of the propeller, see `OperatingPoint`; the torque is that
    behind the hull. efficiency: in open water.
    problem: a code of `PROBLEMS`, 0 where there is none; of several the gravest, which is the highest. Power and all
    else are NaN where it is `NO_FORM` or `NO_POWER`, and only there.
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

    def __len__(self) -> int:
        return len(self.power_kw)


def shaft_power(
    ship: Ship, conditions: Conditions, *, water: Water = Water(), growth: Growth = HEAVY_SLIME
) -> Powering:
    """Power at the shaft of N records: P = 2π n Q / (η_R η_S), after the thrust R/(1 - t) at the speed V (1 - w).

    Calm water by Holtrop & Mennen, wind by Fujiwara, waves by STAWAVE-2, fouling by Townsin, Seo and Farkas, inertia of
    the ship and the water that she takes along, the propeller of the Wageningen B-series. A record that the physics
    cannot answer as asked gets a code in `Powering.problem`; `describe` puts it into words.

    Args:
        ship: see `ship.ship` and `ship.read`.
        conditions: of N records.
        water: what the ship floats in.
        growth: how fast hull and propeller foul.

    Raises:
        ArrayError: naming every array that is empty, of another length than the rest, not finite, or out of `RANGES`.
        SettingsError: if the ship's propeller lies outside the B-series.
    """
    given = _checked(conditions)
    n = len(given)
    made: dict[str, Any] = {
        field.name: np.empty(n, np.uint8 if field.name == "problem" else np.float64) for field in fields(Powering)
    }
    for start in range(0, n, BLOCK):
        place = slice(start, min(start + BLOCK, n))
        for name, values in _block(ship, _part(given, place), water, growth).items():
            made[name][place] = values
    return Powering(**made)


def validity(ship: Ship, conditions: Conditions) -> list[str]:
    """Where records leave the ranges that the regressions were made from: range, how many records, which is the first.

    Such powers are extrapolated, not wrong by themselves. Records that get the code `NO_FORM` count as at design draft.

    Raises:
        ArrayError: as `shaft_power` does.
    """
    given = _checked(conditions)
    loading, speed = _loading(ship, given, _formless(ship, given)), np.maximum(given.speed_through_water_m_s, 0)
    of_waves = waves.validity(
        ship.hull, _sea(given), speed, draft_m=loading.draft_m, block_coefficient=loading.block_coefficient
    )
    return [*calm_water.validity(ship, loading, speed), *of_waves]


def describe(powering: Powering) -> list[str]:
    """Each problem that occurs, gravest first: what it is, how many records have it, which is the first."""
    found = []
    for code in sorted(PROBLEMS, reverse=True):
        places = np.flatnonzero(powering.problem == code)
        if len(places):
            power = powering.power_kw[places[0]]
            value = "" if np.isnan(power) else f", {power:,.0f} kW"
            found.append(f"{len(places):,} of {len(powering):,} records (first: {places[0]}{value}): {PROBLEMS[code]}.")
    return found


def _checked(conditions: Conditions) -> Conditions:
    """Raises: ArrayError: with everything that is wrong, at once."""
    values = {field.name: getattr(conditions, field.name) for field in fields(Conditions)}
    problems: list[str] = []
    try:
        arrays = check.vectors(**values)
    except ArrayError as error:
        problems += error.problems
    problems += [text for name, limits in RANGES.items() for text in _out_of_range(name, values[name], *limits)]
    if problems:
        raise ArrayError(*problems)
    return Conditions(*arrays)


def _out_of_range(name: str, values: Any, low: float, high: float) -> list[str]:
    try:
        array = np.asarray(values, dtype=np.float64).ravel()
    except (TypeError, ValueError):  # no numbers, and reported as such
        return []
    if not array.size or not (array.min() < low or array.max() > high):
        return []
    wrong = (array < low) | (array > high)
    first = int(wrong.argmax())
    return [
        f"{name}: expected {low:.4g} to {high:.4g}, found {array[first]:.4g} at index {first} "
        f"({np.count_nonzero(wrong):,} of {len(array):,} records). Is it in the unit that its name tells?"
    ]


def _part(conditions: Conditions, place: slice) -> Conditions:
    return Conditions(*(getattr(conditions, field.name)[place] for field in fields(Conditions)))


def _block(ship: Ship, given: Conditions, water: Water, growth: Growth) -> dict[str, Vector | Codes]:
    """The fields of `Powering` for a block of records."""
    formless = _formless(ship, given)
    loading = _loading(ship, given, formless)
    calm = calm_water.resistance(
        ship,
        loading,
        np.maximum(given.speed_through_water_m_s, 0),
        viscosity=water.viscosity,
        density=water.density,
    )
    made = _resistances(ship, loading, calm, given, water, growth)
    made |= _interaction(ship, loading, calm, made)
    advance_speed = given.speed_through_water_m_s * (1 - made["wake_fraction"])
    undefined = ~np.isfinite(made["thrust_N"] + advance_speed)
    point = operating_point.solve(
        ship.propeller,
        np.where(undefined, 0, made["thrust_N"]),
        np.where(undefined, 0, advance_speed),
        density=water.density,
        viscosity=water.viscosity,
        roughening=fouling.propeller_change(growth, ship.propeller, given.since_dry_dock_s),
    )
    made |= _at_the_shaft(ship, point, made["relative_rotative_efficiency"])
    if (lost := formless | undefined).any():
        made = {name: np.where(lost, np.nan, values) for name, values in made.items()}
    found = {
        EMERGED: given.draft_aft_m < ship.propeller.shaft_height_m + ship.propeller.diameter_m / 2,
        ABOVE_RATING: made["power_kw"] > ship.drive.mcr_kw,
        NO_FORM: formless,
        NO_POWER: undefined,
    }
    return {**made, "problem": np.maximum.reduce([point.problem, *(np.uint8(c) * where for c, where in found.items())])}


def _formless(ship: Ship, given: Conditions) -> Flags:
    """Where a draft, fore or aft, is none that the ship can float at, [N]."""
    low, high = drafts_m(ship)
    shallow = np.minimum(given.draft_aft_m, given.draft_fore_m) < low
    return shallow | (np.maximum(given.draft_aft_m, given.draft_fore_m) > high)


@functools.lru_cache(maxsize=16)
def drafts_m(ship: Ship) -> tuple[float, float]:
    """The shallowest and the deepest draft at which the ship's form is known and her deck is above the water."""
    hull, topsides = ship.hull, ship.topsides
    side = (topsides.lateral_area_m2 - topsides.deck_lateral_area_m2) / topsides.length_overall_m
    front = topsides.frontal_area_m2 / topsides.beam_m
    deepest = min(hull.depth_m, topsides.draft_m + 0.999 * min(side, front))
    lighter = np.linspace(hull.draft_m, SHALLOWEST * hull.draft_m, PROBES)
    deeper = np.linspace(hull.draft_m, max(deepest, hull.draft_m), PROBES)
    low, high = (list(itertools.takewhile(functools.partial(_floats, ship), drafts)) for drafts in (lighter, deeper))
    return float(min(low, default=np.inf)), float(max(high, default=-np.inf))


def _floats(ship: Ship, draft_m: float) -> bool:
    try:
        Loading.of(ship, [draft_m], [draft_m])
    except ArrayError:
        return False
    return True


def _loading(ship: Ship, given: Conditions, formless: Flags) -> Loading:
    """The ship at her drafts; where she has no form there, at those of the design condition."""
    drafts = (np.where(formless, ship.hull.draft_m, draft) for draft in (given.draft_aft_m, given.draft_fore_m))
    return Loading.of(ship, *drafts)


def _sea(given: Conditions) -> motion.Sea:
    return motion.Sea(given.wave_height_m, given.wave_period_s, given.wave_angle_rad)


def _resistances(
    ship: Ship, loading: Loading, calm: CalmWater, given: Conditions, water: Water, growth: Growth
) -> dict[str, Vector]:
    """Every resistance and their sum in N, by its name in `Powering`, each [N]."""
    speed = np.maximum(given.speed_through_water_m_s, 0)
    length = loading.length_waterline_m
    reynolds = np.maximum(speed * length / water.viscosity, 1)
    rougher = fouling.hull_change(growth, given.since_dry_dock_s, length, reynolds)
    parts = {
        "viscous_N": calm.friction_N * calm.form_factor,
        "appendages_N": calm.appendages_N,
        "wave_making_N": calm.wave_N,
        "bulb_N": calm.bulb_N,
        "transom_N": calm.transom_N,
        "correlation_N": calm.correlation_N,
        "fouling_N": 0.5 * water.density * speed**2 * loading.wetted_area_m2 * rougher,
        "wind_N": _wind(ship, loading, given),
        "waves_N": waves.stawave2(
            ship.hull,
            _sea(given),
            speed,
            draft_m=loading.draft_m,
            block_coefficient=loading.block_coefficient,
            density=water.density,
        ),
        "inertia_N": _moving_mass_kg(loading, water) * given.acceleration_m_s2,
    }
    return {**parts, "total_N": np.sum(list(parts.values()), axis=0)}


def _wind(ship: Ship, loading: Loading, given: Conditions) -> Vector:
    """Resistance of the wind in N, [N], without that of still air, which the correlation allowance holds."""
    speed, angle = motion.polar(
        given.wind_speed_m_s * np.cos(given.wind_angle_rad) + given.speed_over_ground_m_s,
        given.wind_speed_m_s * np.sin(given.wind_angle_rad),
    )
    return wind.resistance(
        ship.topsides,
        speed,
        angle,
        draft_m=loading.draft_m,
        speed_over_ground_m_s=given.speed_over_ground_m_s,
    )


def _moving_mass_kg(loading: Loading, water: Water) -> Vector:
    """Mass of the ship and of the water that she takes along when she speeds up, [N].

    The latter by Söding, 2.7 ρ ∇^(5/3)/L² (V. Bertram, Practical Ship Hydrodynamics, 2nd ed., 2012, section 6.4).
    """
    volume = loading.displacement_m3
    return water.density * volume * (1 + 2.7 * np.cbrt(volume) ** 2 / loading.length_waterline_m**2)


def _interaction(ship: Ship, loading: Loading, calm: CalmWater, parts: dict[str, Vector]) -> dict[str, Vector]:
    """Wake, thrust deduction, relative rotative efficiency, and the thrust that they ask for, each [N]."""
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
    """The propeller's operating point behind the hull, and the power that the shaft must bring, each [N]."""
    return {
        "power_kw": point.power_W / (1e3 * rotative * ship.drive.shaft_efficiency),
        "advance_ratio": point.advance_ratio,
        "kt": point.kt,
        "kq": point.kq,
        "revolutions_per_s": point.revolutions_per_s,
        "torque_Nm": point.torque_Nm / rotative,
        "efficiency": point.efficiency,
    }
