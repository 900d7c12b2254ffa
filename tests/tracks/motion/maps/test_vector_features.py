from dataclasses import replace

import numpy as np
import pytest

from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion.maps.vector_features import (
    KINDS,
    KNOWN,
    LINE,
    STATE,
    agent_history,
    neighbours,
    polylines,
)
from shiftbench.tracks.motion.scenes.frame import agent_frame, transformed
from shiftbench.tracks.motion.scenes.road import Crosswalk, Lane, Road
from shiftbench.tracks.motion.scenes.scene import read_scene
from tests.tracks.motion import made_scene

ID = made_scene.TRACK_ID
YAW = STATE.index("yaw")
VARIANTS = {
    "full25": np.s_[:, :],
    "test_cfg": np.s_[[-3, -1], :],
    "pos5": (slice(-5, None), [0, 1, KNOWN]),
}


def made(name="synthetic_scene_1"):
    return read_scene(made_scene.GOLDEN / f"{name}.pb")


@pytest.mark.parametrize("name", made_scene.MADE)
def test_histories_of_made_scenes_equal_the_published_ones(name):
    golden, scene = np.load(made_scene.GOLDEN / "histories.npz"), made(name)
    keys = [key for key in golden.files if key.startswith(f"{name}.")]
    assert len(keys) == 7
    for key in keys:
        np.testing.assert_array_equal(agent_history(scene, int(key.split(".")[1])), golden[key], err_msg=key)


@pytest.mark.needs_shared
def test_histories_of_genuine_and_dense_scenes_equal_the_published_ones(shared):
    golden = np.load(shared / "golden/scene_features.npz")
    places = [*(shared / "data/motion").glob("*.pb"), *(shared / "golden/inputs").glob("synthetic_scene*.pb")]
    scenes = {path.stem: read_scene(path) for path in places}
    keys = [key for key in golden.files if ".vec." in key]
    assert len(keys) == 90
    for key in keys:
        name, track, _, variant = key.split(".")
        np.testing.assert_array_equal(agent_history(scenes[name], int(track))[VARIANTS[variant]], golden[key], key)


def test_absent_steps_are_zero_with_their_flag_down():
    history = agent_history(made_scene.scene(absent=(0, 1, 5, 24)), ID)
    assert np.flatnonzero(history[:, KNOWN] == 0).tolist() == [0, 1, 5, 24]
    assert not history[[0, 1, 5, 24]].any()


def test_an_agent_that_drives_straight_comes_along_its_own_x_axis():
    history = agent_history(made_scene.scene(yaw=2.5, speed=5.0), ID, yaw_frame="agent")
    np.testing.assert_allclose(history[:, 0], np.arange(-24, 1) * 1.0, atol=1e-4)
    np.testing.assert_allclose(history[:, 2], 5.0, atol=1e-4)
    np.testing.assert_allclose(history[:, [1, 3, 4, 5, YAW]], 0, atol=1e-4)


def test_neighbours_come_nearest_first_with_all_kinds_and_without_the_agent():
    scene = made()
    frame = agent_frame(scene, 1000)
    found = neighbours(scene, 1000, most=40)
    present = [tracks.present[24].sum() for tracks in (scene.vehicles, scene.pedestrians, scene.ego)]
    present[0] -= 1  # the agent itself
    assert [(found.kind[found.mask] == kind).sum() for kind in range(len(KINDS))] == present
    distance = np.hypot(*found.states[found.mask, -1, :2].T)
    assert (np.diff(distance) >= 0).all()
    ego = found.states[found.kind == KINDS.index("ego")][0]
    np.testing.assert_allclose(ego[:, :2], transformed(scene.ego.position[:25, 0, :2], frame.to_agent), rtol=1e-5)
    assert found.states.shape == (40, 25, 8)
    assert not found.states[~found.mask].any()
    assert (found.kind[~found.mask] == -1).all()
    some = neighbours(scene, 1000, most=3)
    np.testing.assert_array_equal(some.states, found.states[:3])
    assert some.mask.all()


def test_a_neighbour_knows_only_the_steps_at_which_it_was_seen():
    found = neighbours(made_scene.scene(ids=(ID, 8), absent=(3, 4)), 8)
    vehicle = found.states[found.kind == 0][0]
    assert np.flatnonzero(vehicle[:, KNOWN] == 0).tolist() == [3, 4]
    assert not vehicle[[3, 4]].any()
    assert found.size[found.kind == 0].tolist() == [[4.0, 2.0]]


def test_pedestrians_have_the_direction_they_walk_in_and_no_acceleration():
    found = neighbours(made(), 1001)
    people = found.states[found.kind == KINDS.index("pedestrian")]
    known = people[..., KNOWN] == 1
    assert len(people)
    assert not people[..., 4:6].any()
    walking = np.arctan2(people[..., 3], people[..., 2])
    apart = np.angle(np.exp(1j * (walking - people[..., YAW])))[known & (np.hypot(*people[..., 2:4].T).T > 0.1)]
    np.testing.assert_allclose(apart, 0, atol=1e-4)


def road_scene(*lanes, crosswalks=()):
    """A made scene whose agent stands at (107, 207) and looks along x, with some lanes."""
    return replace(made_scene.scene(yaw=0.0), road=Road(lanes, crosswalks))


def around(*points):
    return np.array([(107.0 + x, 207.0 + y, 0.0) for x, y in points])


def test_a_lane_is_spaced_evenly_and_cut_into_pieces_that_share_an_end():
    lane = Lane(around((0, 1), (17, 1), (17, 21)), max_velocity=7.5, gives_way=True)
    found = polylines(road_scene(lane), ID, points=8)
    # 37 m are 19 steps of at most 2 m: 20 points, in pieces of 8, 8 and 6.
    assert found.point_mask.sum(axis=1)[found.mask].tolist() == [8, 8, 6]
    first, second, third = found.points[found.mask]
    np.testing.assert_allclose(first[0], (0, 1), atol=1e-4)
    np.testing.assert_array_equal(first[-1], second[0])
    np.testing.assert_array_equal(second[-1], third[0])
    np.testing.assert_allclose(third[5], (17, 21), atol=1e-4)
    assert not third[6:].any()
    steps = np.hypot(*np.diff(first, axis=0).T)
    np.testing.assert_allclose(steps, 37 / 19, atol=1e-4)
    assert dict(zip(LINE, found.attributes[0].tolist(), strict=True)) == {
        "is_lane": 1, "is_crosswalk": 0, "gives_way": 1, "speed_limit": 0.5, "availability": 2,
    }  # fmt: skip


def test_a_crosswalk_is_a_closed_line():
    walk = Crosswalk(around((5, 0), (9, 0), (9, 4), (5, 4)))
    found = polylines(road_scene(crosswalks=(walk,)), ID)
    points = found.points[0][found.point_mask[0]]
    assert found.attributes[0, :2].tolist() == [0, 1]
    np.testing.assert_allclose(points[0], points[-1], atol=1e-4)
    assert len(points) == 9


def test_the_nearest_pieces_are_kept_and_lie_on_their_lanes():
    scene = made()
    everything, some = polylines(scene, 1002, most=500), polylines(scene, 1002, most=10)
    assert everything.mask.sum() > 60
    np.testing.assert_array_equal(some.points, everything.points[:10])
    distance = np.where(everything.point_mask, np.hypot(*everything.points.transpose(2, 0, 1)), np.inf)
    reach = distance[everything.mask].min(axis=1)
    assert (np.diff(reach) >= -1e-4).all()
    frame = agent_frame(scene, 1002)
    corners = np.concatenate([lane.centers[[0, -1], :2] for lane in scene.road.lanes])
    corners = transformed(corners, frame.to_agent)
    known = everything.points[everything.point_mask]
    nearest = np.hypot(*(corners[:, None] - known[None]).transpose(2, 0, 1)).min(axis=1)
    assert nearest.max() < 1e-3  # the ends of every lane are there


def test_a_scene_without_a_road_or_without_points_has_no_polylines():
    for scene in (made_scene.scene(), road_scene(Lane(np.empty((0, 3))), crosswalks=(Crosswalk(np.empty((0, 3))),))):
        found = polylines(scene, ID)
        assert not found.mask.any()
        assert not found.points.any()
    one = polylines(road_scene(Lane(around((3, 4)))), ID)
    assert one.points[0][one.point_mask[0]] == pytest.approx(np.array([(3, 4), (3, 4)]), abs=1e-4)


def test_counts_and_names_out_of_range_are_refused():
    scene = made()
    with pytest.raises(SettingsError, match="most: expected") as caught:
        polylines(scene, 1000, most=0, points=1)
    assert len(caught.value.problems) == 2
    with pytest.raises(SettingsError, match="most: expected"):
        neighbours(scene, 1000, most=0)
    with pytest.raises(UnknownNameError, match="yaw frame"):
        agent_history(scene, 1000, yaw_frame="world")
    for features in (agent_history, neighbours, polylines):
        with pytest.raises(UnknownNameError, match="vehicle of scene"):
            features(scene, 999)
        with pytest.raises(ShiftbenchError, match="It has no state to predict from"):
            features(made_scene.scene(absent=range(25)), ID)
