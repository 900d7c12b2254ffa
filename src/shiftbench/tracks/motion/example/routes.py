"""Where vehicles begin, which lanes they take, and the paths that follow from it.

At each junction a driver turns by chance: nobody can know which way, so futures there have several modes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.conditions import drawn
from shiftbench.tracks.motion.example.habits import Habits
from shiftbench.tracks.motion.example.network import LEFT, RIGHT, STRAIGHT, Network
from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.example.town import Town

Numbers = npt.NDArray[np.intp]

MOST_LANES = 12  # of a route
SPACING = 1.5  # metres between the points of a path
POINTS = 220
SLOT = 14.0  # metres between two vehicles at the beginning, at least
BEHIND = 12.0  # metres of a path behind the place where its vehicle begins
BEYOND = np.inf


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
    lanes, at = _places(town, number, rng)
    luck = rng.random((len(lanes), MOST_LANES))
    taken = [_walk(town.network, int(lane), habits, row) for lane, row in zip(lanes, luck.tolist(), strict=True)]
    return _paths(town.network, taken, at)


def _places(town: Town, number: int, rng: np.random.Generator) -> tuple[Numbers, Floats]:
    """Lanes [V] and distances along them [V]."""
    lines = town.network.lines[: town.street_lanes]
    ends = np.array([[line[0], line[-1]] for line in lines])
    length = np.hypot(*(ends[:, 1] - ends[:, 0]).T)  # a little short where the lane is bent
    slots = np.maximum(0, (length - 10.0) // SLOT).astype(np.intp)
    lane = np.repeat(np.arange(len(lines)), slots)
    along = 6.0 + SLOT * (np.arange(slots.sum()) - np.repeat(np.cumsum(slots) - slots, slots))
    share = (along / length[lane])[:, None]
    point = ends[lane, 0] * (1 - share) + ends[lane, 1] * share
    focus = point[int(rng.random() * len(point))] * 0.6
    near = np.exp(-np.hypot(*(point - focus).T) / 45.0) + 1e-3
    chosen = np.argsort(-np.log1p(-rng.random(len(point))) / near, kind="stable")[:number]
    return lane[chosen], along[chosen]


def _walk(network: Network, lane: int, habits: Habits, luck: list[float]) -> list[int]:
    """The lanes from one on, until the town ends or a lane would be taken twice."""
    turns = dict(zip((LEFT, STRAIGHT, RIGHT), habits.turns, strict=True))
    found = [lane]
    for uniform in luck[1:]:
        following = [each for each in network.after[found[-1]] if each not in found]
        if not following:
            break
        found.append(drawn({each: turns[network.side[each]] for each in following}, uniform))
    return found


def _paths(network: Network, taken: list[list[int]], at: Floats) -> Routes:
    """All paths in one go: the routes are laid one behind the other and walked with one interpolation."""
    lines = [network.lines[lane] for route in taken for lane in route]
    counts = np.array([len(line) for line in lines])
    flat = np.concatenate(lines)
    first = np.cumsum(counts) - counts
    sides = np.hypot(*np.diff(flat, axis=0).T)
    number = np.array([len(route) for route in taken])
    head = np.cumsum(number) - number  # of each route among all lanes
    sides[first[1:] - 1] = 0.0  # the next lane begins where one ends,
    sides[first[head[1:]] - 1] = 1.0  # but not the next route
    walked = np.concatenate([[0.0], np.cumsum(sides)])
    zero = walked[first[head]] + np.maximum(0.0, at - BEHIND)
    end = walked[np.append(first[head[1:]], len(flat)) - 1] - zero
    lanes = np.full((len(taken), MOST_LANES), -1)
    starts = np.full((len(taken), MOST_LANES + 1), BEYOND)
    rows = np.repeat(np.arange(len(taken)), number)
    places = np.arange(len(lines)) - head[rows]
    lanes[rows, places] = [lane for route in taken for lane in route]
    starts[rows, places] = walked[first] - zero[rows]
    steps = np.minimum(SPACING * np.arange(POINTS), end[:, None])
    query = steps + zero[:, None]
    points = np.stack([np.interp(query, walked, flat[:, axis]) for axis in (0, 1)], axis=-1)
    return Routes(lanes, starts, _directed(points), end, at - np.maximum(0.0, at - BEHIND))


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


def allowed_speed(routes: Routes, limits: Floats, *, lateral: Floats, braking: float) -> Floats:
    """How fast each vehicle may be along its path, [V, 220]: limits, curves, and braking before both.

    limits: m/s of every lane [L]. lateral: the acceleration in m/s² that each driver accepts in curves [V].
    braking: in m/s², before what is slower.
    """
    place = (SPACING * np.arange(POINTS) >= routes.starts[:, :-1, None]).sum(axis=1) - 1
    limit = limits[np.take_along_axis(routes.lanes, np.maximum(place, 0), axis=1)]
    bend = np.abs(np.gradient(routes.path[..., 2], SPACING, axis=1))
    squared = np.minimum(limit**2, lateral[:, None] / np.maximum(bend, 1e-4))
    ramp = 2 * braking * SPACING * np.arange(POINTS)
    ahead = np.minimum.accumulate((squared + ramp)[:, ::-1], axis=1)[:, ::-1] - ramp
    return np.asarray(np.sqrt(np.maximum(ahead, 1.0)))
