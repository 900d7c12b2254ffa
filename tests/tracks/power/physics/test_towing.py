from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics.calibration import VERSIONS, Resistance
from shiftbench.tracks.power.physics.calm_water import resistance
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import ship
from shiftbench.tracks.power.physics.towing import FRESH_WATER, TowingTest
from shiftbench.tracks.power.physics.viscous import friction_coefficient
from shiftbench.tracks.power.physics.water import SEA_WATER

SPEEDS = np.array([6.0, 7.0, 8.0])  # m/s, of the ship


def tanker_test(scale: float = 1.0, /, **changed: Any) -> TowingTest:
    """The package's tanker with resistances of about the right size."""
    speed = SPEEDS / np.sqrt(scale)
    pressure = 0.5 * 1000 * speed**2 * 16_000 / scale**2
    given: dict[str, Any] = {
        "ship": ship("tanker"), "scale": scale, "draft_aft_m": 16.0, "draft_fore_m": 15.5, "speed_m_s": speed,
        "resistance_N": 0.003 * pressure, "water": FRESH_WATER,
    }  # fmt: skip
    return TowingTest(**given | changed)


@pytest.mark.parametrize("version", VERSIONS)
def test_at_scale_1_it_is_the_resistance_of_the_ship_herself(version: str):
    loading = Loading.of(ship("tanker"), np.full(3, 16.0), np.full(3, 15.5))
    calm = resistance(ship("tanker"), loading, SPEEDS, version=version)
    found = tanker_test(water=SEA_WATER, appended=True).predicted_N(Resistance(version))
    np.testing.assert_allclose(found, calm.total_N, rtol=1e-12)
    bare = tanker_test(water=SEA_WATER).predicted_N(Resistance(version))
    np.testing.assert_allclose(bare, calm.total_N - calm.appendages_N, rtol=1e-12)


def test_a_model_has_its_own_friction_and_the_waves_of_the_ship():
    scale = 40.0
    loading = Loading.of(ship("tanker"), np.full(3, 16.0), np.full(3, 15.5))
    calm = resistance(ship("tanker"), loading, SPEEDS)
    density, viscosity = FRESH_WATER.density, FRESH_WATER.viscosity
    speed = SPEEDS / np.sqrt(scale)
    plate = friction_coefficient(speed * loading.length_waterline_m / scale / viscosity)
    area = loading.wetted_area_m2 / scale**2
    viscous = calm.form_factor * plate * 0.5 * density * speed**2 * area
    waves = (calm.wave_N + calm.bulb_N + calm.transom_N) * density / SEA_WATER.density / scale**3
    np.testing.assert_allclose(tanker_test(scale).predicted_N(), viscous + waves, rtol=1e-10)


def test_the_deviation_is_zero_where_the_method_was_the_tank():
    test = tanker_test(40.0)
    same = dataclasses.replace(test, resistance_N=test.predicted_N())
    np.testing.assert_allclose(same.deviation(), 0, atol=1e-12)
    more = dataclasses.replace(test, resistance_N=test.predicted_N() / 1.1)
    np.testing.assert_allclose(more.deviation(), 0.1, rtol=1e-9)


def test_the_constants_of_the_ship_are_not_those_that_are_asked():
    other = dataclasses.replace(ship("tanker"), resistance=Resistance("1982"))
    np.testing.assert_array_equal(tanker_test(40.0, ship=other).predicted_N(), tanker_test(40.0).predicted_N())


def test_all_problems_are_told_at_once():
    with pytest.raises(ArrayError, match="scale: expected a number from 1") as caught:
        tanker_test(40.0, scale=0.025, speed_m_s=[1.0, -1.0], resistance_N=[30.0, np.nan, 40.0], draft_fore_m=30.0)
    told = str(caught.value)
    for expected in (
        "(the ship itself) to 500, found 0.025. It is the ship's length over the model's.",
        "speed_m_s: expected values > 0, found -1 (1 of 2, first at index 1). Drop these runs.",
        "resistance_N: expected finite numbers, found NaN",
        "expected the same number of records in each",
        "draft_fore_m: expected drafts from 5.6 to 23.1 m, found 30",
    ):
        assert expected in told, told


@pytest.mark.parametrize("scale", ["40", True, np.nan, 1_000.0, None])
def test_what_is_no_scale_is_refused(scale: object):
    with pytest.raises(ArrayError, match="scale: expected a number from 1"):
        tanker_test(40.0, scale=scale)


def test_resistances_in_another_unit_are_noticed():
    in_kn = tanker_test(40.0).resistance_N / 1000
    with pytest.raises(
        ArrayError, match=r"C_T from 0\.0008 to 0\.05, found .* \(3 of 3 records\)\. Are resistance and"
    ):
        tanker_test(40.0, resistance_N=in_kn)
    with pytest.raises(ArrayError, match="is it this scale"):
        tanker_test(40.0, speed_m_s=SPEEDS)


@pytest.mark.parametrize("name", ["ship", "water"])
def test_what_is_no_ship_or_no_water_is_refused(name: str):
    with pytest.raises(ArrayError, match=f"{name}: expected a .*, found NoneType"):
        tanker_test(**{name: None})


def test_numbers_of_numpy_are_numbers():
    assert tanker_test(40.0).deviation() == pytest.approx(tanker_test(40.0, scale=np.float32(40)).deviation())
