"""The whole ship: what costs and what helps, the cubic law, records one by one, and input that no ship can have."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.check import Vector
from shiftbench.errors import ArrayError, SettingsError
from shiftbench.tracks.power.physics import calm_water, powering
from shiftbench.tracks.power.physics.conditions import Conditions
from shiftbench.tracks.power.physics.drafts import drafts_m
from shiftbench.tracks.power.physics.fouling import YEAR_S, Growth
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.operating_point import NO_THRUST, NONE, OUTSIDE_SERIES, STOPPED
from shiftbench.tracks.power.physics.powering import (
    ABOVE_RATING,
    EMERGED,
    NO_FORM,
    PROBLEMS,
    Powering,
    describe,
    shaft_power,
)
from shiftbench.tracks.power.physics.ship import SHIPS, Ship, ship
from shiftbench.tracks.power.physics.water import Water

KNOT = 1852 / 3600
SERVICE = {"container": 20 * KNOT, "tanker": 14 * KNOT}
CONTAINER = ship("container")
PARTS = (
    "viscous_N",
    "appendages_N",
    "wave_making_N",
    "bulb_N",
    "transom_N",
    "correlation_N",
    "fouling_N",
    "wind_N",
    "waves_N",
    "inertia_N",
)


def _conditions(vessel: Ship = CONTAINER, **changed: Any) -> Conditions:
    """Still air, calm water, clean hull, design draft, service speed, but for what is changed; one length for all."""
    draft, speed = vessel.hull.draft_m, SERVICE[vessel.name]
    values = dict.fromkeys((field.name for field in fields(Conditions)), 0.0)
    values |= {"draft_aft_m": draft, "draft_fore_m": draft, "wave_period_s": 8.0}
    values |= {"speed_through_water_m_s": speed, "speed_over_ground_m_s": speed} | changed
    arrays = np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, np.float64)) for value in values.values()))
    return Conditions(*(array.copy() for array in arrays))


def _power(vessel: Ship = CONTAINER, **changed: Any) -> Vector:
    return shaft_power(vessel, _conditions(vessel, **changed)).power_kw


def _at(speed: Any) -> dict[str, Any]:
    return {"speed_through_water_m_s": speed, "speed_over_ground_m_s": speed}


def _mixed(n: int, seed: int = 0) -> Conditions:
    """Records in the ranges of the generalisation set, and some beyond."""
    rng = np.random.default_rng(seed)
    speed = rng.uniform(0, 23, n) * KNOT
    return _conditions(
        draft_aft_m=rng.uniform(2, 16, n),
        draft_fore_m=rng.uniform(6, 16, n),
        speed_through_water_m_s=speed,
        speed_over_ground_m_s=speed + rng.uniform(-1, 1, n),
        acceleration_m_s2=rng.normal(0, 1e-3, n),
        wind_speed_m_s=rng.uniform(0, 20, n),
        wind_angle_rad=rng.uniform(0, 2 * np.pi, n),
        wave_height_m=rng.uniform(0, 6, n),
        wave_period_s=rng.uniform(3, 14, n),
        wave_angle_rad=rng.uniform(0, 2 * np.pi, n),
        since_dry_dock_s=rng.uniform(0, 5, n) * YEAR_S,
    )


@pytest.mark.parametrize("name", SHIPS)
def test_power_is_that_of_such_a_ship(name: str) -> None:
    """At service speed between half and all of the engine's rating, at a propulsive efficiency that ships have."""
    vessel = ship(name)
    found = shaft_power(vessel, _conditions(vessel))
    assert found.problem[0] == NONE
    assert 0.5 < found.power_kw[0] / vessel.drive.mcr_kw < 1
    useful = found.total_N[0] * SERVICE[name] / 1e3
    assert 0.6 < useful / found.power_kw[0] < 0.85


@pytest.mark.parametrize("name", SHIPS)
def test_power_grows_with_about_the_cube_of_the_speed_where_waves_are_small(name: str) -> None:
    speeds = np.geomspace(0.5, 0.8, 8) * SERVICE[name]
    exponent = np.polyfit(np.log(speeds), np.log(_power(ship(name), **_at(speeds))), 1)[0]
    assert 2.7 < exponent < 3.2


def test_at_high_speed_power_grows_faster_than_the_cube() -> None:
    speeds = np.array([22, 24]) * KNOT
    assert np.diff(np.log(_power(**_at(speeds))))[0] / np.log(24 / 22) > 3.5


@pytest.mark.parametrize("name", SHIPS)
@settings(max_examples=40)
@given(share=st.floats(0.2, 1.1), more=st.floats(0.01, 0.3))
def test_faster_always_costs(name: str, share: float, more: float) -> None:
    power = _power(ship(name), **_at(np.array([share, share + more]) * SERVICE[name]))
    assert power[1] > power[0]


@pytest.mark.parametrize("name", SHIPS)
@settings(max_examples=40)
@given(wind=st.floats(2, 30), share=st.floats(0.4, 1))
def test_head_wind_costs_and_following_wind_helps(name: str, wind: float, share: float) -> None:
    angles = {"wind_speed_m_s": [0.0, wind, wind], "wind_angle_rad": [0.0, 0.0, np.pi]}
    still, ahead, astern = _power(ship(name), **_at(share * SERVICE[name]), **angles)
    assert ahead > still > astern


@pytest.mark.parametrize("name", SHIPS)
@settings(max_examples=40)
@given(height=st.floats(0, 8), more=st.floats(0.1, 3), period=st.floats(3, 15), share=st.floats(0.3, 1))
def test_higher_head_waves_cost(name: str, height: float, more: float, period: float, share: float) -> None:
    power = _power(
        ship(name), **_at(share * SERVICE[name]), wave_height_m=[height, height + more], wave_period_s=period
    )
    assert power[1] > power[0]


@pytest.mark.parametrize("name", SHIPS)
@settings(max_examples=40)
@given(years=st.floats(0, 8), more=st.floats(0.1, 2), share=st.floats(0.2, 1.1))
def test_fouling_only_grows(name: str, years: float, more: float, share: float) -> None:
    times = np.array([years, years + more]) * YEAR_S
    power = _power(ship(name), **_at(share * SERVICE[name]), since_dry_dock_s=times)
    assert power[1] > power[0]


@pytest.mark.parametrize("name", SHIPS)
def test_five_years_of_fouling_cost_what_is_seen_at_sea(name: str) -> None:
    clean, fouled = _power(ship(name), since_dry_dock_s=[0, 5 * YEAR_S])
    assert 0.10 < fouled / clean - 1 < 0.25


@pytest.mark.parametrize("name", SHIPS)
@settings(max_examples=40)
@given(share=st.floats(0.85, 1.1), more=st.floats(0.03, 0.1), speed=st.floats(0.4, 1))
def test_a_deeper_draft_costs(name: str, share: float, more: float, speed: float) -> None:
    """Once the bulb is well under water: while it dives, Holtrop's resistance of it falls as fast as the rest grows."""
    drafts = np.array([share, share + more]) * ship(name).hull.draft_m
    power = _power(ship(name), **_at(speed * SERVICE[name]), draft_aft_m=drafts, draft_fore_m=drafts)
    assert power[1] > power[0]


def test_speeding_up_costs_the_mass_of_the_ship_and_of_some_water() -> None:
    found = shaft_power(CONTAINER, _conditions(acceleration_m_s2=[0, 1e-3, -1e-3]))
    mass = Water().density * CONTAINER.hull.displacement_m3
    assert 1.03 < found.inertia_N[1] / (mass * 1e-3) < 1.10
    assert found.power_kw[1] > found.power_kw[0] > found.power_kw[2]


def test_in_still_air_and_calm_water_there_is_no_force_of_wind_and_waves() -> None:
    found = shaft_power(CONTAINER, _conditions())
    assert found.wind_N == pytest.approx(0, abs=1e-6)
    assert found.waves_N == found.inertia_N == found.fouling_N == 0


@pytest.mark.parametrize("name", SHIPS)
def test_without_wind_waves_fouling_and_acceleration_the_total_is_that_of_calm_water(name: str) -> None:
    vessel = ship(name)
    drafts, speeds = np.linspace(0.8, 1.1, 5) * vessel.hull.draft_m, np.linspace(0.3, 1.1, 5) * SERVICE[name]
    found = shaft_power(vessel, _conditions(vessel, draft_aft_m=drafts, draft_fore_m=drafts, **_at(speeds)))
    calm = calm_water.resistance(vessel, Loading.of(vessel, drafts, drafts), speeds)
    np.testing.assert_allclose(found.total_N, calm.total_N, rtol=1e-9)


def test_the_wake_of_a_fouled_hull_grows_as_its_viscous_resistance() -> None:
    clean, fouled = (shaft_power(CONTAINER, _conditions(since_dry_dock_s=time)) for time in (0, 5 * YEAR_S))
    share = fouled.fouling_N / (fouled.viscous_N + fouled.correlation_N)
    wanted = (clean.wake_fraction - clean.thrust_deduction - 0.04) * share
    assert wanted > 1e-3
    np.testing.assert_allclose(fouled.wake_fraction - clean.wake_fraction, wanted, rtol=1e-9)


def test_parts_add_up_and_power_is_in_balance() -> None:
    found = shaft_power(CONTAINER, _mixed(2_000))
    sound = ~np.isnan(found.power_kw)
    np.testing.assert_allclose(sum(getattr(found, part) for part in PARTS)[sound], found.total_N[sound], rtol=1e-9)
    np.testing.assert_allclose(found.thrust_N * (1 - found.thrust_deduction), found.total_N, rtol=1e-12)
    at_shaft = 2 * np.pi * found.revolutions_per_s * found.torque_Nm / CONTAINER.drive.shaft_efficiency
    np.testing.assert_allclose(found.power_kw, at_shaft / 1e3, rtol=1e-12)
    speed = _mixed(2_000).speed_through_water_m_s * (1 - found.wake_fraction)
    pushing = sound & (found.problem != NO_THRUST) & (found.problem != STOPPED)
    behind = found.efficiency * found.relative_rotative_efficiency * CONTAINER.drive.shaft_efficiency
    np.testing.assert_allclose((behind * found.power_kw)[pushing], (found.thrust_N * speed / 1e3)[pushing], rtol=1e-8)


def test_a_record_alone_equals_the_same_record_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    many = _mixed(50, seed=1)
    monkeypatch.setattr(powering, "BLOCK", 7)
    together = shaft_power(CONTAINER, many)
    for place in range(50):
        alone = shaft_power(CONTAINER, Conditions(*(getattr(many, f.name)[[place]] for f in fields(Conditions))))
        assert alone.floats_m == together.floats_m
        for field in fields(Powering):
            if field.name == "floats_m":
                continue
            value = getattr(together, field.name)[[place]]
            np.testing.assert_allclose(getattr(alone, field.name), value, rtol=1e-9, atol=1e-12)


def test_power_is_a_number_wherever_there_is_no_code_for_none() -> None:
    found = shaft_power(CONTAINER, _mixed(5_000, seed=2))
    missing = np.isnan(found.power_kw)
    np.testing.assert_array_equal(missing, found.problem == NO_FORM)
    assert 0 < missing.sum() < 5_000
    assert (found.power_kw[~missing] >= 0).all()
    assert set(found.problem.tolist()) <= {NONE, *PROBLEMS}


def test_hostile_records_get_their_own_codes_and_are_named() -> None:
    draft = CONTAINER.hull.draft_m
    deck = CONTAINER.hull.depth_m + 0.1
    tip = CONTAINER.propeller.shaft_height_m + CONTAINER.propeller.diameter_m / 2
    found = shaft_power(
        CONTAINER,
        _conditions(
            draft_aft_m=[draft, 0, draft, draft, tip - 0.1, draft, deck, draft],
            draft_fore_m=[draft, 0, draft, draft, tip - 0.1, draft, deck, draft],
            **_at(np.array([10.0, 10, 0, 10, 8, 3, 10, 0.05])),
            wave_height_m=[0, 0, 0, 30, 0, 0, 0, 0],
            wind_speed_m_s=[0, 0, 10, 0, 0, 40, 0, 0],
            wind_angle_rad=[0, 0, 0, 0, 0, np.pi, 0, 0],
        ),
    )
    codes = [NONE, NO_FORM, STOPPED, ABOVE_RATING, EMERGED, NO_THRUST, NO_FORM, OUTSIDE_SERIES]
    assert found.problem.tolist() == codes
    np.testing.assert_array_equal(np.isnan(found.power_kw), [code == NO_FORM for code in codes])
    words = describe(found)
    assert words[0].startswith("2 of 8 records (first: 1, drafts of 0 m aft and 0 m fore, from ")
    assert "the ship cannot float at these drafts" in words[0]
    assert words[1].startswith(f"1 of 8 records (first: 3, {found.power_kw[3]:,.0f} kW): the propeller cannot deliver")
    assert len(words) == 6


def test_a_hull_whose_form_ends_early_gets_codes_and_no_error() -> None:
    """A waterplane that grows fast with the draft: beyond some draft it would be larger than a box's."""
    hull = replace(CONTAINER.hull, waterplane_coefficient=0.93)
    vessel = replace(CONTAINER, hull=hull)
    low, high = drafts_m(vessel)
    assert CONTAINER.hull.draft_m < high < drafts_m(CONTAINER)[1]
    drafts = np.array([low, high, high + 0.5, low - 0.1])
    found = shaft_power(vessel, _conditions(draft_aft_m=drafts, draft_fore_m=drafts))
    assert (found.problem == NO_FORM).tolist() == [False, False, True, True]


def test_a_sound_voyage_has_nothing_to_describe() -> None:
    assert describe(shaft_power(CONTAINER, _conditions())) == []


def test_ranges_of_the_methods_that_are_left_are_told() -> None:
    height = [0.0, 0.0, 7.0]
    told = powering.validity(CONTAINER, _conditions(wave_height_m=height, draft_aft_m=[13, 0, 13], draft_fore_m=13))
    assert any("significant height" in message and "1 of 3 records" in message for message in told)


def test_ranges_say_nothing_of_a_record_at_whose_drafts_the_ship_has_no_form() -> None:
    hostile = {"speed_through_water_m_s": [9.0, 20.0], "wave_height_m": [1.0, 12.0], "wave_angle_rad": [0.0, 2.0]}
    afloat, aground = (_conditions(draft_aft_m=[13, draft], draft_fore_m=13, **hostile) for draft in (13, 0))
    alone = _conditions(draft_aft_m=[13], draft_fore_m=13, speed_through_water_m_s=9.0, wave_height_m=1.0)
    told = powering.validity(CONTAINER, aground)
    assert len(told) == len(powering.validity(CONTAINER, alone)) < len(powering.validity(CONTAINER, afloat))
    assert not any("at index 1" in message for message in told)


def test_a_draft_of_0_is_told_with_the_drafts_that_are_possible() -> None:
    (said,) = describe(shaft_power(CONTAINER, _conditions(draft_aft_m=[13, 0], draft_fore_m=13)))
    low, high = drafts_m(CONTAINER)
    assert said.startswith("1 of 2 records (first: 1, drafts of 0 m aft and 13 m fore, from ")
    assert f"from {low:.3g} to {high:.3g} m are possible): the ship cannot float" in said


def test_what_cannot_be_a_record_is_refused_with_everything_that_is_wrong() -> None:
    wrong = _conditions(wind_speed_m_s=[1.0, np.nan], since_dry_dock_s=[0.0, -1.0], wave_height_m=[500.0, 1.0])
    values = {field.name: getattr(wrong, field.name) for field in fields(Conditions)}
    wrong = Conditions(**(values | {"wave_angle_rad": np.zeros(3)}))
    with pytest.raises(ArrayError, match=r"wind_speed_m_s: expected finite numbers, found NaN") as caught:
        shaft_power(CONTAINER, wrong)
    text = str(caught.value)
    assert "wave_angle_rad has 3" in text
    assert "since_dry_dock_s: expected 0 to 9.467e+08, found -1 at index 1 (1 of 2 records)" in text
    assert "wave_height_m: expected 0 to 40, found 500 at index 0" in text
    assert len(caught.value.problems) == 4


def test_speeds_in_knots_and_angles_in_degrees_are_noticed() -> None:
    with pytest.raises(ArrayError, match=r"wind_angle_rad: expected .* found 270 at index 0 .* Is it in the unit"):
        shaft_power(CONTAINER, _conditions(wind_angle_rad=270.0, **_at(36.0)))


def test_complex_numbers_are_refused_as_no_numbers() -> None:
    with pytest.raises(ArrayError, match="wave_height_m: expected numbers, found dtype complex128") as caught:
        powering.shaft_power(CONTAINER, replace(_conditions(), wave_height_m=np.full(1, 2 + 0j)))
    assert len(caught.value.problems) == 1


@pytest.mark.parametrize(
    ("of", "values", "told"),
    [
        (Water, {"density": 1.025}, "water.density: expected 950 to 1100 kg/m³, found 1.025"),
        (Water, {"viscosity": 0.0}, "water.viscosity: expected 5e-07 to 2.5e-06 m²/s, found 0.0"),
        (Water, {"density": float("nan")}, "water.density: expected 950 to 1100 kg/m³, found nan"),
        (Growth, {"hull_m_per_year": 90.0}, "growth.hull_m_per_year: expected 0 to 0.01 m a year, found 90.0"),
        (Growth, {"propeller_m_per_year": -1e-5}, "growth.propeller_m_per_year: expected 0 to 0.01 m a year"),
    ],
)
def test_water_and_growth_in_another_unit_are_noticed(of: Any, values: dict[str, float], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        of(**values)


def test_faster_growth_costs_more_and_none_costs_nothing() -> None:
    later = _conditions(since_dry_dock_s=5 * YEAR_S)
    none, slow, fast = (
        shaft_power(CONTAINER, later, growth=growth).power_kw[0]
        for growth in (Growth(0, 0), Growth(), Growth(180e-6, 108e-6))
    )
    assert fast > slow > none
    assert none == pytest.approx(_power()[0], rel=1e-12)
