"""Ensembles: what they accept, what they refuse and how they say so, and their parts."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from shiftbench.ensembles import Categorical, Ensemble, Gaussian, combine, concatenated
from shiftbench.errors import ArrayError
from shiftbench.metrics import regression


@pytest.fixture
def gaussian(rng):
    return Gaussian(rng.normal(size=(4, 30)), rng.gamma(2.0, size=(4, 30)))


@pytest.fixture
def categorical(rng):
    return Categorical(rng.dirichlet(np.ones(3), (4, 30)), classes=("dry", "rain", "snow"))


def test_arrays_are_held_as_read_only_float64_and_the_callers_array_stays_writable(rng):
    mean = rng.normal(size=(2, 5))
    ensemble = Gaussian(mean, np.ones((2, 5), dtype=np.float32))
    assert ensemble.mean.dtype == ensemble.variance.dtype == np.float64
    assert not ensemble.mean.flags.writeable
    assert mean.flags.writeable
    assert np.shares_memory(ensemble.mean, mean)
    with pytest.raises(dataclasses.FrozenInstanceError, match="mean"):
        ensemble.mean = mean


def test_sizes_and_short_form(gaussian, categorical):
    assert (gaussian.members, gaussian.records) == (4, 30)
    assert (categorical.members, categorical.records) == (4, 30)
    assert repr(gaussian) == "Gaussian(members=4, records=30)"


def test_member_is_the_ensemble_of_that_model_alone(gaussian, categorical):
    assert np.array_equal(gaussian.member(2).variance, gaussian.variance[2:3])
    alone = categorical.member(3)
    assert np.array_equal(alone.probabilities, categorical.probabilities[3:4])
    assert alone.classes == categorical.classes
    with pytest.raises(ArrayError, match="expected 0 to 3, found 4"):
        gaussian.member(4)


@pytest.mark.parametrize("indices", [[3, 0, 3], np.arange(30) % 7 == 0, slice(5, 9)])
def test_select_takes_the_same_records_of_every_member(gaussian, categorical, indices):
    assert np.array_equal(gaussian.select(indices).mean, gaussian.mean[:, indices])
    assert np.array_equal(categorical.select(indices).probabilities, categorical.probabilities[:, indices])
    assert not gaussian.select(indices).mean.flags.writeable


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([30], "index 30 is out of bounds"),
        ([True, False], "expected positions below 30, or as many booleans"),
        ([1.5], "expected positions"),
        (np.zeros(30, dtype=bool), "at least one record, found none"),
        (slice(9, 9), "at least one record, found none"),
        ([[1, 2]], "one dimension"),
        (3, "one dimension"),
    ],
)
def test_indices_that_select_nothing_sensible_are_refused(gaussian, indices, message):
    with pytest.raises(ArrayError, match=message):
        gaussian.select(indices)


def test_blocks_cover_every_record_once_and_in_order(monkeypatch, categorical):
    monkeypatch.setattr("shiftbench.ensembles.ensemble.BLOCK_VALUES", 4 * 3 * 7)
    found = list(categorical.blocks())
    assert [rows for rows, _ in found] == [slice(0, 7), slice(7, 14), slice(14, 21), slice(21, 28), slice(28, 30)]
    joined = np.concatenate([block.probabilities for _, block in found], axis=1)
    assert np.array_equal(joined, categorical.probabilities)


def test_a_block_holds_at_least_one_record(monkeypatch, gaussian):
    monkeypatch.setattr("shiftbench.ensembles.ensemble.BLOCK_VALUES", 1)
    assert len(list(gaussian.blocks())) == 30


def test_answers_are_those_of_the_mixture(gaussian, categorical):
    assert gaussian.answers() == pytest.approx(sum(gaussian.mean) / 4)
    assert categorical.answers() == pytest.approx(sum(categorical.probabilities) / 4)


def test_labels_are_names_where_there_are_names_and_the_first_of_equals():
    probabilities = [[[0.5, 0.5, 0.0], [0.1, 0.2, 0.7]]]
    assert Categorical(probabilities, classes=["dry", "rain", "snow"]).labels().tolist() == ["dry", "snow"]
    assert Categorical(probabilities).labels().tolist() == [0, 2]


def test_combine_puts_members_side_by_side(gaussian, categorical):
    both = combine(gaussian, gaussian.member(1))
    assert both.members == 5
    assert np.array_equal(both.mean[4], gaussian.mean[1])
    assert np.array_equal(both.variance[:4], gaussian.variance)
    assert combine(categorical, categorical).classes == categorical.classes


def test_combine_refuses_what_is_not_one_mixture(gaussian, categorical):
    with pytest.raises(ArrayError, match="found none"):
        combine()
    with pytest.raises(ArrayError, match="Categorical and Gaussian"):
        combine(gaussian, categorical)
    other = Categorical(categorical.probabilities[:, :9], classes=("dry", "snow", "rain"))
    with pytest.raises(ArrayError, match="the same records") as caught:
        combine(categorical, other)
    assert any("same classes in the same order" in problem for problem in caught.value.problems)


def problems_of(kind: type[Ensemble], *arrays, **named) -> str:
    with pytest.raises(ArrayError, match="expected") as caught:
        kind(*arrays, **named)
    return "\n".join(caught.value.problems)


def test_gaussian_reports_all_its_problems_at_once(rng):
    mean, variance = rng.normal(size=(3, 8)), np.ones((3, 9))
    mean[1, 4], variance[2, 5], variance[0, 6] = np.nan, 0.0, np.inf
    found = problems_of(Gaussian, mean, variance)
    assert "mean: expected finite numbers, found NaN (1 of 24, first at index (1, 4))" in found
    assert "variance: expected finite numbers, found infinity (1 of 27, first at index (0, 6))" in found
    assert "variance: expected the shape of the mean (3, 8), found (3, 9)" in found
    assert "variance: expected values > 0, found 0 (member 2, record 5; 1 of 27)" in found


def test_a_variance_of_nan_does_not_hide_a_negative_one():
    assert "found -2 (member 0, record 1" in problems_of(Gaussian, [[0.0, 0.0]], [[np.nan, -2.0]])


def test_one_model_has_to_say_that_it_is_one_member():
    found = problems_of(Gaussian, [1.0, 2.0], [1.0, 1.0])
    assert "mean: expected [M, N], found shape (2,). One model? Use mean[None] and variance[None]." in found
    assert "variance: expected [M, N], found shape (2,)" in found
    assert "Use probabilities[None]" in problems_of(Categorical, [[0.5, 0.5]])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[1.0], [1.0, 2.0]], "ragged"),
        ([["a", "b"]], "expected numbers, found dtype <U1"),
        ([[None, 1.0]], "expected numbers, found dtype object"),
        (np.empty((0, 4)), r"at least one of each of \[M, N\], found shape \(0, 4\)"),
        (np.empty((3, 0)), "at least one of each of"),
    ],
)
def test_what_is_no_array_of_numbers_is_refused(values, message):
    with pytest.raises(ArrayError, match=message):
        Gaussian(values, values)


def test_categorical_reports_all_its_problems_at_once():
    probabilities = np.full((2, 4, 2), 0.5)
    probabilities[0, 1] = -0.25, 1.25
    probabilities[1, 2] = 0.4, 0.5
    probabilities[1, 3, 0] = np.nan
    found = problems_of(Categorical, probabilities, classes=("a", "a", "b"))
    assert "found NaN (1 of 16, first at index (1, 3, 0))" in found
    assert "expected values in [0, 1], found -0.25 (member 0, record 1; 1 of 8)" in found
    assert "expected a sum of 1 over the classes, found 0.9 (member 1, record 2; 1 of 8)" in found
    assert "classes: expected 2 names, one for each class, found 3" in found
    assert "classes: expected different names, found a, a, b" in found


def test_logits_and_a_single_class_are_refused():
    assert problems_of(Categorical, [[[3.0, -2.0]]]).count("Logits?") == 1
    assert "at least 2 classes" in problems_of(Categorical, [[[1.0]]])


def test_rounding_of_probabilities_is_forgiven(rng):
    exact = rng.dirichlet(np.ones(9), (3, 50))
    for rounded in (exact.astype(np.float32), exact.round(4)):
        assert Categorical(rounded).records == 50
    with pytest.raises(ArrayError, match="sum of 1"):
        Categorical(exact * 1.002)


def test_the_draws_of_a_model_are_one_model(rng):
    drawn = Gaussian(rng.normal(size=(6, 40)), rng.gamma(2.0, size=(6, 40)), draws=3)
    assert (drawn.members, drawn.models) == (6, 2)
    second = drawn.model(1)
    assert (second.members, second.models, second.draws) == (3, 1, 3)
    np.testing.assert_array_equal(second.mean, drawn.mean[3:])
    assert (drawn.member(4).draws, drawn.select([0, 2]).draws) == (1, 3)
    with pytest.raises(ArrayError, match="model: expected 0 to 1, found 2"):
        drawn.model(2)


def test_merging_draws_keeps_answers_and_total_variance_and_moves_disagreement_of_draws_into_data(rng):
    drawn = Gaussian(rng.normal(size=(6, 40)), rng.gamma(2.0, size=(6, 40)), draws=3)
    merged = drawn.merged()
    assert (merged.members, merged.draws) == (2, 1)
    np.testing.assert_allclose(merged.answers(), drawn.answers(), atol=1e-12)
    total = {what: what.mean.var(axis=0) + what.variance.mean(axis=0) for what in (drawn, merged)}
    np.testing.assert_allclose(total[merged], total[drawn], rtol=1e-12)
    assert (merged.mean.var(axis=0) < drawn.mean.var(axis=0)).all()
    assert merged.merged() is merged


@pytest.mark.parametrize("draws", [0, 4, 2.0, -2])
def test_draws_that_do_not_divide_the_members_are_refused(draws):
    with pytest.raises(ArrayError, match="draws: expected a divisor of the 6 members"):
        Gaussian(np.zeros((6, 2)), np.ones((6, 2)), draws=draws)


def test_concatenated_ensembles_hold_all_records_in_order(rng, gaussian, categorical):
    for whole in (gaussian, categorical):
        parts = [whole.select(slice(0, 7)), whole.select(slice(7, 8)), whole.select(slice(8, 30))]
        again = concatenated(parts)
        for name, array in whole._arrays.items():
            np.testing.assert_array_equal(getattr(again, name), array)
        assert (again.records, type(again)) == (30, type(whole))


def test_a_last_axis_of_one_is_told_to_be_dropped():
    with pytest.raises(ArrayError, match=r"mean: expected \[M, N\], found shape \(2, 5, 1\). Use mean\[..., 0\]"):
        Gaussian(np.zeros((2, 5, 1)), np.ones((2, 5)))


# --- rows with labels -------------------------------------------------------------------------------------------------

ROWS = pd.Index([f"row {n}" for n in range(30)])


def test_an_ensemble_with_labelled_records_keeps_them_in_every_part(gaussian):
    labelled = gaussian.labelled(ROWS)
    assert gaussian.index is None
    assert list(labelled.select([3, 1]).index) == ["row 3", "row 1"]
    assert list(labelled.of_members([2]).index) == list(ROWS)
    assert [list(part.index) for _, part in labelled.blocks(values=80)] == [list(ROWS[:20]), list(ROWS[20:])]
    assert concatenated([labelled, labelled]).index is None


def test_targets_are_lined_up_with_labelled_records(gaussian, rng):
    targets = pd.Series(rng.normal(size=30), ROWS)
    expected = regression.nll(targets.to_numpy(), gaussian)
    assert regression.nll(targets[::-1], gaussian.labelled(ROWS)) == expected
    with pytest.raises(ArrayError, match="targets: expected the index of ensemble, found another: 30 of 30 labels"):
        regression.nll(targets.reset_index(drop=True), gaussian.labelled(ROWS))


def test_members_are_combined_record_by_record(gaussian):
    both = combine(gaussian.labelled(ROWS), gaussian.select(np.arange(30)[::-1]).labelled(ROWS[::-1]))
    assert np.array_equal(both.mean, np.concatenate([gaussian.mean, gaussian.mean]))
    assert list(both.index) == list(ROWS)
    with pytest.raises(ArrayError, match="ensemble 2: expected the index of ensemble 1"):
        combine(gaussian.labelled(ROWS), gaussian.labelled(ROWS + "!"))
