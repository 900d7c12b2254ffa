"""Metrics of classification: against scikit-learn, the published code, and slow twins."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn import metrics as sklearn_metrics

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.metrics import classification

GOLDEN = Path(__file__).parent.parent / "golden"
PROBABILISTIC = [
    classification.brier,
    classification.brier_per_record,
    classification.nll,
    classification.nll_per_record,
    classification.reliability,
    classification.expected_calibration_error,
]


@pytest.fixture
def targets(rng):
    return rng.integers(4, size=600)


@pytest.fixture
def probabilities(rng):
    return rng.dirichlet(np.full(4, 0.6), 600)


# --- right or wrong ---------------------------------------------------------------------------------------------------


def test_scores_of_labels_equal_scikit_learn(targets, probabilities):
    answers = probabilities.argmax(axis=1)
    assert classification.accuracy(targets, answers) == pytest.approx(sklearn_metrics.accuracy_score(targets, answers))
    assert classification.macro_f1(targets, answers) == pytest.approx(
        sklearn_metrics.f1_score(targets, answers, average="macro")
    )
    assert np.array_equal(
        classification.confusion(targets, answers), sklearn_metrics.confusion_matrix(targets, answers)
    )


@pytest.mark.parametrize(
    "metric",
    [classification.accuracy, classification.macro_f1, classification.zero_one_error, classification.confusion],
)
def test_probabilities_count_as_their_most_probable_class(targets, probabilities, metric):
    assert np.array_equal(metric(targets, probabilities), metric(targets, probabilities.argmax(axis=1)))


def test_of_equally_probable_classes_the_first_is_the_answer():
    assert classification.zero_one_error([0, 1], [[0.5, 0.5], [0.5, 0.5]]).tolist() == [0.0, 1.0]


def test_macro_f1_counts_the_classes_that_targets_or_answers_name():
    # Class 0: F1 = 4/5; class 2 is answered once and never right: 0; class 1 is nowhere: left out.
    assert classification.macro_f1([0, 0, 0], [0, 0, 2]) == pytest.approx((4 / 5 + 0) / 2)
    with pytest.warns(UserWarning, match="ill-defined"):
        sklearn = sklearn_metrics.f1_score([0, 0, 0], [0, 0, 2], average="macro", labels=[0, 1, 2])
    # With the absent class counted as 0 the score would depend on how many classes nobody has seen.
    assert sklearn == pytest.approx((4 / 5 + 0 + 0) / 3)


def test_macro_f1_of_a_majority_classifier_follows_from_its_accuracy():
    # One class of C is answered always: its F1 is 2a / (1 + a), the others have 0.
    targets = np.repeat([0, 1, 2], [70, 20, 10])
    assert classification.accuracy(targets, np.zeros(100)) == pytest.approx(0.7)
    assert classification.macro_f1(targets, np.zeros(100)) == pytest.approx(2 * 0.7 / 1.7 / 3)


def test_confusion_has_a_row_and_a_column_for_every_class_of_the_probabilities():
    found = classification.confusion([0, 1], [[0.9, 0.1, 0.0], [0.8, 0.2, 0.0]])
    assert found.tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0]]


# --- probabilities ----------------------------------------------------------------------------------------------------


def test_brier_is_the_squared_distance_to_the_truth_over_all_classes(targets, probabilities):
    slow = [((p - np.eye(4)[y]) ** 2).sum() for y, p in zip(targets, probabilities, strict=True)]
    assert classification.brier_per_record(targets, probabilities) == pytest.approx(slow)
    assert classification.brier(targets, probabilities) == pytest.approx(np.mean(slow))


def test_brier_of_the_truth_is_exactly_0_and_of_its_contrary_2(rng):
    targets = rng.integers(3, size=50)
    assert classification.brier_per_record(targets, np.eye(3)[targets]).tolist() == [0.0] * 50
    assert classification.brier_per_record(targets, np.eye(3)[(targets + 1) % 3]).tolist() == [2.0] * 50
    third = np.array([[1e-9, 1 - 2e-9, 1e-9]])  # 6e-18, where sums of squares gave 1e-16 or a negative number
    assert classification.brier(np.array([1]), third) == pytest.approx(6e-18, rel=1e-6)


def test_brier_of_two_classes_is_twice_the_score_of_one(rng):
    targets, p = rng.integers(2, size=300), rng.uniform(size=300)
    expected = 2 * sklearn_metrics.brier_score_loss(targets, p)
    assert classification.brier(targets, np.stack([1 - p, p], axis=1)) == pytest.approx(expected)


def test_nll_equals_scikit_learn_and_the_published_code(targets, probabilities):
    expected = sklearn_metrics.log_loss(targets, probabilities)
    assert classification.nll(targets, probabilities) == pytest.approx(expected, abs=1e-6)
    inputs, published = np.load(GOLDEN / "inputs_likelihood.npz"), np.load(GOLDEN / "likelihood.npz")
    found = classification.nll_per_record(inputs["binary_labels"], inputs["binary_probs"])
    assert found == pytest.approx(published["nll_class"], abs=1e-14)


def test_nll_of_an_impossible_target_is_finite():
    assert classification.nll([1], [[1.0, 0.0]]) == pytest.approx(-np.log(1e-10))


# --- calibration ------------------------------------------------------------------------------------------------------


def slow_bins(targets, probabilities, bins):
    held = {}
    for y, p in zip(targets, probabilities, strict=True):
        # Bin b of B holds ((b-1)/B, b/B].
        b = next(b for b in range(1, bins + 1) if p.max() <= b / bins or b == bins)
        held.setdefault(b, []).append((p.max(), p.argmax() == y))
    return [(*np.mean(held[b], axis=0), len(held[b])) for b in sorted(held)]


@pytest.mark.parametrize("bins", [1, 4, 15])
def test_reliability_and_calibration_error_equal_a_loop_over_records(targets, probabilities, bins):
    slow = slow_bins(targets, probabilities, bins)
    found = classification.reliability(targets, probabilities, bins=bins)
    assert pytest.approx(np.array(slow)) == np.array(found).T
    expected = sum(n * abs(right - confidence) for confidence, right, n in slow) / 600
    assert classification.expected_calibration_error(targets, probabilities, bins=bins) == pytest.approx(expected)
    right = probabilities.argmax(axis=1) == targets
    assert classification.calibration_error(probabilities.max(axis=1), right, bins=bins) == pytest.approx(expected)


def test_a_confidence_on_a_border_belongs_to_the_bin_below():
    found = classification.reliability([0, 0, 0], [[0.6, 0.4], [0.8, 0.2], [1.0, 0.0]], bins=5)
    assert found.records.tolist() == [1, 1, 1]
    assert found.confidence == pytest.approx([0.6, 0.8, 1.0])


def test_a_confidence_rounded_above_one_is_kept():
    assert classification.reliability([0], [[1.0 + 2e-16, 0.0]]).records.tolist() == [1]


def test_calibration_error_tells_the_calibrated_from_the_overconfident(rng, probabilities):
    many = np.repeat(probabilities, 50, axis=0)
    targets = (many.cumsum(axis=1) < rng.uniform(size=(len(many), 1))).sum(axis=1).clip(max=3)
    assert classification.expected_calibration_error(targets, many) < 0.015
    overconfident = many**3 / (many**3).sum(axis=1, keepdims=True)
    assert classification.expected_calibration_error(targets, overconfident) > 0.05


def test_fewer_than_one_bin_is_refused(targets, probabilities):
    with pytest.raises(SettingsError, match="bins: expected a whole number from 1 to 1,000,000, found 0"):
        classification.reliability(targets, probabilities, bins=0)


# --- bad input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([0.5, 1.0], r"targets: expected class indices from 0 to .*, found 0.5 \(1 of 2, first at index 0\)"),
        ([0, -1], "found -1"),
        ([0, 20190401], "Number the classes"),
        ([0, 1, 1], "expected the same number of records"),
        (["a", "b"], "targets: expected numbers"),
    ],
)
def test_targets_that_are_no_class_indices_are_refused(targets, message):
    with pytest.raises(ArrayError, match=message):
        classification.accuracy(targets, [0, 1])


@pytest.mark.parametrize("metric", PROBABILISTIC)
def test_all_problems_of_targets_and_probabilities_are_reported_together(metric):
    with pytest.raises(ArrayError, match="targets: expected class indices from 0 to 1, found 2") as caught:
        metric([0, 2], [[0.5, 0.5], [0.7, 0.7]])
    assert any("found 1.4 (record 1; 1 of 2)" in problem for problem in caught.value.problems)


@pytest.mark.parametrize("metric", PROBABILISTIC)
def test_probabilities_of_one_class_alone_are_told_how_to_be_two(metric):
    with pytest.raises(ArrayError, match=r"expected \[N, C\], found shape \(2,\). Two classes\? Use np.stack"):
        metric([0, 1], [0.5, 0.7])


def test_ragged_answers_are_refused():
    with pytest.raises(ArrayError, match="answers: expected an array of numbers, found a ragged sequence"):
        classification.accuracy([0, 1], [[0.5, 0.5], [1.0]])
