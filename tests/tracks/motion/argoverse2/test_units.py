"""Other units than metres, radians and metres a second are refused, where it is certain."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.argoverse2 import read
from shiftbench.tracks.motion.argoverse2.columns import check_headings, check_velocities
from tests.tracks.motion.argoverse2 import made

VELOCITY, POSITION = pl.col("velocity_x", "velocity_y"), pl.col("position_x", "position_y")


@pytest.mark.parametrize(
    ("states", "message"),
    [
        (pl.col("heading").degrees(), r"heading: expected radians within ±2π, found .*Convert degrees"),
        (pl.col("heading") + 1e300, r"heading: expected radians within ±2π, found 660 others \(up to 1e\+300"),
        (VELOCITY * 3.6, r"velocity_x, velocity_y: expected .* found 3\.6 times the way travelled \(median of 3 "),
        (VELOCITY * 2.237, r"found 2\.24 times the way travelled"),
        (VELOCITY * 0, r"found 0 times the way travelled"),
        (VELOCITY * 1e300, r"times the way travelled"),
        (POSITION * 10, r"found 0\.1 times the way travelled"),
        (
            POSITION * 1e6,
            r"position_x, position_y: expected places within 1000 m of the ego vehicle, found 550 further",
        ),
        (POSITION * 1e300, r"position_x, position_y: expected places within 1000 m of the ego vehicle"),
    ],
)
def test_a_scenario_of_other_units_is_refused(states: pl.Expr, message: str, tmp_path: Path) -> None:
    made.scenario(tmp_path, states=lambda frame: frame.with_columns(states))
    with pytest.raises(ShiftbenchError, match=message):
        list(read(tmp_path))


@pytest.mark.parametrize("factor", [100, 1e6, 1e300])
def test_a_log_whose_boxes_are_further_away_than_anybody_sees_is_refused(factor: float, tmp_path: Path) -> None:
    made.log(tmp_path, boxes=lambda frame: frame.with_columns(pl.col("tx_m", "ty_m") * factor))
    with pytest.raises(ShiftbenchError, match=r"tx_m, ty_m, tz_m: expected places within 1000 m of the ego vehicle"):
        list(read(tmp_path))


def test_all_that_is_wrong_with_units_comes_at_once(tmp_path: Path) -> None:
    made.scenario(tmp_path, states=lambda frame: frame.with_columns(pl.col("heading").degrees(), VELOCITY * 3.6))
    with pytest.raises(ShiftbenchError, match="heading: expected radians") as caught:
        list(read(tmp_path))
    assert len(caught.value.problems) == 2


def test_headings_of_a_whole_turn_pass_in_every_precision() -> None:
    problems: list[str] = []
    for kind in (np.float32, np.float64):
        turns = np.array([-2 * np.pi, 0, 2 * np.pi]).astype(kind).astype(float)
        check_headings(pl.Series("heading", turns), problems)
    assert not problems
    check_headings(pl.Series("heading", [6.3]), problems)
    assert len(problems) == 1


def _moving(tracks: int, *, factor: float, gap: bool = False, way_m: float = 50.0, head: str = "") -> pl.DataFrame:
    """Tracks that go straight, with velocities that are `factor` times theirs."""
    step = np.arange(0, 110, 9 if gap else 1)
    frames = [
        pl.DataFrame(
            {"track_id": [f"{head}{track}"] * len(step), "timestep": step, "position_x": way_m / 11 * step / 10}
        )
        for track in range(tracks)
    ]
    still = pl.lit(0.0)
    return pl.concat(frames).with_columns(position_y=still, velocity_x=pl.lit(factor * way_m / 11), velocity_y=still)


@pytest.mark.parametrize(
    ("frame", "refused"),
    [
        (_moving(3, factor=3.6), True),
        (_moving(2, factor=3.6), False),  # too few to be certain
        (_moving(9, factor=3.6, way_m=10.0), False),  # too slow to tell
        (_moving(9, factor=3.6, gap=True), False),  # nobody is seen for a second
        (_moving(9, factor=1.7), False),
        (_moving(9, factor=0.6), False),
        (pl.concat([_moving(3, factor=1.0), _moving(2, factor=9.0, head="x")]), False),
        (_moving(9, factor=3.6).head(3), False),
    ],
)  # fmt: skip
def test_velocities_are_refused_only_where_most_of_several_moving_tracks_say_so(
    frame: pl.DataFrame, refused: bool
) -> None:
    problems: list[str] = []
    check_velocities(frame, problems)
    assert bool(problems) == refused


def test_parked_cars_whose_boxes_jump_say_nothing() -> None:
    jump = pl.when(pl.col("timestep") > 60).then(5.0).otherwise(0.0)
    frame = _moving(9, factor=0.0).with_columns(position_x=jump)
    problems: list[str] = []
    check_velocities(frame, problems)
    check_velocities(frame.filter(pl.col("timestep").is_between(50, 65)), problems)  # seen but for a moment
    assert not problems


def test_velocities_turn_with_the_track() -> None:
    time = np.arange(110) / 10
    frames = [
        pl.DataFrame(
            {
                "track_id": [str(number)] * 110,
                "timestep": np.arange(110),
                "position_x": 30 * np.cos(time / 3 + number),
                "position_y": 30 * np.sin(time / 3 + number),
                "velocity_x": -10 * np.sin(time / 3 + number),
                "velocity_y": 10 * np.cos(time / 3 + number),
            }
        )
        for number in range(4)
    ]
    frame = pl.concat(frames).sample(fraction=1.0, shuffle=True, seed=3)
    problems: list[str] = []
    check_velocities(frame, problems)
    assert not problems
    check_velocities(frame.with_columns(VELOCITY * 2), problems)
    assert "found 2 times the way travelled (median of 4 moving tracks)" in problems[0]
