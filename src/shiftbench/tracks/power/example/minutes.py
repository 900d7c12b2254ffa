"""Minutes at sea: the state of the ship and the weather, without noise, and the columns of the data that follow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.pipeline.example import normal
from shiftbench.tracks.power.example import random_streams
from shiftbench.tracks.power.example.random_streams import Values
from shiftbench.tracks.power.example.ship_scaling import ALIKE, Scaling
from shiftbench.tracks.power.example.voyages import Voyages, voyages
from shiftbench.tracks.power.example.weather import Weather, weather
from shiftbench.tracks.power.physics import motion
from shiftbench.tracks.power.schema import (
    CURRENT_ALONG,
    DRAFT_AFT,
    DRAFT_FORE,
    FIRST_MINUTE,
    SINCE_DRY_DOCK,
    SPEED,
    TIME_ID,
    WAVE_HEIGHT,
    WIND_ACROSS,
    WIND_ALONG,
)

Columns = dict[str, Values]

ACCELERATION, CURRENT_ACROSS = "diff_speed_overground", "rcurrent_ucomp"

SURGE_MIN = 6.0  # minutes between the corners of the small variations of speed
SURGE_KN = 0.25  # their standard deviation in kn at 18 kn in waves of 1.6 m


@dataclass(frozen=True)
class Minutes:
    """State of the ship and weather in N minutes, in the units of the columns; all arrays [N].

    time_id: minutes since the first record. acceleration: kn in 3 minutes, over ground. wind_kn, wind_angle_rad: the
    true wind, and the angle from the bow to the direction it comes from. current_along, current_across: kn, of the
    direction in which the water moves.
    """

    time_id: Values
    draft_aft_m: Values
    draft_fore_m: Values
    speed_kn: Values
    acceleration: Values
    wind_kn: Values
    wind_angle_rad: Values
    current_along: Values
    current_across: Values
    wave_m: Values

    @property
    def over_ground_kn(self) -> Values:
        """The speed over ground: through the water plus the current along."""
        return np.asarray(self.speed_kn + self.current_along)

    @property
    def since_dry_dock(self) -> Values:
        """Minutes since the dry dock."""
        return np.asarray(self.time_id + FIRST_MINUTE)

    def columns(self) -> Columns:
        """The index and the inputs without noise, in their published order; wind is the apparent wind."""
        along, across = motion.apparent_wind(self.wind_kn, self.wind_angle_rad, self.over_ground_kn)
        return {
            TIME_ID: self.time_id,
            DRAFT_AFT: self.draft_aft_m,
            DRAFT_FORE: self.draft_fore_m,
            SPEED: self.speed_kn,
            ACCELERATION: self.acceleration,
            WIND_ALONG: along,
            WIND_ACROSS: across,
            CURRENT_ALONG: self.current_along,
            CURRENT_ACROSS: self.current_across,
            WAVE_HEIGHT: self.wave_m,
            SINCE_DRY_DOCK: self.since_dry_dock,
        }


@dataclass(frozen=True)
class World:
    """The voyages of a seed and their weather; a few arrays of corners, independent of the number of minutes."""

    voyages: Voyages
    weather: Weather
    surge: Values

    def at(self, record: Values) -> Minutes:
        """The minutes at sea of these numbers [N], 0 … `voyages.records` - 1."""
        minute = self.voyages.minute(record)
        along, across = self.weather.at("wind_along", minute), self.weather.at("wind_across", minute)
        speed, current = self.speed_kn(minute), self.weather.at("current_along", minute)
        before = self.speed_kn(minute - 3) + self.weather.at("current_along", minute - 3)
        aft, fore = self.voyages.drafts(record)
        return Minutes(
            time_id=minute,
            draft_aft_m=aft,
            draft_fore_m=fore,
            speed_kn=speed,
            acceleration=speed + current - before,
            wind_kn=np.hypot(along, across),
            wind_angle_rad=np.arctan2(across, along),
            current_along=current,
            current_across=self.weather.at("current_across", minute),
            wave_m=self.weather.at("wave_m", minute),
        )

    def speed_kn(self, minute: Values) -> Values:
        """The speed through the water: as ordered, with variations that grow with speed and waves."""
        ordered = self.voyages.ordered_kn(minute)
        liveliness = ordered / 18 * (0.4 + 0.6 * self.weather.at("wave_m", minute) / 1.6)
        ups = np.interp(minute / SURGE_MIN, np.arange(-1, len(self.surge) - 1), self.surge)
        return np.asarray(ordered + SURGE_KN * liveliness * ups)


def world(seed: int, like: Scaling = ALIKE) -> World:
    """The world of a seed, for a ship of the size ratios `like`."""
    ship_log = like.sized(voyages(seed))
    corners = int((ship_log.start[-1] + ship_log.minutes[-1]) // SURGE_MIN) + 3
    return World(ship_log, weather(seed, ship_log), normal(random_streams.stream(seed, random_streams.SURGE), corners))
