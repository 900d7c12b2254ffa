"""Retention over voxels: truths, twins that score the masks themselves, and the published code with its ties."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.metrics import segmentation
from shiftbench.metrics.segmentation import (
    dsc,
    ndsc,
    ndsc_retention_area,
    ndsc_retention_curve,
    ndsc_retention_optimal,
    ndsc_retention_random,
)
from shiftbench.metrics.segmentation.retention import GRIDS, RULES, best_order
from tests.metrics.segmentation import twins
from tests.metrics.segmentation.golden import CASES, PUBLISHED, volume

SHARES = {"ndsc": Fraction(1, 1000), "dsc": None}
TIED = ("s0", "s1", "s2", "s4")


def brain_of(case: str) -> tuple[np.ndarray, ...]:
    truth, answer, brain, rank, tied = volume(case)
    return truth[brain], answer[brain], rank, tied


# --- the published code -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_curves_and_areas_equal_the_published_code(case):
    truth, answer, rank, _ = brain_of(case)
    curve = ndsc_retention_curve(truth, answer, rank)
    np.testing.assert_allclose(curve.retained, PUBLISHED["fracs_retained"], atol=3e-16)
    np.testing.assert_allclose(curve.scores, PUBLISHED[f"{case}.ndsc_curve"], atol=1e-12)
    assert ndsc_retention_area(truth, answer, rank) == pytest.approx(float(PUBLISHED[f"{case}.ndsc_raac"]), abs=1e-12)


@pytest.mark.parametrize("case", TIED)
def test_the_published_area_with_ties_is_one_of_many(case):
    """It depends on how the sort breaks ties: between those of the best and of the worst order within them."""
    truth, answer, _, tied = brain_of(case)
    wrong = truth != answer
    best, worst = (ndsc_retention_area(truth, answer, tied + sign * 0.1 * wrong) for sign in (1, -1))
    assert best < PUBLISHED[f"{case}.ndsc_raac_ties"] < worst
    assert best < ndsc_retention_area(truth, answer, tied, rule="exact") < worst
    assert best < ndsc_retention_area(truth, answer, tied) < worst


def test_how_far_the_order_of_ties_moves_the_published_area():
    truth, answer, _, tied = brain_of("s1")
    assert float(PUBLISHED["s1.ndsc_raac_ties"]) == pytest.approx(0.0992, abs=1e-4), "by the sort of its time"
    assert ndsc_retention_area(truth, answer, tied) == pytest.approx(0.1957, abs=1e-4), "in the order of the file"
    turned = ndsc_retention_area(truth[::-1], answer[::-1], tied[::-1])
    assert abs(turned - 0.1957) > 0.05, "the same voxels in another order"
    exact = ndsc_retention_area(truth, answer, tied, rule="exact")
    assert exact == pytest.approx(0.1459, abs=1e-4)
    assert ndsc_retention_area(truth[::-1], answer[::-1], tied[::-1], rule="exact") == pytest.approx(exact, abs=1e-12)


def test_how_far_the_rules_differ_without_ties():
    """The first of 200 logarithmic steps is 13 % wide (log 2 / log 200): what the curve does there is not seen."""
    areas = {rule: ndsc_retention_area(*brain_of("s2")[:3], rule=rule) for rule in RULES}
    assert areas["linear400"] == pytest.approx(areas["exact"], abs=2e-4)
    assert areas["published"] == pytest.approx(areas["exact"] - 0.0224, abs=1e-4)
    nothing_to_find = {rule: ndsc_retention_random(*brain_of("s3")[:2], rule=rule) for rule in RULES}
    assert nothing_to_find["published"] == pytest.approx(nothing_to_find["exact"] - 0.0623, abs=1e-4)


# --- truths -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
def test_curves_begin_at_the_truth_and_end_at_the_score_of_the_prediction(rule, rng):
    truth, answer = rng.random((2, 5, 6, 7)) < 0.2
    for score, whole in (("ndsc", ndsc), ("dsc", dsc)):
        curve = ndsc_retention_curve(truth, answer, rng.random(truth.shape), rule=rule, score=score)
        assert (curve.retained[0], curve.retained[-1]) == (0.0, 1.0)
        assert curve.scores[0] == 1.0
        assert curve.scores[-1] == pytest.approx(whole(truth, answer), abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_a_perfect_prediction_has_no_area_whatever_the_uncertainty(rule, rng):
    truth = rng.random(50) < 0.3
    assert ndsc_retention_area(truth, truth, rng.random(50), rule=rule) == 0.0
    assert ndsc_retention_area(np.zeros(50), np.zeros(50), rng.random(50), rule=rule) == 0.0


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("case", ["s0", "s2", "s3", "s4"])
def test_a_measure_lies_between_the_optimal_order_and_its_reverse_and_random_between(rule, case):
    truth, answer, rank, _ = brain_of(case)
    optimal, random = (order(truth, answer, rule=rule) for order in (ndsc_retention_optimal, ndsc_retention_random))
    worst = ndsc_retention_area(truth, answer, -((truth != answer).astype(float)), rule=rule)
    assert optimal < ndsc_retention_area(truth, answer, rank, rule=rule) <= worst
    assert optimal < random <= worst


@pytest.mark.parametrize("weight", [0.5, 1.0, 1.3, 2.0, 9.0, 300.0])
def test_no_order_of_the_wrong_voxels_is_better_than_the_optimal_one(weight):
    """Every order is tried, also of predictions that are almost all wrong."""

    def area(order: list[bool], true: int) -> float:
        scores, false, missed = [], 0, 0
        for is_false in order:
            false, missed = false + is_false, missed + (not is_false)
            scores.append(2 * (true - missed) / (2 * (true - missed) + weight * false + missed))
        return sum(scores)

    for true, missed, false in itertools.product((3, 6, 9), (0, 1, 3, 4), (0, 1, 3, 5)):
        if missed > true:
            continue
        truth, answer = np.arange(16) < true, np.zeros(16, bool)
        answer[missed : true + false] = True
        uncertainty = best_order(truth, answer, weight)
        wrong = truth != answer
        np.testing.assert_array_equal(uncertainty > 0, wrong, "right voxels come first")
        ours = (answer & ~truth)[np.argsort(uncertainty, kind="stable")][(~wrong).sum() :].tolist()
        every = [
            area([place in late for place in range(missed + false)], true)
            for late in itertools.combinations(range(missed + false), false)
        ]
        assert area(ours, true) == pytest.approx(max(every), abs=1e-12)


def test_the_random_order_is_the_mean_over_all_orders_where_there_is_nothing_to_find():
    """Otherwise counts are expected, and the score is that of these."""
    truth, answer = np.zeros(6, bool), np.array([1, 1, 0, 0, 0, 0], bool)
    areas = [
        ndsc_retention_area(truth, answer, np.array(order, float), rule="exact")
        for order in itertools.permutations(range(6))
    ]
    assert ndsc_retention_random(truth, answer, rule="exact") == pytest.approx(np.mean(areas), abs=1e-12)


@pytest.mark.parametrize("rule", RULES)
def test_only_the_order_of_uncertainties_matters(rule, rng):
    truth, answer = rng.random((2, 300)) < 0.2
    uncertainty = rng.integers(0, 40, 300) / 8
    area = ndsc_retention_area(truth, answer, uncertainty, rule=rule)
    assert ndsc_retention_area(truth, answer, np.exp(uncertainty) - 7, rule=rule) == area
    assert ndsc_retention_area(truth, answer, uncertainty.astype(np.float32), rule=rule) == area


# --- twins ------------------------------------------------------------------------------------------------------------


@st.composite
def voxels(draw) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Masks and uncertainties [V], with many ties or none; nothing to find, everything, nothing predicted."""
    number = draw(st.integers(1, 24))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    truth, answer = (rng.random(number) < draw(st.sampled_from((0.0, 0.3, 0.7, 1.0))) for _ in range(2))
    return truth, answer, rng.permutation(number) // draw(st.sampled_from((1, 2, 5, 50)))


@settings(max_examples=80)
@given(voxels(), st.sampled_from(sorted(GRIDS)), st.sampled_from(sorted(SHARES)))
def test_curves_equal_scores_of_the_masks_themselves(arrays, rule, score):
    curve = ndsc_retention_curve(*arrays, rule=rule, score=score)
    expected = twins.retention(*(array.tolist() for array in arrays), curve.retained, SHARES[score])
    np.testing.assert_allclose(curve.scores, expected, atol=1e-12)
    area = sum((b - a) * (x + y) / 2 for (a, x), (b, y) in itertools.pairwise(zip(*curve, strict=True)))
    assert curve.area == pytest.approx(1 - area, abs=1e-12)


def expected_counts(truth, answer, uncertainty, score: str) -> list[float]:
    """The exact curve from its definition: every voxel has the share of wrong ones among those as uncertain."""
    share, curve = SHARES[score], []
    order = sorted(range(len(truth)), key=lambda place: uncertainty[place])
    wrong = []
    for place in order:
        ties = [other for other in order if uncertainty[other] == uncertainty[place]]
        false = Fraction(sum(answer[other] and not truth[other] for other in ties), len(ties))
        missed = Fraction(sum(truth[other] and not answer[other] for other in ties), len(ties))
        wrong.append((false, missed))
    positives, number = sum(truth), len(truth)
    weight = Fraction(1)
    if share is not None and 0 < positives < number:
        weight = (1 - share) * positives / (share * (number - positives))
    for kept in range(number + 1):
        false, missed = (sum((pair[kind] for pair in wrong[:kept]), Fraction(0)) for kind in (0, 1))
        whole = 2 * (positives - missed) + weight * false + missed
        curve.append(float(2 * (positives - missed) / whole) if whole else 1.0)
    return curve


@settings(max_examples=80)
@given(voxels(), st.sampled_from(sorted(SHARES)))
def test_the_exact_curve_equals_expected_counts_voxel_by_voxel(arrays, score):
    truth, answer, uncertainty = (array.tolist() for array in arrays)
    curve = ndsc_retention_curve(*arrays, rule="exact", score=score)
    if any(truth):
        np.testing.assert_allclose(curve.scores, expected_counts(truth, answer, uncertainty, score), atol=1e-12)


@settings(max_examples=40)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 2)), min_size=1, max_size=6))
def test_with_nothing_to_find_the_exact_curve_is_the_mean_over_all_orders_of_ties(found):
    answer, uncertainty = (np.array(values) for values in zip(*found, strict=True))
    truth = np.zeros(len(answer), bool)
    curves = [
        [
            float(not any(answer[place] for place in order[:kept]))
            for kept in range(len(answer) + 1)
        ]
        for order in itertools.permutations(range(len(answer)))
        if list(uncertainty[list(order)]) == sorted(uncertainty)
    ]  # fmt: skip
    curve = ndsc_retention_curve(truth, answer, uncertainty, rule="exact")
    np.testing.assert_allclose(curve.scores, np.mean(curves, axis=0), atol=1e-12)


@settings(max_examples=40)
@given(voxels(), st.sampled_from(RULES), st.sampled_from(sorted(SHARES)))
def test_the_random_order_equals_a_constant_uncertainty_and_the_optimal_one_is_no_worse(arrays, rule, score):
    truth, answer, uncertainty = arrays
    options = {"rule": rule, "score": score}
    random, optimal = (
        order(truth, answer, **options) for order in (ndsc_retention_random, ndsc_retention_optimal)
    )  # fmt: skip
    if rule == "exact":
        assert random == ndsc_retention_area(truth, answer, np.ones(len(truth)), **options)
    if rule == "exact":
        assert optimal <= ndsc_retention_area(truth, answer, uncertainty, **options) + 1e-12
        assert optimal <= random + 1e-12


# --- what is refused --------------------------------------------------------------------------------------------------


def test_what_is_no_uncertainty_and_no_rule_is_refused():
    mask = np.array([1, 0, 1])
    with pytest.raises(ArrayError, match=r"uncertainty: expected finite numbers, found NaN"):
        ndsc_retention_area(mask, mask, [0.1, math.nan, 0.2])
    with pytest.raises(ArrayError, match=r"uncertainty: expected the shape \(3,\) of the masks, found \(2,\)"):
        ndsc_retention_area(mask, mask, [0.1, 0.2])
    with pytest.raises(ArrayError, match=r"uncertainty: expected numbers, found dtype"):
        ndsc_retention_area(mask, mask, ["a", "b", "c"])
    with pytest.raises(ArrayError, match=r"targets: expected only 0 and 1, found 0.5"):
        ndsc_retention_area([0.5, 1, 0], mask, mask)
    with pytest.raises(UnknownNameError, match=r"Unknown rule 'linear'. Did you mean 'linear400'\?"):
        ndsc_retention_area(mask, mask, mask, rule="linear")
    for act in (ndsc_retention_random, ndsc_retention_optimal):
        with pytest.raises(UnknownNameError, match=r"Unknown score 'f1'"):
            act(mask, mask, score="f1")


def test_every_public_name_is_there():
    assert all(hasattr(segmentation, name) for name in segmentation.__all__)
