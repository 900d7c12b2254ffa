import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion.scenes.frame import (
    agent_frame,
    frame_at,
    ground_truth,
    heading,
    latest_state,
    transformed,
)
from shiftbench.tracks.motion.scenes.scene import read_scene, valid_requests
from tests.tracks.motion import made_scene

ID = made_scene.TRACK_ID
QUANTITIES = ("position", "dimensions", "velocity", "acceleration")
OVERSHOOT_S = 0.0667


def state_row(state):
    """A state in the order of the golden files: x, y, z, dx, dy, vx, vy, ax, ay, yaw."""
    dimensions, velocity, acceleration = state.dimensions[:2], state.velocity[:2], state.acceleration[:2]
    return np.concatenate([state.position, dimensions, velocity, acceleration, [state.yaw]])


def published_transform(points, matrix):
    """What the published code does with points: single precision throughout, the second product fused with its sum."""
    x, y = points.astype(np.float32).T
    fused = [(y.astype(np.float64) * row[1] + x * row[0]).astype(np.float32) + row[3] for row in matrix[:2]]
    return np.stack(fused, axis=1)


def assert_golden(scene, name, golden):
    """States, frames and truths of all requests of a scene are those of the published code."""
    keys = {key.rsplit(".", 1)[0] for key in golden.files if key.startswith(f"{name}.") and "vec" not in key}
    assert {f"{name}.{request.track_id}" for request in scene.requests} == keys
    for request in scene.requests:
        key = f"{name}.{request.track_id}"
        state, frame = latest_state(scene, request.track_id), agent_frame(scene, request.track_id)
        np.testing.assert_array_equal(state_row(state), golden[f"{key}.latest_state"])
        matrix = golden[f"{key}.to_track_frame"]
        np.testing.assert_array_max_ulp(frame.to_agent.astype(np.float32), matrix, maxulp=1)
        truth = ground_truth(scene, request.track_id)
        known = np.isfinite(truth[:, 0])
        assert known.all() == (request in valid_requests(scene))
        # The published code puts zeros where a vehicle is absent.
        np.testing.assert_array_equal(np.nan_to_num(truth).astype(np.float32), golden[f"{key}.gt_global"])
        agent = golden[f"{key}.gt_agent"][known]
        np.testing.assert_array_equal(published_transform(truth[known], matrix), agent)
        # In double precision the same points lie within the rounding of single precision: 2 mm at 10 km.
        np.testing.assert_allclose(transformed(truth[known], frame.to_agent), agent, atol=2e-3)


@pytest.mark.parametrize("name", made_scene.MADE)
def test_frames_of_made_scenes_are_those_of_the_published_code(name):
    golden = np.load(made_scene.GOLDEN / "scene_frames.npz")
    assert_golden(read_scene(made_scene.GOLDEN / f"{name}.pb"), name, golden)


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    "path", ["data/motion/test_scene.pb", "golden/inputs/synthetic_scene_dense.pb"], ids=["genuine", "dense"]
)
def test_frames_of_genuine_and_dense_scenes_are_those_of_the_published_code(shared, path):
    scene = read_scene(shared / path)
    assert_golden(scene, (shared / path).stem, np.load(shared / "golden/scene_features.npz"))


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", made_scene.GENUINE)
def test_vehicles_of_genuine_scenes_go_forward_in_their_own_frames(shared, name):
    scene = read_scene(shared / f"data/motion/{name}.pb")
    for request in valid_requests(scene):
        state, frame = latest_state(scene, request.track_id), agent_frame(scene, request.track_id)
        assert (frame.to_agent[:2, :2] @ state.velocity[:2])[0] >= 0
        np.testing.assert_allclose(transformed(state.position[:2], frame.to_agent), [0, 0], atol=1e-9)


@pytest.mark.parametrize("interpolation", ["published", "exact"])
def test_a_vehicle_present_at_the_prediction_time_is_not_interpolated(interpolation):
    scene = made_scene.scene(absent=(22, 23, 25, 26))
    state = latest_state(scene, ID, interpolation=interpolation)
    np.testing.assert_array_equal(state.position, scene.vehicles.position[24, 0])


@pytest.mark.parametrize("gone", [1, 2, 5, 24])
@pytest.mark.parametrize("ahead", [1, 2, 7])
def test_exact_interpolation_is_where_a_steady_vehicle_is(gone, ahead):
    absent = range(25 - gone, 24 + ahead)
    truth = latest_state(made_scene.scene(), ID)
    found = latest_state(made_scene.scene(absent=absent), ID, interpolation="exact")
    for name in QUANTITIES:
        np.testing.assert_allclose(getattr(found, name), getattr(truth, name), atol=1e-12)
    assert found.yaw == pytest.approx(truth.yaw)


@pytest.mark.parametrize("gone", [1, 2, 5, 24])
def test_published_interpolation_runs_ahead_by_at_most_a_third_of_a_step(gone):
    speed = 5.0
    truth = latest_state(made_scene.scene(), ID)
    found = latest_state(made_scene.scene(absent=range(25 - gone, 25)), ID)
    ahead = float(np.linalg.norm(found.position - truth.position)) / speed
    # (j + 1) / (j + 2) of j + 1 steps, where j of them lead to T = 0.
    assert ahead == pytest.approx(0.2 * ((gone + 1) ** 2 / (gone + 2) - gone))
    assert ahead < OVERSHOOT_S


@pytest.mark.parametrize(("before", "after", "middle"), [(3.0, -3.0, np.pi), (-3.1, 3.1, -np.pi), (0.2, 0.6, 0.4)])
def test_exact_interpolation_takes_yaw_through_the_shorter_arc(before, after, middle):
    scene = made_scene.scene(absent=(24,))
    scene.vehicles.yaw[23, 0], scene.vehicles.yaw[25, 0] = before, after
    assert latest_state(scene, ID, interpolation="exact").yaw == pytest.approx(middle)
    assert latest_state(scene, ID).yaw == pytest.approx(before + 2 / 3 * (after - before))


@pytest.mark.parametrize("yaw", np.linspace(-np.pi, np.pi, 9))
def test_whole_turns_and_half_turns_of_yaw_do_not_turn_the_frame_of_a_moving_vehicle(yaw):
    scene = made_scene.scene(yaw=yaw, speed=5.0)
    frame = agent_frame(scene, ID)
    for turned in (yaw + np.pi, yaw - np.pi, yaw + 2 * np.pi):
        scene.vehicles.yaw[24, 0] = turned
        np.testing.assert_allclose(agent_frame(scene, ID).to_agent, frame.to_agent, atol=1e-12)


def test_yaw_is_turned_only_if_the_velocity_points_backwards():
    for yaw in (0.3, 2.0, -1.2):
        assert heading(latest_state(made_scene.scene(yaw=yaw, speed=4.0), ID)) == yaw
        assert heading(latest_state(made_scene.scene(yaw=yaw, speed=0.0), ID)) == yaw
        assert heading(latest_state(made_scene.scene(yaw=yaw, speed=-4.0), ID)) == yaw + np.pi


def test_a_steady_vehicle_goes_straight_ahead_in_its_frame():
    scene = made_scene.scene(yaw=2.1, speed=5.0)
    truth = transformed(ground_truth(scene, ID), agent_frame(scene, ID).to_agent)
    np.testing.assert_allclose(truth[:, 0], np.arange(1, 26) / 5 * 5.0)
    np.testing.assert_allclose(truth[:, 1], 0, atol=1e-12)


def test_to_the_frame_and_back_is_nowhere(rng):
    frame = frame_at(latest_state(made_scene.scene(yaw=-2.0), ID))
    np.testing.assert_allclose(frame.from_agent @ frame.to_agent, np.eye(4), atol=1e-12)
    points = rng.normal(size=(3, 25, 2)) * 1e4
    there = transformed(points, frame.to_agent)
    np.testing.assert_allclose(transformed(there, frame.from_agent), points, atol=1e-9)
    np.testing.assert_allclose(np.diff(there, axis=1) ** 2 @ [1, 1], np.diff(points, axis=1) ** 2 @ [1, 1])


def test_ground_truth_is_nan_where_the_vehicle_is_absent():
    truth = ground_truth(made_scene.scene(absent=(30,)), ID)
    assert truth.shape == (25, 2)
    assert np.flatnonzero(np.isnan(truth).any(axis=1)).tolist() == [5]


@pytest.mark.parametrize(("absent", "found"), [(range(24, 50), "24 past and 0 future"), (range(25), "0 past and 25")])
def test_a_vehicle_not_seen_on_both_sides_of_the_prediction_time_has_no_state(absent, found):
    with pytest.raises(ShiftbenchError, match=rf"scene made, track 7: .* found {found}"):
        latest_state(made_scene.scene(absent=absent), ID)


def test_vehicles_and_interpolations_that_are_none_are_named():
    scene = made_scene.scene(ids=(7, 1008))
    with pytest.raises(UnknownNameError, match=r"Unknown vehicle of scene made 1009\. Did you mean '1008'\?"):
        latest_state(scene, 1009)
    with pytest.raises(UnknownNameError, match=r"Unknown vehicle of scene made 5"):
        ground_truth(scene, 5)
    with pytest.raises(UnknownNameError, match=r"Did you mean 'exact'\?"):
        agent_frame(scene, ID, interpolation="exakt")
