"""When drivers in rain and snow lose heart."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.tracks.motion.example import situation
from shiftbench.tracks.motion.example.habits import WeatherEffects


def test_nobody_hesitates_and_nothing_is_drawn_in_dry_weather():
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    assert (situation.dared(WeatherEffects(), 50, 7, rng) == 1).all()
    assert rng.bit_generator.state == before


@pytest.mark.parametrize("calm_s", [2.0, 6.0])
def test_drivers_hesitate_as_often_and_as_long_as_they_should(calm_s):
    found = situation.dared(WeatherEffects(calm_s=calm_s), 82, 20_000, np.random.default_rng(1))
    assert found.shape == (82, 20_000)
    low = found < 1
    assert found[low].min() >= situation.LEAST
    assert found[low].max() <= situation.GREATEST
    lasting = (situation.SHORTEST_S + situation.LONGEST_S) / 2
    late = low[60:].mean()  # the process has settled by then
    assert late == pytest.approx(lasting / (lasting + calm_s), abs=0.02)
    begun = low[: round(5 * calm_s)].any(axis=0).mean()
    assert begun == pytest.approx(1 - np.exp(-1), abs=0.05)


def test_each_driver_has_his_own():
    found = situation.dared(WeatherEffects(calm_s=3.0), 82, 30, np.random.default_rng(2))
    assert len(np.unique(found, axis=1).T) > 25
