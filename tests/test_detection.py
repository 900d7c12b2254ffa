"""Detection of shifted records: against scikit-learn, a literal twin, and the golden outputs."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics

from shiftbench.errors import ArrayError, DegenerateScoreWarning, UnknownNameError
from shiftbench.scores import detection
from shiftbench.scores.ranking import Ranking

GOLDEN = Path(__file__).parent / "golden"
LIKELIHOOD = np.load(GOLDEN / "likelihood.npz")
INPUTS = np.load(GOLDEN / "inputs_likelihood.npz")
examples = settings(max_examples=60, deadline=None, derandomize=True)


@st.composite
def flagged(draw) -> tuple[list[float], list[int]]:
    """Uncertainties with many ties, and flags of which at least one is 0 and one is 1."""
    n = draw(st.integers(2, 30))
    uncertainty = draw(st.lists(st.integers(-4, 4).map(float), min_size=n, max_size=n))
    flags = draw(st.permutations([0, 1, *draw(st.lists(st.integers(0, 1), min_size=n - 2, max_size=n - 2))]))
    return uncertainty, flags


def slow_roc_auc(uncertainty: list[float], shifted: list[int]) -> float:
    """The share of pairs in which the shifted record is the less certain one, a tie counting one half."""
    wins = [
        1.0 if out > inside else 0.5 if out == inside else 0.0
        for out, is_out in zip(uncertainty, shifted, strict=True)
        for inside, also_out in zip(uncertainty, shifted, strict=True)
        if is_out and not also_out
    ]
    return math.fsum(wins) / len(wins)


@examples
@given(flagged())
def test_roc_auc_is_the_share_of_pairs_ranked_right_and_that_of_scikit_learn(data):
    found = detection.roc_auc(*data)
    assert found == pytest.approx(slow_roc_auc(*data), abs=1e-14)
    assert found == pytest.approx(metrics.roc_auc_score(data[1], data[0]), abs=1e-12)


@examples
@given(flagged())
def test_roc_curve_is_that_of_scikit_learn_with_every_point_kept(data):
    uncertainty, shifted = data
    false, true, _ = metrics.roc_curve(shifted, uncertainty, drop_intermediate=False)
    found = detection.roc_curve(uncertainty, shifted)
    np.testing.assert_allclose(found, (false, true), atol=1e-14)
    assert np.trapezoid(found[1], found[0]) == pytest.approx(detection.roc_auc(uncertainty, shifted), abs=1e-14)


@examples
@given(flagged())
def test_published_pr_auc_is_the_trapezoid_and_exact_the_average_precision_of_scikit_learn(data):
    uncertainty, shifted = data
    precision, recall, _ = metrics.precision_recall_curve(shifted, uncertainty)
    assert detection.pr_auc(uncertainty, shifted) == pytest.approx(metrics.auc(recall, precision), abs=1e-12)
    exact = metrics.average_precision_score(shifted, uncertainty)
    assert detection.pr_auc(uncertainty, shifted, rule="exact") == pytest.approx(exact, abs=1e-12)


@examples
@given(flagged(), st.randoms(use_true_random=False))
def test_row_order_never_matters_even_with_ties(data, random):
    rows = list(zip(*data, strict=True))
    random.shuffle(rows)
    shuffled = [list(column) for column in zip(*rows, strict=True)]
    assert detection.roc_auc(*data) == detection.roc_auc(*shuffled)
    for rule in ("published", "exact"):
        assert detection.pr_auc(*data, rule=rule) == detection.pr_auc(*shuffled, rule=rule)


@examples
@given(flagged())
def test_turning_the_uncertainty_around_mirrors_the_roc_auc(data):
    uncertainty, shifted = data
    mirrored = detection.roc_auc([-value for value in uncertainty], shifted)
    assert mirrored == pytest.approx(1.0 - detection.roc_auc(uncertainty, shifted), abs=1e-14)


def test_large_samples_agree_with_scikit_learn(rng):
    shifted = rng.random(50_000) < 0.2
    uncertainty = np.round(rng.normal(shifted * 0.7, 1.0), 2)  # hundreds of tie groups
    assert detection.roc_auc(uncertainty, shifted) == pytest.approx(metrics.roc_auc_score(shifted, uncertainty))
    exact = detection.pr_auc(uncertainty, shifted, rule="exact")
    assert exact == pytest.approx(metrics.average_precision_score(shifted, uncertainty))


@pytest.mark.parametrize(("uncertainty", "area"), [([0, 1, 2, 3], 1.0), ([3, 2, 1, 0], 0.0), ([5, 5, 5, 5], 0.5)])
def test_perfect_inverse_and_constant_uncertainty(uncertainty, area):
    assert detection.roc_auc(uncertainty, [0, 0, 1, 1]) == area


def test_chance_level_of_average_precision_is_the_share_of_shifted_records():
    assert detection.pr_auc(np.zeros(8), [1, 1, 0, 0, 0, 0, 0, 0], rule="exact") == 0.25


@pytest.mark.parametrize("kind", [np.float32, np.int64, np.bool_])
def test_flags_may_be_numbers_and_uncertainty_of_any_kind(kind, rng):
    uncertainty, shifted = rng.integers(0, 2, 50), rng.integers(0, 2, 50)
    expected = detection.roc_auc(uncertainty * 1.0, shifted == 1)
    assert detection.roc_auc(uncertainty.astype(kind), shifted.astype(kind)) == expected
    assert detection.roc_auc(uncertainty.tolist(), shifted.tolist()) == expected


@pytest.mark.parametrize(("score", "name"), [(detection.roc_auc, "ROC-AUC"), (detection.pr_auc, "PR-AUC")])
@pytest.mark.parametrize(("flag", "which"), [(1, "every record is"), (0, "no record is")])
def test_one_side_alone_gives_nan_with_a_named_warning(score, name, flag, which):
    with pytest.warns(DegenerateScoreWarning, match=f"{name} is undefined: {which} shifted; it is set to NaN"):
        assert math.isnan(score([0.1, 0.2], [flag, flag]))


def test_roc_curve_of_one_side_alone_has_nan_rates_and_no_library_warning(recwarn):
    false, true = detection.roc_curve([0.1, 0.2], [1, 1])
    assert np.isnan(false).all()
    assert list(true) == [0.0, 0.5, 1.0]
    assert not recwarn


@pytest.mark.parametrize("score", [detection.roc_auc, detection.roc_curve, detection.pr_auc])
@pytest.mark.parametrize(
    ("uncertainty", "shifted", "message"),
    [
        ([0.1, math.nan], [0, 1], "uncertainty: expected finite numbers, found NaN"),
        ([0.1, 0.2], [0, 2], "shifted: expected only 0 and 1, found 2"),
        ([0.1, 0.2], [0, 1, 1], "shifted: expected 2 records like the others, found 3"),
        ([], [], "uncertainty: expected at least one record, found none"),
    ],
)
def test_bad_input_is_refused(score, uncertainty, shifted, message):
    with pytest.raises(ArrayError, match=message):
        score(uncertainty, shifted)


def test_a_misspelt_rule_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown rule 'exakt'. Did you mean 'exact'\?"):
        detection.pr_auc([0.1, 0.2], [0, 1], rule="exakt")


def test_cores_use_a_ranking_made_before(rng):
    uncertainty, shifted = rng.integers(0, 9, 40) * 1.0, rng.random(40) < 0.5
    ranking = Ranking.of(uncertainty)
    assert detection.roc_area(shifted, ranking) == detection.roc_auc(uncertainty, shifted)
    np.testing.assert_array_equal(detection.roc_points(shifted, ranking), detection.roc_curve(uncertainty, shifted))


# --- golden ---------------------------------------------------------------------------------------------------------


def in_and_out() -> tuple[np.ndarray, np.ndarray]:
    inside, out = INPUTS["in_measure"], INPUTS["out_measure"]
    return np.concatenate((inside, out)), np.repeat([0, 1], [len(inside), len(out)])


def test_roc_and_pr_are_the_published_ones():
    assert detection.roc_auc(*in_and_out()) == pytest.approx(float(LIKELIHOOD["ood.roc"]), abs=1e-12)
    assert detection.pr_auc(*in_and_out()) == pytest.approx(float(LIKELIHOOD["ood.pr"]), abs=1e-12)


def test_published_pos_label_zero_is_the_mirrored_score():
    # The published `pos_label=0` negates the scores and leaves the labels: 1 - ROC-AUC, not another quantity.
    uncertainty, shifted = in_and_out()
    assert detection.roc_auc(-uncertainty, shifted) == pytest.approx(float(LIKELIHOOD["ood.roc_neg"]), abs=1e-12)
    assert float(LIKELIHOOD["ood.roc_neg"]) == pytest.approx(1.0 - float(LIKELIHOOD["ood.roc"]), abs=1e-12)


def test_published_pr_auc_by_trapezoid_is_not_average_precision():
    # Straight lines between points of a precision-recall curve cannot be reached (Davis & Goadrich 2006).
    exact = detection.pr_auc(*in_and_out(), rule="exact")
    assert abs(exact - float(LIKELIHOOD["ood.pr"])) > 1e-4
