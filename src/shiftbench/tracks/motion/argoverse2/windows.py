"""Cutting a recording of 10 Hz into scenes of 25 past and 25 future steps at 5 Hz: every second sweep."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from shiftbench.tracks.motion.argoverse2.recording import HZ, Floats, Motion, Recording
from shiftbench.tracks.motion.argoverse2.road_map import cropped
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
        moved_m: asked for are the vehicles that are seen at T = 0 and at all future steps and end at least so far
            from where they were at T = 0, and the focal track of a scenario however far it goes.
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
    asked = whole & ((np.hypot(way[:, 0], way[:, 1]) >= moved_m) | (vehicles.ids == (-1 if focal is None else focal)))
    return tuple(Request(int(vehicles.ids[column]), tags_of(vehicles, int(column))) for column in np.flatnonzero(asked))
