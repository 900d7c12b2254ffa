"""The six towns: how their streets lie, how people drive there, and what weather does to it.

None of it is measured: the numbers are chosen so that towns differ where real ones do.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from shiftbench.tracks.motion.schema import City, Precipitation

LIGHTS, PRIORITY, ALL_STOP = "lights", "priority", "all_stop"


@dataclass(frozen=True)
class Habits:
    """How the streets of a town lie, and how people drive there. Lengths in m, speeds in m/s, angles in radians.

    Attributes:
        origin: where the town lies in its common frame.
        block: from junction to junction; `uneven` is the share by which it varies.
        heading: of the grid, the two ends of a range.
        bend: how far streets turn away from the straight line at their ends (standard deviation).
        lanes, limits: of main and of side streets, lanes for one direction.
        width: of a lane.
        junctions: share of each kind of junction.
        crosswalks: how often an arm of a junction has one.
        green_s: how long a light is green.
        turns: shares of those who turn left, go straight and turn right.
        vehicles, pedestrians: how many there are, least and most.
        speed: desired, as a share of the limit.
        headway_s: time kept to the car in front.
        standstill_m: distance kept to it in a queue.
        acceleration, braking: comfortable, in m/s².
        lateral: acceleration accepted in curves, in m/s².
        accepted_gap_s: what gap in the traffic with priority is taken.
        wander_m: how far cars leave the middle of their lane.
    """

    origin: tuple[float, float]
    block: float
    uneven: float
    heading: tuple[float, float]
    bend: float
    lanes: tuple[int, int]
    limits: tuple[float, float]
    width: float
    junctions: Mapping[str, float]
    crosswalks: float
    green_s: float
    turns: tuple[float, float, float]
    vehicles: tuple[int, int]
    pedestrians: tuple[int, int]
    speed: float
    headway_s: float
    standstill_m: float
    acceleration: float
    braking: float
    lateral: float
    accepted_gap_s: float
    wander_m: float


HABITS: Mapping[City, Habits] = {
    City.MOSCOW: Habits(
        (-4200.0, 6100.0), 175.0, 0.15, (0.1, 1.4), 0.05, (3, 2), (16.7, 13.9), 3.5, {LIGHTS: 0.75, PRIORITY: 0.25},
        0.7, 32.0, (0.14, 0.70, 0.16), (14, 30), (4, 16), 0.95, 1.4, 2.0, 1.4, 2.0, 2.2, 3.8, 0.15,
    ),
    City.SKOLKOVO: Habits(
        (2900.0, -3300.0), 115.0, 0.25, (0.0, 1.57), 0.35, (1, 1), (8.3, 8.3), 3.3, {PRIORITY: 1.0},
        0.8, 15.0, (0.25, 0.45, 0.30), (9, 16), (4, 16), 0.90, 1.6, 2.2, 1.2, 1.7, 1.8, 4.0, 0.15,
    ),
    City.INNOPOLIS: Habits(
        (5200.0, 3100.0), 150.0, 0.05, (0.6, 0.7), 0.02, (2, 1), (13.9, 11.1), 3.6, {LIGHTS: 0.4, PRIORITY: 0.6},
        0.6, 15.0, (0.20, 0.55, 0.25), (10, 18), (2, 8), 1.00, 1.5, 2.2, 1.5, 2.0, 2.0, 4.0, 0.15,
    ),
    City.ANN_ARBOR: Habits(
        (-7100.0, -2500.0), 105.0, 0.08, (-0.05, 0.05), 0.02, (2, 1), (15.6, 11.2), 3.7,
        {ALL_STOP: 0.55, LIGHTS: 0.3, PRIORITY: 0.15},
        0.5, 16.0, (0.25, 0.48, 0.27), (9, 18), (2, 8), 1.00, 1.8, 2.8, 1.8, 1.5, 1.8, 4.5, 0.20,
    ),
    City.MODIIN: Habits(
        (3600.0, 7800.0), 125.0, 0.25, (0.0, 1.57), 0.4, (1, 1), (13.9, 11.1), 3.4, {PRIORITY: 1.0},
        0.6, 15.0, (0.30, 0.40, 0.30), (9, 16), (2, 8), 1.02, 1.4, 2.0, 1.8, 2.4, 2.8, 3.2, 0.25,
    ),
    City.TEL_AVIV: Habits(
        (-2300.0, -5900.0), 72.0, 0.2, (0.2, 0.5), 0.1, (1, 1), (13.9, 11.1), 3.0, {LIGHTS: 0.4, PRIORITY: 0.6},
        0.9, 14.0, (0.30, 0.38, 0.32), (10, 22), (10, 24), 1.05, 0.9, 1.3, 2.6, 3.0, 2.8, 2.2, 0.35,
    ),
}  # fmt: skip


@dataclass(frozen=True)
class WeatherEffects:
    """What weather does to driving.

    Attributes:
        speed, grip: what is left of speed and of every acceleration.
        gap, wander: by what gaps and wandering grow.
        swerve: by what the ways from one swerve to the next get shorter.
        calm_s: seconds, on average, from one hesitation of a driver to the next; see `situation.dared`.
    """

    speed: float = 1.0
    grip: float = 1.0
    gap: float = 1.0
    wander: float = 1.0
    swerve: float = 1.0
    calm_s: float = math.inf


WEATHER: Mapping[Precipitation, WeatherEffects] = {
    Precipitation.UNKNOWN: WeatherEffects(),
    Precipitation.NO: WeatherEffects(),
    Precipitation.RAIN: WeatherEffects(0.98, 0.95, 1.10, 1.2, 2.0, 6.0),
    Precipitation.SLEET: WeatherEffects(0.96, 0.90, 1.15, 1.8, 2.0, 5.5),
    Precipitation.SNOW: WeatherEffects(0.94, 0.85, 1.20, 2.2, 2.0, 5.0),
}


def habits_in(city: City, precipitation: Precipitation) -> Habits:
    """A town, and how people drive there in some weather."""
    usual, weather = HABITS[city], WEATHER[precipitation]
    return replace(
        usual,
        speed=usual.speed * weather.speed,
        headway_s=usual.headway_s * weather.gap,
        standstill_m=usual.standstill_m * weather.gap,
        acceleration=usual.acceleration * weather.grip,
        braking=usual.braking * weather.grip,
        lateral=usual.lateral * weather.grip,
        accepted_gap_s=usual.accepted_gap_s * weather.gap,
        wander_m=usual.wander_m * weather.wander,
    )
