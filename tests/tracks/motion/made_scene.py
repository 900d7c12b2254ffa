"""Small scenes made for tests, as messages, so that a test can spoil any field."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import numpy as np

from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import scene_of

GOLDEN = Path(__file__).resolve().parents[2] / "golden" / "motion"
MADE = ("synthetic_scene_1", "synthetic_scene_2", "synthetic_scene_3")
GENUINE = ("test_scene", "test_scene_2021-05_f509015")
TRACK_ID = 7
TRACKS = ("vehicles", "pedestrians", "ego")


def descriptor_set():
    """The shipped descriptors of the wire format."""
    from google.protobuf import descriptor_pb2

    data = resources.files("shiftbench.tracks.motion.scenes").joinpath("proto", protobuf.DESCRIPTORS).read_bytes()
    return descriptor_pb2.FileDescriptorSet.FromString(data)


def enums():
    """Names and numbers of every enum of the wire format."""
    return {
        enum.name: {value.name: value.number for value in enum.value}
        for file in descriptor_set().file
        for enum in file.enum_type
    }


def message(*, absent=(), yaw=0.3, speed=5.0, ids=(TRACK_ID,)):
    """25 + 25 steps of vehicles that go straight at `speed` along `yaw`; the first one is absent at some steps."""
    scene = protobuf.message("Scene")(id="made", scene_tags={"track": 1, "precipitation": 1})
    for step in range(50):
        when, seconds = ("past" if step < 25 else "future"), (step - 24) / 5
        vehicles = [vehicle(each, seconds, yaw, speed) for each in ids if each != ids[0] or step not in absent]
        getattr(scene, f"{when}_vehicle_tracks").add(tracks=vehicles)
        if when == "past":
            scene.past_ego_track.add(**vehicle(0, seconds, 0.0, 3.0))
    scene.prediction_requests.add(track_id=ids[0], trajectory_tags=[2, 6])
    return scene


def vehicle(track_id, seconds, yaw, speed):
    """The fields of one track that goes through (100, 200) at T = 0."""
    direction = np.array([np.cos(yaw), np.sin(yaw)])
    x, y = np.array([100.0, 200.0]) + track_id % 1000 + seconds * speed * direction
    velocity = speed * direction
    return {
        "track_id": track_id,
        "position": {"x": x, "y": y, "z": 1.0},
        "dimensions": {"x": 4.0, "y": 2.0, "z": 1.5},
        "linear_velocity": {"x": velocity[0], "y": velocity[1]},
        "linear_acceleration": {"x": 0.0, "y": 0.0},
        "yaw": yaw,
    }


def scene(**settings):
    """The scene of `message`."""
    return scene_of(message(**settings))


def assert_same(left, right):
    """Every value of two scenes is the same; NaN equals NaN."""
    assert (left.id, left.tags, left.requests) == (right.id, right.tags, right.requests)
    assert [dict(step) for step in left.lights] == [dict(step) for step in right.lights]
    for name in TRACKS:
        for key, values in vars(getattr(left, name)).items():
            others = getattr(getattr(right, name), key)
            assert values.dtype == others.dtype
            np.testing.assert_array_equal(values, others, err_msg=f"{name}.{key}")
    assert_same_road(left.road, right.road)


def assert_same_road(left, right):
    assert [vars(lane) | {"centers": 0} for lane in left.lanes] == [vars(lane) | {"centers": 0} for lane in right.lanes]
    assert [crosswalk.rules for crosswalk in left.crosswalks] == [crosswalk.rules for crosswalk in right.crosswalks]
    for mine, others in (
        ([lane.centers for lane in left.lanes], [lane.centers for lane in right.lanes]),
        ([crosswalk.polygon for crosswalk in left.crosswalks], [crosswalk.polygon for crosswalk in right.crosswalks]),
        (left.polygons, right.polygons),
    ):
        assert len(mine) == len(others)
        for points, other_points in zip(mine, others, strict=True):
            np.testing.assert_array_equal(points, other_points)
