import json
import time

import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene, scene_of, valid_requests, write_scene
from shiftbench.tracks.motion.schema import SCENE_TAGS, LightState, SunPhase
from tests.tracks.motion import made_scene


def summary_of(scene: Scene):
    """A scene in the words of the golden summaries."""
    tags = {key: getattr(scene.tags, key) for key in SCENE_TAGS}
    valid = valid_requests(scene)
    return {
        "id": scene.id,
        "tags": {key: tag.wire_name for key, tag in tags.items() if tag},
        "n_past_vehicle_tracks": scene.vehicles.present[:25].sum(axis=1).tolist(),
        "n_past_pedestrian_tracks": scene.pedestrians.present[:25].sum(axis=1).tolist(),
        "n_past_ego": int(scene.ego.present[:25].sum()),
        "n_future_vehicle_tracks": scene.vehicles.present[25:].sum(axis=1).tolist(),
        "n_lanes": len(scene.road.lanes),
        "n_lane_points": sum(len(lane.centers) for lane in scene.road.lanes),
        "n_crosswalks": len(scene.road.crosswalks),
        "n_road_polygons": len(scene.road.polygons),
        "traffic_light_sections_last": [[section, state] for section, state in scene.lights[-1].items()],
        "requests": [
            {
                "track_id": request.track_id,
                "valid": request in valid,
                "tags": [tag.wire_name for tag in request.tags],
            }
            for request in scene.requests
        ],
    }


@pytest.mark.parametrize("name", made_scene.MADE)
def test_made_scenes_are_summarised_as_the_published_code_does(name):
    golden = json.loads((made_scene.GOLDEN / "scene_summary.json").read_text("utf-8"))
    assert summary_of(read_scene(made_scene.GOLDEN / f"{name}.pb")) == golden[name]


@pytest.mark.needs_shared
def test_genuine_and_dense_scenes_are_summarised_as_the_published_code_does(shared):
    golden = json.loads((shared / "golden/scene_summary.json").read_text("utf-8"))
    paths = {"test_scene": shared / "data/motion/test_scene.pb"}
    paths["synthetic_scene_dense"] = shared / "golden/inputs/synthetic_scene_dense.pb"
    for name, path in paths.items():
        assert summary_of(read_scene(path)) == golden[name]


@pytest.mark.needs_shared
def test_arrays_hold_the_fields_of_the_messages(shared):
    """The twin: every field read on its own."""
    path = shared / "data/motion/test_scene_2021-05_f509015.pb"
    scene, message = read_scene(path), protobuf.parse_scene(path.read_bytes())
    steps = [*message.past_vehicle_tracks, *message.future_vehicle_tracks]
    assert scene.vehicles.present.sum() == sum(len(step.tracks) for step in steps)
    for step, listed in enumerate(steps):
        for place, track in enumerate(listed.tracks):
            column = scene.vehicles.column(track.track_id)
            assert scene.vehicles.order[step, column] == place
            assert scene.vehicles.yaw[step, column] == track.yaw
            for name, vector in [
                ("position", track.position),
                ("dimensions", track.dimensions),
                ("velocity", track.linear_velocity),
                ("acceleration", track.linear_acceleration),
            ]:
                assert getattr(scene.vehicles, name)[step, column].tolist() == [vector.x, vector.y, vector.z]
    for lane, found in zip(message.path_graph.lanes, scene.road.lanes, strict=True):
        assert found.centers.tolist() == [[point.x, point.y, point.z] for point in lane.centers]
    assert set(scene.ego.ids.tolist()) == {state.track_id for state in message.past_ego_track}
    assert np.isnan(scene.pedestrians.yaw).all()
    assert np.isnan(scene.vehicles.position[~scene.vehicles.present]).all()


@pytest.mark.parametrize("name", made_scene.MADE)
def test_a_written_scene_is_read_again_with_the_same_values(name, tmp_path):
    scene = read_scene(made_scene.GOLDEN / f"{name}.pb")
    write_scene(scene, tmp_path / "again.pb")
    made_scene.assert_same(read_scene(tmp_path / "again.pb"), scene)
    write_scene(read_scene(tmp_path / "again.pb"), tmp_path / "third.pb")
    assert (tmp_path / "third.pb").read_bytes() == (tmp_path / "again.pb").read_bytes()


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", made_scene.GENUINE)
def test_genuine_scenes_survive_writing_but_for_empty_section_ids(shared, tmp_path, name):
    path = shared / f"data/motion/{name}.pb"
    scene = read_scene(path)
    write_scene(scene, tmp_path / "again.pb")
    made_scene.assert_same(read_scene(tmp_path / "again.pb"), scene)
    message = protobuf.parse_scene(path.read_bytes())
    for lane in message.path_graph.lanes:
        if not lane.traffic_light_section_ids.ByteSize():
            lane.ClearField("traffic_light_section_ids")
    assert (tmp_path / "again.pb").read_bytes() == message.SerializeToString()


def test_ids_beyond_the_reach_of_floats_are_told_apart():
    big = 2**64 - 1
    scene = made_scene.scene(ids=(big, big - 1, 2**53 + 1))
    assert scene.vehicles.ids.tolist() == [big, big - 1, 2**53 + 1]
    assert scene.vehicles.column(big - 1) == 1
    assert scene.vehicles.column(2**53) is None
    assert scene.vehicles.column(-1) is None


def test_tracks_stand_in_the_order_in_which_they_appear():
    message = made_scene.message(ids=(9, 4))
    tracks = message.past_vehicle_tracks[1].tracks
    states = [type(tracks[0]).FromString(each.SerializeToString()) for each in reversed(tracks)]
    message.past_vehicle_tracks[1].ClearField("tracks")
    message.past_vehicle_tracks[1].tracks.extend(states)
    scene = scene_of(message)
    assert scene.vehicles.ids.tolist() == [9, 4]
    assert scene.vehicles.order[:2].tolist() == [[0, 1], [1, 0]]


def test_a_request_is_valid_if_its_vehicle_is_present_at_all_future_steps():
    assert [request.track_id for request in valid_requests(made_scene.scene())] == [made_scene.TRACK_ID]
    assert len(valid_requests(made_scene.scene(absent=range(25)))) == 1
    for step in range(25, 50):
        assert valid_requests(made_scene.scene(absent=(step,))) == ()


def test_a_request_for_a_track_that_is_never_seen_is_not_valid():
    message = made_scene.message()
    message.prediction_requests.add(track_id=12345)
    scene = scene_of(message)
    assert [request.track_id for request in scene.requests] == [made_scene.TRACK_ID, 12345]
    assert [request.track_id for request in valid_requests(scene)] == [made_scene.TRACK_ID]


def test_a_scene_without_lanes_lights_pedestrians_and_sun_phase_is_a_scene(tmp_path):
    scene = made_scene.scene()
    assert scene.tags.sun_phase is SunPhase.UNKNOWN
    assert scene.tags.sun_phase.label == "Unknown"
    assert scene.road.lanes == ()
    assert scene.pedestrians.position.shape == (50, 0, 3)
    assert scene.lights == ({},) * 25
    write_scene(scene, tmp_path / "bare.pb")
    made_scene.assert_same(read_scene(tmp_path / "bare.pb"), scene)


def test_a_scene_whose_future_is_withheld_has_no_valid_request():
    message = made_scene.message()
    message.ClearField("future_vehicle_tracks")
    scene = scene_of(message)
    assert not scene.vehicles.present[25:].any()
    assert valid_requests(scene) == ()


def test_unknown_fields_are_in_no_scene(tmp_path):
    data = made_scene.message().SerializeToString()
    (tmp_path / "newer.pb").write_bytes(data + b"\xf8\x06\x05")
    scene = read_scene(tmp_path / "newer.pb")
    made_scene.assert_same(scene, made_scene.scene())
    write_scene(scene, tmp_path / "again.pb")
    write_scene(made_scene.scene(), tmp_path / "known.pb")
    assert (tmp_path / "again.pb").read_bytes() == (tmp_path / "known.pb").read_bytes()


def drop_step(message):
    del message.past_vehicle_tracks[-1]


def drop_future_step(message):
    del message.future_vehicle_tracks[0]


def nan_position(message):
    message.past_vehicle_tracks[3].tracks[0].position.x = np.nan


def infinite_ego(message):
    message.past_ego_track[0].yaw = np.inf


def nan_lane(message):
    message.path_graph.lanes.add(centers=[{"x": np.nan}])


def infinite_speed(message):
    message.path_graph.lanes.add(max_velocity=np.inf)


def beyond_the_world(message):
    message.past_vehicle_tracks[3].tracks[0].linear_velocity.x = 1e300


def lane_beyond_the_world(message):
    message.path_graph.lanes.add(centers=[{"y": -3e8}])


def track_twice(message):
    message.past_vehicle_tracks[3].tracks.append(message.past_vehicle_tracks[3].tracks[0])


def request_twice(message):
    message.prediction_requests.add(track_id=made_scene.TRACK_ID)


def no_id(message):
    message.id = ""


def strange_tag(message):
    message.scene_tags.precipitation = 9


def strange_maneuver(message):
    message.prediction_requests[0].trajectory_tags.append(77)


def strange_light(message):
    for _ in range(25):
        message.traffic_lights.add(sections=[{"id": 1, "state": 40}])


def strange_rule(message):
    message.path_graph.crosswalks.add(control_rules=[{"movement_type": 5}])


def two_egos(message):
    message.past_ego_track[7].track_id = 3


SPOILED = {
    drop_step: r"past_vehicle_tracks: expected 25 steps, found 24",
    drop_future_step: r"future_vehicle_tracks: expected 0 or 25 steps, found 24",
    nan_position: r"vehicle tracks: expected finite .* found NaN, infinity or more in 1 states \(7 at step 3\)",
    beyond_the_world: r"vehicle tracks: expected .* up to 1e\+08, .* in 1 states \(7 at step 3\)",
    lane_beyond_the_world: r"lanes: expected finite points within 1e\+08 m, .* in 1 \(first 0\)",
    infinite_ego: r"ego tracks: expected finite .* \(0 at step 0\)",
    nan_lane: r"lanes: expected finite points within 1e\+08 m, found NaN, infinity or more in 1 \(first 0\)",
    infinite_speed: r"lanes: expected a finite max_velocity in m/s, found .* more than 1e\+08 in 1 \(first 0\)",
    track_twice: r"vehicle tracks: expected a track at most once in a step, found 1 twice \(7 at step 3\)",
    request_twice: r"prediction_requests: expected each track once, found 1 listed twice \(7\)",
    no_id: r"id: expected the scene's id, found none",
    strange_tag: r"scene_tags\.precipitation: expected a number of Precipitation, 0 to 4, found 9",
    strange_maneuver: r"request 7: expected a number of Maneuver, 0 to 9, found 77",
    strange_light: r"traffic_lights: expected a number of LightState, 0 to 11, found 40",
    strange_rule: r"crosswalk rules: expected a number of Movement, 0 to 2, found 5",
    two_egos: r"ego tracks: expected one track id at all steps, found 2",
}


@pytest.mark.parametrize("spoil", SPOILED)
def test_what_is_wrong_in_a_scene_is_said(spoil):
    message = made_scene.message()
    spoil(message)
    with pytest.raises(ShiftbenchError, match=rf"bad\.pb: {SPOILED[spoil]}") as caught:
        scene_of(message, source="bad.pb")
    assert len(caught.value.problems) == 1


def test_all_that_is_wrong_in_a_scene_is_said_at_once():
    message = made_scene.message()
    for spoil in SPOILED:
        if spoil is not drop_step:
            spoil(message)
    with pytest.raises(ShiftbenchError, match=r"bad\.pb") as caught:
        scene_of(message, source="bad.pb")
    shared = {beyond_the_world, lane_beyond_the_world}  # with NaN, in one sentence
    assert len(caught.value.problems) == len(SPOILED) - 1 - len(shared)


def test_truncated_foreign_and_huge_files_are_refused(tmp_path):
    whole = (made_scene.GOLDEN / "synthetic_scene_1.pb").read_bytes()
    (tmp_path / "cut.pb").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ShiftbenchError, match=r"cut\.pb: expected one serialised Scene"):
        read_scene(tmp_path / "cut.pb")
    (tmp_path / "foreign.pb").write_bytes(b"\xf8\x06\x05")
    with pytest.raises(ShiftbenchError, match=r"foreign\.pb: past_vehicle_tracks: expected 25 steps, found 0"):
        read_scene(tmp_path / "foreign.pb")
    with (tmp_path / "huge.pb").open("wb") as file:
        file.truncate(2**31)
    with pytest.raises(ShiftbenchError, match=r"huge\.pb: expected at most 16,777,216 bytes, found 2,147,483,648"):
        read_scene(tmp_path / "huge.pb")


def test_every_cut_of_a_file_is_refused_or_said_to_miss_something():
    whole = made_scene.message().SerializeToString()
    for length in range(0, len(whole) - 1, 97):
        with pytest.raises(ShiftbenchError, match=r"^cut"):
            scene_of(protobuf.parse_scene(whole[:length], source="cut"), source="cut")


def test_more_tracks_than_any_town_has_are_refused():
    message = made_scene.message()
    message.past_pedestrian_tracks.add(tracks=[{"track_id": number} for number in range(4_001)])
    for _ in range(24):
        message.past_pedestrian_tracks.add()
    with pytest.raises(ShiftbenchError, match=r"pedestrian tracks: expected at most 4,000 track ids, found 4,001"):
        scene_of(message)


def test_nothing_is_written_that_could_not_be_read(tmp_path):
    scene = made_scene.scene()
    spoiled = Scene(scene.id, scene.tags, scene.vehicles, scene.ego, lights=({1: LightState.RED},) * 24)
    with pytest.raises(ShiftbenchError, match=r"scene made: traffic_lights: expected 0 or 25 steps, found 24"):
        write_scene(spoiled, tmp_path / "no.pb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.needs_shared
def test_places_where_nothing_can_be_written_are_named(tmp_path):
    (tmp_path / "file").touch()
    for place, told in (("file/x.pb", r"file/x\.pb"), ("", "")):
        with pytest.raises(ShiftbenchError, match=rf"{told}: expected a place to write a scene to, found: "):
            write_scene(made_scene.scene(), f"{tmp_path}/{place}")
    with pytest.raises(ShiftbenchError, match=r"a\\x00b': expected a path, found one that no file can have"):
        write_scene(made_scene.scene(), f"{tmp_path}/a\0b")
    with pytest.raises(ShiftbenchError, match=r"expected a path, found None \(NoneType\)"):
        write_scene(made_scene.scene(), None)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize("path", [None, 3, b"scene.pb", ["scene.pb"]])
def test_what_is_no_path_is_no_scene(path):
    with pytest.raises(ShiftbenchError, match="expected a path, found"):
        read_scene(path)
    with pytest.raises(ShiftbenchError, match="expected a path, found one that no file can have"):
        read_scene("a\0b")


def test_a_genuine_scene_is_read_in_milliseconds(shared):
    path = shared / "data/motion/test_scene_2021-05_f509015.pb"
    spent = []
    for _ in range(10):
        start = time.thread_time()
        read_scene(path)
        spent.append(time.thread_time() - start)
    assert min(spent) < 0.02  # 0.005 here; the bound leaves room for slower machines
