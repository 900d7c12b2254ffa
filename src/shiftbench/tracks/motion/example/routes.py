"""Where vehicles begin, which lanes they take, and the paths that follow from it.

At each junction a driver turns by chance: nobody can know which way, so futures there have several modes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.conditions import drawn
from shiftbench.tracks.motion.example.habits import Habits
from shiftbench.tracks.motion.example.town import LEFT, RIGHT, STRAIGHT, Floats, Lane, Town, along, lengths

Numbers = npt.NDArray[np.intp]

MOST_LANES = 12  # of a route
MOST_CROSSINGS = 8  # of a path
SPACING = 1.5  # metres between the points of a path
POINTS = 220
SLOT = 14.0  # metres between two vehicles at the beginning, at least
BEHIND = 12.0  # metres of a path behind the place where its vehicle begins
TOGETHER = 12.0  # metres that lanes with a common beginning share
FAR = 1e6


@dataclass(frozen=True, eq=False)
class Routes:
    """The ways of V vehicles.

    Attributes:
        lanes: [V, 12], the lanes in their order, -1 after the last.
        starts: float64 [V, 13], where on the path each lane begins, in metres; infinite after the last one's end.
        path: float64 [V, 220, 3], x, y and direction every 1.5 m.
        end: float64 [V], where the path ends.
        at: float64 [V], where on its path each vehicle begins.
    """

    lanes: Numbers
    starts: Floats
    path: Floats
    end: Floats
    at: Floats


def routes(town: Town, habits: Habits, number: int, rng: np.random.Generator) -> Routes:
    """The ways of `number` vehicles, or as many as find a place; most of them begin near one point of the town."""
    first, at = _places(town, number, rng)
    luck = rng.random((len(first), MOST_LANES)).tolist()
    lanes = np.full((len(first), MOST_LANES), -1)
    starts = np.full((len(first), MOST_LANES + 1), np.inf)
    points, end = np.empty((len(first), POINTS, 2)), np.empty(len(first))
    behind = np.minimum(at, BEHIND)
    for row, (lane, zero) in enumerate(zip(first.tolist(), (at - behind).tolist(), strict=True)):
        taken = _walk(town.lanes, lane, habits, luck[row])
        lines = [town.lanes[each].line for each in taken]
        walked = [lengths(line) for line in lines]
        begins = np.cumsum([0.0, *(each[-1] for each in walked)])
        whole = np.concatenate([begin + way for begin, way in zip(begins, walked, strict=False)])
        lanes[row, : len(taken)], starts[row, : len(taken)] = taken, begins[:-1] - zero
        points[row] = along(np.concatenate(lines), whole, zero + SPACING * np.arange(POINTS))
        end[row] = begins[-1] - zero
    return Routes(lanes, starts, _directed(points), end, behind)


def _places(town: Town, number: int, rng: np.random.Generator) -> tuple[Numbers, Floats]:
    """Lanes [V] and distances along them [V]."""
    ends = np.array([[lane.line[0], lane.line[-1]] for lane in town.lanes[: town.street_lanes]])
    length = np.hypot(*(ends[:, 1] - ends[:, 0]).T)  # a little short where the lane is bent
    slots = np.maximum(0, (length - 10.0) // SLOT).astype(np.intp)
    lane = np.repeat(np.arange(len(ends)), slots)
    at = 6.0 + SLOT * np.concatenate([np.arange(count) for count in slots.tolist()])
    share = (at / length[lane])[:, None]
    point = ends[lane, 0] * (1 - share) + ends[lane, 1] * share
    focus = point[int(rng.random() * len(point))] * 0.6
    near = np.exp(-np.hypot(*(point - focus).T) / 45.0) + 1e-3
    chosen = np.argsort(-np.log1p(-rng.random(len(point))) / near, kind="stable")[:number]
    return lane[chosen], at[chosen]


def _walk(lanes: list[Lane], lane: int, habits: Habits, luck: list[float]) -> list[int]:
    """The lanes from one on, until the town ends or a lane would be taken twice."""
    turns = dict(zip((LEFT, STRAIGHT, RIGHT), habits.turns, strict=True))
    found = [lane]
    for uniform in luck[1:]:
        following = [each for each in lanes[found[-1]].after if each not in found]
        if not following:
            break
        found.append(drawn({each: turns[lanes[each].side] for each in following}, uniform))
    return found


def _directed(points: Floats) -> Floats:
    """Points [V, S, 2], their corners rounded a little, with the direction of the way as a third column."""
    smooth = points.copy()
    for _ in range(2):
        smooth[:, 1:-1] = (smooth[:, :-2] + 2 * smooth[:, 1:-1] + smooth[:, 2:]) / 4
    step = np.empty_like(smooth)
    step[:, 1:-1] = smooth[:, 2:] - smooth[:, :-2]
    step[:, 0], step[:, -1] = step[:, 1], step[:, -2]
    moving = np.hypot(step[..., 0], step[..., 1]) > 0.2 * SPACING
    last = np.maximum.accumulate(np.where(moving, np.arange(POINTS), 0), axis=1)  # past the end the way goes nowhere
    angle = np.take_along_axis(np.arctan2(step[..., 1], step[..., 0]), last, axis=1)
    return np.concatenate([smooth, np.unwrap(angle, axis=1)[..., None]], axis=-1)


def allowed_speed(routes: Routes, limits: Floats, *, share: Floats, lateral: Floats, braking: Floats) -> Floats:
    """How fast each driver wants to be along the path, m/s [V, 220]: limits, curves, and braking before both.

    limits: m/s of every lane [L]. Of each driver [V]: share of the limits; lateral acceleration accepted in curves and
    braking before what is slower, in m/s².
    """
    place = (SPACING * np.arange(POINTS) >= routes.starts[:, :-1, None]).sum(axis=1) - 1
    limit = limits[np.take_along_axis(routes.lanes, np.maximum(place, 0), axis=1)]
    bend = np.abs(np.gradient(routes.path[..., 2], SPACING, axis=1))
    squared = np.minimum((share[:, None] * limit) ** 2, lateral[:, None] / np.maximum(bend, 1e-4))
    ramp = 2 * braking[:, None] * SPACING * np.arange(POINTS)
    ahead = np.minimum.accumulate((squared + ramp)[:, ::-1], axis=1)[:, ::-1] - ramp
    return np.asarray(np.sqrt(np.maximum(ahead, 1.0)))


def offsets(lanes: list[Lane], routes: Routes) -> tuple[Floats, Floats]:
    """Where the L lanes begin on the paths, NaN if they are not on them, and how many metres of them are: [V, L] each.

    Lanes that begin with a lane of the path share their first metres with it.
    """
    found = np.full((len(routes.lanes), len(lanes)), np.nan)
    shared = np.full(found.shape, np.inf)
    for vehicle, (taken, starts) in enumerate(zip(routes.lanes.tolist(), routes.starts.tolist(), strict=True)):
        for before, start in zip(taken[:-1], starts[1:-1], strict=True):
            for lane in lanes[before].after if start < np.inf else ():
                found[vehicle, lane], shared[vehicle, lane] = start, TOGETHER
        for lane, start in zip(taken, starts[:-1], strict=True):
            if lane >= 0:
                found[vehicle, lane], shared[vehicle, lane] = start, np.inf
    return found, shared


def crossings(lanes: list[Lane], routes: Routes) -> tuple[Numbers, Floats]:
    """The crosswalks on the paths and where one stops before them, [V, 8] each; -`FAR` where there are no more."""
    which = np.zeros((len(routes.lanes), MOST_CROSSINGS), dtype=np.intp)
    at = np.full(which.shape, -FAR)
    for vehicle, (taken, starts) in enumerate(zip(routes.lanes.tolist(), routes.starts.tolist(), strict=True)):
        found = [
            (number, start + where)
            for lane, start in zip(taken, starts[:-1], strict=True)
            if lane >= 0
            for number, where in lanes[lane].crossings
        ]
        for place, (number, start) in enumerate(found[:MOST_CROSSINGS]):
            which[vehicle, place], at[vehicle, place] = number, start
    return which, at
