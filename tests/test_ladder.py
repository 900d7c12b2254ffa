"""The Ladder: who climbs, what is shown, and what probing hidden labels gains."""

import math

import numpy as np
import pytest
from benchmarks import ladder as attack
from hypothesis import given
from hypothesis import strategies as st

from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.scores.ladder import START, climb, climb_by_steps, paired_standard_error

SCORES = st.floats(-1e6, 1e6)


def test_the_first_submission_climbs_and_is_rounded_to_its_noise():
    assert climb(START.shown, 0.123456, 0.0042) == (pytest.approx(0.123), True)
    assert climb(math.nan, 1234.56, 42.0) == (pytest.approx(1230), True)


def test_an_improvement_within_the_noise_is_not_shown():
    assert climb(0.50, 0.4951, 0.005) == (0.50, False)
    assert climb(0.50, 0.4949, 0.005) == (pytest.approx(0.495), True)
    assert climb(0.50, 0.505, 0.005, better="max") == (0.50, False)
    assert climb(0.50, 0.5051, 0.005, better="max") == (pytest.approx(0.505), True)


def test_shown_numbers_of_a_fixed_step_are_its_multiples():
    assert climb_by_steps(math.nan, 0.4971, 0.01) == (pytest.approx(0.50), True)
    assert climb_by_steps(0.5, 0.4901, 0.01) == (0.5, False)
    assert climb_by_steps(0.5, 0.4849, 0.01) == (pytest.approx(0.48), True)


def test_without_noise_every_improvement_is_shown_as_it_is():
    assert climb(0.5, 0.4999999, 0.0) == (0.4999999, True)
    assert climb(0.5, 0.5, 0.0) == (0.5, False)


def test_an_undefined_score_changes_nothing():
    assert climb(0.5, math.nan, 0.1) == (0.5, False)
    shown, climbed = climb(math.nan, math.nan, 0.1)
    assert math.isnan(shown)
    assert not climbed


@given(st.lists(SCORES, min_size=1, max_size=30), st.floats(1e-3, 1e3), st.sampled_from(["min", "max"]))
def test_a_board_only_improves(scores, noise, better):
    rung, sign = START, 1 if better == "min" else -1
    for score in scores:
        before, rung = rung, climb(rung.shown, score, noise, better=better)
        assert rung.climbed or rung.shown == before.shown
        assert math.isnan(before.shown) or sign * rung.shown <= sign * before.shown
        assert not rung.climbed or abs(rung.shown - score) <= noise / 2 + 1e-9 * abs(score)


def test_the_noise_of_a_pair_is_that_of_its_differences():
    rng = np.random.default_rng(0)
    one = rng.normal(size=400)
    other = one + rng.normal(scale=0.1, size=400)
    found = paired_standard_error(one, other)
    assert found == pytest.approx(np.sqrt(np.var(one - other, ddof=1) / 400), rel=1e-12)
    assert found < np.std(one) / 20 / 5
    assert paired_standard_error(one, one) == 0


def test_bad_input_is_named():
    with pytest.raises(SettingsError, match="noise: expected a finite number from 0, found -1"):
        climb(0.5, 0.4, -1)
    with pytest.raises(SettingsError, match="step: expected a finite number above 0"):
        climb_by_steps(0.5, 0.4, 0)
    with pytest.raises(SettingsError, match="score: expected a finite number, or NaN, found inf"):
        climb(0.5, math.inf, 0.1)
    with pytest.raises(UnknownNameError, match="direction"):
        climb(0.5, 0.4, 0.1, better="less")
    with pytest.raises(ArrayError, match="at least 2 records"):
        paired_standard_error([1.0], [2.0])
    with pytest.raises(ArrayError, match="the same number of records"):
        paired_standard_error([1.0, 2.0], [2.0, 3.0, 4.0])


def test_probing_hidden_labels_gains_less_than_the_bound_and_less_than_on_an_open_board():
    found = attack.gains(submissions=300, records=1_000)
    assert found["ladder"] < attack.bound(1_000, 300)
    assert found["open board"] > 3 * found["ladder"] > 0
