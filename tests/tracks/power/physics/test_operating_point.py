"""The propeller's operating point: against a scalar root finder, in balance, and with a code where it is special."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from shiftbench.check import Vector
from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics import open_water, operating_point
from shiftbench.tracks.power.physics.operating_point import NO_THRUST, NONE, OUTSIDE_SERIES, PROBLEMS, STOPPED, solve
from shiftbench.tracks.power.physics.ship import SHIPS, Propeller, ship
from shiftbench.tracks.power.physics.water import DENSITY, VISCOSITY
from tests.tracks.power.physics.series import characteristics

CONTAINER = ship("container").propeller


def _records(n: int, seed: int = 0) -> tuple[Vector, Vector]:
    rng = np.random.default_rng(seed)
    return 10 ** rng.uniform(2, 8, n), rng.uniform(0.05, 14, n)


def _twin(propeller: Propeller, thrust: float, speed: float, dkt: float = 0.0) -> float:
    """J of one record by bracketing, with the Reynolds number inside the equation."""
    load = thrust / (DENSITY * propeller.diameter_m**2 * speed**2)

    def surplus(ratio: float) -> float:
        reynolds = open_water.chord_m(propeller) * speed / VISCOSITY * math.hypot(1, 0.75 * math.pi / ratio)
        kt, _ = characteristics(propeller, np.array([ratio]), reynolds)
        return float(kt[0]) + dkt - load * ratio**2

    return float(brentq(surplus, 1e-6, open_water.curves(propeller).last_advance_ratio, xtol=1e-15, rtol=1e-14))


@pytest.mark.parametrize("name", SHIPS)
def test_every_record_equals_a_scalar_root_finder(name: str) -> None:
    propeller = ship(name).propeller
    thrust, speed = _records(200)
    dkt = np.linspace(-0.003, 0, 200)
    point = solve(propeller, thrust, speed, roughening=(dkt, np.zeros(200)))
    twin = [_twin(propeller, *record) for record in zip(thrust, speed, dkt, strict=True)]
    np.testing.assert_allclose(point.advance_ratio, twin, rtol=1e-10)


@pytest.mark.parametrize("name", SHIPS)
def test_the_thrust_asked_for_is_the_thrust_found_in_every_record(name: str) -> None:
    propeller = ship(name).propeller
    thrust, speed = _records(20_000, seed=1)
    point = solve(propeller, thrust, speed)
    found = point.kt * DENSITY * point.revolutions_per_s**2 * propeller.diameter_m**4
    np.testing.assert_allclose(found, thrust, rtol=1e-10)


def test_useful_power_is_the_efficiency_times_the_power_taken_up() -> None:
    thrust, speed = _records(1_000, seed=2)
    point = solve(CONTAINER, thrust, speed)
    np.testing.assert_allclose(point.efficiency * point.power_W, thrust * speed, rtol=1e-10)
    assert ((point.efficiency > 0) & (point.efficiency < 1)).all()


@given(
    thrust=st.floats(1e3, 1e7),
    more=st.floats(1.001, 10),
    speed=st.floats(0.5, 14),
)
def test_more_thrust_takes_more_revolutions_and_more_power(thrust: float, more: float, speed: float) -> None:
    point = solve(CONTAINER, np.array([thrust, thrust * more]), np.full(2, speed))
    assert np.diff(point.revolutions_per_s)[0] > 0
    assert np.diff(point.power_W)[0] > 0


def test_three_times_the_speed_at_nine_times_the_thrust_takes_27_times_the_power_but_for_reynolds() -> None:
    point = solve(CONTAINER, np.array([2e5, 18e5]), np.array([3.0, 9.0]))
    assert point.power_W[1] / point.power_W[0] == pytest.approx(27, rel=0.03)
    assert point.advance_ratio[1] == pytest.approx(point.advance_ratio[0], rel=0.01)


def test_a_stopped_ship_pulls_on_the_spot_and_says_so() -> None:
    point = solve(CONTAINER, np.full(3, 2e6), np.array([0.0, -3.0, 1e-4]))
    assert point.problem.tolist() == [STOPPED, STOPPED, NONE]
    assert point.advance_ratio[:2] == pytest.approx(0, abs=1e-6)
    at_rest = characteristics(CONTAINER, np.zeros(1), 3e7)[0][0]
    wanted = math.sqrt(2e6 / (DENSITY * at_rest * CONTAINER.diameter_m**4))
    assert point.revolutions_per_s[:2] == pytest.approx(wanted, rel=1e-3)
    np.testing.assert_allclose(point.power_W, point.power_W[0], rtol=1e-3)  # and there is no jump at rest


def test_where_nothing_is_left_to_push_the_propeller_turns_without_thrust_and_says_so() -> None:
    point = solve(CONTAINER, np.array([0.0, -1e6, 1e-3]), np.full(3, 8.0))
    assert point.problem.tolist() == [NO_THRUST, NO_THRUST, NONE]
    assert (point.kt[:2] == 0).all()
    assert (point.power_W > 0).all()
    np.testing.assert_allclose(point.power_W, point.power_W[0], rtol=1e-6)


def test_a_propeller_too_slow_for_the_series_says_so() -> None:
    point = solve(CONTAINER, np.array([10.0, 1e6]), np.array([0.05, 8.0]))
    assert point.problem.tolist() == [OUTSIDE_SERIES, NONE]


def test_nothing_is_ever_nan_and_every_code_has_words() -> None:
    thrust = np.array([0.0, 1e-300, 1e15, -1e15, 1e6])
    speed = np.array([0.0, 1e-300, 1e3, -1e3, 30.0])
    thrust, speed = (values.ravel() for values in np.meshgrid(thrust, speed))
    point = solve(CONTAINER, thrust, speed)
    values = (point.advance_ratio, point.kt, point.kq, point.revolutions_per_s, point.torque_Nm, point.efficiency)
    assert all(np.isfinite(value).all() for value in values)
    assert set(point.problem.tolist()) <= {NONE, *PROBLEMS}


def test_arrays_that_do_not_fit_are_refused_with_everything_that_is_wrong() -> None:
    with pytest.raises(ArrayError, match=r"thrust_N: .* found NaN") as caught:
        solve(CONTAINER, np.array([1e6, np.nan]), np.array([8.0, 8.0, np.inf]))
    assert len(caught.value.problems) == 3  # NaN, infinity, and the lengths


def test_the_iteration_needs_few_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operating_point, "STEPS", 10)
    thrust, speed = _records(20_000, seed=3)
    point = solve(CONTAINER, thrust, speed)
    found = point.kt * DENSITY * point.revolutions_per_s**2 * CONTAINER.diameter_m**4
    np.testing.assert_allclose(found, thrust, rtol=1e-10)
