"""The ego vehicle's view of a scene: tracks that begin late and end early, with gaps and noise in every number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.pipeline.example import normal
from shiftbench.tracks.motion.example.habits import WEATHER
from shiftbench.tracks.motion.example.routes import SPACING
from shiftbench.tracks.motion.example.situation import WARM, Situation
from shiftbench.tracks.motion.example.town import Flags, Floats
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.schema import HZ, PAST, STEPS

RANGE_M, RANGE_PEOPLE_M = 130.0, 60.0
LATE, EARLY, GAP = 0.12, 0.05, 0.2  # shares of tracks that begin late, end early, have a gap
NOISE = {"position": 0.02, "velocity": 0.05, "acceleration": 0.12, "yaw": 0.008}
LARGEST = 2.5  # standard deviations: a tracker throws out what is further away
EGO_SIZE, PERSON = (4.6, 1.8, 1.5), (0.8, 0.8, 1.8)
DIGITS = 4
WANDERING = 1.0  # m/s² sideways at most, from leaving the middle of the lane and coming back
EDGE, EDGE_M = 2, 4.0  # steps and metres before its path ends a vehicle is gone: motion there is no vehicle's
SPAN = slice(WARM, WARM + STEPS)


@dataclass(frozen=True, eq=False)
class Motion:
    """V vehicles over the 50 steps, as they are.

    values: position, velocity, acceleration (two numbers each) and yaw, float64 [50, V, 7], in the frame of the scene.
    size: [V, 3]. here: bool [50, V], false once a vehicle has left the town.
    """

    values: Floats
    size: Floats
    here: Flags


def motion(scene: Situation) -> Motion:
    """Positions and what follows from them."""
    moves, path = scene.traffic.drive(), scene.routes.path
    place = moves.place
    at = np.clip(np.minimum(place, scene.routes.end) / SPACING, 0, path.shape[1] - 1.001)
    below, row = at.astype(np.intp), np.arange(len(path))
    share = (at - below)[..., None]
    x, y, direction = np.moveaxis(path[row, below] * (1 - share) + path[row, below + 1] * share, -1, 0)
    phase, luck = 6.28 * scene.rng.random(len(path)), scene.rng.random((2, len(path)))
    wander = scene.habits.wander_m * (0.4 + 1.2 * luck[0])
    turn = 2 * np.pi * WEATHER[scene.tags.precipitation].swerve / (50.0 + 40.0 * luck[1])
    turn = np.minimum(turn, np.sqrt(WANDERING / wander) / np.maximum(moves.speed.max(axis=0), 1.0))
    angle = turn * np.minimum(place, scene.routes.end) + phase
    aside, yaw = wander * np.sin(angle), direction + np.arctan(wander * turn * np.cos(angle))
    position = np.stack([x - aside * np.sin(direction), y + aside * np.cos(direction)], axis=-1) + scene.origin
    velocity = np.gradient(position, axis=0) * HZ
    values = np.concatenate([position, velocity, np.gradient(velocity, axis=0) * HZ, yaw[..., None]], axis=-1)
    here = np.roll(place, -EDGE, axis=0) < scene.routes.end - EDGE_M
    return Motion(values[SPAN], scene.traffic.driver.size, here[SPAN])


def ego_of(found: Motion) -> int:
    """The vehicle that stays and has most of the others around it at T = 0."""
    at = found.values[PAST - 1, :, :2]
    near = (np.hypot(*(at[:, None] - at[None]).transpose(2, 0, 1)) < 40.0).sum(axis=1)
    return int(np.argmax(near * found.here.all(axis=0) + found.here.mean(axis=0)))


def tracks_of(scene: Situation, found: Motion, ego: int, ids: npt.NDArray[np.uint64]) -> tuple[Tracks, Tracks, Tracks]:
    """The tracks of the other vehicles and of pedestrians as measured, and of the ego vehicle, which knows itself."""
    own = found.values[:, ego]
    rest = np.delete(np.arange(len(found.size)), ego)
    values = found.values[:, rest]
    speed = np.hypot(values[..., 2], values[..., 3])[..., None]
    calm = np.clip(speed / 0.5, 0.3, 1.0)  # what does not move is known better
    slow = np.clip(0.3 * speed / NOISE["velocity"], 0.0, 1.0)  # noise turns nobody round: agent frames look ahead
    scale = np.repeat([calm, slow, calm, calm], [2, 2, 2, 1], axis=0)[..., 0].transpose(1, 2, 0)
    near = np.hypot(*(values[..., :2] - own[:, None, :2]).transpose(2, 0, 1)) < RANGE_M
    vehicles = _tracks(
        ids[: len(rest)], found.here[:, rest] & near & ~_lost(scene.rng.random((6, len(rest)))),
        values + scale * _noise(scene, len(rest)), found.size[rest],
    )  # fmt: skip
    walked = scene.walkers + scene.origin
    people = np.full((STEPS, walked.shape[1], 7), np.nan)
    people[..., :4] = np.concatenate([walked, np.gradient(walked, axis=0) * HZ], axis=-1)[SPAN]
    near = np.hypot(*(people[..., :2] - own[:, None, :2]).transpose(2, 0, 1)) < RANGE_PEOPLE_M
    pedestrians = _tracks(
        ids[len(rest) :], near & ~_lost(scene.rng.random((6, near.shape[1]))),
        people + _noise(scene, near.shape[1]), np.tile(PERSON, (near.shape[1], 1)),
    )  # fmt: skip
    always = np.ones((STEPS, 1), dtype=np.bool_)
    return vehicles, pedestrians, _tracks(np.zeros(1, np.uint64), always, own[:, None], np.array([EGO_SIZE]))


def _noise(scene: Situation, number: int) -> Floats:
    """Measurement noise: float64 [50, A, 7]."""
    spread = np.repeat([*NOISE.values()], [2, 2, 2, 1])
    return np.asarray(spread * np.clip(normal(scene.rng, STEPS, number, 7), -LARGEST, LARGEST))


def _lost(luck: Floats) -> Flags:
    """Late beginnings, early ends and gaps of tracks: bool [50, A]; luck: uniform numbers [6, A]."""
    step = np.arange(STEPS)[:, None]
    late = (luck[0] < LATE) & (step < PAST * luck[1])
    early = (luck[2] < EARLY) & (step > PAST + PAST * luck[3])
    begin = np.floor(STEPS * luck[5])
    gap = (luck[4] < GAP) & (step >= begin) & (step < begin + 2 + 20 * luck[4])
    return np.asarray(late | early | gap)


def _tracks(ids: npt.NDArray[np.uint64], present: Flags, values: Floats, size: Floats) -> Tracks:
    """Those of A tracks that are ever present, in the order in which they appear; values [50, A, 7], size [A, 3]."""
    found = np.flatnonzero(present.any(axis=0))
    chosen = found[np.argsort(present[:, found].argmax(axis=0), kind="stable")]
    shown, values, size = present[:, chosen], values[:, chosen], size[chosen]

    def seen(numbers: Any, up: Any = None) -> Floats:
        """Rounded; NaN where absent. `up` is a third coordinate."""
        if up is not None:
            numbers = np.concatenate([numbers, np.broadcast_to(up, shown.shape)[..., None]], axis=-1)
        return np.where(shown if numbers.ndim == 2 else shown[..., None], np.round(numbers, DIGITS) + 0.0, np.nan)

    yaw = (values[..., 6] + np.pi) % (2 * np.pi) - np.pi
    acceleration, sizes = seen(values[..., 4:6], up=0.0 * values[..., 4]), np.broadcast_to(size, (*shown.shape, 3))
    order = np.where(shown, np.cumsum(shown, axis=1) - 1, -1).astype(np.int32)
    return Tracks(
        ids[chosen], shown, order, seen(values[..., :2], up=size[:, 2] / 2), seen(sizes),
        seen(values[..., 2:4], up=0.0), acceleration, seen(yaw),
    )  # fmt: skip
