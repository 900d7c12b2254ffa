"""Words of a user as settings of maps."""

from __future__ import annotations

import pytest

from shiftbench.errors import SettingsError
from shiftbench.tracks.motion.maps.map_settings import CHANNELS, MapSettings, settings_of


def test_no_words_are_the_usual_settings():
    assert settings_of([]) == MapSettings()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("size=400", {"size": (400, 400)}),
        ("size = 300, 400", {"size": (300, 400)}),
        ("metres_per_pixel=.25", {"metres_per_pixel": 0.25}),
        ("channels=0, road_graph.lane_direction", {"channels": (CHANNELS[0], "road_graph.lane_direction")}),
        ("history=24,12,0", {"history": (24, 12, 0)}),
        ("road_history=3", {"road_history": (3,)}),
        ("yaw_frame=agent", {"yaw_frame": "agent"}),
        ("interpolation=exact", {"interpolation": "exact"}),
    ],
)
def test_each_setting_has_its_word(word, expected):
    assert settings_of([word]) == MapSettings(**expected)


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("size", "expected NAME=VALUE, found 'size'"),
        ("size=", "expected NAME=VALUE, found 'size='"),
        ("size=2.5", "size: expected .* found 2.5"),
        ("size=1,2,3", r"size: expected .* found \(1, 2, 3\)"),
        ("metres_per_pixel=nan", "metres_per_pixel: expected .* found nan"),
        ("metres_per_pixel=1,5", "metres_per_pixel: expected .* found '1,5'"),
        ("channels=17", "Unknown channel 17"),
        ("channels=vehicles", "Unknown channel 'vehicles'"),
        ("history=0,", r"history: expected .* found \(0, ''\)"),
        ("yaw_frame=map", "Unknown yaw frame 'map'"),
        ("scale=3", "Unknown map setting 'scale'"),
    ],
)
def test_words_that_are_no_settings_are_named(word, told):
    with pytest.raises(SettingsError, match=told) as caught:
        settings_of([word])
    assert len(caught.value.problems) == 1
