"""Recordings of Argoverse 2 become the scenes that they show."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion import read_scene, valid_requests, write_scene
from shiftbench.tracks.motion.argoverse2 import Settings, read, scenes_of, sources
from shiftbench.tracks.motion.argoverse2.categories import EGO_AXLE_TO_CENTRE_M
from shiftbench.tracks.motion.argoverse2.recording import track_id
from shiftbench.tracks.motion.partitions import partition_of
from shiftbench.tracks.motion.schema import PAST, STEPS, Maneuver, SceneTags
from tests.tracks.motion.argoverse2 import made
from tests.tracks.motion.made_scene import assert_same

NAMES = {track_id(name): name for name in made.paths(np.zeros(1))}


def assert_true(scene, start_s):
    """Every vehicle of a scene is where it was put, and moves as it does."""
    time = start_s + np.arange(STEPS) / 5
    everyone = made.paths(time)
    for column, identity in enumerate(scene.vehicles.ids.tolist()):
        _, x, y, yaw = everyone[NAMES[identity]]
        np.testing.assert_allclose(scene.vehicles.position[:, column, :2], made.in_city(x, y), atol=1e-6)
        turned = (scene.vehicles.yaw[:, column] - yaw - made.TURN + np.pi) % (2 * np.pi) - np.pi
        np.testing.assert_allclose(turned, 0, atol=1e-9)
        speed = np.hypot(*scene.vehicles.velocity[:, column, :2].T)
        expected = {"straight": 8.0, "turning": 4.0, "parked": 0.0}[NAMES[identity]]
        np.testing.assert_allclose(speed, expected, atol=1e-3)
        inward = np.hypot(*scene.vehicles.acceleration[1:, column, :2].T)
        expected = 0.8 if NAMES[identity] == "turning" else 0.0
        np.testing.assert_allclose(inward, expected, atol=2e-3)


def test_a_log_becomes_windows_of_five_hertz_in_the_frame_of_the_city(tmp_path: Path) -> None:
    scenes = list(read(made.log(tmp_path / "log")))
    assert [scene.id for scene in scenes] == [f"log_0{start}.2s" for start in range(6)]
    for start, scene in enumerate(scenes):
        assert_true(scene, start + 0.2)
        x, y, yaw = made.ego_path(start + 0.2 + np.arange(STEPS) / 5)
        ahead = EGO_AXLE_TO_CENTRE_M * np.stack([np.cos(yaw), np.sin(yaw)])
        expected = made.in_city(x + ahead[0], y + ahead[1])
        np.testing.assert_allclose(scene.ego.position[:, 0, :2], expected, atol=1e-6)
        assert scene.pedestrians.ids.tolist() == [track_id("walker")]
        assert set(scene.vehicles.ids.tolist()) == {track_id(name) for name in ("straight", "turning", "parked")}


def test_a_scenario_is_one_window_whose_present_is_the_last_observed_sweep(tmp_path: Path) -> None:
    (scene,) = read(made.scenario(tmp_path))
    assert_true(scene, 0.1)
    column = scene.vehicles.column(track_id("turning"))
    np.testing.assert_array_equal(scene.vehicles.dimensions[0, column], (12.0, 2.9, 3.2))


def test_asked_for_is_what_moves_and_the_focal_track(tmp_path: Path) -> None:
    def asked(scene):
        return {NAMES[request.track_id] for request in scene.requests}

    (scenario,) = read(made.scenario(tmp_path / "scenario"))
    log = next(read(made.log(tmp_path / "log")))
    assert asked(scenario) == {"straight", "turning", "parked"}
    assert asked(log) == {"straight", "turning"}
    assert next(read(tmp_path / "log", settings=Settings(moved_m=30))).requests[0].track_id == track_id("straight")
    assert valid_requests(log) == log.requests
    tags = {NAMES[request.track_id]: set(request.tags) for request in scenario.requests}
    assert tags["straight"] == {Maneuver.MOVE_FORWARD, Maneuver.UNIFORM}
    assert tags["turning"] == {Maneuver.MOVE_LEFT, Maneuver.UNIFORM}
    assert tags["parked"] == {Maneuver.STATIONARY, Maneuver.UNIFORM}


def test_imported_scenes_are_in_no_partition(tmp_path: Path) -> None:
    (scene,) = read(made.scenario(tmp_path))
    assert scene.tags == SceneTags()
    assert [dict(step) for step in scene.lights] == [{}] * PAST
    assert partition_of(scene.tags, "eval") is None


@pytest.mark.parametrize("make", [made.log, made.scenario])
def test_scenes_are_the_same_after_writing_and_reading(make, tmp_path: Path) -> None:
    for number, scene in enumerate(read(make(tmp_path))):
        write_scene(scene, tmp_path / f"{number}.pb")
        assert_same(read_scene(tmp_path / f"{number}.pb"), scene)


def test_what_has_no_place_in_a_scene_is_counted(tmp_path: Path) -> None:
    def once(frame):
        return frame.filter((pl.col("track_uuid") != "walker") | (pl.col("timestamp_ns") == made.START_NS))

    def gap(frame):
        return frame.filter(pl.col("timestamp_ns") != made.START_NS + 153 * made.STEP_NS)

    (log,) = sources(made.log(tmp_path / "log", boxes=lambda frame: gap(once(frame))))
    cut = scenes_of(log)
    assert cut.left_out == {"CONSTRUCTION_CONE": 1, "lane of type BIKE": 1, "velocity not known": 1}
    assert len(cut.scenes) == 6  # the gap comes after the last window's last sweep

    def early_gap(frame):
        return frame.filter(pl.col("timestamp_ns") != made.START_NS + 20 * made.STEP_NS)

    (log,) = sources(made.log(tmp_path / "log", boxes=early_gap))
    cut = scenes_of(log)
    assert cut.left_out["windows with a gap"] == 2
    assert [scene.id for scene in cut.scenes] == [f"log_0{start}.2s" for start in (2, 3, 4, 5)]


def test_a_track_that_comes_and_goes_is_absent_in_between(tmp_path: Path) -> None:
    hidden = made.START_NS + made.STEP_NS * np.array([20, 21, 22, 23, 24])

    def hide(frame):
        return frame.filter(~((pl.col("track_uuid") == "straight") & pl.col("timestamp_ns").is_in(hidden.tolist())))

    scene = next(read(made.log(tmp_path, boxes=hide)))
    column = scene.vehicles.column(track_id("straight"))
    assert np.flatnonzero(~scene.vehicles.present[:, column]).tolist() == [9, 10, 11]
    np.testing.assert_allclose(scene.vehicles.velocity[[8, 12], column, :2] @ [np.cos(0.7), np.sin(0.7)], 8.0)


def test_ids_are_the_same_in_every_window_and_recording() -> None:
    assert track_id("138902") == 138902
    assert track_id("AV") >= 2**63
    assert track_id("9" * 30) >= 2**63
    assert len({track_id(f"track {number}") for number in range(1000)}) == 1000


def test_leading_zeros_make_another_track(tmp_path: Path) -> None:
    def named(frame):
        names = {"straight": "7", "turning": "007", "parked": "0"}
        return frame.with_columns(pl.col("track_id").replace(names), focal_track_id=pl.lit("007"))

    (scene,) = read(made.scenario(tmp_path, states=named))
    assert {7, 0, track_id("007")} == set(scene.vehicles.ids.tolist())
    assert {7, track_id("007")} == {request.track_id for request in scene.requests}
    assert track_id("007") >= 2**63
    write_scene(scene, tmp_path / "scene.pb")


def test_a_stride_of_two_seconds_yields_half_the_windows(tmp_path: Path) -> None:
    scenes = read(made.log(tmp_path), settings=Settings(stride_s=2.0))
    assert [scene.id[-5:] for scene in scenes] == ["00.2s", "02.2s", "04.2s"]


def test_settings_that_are_none_are_refused_together() -> None:
    with pytest.raises(SettingsError, match=r"stride_s: expected a finite number from 0.1 up, found 0") as caught:
        Settings(stride_s=0, moved_m=float("nan"))
    assert len(caught.value.problems) == 2


# --- bad input ------------------------------------------------------------------------------------------------------


def _cut_off(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("name", ["annotations.feather", "city_SE3_egovehicle.feather"])
def test_a_log_that_is_cut_off_is_named(name: str, tmp_path: Path) -> None:
    _cut_off(made.log(tmp_path) / name)
    with pytest.raises(ShiftbenchError, match=rf"{name}: expected"):
        list(read(tmp_path))


def test_a_scenario_that_is_cut_off_or_foreign_is_named(tmp_path: Path) -> None:
    path = made.scenario(tmp_path) / "scenario_made.parquet"
    _cut_off(path)
    with pytest.raises(ShiftbenchError, match=r"scenario_made.parquet: expected"):
        list(read(tmp_path))
    pl.DataFrame({"x": [1.0]}).write_parquet(path)
    with pytest.raises(ShiftbenchError, match=r"expected a column 'track_id'"):
        list(read(tmp_path))


def test_all_problems_of_a_log_come_at_once(tmp_path: Path) -> None:
    def spoil(frame):
        head = frame.head(1)
        flat = pl.when(pl.arange(0, pl.len()) == 9).then(0.0).otherwise(pl.col("length_m"))
        none = [
            pl.when(pl.arange(0, pl.len()) == 7).then(0.0).otherwise(pl.col(name)).alias(name) for name in ("qw", "qz")
        ]
        return pl.concat([frame.with_columns(flat.alias("length_m"), *none), head])

    def twice(frame):
        return pl.concat([frame.filter(frame["timestamp_ns"] != frame["timestamp_ns"][5]), frame.head(2)])

    made.log(tmp_path, sweeps=60, boxes=spoil, poses=twice)
    (tmp_path / "map" / "log_map_archive_made____PIT_city_1.json").write_text('{"lane_segments": {}')
    with pytest.raises(ShiftbenchError, match="expected") as caught:
        list(read(tmp_path))
    text = str(caught.value)
    for part in (
        "timestamp_ns and track_uuid: expected each once, found 1 more than once",
        "timestamp_ns: expected each once, found 2 more than once",
        "expected at least 101 sweeps (10 s at 10 Hz), found 60",
        "expected norm 1, found 0 in row 7 (1 such rows)",
        "expected sizes above 0 m, found others in 1 box",
        "expected a pose at each of 60 sweeps, found 59",
        "expected a map in JSON, found",
    ):
        assert part in text, part


def test_columns_of_the_wrong_kind_and_values_that_are_none_are_named_together(tmp_path: Path) -> None:
    def spoil(frame):
        return frame.with_columns(
            pl.col("heading").cast(pl.String),
            pl.when(pl.arange(0, pl.len()) == 3).then(float("inf")).otherwise(pl.col("position_x")).alias("position_x"),
            pl.when(pl.arange(0, pl.len()) == 4).then(None).otherwise(pl.col("track_id")).alias("track_id"),
        )

    made.scenario(tmp_path, states=spoil)
    with pytest.raises(ShiftbenchError, match=r"'heading': expected a number, found String") as caught:
        list(read(tmp_path))
    assert "'position_x': expected a number in every row, found none, NaN or infinity in 1 row (first 3)" in str(
        caught.value
    )
    assert "'track_id': expected text in every row" in str(caught.value)


def test_timestamps_beyond_64_bits_with_a_sign_are_named_with_their_file(tmp_path: Path) -> None:
    made.log(
        tmp_path,
        boxes=lambda frame: frame.with_columns(pl.col("timestamp_ns").cast(pl.UInt64) + 2**63),
        poses=lambda frame: frame.with_columns(pl.col("timestamp_ns").cast(pl.UInt64)),
    )
    message = r"annotations\.feather: column 'timestamp_ns': expected integers of 64 bits with a sign, found 780 beyond"
    with pytest.raises(ShiftbenchError, match=message) as caught:
        list(read(tmp_path))
    assert not [problem for problem in caught.value.problems if "\n" in problem]


def test_unsigned_timestamps_that_fit_are_read(tmp_path: Path) -> None:
    made.log(tmp_path, boxes=lambda frame: frame.with_columns(pl.col("timestamp_ns").cast(pl.UInt64)))
    assert len(list(read(tmp_path))) == 6


@pytest.mark.parametrize(
    ("sweeps", "states", "message"),
    [
        (50, None, r"timestep: expected all of 0 to 109, found 50 from 0 to 49.*test part"),
        (110, lambda frame: frame.filter(frame["track_id"] != "AV"), r"track AV: expected .* 110 steps, found 0"),
        (110, lambda frame: pl.concat([frame, frame.head(3)]), r"timestep and track_id: expected each once, found 3"),
        (110, lambda frame: frame.with_columns(focal_track_id=pl.lit("?")), r"focal_track_id: .* found '\?'"),
        (110, lambda frame: frame.with_columns(scenario_id=pl.col("track_id")), r"scenario_id: expected one, found 6"),
    ],
)
def test_scenarios_that_are_none_are_refused(sweeps: int, states, message: str, tmp_path: Path) -> None:
    made.scenario(tmp_path, sweeps=sweeps, **({"states": states} if states else {}))
    with pytest.raises(ShiftbenchError, match=message):
        list(read(tmp_path))


def test_a_log_full_of_gaps_has_no_window(tmp_path: Path) -> None:
    def gaps(frame):
        return frame.filter((frame["timestamp_ns"] - made.START_NS) // made.STEP_NS % 40 != 0)

    made.log(tmp_path, boxes=gaps)
    with pytest.raises(ShiftbenchError, match=r"expected 101 sweeps 0.1 s apart somewhere, found 3 gaps among 152"):
        list(read(tmp_path))


def test_folders_without_a_whole_recording_are_all_named(tmp_path: Path) -> None:
    with pytest.raises(ShiftbenchError, match=r"found nothing. Check the path"):
        sources(tmp_path / "nowhere")
    with pytest.raises(ShiftbenchError, match=r"found neither"):
        sources(tmp_path)
    next((made.log(tmp_path / "a") / "map").iterdir()).unlink()
    (made.log(tmp_path / "b") / "city_SE3_egovehicle.feather").unlink()
    (made.log(tmp_path / "c") / "annotations.feather").unlink()
    with pytest.raises(ShiftbenchError, match=r"expected one log_map_archive_\*\.json, found none") as caught:
        sources(tmp_path)
    assert len(caught.value.problems) == 3


def test_a_recording_that_comes_twice_is_refused(tmp_path: Path) -> None:
    made.scenario(tmp_path / "a")
    made.scenario(tmp_path / "b")
    with pytest.raises(ShiftbenchError, match=r"expected each recording once, found made in .*a too"):
        sources(tmp_path)


# --- genuine --------------------------------------------------------------------------------------------------------


@pytest.mark.needs_shared
def test_genuine_recordings_drive_on_their_lanes_in_their_direction(shared: Path) -> None:
    """Of those that move, within 80 m of the ego vehicle, nearly all are at a lane that goes their way.

    Further away the maps end before the road does.
    """
    folder = shared / "data" / "motion" / "argoverse2"
    recordings = sources(folder)
    assert len(recordings) == 3
    near, scenes = [], [scene for source in recordings for scene in scenes_of(source).scenes]
    assert len(scenes) == 1 + 6 + 6
    for scene in scenes:
        starts = np.concatenate([lane.centers[:-1, :2] for lane in scene.road.lanes])
        ways = np.concatenate([np.diff(lane.centers[:, :2], axis=0) for lane in scene.road.lanes])
        velocity, position = scene.vehicles.velocity[PAST - 1, :, :2], scene.vehicles.position[PAST - 1, :, :2]
        for place, moving in zip(position, velocity, strict=True):
            if np.hypot(*moving) > 3 and np.hypot(*(place - scene.ego.position[PAST - 1, 0, :2])) < 80:
                share = np.clip(((place - starts) * ways).sum(1) / (ways**2).sum(1), 0, 1)
                away = np.hypot(*(starts + share[:, None] * ways - place).T)
                along = ways @ moving / np.linalg.norm(ways, axis=1) / np.hypot(*moving)
                near.append((away[along > 0.9] < 2.5).any())
        assert all(request.tags for request in scene.requests)
    assert len(near) > 100
    assert np.mean(near) > 0.94


@pytest.mark.needs_shared
def test_genuine_parked_cars_stand(shared: Path) -> None:
    scene = next(read(shared / "data" / "motion" / "argoverse2" / "sensor_logs"))
    speed = np.hypot(*np.moveaxis(scene.vehicles.velocity[..., :2], -1, 0))
    assert np.nanmedian(speed) < 1.0  # most are parked, and their boxes hardly jitter
    with pytest.raises(UnknownNameError, match="Unknown part"):
        partition_of(scene.tags, "argoverse2")
