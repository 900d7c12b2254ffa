"""Who is asked for in a made-up scene, and which maneuver tags plain motions get."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.motion.example.scenes import requests
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.maneuvers import tags_of
from shiftbench.tracks.motion.schema import Maneuver as M


def moving(speed, turn=0.0, seen=None):
    """One vehicle with a speed [50] that turns by `turn` in its five future seconds."""
    speed = np.broadcast_to(np.asarray(speed, dtype=float), 50)
    yaw = 1.0 + turn * np.clip((np.arange(50) - 24) / 25, 0, 1)
    velocity = speed[:, None, None] * np.stack([np.cos(yaw), np.sin(yaw), 0 * yaw], axis=-1)[:, None]
    position = np.cumsum(velocity, axis=0) / 5
    present = np.ones((50, 1), dtype=bool) if seen is None else np.asarray(seen)[:, None]
    size = np.broadcast_to([4.5, 1.8, 1.5], (50, 1, 3))
    order = np.where(present, 0, -1).astype(np.int32)
    arrays = [np.where(present[..., None], each, np.nan) for each in (position, size, velocity, 0 * velocity)]
    return Tracks(np.array([200], dtype=np.uint64), present, order, *arrays, np.where(present, yaw[:, None], np.nan))


PAST = np.ones(25)


@pytest.mark.parametrize(
    ("tracks", "tags"),
    [
        (moving(8.0), {M.MOVE_FORWARD, M.UNIFORM}),
        (moving(8.0, turn=1.4), {M.MOVE_LEFT, M.UNIFORM}),
        (moving(8.0, turn=-1.4), {M.MOVE_RIGHT, M.UNIFORM}),
        (moving(8.0, turn=2.9), {M.MOVE_BACK, M.UNIFORM}),
        (moving(8.0, turn=0.25), {M.MOVE_FORWARD, M.UNIFORM}),
        (moving(0.0), {M.STATIONARY, M.UNIFORM}),
        (moving(np.r_[0 * PAST, np.arange(25) * 0.2]), {M.MOVE_FORWARD, M.ACCELERATION, M.STARTING}),
        (moving(np.r_[8 * PAST, np.linspace(8, 0, 25)]), {M.MOVE_FORWARD, M.DECELERATION, M.STOPPING}),
        (moving(np.r_[0.05 * PAST, 0.3 * PAST[:5], 0 * PAST[:20]]), {M.STATIONARY, M.UNIFORM}),
        (moving(8.0, seen=np.r_[PAST > 0, PAST < 0]), set()),
        (moving(8.0, seen=np.r_[PAST > 0, np.arange(25) < 24]), set()),
        (moving(8.0, seen=np.r_[np.arange(25) < 20, PAST > 0]), {M.MOVE_FORWARD, M.UNIFORM}),
    ],
)
def test_tags_of_plain_motions(tracks, tags):
    assert set(tags_of(tracks, 0)) == tags


def test_yaw_that_is_turned_by_half_a_turn_is_no_turn():
    tracks = moving(8.0)
    tracks.yaw[30:] += np.pi
    assert set(tags_of(tracks, 0)) == {M.MOVE_FORWARD, M.UNIFORM}


def test_who_is_asked_for_was_seen_before_and_after(made):
    for scene in made:
        assert len({request.track_id for request in scene.requests}) == len(scene.requests) <= 6
        for request in scene.requests:
            column = scene.vehicles.column(request.track_id)
            here = scene.vehicles.present[:, column]
            assert here[24] or (here[:24].any() and here[25:].any())
            assert request.tags == tags_of(scene.vehicles, column)


def test_nobody_there_nobody_asked(rng):
    assert requests(moving(8.0, seen=np.zeros(50, dtype=bool)), rng) == ()
