"""Plans with scores and mixtures of trajectories: what is accepted, their parts, and how uncertain they are."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench.ensembles import Mixture, Trajectories, combine, concatenated
from shiftbench.errors import ArrayError
from shiftbench.measures import MEASURES, uncertainty
from shiftbench.metrics import motion

OF_MIXTURES = sorted(name for name, measure in MEASURES.items() if Mixture in measure.functions)


@pytest.fixture
def plans(rng) -> Trajectories:
    return Trajectories(rng.normal(size=(2, 7, 3, 25, 2)), rng.normal(size=(2, 7, 6)))


@pytest.fixture
def mixture(rng) -> Mixture:
    return Mixture(rng.normal(size=(3, 7, 4, 25, 2)), rng.dirichlet(np.ones(4), (3, 7)))


def test_weights_whose_sum_is_off_within_the_tolerance_are_divided_by_it(mixture):
    off = Mixture(mixture.trajectories, mixture.weights * np.linspace(0.9991, 1.0009, 3)[:, None, None])
    np.testing.assert_allclose(off.weights, mixture.weights, rtol=1e-12)
    assert np.shares_memory(Mixture(mixture.trajectories, mixture.weights).weights, mixture.weights)


def test_arrays_are_held_read_only_in_single_and_double_precision(plans, mixture):
    for ensemble, second in ((plans, "scores"), (mixture, "weights")):
        assert ensemble.trajectories.dtype == np.float32
        assert getattr(ensemble, second).dtype == np.float64
        assert not ensemble.trajectories.flags.writeable
    assert (plans.records, plans.members, plans.plans_per_member) == (7, 2, 3)
    assert (mixture.records, mixture.members) == (7, 3)
    assert repr(plans) == "Trajectories(members=2, records=7)"


def test_arrays_held_request_by_request_are_never_copied(rng):
    trajectories, scores = rng.normal(size=(7, 2, 3, 25, 2)).astype(np.float32), rng.normal(size=(7, 2, 6))
    found = Trajectories(np.moveaxis(trajectories, 0, 1), np.moveaxis(scores, 0, 1))
    np.testing.assert_array_equal(found.plans, trajectories.reshape(7, 6, 25, 2))
    parts = [found.trajectories, found.plans, found.select(slice(2, 5)).plans, found.member(1).trajectories]
    assert all(np.shares_memory(part, trajectories) for part in parts)
    assert np.shares_memory(found.scores, scores)


def test_a_member_alone_keeps_its_own_plans_and_how_it_scores_them(plans):
    alone = plans.member(1)
    np.testing.assert_array_equal(alone.plans, plans.plans[:, 3:])
    np.testing.assert_array_equal(alone.scores, plans.scores[1:, :, 3:])
    swapped = plans.of_members([1, 0])
    np.testing.assert_array_equal(swapped.scores[0, :, :3], plans.scores[1, :, 3:])
    np.testing.assert_array_equal(swapped.scores[0, :, 3:], plans.scores[1, :, :3])


def test_members_that_have_not_scored_one_anothers_plans_are_not_combined(plans, mixture):
    with pytest.raises(ArrayError, match="combine: not supported for Trajectories, whose members score one another"):
        combine(plans, plans)
    both = combine(mixture.member(2), mixture.of_members(slice(0, 2)))
    np.testing.assert_array_equal(both.weights, mixture.of_members([2, 0, 1]).weights)


def test_parts_put_together_are_the_whole(plans, mixture):
    for whole, second in ((plans, "scores"), (mixture, "weights")):
        again = concatenated([whole.select(slice(0, 2)), whole.select([2]), whole.select(np.arange(7) > 2)])
        np.testing.assert_array_equal(again.trajectories, whole.trajectories)
        np.testing.assert_array_equal(getattr(again, second), getattr(whole, second))


def test_what_does_not_fit_together_is_refused(plans):
    other = Trajectories(np.zeros((6, 7, 1, 25, 2)), np.zeros((6, 7, 6)))
    with pytest.raises(ArrayError, match="expected ensembles that differ in their records alone, found Trajectories"):
        concatenated([plans, other])
    with pytest.raises(ArrayError, match="expected at least one ensemble, found none"):
        concatenated([])


def bad(array: np.ndarray, value: float) -> np.ndarray:
    changed = array.copy()
    changed.flat[5] = value
    return changed


PLANS, SCORES = np.zeros((2, 7, 3, 25, 2)), np.zeros((2, 7, 6))


@pytest.mark.parametrize(
    ("trajectories", "scores", "message"),
    [
        (np.zeros((2, 7, 3, 25)), SCORES, r"trajectories: expected \[K, N, Q, T, 2\]"),
        (np.zeros((2, 7, 3, 25, 3)), SCORES, "expected x and y on the last axis"),
        (PLANS, np.zeros((2, 7, 5)), r"scores: expected \[K, N, K·Q\], shape \(2, 7, 6\), found \(2, 7, 5\)"),
        (PLANS, np.zeros((2, 6, 6)), r"shape \(2, 7, 6\), found \(2, 6, 6\)"),
        (bad(PLANS, np.nan), bad(SCORES, np.inf), r"(?s)found NaN.*found infinity"),
        (np.zeros((2, 0, 3, 25, 2)), np.zeros((2, 0, 6)), "at least one of each"),
        ("abc", SCORES, "expected numbers, found dtype"),
    ],
)
def test_invalid_plans_are_refused(trajectories, scores, message):
    with pytest.raises(ArrayError, match=message):
        Trajectories(trajectories, scores)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.full((3, 7, 4), 0.2), r"expected a sum of 1 .* found 0\.8"),
        (bad(np.full((3, 7, 4), 0.25), -0.25), "weights: expected numbers >= 0, found -0.25"),
        (np.full((3, 7, 3), 1 / 3), r"weights: expected shape \(3, 7, 4\), found \(3, 7, 3\)"),
        (bad(np.full((3, 7, 4), 0.25), np.nan), "found NaN"),
    ],
)
def test_invalid_weights_are_refused(mixture, weights, message):
    with pytest.raises(ArrayError, match=message):
        Mixture(mixture.trajectories, weights)


def test_merged_members_are_one_mixture_with_equal_shares(mixture, rng):
    merged = mixture.merged()
    assert merged.trajectories.shape == (1, 7, 12, 25, 2)
    trajectories, weights = merged.trajectories[0], merged.weights[0]
    assert (np.diff(weights, axis=1) <= 0).all(), "heaviest first"
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    targets = rng.normal(size=(7, 25, 2))
    single = [motion.cnll(mixture.trajectories[m], mixture.weights[m], targets) for m in range(mixture.members)]
    together = motion.cnll(trajectories, weights, targets)
    np.testing.assert_allclose(together, -np.log(np.exp(-np.array(single)).mean(axis=0)), rtol=1e-6)


def test_of_more_modes_the_heaviest_are_kept(mixture):
    merged = mixture.merged(most=5)
    for row in range(7):
        flat = mixture.weights[:, row].ravel()
        kept = np.argsort(-flat, kind="stable")[:5]
        np.testing.assert_allclose(merged.weights[0, row], flat[kept] / flat[kept].sum())
        np.testing.assert_array_equal(
            merged.trajectories[0, row], mixture.trajectories[:, row].reshape(12, 25, 2)[kept]
        )


def test_cross_entropy_is_that_of_a_loop_over_members_and_modes(mixture):
    found = uncertainty(mixture, "cross_entropy")
    for row in range(7):
        expected = []
        for m in range(3):
            for k in set(range(3)) - {m}:
                modes = mixture.trajectories[m, row].astype(float)
                under = motion.cnll(
                    np.stack([mixture.trajectories[k, row]] * 4), np.stack([mixture.weights[k, row]] * 4), modes
                )
                expected.append(mixture.weights[m, row] @ under)
        np.testing.assert_allclose(found[row], np.mean(expected), rtol=1e-6)


def test_pairwise_ade_is_that_of_a_loop_over_pairs(mixture):
    found = uncertainty(mixture, "pairwise_ade")
    for row in range(7):
        modes, weights = (
            mixture.trajectories[:, row].reshape(12, 25, 2).astype(float),
            mixture.weights[:, row].ravel() / 3,
        )
        expected = sum(
            weights[a] * weights[b] * np.linalg.norm(modes[a] - modes[b], axis=-1).mean()
            for a in range(12)
            for b in range(12)
        )
        np.testing.assert_allclose(found[row], expected, rtol=1e-9)


@pytest.mark.parametrize("name", OF_MIXTURES)
def test_members_that_disagree_are_less_certain(name):
    weights = np.zeros((3, 2, 3))
    weights[:, 0, 0] = 1  # all go one way
    weights[:, 1] = np.eye(3)  # each another way
    ways = np.zeros((3, 2, 3, 25, 2)) + np.arange(3)[:, None, None] * 10
    sure, unsure = uncertainty(Mixture(ways, weights), name)
    assert sure < unsure
    assert sure == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("name", OF_MIXTURES)
def test_modes_of_weight_zero_and_positions_far_away_make_no_trouble(rng, name):
    weights = rng.dirichlet(np.ones(3), (1, 600))
    weights[..., 1], weights[..., 0] = 0, 1 - weights[..., 2]
    many = Mixture(1000 + rng.normal(size=(1, 600, 3, 5, 2)), weights)
    found = uncertainty(many, name)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(found[590:], uncertainty(many.select(slice(590, None)), name), rtol=1e-9)
