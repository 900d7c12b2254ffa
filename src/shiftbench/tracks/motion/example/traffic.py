"""How vehicles move along their paths: they follow, stop, yield and turn.

The intelligent driver model (Treiber, Hennecke & Helbing, Physical Review E 62, 2000) with v the speed, v0 the
desired speed, s the gap and Δv the speed of approach: a·(1 − (v/v0)⁴ − (s*/s)²), s* = s0 + v·T + v·Δv / (2·√(a·b)).
Lights, crosswalks and lanes with priority are obstacles at rest, as long as one can still stop for them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.people import GO, States
from shiftbench.tracks.motion.example.routes import FAR, MOST_LANES, POINTS, SPACING, Routes, crossings, offsets
from shiftbench.tracks.motion.example.town import Flags, Floats, Town
from shiftbench.tracks.motion.schema import HZ

Values = npt.NDArray[Any]

HARD = 3.3  # m/s²: one who would have to brake harder for a light, a crosswalk or somebody's right of way drives on
CALM = 0.8  # the share of it that is comfortable at most: who means to stop can still do so
FIRM = 1.15  # times as hard do others brake at most, so that they stop a little before the line
SUDDEN = 0.95  # the share of it that one who hesitates brakes with
FULL = 7.5  # m/s², the hardest braking of all: for somebody ahead
LINE_M = 0.8  # metres kept to a stop line
SMALL = 0.1


@dataclass(frozen=True, eq=False)
class Drivers:
    """V vehicles and who drives them.

    size: [V, 3], length, width and height in m. Of [V] each: headway in s; standstill in m; acceleration and braking in
    m/s²; accepted gap in s; hard: m/s², what can be braked at most with the grip of the road.
    """

    size: Floats
    headway: Floats
    standstill: Floats
    acceleration: Floats
    braking: Floats
    gap: Floats
    hard: Floats


@dataclass(frozen=True, eq=False)
class Moves:
    """Where on their paths V vehicles are at each step, and how fast: float64 [steps, V] each, in m and m/s."""

    place: Floats
    speed: Floats


class Traffic:
    """The task of a scene's V drivers; arrays are [V] unless stated otherwise.

    Args:
        town: the lanes.
        routes: of the vehicles.
        drivers: who they are.
        allowed: float64 [V, 220], m/s along the path. dared: float64 [steps, V], the share of it dared at a step.
        lights: [steps, groups]. busy: bool [steps, W], whether a crosswalk is in use.
    """

    def __init__(
        self, town: Town, routes: Routes, drivers: Drivers, speeds: tuple[Floats, Floats], moving: tuple[States, Flags]
    ) -> None:
        self.routes, self.driver = routes, drivers
        self.allowed, self.dared = speeds
        self.lights, self.busy = moving
        self.may_go = np.isin(self.lights, GO)
        self.offset, self.shared = offsets(town.lanes, routes)
        self.crossing, self.crossing_at = crossings(town.lanes, routes)
        self.conflicts = town.conflicts
        self.rank, self.signal, self.halts = (
            np.array([getattr(lane, name) for lane in town.lanes]) for name in ("rank", "signal", "halts")
        )
        self.half = drivers.size[:, 0] / 2
        self.soft = 2 * np.sqrt(drivers.acceleration * drivers.braking)
        self.row = np.arange(len(self.half))
        self.others = ~np.eye(len(self.half), dtype=np.bool_)
        self.stopped = np.full(len(self.half), -1)  # the place on the route of the lane for which one has stopped

    def drive(self) -> Moves:
        """Let everybody drive."""
        place, speed = np.empty((2, len(self.lights), len(self.half)))
        ahead = np.maximum(0.0, self.routes.starts[:, 1] - self.routes.at - self.half - 1.0)
        place[0] = self.routes.at  # as fast as allowed, but slow enough to stop where the first lane ends
        speed[0] = np.minimum(self._allowed(place[0]), np.sqrt(2 * 1.5 * np.minimum(ahead, FAR)))
        for step in range(1, len(place)):
            change = self._acceleration(step - 1, place[step - 1], speed[step - 1])
            speed[step] = np.maximum(0.0, speed[step - 1] + change / HZ)
            place[step] = place[step - 1] + (speed[step] + speed[step - 1]) / 2 / HZ
        return Moves(place, speed)

    def _allowed(self, place: Floats) -> Floats:
        """How fast each driver wants to be at places [..., V]."""
        at = np.minimum(np.maximum(place / SPACING, 0.0), POINTS - 1.001)
        below = at.astype(np.intp)
        share = at - below
        return np.asarray(self.allowed[self.row, below] * (1 - share) + self.allowed[self.row, below + 1] * share)

    def _on(self, place: Floats) -> Values:
        """The place on the route of the lane that points [..., V] of the paths lie on."""
        return np.asarray((place[..., None] >= self.routes.starts[:, 1:-1]).sum(axis=-1))

    def _lane(self, place: Values) -> Values:
        return np.asarray(np.where(place < MOST_LANES, self.routes.lanes[self.row, place % MOST_LANES], -1))

    def _acceleration(self, step: int, place: Floats, speed: Floats) -> Floats:
        """The acceleration of every driver at a step, in m/s²."""
        driver = self.driver
        here = place <= self.routes.end  # else out of sight: one is in nobody's way
        on = self._on(np.stack([place - self.half - 1.0, place, place + self.half]))
        lanes = self._lane(on)
        lead, lead_speed = self._leader(place, speed, (on[1], np.where(here, lanes[1], -1)))
        stop = self._stop(step, place + self.half, speed, (on[2], np.where(here, lanes, -1)))
        now, soon = self._allowed(np.stack([place, place + speed / HZ])) * self.dared[step]
        # One sees a curve coming: the speed wanted at the next step is kept to, as far as comfortable braking goes.
        free = np.minimum(1 - (speed / now) ** 4, (soon - speed) * HZ / driver.acceleration)
        slowing = np.maximum(driver.braking, np.where(self.dared[step] < 1, SUDDEN * driver.hard, 0.0))
        free = np.maximum(free, -slowing / driver.acceleration)
        approach = speed * driver.headway + speed * (speed - lead_speed) / self.soft
        wanted = driver.standstill + np.maximum(0.0, approach)
        halt = LINE_M + 0.2 * speed + speed**2 / self.soft
        # One who is too fast brakes for that or for what is ahead, whichever is harder, not for their sum.
        following, waiting = (
            driver.acceleration * np.minimum(free, np.maximum(free, 0.0) - (way / np.maximum(room, SMALL)) ** 2)
            for way, room in ((wanted, lead), (halt, stop))
        )
        # One stops only where `hard` is enough; the model alone would brake harder first and more gently later.
        found = np.minimum(np.maximum(following, -FULL), np.maximum(waiting, -FIRM * driver.hard))
        return np.asarray(np.minimum(found, driver.acceleration))

    def _leader(self, place: Floats, speed: Floats, where: tuple[Values, Values]) -> tuple[Floats, Floats]:
        """The gap in m to the next vehicle on one's path, and its speed; where: its `_on` and its lane, -1 if gone."""
        on, lane = where
        along = place - self.routes.starts[self.row, on]
        ahead = self.offset[:, lane] + along - place[:, None]
        valid = (ahead > 0) & (along < self.shared[:, lane]) & self.others & (lane >= 0)
        gap = np.where(valid, ahead - self.half - self.half[:, None], FAR)
        first = gap.argmin(axis=1)
        return gap[self.row, first], speed[first]

    def _stop(self, step: int, front: Floats, speed: Floats, where: tuple[Values, Values]) -> Floats:
        """The metres to where one has to stop, FAR if nowhere.

        where: the `_on` of the front, and the lanes [3, V] under tail, middle and front, -1 of one that is gone.
        """
        on, under = where
        following = self._lane(on + 1)
        known = (following >= 0) & (under[2] >= 0)
        lane = np.maximum(following, 0)
        line = np.where(known, self.routes.starts[self.row, on + 1] - front, FAR)
        room = speed**2 / (2 * self.driver.hard)
        signal = self.signal[lane]
        red = (signal >= 0) & ~self.may_go[step, np.maximum(signal, 0)]
        self.stopped = np.where((speed < 0.3) & (line < 3.5), on, self.stopped)
        held = red | (self.halts[lane] & (self.stopped != on))
        eta = np.where(known & ~red, np.maximum(line - room, 0.0) / np.maximum(speed, 1.0), FAR)
        taken = np.zeros(len(self.rank) + 1, dtype=np.bool_)  # the last is where nobody is
        taken[under] = True
        taken[lane[known & ~red & (line <= room)]] = True  # can no longer stop
        held |= (self.conflicts[lane] & taken[:-1]).any(axis=1) | self._yields(lane, eta)
        found = np.where(held & known & (line > room), line, FAR)
        return np.minimum(found, self._people(step, front, room))

    def _yields(self, lane: Values, eta: Floats) -> Flags:
        """Whether a vehicle with priority will be in the way before this one has passed.

        eta: seconds until each can no longer stop before the lane ahead.
        """
        mine, other = self.rank[lane][:, None], self.rank[lane]
        first = (other < mine) | ((other == mine) & (eta < eta[:, None]))
        soon = eta < self.driver.gap[:, None]
        return np.asarray((self.conflicts[np.ix_(lane, lane)] & first & soon & self.others).any(axis=1))

    def _people(self, step: int, front: Floats, room: Floats) -> Floats:
        """The metres to the next crosswalk in use at which one can still stop."""
        away = self.crossing_at - front[:, None]
        stops = self.busy[step, self.crossing] & (away > -0.5) & (away > room[:, None])
        return np.asarray(np.where(stops, np.maximum(away, SMALL), FAR).min(axis=1))
