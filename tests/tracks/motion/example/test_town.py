"""Junctions: which ways exclude each other, and who has priority."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.motion.example.habits import HABITS
from shiftbench.tracks.motion.example.town import town
from shiftbench.tracks.motion.schema import City

CITIES = [city for city in City if city is not City.UNKNOWN]


def fine(line):
    """A line with a point at least every 0.2 m."""
    walked = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line, axis=0).T))])
    at = np.linspace(0, walked[-1], 2 + int(walked[-1] / 0.2))
    return np.stack([np.interp(at, walked, line[:, axis]) for axis in (0, 1)], axis=-1)


@pytest.mark.parametrize("city", CITIES)
def test_ways_that_meet_exclude_each_other(city):
    made = town(HABITS[city], np.random.default_rng(4))
    found = made.conflicts
    assert (found == found.T).all()
    assert not found[: made.street_lanes].any()
    for lanes in made.junctions[:2]:
        lines = [fine(made.lanes[lane].line) for lane in lanes]
        for i, first in enumerate(lanes):
            for j, second in enumerate(lanes[:i]):
                together = np.hypot(*(lines[i][0] - lines[j][0])) < 0.01
                nearest = np.hypot(*(lines[i][:, None] - lines[j][None]).transpose(2, 0, 1)).min()
                if together or nearest > 2.3:
                    assert not found[first, second]
                elif nearest < 0.1:
                    assert found[first, second]


@pytest.mark.parametrize("city", CITIES)
def test_every_way_into_a_junction_leads_out_of_it(city):
    for seed in range(3):
        made = town(HABITS[city], np.random.default_rng(seed))
        streets = set(range(made.street_lanes))
        inside = {lane for lanes in made.junctions for lane in lanes}
        assert inside == set(range(len(made.lanes))) - streets
        assert all(len(made.lanes[lane].after) == 1 and set(made.lanes[lane].after) <= streets for lane in inside)


def test_towns_differ_as_they_should():
    made = {city: [town(HABITS[city], np.random.default_rng(seed)) for seed in range(6)] for city in CITIES}

    def lanes(city):
        return np.mean([len(each.lanes) for each in made[city]])

    def bends(city):
        ways = [street.center for each in made[city] for street in each.streets]
        turns = [np.unwrap(np.arctan2(*np.diff(way, axis=0).T[::-1])) for way in ways if len(way) > 2]
        return np.mean([np.ptp(turn) for turn in turns])

    def lit(city):
        return np.mean([bool(each.lamps) for each in made[city]])

    assert lanes(City.MOSCOW) > 1.3 * max(lanes(City.TEL_AVIV), lanes(City.SKOLKOVO), lanes(City.MODIIN))
    assert bends(City.MODIIN) > 3 * bends(City.ANN_ARBOR)
    assert lit(City.MOSCOW) > 0.9 > lit(City.MODIIN) == 0.0
    assert any(lane.halts for each in made[City.ANN_ARBOR] for lane in each.lanes)
