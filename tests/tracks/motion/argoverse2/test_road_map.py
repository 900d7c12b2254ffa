"""Vector maps of Argoverse 2 become roads."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.argoverse2.road_map import cropped, read_map
from tests.tracks.motion.argoverse2 import made


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return made.road_map(tmp_path / "map.json")


def _changed(path: Path, part: str, key: str, **fields) -> None:
    found = json.loads(path.read_text())
    found[part][key].update(fields)
    path.write_text(json.dumps(found))


def test_a_centre_lies_midway_between_its_boundaries(path: Path) -> None:
    lane = read_map(path).road.lanes[0]
    expected = made.in_city(np.linspace(-40, 120, 81), np.zeros(81))
    np.testing.assert_allclose(lane.centers[:, :2], expected, atol=1e-9)
    assert not lane.centers[:, 2].any()
    assert (lane.max_velocity, lane.gives_way, lane.sections) == (0.0, False, (0, 0, 0))


def test_a_centre_that_is_given_is_taken(tmp_path: Path) -> None:
    lane = read_map(made.road_map(tmp_path / "map.json", centres=True), speed_limit_ms=13.9).road.lanes[0]
    np.testing.assert_allclose(lane.centers[:, :2], made.in_city(np.array([-40.0, 120]), np.zeros(2)))
    assert lane.max_velocity == 13.9


def test_bike_lanes_are_left_out_and_counted(path: Path) -> None:
    found = read_map(path)
    assert len(found.road.lanes) == 2
    assert found.left_out == {"lane of type BIKE": 1}


@pytest.mark.parametrize("against", [False, True])
def test_a_crossing_is_a_simple_polygon_whichever_way_its_edges_run(path: Path, against: bool) -> None:
    if against:
        edges = json.loads(path.read_text())["pedestrian_crossings"]["4"]
        _changed(path, "pedestrian_crossings", "4", edge2=edges["edge2"][::-1])
    x, y = read_map(path).road.crosswalks[0].polygon[:, :2].T
    area = abs((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()) / 2
    assert area == pytest.approx(4 * 12, rel=1e-9)


def test_cropping_keeps_what_reaches_into_the_box(path: Path) -> None:
    road = read_map(path).road
    here = made.in_city(np.array(0.0), np.array(0.0))
    near = cropped(road, here - 1, here + 1)
    assert (len(near.lanes), len(near.crosswalks), len(near.polygons)) == (1, 0, 1)
    assert len(cropped(road, here - 1e5, here + 1e5).lanes) == 2


def test_all_lines_that_are_none_are_named(path: Path) -> None:
    _changed(path, "lane_segments", "1", left_lane_boundary=[{"x": 1}])
    _changed(path, "lane_segments", "2", right_lane_boundary=[{"x": 1, "y": float("nan")}] * 2)
    _changed(path, "pedestrian_crossings", "4", edge1=None)
    _changed(path, "drivable_areas", "5", area_boundary=[{"x": 1, "y": 2}] * 2)
    with pytest.raises(ShiftbenchError, match=r"lane_segments 1: expected left_lane_boundary of 2 or more") as caught:
        read_map(path)
    assert len(caught.value.problems) == 4
    assert "drivable_areas 5: expected area_boundary of 3 or more" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "list"),
        ('{"a": 1}', "a"),
        ('{"lane_segments": 3}', "lane_segments"),
        ("{", "Expecting"),
        ("\xff", "utf-8"),
    ],
)
def test_files_that_are_no_map_are_refused(text: str, found: str, tmp_path: Path) -> None:
    path = tmp_path / "map.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ShiftbenchError, match=rf"map.json: expected .*{found}"):
        read_map(path)
