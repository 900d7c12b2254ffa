"""The traffic model against an obvious twin, and what drivers must do."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.motion.example import sensors
from shiftbench.tracks.motion.example.conditions import weathers
from shiftbench.tracks.motion.example.people import phases
from shiftbench.tracks.motion.example.routes import Routes
from shiftbench.tracks.motion.example.situation import situation
from shiftbench.tracks.motion.example.town import Lane, Town
from shiftbench.tracks.motion.example.traffic import HARD, SUDDEN, Drivers, Traffic
from shiftbench.tracks.motion.schema import City, LightState

STEPS = 60
LINE = 150.0  # where the only street of `street` ends


def street(at, *, lights=None, busy=None, crossing_at=None, dared=None):
    """The traffic of one street and a lane after it, vehicles at `at`; an empty road unless said otherwise."""
    at = np.asarray(at, dtype=float)
    number = len(at)
    line = np.zeros((2, 2))
    walks = [] if crossing_at is None else [(0, crossing_at)]
    lanes = [Lane(line, 13.0, after=[1], crossings=walks), Lane(line, 13.0, signal=-1 if lights is None else 0)]
    made = Town([], lanes, 1, [[1]], np.zeros((2, 2), dtype=bool), [], [], {})
    taken, starts = np.full((number, 12), -1), np.full((number, 13), np.inf)
    taken[:, :2], starts[:, :2] = [0, 1], [0.0, LINE]
    routes = Routes(taken, starts, np.zeros((number, 220, 3)), np.full(number, 320.0), at)
    size = np.tile([4.0, 1.8, 1.5], (number, 1))
    drivers = Drivers(size, *(np.full(number, value) for value in (1.4, 2.0, 1.5, 2.0, 3.0, HARD)))
    speeds = (np.full((number, 220), 13.0), np.ones((STEPS, number)) if dared is None else dared)
    lights = np.full((STEPS, 2), LightState.GREEN, dtype=np.int8) if lights is None else lights
    return Traffic(made, routes, drivers, speeds, (lights, np.zeros((STEPS, 1), dtype=bool) if busy is None else busy))


def test_a_queue_equals_the_model_written_out_car_by_car():
    moves = street([90.0, 40.0, 20.0]).drive()
    place, speed = moves.place[0].tolist(), moves.speed[0].tolist()
    for step in range(1, STEPS):
        change = []
        for car in range(3):
            found = 1.5 * max(1 - (speed[car] / 13.0) ** 4, -2.0 / 1.5)
            if car > 0:
                gap = place[car - 1] - place[car] - 4.0
                wanted = 2.0 + max(
                    0.0, 1.4 * speed[car] + speed[car] * (speed[car] - speed[car - 1]) / (2 * (1.5 * 2.0) ** 0.5)
                )
                found -= 1.5 * (wanted / gap) ** 2
            change.append(min(max(found, -7.5), 1.5))
        for car in range(3):
            new = max(0.0, speed[car] + change[car] / 5)
            place[car] += (speed[car] + new) / 10
            speed[car] = new
        np.testing.assert_allclose(moves.place[step], place, rtol=1e-9)
        np.testing.assert_allclose(moves.speed[step], speed, rtol=1e-9, atol=1e-9)


def test_red_stops_and_green_does_not():
    red = np.full((STEPS, 1), LightState.RED, dtype=np.int8)
    stopped, passed = street([60.0, 40.0], lights=red).drive(), street([60.0, 40.0]).drive()
    assert stopped.place[-1, 0] + 2.0 < LINE
    assert stopped.place[-1, 0] > LINE - 5
    assert stopped.speed[-1, 0] == pytest.approx(0.0, abs=0.2)
    assert stopped.speed[-1, 1] < 2.0
    assert stopped.place[-1, 1] + 4.0 < stopped.place[-1, 0]
    assert passed.place[-1, 0] > LINE


def test_one_who_hesitates_brakes_suddenly_and_drives_on():
    dared = np.ones((STEPS, 1))
    dared[10:25] = 0.3
    calm, moves = (street([20.0], dared=each).drive() for each in (None, dared))
    np.testing.assert_array_equal(moves.speed[:11], calm.speed[:11])
    assert np.diff(moves.speed[:, 0]).min() * 5 == pytest.approx(-SUDDEN * HARD)
    assert moves.speed[25, 0] < 0.4 * calm.speed[25, 0]
    assert moves.speed[-1, 0] > 2 * moves.speed[25, 0]


def test_people_on_a_crosswalk_are_let_pass():
    busy = np.zeros((STEPS, 1), dtype=bool)
    busy[:40] = True
    moves = street([40.0], busy=busy, crossing_at=100.0).drive()
    assert (moves.place[:40, 0] + 2.0 < 100.0).all()
    assert moves.place[-1, 0] > 100.0


def test_nobody_runs_a_red_light_and_ways_that_cross_are_not_used_at_once():
    crossed, together = 0, 0
    for number, weather in enumerate(weathers("dev", 30)):
        each = situation("dev", number, weather, 1).traffic
        lanes = _lanes(each, each.drive())
        for step in range(1, len(lanes)):
            entered = (lanes[step] != lanes[step - 1]) & (lanes[step - 1] >= 0) & (lanes[step] >= 0)
            signal = each.signal[lanes[step][entered]]
            crossed += (signal >= 0).sum()
            assert not (each.lights[step - 1, signal[signal >= 0]] == LightState.RED).any()
            on = lanes[step][lanes[step] >= 0]
            together += each.conflicts[np.ix_(on, on)].any()
    assert crossed > 20
    assert together < 0.002 * 30 * len(lanes)


def test_nobody_turns_or_brakes_harder_than_drivers_do():
    """Ordinary drivers stay below about 4 m/s² sideways and 4.5 m/s² in braking, in every town and weather."""
    sideways, along = [], []
    for part in ("dev", "eval"):
        for number, weather in enumerate(weathers(part, 40)):
            found = sensors.motion(situation(part, number, weather, 0))
            velocity, acceleration = found.values[found.here, 2:4], found.values[found.here, 4:6]
            speed = np.hypot(*velocity.T)
            moving = speed > 0.5
            turn, push = (
                product[moving] / speed[moving]
                for product in (velocity[:, 0] * acceleration[:, 1] - velocity[:, 1] * acceleration[:, 0],
                                (velocity * acceleration).sum(axis=1))
            )  # fmt: skip
            sideways.append(np.abs(turn))
            along.append(push)
    sideways, along = np.concatenate(sideways), np.concatenate(along)
    assert len(along) > 30_000
    assert 2.5 < sideways.max() < 4.2
    assert -4.5 < along.min() < -3.0
    assert along.max() < 3.6


def _lanes(traffic, moves):
    """The lane below the front of each vehicle, -1 once it is gone: [steps, V]."""
    front = moves.place + traffic.half
    place = (front[..., None] >= traffic.routes.starts[:, :-1]).sum(axis=-1) - 1
    lanes = np.take_along_axis(traffic.routes.lanes, place.T, axis=1).T
    return np.where(front < traffic.routes.end, lanes, -1)


def test_lights_take_turns(rng):
    states = phases(8, 2000, 15.0, rng)
    assert set(np.unique(states)) == {1, 2, 3, 4, 5}
    going = np.isin(states, [LightState.GREEN, LightState.BLINKING_GREEN, LightState.YELLOW])
    assert not (going[:, ::2] & going[:, 1::2]).any()
    follows = {(int(a), int(b)) for a, b in zip(states[:-1].ravel(), states[1:].ravel(), strict=True) if a != b}
    assert follows == {(1, 2), (2, 3), (3, 4), (4, 5), (5, 1)}


def test_turns_are_open_where_lanes_part():
    """Two vehicles of one lane often go on differently: their futures have several modes."""
    ways: dict[tuple[int, int], list[int]] = {}
    for number, weather in enumerate(weathers("eval", 30)):
        for first, second in situation("eval", number, weather, 2).routes.lanes[:, :2].tolist():
            if weather[0] is not City.MOSCOW and second >= 0:
                ways.setdefault((number, first), []).append(second)
    several = [len(set(found)) > 1 for found in ways.values() if len(found) > 1]
    assert len(several) > 10
    assert np.mean(several) > 0.25


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_seed_prepares_the_same_scene(seed):
    weather = weathers("train", 1)[0]
    first, second = (situation("train", 4, weather, seed).traffic for _ in range(2))
    np.testing.assert_array_equal(first.offset, second.offset)
    np.testing.assert_array_equal(first.allowed, second.allowed)
