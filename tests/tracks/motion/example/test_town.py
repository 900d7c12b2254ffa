"""Junctions: which ways exclude each other, and who has priority."""

from __future__ import annotations

import numpy as np
import pytest

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
    made = town(city, np.random.default_rng(4))
    network, found = made.network, made.conflicts
    assert (found == found.T).all()
    assert not found[: made.street_lanes].any()
    for lanes in network.junctions[:2]:
        lines = [fine(network.lines[lane]) for lane in lanes]
        for i, first in enumerate(lanes):
            for j, second in enumerate(lanes[:i]):
                together = np.hypot(*(lines[i][0] - lines[j][0])) < 0.01
                follows = second in network.after[first] or first in network.after[second]
                nearest = np.hypot(*(lines[i][:, None] - lines[j][None]).transpose(2, 0, 1)).min()
                if together or follows or nearest > 2.3:
                    assert not found[first, second]
                elif nearest < 0.1:
                    assert found[first, second]


@pytest.mark.parametrize("city", CITIES)
def test_every_way_into_a_junction_leads_out_of_it(city):
    for seed in range(3):
        made = town(city, np.random.default_rng(seed))
        inside = {lane for lanes in made.network.junctions for lane in lanes}
        streets = set(range(made.street_lanes))
        assert inside.isdisjoint(streets)
        for lane in inside:
            assert made.network.after[lane]
            reached, todo = set(), [lane]
            while todo:
                reached |= set(todo)
                todo = [each for lane in todo for each in made.network.after[lane] if each in inside - reached]
            assert any(set(made.network.after[each]) & streets for each in reached)


def test_towns_differ_as_they_should():
    made = {city: [town(city, np.random.default_rng(seed)) for seed in range(6)] for city in CITIES}

    def lanes(city):
        return np.mean([len(each.network.lines) for each in made[city]])

    def bends(city):
        ways = [street.center for each in made[city] for street in each.streets]
        turns = [np.unwrap(np.arctan2(*np.diff(way, axis=0).T[::-1])) for way in ways if len(way) > 2]
        return np.mean([np.ptp(turn) for turn in turns])

    def lit(city):
        return np.mean([bool(each.lamps) for each in made[city]])

    assert lanes(City.MOSCOW) > 1.3 * max(lanes(City.TEL_AVIV), lanes(City.SKOLKOVO), lanes(City.MODIIN))
    assert bends(City.MODIIN) > 3 * bends(City.ANN_ARBOR)
    assert lit(City.MOSCOW) > 0.9 > lit(City.MODIIN) == 0.0
    assert any(any(each.network.halts) for each in made[City.ANN_ARBOR])
