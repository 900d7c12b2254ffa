from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import scipy.integrate
import scipy.special

from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics import waves
from shiftbench.tracks.power.physics.motion import Sea
from shiftbench.tracks.power.physics.ship import SHIPS, ship
from shiftbench.tracks.power.physics.water import GRAVITY

HULL = ship("container").hull


def head_seas(height, period):
    height, period = np.broadcast_arrays(np.atleast_1d(np.asarray(height, float)), np.asarray(period, float))
    return Sea(height, period, np.zeros(len(height)))


def added(sea, speed=10.0, draft=12.0, block=0.62, hull=HULL):
    shape = np.shape(sea.height_m)
    return waves.stawave2(
        hull, sea, np.full(shape, speed), draft_m=np.full(shape, draft), block_coefficient=np.full(shape, block)
    )


def transfer(omega, hull, speed, draft, block, density=1025):
    """R/ζ² in regular head waves, as the standard writes it."""
    length, beam = hull.length_between_perpendiculars_m, hull.beam_m
    froude = speed / np.sqrt(GRAVITY * length)
    bar = np.sqrt(length / GRAVITY) * np.cbrt(hull.pitch_radius_ratio) / (1.17 * froude**-0.143) * omega
    b, d = (11.0, 14.0) if bar < 1 else (-8.5, -566 * (length / beam) ** -2.66)
    raw = bar**b * np.exp(b / d * (1 - bar**d)) * 60.3 * block**1.34 * froude**1.5 * np.exp(-3.5 * froude)
    x = 1.5 * omega**2 / GRAVITY * draft
    i1, k1 = scipy.special.i1e(x) * np.exp(min(x, 300)), scipy.special.k1e(x) * np.exp(-min(x, 300))
    f1 = 0.692 * (speed / np.sqrt(draft * GRAVITY)) ** 0.769 + 1.81 * block**6.95
    alpha = np.pi**2 * i1**2 / (np.pi**2 * i1**2 + k1**2) * f1
    return 4 * density * GRAVITY * beam**2 / length * raw + 0.5 * density * GRAVITY * beam * alpha


def quadrature(height, period, hull, speed, draft, block):
    """2 ∫ R/ζ² S dω, piece by piece."""

    def integrand(omega):
        spectrum = 173 * height**2 / (period**4 * omega**5) * np.exp(-691 / (period**4 * omega**4))
        return 2 * transfer(omega, hull, speed, draft, block) * spectrum

    edges = np.array([1.5, 3, 4, 5, 6, 8, 10, 15, 25, 60, 400]) / period
    return sum(scipy.integrate.quad(integrand, low, high, limit=200)[0] for low, high in pairwise(edges))


@pytest.mark.parametrize("name", SHIPS)
def test_tables_and_quadrature_agree(name):
    hull, rng, n = ship(name).hull, np.random.default_rng(4), 60
    height, period, speed = rng.uniform(0.2, 8, n), rng.uniform(2, 20, n), rng.uniform(0.5, 13, n)
    draft, block = rng.uniform(5, 16, n), rng.uniform(0.5, 0.88, n)
    found = waves.stawave2(hull, Sea(height, period, np.zeros(n)), speed, draft_m=draft, block_coefficient=block)
    expected = [
        quadrature(*record[:2], hull, *record[2:]) for record in zip(height, period, speed, draft, block, strict=True)
    ]
    assert found == pytest.approx(expected, rel=1e-4)


def test_interpolating_in_the_tables_costs_less_than_one_part_in_ten_thousand(monkeypatch):
    period = np.geomspace(1.5, 30, 501)
    coarse = added(head_seas(np.ones(501), period))
    for table in (waves._motion_table, waves._reflection_table):
        table.cache_clear()
    monkeypatch.setattr(waves, "STEP", waves.STEP / 5)
    monkeypatch.setattr(waves, "TABLE", np.arange(np.log(1e-3), np.log(1e2), waves.STEP))
    monkeypatch.setattr(waves, "TIMES", np.arange(0.4, 10.0, waves.STEP))
    fine = added(head_seas(np.ones(501), period))
    for table in (waves._motion_table, waves._reflection_table):
        table.cache_clear()
    error = np.abs(coarse / fine - 1).max()
    assert 0 < error < 1e-4


def test_the_bessel_functions_are_those_of_scipy():
    x = np.geomspace(1e-6, 30, 400)
    assert waves.bessel_i1(x) == pytest.approx(scipy.special.i1(x), rel=1e-13)
    assert waves.bessel_k1(x) == pytest.approx(scipy.special.k1(x), rel=1e-13)


def test_long_waves_pass_a_hull_and_short_ones_are_turned_back():
    share = waves.reflection_share(np.geomspace(1e-6, 1e4, 300))
    assert share[0] < 1e-20
    assert (np.diff(share) >= 0).all()
    assert share[-1] == pytest.approx(1, abs=1e-15)


def test_the_motion_part_peaks_at_one_and_is_smooth_there():
    frequency = np.linspace(0.5, 2, 3_001)
    shape = waves.motion_shape(frequency, 7.0)
    assert frequency[shape.argmax()] == pytest.approx(1)
    assert shape.max() == pytest.approx(1)
    assert np.abs(np.diff(shape, 2)).max() < 1e-4
    assert np.isfinite(waves.motion_shape(np.array([1e-9, 1e9]), 7.0)).all()


def test_very_short_waves_leave_the_reflection_and_very_long_ones_nothing():
    speed, draft, block, height = 10.0, 12.0, 0.62, 2.0
    f1 = 0.692 * (speed / np.sqrt(GRAVITY * draft)) ** 0.769 + 1.81 * block**6.95
    limit = 1025 * GRAVITY * HULL.beam_m * f1 * height**2 * 173 / (4 * 691)
    found = added(head_seas(height, np.array([0.05, 0.3, 60, 300, 2_000])), speed, draft, block)
    assert found[:2] == pytest.approx([limit, limit], rel=2e-3)
    assert (np.diff(found[1:]) < 0).all()
    assert found[-2] < 1e-4 * limit


def test_added_resistance_grows_with_the_square_of_the_height():
    height = np.array([0.0, 1.0, 2.0, 6.0])
    for found in (added(head_seas(height, 8)), waves.stawave1(HULL, head_seas(height, 8))):
        assert found[0] == 0
        assert found[1] > 0
        assert found == pytest.approx(found[1] * height**2)


def test_added_resistance_is_never_negative_and_faster_ships_meet_more_of_it():
    speed = np.linspace(0, 13, 300)
    for period in (3.0, 6.0, 9.0, 14.0):
        sea = head_seas(np.full(300, 2.0), period)
        found = added(sea, speed)
        assert (found >= 0).all()
        assert (np.diff(found) > 0).all()


def test_stawave1_is_its_formula():
    expected = 1025 * GRAVITY / 16 * 2.5**2 * HULL.beam_m * np.sqrt(HULL.beam_m / HULL.bow_length_m)
    assert waves.stawave1(HULL, head_seas(2.5, 6)) == pytest.approx([expected])
    assert waves.stawave1(HULL, head_seas(2.5, 6), density=1000.0) == pytest.approx([expected / 1.025])


def test_the_direction_is_full_ahead_none_astern_symmetric_and_without_a_jump():
    angle = np.linspace(-np.pi, np.pi, 20_001)
    share = waves.direction(angle)
    assert (share[np.abs(angle) <= np.pi / 4] > 1 - 1e-12).all()
    assert share[np.abs(angle) >= np.radians(120.01)].max() == 0
    assert waves.direction(np.array([np.pi / 2]))[0] == pytest.approx(1 / (1 + np.sqrt(2)))
    assert share == pytest.approx(share[::-1], abs=1e-12)
    assert np.abs(np.diff(share)).max() < 3e-4
    assert (np.diff(share[angle >= 0]) <= 1e-15).all()


def test_both_methods_take_the_direction():
    sea = Sea(np.full(3, 2.0), np.full(3, 7.0), np.array([0.0, np.pi / 2, np.pi]))
    for found in (added(sea), waves.stawave1(HULL, sea)):
        assert found == pytest.approx(found[0] * waves.direction(sea.angle_rad))


def test_a_ship_and_sea_within_the_ranges_leave_nothing_to_say():
    sea = Sea(np.full(2, 2.0), np.full(2, 7.0), np.radians([45.0, -45.0]))
    speed, draft, block = np.array([9.0, 10.0]), np.array([12.0, 11.0]), np.array([0.62, 0.6])
    assert waves.validity(HULL, sea, speed, draft_m=draft, block_coefficient=block) == ()
    block[1] = np.nan  # of a ship whose form is not known
    assert waves.validity(HULL, sea, speed, draft_m=draft, block_coefficient=block) == ()


def test_what_is_out_of_range_is_named_with_its_count_and_first_record():
    hull = replace(HULL, length_between_perpendiculars_m=380.0, beam_m=40.0)
    sea = Sea(np.array([2.0, 9.0]), np.array([7.0, 9.0]), np.array([0.0, 2.0]))
    speed, draft, block = np.array([1.0, 9.0]), np.array([12.0, 19.0]), np.array([0.3, 0.6])
    messages = waves.validity(hull, sea, speed, draft_m=draft, block_coefficient=block)
    assert messages == (
        "STAWAVE-2: length between perpendiculars in m: expected 75 to 350, found 380 at index 0 (2 of 2 records).",
        "STAWAVE-2: length over beam: expected 4 to 9, found 9.5 at index 0 (2 of 2 records).",
        "STAWAVE-2: beam over draft: expected 2.2 to 5.5, found 2.105 at index 1 (1 of 2 records).",
        "STAWAVE-2: Froude number: expected 0.1 to 0.3, found 0.01638 at index 0 (1 of 2 records).",
        "STAWAVE-2: block coefficient: expected 0.39 to 0.9, found 0.3 at index 0 (1 of 2 records).",
        "STAWAVE-2: degrees off the bow that the waves come from: expected 0 to 45, found 114.6 at index 1 "
        "(1 of 2 records).",
        "STAWAVE-1: significant height in m: expected 0 to 4.386, found 9 at index 1 (1 of 2 records).",
    )


def test_all_that_is_wrong_is_said_at_once():
    sea = Sea([-1.0, np.nan], [0.0, 5.0], [0.0, np.inf])
    with pytest.raises(ArrayError, match="height_m: expected values >= 0, found -1") as error:
        waves.stawave2(HULL, sea, [-2.0, 1.0], draft_m=[0.0, 9.0], block_coefficient=[0.6, 0.6, 0.6])
    text = str(error.value)
    for problem in (
        "height_m: expected finite numbers, found NaN",
        "period_s: expected values > 0, found 0",
        "angle_rad: expected finite numbers, found infinity",
        "speed_m_s: expected values >= 0, found -2",
        "draft_m: expected values > 0, found 0",
        "expected the same number of records in each",
    ):
        assert problem in text
    with pytest.raises(ArrayError, match="period_s: expected values > 0, found 0"):
        waves.stawave1(HULL, sea)
