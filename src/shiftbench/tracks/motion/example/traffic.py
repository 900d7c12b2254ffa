"""How vehicles move along their paths: they follow, stop, yield and turn; many scenes at once.

The intelligent driver model (Treiber, Hennecke & Helbing, Physical Review E 62, 2000) with v the speed, v0 the
desired speed, s the gap and Δv the speed of approach: a·(1 − (v/v0)⁴ − (s*/s)²), s* = s0 + v·T + v·Δv / (2·√(a·b)).
Lights, crosswalks and lanes with priority are obstacles at rest, as long as one can still stop for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from shiftbench.tracks.motion.example.course import FAR, Course, Drivers, Flags, Values
from shiftbench.tracks.motion.example.lights import GO
from shiftbench.tracks.motion.example.routes import MOST_LANES, POINTS, SPACING
from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.schema import HZ

HARD = 4.5  # m/s²: one who would have to brake harder drives on
SUDDEN = 0.7  # the share of it that one who hesitates brakes with
FULL = 7.5  # m/s², the hardest braking of all
LINE_M = 0.8  # metres kept to a stop line
SMALL = 0.1


@dataclass(frozen=True, eq=False)
class Moves:
    """Where on their paths V vehicles are at each step, and how fast: float64 [steps, V] each, in m and m/s."""

    place: Floats
    speed: Floats


def drive(courses: Sequence[Course]) -> list[Moves]:
    """Let all scenes run side by side, each on its own; what one does has no influence on another."""
    world = _World(courses)
    steps = len(courses[0].lights)
    place, speed = np.empty((2, steps, *world.at.shape))
    place[0], speed[0] = world.at, world.first_speed()
    for step in range(1, steps):
        change = world.acceleration(step - 1, place[step - 1], speed[step - 1])
        speed[step] = np.maximum(0.0, speed[step - 1] + change / HZ)
        place[step] = place[step - 1] + (speed[step] + speed[step - 1]) / 2 / HZ
    return [
        Moves(place[:, number, : len(each.at)].copy(), speed[:, number, : len(each.at)].copy())
        for number, each in enumerate(courses)
    ]


def _stacked(arrays: Sequence[Values], fill: Any) -> Values:
    """Arrays of different sizes as one [B, …], filled up."""
    shape = tuple(max(sizes) for sizes in zip(*(array.shape for array in arrays), strict=True))
    found = np.full((len(arrays), *shape), fill, dtype=arrays[0].dtype)
    for place, array in enumerate(arrays):
        found[place][tuple(slice(size) for size in array.shape)] = array
    return found


FILLS = {
    "lanes": -1, "starts": np.inf, "end": -FAR, "at": 0.0, "allowed": 1.0, "dared": 1.0, "offset": np.nan, "signal": -1,
}  # fmt: skip
"""What stands for a vehicle or lane that a scene does not have; 0 in all other arrays of a `Course`."""


class _World:
    """B scenes of at most V vehicles and L lanes; arrays are [B, V] unless said otherwise."""

    def __init__(self, scenes: Sequence[Course]) -> None:
        made = {
            each.name: _stacked([getattr(scene, each.name) for scene in scenes], FILLS.get(each.name, 0))
            for each in fields(Course)
            if each.name != "drivers"
        }
        self.lanes, self.starts, self.end, self.at = (made[name] for name in ("lanes", "starts", "end", "at"))
        self.allowed, self.dared = made["allowed"], made["dared"]
        self.offset, self.shared = made["offset"], made["shared"]
        self.conflicts, self.rank, self.signal, self.halts = (
            made[name] for name in ("conflicts", "rank", "signal", "halts")
        )
        self.crossing, self.crossing_at = made["crossing"], made["crossing_at"]
        self.may_go, self.busy = np.isin(made["lights"], GO), made["busy"]
        self.driver = {
            each.name: _stacked([getattr(scene.drivers, each.name) for scene in scenes], 1.0)
            for each in fields(Drivers)
        }
        self.half = self.driver["length"] / 2
        self.soft = 2 * np.sqrt(self.driver["acceleration"] * self.driver["braking"])
        self.scene = np.arange(len(scenes))[:, None]
        self.row = np.arange(self.at.shape[1])[None]
        self.stopped = np.full(self.at.shape, -1)  # the place on the route of the lane for which one has stopped
        self.others = ~np.eye(self.at.shape[1], dtype=np.bool_)

    def first_speed(self) -> Floats:
        """As fast as allowed, but slow enough to stop where the first lane ends."""
        ahead = np.maximum(0.0, self.starts[..., 1] - self.at - self.half - 1.0)
        return np.asarray(np.minimum(self._allowed(self.at), np.sqrt(2 * 1.5 * np.minimum(ahead, FAR))))

    def _allowed(self, place: Floats) -> Floats:
        at = np.clip(place / SPACING, 0, POINTS - 1.001)
        below = at.astype(np.intp)
        share = at - below
        found = self.allowed[self.scene, self.row, below] * (1 - share)
        return np.asarray(found + self.allowed[self.scene, self.row, below + 1] * share)

    def _on(self, place: Floats) -> Values:
        """The place on the route of the lane that a point of the path lies on."""
        return np.asarray(np.clip((place[..., None] >= self.starts[..., :-1]).sum(axis=-1) - 1, 0, MOST_LANES - 1))

    def _lane(self, place: Values) -> Values:
        return np.asarray(np.where(place < MOST_LANES, self.lanes[self.scene, self.row, place % MOST_LANES], -1))

    def acceleration(self, step: int, place: Floats, speed: Floats) -> Floats:
        """What every driver does at a step, in m/s²."""
        driver = self.driver
        gone = place > self.end  # out of sight: one is in nobody's way
        lead, lead_speed = self._leader(place, speed, gone)
        stop = self._stop(step, place, speed, ~gone)
        dared = self.dared[:, step]
        free = 1 - (speed / (self._allowed(place) * dared)) ** 4
        slowing = np.maximum(driver["braking"], np.where(dared < 1, SUDDEN * driver["hard"], 0.0))
        free = np.maximum(free, -slowing / driver["acceleration"])
        wanted = driver["standstill"] + np.maximum(
            0.0, speed * driver["headway"] + speed * (speed - lead_speed) / self.soft
        )
        halt = LINE_M + 0.2 * speed + speed**2 / self.soft
        pressure = np.maximum(wanted / np.maximum(lead, SMALL), halt / np.maximum(stop, SMALL)) ** 2
        found = driver["acceleration"] * (free - pressure)
        return np.asarray(np.clip(found, -FULL, driver["acceleration"]))

    def _leader(self, place: Floats, speed: Floats, gone: Flags) -> tuple[Floats, Floats]:
        """The gap in m to the next vehicle on one's path, and its speed."""
        on = self._on(place)
        lane = self._lane(on)
        along = place - self.starts[self.scene, self.row, on]
        offset = self._of_others(self.offset, lane)
        ahead = offset + along[:, None, :] - place[:, :, None]
        near = along[:, None, :] < self._of_others(self.shared, lane)
        valid = (ahead > 0) & near & self.others & (lane >= 0)[:, None, :] & ~gone[:, None, :]
        gap = np.where(valid, ahead - self.half[:, None, :] - self.half[:, :, None], FAR)
        first = gap.argmin(axis=2)
        return gap.min(axis=2), np.take_along_axis(speed, first, axis=1)

    def _of_others(self, values: Floats, lane: Values) -> Floats:
        """values [B, V, L] at the lanes of the others: [B, V, V]."""
        lanes = values.shape[2]
        first = (lanes * np.arange(lane.size)).reshape(*lane.shape, 1)  # of each vehicle's row, all rows in one
        return np.asarray(values.ravel().take(first + np.maximum(lane, 0)[:, None, :]))

    def _stop(self, step: int, place: Floats, speed: Floats, here: Flags) -> Floats:
        """The metres to where one has to stop, FAR if nowhere."""
        front = place + self.half
        on = self._on(front)
        following = self._lane(on + 1)
        known = (following >= 0) & here
        lane = np.maximum(following, 0)
        line = np.where(known, self.starts[self.scene, self.row, on + 1] - front, FAR)
        room = speed**2 / (2 * self.driver["hard"])
        signal = self.signal[self.scene, lane]
        red = (signal >= 0) & ~self.may_go[self.scene, step, np.maximum(signal, 0)]
        self.stopped = np.where((speed < 0.3) & (line < 3.5), on, self.stopped)
        held = red | (self.halts[self.scene, lane] & (self.stopped != on))
        eta = np.where(known & ~red, np.maximum(line, 0.0) / np.maximum(speed, 1.0), FAR)
        committed = known & ~red & (line <= room)
        held |= self._blocked(lane, self._taken(place, here, lane, committed)) | self._yields(lane, eta)
        found = np.where(held & known & (line > room), line, FAR)
        return np.minimum(found, self._people(step, front, room))

    def _taken(self, place: Floats, here: Flags, ahead: Values, committed: Flags) -> Flags:
        """Which lanes [B, L] hold a vehicle's front, middle or tail, or are ahead of one that can no longer stop."""
        taken = np.zeros((len(ahead), self.rank.shape[1]), dtype=np.bool_)
        scene = np.broadcast_to(self.scene, ahead.shape)
        for point in (place - self.half - 1.0, place, place + self.half):
            lane = self._lane(self._on(point))
            taken[scene[here], np.maximum(lane[here], 0)] = True
        taken[scene[committed], ahead[committed]] = True
        return taken

    def _blocked(self, lane: Values, taken: Flags) -> Flags:
        """Whether somebody is in the way of the lane ahead."""
        return np.asarray((self.conflicts[self.scene, lane] & taken[:, None, :]).any(axis=2))

    def _yields(self, lane: Values, eta: Floats) -> Flags:
        """Whether somebody with priority will be in the way before one is through; eta: seconds to the lane ahead."""
        mine, other = self.rank[self.scene, lane][:, :, None], self.rank[self.scene, lane][:, None, :]
        sooner = eta[:, None, :] < eta[:, :, None]
        first = (other < mine) | ((other == mine) & sooner)
        soon = eta[:, None, :] < self.driver["gap"][:, :, None]
        lanes = self.conflicts.shape[1]
        first_of = (self.scene * lanes + lane)[..., None] * lanes
        meets = self.conflicts.ravel().take(first_of + lane[:, None, :])
        return np.asarray((meets & first & soon & self.others).any(axis=2))

    def _people(self, step: int, front: Floats, room: Floats) -> Floats:
        """The metres to the next crosswalk in use at which one can still stop."""
        away = self.crossing_at - front[..., None]
        busy = self.busy[self.scene[..., None], step, self.crossing]
        return np.asarray(
            np.where(busy & (away > -0.5) & (away > room[..., None]), np.maximum(away, SMALL), FAR).min(2)
        )
