"""What holds in every made-up scene, and that place and weather really shift."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from shiftbench.tracks.motion import read_scene, valid_requests
from shiftbench.tracks.motion.example import scenes
from shiftbench.tracks.motion.example.habits import HABITS, habits_in
from shiftbench.tracks.motion.maps.feature_map import CHANNELS, feature_maps
from shiftbench.tracks.motion.maps.vector_features import agent_history, neighbours, polylines
from shiftbench.tracks.motion.partitions import partition_of
from shiftbench.tracks.motion.schema import City, Maneuver, Precipitation, Season, SunPhase

from . import simple


def everybody(scene):
    """Positions, yaws and sizes of the vehicles and of the ego vehicle: [50, A, …]."""
    return [
        np.concatenate([getattr(scene.vehicles, name), getattr(scene.ego, name)], axis=1)
        for name in ("position", "yaw", "dimensions")
    ]


def overlaps(positions, yaws, sizes):
    """How many pairs of vehicles [A] share an area, their sides taken 0.1 m shorter for the noise."""
    here = np.flatnonzero(np.isfinite(yaws))
    boxes = {k: simple.box(positions[k, :2], yaws[k], sizes[k, :2] - 0.1) for k in here}
    near = [(i, j) for i in here for j in here if i < j and np.hypot(*(positions[i] - positions[j])[:2]) < 14]
    return sum(simple.overlapping(boxes[i], boxes[j]) for i, j in near)


def test_no_vehicle_stands_in_another(made, towns):
    found = []
    for scene in [*made[::3], *towns]:
        arrays = everybody(scene)
        found.append(sum(overlaps(*(array[step] for array in arrays)) for step in range(0, 50, 6)))
    assert np.mean(np.array(found) > 0) < 0.02  # none here; rounding on another machine may let two meet
    positions, yaws, sizes = (array[24].copy() for array in everybody(towns[0]))
    positions[0] = positions[-1] + 0.5
    yaws[0], sizes[0] = 0.3, (4.5, 1.8, 1.5)
    assert overlaps(positions, yaws, sizes) > 0  # such a thing would be found


def test_vehicles_drive_on_lanes_and_in_their_direction(towns):
    aside, askew = [], []
    for scene in towns:
        lines = [lane.centers[:, :2] for lane in scene.road.lanes]
        speed = np.hypot(*np.moveaxis(scene.vehicles.velocity[24, :, :2], -1, 0))
        for column in np.flatnonzero(speed > 1.0):
            found = [simple.nearest(line, scene.vehicles.position[24, column, :2]) for line in lines]
            turns = [np.angle(np.exp(1j * (way - scene.vehicles.yaw[24, column]))) for _, way in found]
            best = min(range(len(found)), key=lambda k: found[k][0] + abs(turns[k]))
            aside.append(found[best][0])
            askew.append(abs(turns[best]))
    assert len(aside) > 150
    assert np.quantile(aside, 0.99) < 1.0
    assert np.quantile(askew, 0.95) < 0.25


def test_velocity_and_acceleration_are_those_of_the_motion(towns):
    for scene in towns:
        for tracks, noise in ((scene.vehicles, 0.2), (scene.ego, 0.01)):
            with np.errstate(invalid="ignore"):
                slope = (tracks.position[2:] - tracks.position[:-2]) * 2.5
                change = (tracks.velocity[2:] - tracks.velocity[:-2]) * 2.5
            # Noise of 2 cm in positions is up to 0.25 m/s in their difference, twice 2.5 standard deviations.
            assert np.nanmax(np.abs(slope - tracks.velocity[1:-1]), initial=0) < 0.25 + noise
            assert np.nanmax(np.abs(change - tracks.acceleration[1:-1])[..., :2], initial=0) < 1.0 + 4 * noise
    turned = []
    for scene in towns:
        velocity = scene.ego.velocity[:, 0]
        fast = np.hypot(velocity[:, 0], velocity[:, 1]) > 2.0
        way = np.arctan2(velocity[fast, 1], velocity[fast, 0])
        turned += np.abs(np.angle(np.exp(1j * (way - scene.ego.yaw[fast, 0])))).tolist()
    assert len(turned) > 300
    assert max(turned) < 0.15


def test_nobody_drives_backwards(made):
    for scene in made:
        ahead = np.cos(scene.vehicles.yaw) * scene.vehicles.velocity[..., 0]
        ahead += np.sin(scene.vehicles.yaw) * scene.vehicles.velocity[..., 1]
        assert np.nanmin(ahead) > -0.01  # or agent frames would look back


def test_lanes_join_and_streets_are_paved(towns):
    for scene in towns:
        lines = [lane.centers for lane in scene.road.lanes]
        begins, ends = (np.array([line[at] for line in lines]) for at in (0, -1))
        gaps = np.hypot(*(ends[:, None, :2] - begins[None, :, :2]).transpose(2, 0, 1)).min(axis=1)
        # A lane is followed by another, or it leaves the scene: then an opposite one begins beside it.
        assert (gaps < 25).all()
        assert (gaps < 0.001).mean() > 0.75
        for line, gap in zip(lines, gaps, strict=True):
            if gap < 0.001:
                follower = next(each for each in lines if np.hypot(*(each[0] - line[-1])[:2]) < 0.001)
                first, second = (line[-1] - line[-2])[:2], (follower[1] - follower[0])[:2]
                bend = abs(np.angle(complex(*first) / complex(*second)))
                assert bend < 0.5


def test_scenes_lie_where_their_towns_are_and_hold_what_genuine_ones_do(made, towns):
    for scene in [*made, *towns]:
        assert np.abs(scene.ego.position[:, 0, :2]).max() > 1000
        assert scene.ego.present.all()
        assert 40 <= len(scene.road.lanes) <= 260
        assert 3 <= len(scene.vehicles.ids) <= 45
        speed = np.hypot(scene.vehicles.velocity[..., 0], scene.vehicles.velocity[..., 1])
        assert np.nanmax(speed) < 25
        assert np.nanmax(np.abs(scene.vehicles.acceleration[..., :2])) < 12
    assert np.mean([len(scene.requests) for scene in made]) > 2
    invalid = 1 - sum(len(valid_requests(scene)) for scene in made) / sum(len(scene.requests) for scene in made)
    assert 0.05 < invalid < 0.4
    absent = [~scene.vehicles.present[24, scene.vehicles.column(r.track_id)] for scene in made for r in scene.requests]
    assert any(absent)  # these are interpolated


@pytest.mark.needs_shared
def test_scenes_are_like_the_genuine_one_in_what_can_be_counted(made, shared):
    """Orders of magnitude only: the towns are nobody's copy."""
    genuine = read_scene(shared / "data" / "motion" / "test_scene_2021-05_f509015.pb")

    def figures(scene):
        lengths = [np.hypot(*np.diff(lane.centers[:, :2], axis=0).T) for lane in scene.road.lanes]
        return np.array([
            len(scene.road.lanes), np.median([length.sum() for length in lengths]), np.median(np.concatenate(lengths)),
            scene.vehicles.present.sum(axis=1).mean(), np.nanmedian(scene.vehicles.dimensions[..., 0]),
        ])  # fmt: skip

    ours = np.median([figures(scene) for scene in made if scene.tags.track is City.MOSCOW], axis=0)
    ratio = ours / figures(genuine)
    assert (ratio > 0.25).all()
    assert (ratio < [4, 4, 10, 4, 2]).all()  # genuine lanes have points closer to each other


def test_all_valid_requests_can_be_drawn_and_turned_into_vectors(towns):
    drawn = np.zeros(len(CHANNELS), dtype=bool)
    for scene in towns[::4]:
        asked = [request.track_id for request in valid_requests(scene)]
        maps = feature_maps(scene, asked)
        drawn |= (maps != 0).any(axis=(0, 2, 3))
        assert maps.shape == (len(asked), 17, 128, 128)
        assert np.isfinite(maps).all()
        for track in asked:
            assert agent_history(scene, track).shape == (25, 8)
            assert neighbours(scene, track).mask.any()
            assert polylines(scene, track).mask.sum() > 20
    assert drawn.all()


def test_lights_show_what_they_may_and_some_are_not_made_out(towns):
    states = {state for scene in towns for step in scene.lights for state in step.values()}
    assert states == {0, 1, 2, 3, 4, 5}
    for scene in towns:
        for lane in scene.road.lanes:
            assert lane.sections[1] in {0, *scene.lights[24]}
        for crosswalk in scene.road.crosswalks:
            for rule in crosswalk.rules:
                assert rule.sections[0][0] in scene.lights[24]


@pytest.fixture(scope="module")
def along_lanes(made):
    """How wrong it is to follow the lane, for each request; see `simple.errors`."""
    return simple.errors(made, simple.lane_following)


def test_place_and_weather_shift(made, along_lanes):
    """Simple predictors are clearly worse in other towns; drivers there turn more often."""
    for errors, margin in ((simple.errors(made, simple.constant_velocity), 1.3), (along_lanes, 1.2)):
        found = {"eval_in": [], "eval_out": []}
        for ade, scene, _, _ in errors:
            if (partition := partition_of(scene.tags, "eval")) is not None:
                found[partition].append(ade)
        assert np.mean(found["eval_out"]) > margin * np.mean(found["eval_in"])
    moscow = [request.tags for scene in made if scene.tags.track is City.MOSCOW for request in valid_requests(scene)]
    others = [
        request.tags for scene in made if scene.tags.track is not City.MOSCOW for request in valid_requests(scene)
    ]
    turns = {Maneuver.MOVE_LEFT, Maneuver.MOVE_RIGHT}
    share = [np.mean([bool(turns & set(tags)) for tags in each]) for each in (moscow, others)]
    assert share[1] > 2 * share[0]


def test_speed_tells_where_simple_predictions_fail(along_lanes):
    ade, speed = (np.array([each[place] for each in along_lanes]) for place in (0, 3))
    rank = [np.argsort(np.argsort(values)) for values in (ade, speed)]
    assert np.corrcoef(*rank)[0, 1] > 0.3


def test_following_the_lane_is_better_than_straight_on_in_bends(towns):
    bent = [scene for scene in towns if scene.tags.track in (City.MODIIN, City.SKOLKOVO)]
    straight, lanes = (
        np.mean([each[0] for each in simple.errors(bent, predict)])
        for predict in (simple.constant_velocity, simple.lane_following)
    )
    assert lanes < straight


def test_weather_changes_speed_and_braking():
    for city, usual in HABITS.items():
        dry, rain, snow = (habits_in(city, each) for each in (Precipitation.NO, Precipitation.RAIN, Precipitation.SNOW))
        assert dry == usual
        assert snow.speed < rain.speed < dry.speed
        assert snow.braking < rain.braking < dry.braking
        assert snow.wander_m > rain.wander_m > dry.wander_m


@pytest.fixture(scope="module")
def errors_in():
    """The mean errors of simple predictors in as many scenes of the same town, by weather."""

    def errors(weather):
        found = list(scenes("eval", 24, seed=3, weather=(City.MOSCOW, weather)))
        return [
            np.mean([ade for ade, *_ in simple.errors(found, predict)])
            for predict in (simple.constant_velocity, simple.lane_following)
        ]

    return cache(errors)


@pytest.mark.parametrize("weather", [Precipitation.RAIN, Precipitation.SNOW])
def test_weather_alone_makes_a_town_hard_to_predict(weather, errors_in):
    """Simple predictors are worse by a fifth or more."""
    for wet, dry in zip(errors_in(weather), errors_in(Precipitation.NO), strict=True):
        assert wet > 1.2 * dry


def test_tags_fit_together(towns):
    for scene in towns:
        assert scene.tags.season in (Season.SUMMER, Season.AUTUMN, Season.WINTER)
        if scene.tags.precipitation is Precipitation.SNOW:
            assert scene.tags.season is Season.WINTER
            assert scene.tags.track not in (City.TEL_AVIV, City.MODIIN)
    assert len({scene.tags.sun_phase for scene in towns} - {SunPhase.UNKNOWN}) == 3
