"""No state of a scene tells anything of what was measured after it."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.io.tables import read_table
from shiftbench.tracks.motion.argoverse2 import read, scenes_of, sources
from shiftbench.tracks.motion.argoverse2.recording import Observed, motion, track_id
from shiftbench.tracks.motion.scenes.scene import Scene, message_of
from shiftbench.tracks.motion.schema import PAST
from tests.tracks.motion.argoverse2 import made

FUTURE = [f"future_{kind}" for kind in ("vehicle_tracks", "pedestrian_tracks", "ego_track")]
PRESENT = 2 + 2 * (PAST - 1)  # the sweep of T = 0 of a log's first window


def past(scene: Scene) -> bytes:
    """The bytes of a scene without its future, and what is asked of it."""
    message = message_of(scene)
    for name in (*FUTURE, "prediction_requests"):
        message.ClearField(name)
    return message.SerializeToString(deterministic=True)


def _random(frame: pl.DataFrame, columns: list[str], seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return frame.with_columns(
        pl.Series(name, frame[name].to_numpy() + rng.normal(0, 100, frame.height)) for name in columns
    )


def _turned(frame: pl.DataFrame, seed: int) -> pl.DataFrame:
    half = np.random.default_rng(seed).uniform(-3, 3, frame.height)
    return frame.with_columns(qw=np.cos(half), qx=0 * half, qy=0 * half, qz=np.sin(half))


def moved(rest: pl.DataFrame) -> pl.DataFrame:
    """Everyone somewhere else, turned and of another size."""
    sizes = [pl.col(name) * 3 for name in ("length_m", "width_m", "height_m")]
    return _turned(_random(rest, ["tx_m", "ty_m", "tz_m"], 1), 2).with_columns(sizes)


def gone(rest: pl.DataFrame) -> pl.DataFrame:
    return rest.filter(pl.col("track_uuid") == "cone")  # so that there are sweeps


def joined(rest: pl.DataFrame) -> pl.DataFrame:
    """Many more, whose names come first, between and last."""
    more = [moved(rest.with_columns(track_uuid=pl.lit(head) + pl.col("track_uuid"))) for head in ("0", "q", "z")]
    return pl.concat([*more, rest])


def glimpsed(frame: pl.DataFrame, present: int) -> pl.DataFrame:
    """Tracks that are seen for the first time at T = 0 or one sweep before it, and others only until then."""
    sweep = (pl.col("timestamp_ns") - made.START_NS) // made.STEP_NS
    car = frame.filter(pl.col("track_uuid") == "straight")
    from_then = [car.filter(sweep >= present - k).with_columns(track_uuid=pl.lit(f"from {k}")) for k in (0, 1)]
    until = [car.filter(sweep.is_in([present, present - k])).with_columns(track_uuid=pl.lit(f"at {k}")) for k in (0, 1)]
    return pl.concat([frame, *from_then, *until]).sort("timestamp_ns", maintain_order=True)


def after(frame: pl.DataFrame, present: int, change) -> pl.DataFrame:
    """A table of a log whose rows after a sweep are changed."""
    late = pl.col("timestamp_ns") > made.START_NS + present * made.STEP_NS
    return pl.concat([frame.filter(~late), change(frame.filter(late))])


@pytest.mark.parametrize("change", [moved, gone, joined])
@pytest.mark.parametrize("window", [0, 3])
def test_whatever_a_log_shows_after_the_present_no_byte_of_the_past_changes(
    change, window: int, tmp_path: Path
) -> None:
    present = PRESENT + 10 * window
    made.log(tmp_path / "a", boxes=lambda frame: glimpsed(frame, present))
    made.log(
        tmp_path / "b",
        boxes=lambda frame: after(glimpsed(frame, present), present, change),
        poses=lambda frame: after(frame, present, lambda rest: _turned(_random(rest, ["tx_m", "ty_m"], 3), 4)),
    )
    before, changed = (list(read(tmp_path / name))[window] for name in "ab")
    names = {
        name for name in ("from 0", "from 1", "at 0", "at 1")
        if (column := before.vehicles.column(track_id(name))) is not None and before.vehicles.present[PAST - 1, column]
    }  # fmt: skip
    assert names == {"from 1", "at 1"}  # those seen twice by then
    before, changed = (_renamed(scene) for scene in (before, changed))
    assert past(before) == past(changed)
    assert message_of(before) != message_of(changed)


def turned_away(frame: pl.DataFrame) -> pl.DataFrame:
    """States of a scenario by a quarter turn about the origin of the city: still such as a recording may have."""
    x, y, v_x, v_y = (pl.col(name) for name in ("position_x", "position_y", "velocity_x", "velocity_y"))
    return frame.with_columns(
        position_x=-y, position_y=x, velocity_x=-v_y, velocity_y=v_x, heading=pl.col("heading") + 1
    )


def _renamed(scene: Scene) -> Scene:
    """The scene under the one name, for logs are called as their folders."""
    object.__setattr__(scene, "id", "scene")
    return scene


def test_whatever_a_scenario_shows_after_the_present_no_byte_of_the_past_changes(tmp_path: Path) -> None:
    def changed(frame: pl.DataFrame) -> pl.DataFrame:
        late = pl.col("timestep") > 49
        rest = turned_away(frame.filter(late)).filter(pl.col("track_id") != "straight")
        return pl.concat([rest, rest.filter(pl.col("track_id") == "turning").with_columns(track_id=pl.lit("0")),
                          frame.filter(~late)])  # fmt: skip

    (before,) = read(made.scenario(tmp_path / "a"))
    (after_it,) = read(made.scenario(tmp_path / "b", states=changed))
    assert past(before) == past(after_it)
    assert message_of(before) != message_of(after_it)


@pytest.mark.needs_shared
def test_whatever_a_genuine_log_shows_after_the_present_no_byte_of_the_past_changes(
    shared: Path, tmp_path: Path
) -> None:
    source = sources(shared / "data" / "motion" / "argoverse2" / "sensor_logs")[0]
    copy = shutil.copytree(source.folder, tmp_path / source.id)
    present = read_table(source.table)["timestamp_ns"].unique().sort()[PRESENT]
    for name in (source.table.name, "city_SE3_egovehicle.feather"):
        frame = read_table(source.folder / name)
        late = pl.col("timestamp_ns") > present
        rest = _random(_turned(frame.filter(late), 6), ["tx_m", "ty_m"], 7)
        (copy / name).unlink()
        pl.concat([frame.filter(~late), rest]).write_ipc(copy / name)
    before, changed = (scenes_of(each).scenes[0] for each in (source, sources(copy)[0]))
    assert past(before) == past(changed)
    assert message_of(before) != message_of(changed)


def _observed(sweeps: list[int], positions: np.ndarray, velocity: np.ndarray | None = None) -> Observed:
    count = len(sweeps)
    names = np.array(["1"] * count, dtype=object)
    return Observed(names, np.array(sweeps), positions, np.zeros(count), np.ones((count, 3)), velocity)


def test_velocity_and_acceleration_are_differences_to_the_time_seen_before() -> None:
    rng = np.random.default_rng(8)
    sweeps, time = [1, 2, 3, 6, 7, 13, 14, 15], np.arange(20) / 10
    at = rng.normal(size=(len(sweeps), 2))
    found, without = motion(_observed(sweeps, at), time)
    assert without == 0
    place, velocity, acceleration = dict(zip(sweeps, at, strict=True)), {}, {}
    for before, now in [(1, 2), (2, 3), (3, 6), (6, 7), (13, 14), (14, 15)]:  # from 7 to 13 is too long
        velocity[now] = (place[now] - place[before]) / (time[now] - time[before])
        acceleration[now] = (velocity[now] - velocity.get(before, velocity[now])) / (time[now] - time[before])
    assert np.flatnonzero(np.isfinite(found.yaw[:, 0])).tolist() == list(velocity)
    np.testing.assert_allclose(found.velocity[list(velocity), 0], list(velocity.values()))
    np.testing.assert_allclose(found.acceleration[list(velocity), 0], list(acceleration.values()), atol=1e-9)


def test_half_a_second_is_not_too_long_wherever_it_lies() -> None:
    time, given = np.arange(110) / 10, np.array([[5.0, 0], [6, 0]])
    for first in range(105):
        found, _ = motion(_observed([first, first + 5], np.zeros((2, 2)), given), time)
        np.testing.assert_allclose(found.acceleration[first + 5, 0], [2.0, 0.0], err_msg=str(first))
        found, _ = motion(_observed([first, first + 5], np.array([[0.0, 0], [2.5, 0]])), time)
        np.testing.assert_allclose(found.velocity[first + 5, 0], [5.0, 0.0], err_msg=str(first))
    for first in range(104):
        found, _ = motion(_observed([first, first + 6], np.zeros((2, 2)), given), time)
        assert found.acceleration[first + 6, 0].tolist() == [0, 0]


def test_velocities_that_are_given_stay_and_begin_the_track() -> None:
    given = np.array([[1.0, 2], [3, 5], [9, 9]])
    found, without = motion(_observed([0, 1, 9], np.zeros((3, 2)), given), np.arange(10) / 10)
    assert without == 0
    np.testing.assert_array_equal(found.velocity[[0, 1, 9], 0], given)
    np.testing.assert_allclose(found.acceleration[[0, 1, 9], 0], [[0, 0], [20, 30], [0, 0]])
