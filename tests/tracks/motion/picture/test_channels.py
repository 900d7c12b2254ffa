from __future__ import annotations

import numpy as np
import pytest

from shiftbench.errors import UnknownNameError
from shiftbench.tracks.motion.maps.feature_map import feature_map
from shiftbench.tracks.motion.maps.map_settings import CHANNELS, MapSettings
from shiftbench.tracks.motion.picture import feature_map_figure, write_png
from shiftbench.tracks.motion.picture.channels import upright
from shiftbench.tracks.motion.picture.view import request_view

from .hostile import crossing, scenes


def panels(figure):
    return [axes for axes in figure.axes if axes.get_title() and axes.images]


def test_every_channel_has_a_panel_with_its_name():
    figure = feature_map_figure(crossing(), 7)
    titles = [axes.get_title() for axes in panels(figure)]
    assert len(titles) == len(CHANNELS)
    assert titles[0] == "vehicles: occupancy"
    assert titles[6] == "pedestrians: occupancy, none"
    assert len(set(titles)) == len(titles)


def test_a_map_is_drawn_the_right_way_up():
    plane = np.zeros((8, 6), dtype=np.float32)  # left-hand side towards higher rows, forwards towards higher columns
    plane[7, 5] = 1
    plane[7, 0] = 2
    drawn = upright(plane)
    assert drawn.shape == (6, 8)
    assert drawn[0, 0] == 1  # ahead to the left
    assert drawn[5, 0] == 2  # behind to the left


def test_a_map_and_the_picture_of_its_scene_agree():
    of = crossing()
    drawn = upright(feature_map(of, 7, size=120, channels=["road_graph.crosswalk_occupancy"])[0])
    rows, columns = np.nonzero(drawn)
    places = np.concatenate([walk.polygon[:, :2] for walk in of.road.crosswalks])
    seen = request_view(of, 7).seen(places)
    assert columns.min() - 60 == pytest.approx(seen[:, 0].min(), abs=1.5)
    assert columns.max() - 60 == pytest.approx(seen[:, 0].max(), abs=1.5)
    assert 60 - rows.min() == pytest.approx(seen[:, 1].max(), abs=1.5)
    assert 60 - rows.max() == pytest.approx(seen[:, 1].min(), abs=1.5)


def test_some_channels_of_another_size_are_drawn(tmp_path):
    settings = MapSettings.of(size=(40, 60), metres_per_pixel=0.5, channels=[0, 5, 11])
    figure = feature_map_figure(crossing(), 7, settings=settings)
    assert len(panels(figure)) == 3
    assert panels(figure)[0].get_xlim() == (-10, 10)
    assert panels(figure)[0].get_ylim() == (-15, 15)
    assert write_png(figure, tmp_path / "map.png").stat().st_size > 1000


def test_a_map_of_nothing_is_drawn(tmp_path):
    assert write_png(feature_map_figure(scenes()["hostile id"], 7), tmp_path / "map.png").is_file()


def test_a_request_that_is_not_in_the_scene_is_refused():
    with pytest.raises(UnknownNameError, match="Unknown request of scene made 70"):
        feature_map_figure(crossing(), 70)
