"""Tags of maneuvers: every printed rule at both sides of its bound."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import ArrayError
from shiftbench.tracks.motion.scenes.maneuvers import maneuver_tags, tags_of
from shiftbench.tracks.motion.scenes.scene import read_scene
from shiftbench.tracks.motion.schema import Maneuver

DIRECTIONS = {Maneuver.MOVE_LEFT, Maneuver.MOVE_RIGHT, Maneuver.MOVE_FORWARD, Maneuver.MOVE_BACK}
SPEEDS = {Maneuver.ACCELERATION, Maneuver.DECELERATION, Maneuver.UNIFORM}
STEPS = 26


def _tags(speed: np.ndarray, heading: np.ndarray, *, yaw: np.ndarray | None = None) -> set[Maneuver]:
    """Tags of a vehicle of given speeds [26] and headings [26]."""
    velocity = speed[:, None] * np.stack([np.cos(heading), np.sin(heading)], axis=1)
    position = np.concatenate([np.zeros((1, 2)), np.cumsum((velocity[1:] + velocity[:-1]) / 10, axis=0)])
    return set(maneuver_tags(position, velocity, heading if yaw is None else yaw))


def _steady(speed: float) -> np.ndarray:
    return np.full(STEPS, speed)


@pytest.mark.parametrize(
    ("turn", "expected"),
    [
        (0.0, Maneuver.MOVE_FORWARD),
        (np.pi / 12 - 0.01, Maneuver.MOVE_FORWARD),
        (-np.pi / 12 + 0.01, Maneuver.MOVE_FORWARD),
        (np.pi / 12 + 0.01, Maneuver.MOVE_LEFT),
        (-np.pi / 12 - 0.01, Maneuver.MOVE_RIGHT),
        (3 * np.pi / 4 - 0.01, Maneuver.MOVE_LEFT),
        (-3 * np.pi / 4 + 0.01, Maneuver.MOVE_RIGHT),
        (3 * np.pi / 4 + 0.01, Maneuver.MOVE_BACK),
        (-np.pi, Maneuver.MOVE_BACK),
    ],
)
def test_the_direction_is_that_of_the_whole_change_of_heading(turn: float, expected: Maneuver) -> None:
    heading = np.linspace(3.0, 3.0 + turn, STEPS)  # passes π, where yaw as a number jumps
    assert _tags(_steady(8), heading) & DIRECTIONS == {expected}
    assert _tags(_steady(8), heading, yaw=np.angle(np.exp(1j * heading))) & DIRECTIONS == {expected}


def test_yaw_is_known_up_to_a_half_turn() -> None:
    heading = np.linspace(0, 1, STEPS)
    flips = np.pi * np.random.default_rng(0).integers(-1, 2, STEPS)
    assert _tags(_steady(8), heading, yaw=heading + flips) == _tags(_steady(8), heading)


@pytest.mark.parametrize(
    ("rate", "expected"),
    [
        (0.31, Maneuver.ACCELERATION),
        (0.29, Maneuver.UNIFORM),
        (-0.29, Maneuver.UNIFORM),
        (-0.31, Maneuver.DECELERATION),
    ],
)
def test_acceleration_is_the_slope_of_speed(rate: float, expected: Maneuver) -> None:
    time = np.arange(STEPS) / 5
    assert _tags(10 + rate * time, np.zeros(STEPS)) & SPEEDS == {expected}
    assert _tags(10 + rate * time, np.zeros(STEPS), yaw=np.full(STEPS, np.pi)) & SPEEDS == {expected}


def test_a_vehicle_may_speed_up_brake_and_go_steadily_in_five_seconds() -> None:
    speed = np.concatenate([np.linspace(5, 6, 11), np.full(6, 6.0), np.linspace(6, 5, 9)])
    assert _tags(speed, np.zeros(STEPS)) & SPEEDS == SPEEDS


@pytest.mark.parametrize("metres", [1.9, 2.1])
def test_a_direction_takes_two_metres(metres: float) -> None:
    assert bool(_tags(_steady(metres / 5), np.zeros(STEPS)) & DIRECTIONS) == (metres > 2)


def test_stopping_starting_and_standing() -> None:
    brake = np.linspace(4, 0, STEPS)
    assert Maneuver.STOPPING in _tags(brake, np.zeros(STEPS))
    assert Maneuver.STARTING not in _tags(brake, np.zeros(STEPS))
    assert Maneuver.STARTING in _tags(brake[::-1], np.zeros(STEPS))
    assert _tags(np.zeros(STEPS), np.zeros(STEPS)) == {Maneuver.STATIONARY, Maneuver.UNIFORM}
    assert not {Maneuver.STATIONARY, Maneuver.STOPPING, Maneuver.STARTING} & _tags(_steady(3), np.zeros(STEPS))


def test_slopes_are_those_of_a_line_fitted_to_each_window() -> None:
    rng = np.random.default_rng(1)
    kinds = {Maneuver.ACCELERATION: 1, Maneuver.DECELERATION: -1, Maneuver.UNIFORM: 0}
    for _ in range(50):
        speed = 10 + np.cumsum(rng.normal(scale=0.1, size=STEPS))
        slopes = [np.polyfit(np.arange(11) / 5, speed[at : at + 11], 1)[0] for at in range(STEPS - 10)]
        signs = {int(np.sign(slope)) if abs(slope) > 0.3 else 0 for slope in slopes}
        assert {kinds[tag] for tag in _tags(speed, np.zeros(STEPS)) & SPEEDS} == signs


def test_states_that_are_not_known_or_too_few_are_refused() -> None:
    zeros = np.zeros((STEPS, 2))
    with pytest.raises(ArrayError, match=r"expected finite positions.*found NaN"):
        maneuver_tags(zeros, zeros, np.full(STEPS, np.nan))
    with pytest.raises(ArrayError, match=r"at least 11 steps, found \(10, 2\)"):
        maneuver_tags(zeros[:10], zeros[:10], np.zeros(10))
    with pytest.raises(ArrayError, match=r"found \(26, 2\), \(26, 2\) and \(26, 2\)"):
        maneuver_tags(zeros, zeros, zeros)


def test_a_vehicle_that_stands_does_not_accelerate_however_its_speed_jitters() -> None:
    jitter = np.random.default_rng(3).normal(scale=0.6, size=STEPS)
    zeros = np.zeros((STEPS, 2))
    velocity = np.stack([jitter, 0 * jitter], axis=1)
    assert set(maneuver_tags(zeros, velocity, zeros[:, 0])) == {Maneuver.STATIONARY, Maneuver.UNIFORM}
    way = np.stack([np.linspace(0, 1, STEPS), 0 * jitter], axis=1)
    assert Maneuver.ACCELERATION in maneuver_tags(way, velocity, zeros[:, 0])


@pytest.mark.needs_shared
def test_nearly_all_published_tags_are_found_again(shared: Path) -> None:
    """Of 22 requests: the rules leave open what is fitted and what turns, and no genuine one has a deceleration."""
    pairs = [
        (set(tags_of(scene.vehicles, scene.vehicles.column(request.track_id) or 0)), set(request.tags))
        for name in ("test_scene.pb", "test_scene_2021-05_f509015.pb")
        for scene in [read_scene(shared / "data" / "motion" / name)]
        for request in scene.requests
    ]
    assert len(pairs) == 22
    assert sum(found != published for found, published in pairs) == 4
    assert sum(found - {Maneuver.DECELERATION} != published for found, published in pairs) == 2
