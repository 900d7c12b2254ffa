"""One scene before the ego vehicle looks at it: a town, its lights, people on foot, and how everybody drives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.pipeline.example import normal
from shiftbench.tracks.motion.example import people
from shiftbench.tracks.motion.example.conditions import Weather, scene_tags
from shiftbench.tracks.motion.example.habits import WEATHER, Habits, WeatherEffects, habits_in
from shiftbench.tracks.motion.example.routes import Routes, allowed_speed, routes
from shiftbench.tracks.motion.example.town import Floats, Town, town
from shiftbench.tracks.motion.example.traffic import CALM, HARD, Drivers, Traffic
from shiftbench.tracks.motion.schema import HZ, PARTS, STEPS, SceneTags

WARM = 30  # steps before a scene begins, in which queues form
ALL_STEPS = WARM + STEPS + 2  # two more for velocities and accelerations at its end
LONG_VEHICLES = 0.08  # the share of buses and lorries
SPREAD = 3000.0  # metres within which a town's places lie
HESITATIONS = 12  # of a driver in a scene, at most
SHORTEST_S, LONGEST_S = 1.0, 4.0  # of a hesitation
LEAST, GREATEST = 0.15, 0.5  # shares of the allowed speed that are dared meanwhile


@dataclass(frozen=True, eq=False)
class Situation:
    """A scene before its traffic runs.

    rng: draws what is left. origin: float64 [2], where its piece of a town lies. walkers: float64 [steps, P, 2].
    """

    rng: np.random.Generator
    id: str
    tags: SceneTags
    habits: Habits
    town: Town
    origin: Floats
    routes: Routes
    traffic: Traffic
    walkers: Floats


def situation(part: str, number: int, weather: Weather, seed: int) -> Situation:
    """Scene `number` of a part; it depends on nothing but these arguments."""
    rng = np.random.Generator(np.random.PCG64([seed, PARTS.index(part), number]))
    tags, habits, effects = scene_tags(weather, rng), habits_in(*weather), WEATHER[weather[1]]
    origin = np.array(habits.origin) + SPREAD * (rng.random(2) - 0.5)
    made = town(habits, rng)
    lights = people.phases(2 * len(made.junctions), ALL_STEPS, habits.green_s, rng)
    walkers, busy = people.walkers(made, _count(habits.pedestrians, rng), lights, rng)
    ways = routes(made, habits, _count(habits.vehicles, rng) + 1, rng)
    drivers, allowed = _drivers(habits, made, ways, effects.grip, rng)
    speeds = (allowed, dared(effects, ALL_STEPS, len(ways.at), rng))
    traffic = Traffic(made, ways, drivers, speeds, (lights, busy))
    return Situation(rng, f"{part}-{number:06d}", tags, habits, made, origin, ways, traffic, walkers)


def _count(limits: tuple[int, int], rng: np.random.Generator) -> int:
    return limits[0] + int(rng.random() * (limits[1] - limits[0] + 1))


def _drivers(habits: Habits, made: Town, ways: Routes, grip: float, rng: np.random.Generator) -> tuple[Drivers, Floats]:
    """Everybody drives a little differently; [V, 220] are their speeds along the way."""
    own = 1 + np.clip(normal(rng, 5, len(ways.at)), -2, 2) * np.array([0.09, 0.2, 0.15, 0.15, 0.15])[:, None]
    long = rng.random(len(ways.at)) < LONG_VEHICLES
    least, more = np.where(
        long[:, None, None], ((8.0, 2.4, 2.8), (4.0, 0.2, 0.5)), ((4.1, 1.75, 1.4), (0.9, 0.25, 0.4))
    ).swapaxes(0, 1)
    drivers = Drivers(
        size=least + more * rng.random((len(ways.at), 3)),
        headway=habits.headway_s * own[1],
        standstill=habits.standstill_m * own[2],
        acceleration=habits.acceleration * own[3] * np.where(long, 0.7, 1.0),
        braking=np.minimum(habits.braking * own[4], CALM * HARD * grip),
        gap=habits.accepted_gap_s * own[1],
        hard=np.full(len(ways.at), HARD * grip),
    )
    limits = np.array([lane.limit for lane in made.lanes])
    return drivers, allowed_speed(
        ways, limits, share=habits.speed * own[0], lateral=habits.lateral * own[3], braking=0.7 * drivers.braking
    )


def dared(weather: WeatherEffects, steps: int, drivers: int, rng: np.random.Generator) -> Floats:
    """The share of the allowed speed at which each driver drives: float64 [steps, V], 1 except while hesitating.

    In rain and snow a driver slows down now and then on a road that seems slippery. The seconds from one hesitation to
    the next have an exponential distribution with mean `weather.calm_s`; if that is infinite nothing is drawn.
    """
    found = np.ones((steps, drivers))
    if np.isinf(weather.calm_s):
        return found
    luck = rng.random((3, HESITATIONS, drivers))
    lasting = SHORTEST_S + (LONGEST_S - SHORTEST_S) * luck[1]
    share = LEAST + (GREATEST - LEAST) * luck[2]
    end = np.cumsum(lasting - weather.calm_s * np.log1p(-luck[0]), axis=0)
    seconds = np.arange(steps)[:, None] / HZ
    for start, stop, low in zip(end - lasting, end, share, strict=True):
        found = np.where((seconds >= start) & (seconds < stop), low, found)
    return found
