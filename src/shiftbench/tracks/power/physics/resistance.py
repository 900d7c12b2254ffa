"""The resistance of a ship under way: calm water, fouling, wind, waves and inertia, and their sum."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.power.physics import fouling, motion, waves, wind
from shiftbench.tracks.power.physics.calm_water import CalmWater
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.fouling import Growth
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.physics.water import Water


def parts(
    ship: Ship, loading: Loading, calm: CalmWater, given: Conditions, *, water: Water, growth: Growth
) -> dict[str, Vector]:
    """Every resistance of N records and their sum, in N, by the names in `powering.Powering`, each [N].

    Args:
        ship: the ship.
        loading: of the ship, [N].
        calm: resistance in calm water, [N].
        given: checked conditions, [N].
        water: density and viscosity.
        growth: of roughness.
    """
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
            given.sea,
            speed,
            draft_m=loading.draft_m,
            block_coefficient=loading.block_coefficient,
            density=water.density,
        ),
        "inertia_N": _moving_mass_kg(loading, water) * given.acceleration_m_s2,
    }
    return {**parts, "total_N": np.sum(list(parts.values()), axis=0)}


def _wind(ship: Ship, loading: Loading, given: Conditions) -> Vector:
    """Resistance of the wind in N, [N], without that of still air, which is part of the correlation allowance."""
    speed, angle = motion.polar(
        given.wind_speed_m_s * np.cos(given.wind_angle_rad) + given.speed_over_ground_m_s,
        given.wind_speed_m_s * np.sin(given.wind_angle_rad),
    )
    return wind.resistance(
        ship.topsides, speed, angle, draft_m=loading.draft_m, speed_over_ground_m_s=given.speed_over_ground_m_s
    )


def _moving_mass_kg(loading: Loading, water: Water) -> Vector:
    """Mass of the ship and its added mass, [N].

    The latter by Söding, 2.7 ρ ∇^(5/3)/L² (V. Bertram, Practical Ship Hydrodynamics, 2nd ed., 2012, section 6.4).
    """
    volume = loading.displacement_m3
    return water.density * volume * (1 + 2.7 * np.cbrt(volume) ** 2 / loading.length_waterline_m**2)
