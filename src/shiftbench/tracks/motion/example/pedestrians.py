"""People on pavements and crosswalks. Drivers yield to them where there are no lights; with lights they wait."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.lights import States
from shiftbench.tracks.motion.example.streets import PAVEMENT, Floats, Street
from shiftbench.tracks.motion.example.town import Crossing, Town
from shiftbench.tracks.motion.schema import HZ, LightState

CROSSING = 0.4  # of the people cross, where there are crosswalks
BEFORE_S = 1.2  # a driver sees that somebody is about to step on the road
SWAY_M = 0.12


@dataclass(frozen=True, eq=False)
class Walkers:
    """P people over all steps.

    Attributes:
        position: float64 [steps, P, 2].
        busy: bool [steps, W], whether somebody is on a crosswalk or about to be.
    """

    position: Floats
    busy: npt.NDArray[np.bool_]


def walkers(town: Town, number: int, lights: States, rng: np.random.Generator) -> Walkers:
    """`number` people in a town whose lights are [steps, groups]."""
    steps = len(lights)
    busy = np.zeros((steps, max(1, len(town.crossings))), dtype=np.bool_)
    position = np.empty((steps, number, 2))
    time = np.arange(steps) / HZ
    for walker, luck in enumerate(rng.random((number, 8)).tolist()):
        if town.crossings and luck[0] < CROSSING:
            which = int(luck[1] * len(town.crossings))
            position[:, walker] = _crossing(town.crossings[which], busy[:, which], lights, luck[2:])
        else:
            place = int(luck[1] * len(town.streets))
            position[:, walker] = _strolling(town.streets[place], town.kerb[place], time, luck[2:])
    return Walkers(position, busy)


def _strolling(street: Street, kerb: float, time: Floats, luck: list[float]) -> Floats:
    """Along the pavement of a street, either way."""
    side, way = np.sign(luck[0] - 0.5), np.sign(luck[1] - 0.5)
    line = street.beside(side * (kerb + PAVEMENT + 0.8 * (luck[2] - 0.5)))
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    speed = 1.1 + 0.6 * luck[3]
    start = walked[-1] * luck[4]
    at = np.clip(start + way * speed * time, 0.0, walked[-1])
    sway = SWAY_M * np.sin(0.7 * at + 6 * luck[5])
    left = np.stack([np.interp(at, walked, street.left[:, axis]) for axis in (0, 1)], axis=-1)
    points = np.stack([np.interp(at, walked, line[:, axis]) for axis in (0, 1)], axis=-1)
    return np.asarray(points + sway[:, None] * left)


def _crossing(crossing: Crossing, busy: npt.NDArray[np.bool_], lights: States, luck: list[float]) -> Floats:
    """Along the pavement to a crosswalk, over it, and on; marks when it is in use."""
    steps = len(lights)
    side = np.sign(luck[0] - 0.5)
    half = float(np.hypot(*crossing.across))
    unit = crossing.across / half
    away = PAVEMENT + 0.6 * luck[1]
    near = crossing.middle + side * (half + away) * unit
    far = crossing.middle - side * (half + away) * unit
    speed = 1.1 + 0.6 * luck[2]
    wide = 2 * (half + away)
    begin = _departure(crossing, lights, steps * luck[3], wide / speed * HZ)
    coming, going = (15.0 if part < 0.7 else -0.5 for part in (luck[4], luck[5]))
    corners = np.array(
        [near + 30.0 * np.sign(coming) * crossing.out, near, far, far + 30.0 * np.sign(going) * crossing.out]
    )
    lengths = np.concatenate([[0.0], np.cumsum([30.0, wide, 30.0])])
    if begin is None:  # the light never lets one cross: wait at the kerb
        return np.asarray(near + 0.3 * np.sin(np.arange(steps)[:, None] / 40.0 + 6 * luck[5]) * unit)
    at = 30.0 + speed * (np.arange(steps) - begin) / HZ
    on = (at > 30.0 + away - BEFORE_S * speed - 0.3) & (at < 30.0 + wide - away + 0.3)
    busy |= on
    at = np.clip(at, 0.0, lengths[-1])
    points = np.stack([np.interp(at, lengths, corners[:, axis]) for axis in (0, 1)], axis=-1)
    return np.asarray(points + SWAY_M * np.sin(0.7 * at + 6 * luck[5])[:, None] * crossing.out)


def _departure(crossing: Crossing, lights: States, wish: float, needs: float) -> float | None:
    """The step at which somebody leaves the kerb: when it suits, or once the cars have red for long enough.

    None if that does not happen.
    """
    if crossing.signal < 0:
        return wish
    red = lights[:, crossing.signal] == LightState.RED
    begins = np.flatnonzero(red & ~np.roll(red, 1))
    begins = begins[begins >= wish / 2]
    if not len(begins):
        return None
    until = np.flatnonzero(~red[begins[0] :])
    return float(begins[0]) if not len(until) or until[0] >= 0.8 * needs else None
