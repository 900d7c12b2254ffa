"""Maps and vector features come back bit by bit, whatever is in them; damaged bytes are told, not believed."""

from __future__ import annotations

import zlib

import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.maps.feature_map import feature_maps
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import vector_codec
from shiftbench.tracks.motion.prepared.map_codec import MapCodec
from shiftbench.tracks.motion.scenes.scene import read_scene, valid_requests
from tests.tracks.motion.made_scene import GENUINE, GOLDEN, MADE, scene

SETTINGS = {
    "published": MapSettings(),
    "fine": MapSettings.of(size=(90, 200), metres_per_pixel=0.25),
    "past": MapSettings.of(size=64, history=(24, 3, 0), road_history=(5, 0), yaw_frame="agent"),
    "lanes": MapSettings.of(size=48, channels=["vehicles.yaw", "road_graph.lane_direction"]),
    "polygons": MapSettings.of(size=(1, 7), channels=["road_graph.road_polygons"]),
}


def unpacked(codec, data):
    out = np.zeros(codec.shape, np.float32)
    codec.unpack(data, out)
    return out


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("name", MADE)
def test_drawn_maps_come_back_bit_by_bit(name, settings):
    made, codec = read_scene(GOLDEN / f"{name}.pb"), MapCodec(settings)
    drawn = feature_maps(made, [request.track_id for request in valid_requests(made)], settings)
    assert drawn.any()
    for planes in drawn:
        assert unpacked(codec, codec.packed(planes)).tobytes() == planes.tobytes()


def test_every_plane_is_in_one_group_that_is_of_one_step():
    codec = MapCodec(SETTINGS["past"])
    places = sorted(place for group in codec.groups for place in group)
    assert places == list(range(codec.shape[0]))
    assert [len(group) for group in codec.groups] == [6] * 3 + [3] * 3 + [2, 5, 1] * 2


@pytest.mark.parametrize("values", [2, 300, 70_000])
def test_any_bits_come_back(values, rng):
    codec = MapCodec(MapSettings.of(size=(300, 301), channels=["vehicles.occupancy", "vehicles.velocity_x"]))
    palette = rng.integers(0, 2**32, values, dtype=np.uint32)
    palette[:2] = np.array([-0.0, np.nan], np.float32).view(np.uint32)
    planes = rng.choice(palette, codec.shape).view(np.float32)
    planes[:, :2] = 0
    assert unpacked(codec, codec.packed(planes)).tobytes() == planes.tobytes()


def test_an_empty_map_takes_next_to_nothing():
    codec = MapCodec(MapSettings())
    packed = codec.packed(np.zeros(codec.shape, np.float32))
    assert len(packed) < 64
    assert not unpacked(codec, packed).any()


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", GENUINE)
def test_a_map_of_a_genuine_scene_takes_at_most_8_kb(name, shared):
    genuine, codec = read_scene(shared / f"data/motion/{name}.pb"), MapCodec(MapSettings())
    drawn = feature_maps(genuine, [request.track_id for request in genuine.requests])
    packed = [codec.packed(planes) for planes in drawn]
    assert max(map(len, packed)) <= 8_000
    for planes, data in zip(drawn, packed, strict=True):
        assert unpacked(codec, data).tobytes() == planes.tobytes()


def test_damaged_maps_are_refused():
    codec = MapCodec(MapSettings.of(size=8))
    planes = np.zeros(codec.shape, np.float32)
    planes[0, 2:4] = 1
    good = codec.packed(planes)
    header = 4 * len(codec.groups)
    bomb = good[:header] + zlib.compress(bytes(2**24))
    wrong_label = bytearray(zlib.decompress(good[header:]))
    wrong_label[-1] = 9
    for bad in (b"", good[:3], good[:-5], b"\xff" * len(good), bomb, good[:header] + zlib.compress(wrong_label)):
        with pytest.raises(ShiftbenchError, match=r"map: expected .* Its shard is damaged"):
            unpacked(codec, bad)


# --- vector features -------------------------------------------------------------------------------------------------


def roundtrip(vectors):
    out = vector_codec.empty(2)
    vector_codec.unpack(vector_codec.packed(vectors), out, 1)
    nobody = vector_codec.empty(1)
    for name, (shape, kind) in vector_codec.FORMS.items():
        assert out[name].shape == (2, *shape)
        assert out[name].dtype == vectors[name].dtype == kind
        assert out[name][1].tobytes() == vectors[name].tobytes(), name
        assert out[name][0].tobytes() == nobody[name][0].tobytes(), name


@pytest.mark.parametrize("name", MADE)
def test_vector_features_come_back_bit_by_bit(name):
    made = read_scene(GOLDEN / f"{name}.pb")
    for request in valid_requests(made):
        roundtrip(vector_codec.vectors_of(made, request.track_id))


def test_a_vehicle_alone_without_a_road_comes_back():
    vectors = vector_codec.vectors_of(scene(), 7, interpolation="exact")
    assert not vectors["line_mask"].any()
    roundtrip(vectors)


def test_any_numbers_come_back(rng):
    vectors = {name: array[0] for name, array in vector_codec.empty(1).items()}
    for name in ("history", "neighbours", "neighbour_size", "points", "line_attributes"):
        shape = vectors[name].shape
        vectors[name] = rng.integers(0, 2**32, shape, dtype=np.uint32).view(np.float32)
    vectors["neighbour_kind"][:] = rng.integers(0, 3, vectors["neighbour_kind"].shape)
    for name in ("neighbour_mask", "line_mask", "point_mask"):
        vectors[name][:] = True
    roundtrip(vectors)


def test_padding_is_not_stored():
    assert len(vector_codec.packed({name: array[0] for name, array in vector_codec.empty(1).items()})) < 64


def test_damaged_vector_features_are_refused():
    good = vector_codec.packed(vector_codec.vectors_of(scene(ids=(7, 8)), 7))
    bomb = good[:4] + zlib.compress(bytes(2**24))
    for bad in (b"", good[:3], good[:-5], b"\xff" * 50, b"\x00" * 20, bomb):
        with pytest.raises(ShiftbenchError, match=r"vector features: expected packed ones, found: .* is damaged"):
            vector_codec.unpack(bad, vector_codec.empty(1), 0)
