"""One scene before its traffic runs: a town, its lights, people on foot, and drivers with their habits."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.example import normal
from shiftbench.tracks.motion.example import course, hesitation, lights, pedestrians
from shiftbench.tracks.motion.example.conditions import Weather, scene_tags
from shiftbench.tracks.motion.example.course import Course, Drivers
from shiftbench.tracks.motion.example.habits import PLANS, WEATHER, Habits, habits_in
from shiftbench.tracks.motion.example.pedestrians import Walkers
from shiftbench.tracks.motion.example.routes import Routes, allowed_speed, routes
from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.example.town import SPREAD, Town, town
from shiftbench.tracks.motion.example.traffic import HARD
from shiftbench.tracks.motion.schema import PARTS, STEPS, SceneTags

WARM = 30  # steps before a scene begins, in which queues form
AFTER = 2  # steps after it, for velocities and accelerations at its end
ALL_STEPS = WARM + STEPS + AFTER
LONG_VEHICLES = 0.08  # the share of buses and lorries
MORE_PEOPLE = 2  # most of a town is out of sight


@dataclass(frozen=True, eq=False)
class Prepared:
    """A scene before its traffic runs.

    rng: draws what is left. id: of the scene. middle: float64 [2], where its piece of a town lies. parked: float64
    [K, 3], x, y and direction of parked cars. wander: metres, how far each vehicle leaves its lane, [V].
    """

    rng: np.random.Generator
    id: str
    tags: SceneTags
    town: Town
    middle: Floats
    routes: Routes
    course: Course
    walkers: Walkers
    parked: Floats
    wander: Floats


def prepared(part: str, number: int, weather: Weather, seed: int) -> Prepared:
    """Scene `number` of a part; it depends on nothing but these arguments."""
    rng = np.random.Generator(np.random.PCG64([seed, PARTS.index(part), number]))
    tags = scene_tags(weather, rng)
    city, precipitation = weather
    habits = habits_in(city, precipitation)
    place = np.array(PLANS[city].origin) + SPREAD * (rng.random(2) - 0.5)
    made = town(city, rng)
    phases = lights.phases(made.signals, ALL_STEPS, habits.green_s, rng)
    walkers = pedestrians.walkers(made, MORE_PEOPLE * _count(habits.pedestrians, rng), phases, rng)
    ways = routes(made, habits, _count(habits.vehicles, rng) + 1, rng)
    drivers, allowed = _drivers(habits, made, ways, WEATHER[precipitation].grip, rng)
    wander = habits.wander_m * (0.4 + 1.2 * rng.random(len(ways.at)))
    parked = _parked(made, ways, _count(habits.parked, rng), rng)
    share = hesitation.dared(WEATHER[precipitation], ALL_STEPS, len(ways.at), rng)
    asked = _course(made, ways, drivers, (allowed, share), (phases, walkers))
    return Prepared(rng, f"{part}-{number:06d}", tags, made, place, ways, asked, walkers, parked, wander)


def _count(limits: tuple[int, int], rng: np.random.Generator) -> int:
    return limits[0] + int(rng.random() * (limits[1] - limits[0] + 1))


def _drivers(habits: Habits, made: Town, ways: Routes, grip: float, rng: np.random.Generator) -> tuple[Drivers, Floats]:
    """Everybody drives a little differently; [V, 220] are their speeds along the way."""
    own = 1 + np.clip(normal(rng, 5, len(ways.at)), -2, 2) * np.array([0.09, 0.2, 0.15, 0.15, 0.15])[:, None]
    long = rng.random(len(ways.at)) < LONG_VEHICLES
    size = rng.random((3, len(ways.at)))
    drivers = Drivers(
        length=np.where(long, 8.0 + 4.0 * size[0], 4.1 + 0.9 * size[0]),
        width=np.where(long, 2.4 + 0.2 * size[1], 1.75 + 0.25 * size[1]),
        height=np.where(long, 2.8 + 0.5 * size[2], 1.4 + 0.4 * size[2]),
        headway=habits.headway_s * own[1],
        standstill=habits.standstill_m * own[2],
        acceleration=habits.acceleration * own[3] * np.where(long, 0.7, 1.0),
        braking=habits.braking * own[4],
        gap=habits.accepted_gap_s * own[1],
        hard=np.full(len(ways.at), HARD * grip),
    )
    limits = np.array(made.network.limits)
    allowed = habits.speed * own[0][:, None] * _limited(ways, limits, habits, own[3])
    return drivers, allowed


def _limited(ways: Routes, limits: Floats, habits: Habits, own: Floats) -> Floats:
    """Speeds for a driver who keeps to the limits: the share of the limit comes on top of curves as well."""
    return allowed_speed(ways, limits, lateral=habits.lateral / habits.speed**2 * own, braking=0.7 * habits.braking)


def _course(
    made: Town, ways: Routes, drivers: Drivers, speeds: tuple[Floats, Floats], moving: tuple[lights.States, Walkers]
) -> Course:
    network = made.network
    offset, shared = course.offsets(network, ways)
    crossing, crossing_at = course.crossings(network, ways)
    return Course(
        drivers, ways.lanes, ways.starts, ways.end, ways.at, *speeds, offset, shared, made.conflicts,
        np.array(network.rank), np.array(network.signal), np.array(network.halts), crossing, crossing_at,
        moving[0], moving[1].busy,
    )  # fmt: skip


def _parked(made: Town, ways: Routes, number: int, rng: np.random.Generator) -> Floats:
    """Cars at the kerb, most of them where the traffic is."""
    middle = np.median(ways.path[:, 0, :2], axis=0)
    near = np.exp(-np.hypot(*(made.parking[:, :2] - middle).T) / 40.0) + 1e-6
    keys = -np.log1p(-rng.random(len(near))) / near
    chosen = made.parking[np.argsort(keys, kind="stable")[:number]].copy()
    chosen[:, 2] += 0.04 * (rng.random(len(chosen)) - 0.5)
    return np.asarray(chosen)
