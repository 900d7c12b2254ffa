import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.errors import ArrayError
from shiftbench.tracks.power.physics import motion
from shiftbench.tracks.power.physics.water import GRAVITY

SPEEDS = st.floats(0, 60)
ANGLES = st.floats(-10, 10)
MOTIONS = st.floats(-5, 20)


def array(value):
    return np.array([float(value)])


@given(SPEEDS, ANGLES, MOTIONS)
def test_the_true_wind_comes_back_from_the_apparent_one(speed, angle, ground):
    along, across = motion.apparent_wind(array(speed), array(angle), array(ground))
    back, turned = motion.true_wind(along, across, array(ground))
    assert back[0] == pytest.approx(speed, rel=1e-12, abs=1e-12)
    assert motion.true_wind_speed(along, across, array(ground))[0] == back[0]
    assert 0 <= turned[0] <= np.pi
    if speed > 1e-3:
        assert np.cos(turned[0]) == pytest.approx(np.cos(angle), abs=1e-12 * max(1, 60 / speed))


@given(st.floats(-40, 60), st.floats(0, 40), MOTIONS)
def test_the_apparent_wind_comes_back_from_the_true_one(along, across, ground):
    back = motion.apparent_wind(*motion.true_wind(array(along), array(across), array(ground)), array(ground))
    assert back[0][0] == pytest.approx(along, abs=1e-12)
    assert back[1][0] == pytest.approx(across, abs=1e-12)


def test_the_sign_of_the_wind_across_is_of_no_consequence():
    along, across, ground = np.array([3.0, -8.0]), np.array([4.0, 6.0]), np.array([7.0, 9.0])
    assert np.array_equal(motion.true_wind(along, across, ground), motion.true_wind(along, -across, ground))
    felt = motion.apparent_wind(np.array([9.0]), np.array([2.0]), np.array([5.0]))
    assert np.array_equal(felt, motion.apparent_wind(np.array([9.0]), np.array([-2.0]), np.array([5.0])))


def test_a_ship_in_still_air_feels_her_own_speed_from_ahead():
    along, across = motion.apparent_wind(np.zeros(2), np.array([0.0, 2.0]), np.array([8.0, 8.0]))
    assert along.tolist() == [8, 8]
    assert across.tolist() == [0, 0]


def test_a_following_wind_of_the_ships_own_speed_is_not_felt():
    along, across = motion.apparent_wind(np.array([8.0]), np.array([np.pi]), np.array([8.0]))
    assert np.hypot(along, across)[0] == pytest.approx(0, abs=1e-14)


def test_the_angle_off_the_bow_runs_from_ahead_to_astern():
    speed, angle = motion.polar(np.array([3.0, 0.0, -3.0, 0.0]), np.array([4.0, -2.0, 0.0, 0.0]))
    assert speed.tolist() == [5, 2, 3, 0]
    assert angle == pytest.approx([np.arctan2(4, 3), np.pi / 2, np.pi, 0])


def test_the_current_along_the_heading_adds_to_the_speed_over_ground():
    assert motion.speed_over_ground([8.0, 8.0], [0.5, -1.5]).tolist() == [8.5, 6.5]


def test_a_fully_developed_sea_has_the_period_of_its_wind():
    wind = np.array([5.0, 10.0, 20.0])
    sea = motion.sea_state(0.2433 * wind**2 / GRAVITY, wind, np.zeros(3))
    assert sea.period_s * motion.PEAK_OVER_MEAN == pytest.approx(8.134 * wind / GRAVITY)


def test_below_it_the_period_grows_with_fetch_as_in_jonswap():
    wind, fetch = 15.0, np.array([2e4, 1e5, 3e5])
    scaled = GRAVITY * fetch / wind**2
    height = 0.0016 * np.sqrt(scaled) * wind**2 / GRAVITY
    peak = 0.2857 * np.cbrt(scaled) * wind / GRAVITY
    sea = motion.sea_state(height, np.full(3, wind), np.zeros(3))
    assert sea.period_s * motion.PEAK_OVER_MEAN == pytest.approx(peak, rel=2e-3)


def test_without_wind_all_is_swell():
    height = np.array([1.0, 8.0])
    sea = motion.sea_state(height, np.zeros(2), np.zeros(2))
    assert sea.period_s * motion.PEAK_OVER_MEAN == pytest.approx([8.6, 15.2])


def test_a_mixed_sea_adds_the_moments_of_wind_sea_and_swell():
    height, wind = 3.0, 8.0
    wind_height = 0.2433 * wind**2 / GRAVITY
    swell_height = np.sqrt(height**2 - wind_height**2)
    periods = 8.134 * wind / GRAVITY / 1.296, (6.6 * np.cbrt(height) + 2) / 1.296
    energies = wind_height**2, swell_height**2
    first_moment = sum(energy / period for energy, period in zip(energies, periods, strict=True))
    sea = motion.sea_state(np.array([height]), np.array([wind]), np.zeros(1))
    assert sea.period_s[0] == pytest.approx(sum(energies) / first_moment)


@given(st.floats(0, 20), SPEEDS)
def test_every_sea_has_a_period_of_a_second_to_half_a_minute(height, wind):
    period = motion.sea_state(array(height), array(wind), array(0)).period_s[0]
    assert 1 / motion.PEAK_OVER_MEAN - 1e-12 <= period <= 30


def test_higher_seas_under_one_wind_are_longer_and_the_period_never_jumps():
    height = np.linspace(0.3, 8, 4_000)
    period = motion.sea_state(height, np.full(4_000, 12.0), np.zeros(4_000)).period_s
    steps = np.diff(period)
    assert (steps > 0).all()
    assert steps.max() < 0.02


def test_waves_come_from_where_the_wind_does():
    angle = np.array([0.3, -2.0])
    assert motion.sea_state(np.ones(2), np.ones(2), angle).angle_rad.tolist() == angle.tolist()


def test_the_ratio_of_peak_to_mean_period_is_that_of_the_spectrum():
    frequency = np.linspace(1, 12, 200_001)
    spectrum = frequency**-5 * np.exp(-691 / frequency**4)
    assert 2 * np.pi / frequency[spectrum.argmax()] == pytest.approx(motion.PEAK_OVER_MEAN, rel=1e-3)


def test_all_that_is_wrong_with_an_array_is_said_at_once():
    with pytest.raises(ArrayError, match="height_m: expected finite numbers, found NaN") as error:
        motion.sea_state([-1.0, np.nan, 2.0], [1.0, np.inf, -3.0], ["a", "b", "c"])
    text = str(error.value)
    assert "height_m: expected values >= 0, found -1 (1 of 3, first at index 0). Drop or correct" in text
    assert "wind_speed_m_s: expected finite numbers, found infinity" in text
    assert "wind_speed_m_s: expected values >= 0, found -3 (1 of 3, first at index 2). Drop or correct" in text
    assert "wind_angle_rad: expected numbers" in text


def test_arrays_of_different_lengths_and_ragged_ones_are_refused():
    with pytest.raises(ArrayError, match="expected the same number of records in each"):
        motion.apparent_wind(np.ones(3), np.ones(2), np.ones(3))
    with pytest.raises(ArrayError, match="height_m: expected an array of numbers, found a ragged sequence"):
        motion.sea_state([[1.0], [1.0, 2.0]], [1.0], [1.0])
