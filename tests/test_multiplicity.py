"""p-values of many comparisons: against worked examples, literal twins, and the chance of a false difference."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records
from shiftbench.scores.intervals import Settings
from shiftbench.scores.multiplicity import holm, step_down

examples = settings(max_examples=60, deadline=None, derandomize=True)


def test_holm_on_a_worked_example():
    # Smallest first: 0.005 x 4, 0.01 x 3, 0.03 x 2, then 0.04 x 1 raised to the value before it.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@examples
@given(st.lists(st.floats(0.0, 1.0), max_size=12))
def test_holm_equals_its_literal_twin(p_values):
    adjusted, largest = [0.0] * len(p_values), 0.0
    for done, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        largest = max(largest, p_values[place] * (len(p_values) - done))
        adjusted[place] = min(largest, 1.0)
    assert holm(p_values) == pytest.approx(adjusted)


def test_holm_leaves_out_what_was_not_tested():
    np.testing.assert_allclose(holm([0.01, math.nan, 0.02]), [0.02, math.nan, 0.02])
    assert holm([]).shape == (0,)


# --- more comparisons than replicates can tell apart by Holm's method -----------------------------------------------


def test_step_down_equals_its_literal_twin():
    rng = np.random.default_rng(1)
    for _ in range(40):
        pairs, drawn = int(rng.integers(1, 9)), rng.chisquare(1, (8, 60))
        replicates, distances = drawn[:pairs], rng.chisquare(1, pairs) * 3.0
        replicates[1:][rng.random(replicates[1:].shape) < 0.02] = np.nan
        distances[0] = 0.0  # the last one left, so that there is always one to compare with
        p_values = np.full(pairs, 1 / 61)
        left, largest, expected = sorted(range(pairs), key=lambda k: -distances[k]), 0.0, np.empty(pairs)
        while left:
            first = left[0]
            beyond = sum(
                max(replicates[k, b] for k in left if replicates[k, b] >= 0.0) >= distances[first] for b in range(60)
            )
            largest = max(largest, (1 + beyond) / 61)
            expected[first] = largest
            left.pop(0)
        np.testing.assert_allclose(step_down(p_values, distances, replicates), expected)


def test_step_down_leaves_out_what_was_not_tested_and_is_never_below_the_p_value():
    replicates = np.vstack((np.linspace(0.0, 2.0, 99), np.full(99, np.nan), np.linspace(0.0, 1.0, 99)))
    found = step_down([0.01, math.nan, 0.4], np.array([9.0, math.nan, 1.5]), replicates)
    np.testing.assert_allclose(found, [0.01, math.nan, 0.4])


def differences(values: np.ndarray, rng: np.random.Generator, replicates: int) -> tuple[np.ndarray, ...]:
    """p-values [P], distances [P] and replicates [P, B] of the means of values [n, K], by pairs, studentised."""
    n, systems = values.shape
    counts = rng.multinomial(n, np.full(n, 1.0 / n), replicates)
    found = []
    for a, b in combinations(range(systems), 2):
        own = values[:, a] - values[:, b]
        means, squares = counts @ own / n, counts @ own**2 / n
        t = (means - own.mean()) / np.sqrt((squares - means**2) / (n - 1))
        observed = abs(own.mean()) / (own.std(ddof=1) / math.sqrt(n))
        found.append(((1 + np.count_nonzero(np.abs(t) >= observed)) / (1 + replicates), observed, np.abs(t)))
    p_values, distances, drawn = zip(*found, strict=True)
    return np.array(p_values), np.array(distances), np.array(drawn)


def test_a_false_difference_among_66_is_as_rare_as_promised_and_true_ones_are_found_where_holm_finds_none():
    rng = np.random.default_rng(2)
    false, by_step_down, by_holm, true = [], 0, 0, 0
    for _ in range(250):
        level = np.exp(rng.normal(0.0, 0.5, (80, 1)))
        values = level * rng.gamma(4.0, size=(80, 12))
        false.append((step_down(*differences(values, rng, 199)) < 0.05).any())
    for _ in range(40):
        values = np.exp(rng.normal(0.0, 0.5, (80, 1))) * rng.gamma(4.0, size=(80, 12)) * np.linspace(1.0, 1.8, 12)
        p_values, *rest = differences(values, rng, 199)
        apart = np.array([b - a >= 6 for a, b in combinations(range(12), 2)])
        true += apart.sum()
        by_step_down += np.count_nonzero(step_down(p_values, *rest)[apart] < 0.05)
        by_holm += np.count_nonzero(holm(p_values)[apart] < 0.05)
    assert np.mean(false) <= 0.05 + 2.0 * math.sqrt(0.05 * 0.95 / 250), np.mean(false)
    assert by_holm == 0
    assert by_step_down > 0.7 * true, by_step_down / true


def many(systems: int, replicates: int, *, gaps: bool = False, kind: str = "auto"):
    """A report of systems on the same 300 records, each a little worse than the one before; the last may have gaps."""
    rng = np.random.default_rng(3)
    base, records = rng.chisquare(1, 300), Records(300)
    made = []
    for k in range(systems):
        errors = (1.0 + 0.15 * k) * (0.5 * base + 0.5 * rng.chisquare(1, 300))
        made.append(scored.given(f"s{k}", errors, {"u": rng.random(300)}, root=True))
    if gaps:
        made[-1] = made[-1].answering(np.arange(300) % 9 > 0)
    return build([(records, made)], Options(intervals=Settings(replicates=replicates, kind=kind)))


# Studentised ones take far longer, so that those with gaps, where all is resampled twice, are percentiles.
@pytest.mark.parametrize(("gaps", "kind"), [(False, "auto"), (True, "percentile")], ids=["same records", "gaps"])
def test_eleven_systems_are_ranked_with_the_replicates_that_everybody_takes(gaps, kind):
    """55 pairs: Holm's smallest p would be 55 / 1,001."""
    report = many(11, 1_000, gaps=gaps, kind=kind)
    mine = [entry for entry in report.comparisons if (entry.subset, entry.metric) == ("full", "rmse")]
    assert len(mine) == 55
    assert {entry.adjusted_by for entry in mine} == {"Romano-Wolf"}
    assert min(entry.p_adjusted for entry in mine) == pytest.approx(1 / 1_001)
    assert all(entry.p <= entry.p_adjusted <= 1.0 for entry in mine)
    ranks = {rank.system: rank.rank for rank in report.ranks if (rank.subset, rank.metric) == ("full", "rmse")}
    assert ranks["s0"] == 1
    assert ranks["s9"] > 4
    assert not any("none is ranked" in text for text in report.warnings)


def test_few_systems_are_adjusted_by_holm_as_ever():
    report = many(4, 200)
    for metric in ("rmse", "r_auc"):
        mine = [entry for entry in report.comparisons if entry.metric == metric]
        assert {entry.adjusted_by for entry in mine} == {"Holm"}
        np.testing.assert_array_equal([entry.p_adjusted for entry in mine], holm([entry.p for entry in mine]))
