from dataclasses import replace
from math import cos, radians, sin

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics import wind
from shiftbench.tracks.power.physics.ship import SHIPS, Topsides, ship

# Taken down from two public sources that agree (an ISO 15016 calculator and a weather routing tool).
BETA = ((0.922, -0.507, -1.162), (-0.018, 5.091, -10.367, 3.011, 0.341))
DELTA = ((-0.458, -3.245, 2.313), (1.901, -12.727, -24.407, 40.310, 5.481))
EPSILON = ((0.585, 0.906, -3.239), (0.314, 1.117))

TOPSIDES = Topsides(
    length_overall_m=180,
    beam_m=28,
    draft_m=10,
    frontal_area_m2=700,
    lateral_area_m2=2_800,
    deck_lateral_area_m2=850,
    lateral_centre_m=5,
    lateral_centre_height_m=9,
    bridge_height_m=31,
)
DEGREES = np.arange(0, 181)


def standard(topsides, degrees):
    """C_AA as the standard writes it, one angle at a time; at 90° the mean of 80° and 100°."""
    if degrees == 90:
        return (standard(topsides, 80) + standard(topsides, 100)) / 2
    length, beam = topsides.length_overall_m, topsides.beam_m
    front, side, deck = topsides.frontal_area_m2, topsides.lateral_area_m2, topsides.deck_lateral_area_m2
    centre, height, bridge = topsides.lateral_centre_m, topsides.lateral_centre_height_m, topsides.bridge_height_m
    if degrees < 90:
        terms = (
            (1, side / (length * beam), centre / length),
            (1, side / (length * bridge), front / (beam * bridge)),
            (1, deck / side, beam / length),
        )
        part = 0
    else:
        terms = (
            (1, beam / length, height / length, deck / length**2, front / beam**2),
            (1, side / (length * bridge), front / side, beam / length, front / (beam * bridge)),
            (1, deck / side),
        )
        part = 1
    tables = BETA[part], DELTA[part], EPSILON[part]
    linear, lift, flow = (
        sum(a * b for a, b in zip(table, term, strict=True)) for table, term in zip(tables, terms, strict=True)
    )
    angle = radians(degrees)
    return (
        linear * cos(angle)
        + lift * (sin(angle) - 0.5 * sin(angle) * cos(angle) ** 2) * sin(angle) * cos(angle)
        + flow * sin(angle) * cos(angle) ** 3
    )


def coefficients(topsides, angles, draft=None):
    """C_AA, at the draft of the topsides if at no other."""
    drafts = np.full(len(angles), topsides.draft_m) if draft is None else draft
    return wind._coefficient(topsides, wind._windage(topsides, drafts), angles)


def resistance(topsides, speed, angles, **given):
    """The resistance of a ship that lies still at the draft of her topsides, if nothing else is given."""
    own = {"draft_m": np.full(len(angles), topsides.draft_m), "speed_over_ground_m_s": np.zeros(len(angles))}
    return wind.resistance(topsides, speed, angles, **{**own, **given})


def force(angle, speed=10.0, topsides=TOPSIDES, **given):
    return resistance(topsides, np.array([float(speed)]), np.array([float(angle)]), **given)[0]


@pytest.mark.parametrize("topsides", [TOPSIDES, ship("container").topsides, ship("tanker").topsides])
def test_the_coefficient_is_the_standards_at_every_angle_that_it_defines(topsides):
    degrees = [*range(81), 90, *range(100, 181)]
    found = coefficients(topsides, np.radians(degrees))
    assert found == pytest.approx([standard(topsides, degree) for degree in degrees], abs=1e-14)


@pytest.mark.parametrize("name", SHIPS)
def test_the_coefficient_never_jumps_not_even_at_beam_wind(name):
    found = coefficients(ship(name).topsides, np.linspace(0, np.pi, 20_001))
    assert np.abs(np.diff(found)).max() < 5e-4


@pytest.mark.parametrize("name", SHIPS)
def test_a_wind_from_ahead_costs_and_one_from_astern_helps(name):
    found = coefficients(ship(name).topsides, np.radians(DEGREES))
    assert (found[:60] > 0).all()
    assert (found[121:] < 0).all()
    assert 0.4 < found[0] < 1.1  # of merchant ships in head wind (ITTC 7.5-04-01-01.2, wind tunnel data)


@given(st.floats(-20, 20), st.floats(0, 50))
def test_port_and_starboard_are_the_same_and_a_turn_is_none(angle, speed):
    assert force(-angle, speed) == force(angle, speed)
    assert force(angle + 2 * np.pi, speed) == pytest.approx(force(angle, speed), abs=1e-6 * (1 + speed**2))


@given(st.floats(-4, 4), st.floats(0, 30))
def test_the_force_grows_with_the_square_of_the_wind(angle, speed):
    assert force(angle, 0) == 0
    assert force(angle, 2 * speed) == pytest.approx(4 * force(angle, speed))


def test_the_force_is_dynamic_pressure_times_front_times_coefficient():
    expected = 0.5 * 1.25 * 700 * standard(TOPSIDES, 30) * 12**2
    assert force(np.radians(30), 12, density=1.25) == pytest.approx(expected)


def test_a_ship_in_still_air_has_no_wind_resistance_once_her_own_is_taken_off():
    assert force(0, 9) > 0
    assert force(0, 9, speed_over_ground_m_s=[9.0]) == 0
    assert force(0, 12, speed_over_ground_m_s=[9.0]) == pytest.approx(force(0, 12) - force(0, 9))


def test_another_draft_is_another_ship():
    rise = 10 - 7.5
    side = 2_800 + 180 * rise
    lighter = replace(
        TOPSIDES,
        draft_m=7.5,
        frontal_area_m2=700 + 28 * rise,
        lateral_area_m2=side,
        lateral_centre_m=2_800 * 5 / side,
        lateral_centre_height_m=(2_800 * (9 + rise) + 180 * rise * rise / 2) / side,
        bridge_height_m=31 + rise,
    )
    angles, speed = np.radians(DEGREES), np.full(181, 14.0)
    found = resistance(TOPSIDES, speed, angles, draft_m=np.full(181, 7.5))
    assert found == pytest.approx(resistance(lighter, speed, angles))


@pytest.mark.parametrize("name", SHIPS)
def test_a_lighter_ship_is_held_back_more_by_head_wind(name):
    topsides = ship(name).topsides
    drafts = np.linspace(topsides.draft_m - 6, topsides.draft_m + 2, 50)
    found = resistance(topsides, np.full(50, 15.0), np.zeros(50), draft_m=drafts)
    assert (np.diff(found) < 0).all()


def test_drafts_that_drown_the_hull_or_are_none_are_refused():
    with pytest.raises(ArrayError, match=r"leave the hull above the water, found 40 at index 1 \(1 of 2 records\)"):
        coefficients(TOPSIDES, np.zeros(2), np.array([10.0, 40.0]))
    with pytest.raises(ArrayError, match="draft_m: expected values > 0, found 0"):
        force(0, draft_m=[0.0])


def test_all_that_is_wrong_is_said_at_once():
    with pytest.raises(ArrayError, match="apparent_speed_m_s: expected values >= 0, found -1") as error:
        wind.resistance(TOPSIDES, [-1.0, 1.0], [np.nan, 0.0], draft_m=[9.0], speed_over_ground_m_s=[np.inf, 0.0])
    text = str(error.value)
    assert "apparent_angle_rad: expected finite numbers, found NaN" in text
    assert "speed_over_ground_m_s: expected finite numbers, found infinity" in text
    assert "expected the same number of records in each" in text
