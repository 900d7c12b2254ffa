import itertools
import json
import statistics
import sys
import warnings
from dataclasses import asdict, replace
from importlib.metadata import requires

import cv2
import numpy as np
import pytest
from benchmarks import rendering

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError, ShiftbenchWarning, UnknownNameError
from shiftbench.tracks.motion.maps import availability, drawing
from shiftbench.tracks.motion.maps.feature_map import CHANNELS, MapSettings, feature_map, feature_maps
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.frame import agent_frame
from shiftbench.tracks.motion.scenes.road import ControlRule, Crosswalk, Lane, Road
from shiftbench.tracks.motion.scenes.scene import read_scene, scene_of
from shiftbench.tracks.motion.schema import LightState
from tests.tracks.motion import made_scene

ID = made_scene.TRACK_ID
FINE = {"size": 400, "metres_per_pixel": 0.25}
CONFIGURATIONS = {
    "128_1m_17ch": {},
    "400_0.25m_17ch": FINE,
    "400_0.25m_26ch": {**FINE, "history": (1, 0)},
    "128_1m_hist5": {"history": (24, 18, 12, 6, 0), "road_history": (24, 0)},
}
LANES = [CHANNELS.index(name) for name in CHANNELS if ".lane" in name]
AREAS = [place for place in range(len(CHANNELS)) if place not in LANES]


def made(name="synthetic_scene_1"):
    return read_scene(made_scene.GOLDEN / f"{name}.pb")


def moved(scene, angle, shift):
    """The whole world turned and moved."""
    turn = np.array([[np.cos(angle), np.sin(angle), 0], [-np.sin(angle), np.cos(angle), 0], [0, 0, 1]])

    def tracks(each):
        position, velocity, acceleration = (
            array @ turn for array in (each.position, each.velocity, np.nan_to_num(each.acceleration))
        )
        yaw = each.yaw + angle
        return replace(each, position=position + shift, velocity=velocity, acceleration=acceleration, yaw=yaw)

    road = Road(
        tuple(replace(lane, centers=lane.centers @ turn + shift) for lane in scene.road.lanes),
        tuple(replace(each, polygon=each.polygon @ turn + shift) for each in scene.road.crosswalks),
        tuple(polygon @ turn + shift for polygon in scene.road.polygons),
    )
    names = ("vehicles", "pedestrians", "ego")
    return replace(scene, road=road, **{name: tracks(getattr(scene, name)) for name in names})


def assert_golden(scenes, golden):
    compared = 0
    for key in golden.files:
        name, track, configuration = key.split(".", 2)
        if configuration in CONFIGURATIONS:
            ours = feature_map(scenes[name], int(track), **CONFIGURATIONS[configuration])
            assert ours.dtype == np.float32
            np.testing.assert_array_equal(ours, golden[key], err_msg=key)
            compared += 1
    return compared


def test_maps_of_made_scenes_equal_the_published_ones_in_every_pixel():
    golden = np.load(made_scene.GOLDEN / "rendered.npz")
    assert assert_golden({name: made(name) for name in made_scene.MADE}, golden) == 28


@pytest.mark.needs_shared
def test_maps_of_genuine_and_dense_scenes_equal_the_published_ones_in_every_pixel(shared):
    """At 128 px and 1 m as at 400 px and 0.25 m; there is no pixel that needs an explanation."""
    places = [*(shared / "data/motion").glob("*.pb"), *(shared / "golden/inputs").glob("synthetic_scene*.pb")]
    scenes = {path.stem: read_scene(path) for path in places}
    files = ("rendered_opencv5.npz", "rendered_opencv5_scene2.npz")
    assert [assert_golden(scenes, np.load(shared / "golden" / name)) for name in files] == [64, 10]


@pytest.mark.needs_shared
def test_few_pixels_differ_from_maps_of_the_published_codes_own_opencv(shared):
    """OpenCV 4.5.5 fills polygons otherwise: 0 and 14 pixels of a genuine scene, all of them of the road."""
    scene = read_scene(shared / "data/motion/test_scene.pb")
    golden = np.load(shared / "golden/rendered.npz")
    other = dict.fromkeys(("128_1m_17ch", "400_0.25m_17ch"), 0)
    for key in golden.files:
        name, track, configuration = key.split(".", 2)
        if name == "test_scene" and configuration in other:
            differs = feature_map(scene, int(track), **CONFIGURATIONS[configuration]) != golden[key]
            assert not differs[:-1].any()
            other[configuration] += int(differs.sum())
    assert list(other.values()) == [0, 14]


@pytest.mark.parametrize("name", made_scene.MADE)
def test_the_published_non_square_map_is_ours_with_the_agent_off_the_middle(name, monkeypatch):
    """It takes half the columns for the agent's row and half the rows for its column: (80, 48) of (96, 160)."""
    published = np.load(made_scene.GOLDEN / "rendered.npz")[f"{name}.1003.rect_96x160_1m"]
    ours = feature_map(made(name), 1003, size=(96, 160))
    assert ours.shape == published.shape == (17, 96, 160)
    assert (ours[AREAS][:, :64, 32:] == published[AREAS][:, 32:, :128]).mean() > 0.999  # what both show
    right = drawing.map_matrix

    def published_matrix(*settings):
        matrix = right(*settings)
        matrix[:2, 3] += np.array([-32, 32], dtype=np.float32)
        return matrix

    monkeypatch.setattr(drawing, "map_matrix", published_matrix)
    np.testing.assert_array_equal(feature_map(made(name), 1003, size=(96, 160)), published)


def others_middle(scene, track_id, size):
    """The row and column around which everyone but the agent and the ego vehicle is drawn."""
    occupancy = feature_map(scene, track_id, size=size, channels=["vehicles.occupancy"])[0]
    rows, columns = np.nonzero(occupancy)
    away = np.hypot(rows + 0.5 - size[0] / 2, columns + 0.5 - size[1] / 2) > 8
    return rows[away].mean() + 0.5, columns[away].mean() + 0.5


def two_vehicles(offset, yaw=0.0):
    """An agent and another vehicle `offset` (forwards, to the left) of it; the ego vehicle is far away."""
    message = made_scene.message(yaw=yaw, ids=(ID, ID + 1))
    cos, sin = np.cos(yaw), np.sin(yaw)
    for step in (*message.past_vehicle_tracks, *message.future_vehicle_tracks):
        agent, other = step.tracks
        other.position.x = agent.position.x + cos * offset[0] - sin * offset[1]
        other.position.y = agent.position.y + sin * offset[0] + cos * offset[1]
    for ego in message.past_ego_track:
        ego.position.x += 1000
    return scene_of(message)


@pytest.mark.parametrize("size", [(60, 140), (140, 60), (101, 128)])
def test_forwards_is_along_the_columns_and_left_is_down_the_rows(size):
    for yaw in (0.0, 0.5, 2.0, -1.5707963):
        row, column = others_middle(two_vehicles((20.0, 10.0), yaw), ID, size)
        assert (row, column) == pytest.approx((size[0] / 2 + 10, size[1] / 2 + 20), abs=0.8)


def test_an_agent_that_turns_left_by_a_right_angle_sees_a_turned_map():
    scene, column = made(), made().vehicles.column(1001)
    before = feature_map(scene, 1001, size=(90, 150))
    frame = agent_frame(scene, 1001)
    yaw, velocity = scene.vehicles.yaw.copy(), scene.vehicles.velocity.copy()
    yaw[24, column] = frame.yaw + np.pi / 2
    velocity[24, column] = 0
    after = feature_map(
        replace(scene, vehicles=replace(scene.vehicles, yaw=yaw, velocity=velocity)), 1001, size=(150, 90)
    )
    polygons = CHANNELS.index("road_graph.road_polygons")
    assert after.shape == (17, 150, 90)
    assert (after[polygons] == before[polygons].T[::-1]).mean() > 0.97


def test_turning_and_moving_the_whole_world_leaves_the_map_as_it_was():
    scene = made()
    after = moved(scene, 0.7, (30.0, -20.0, 0.0))
    for track in (1000, 1002, 1004):
        left, right = (feature_map(each, track, yaw_frame="agent") for each in (scene, after))
        for channel in (0, 6, 9, 13, 16):
            drawn = (left[channel] != 0) | (right[channel] != 0)
            assert (left[channel] != right[channel]).sum() <= 0.12 * drawn.sum()
        both = (left[0] != 0) & (right[0] != 0)
        assert both.sum() > 30
        same = np.abs(left[1:6] - right[1:6])[:, both] < 1e-3
        assert same.mean() > 0.97  # where boxes overlap, another one may be on top


def test_the_published_yaw_turns_with_the_world_and_the_agents_own_is_zero():
    scene = two_vehicles((20.0, 10.0), yaw=0.5)
    for yaw_frame, expected in (("global", 0.5), ("agent", 0.0)):
        yaw = feature_map(scene, ID, channels=["vehicles.occupancy", "vehicles.yaw"], yaw_frame=yaw_frame)
        np.testing.assert_allclose(yaw[1][yaw[0] == 1], expected, atol=1e-6)


def test_exact_interpolation_sees_the_world_from_where_the_agent_is_at_t_0():
    """The published rule overshoots by 0.067 s: by 2 m, and two pixels, at 30 m/s."""
    settings = {"channels": ["vehicles.occupancy"], "size": 200}
    scene, there = (made_scene.scene(ids=(ID, 20), speed=30.0, absent=absent) for absent in (range(22, 27), ()))
    whole = feature_map(there, ID, **settings)[0]
    exact, published = (feature_map(scene, ID, **settings, interpolation=rule)[0] for rule in ("exact", "published"))
    middle = np.s_[97:103, 95:105]
    whole[middle] = exact[middle] = published[middle] = 0  # the agent itself is not there to be drawn
    np.testing.assert_array_equal(exact, whole)
    assert (published != whole).any()


def test_any_channels_and_steps_are_slices_of_the_whole():
    scene, steps = made(), (24, 10, 0)
    whole = feature_map(scene, 1002, history=steps, road_history=(5, 0))
    assert whole.shape == (3 * 9 + 2 * 8, 128, 128)
    names = ["vehicles.yaw", "vehicles.occupancy", 8, "road_graph.road_polygons", "road_graph.lane_direction"]
    some = feature_map(scene, 1002, channels=names, history=steps[1:], road_history=(5,))
    places = [6 + 5, 6 + 0, 12 + 5, 12 + 0, 18 + 3 + 2, 18 + 6 + 2, 27 + 7, 27 + 3]
    np.testing.assert_array_equal(some, whole[places])
    settings = MapSettings.of(channels=names, history=steps[1:], road_history=(5,))
    assert len(some) == settings.planes == 8


def test_several_maps_of_a_scene_are_its_single_maps():
    scene = made()
    together = feature_maps(scene, [1003, 1000])
    np.testing.assert_array_equal(together, [feature_map(scene, track) for track in (1003, 1000)])
    assert feature_maps(scene, []).shape == (0, 17, 128, 128)


def test_lines_walked_at_once_are_those_of_opencv(rng):
    rows, columns = 40, 70
    points = rng.integers(-60, 130, (4000, 2), dtype=np.int32)
    points[:2000] = rng.integers(0, 40, (2000, 2))
    points[100:110] = points[99]
    first = np.delete(np.arange(3999), [7, 8, 2500])
    expected, ours = np.zeros((2, rows, columns), np.float32)
    for number, place in enumerate(first):
        cv2.line(expected, points[place].tolist(), points[place + 1].tolist(), float(number + 1))
    found = drawing.lines(points, first, (rows, columns))
    ours.ravel()[found.place] = found.number[found.line] + 1
    np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize("count", [0, 1, 60, 700])
def test_labels_are_polygons_filled_one_after_the_other(rng, count):
    quads = (rng.integers(-20, 120, (count, 1, 2)) + rng.integers(0, 15, (count, 4, 2))).astype(np.int32)
    expected, ours = np.zeros((2, 90, 110), np.float32)
    for number, quad in enumerate(quads):
        cv2.fillPoly(expected, [quad], float(number + 1))
    place, number = drawing.labels(quads, (90, 110))
    ours.ravel()[place] = number + 1
    np.testing.assert_array_equal(ours, expected)


def test_a_map_drawn_call_by_call_differs_only_where_shapes_overlap():
    """Overlaps: polygons of one layer and value cancel out, lanes of one value come together; see the module."""
    path = made_scene.GOLDEN / "synthetic_scene_2.pb"
    message, scene = protobuf.parse_scene(path.read_bytes()), read_scene(path)
    for request in scene.requests[:3]:
        twin = rendering.layer_by_layer(message, scene, request.track_id)
        np.testing.assert_array_equal(twin, rendering.shape_by_shape(message, scene, request.track_id))
        ours = feature_map(scene, request.track_id)
        np.testing.assert_allclose(ours[:9], twin[:9], atol=2e-3)
        np.testing.assert_array_equal(ours[[12, 13, 14]], twin[[12, 13, 14]])
        assert (ours[[11, 15]] != twin[[11, 15]]).mean() < 0.01


@pytest.mark.needs_shared
def test_a_map_takes_less_than_a_third_of_the_time_of_one_call_per_shape_and_layer(shared):
    for path in rendering.SCENES.values():
        message, scene = protobuf.parse_scene(path.read_bytes()), read_scene(path)
        tracks = [request.track_id for request in scene.requests[:2]]
        acts = [
            lambda tracks=tracks, scene=scene: [feature_map(scene, track) for track in tracks],
            lambda tracks=tracks, scene=scene, message=message: [
                rendering.layer_by_layer(message, scene, track) for track in tracks
            ],
        ]
        ours, twin = (statistics.median(times) for times in zip(*rendering.timed(acts, rounds=3), strict=True))
        assert ours < twin / 3, path.name


ARROWS = [
    ((0, 0, 0), {}, 2),
    ((0, 5, 0), {}, 2),
    ((0, 5, 0), {5: LightState.GREEN}, 1),
    ((0, 5, 0), {5: LightState.BLINKING_RED}, 1),
    ((0, 5, 0), {5: LightState.YELLOW}, -1),
    ((0, 5, 0), {5: LightState.INVISIBLE}, -2),
    ((0, 5, 0), {5: LightState.DISABLED}, 2),
    ((4, 5, 0), {4: LightState.ENABLED, 5: LightState.RED}, 1),
    ((4, 5, 0), {4: LightState.DISABLED, 5: LightState.GREEN}, -1),
    ((4, 5, 0), {4: LightState.DISABLED, 5: LightState.NOT_WORKING}, 2),
    ((0, 5, 6), {6: LightState.UNKNOWN, 5: LightState.GREEN}, -2),
    # What the published rules leave open is unknown: an arrow that is not seen, a state of no meaning in its place.
    ((4, 5, 0), {5: LightState.GREEN}, -2),
    ((4, 5, 0), {4: LightState.GREEN, 5: LightState.GREEN}, -2),
    ((0, 5, 0), {5: LightState.ENABLED}, -2),
]


@pytest.mark.parametrize(("sections", "lights", "expected"), ARROWS)
def test_an_arrow_decides_unless_the_main_light_is_off(sections, lights, expected):
    assert availability.lanes([Lane(np.zeros((2, 3)), sections=sections)], lights) == [expected]


def test_a_crosswalk_is_closed_while_a_rule_that_holds_lets_traffic_move():
    rules = (ControlRule(((1, 4),), 0), ControlRule(((1, 1), (2, 1)), 2))
    walks = [Crosswalk(np.zeros((3, 3)), rules), Crosswalk(np.zeros((3, 3)))]
    for lights, expected in (({1: 4}, 1), ({1: 1}, 1), ({1: 1, 2: 1}, -1), ({}, 1)):
        assert availability.crosswalks(walks, lights) == [expected, 2]


def test_a_scene_without_road_and_lights_has_empty_road_layers():
    maps = feature_map(made_scene.scene(), ID)
    assert maps[0].any()
    assert not maps[9:].any()


def test_shapes_without_points_and_shapes_far_away_are_no_trouble():
    far = np.array([[0.0, 0, 0], [1e12, 3, 0], [-1e12, 5e11, 0]])
    empty, one = np.empty((0, 3)), np.ones((1, 3))
    lanes = tuple(Lane(centers) for centers in (empty, far, one, empty))
    road = Road(lanes, tuple(map(Crosswalk, (empty, far, empty))), (empty, far, one, empty))
    scene = replace(made_scene.scene(), road=road)
    assert np.isfinite(feature_map(scene, ID)).all()
    none = Road(lanes[:1], (Crosswalk(empty),), (empty,))
    assert not feature_map(replace(scene, road=none), ID)[9:].any()


def test_all_settings_out_of_range_are_named_at_once():
    wrong = {"size": (0, 5), "metres_per_pixel": -1, "channels": [13, 0], "history": (25,), "road_history": ()}
    with pytest.raises(SettingsError, match="size: expected") as caught:
        feature_map(made(), 1000, **wrong)
    named = [problem.partition(":")[0] for problem in caught.value.problems]
    assert named == ["size", "metres_per_pixel", "channels", "history", "road_history"]
    for settings in ({"size": (1, 2, 3)}, {"size": 10**6}, {"metres_per_pixel": np.nan}, {"history": (0, 0)}):
        with pytest.raises(SettingsError, match="expected"):
            feature_map(made(), 1000, **settings)


@pytest.mark.parametrize(
    "settings",
    [{"channels": ["vehicles.speed"]}, {"channels": [17]}, {"yaw_frame": "world"}, {"interpolation": "none"}],
)
def test_unknown_names_are_answered_with_the_known_ones(settings):
    with pytest.raises(UnknownNameError, match="Known:"):
        feature_map(made(), 1000, **settings)
    with pytest.raises(UnknownNameError, match="vehicle of scene"):
        feature_map(made(), 999)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("size", 2.5), ("size", True), ("size", None), ("size", "64"), ("size", (True, 8)), ("size", np.array(8.0)),
        ("metres_per_pixel", "1"), ("metres_per_pixel", None), ("metres_per_pixel", True),
        ("metres_per_pixel", 1e-300), ("metres_per_pixel", 9.9e-4), ("metres_per_pixel", 1e300),
        ("channels", 3), ("channels", "vehicles.yaw"), ("channels", []),
        ("history", 0), ("history", None), ("history", "0"), ("history", (0.5,)), ("road_history", ([0],)),
    ],
)  # fmt: skip
def test_settings_of_another_kind_are_named(name, value):
    with pytest.raises(SettingsError, match=rf"^{name}: expected .* found ") as caught:
        feature_map(made(), 1000, **{name: value})
    assert len(caught.value.problems) == 1


def test_an_unknown_name_hides_no_other_problem():
    wrong = {"size": 0, "metres_per_pixel": -1, "channels": ["nope", 17, True], "history": (25,), "yaw_frame": ["x"]}
    with pytest.raises(SettingsError, match="size: expected") as caught:
        MapSettings.of(**wrong)
    named = [problem.partition(":")[0].partition(".")[0] for problem in caught.value.problems]
    channels = ["Unknown channel 'nope'", "Unknown channel 17", "Unknown channel True"]
    assert named == ["size", "metres_per_pixel", "history", *channels, "Unknown yaw frame ['x']"]


def test_numbers_of_numpy_make_the_same_settings():
    own = MapSettings.of(size=np.array([32, 48]), metres_per_pixel=np.float32(2), channels=np.arange(3), history=[1, 0])
    plain = MapSettings.of(size=(32, 48), metres_per_pixel=2, channels=CHANNELS[:3], history=(1, 0))
    assert json.dumps(asdict(own)) == json.dumps(asdict(plain))
    assert type(MapSettings.of(size=np.int64(8)).size[0]) is int


@pytest.mark.parametrize("metres", [1e-3, 1e3])
def test_maps_of_the_finest_and_the_coarsest_pixels_are_finite(metres):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.isfinite(feature_map(made_scene.scene(), ID, size=16, metres_per_pixel=metres)).all()


def test_an_agent_that_is_never_seen_before_t_0_has_no_map():
    with pytest.raises(ShiftbenchError, match="It has no state to predict from"):
        feature_map(made_scene.scene(absent=range(25)), ID)


def test_without_opencv_the_extra_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(MissingExtraError, match=r"shiftbench\[motion\]"):
        feature_map(made(), 1000)


def test_an_older_opencv_is_named_once(monkeypatch):
    drawing._warn_if_old.cache_clear()
    monkeypatch.setattr(cv2, "__version__", "4.10.0")
    with pytest.warns(
        ShiftbenchWarning, match=r"expected OpenCV 4\.11 or later, found 4\.10\.0, which fills other"
    ) as told:
        feature_map(made(), 1000)
    assert len(told) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for version in ("4.10.0", "4.11.0", "5.0.0"):
            monkeypatch.setattr(cv2, "__version__", version)
            feature_map(made(), 1000)


def test_the_extra_requires_the_opencv_that_maps_need():
    required = {each.partition(";")[0] for each in requires("shiftbench") if each.startswith("opencv")}
    assert required == {f"opencv-python-headless>={'.'.join(map(str, drawing.OLDEST))}"}


def test_channels_are_those_of_the_published_maps_in_their_order():
    groups = [group for group, _ in itertools.groupby(name.partition(".")[0] for name in CHANNELS)]
    assert groups == ["vehicles", "pedestrians", "road_graph"]
    assert len(CHANNELS) == 17
