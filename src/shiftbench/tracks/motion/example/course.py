"""What one scene gives its drivers to do: their ways, and all that may stop them, as arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.lights import States
from shiftbench.tracks.motion.example.network import Network
from shiftbench.tracks.motion.example.routes import Routes
from shiftbench.tracks.motion.example.streets import Floats

Flags = npt.NDArray[np.bool_]
Values = npt.NDArray[Any]

MOST_CROSSINGS = 8  # of a path
TOGETHER = 12.0  # metres that lanes with a common beginning share
FAR = 1e6


@dataclass(frozen=True, eq=False)
class Drivers:
    """V vehicles and who drives them: [V] each.

    length, width and height in m; headway in s; standstill in m; acceleration and braking in m/s²; accepted gap in s;
    hard: m/s², what can be braked at most with the grip of the road.
    """

    length: Floats
    width: Floats
    height: Floats
    headway: Floats
    standstill: Floats
    acceleration: Floats
    braking: Floats
    gap: Floats
    hard: Floats


@dataclass(frozen=True, eq=False)
class Course:
    """What one scene gives its V drivers to do, on L lanes.

    Attributes:
        drivers: the V drivers.
        starts, lanes, end, at: of their routes.
        allowed: float64 [V, 220], m/s along the path.
        dared: float64 [steps, V], the share of it that a driver dares at a step.
        offset: float64 [V, L], where each lane begins on the path of a vehicle, NaN if it is not on it.
        shared: float64 [V, L], the metres of that lane that are on the path.
        conflicts: bool [L, L]; rank, signal: [L]; halts: bool [L], as in `junction`.
        crossing, crossing_at: [V, 8], crosswalks on the path and where one stops before them; FAR if none.
        lights: [steps, groups]; busy: bool [steps, W].
    """

    drivers: Drivers
    lanes: Values
    starts: Floats
    end: Floats
    at: Floats
    allowed: Floats
    dared: Floats
    offset: Floats
    shared: Floats
    conflicts: Flags
    rank: Values
    signal: Values
    halts: Flags
    crossing: Values
    crossing_at: Floats
    lights: States
    busy: Flags


def offsets(network: Network, routes: Routes) -> tuple[Floats, Floats]:
    """Where lanes begin on the paths, and how much of them is on it: [V, L] each (see `Course`).

    Lanes that begin with a lane of the path share their first metres with it.
    """
    found = np.full((len(routes.lanes), len(network.lines)), np.nan)
    shared = np.full(found.shape, np.inf)
    for vehicle, (lanes, starts) in enumerate(zip(routes.lanes.tolist(), routes.starts.tolist(), strict=True)):
        for before, start in zip(lanes[:-1], starts[1:-1], strict=True):
            for lane in network.after[before] if start < np.inf else ():
                found[vehicle, lane], shared[vehicle, lane] = start, TOGETHER
        for lane, start in zip(lanes, starts[:-1], strict=True):
            if lane >= 0:
                found[vehicle, lane], shared[vehicle, lane] = start, np.inf
    return found, shared


def crossings(network: Network, routes: Routes) -> tuple[Values, Floats]:
    """The crosswalks on the paths and where one stops before them, [V, 8] each."""
    which = np.zeros((len(routes.lanes), MOST_CROSSINGS), dtype=np.intp)
    at = np.full(which.shape, -FAR)
    for vehicle, (lanes, starts) in enumerate(zip(routes.lanes.tolist(), routes.starts.tolist(), strict=True)):
        found = [
            (number, start + along)
            for lane, start in zip(lanes, starts[:-1], strict=True)
            if lane >= 0
            for number, along in network.crossings[lane]
        ]
        for place, (number, start) in enumerate(found[:MOST_CROSSINGS]):
            which[vehicle, place], at[vehicle, place] = number, start
    return which, at
