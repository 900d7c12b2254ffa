"""Streets between junctions: curves, the lanes beside their middle, and what lies along them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.habits import Plan

Floats = npt.NDArray[np.float64]

SHOULDER, PARKING = 0.7, 2.5  # metres beside the outermost lane, without and with parked cars
PAVEMENT = 1.6  # metres from the kerb to where people walk
TURN = 0.06  # radians between two points of a lane
LONGEST = 40.0  # metres between two points of a lane
OPEN = -1  # in place of a junction at the end of what the scene shows


@dataclass(frozen=True, eq=False)
class Street:
    """A street between the stop lines of two junctions.

    Attributes:
        ends: the junctions it begins and ends at, `OPEN` for none.
        center: float64 [P, 2], its middle, in metres.
        left: float64 [P, 2], unit vectors to the left of it.
        lanes: for one direction; there are as many for the other.
        main: whether it is a main street.
        line: 0 for a row of the grid, 1 for a column.
    """

    ends: tuple[int, int]
    center: Floats
    left: Floats
    lanes: int
    main: bool
    line: int

    def beside(self, offset: float) -> Floats:
        """The line `offset` metres to the left of its middle: [P, 2]."""
        return self.center + offset * self.left

    @property
    def length(self) -> float:
        """Metres along its middle."""
        return float(np.hypot(*np.diff(self.center, axis=0).T).sum())


def half_width(plan: Plan, main: bool) -> float:
    """Metres from the middle of a street to its kerb."""
    return plan.lanes[0 if main else 1] * plan.width + (PARKING if plan.parking else SHOULDER)


def curve(start: Floats, end: Floats, turns: tuple[float, float]) -> Floats:
    """A cubic from one junction's middle to another's, [25, 2].

    turns: the angles between its direction and the straight line at both ends.
    """
    chord = end - start
    ways = [turned(chord, turn) for turn in turns]
    t = np.linspace(0.0, 1.0, 25)[:, None]
    away, back = t * (1 - t) ** 2, -(t**2) * (1 - t)
    return np.asarray(start + (3 * t**2 - 2 * t**3) * chord + away * ways[0] + back * ways[1])


def turned(vector: Floats, angle: float) -> Floats:
    """A vector [2] turned to the left."""
    cos, sin = np.cos(angle), np.sin(angle)
    return np.array([cos * vector[0] - sin * vector[1], sin * vector[0] + cos * vector[1]])


def between(line: Floats, radii: tuple[float, float]) -> tuple[Floats, Floats]:
    """A curve without its first and last metres, with as many points as it needs, and its left-hand side.

    Both are [P, 2]; directions are those of the curve, so that lanes meet what follows them without a bend.
    """
    steps = np.diff(line, axis=0)
    sides = np.hypot(steps[:, 0], steps[:, 1])
    walked = np.concatenate([[0.0], np.cumsum(sides)])
    angles = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
    length = walked[-1] - sum(radii)
    points = 1 + max(int(np.ceil(np.ptp(angles) / TURN)), int(np.ceil(length / LONGEST)))
    at = np.linspace(radii[0], walked[-1] - radii[1], points)
    center = np.stack([np.interp(at, walked, line[:, axis]) for axis in (0, 1)], axis=-1)
    angle = np.interp(at, (walked[1:] + walked[:-1]) / 2, angles)
    return center, np.stack([-np.sin(angle), np.cos(angle)], axis=-1)


def parking_places(street: Street, kerb: float) -> Floats:
    """Places to park along both sides, one every 7 m: x, y and the direction of the traffic there, [K, 3]."""
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(street.center, axis=0).T))])
    at = np.arange(6.0, walked[-1] - 6.0, 7.0)
    center, left = (
        np.stack([np.interp(at, walked, values[:, axis]) for axis in (0, 1)], axis=-1)
        for values in (street.center, street.left)
    )
    direction = np.arctan2(-left[:, 0], left[:, 1])
    sides = [
        np.column_stack([center + side * (kerb - 1.2) * left, direction + (np.pi if side > 0 else 0.0)])
        for side in (-1, 1)
    ]
    return np.concatenate(sides)
