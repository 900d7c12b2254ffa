"""What the physics makes of minutes at sea: the shaft power that moves the ship, or that nothing can."""

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
LEAST_KW = 100.0  # below it the engine is not said to turn the propeller

Flags = npt.NDArray[np.bool_]


def power(ship: Ship, minutes: Minutes) -> tuple[Values, Flags]:
    """Shaft power in kW and whether there is an operating point, [N] each; without noise.

    There is none where nothing is left to push (the ship slows down, or the wind alone drives her) and where less than
    100 kW would do. The engine's rating is no limit here.
    """
    found = shaft_power(ship, conditions(minutes))
    return found.power_kw, (found.thrust_N > 0) & (found.power_kw >= LEAST_KW)


def count_outside(tally: RangeTally, ship: Ship, minutes: Minutes, *, power_kw: Values, kept: Flags) -> None:
    """Count which of the minutes that are kept leave ranges that the physics rests on; see `validity.outside`."""
    flags = valid_ranges.outside(ship, conditions(minutes), power_kw)
    tally.add({name: where[kept] for name, where in flags.items()})


def conditions(minutes: Minutes) -> Conditions:
    """The same minutes in the units of the physics, with the sea that belongs to their waves and wind."""
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
