"""From the files of a recording to its scenes."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.tracks.motion.argoverse2.log import read_log
from shiftbench.tracks.motion.argoverse2.recording import HZ, Floats, Motion, Recording
from shiftbench.tracks.motion.argoverse2.road_map import cropped, read_map
from shiftbench.tracks.motion.argoverse2.scenario import read_scenario
from shiftbench.tracks.motion.argoverse2.sources import Source, sources
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.maneuvers import tags_of
from shiftbench.tracks.motion.scenes.road import Road
from shiftbench.tracks.motion.scenes.scene import Request, Scene, SceneTags
from shiftbench.tracks.motion.schema import HZ as SCENE_HZ
from shiftbench.tracks.motion.schema import PAST, STEPS

EVERY = HZ // SCENE_HZ
SWEEPS = (STEPS - 1) * EVERY + 1  # from a window's first step to its last
TO_PRESENT = (PAST - 1) * EVERY


def windows(recording: Recording, road: Road, *, moved_m: float, reach_m: float) -> Iterator[Scene]:
    """The scenes of a recording, by the sweep at which they start.

    Args:
        recording: see `Recording`.
        road: of the whole map; each scene gets what comes within `reach_m` of the box around its actors up to T = 0.
        moved_m: requests are for vehicles that are seen at T = 0 and at all future steps and end at least so far from
            where they were at T = 0, and for the focal track of a scenario however far it goes.
        reach_m: metres.
    """
    for start in recording.starts:
        sweeps = slice(start, start + SWEEPS, EVERY)
        vehicles, pedestrians, ego = (
            _tracks(moving, sweeps) for moving in (recording.vehicles, recording.pedestrians, recording.ego)
        )
        pedestrians.acceleration[:], pedestrians.yaw[:] = np.nan, np.nan
        past = [each.position[:PAST, :, :2].reshape(-1, 2) for each in (vehicles, pedestrians, ego)]
        everyone = np.concatenate(past)  # of the future no road may tell
        low, high = np.nanmin(everyone, axis=0) - reach_m, np.nanmax(everyone, axis=0) + reach_m
        yield Scene(
            f"{recording.id}_{start / HZ:04.1f}s",
            SceneTags(),
            vehicles,
            ego,
            pedestrians,
            cropped(road, low, high),
            requests=_requests(vehicles, moved_m, recording.focal),
        )


def _tracks(moving: Motion, sweeps: slice) -> Tracks:
    """The tracks that are seen in a window, in the order in which they appear."""
    seen = np.isfinite(moving.yaw[sweeps])
    columns = np.flatnonzero(seen.any(axis=0))
    columns = columns[np.argsort(seen[:, columns].argmax(axis=0), kind="stable")]
    present = seen[:, columns]
    order = np.where(present, np.cumsum(present, axis=1) - 1, -1).astype(np.int32)
    position, velocity, acceleration = (
        _flat(values[sweeps][:, columns]) for values in (moving.position, moving.velocity, moving.acceleration)
    )
    dimensions, yaw = moving.dimensions[sweeps][:, columns], moving.yaw[sweeps][:, columns]
    return Tracks(moving.ids[columns], present, order, position, dimensions, velocity, acceleration, yaw)


def _flat(values: Floats) -> Floats:
    """[..., 2] with a third coordinate of 0; NaN where the others are."""
    return np.concatenate([values, 0 * values[..., :1]], axis=-1)


def _requests(vehicles: Tracks, moved_m: float, focal: int | None) -> tuple[Request, ...]:
    whole = vehicles.present[PAST - 1 :].all(axis=0)
    way = vehicles.position[-1, :, :2] - vehicles.position[PAST - 1, :, :2]
    requested = whole & (
        (np.hypot(way[:, 0], way[:, 1]) >= moved_m) | (vehicles.ids == (-1 if focal is None else focal))
    )
    return tuple(
        Request(int(vehicles.ids[column]), tags_of(vehicles, int(column))) for column in np.flatnonzero(requested)
    )


@dataclass(frozen=True)
class Settings:
    """How recordings become scenes.

    Attributes:
        stride_s: seconds from the start of one window of a log to that of the next, in whole sweeps of 0.1 s.
        moved_m: how far a vehicle has to go in five seconds to be requested.
        reach_m: how far beyond the actors of a scene, up to T = 0, its road goes.
        speed_limit_ms: of every lane, in m/s; 0 is unknown, as Argoverse has none.
    """

    stride_s: float = 1.0
    moved_m: float = 2.0
    reach_m: float = 150.0
    speed_limit_ms: float = 0.0

    def __post_init__(self) -> None:
        least = {"stride_s": 1 / HZ, "moved_m": 0.0, "reach_m": 0.0, "speed_limit_ms": 0.0}
        problems = [
            f"{name}: expected a finite number from {bound:g} up, found {value!r}."
            for name, bound in least.items()
            if not (isinstance(value := getattr(self, name), int | float) and math.isfinite(value) and value >= bound)
        ]
        if problems:
            raise SettingsError(*problems)

    def to_dict(self) -> dict[str, Any]:
        """The settings by name."""
        return asdict(self)


@dataclass(frozen=True)
class Cut:
    """The scenes of one recording, and what was left out of it: reason → number."""

    scenes: tuple[Scene, ...]
    left_out: Counter[str]


def read(folder: str | os.PathLike[str], *, settings: Settings | None = None) -> Iterator[Scene]:
    """The scenes of all recordings in a folder, one after another, by the ids of the recordings.

    Raises:
        ShiftbenchError: as `sources`; then, at its turn, for a recording that is damaged.
    """
    for source in sources(folder):
        yield from scenes_of(source, settings=settings).scenes


def scenes_of(source: Source, *, settings: Settings | None = None) -> Cut:
    """The scenes of one recording.

    Raises:
        ShiftbenchError: for all that is wrong with its tables and its map.
    """
    chosen = settings or Settings()
    problems: list[str] = []
    recording = road_map = None
    try:
        if source.poses is None:
            recording = read_scenario(source, span=TO_PRESENT)
        else:
            recording = read_log(source, stride=round(chosen.stride_s * HZ), sweeps=SWEEPS)
    except ShiftbenchError as error:
        problems += error.problems
    try:
        road_map = read_map(source.road_map, speed_limit_ms=chosen.speed_limit_ms)
    except ShiftbenchError as error:
        problems += error.problems
    if recording is None or road_map is None:
        raise ShiftbenchError(*problems)
    scenes = windows(recording, road_map.road, moved_m=chosen.moved_m, reach_m=chosen.reach_m)
    return Cut(tuple(scenes), +(recording.left_out + road_map.left_out))
