"""What the ego vehicle sees of a scene: tracks with gaps and noise.

Cars stand in front of others, tracks begin late and end early, and every number is measured with some error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.example import normal
from shiftbench.tracks.motion.example.habits import WEATHER
from shiftbench.tracks.motion.example.routes import SPACING
from shiftbench.tracks.motion.example.situation import WARM, Prepared
from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.example.traffic import Moves
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.schema import HZ, PAST, STEPS

Flags = npt.NDArray[np.bool_]

RANGE_M, RANGE_PEOPLE_M = 130.0, 60.0
TALL_M = 2.2  # over lower vehicles the sensor on the roof sees most of what is behind
LATE, EARLY, GAP = 0.12, 0.05, 0.08  # shares of tracks that begin late, end early, have a gap
NOISE = {"position": 0.02, "velocity": 0.05, "acceleration": 0.12, "yaw": 0.008}
LARGEST = 2.5  # standard deviations: a tracker throws out what is further away
EGO_SIZE = (4.6, 1.8, 1.5)
PERSON = (0.8, 0.8, 1.8)
DIGITS = 4
EDGE = 2  # steps before its path ends a vehicle is gone: what it does there has no velocity and acceleration
SPAN = slice(WARM, WARM + STEPS)


@dataclass(frozen=True, eq=False)
class Motion:
    """A vehicles over the 50 steps, as they are: position, velocity and acceleration [50, A, 2], yaw [50, A].

    size: [A, 3]. here: bool [50, A], false once a vehicle has left the town.
    """

    position: Floats
    velocity: Floats
    acceleration: Floats
    yaw: Floats
    size: Floats
    here: Flags

    def of(self, which: npt.NDArray[np.intp]) -> Motion:
        """Some of them."""
        return Motion(
            self.position[:, which], self.velocity[:, which], self.acceleration[:, which], self.yaw[:, which],
            self.size[which], self.here[:, which],
        )  # fmt: skip


def motion(scene: Prepared, moves: Moves) -> Motion:
    """Positions and what follows from them, of moving vehicles first, then of parked ones; parked ones are at rest."""
    place = np.minimum(moves.place, scene.routes.end)
    phase = 6.28 * scene.rng.random(len(scene.wander))
    length = (50.0 + 40.0 * scene.rng.random(len(scene.wander))) / WEATHER[scene.tags.precipitation].swerve
    x, y, direction = _along(scene.routes.path, place)
    turn = 2 * np.pi / length
    aside = scene.wander * np.sin(turn * place + phase)
    yaw = direction + np.arctan(scene.wander * turn * np.cos(turn * place + phase))
    position = np.stack([x - aside * np.sin(direction), y + aside * np.cos(direction)], axis=-1)
    velocity = np.gradient(position, axis=0) * HZ
    acceleration = np.gradient(velocity, axis=0) * HZ
    here = np.roll(moves.place, -EDGE, axis=0) < scene.routes.end
    drivers = scene.course.drivers
    size = np.stack([drivers.length, drivers.width, drivers.height], axis=-1)
    moving = Motion(position[SPAN], velocity[SPAN], acceleration[SPAN], yaw[SPAN], size, here[SPAN])
    return _with_parked(moving, scene)


def _along(path: Floats, place: Floats) -> tuple[Floats, ...]:
    """x, y and direction at places [steps, V] on paths [V, S, 3]."""
    at = np.clip(place / SPACING, 0, path.shape[1] - 1.001)
    below = at.astype(np.intp)
    share = (at - below)[..., None]
    row = np.arange(len(path))[None]
    found = path[row, below] * (1 - share) + path[row, below + 1] * share
    return found[..., 0], found[..., 1], found[..., 2]


def _with_parked(moving: Motion, scene: Prepared) -> Motion:
    luck = scene.rng.random((len(scene.parked), 3))
    still = np.zeros((STEPS, len(luck), 2))
    size = np.array([4.1, 1.75, 1.4]) + luck * [0.9, 0.2, 0.4]
    return Motion(
        np.concatenate([moving.position, still + scene.parked[:, :2]], axis=1),
        np.concatenate([moving.velocity, still], axis=1),
        np.concatenate([moving.acceleration, still], axis=1),
        np.concatenate([moving.yaw, still[..., 0] + scene.parked[:, 2]], axis=1),
        np.concatenate([moving.size, size]),
        np.concatenate([moving.here, np.ones((STEPS, len(luck)), dtype=np.bool_)], axis=1),
    )


def ego_of(found: Motion, moving: int) -> int:
    """The one of the first `moving` vehicles that stays and has most of the others around it at T = 0."""
    at = found.position[PAST - 1]
    near = (np.hypot(*(at[:moving, None] - at[None]).transpose(2, 0, 1)) < 40.0).sum(axis=1)
    return int(np.argmax(near * found.here[:, :moving].all(axis=0) + found.here[:, :moving].mean(axis=0)))


def seen(others: Motion, ego: Motion, rng: np.random.Generator) -> Flags:
    """Who is seen at which step: bool [50, A]."""
    away = others.position - ego.position
    distance = np.hypot(away[..., 0], away[..., 1])
    present = others.here & (distance < RANGE_M) & ~_covered(away, distance, others)
    bridged = present.copy()  # a tracker bridges one or two missing steps
    for gap in (1, 2):
        bridged[1:-gap] |= present[: -1 - gap] & present[1 + gap :]
        bridged[gap:-1] |= present[: -1 - gap] & present[1 + gap :]
    return bridged & others.here & ~_lost(rng.random((6, bridged.shape[1])))


def _covered(away: Floats, distance: Floats, others: Motion) -> Flags:
    """Whether something stands between a vehicle and the ego vehicle: bool [50, A]."""
    angle = np.arctan2(away[..., 1], away[..., 0])
    wide = np.where(others.size[:, 2] > TALL_M, 1.2, 0.3) / np.maximum(distance, 1.0)
    apart = np.abs((angle[:, :, None] - angle[:, None, :] + np.pi) % (2 * np.pi) - np.pi)
    between = distance[:, None, :] < distance[:, :, None] - 4.0
    return np.asarray((between & (apart < wide[:, None, :]) & others.here[:, None, :]).any(axis=2))


def _lost(luck: Floats) -> Flags:
    """Late beginnings, early ends and gaps of tracks: bool [50, A]; luck: uniform numbers [6, A]."""
    step = np.arange(STEPS)[:, None]
    late = (luck[0] < LATE) & (step < PAST * luck[1])
    early = (luck[2] < EARLY) & (step > PAST + PAST * luck[3])
    begin = np.floor(STEPS * luck[5])
    gap = (luck[4] < GAP) & (step >= begin) & (step < begin + 2 + 40 * luck[4])
    return np.asarray(late | early | gap)


def vehicle_tracks(others: Motion, present: Flags, ids: npt.NDArray[np.uint64], rng: np.random.Generator) -> Tracks:
    """The tracks of vehicles as measured, in the town's own frame and on level ground."""
    found = present.any(axis=0)
    order = np.flatnonzero(found)[np.argsort(present[:, found].argmax(axis=0), kind="stable")]
    values = others.of(order)
    shown = present[:, order]
    noise = np.clip(normal(rng, STEPS, len(order), 7), -LARGEST, LARGEST)
    speed = np.hypot(values.velocity[..., 0], values.velocity[..., 1])[..., None]
    calm = np.clip(speed / 0.5, 0.3, 1.0)  # what does not move is known better
    slow = np.clip(0.3 * speed / NOISE["velocity"], 0.0, 1.0)  # noise turns nobody round: agent frames look ahead
    sizes = np.broadcast_to(values.size, (STEPS, *values.size.shape))
    return Tracks(
        ids[order], shown, _order(shown),
        _flat(values.position + NOISE["position"] * calm * noise[..., 0:2], shown, up=sizes[..., 2] / 2),
        _hidden(sizes, shown),
        _flat(values.velocity + NOISE["velocity"] * slow * noise[..., 2:4], shown),
        _flat(values.acceleration + NOISE["acceleration"] * calm * noise[..., 4:6], shown),
        _hidden(_wrapped(values.yaw + NOISE["yaw"] * calm[..., 0] * noise[..., 6]), shown),
    )  # fmt: skip


def ego_tracks(ego: Motion) -> Tracks:
    """The ego vehicle knows itself without noise."""
    here = np.ones((STEPS, 1), dtype=np.bool_)
    sizes = np.broadcast_to(np.array(EGO_SIZE), (STEPS, 1, 3))
    return Tracks(
        np.zeros(1, dtype=np.uint64),
        here,
        _order(here),
        _flat(ego.position, here, up=sizes[..., 2] / 2),
        _hidden(sizes, here),
        _flat(ego.velocity, here),
        _flat(ego.acceleration, here),
        _hidden(_wrapped(ego.yaw), here),
    )


def pedestrian_tracks(scene: Prepared, ego: Motion, ids: npt.NDArray[np.uint64]) -> Tracks:
    """The people near the ego vehicle."""
    all_steps = scene.walkers.position
    velocity = np.gradient(all_steps, axis=0)[SPAN] * HZ
    position = all_steps[SPAN]
    away = position - ego.position
    near = np.hypot(away[..., 0], away[..., 1]) < RANGE_PEOPLE_M
    present = near & ~_lost(scene.rng.random((6, near.shape[1])))
    found = present.any(axis=0)
    order = np.flatnonzero(found)[np.argsort(present[:, found].argmax(axis=0), kind="stable")]
    shown = present[:, order]
    noise = np.clip(normal(scene.rng, STEPS, len(order), 4), -LARGEST, LARGEST)
    sizes = np.broadcast_to(np.array(PERSON), (STEPS, len(order), 3))
    unknown = np.full((STEPS, len(order), 3), np.nan)
    return Tracks(
        ids[order], shown, _order(shown),
        _flat(position[:, order] + NOISE["position"] * noise[..., 0:2], shown, up=sizes[..., 2] / 2),
        _hidden(sizes, shown), _flat(velocity[:, order] + NOISE["velocity"] * noise[..., 2:4], shown),
        unknown, unknown[..., 0].copy(),
    )  # fmt: skip


def _order(present: Flags) -> npt.NDArray[np.int32]:
    return np.where(present, np.cumsum(present, axis=1) - 1, -1).astype(np.int32)


def _flat(values: Floats, present: Flags, up: Floats | float = 0.0) -> Floats:
    """Two coordinates and a third."""
    third = np.broadcast_to(np.asarray(up, dtype=np.float64), values.shape[:-1])
    return _hidden(np.concatenate([values, third[..., None]], axis=-1), present)


def _hidden(values: Floats, present: Flags) -> Floats:
    shape = present.reshape(*present.shape, *(1,) * (values.ndim - 2))
    return np.where(shape, np.round(values, DIGITS) + 0.0, np.nan)


def _wrapped(yaw: Floats) -> Floats:
    return np.asarray((yaw + np.pi) % (2 * np.pi) - np.pi)
