"""The fast way to write scenes gives what protobuf writes."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.motion.example.encoding import IDS, encoded
from shiftbench.tracks.motion.scenes.protobuf import parse_scene
from shiftbench.tracks.motion.scenes.scene import message_of, scene_of


def test_bytes_hold_the_same_message_as_the_slow_twin(towns):
    for scene in towns[::4]:
        assert parse_scene(encoded(scene)) == message_of(scene)


def test_a_scene_is_read_back_as_it_was(towns):
    for scene in towns[::4]:
        again = scene_of(parse_scene(encoded(scene)))
        assert (again.id, again.tags, again.lights, again.requests) == (
            scene.id,
            scene.tags,
            scene.lights,
            scene.requests,
        )
        for name in ("vehicles", "pedestrians", "ego"):
            for field in ("ids", "present", "order", "position", "dimensions", "velocity", "acceleration", "yaw"):
                np.testing.assert_array_equal(
                    getattr(getattr(again, name), field), getattr(getattr(scene, name), field)
                )
        for lane, other in zip(again.road.lanes, scene.road.lanes, strict=True):
            np.testing.assert_array_equal(lane.centers, other.centers)


def test_ids_take_two_bytes(towns):
    for scene in towns:
        ids = [*scene.vehicles.ids.tolist(), *scene.pedestrians.ids.tolist()]
        assert len(set(ids)) == len(ids)
        assert all(number in IDS for number in ids)
