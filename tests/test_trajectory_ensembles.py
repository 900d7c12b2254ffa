"""Plans with scores and mixtures of trajectories: what is accepted, their parts, and how uncertain they are."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.metrics import motion
from shiftbench.trajectory_ensembles import UNCERTAINTIES, Mixture, Trajectories, concatenated


@pytest.fixture
def plans(rng) -> Trajectories:
    return Trajectories(rng.normal(size=(7, 6, 25, 2)), rng.normal(size=(7, 2, 6)), 3)


@pytest.fixture
def mixture(rng) -> Mixture:
    return Mixture(rng.normal(size=(7, 3, 4, 25, 2)), rng.dirichlet(np.ones(4), (7, 3)))


def test_weights_whose_sum_is_off_within_the_tolerance_are_divided_by_it(mixture):
    off = Mixture(mixture.trajectories, mixture.weights * np.linspace(0.9991, 1.0009, 3)[None, :, None])
    np.testing.assert_allclose(off.weights, mixture.weights, rtol=1e-12)
    assert np.shares_memory(Mixture(mixture.trajectories, mixture.weights).weights, mixture.weights)


def test_arrays_are_held_read_only_in_single_and_double_precision(plans, mixture):
    for ensemble, second in ((plans, "scores"), (mixture, "weights")):
        assert ensemble.trajectories.dtype == np.float32
        assert getattr(ensemble, second).dtype == np.float64
        assert not ensemble.trajectories.flags.writeable
    assert (len(plans), plans.records, plans.members) == (7, 7, 2)
    assert (len(mixture), mixture.members) == (7, 3)
    assert repr(plans) == "Trajectories(records=7, members=2, plans=6)"
    assert repr(mixture) == "Mixture(records=7, members=3, modes=4)"


def test_parts_put_together_are_the_whole(plans, mixture):
    for whole, second in ((plans, "scores"), (mixture, "weights")):
        again = concatenated([whole.select(slice(0, 2)), whole.select([2]), whole.select(np.arange(7) > 2)])
        np.testing.assert_array_equal(again.trajectories, whole.trajectories)
        np.testing.assert_array_equal(getattr(again, second), getattr(whole, second))


def test_what_does_not_fit_together_is_refused(plans):
    other = Trajectories(plans.trajectories, np.zeros((7, 6, 6)), 1)
    with pytest.raises(ArrayError, match="expected ensembles of equal members, plans and steps, found"):
        concatenated([plans, other])
    with pytest.raises(ArrayError, match="expected at least one ensemble, found none"):
        concatenated([])
    for indices, message in (([9], "below 7"), ([], "at least one request"), ([[0]], "one dimension")):
        with pytest.raises(ArrayError, match=message):
            plans.select(np.asarray(indices, dtype=int))


def bad(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[5] = value
    return changed


@pytest.mark.parametrize(
    ("trajectories", "scores", "each", "message"),
    [
        (np.zeros((7, 6, 25)), np.zeros((7, 2, 6)), 3, r"trajectories: expected \[N, G, T, 2\]"),
        (np.zeros((7, 6, 25, 3)), np.zeros((7, 2, 6)), 3, "expected x and y on the last axis"),
        (np.zeros((7, 6, 25, 2)), np.zeros((7, 2, 5)), 3, r"scores: expected \[N, K, K·3\] of plans \(7, 6\)"),
        (np.zeros((7, 6, 25, 2)), np.zeros((7, 2, 6)), 4, r"scores: expected \[N, K, K·4\]"),
        (np.zeros((7, 6, 25, 2)), np.zeros((7, 2, 6)), 0, "plans_per_member: expected a whole number from 1 on"),
        (bad(np.zeros((7, 6, 25, 2)), np.nan), bad(np.zeros((7, 2, 6)), np.inf), 3, r"(?s)found NaN.*found infinity"),
        (np.zeros((0, 6, 25, 2)), np.zeros((0, 2, 6)), 3, "none of them 0"),
        ("abc", np.zeros((7, 2, 6)), 3, "expected numbers, found dtype"),
    ],
)
def test_plans_that_are_none_are_refused(trajectories, scores, each, message):
    with pytest.raises(ArrayError, match=message):
        Trajectories(trajectories, scores, each)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full((7, 3, 4), 0.2), r"expected a sum of 1 .* found 0\.8"),
        (bad(np.full((7, 3, 4), 0.25), -0.25), "weights: expected numbers >= 0, found -0.25"),
        (np.full((7, 3, 3), 1 / 3), r"weights: expected shape \(7, 3, 4\), found \(7, 3, 3\)"),
        (bad(np.full((7, 3, 4), 0.25), np.nan), "found NaN"),
    ],
)
def test_weights_that_are_none_are_refused(mixture, weights, message):
    with pytest.raises(ArrayError, match=message):
        Mixture(mixture.trajectories, weights)


def test_merged_members_are_one_mixture_with_equal_shares(mixture, rng):
    trajectories, weights = mixture.merged()
    assert trajectories.shape == (7, 12, 25, 2)
    assert (np.diff(weights, axis=1) <= 0).all(), "heaviest first"
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    targets = rng.normal(size=(7, 25, 2))
    single = [motion.cnll(mixture.trajectories[:, m], mixture.weights[:, m], targets) for m in range(mixture.members)]
    together = motion.cnll(trajectories, weights, targets)
    np.testing.assert_allclose(together, -np.log(np.exp(-np.array(single)).mean(axis=0)), rtol=1e-6)


def test_of_more_modes_the_heaviest_are_kept(mixture):
    trajectories, weights = mixture.merged(most=5)
    for row in range(7):
        flat = mixture.weights[row].ravel()
        kept = np.argsort(-flat, kind="stable")[:5]
        np.testing.assert_allclose(weights[row], flat[kept] / flat[kept].sum())
        np.testing.assert_array_equal(trajectories[row], mixture.trajectories[row].reshape(12, 25, 2)[kept])


def test_the_first_members_stand_alone(mixture):
    np.testing.assert_array_equal(mixture.first(2).weights, mixture.weights[:, :2])
    with pytest.raises(ArrayError, match="members: expected 1 to 3, found 4"):
        mixture.first(4)


def test_cross_entropy_is_what_a_loop_over_members_and_modes_says(mixture):
    found = mixture.uncertainty("cross_entropy")
    for row in range(7):
        expected = []
        for m in range(3):
            for k in set(range(3)) - {m}:
                modes = mixture.trajectories[row, m].astype(float)
                under = motion.cnll(
                    np.stack([mixture.trajectories[row, k]] * 4), np.stack([mixture.weights[row, k]] * 4), modes
                )
                expected.append(mixture.weights[row, m] @ under)
        np.testing.assert_allclose(found[row], np.mean(expected), rtol=1e-6)


def test_pairwise_ade_is_what_a_loop_over_pairs_says(mixture):
    found = mixture.uncertainty("pairwise_ade")
    modes, weights = mixture.trajectories.reshape(7, 12, 25, 2).astype(float), mixture.weights.reshape(7, 12) / 3
    for row in range(7):
        expected = sum(
            weights[row, a] * weights[row, b] * np.linalg.norm(modes[row, a] - modes[row, b], axis=-1).mean()
            for a in range(12)
            for b in range(12)
        )
        np.testing.assert_allclose(found[row], expected, rtol=1e-9)


@pytest.mark.parametrize("name", sorted(UNCERTAINTIES))
def test_members_that_disagree_are_less_certain(name, rng):
    weights = np.zeros((2, 3, 3))
    weights[0, :, 0] = 1  # all go one way
    weights[1] = np.eye(3)  # each another way
    ways = np.zeros((2, 3, 3, 25, 2)) + np.arange(3)[:, None, None] * 10
    sure, unsure = Mixture(ways, weights).uncertainty(name)
    assert sure < unsure
    assert sure == pytest.approx(0, abs=1e-12)


def test_blocks_and_zero_weights_make_no_trouble(rng):
    weights = rng.dirichlet(np.ones(3), (600, 1))
    weights[:, 0, 1], weights[:, 0, 0] = 0, 1 - weights[:, 0, 2]
    many = Mixture(1000 + rng.normal(size=(600, 1, 3, 5, 2)), weights)
    for name in UNCERTAINTIES:
        found = many.uncertainty(name)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found[590:], many.select(slice(590, None)).uncertainty(name), rtol=1e-9)


def test_unknown_uncertainties_are_named(mixture):
    with pytest.raises(UnknownNameError, match="cross_entropy"):
        mixture.uncertainty("cross_entropie")
