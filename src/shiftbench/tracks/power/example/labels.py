"""Labels by the physics: the shaft power in each minute at sea, where there is an operating point."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.power.example.minutes import Minutes
from shiftbench.tracks.power.example.random_streams import Values
from shiftbench.tracks.power.outside import RangeTally
from shiftbench.tracks.power.physics import motion, valid_ranges
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.powering import shaft_power
from shiftbench.tracks.power.physics.ship import Ship
from shiftbench.tracks.power.units import KNOT

MINUTE = 60.0  # s
LEAST_KW = 100.0  # kW; with less there is no operating point

Flags = npt.NDArray[np.bool_]


def power(ship: Ship, minutes: Minutes) -> tuple[Values, Flags]:
    """Shaft power in kW and whether there is an operating point, [N] each; without noise.

    There is none if no thrust is needed (the ship slows down, or the wind alone drives it) or less than 100 kW would be
    enough. The engine's rating is not a limit here.
    """
    found = shaft_power(ship, conditions(minutes))
    return found.power_kw, (found.thrust_N > 0) & (found.power_kw >= LEAST_KW)


def count_outside(tally: RangeTally, ship: Ship, minutes: Minutes, *, power_kw: Values, kept: Flags) -> None:
    """Count the kept minutes outside the ranges of the physics; see `valid_ranges.outside`."""
    flags = valid_ranges.outside(ship, conditions(minutes), power_kw)
    tally.add({name: where[kept] for name, where in flags.items()})


def conditions(minutes: Minutes) -> Conditions:
    """The minutes in the units of the physics, with sea states estimated from waves and wind."""
    wind = minutes.wind_kn * KNOT
    sea = motion.sea_state(minutes.wave_m, wind, minutes.wind_angle_rad)
    return Conditions(
        draft_aft_m=minutes.draft_aft_m,
        draft_fore_m=minutes.draft_fore_m,
        speed_through_water_m_s=minutes.speed_kn * KNOT,
        speed_over_ground_m_s=minutes.over_ground_kn * KNOT,
        acceleration_m_s2=minutes.acceleration * KNOT / (3 * MINUTE),
        wind_speed_m_s=wind,
        wind_angle_rad=minutes.wind_angle_rad,
        wave_height_m=sea.height_m,
        wave_period_s=sea.period_s,
        wave_angle_rad=sea.angle_rad,
        since_dry_dock_s=minutes.since_dry_dock * MINUTE,
    )
