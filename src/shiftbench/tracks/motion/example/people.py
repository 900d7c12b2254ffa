"""Traffic lights, and people on pavements and crosswalks: with lights they wait, else drivers yield to them."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.town import Crossing, Flags, Floats, Street, Town, along, lengths
from shiftbench.tracks.motion.schema import HZ, LightState

States = npt.NDArray[np.int8]

BLINKING_S, YELLOW_S, CLEARING_S, READY_S = 3.0, 3.0, 1.6, 1.0
GO = (LightState.GREEN, LightState.BLINKING_GREEN)
CROSSING = 0.4  # of the people cross, where there are crosswalks
PAVEMENT = 1.6  # metres from the kerb to where people walk
APPROACH = 8.0  # metres that people walk towards a crosswalk, and away from it
BEFORE_S = 1.2  # a driver sees that somebody is about to step on the road


def phases(groups: int, steps: int, green_s: float, rng: np.random.Generator) -> States:
    """The states of pairs of groups, [steps, groups]: the second of a pair is green half a period after the first.

    Green, three seconds of blinking green, three of yellow, red, and one second of red and yellow.
    """
    half = green_s + BLINKING_S + YELLOW_S + CLEARING_S
    start = np.repeat(rng.random(groups // 2) * 2 * half, 2) + np.tile([0.0, half], groups // 2)
    time = (np.arange(steps)[:, None] / HZ + start) % (2 * half)
    ends = np.cumsum([green_s, BLINKING_S, YELLOW_S, 2 * half - (half - CLEARING_S) - READY_S])
    order = [LightState.GREEN, LightState.BLINKING_GREEN, LightState.YELLOW, LightState.RED, LightState.RED_YELLOW]
    states: States = np.array(order, np.int8)[np.searchsorted(ends, time, side="right")]
    return states


def walkers(town: Town, number: int, lights: States, rng: np.random.Generator) -> tuple[Floats, Flags]:
    """Where people are, [steps, P, 2], and whether crosswalks are in use, [steps, W]; lights are [steps, groups]."""
    busy = np.zeros((len(lights), max(1, len(town.crossings))), dtype=np.bool_)
    position = np.empty((len(lights), number, 2))
    for walker, luck in enumerate(rng.random((number, 6)).tolist()):
        if town.crossings and luck[0] < CROSSING:
            which = int(luck[1] * len(town.crossings))
            position[:, walker] = _crossing(town.crossings[which], busy[:, which], lights, luck[2:])
        else:
            position[:, walker] = _strolling(town.streets[int(luck[1] * len(town.streets))], len(lights), luck[2:])
    return position, busy


def _strolling(street: Street, steps: int, luck: list[float]) -> Floats:
    """Along the pavement of a street, on either side, either way."""
    line = street.beside(np.sign(luck[0] - 0.5) * (street.half + PAVEMENT))
    walked = lengths(line)
    speed = np.sign(luck[1] - 0.5) * (1.1 + 0.6 * luck[2])
    return along(line, walked, walked[-1] * luck[3] + speed * np.arange(steps) / HZ)


def _crossing(crossing: Crossing, busy: Flags, lights: States, luck: list[float]) -> Floats:
    """Towards a crosswalk from either side, over it, and on; marks when it is in use."""
    half = float(np.hypot(*crossing.across))
    unit = np.sign(luck[0] - 0.5) * crossing.across / half
    speed, kerb = 1.1 + 0.6 * luck[1], half + PAVEMENT
    begin = _departure(crossing, lights, luck[2] * len(lights), 2 * kerb / speed * HZ)
    at = -kerb + speed * (np.arange(len(lights)) - begin) / HZ
    busy |= (at > -half - BEFORE_S * speed) & (at < half)
    return np.asarray(crossing.middle + np.clip(at, -kerb - APPROACH, kerb + APPROACH)[:, None] * unit)


def _departure(crossing: Crossing, lights: States, wish: float, needs: float) -> float:
    """The step at which somebody leaves the kerb: when it suits, or once the cars have red; beyond the end if never."""
    if crossing.signal < 0:
        return wish
    red = lights[:, crossing.signal] == LightState.RED
    begins = np.flatnonzero(red & ~np.roll(red, 1))
    return next(
        (float(begin) for begin in begins if begin >= wish / 2 and red[begin : begin + int(0.8 * needs)].all()),
        2.0 * len(lights),
    )
