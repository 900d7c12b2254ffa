"""Robust imitative planning: against the published code, a slow twin, and what must hold."""

from __future__ import annotations

import numpy as np
import pytest

from shiftbench import f1_at, f1_auc, r_auc, roc_auc
from shiftbench.errors import ArrayError, SettingsError, UnknownNameError
from shiftbench.metrics import motion as metrics
from shiftbench.tracks.motion.baselines.planning import (
    AGGREGATIONS,
    Settings,
    aggregate,
    all_plans,
    chosen_trajectories,
    plan,
)
from tests.tracks.motion.made_scene import GOLDEN


@pytest.fixture(scope="module")
def golden():
    inputs, published = np.load(GOLDEN / "inputs_metrics.npz"), np.load(GOLDEN / "metrics.npz")
    # The published arrays have the members last: [N, G, K].
    return np.moveaxis(inputs["rip_scores"], -1, 0), inputs, published


@pytest.fixture
def scores(rng):
    return rng.normal(-40, 10, (5, 6, 20))


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_aggregates_equal_both_published_codes(golden, name):
    scores, _, published = golden
    assert aggregate(scores, name) == pytest.approx(published[f"rip_numpy.{name}"], rel=1e-14)
    assert aggregate(scores, name, ddof=1) == pytest.approx(published[f"rip_torch.{name}"], rel=1e-13)


def test_the_published_agent_and_the_printed_results_differ_in_the_standard_deviation(golden):
    # The agent divides by K - 1, the code behind the tables by K: "LQ" of one is not that of the other.
    published = golden[2]
    assert np.abs(published["rip_numpy.LQ"] - published["rip_torch.LQ"]).max() > 1


def test_the_best_plans_equal_the_published_code(golden):
    scores, inputs, published = golden
    plans = plan(scores)
    assert plans.scores == pytest.approx(published["top5_conf"], rel=1e-14)
    assert np.array_equal(chosen_trajectories(inputs["rip_plans"], plans), published["top5_plans"])


@pytest.mark.needs_shared
@pytest.mark.parametrize("name", ["MA", "LQ", "WCM"])
def test_results_of_a_data_set_equal_the_published_code(shared, name):
    inputs, published = (np.load(shared / "golden" / path) for path in ("inputs/motion.npz", "motion_metrics.npz"))
    plans = plan(np.moveaxis(inputs["rip_scores"], -1, 0), Settings(3, 4, name))
    chosen = chosen_trajectories(inputs["rip_plans"], plans)
    found = metrics.scores(chosen, plans.weights, inputs["rip_gt"])
    said = {key: published[f"dataset_results.{name}.{key}"] for key in (
        "minADE", "weightedADE", "minFDE", "weightedFDE", "r_auc", "f_auc", "f95", "ood_roc_auc"
    )}  # fmt: skip
    for kind in ("ade", "fde"):
        assert found[f"min_{kind}"].mean() == pytest.approx(said[f"min{kind.upper()}"], rel=1e-6)  # theirs is float32
        assert found[f"weighted_{kind}"].mean() == pytest.approx(said[f"weighted{kind.upper()}"], rel=1e-7)
    errors = found["weighted_ade"]
    assert r_auc(errors, plans.uncertainty) == pytest.approx(said["r_auc"], rel=1e-7)
    assert f1_auc(errors, plans.uncertainty, threshold=1.0) == pytest.approx(said["f_auc"], abs=1e-9)
    assert f1_at(errors, plans.uncertainty, threshold=1.0) == pytest.approx(said["f95"], abs=1e-9)
    assert roc_auc(plans.uncertainty, inputs["is_ood"]) == pytest.approx(said["ood_roc_auc"], abs=1e-12)


def slow_plan(scores, name, most):
    """One request [K, G]: each plan by itself."""
    numbers = {
        "MA": np.mean, "LQ": lambda x: np.mean(x) - np.std(x), "UQ": lambda x: np.mean(x) + np.std(x),
        "WCM": min, "BCM": max,
    }[name]  # fmt: skip
    values = [numbers(list(column)) for column in scores.T]
    order = sorted(range(len(values)), key=lambda place: -values[place])[:most]
    best = np.array([values[place] for place in order])
    powers = np.exp(best - best[0])
    return order, powers / powers.sum(), -numbers(list(best))


@pytest.mark.parametrize("name", AGGREGATIONS)
def test_plans_equal_a_loop_over_requests_and_plans(scores, name):
    found = plan(scores, Settings(aggregation=name, most=4))
    for row in range(scores.shape[1]):
        order, weights, uncertainty = slow_plan(scores[:, row], name, 4)
        assert found.chosen[row].tolist() == order
        assert found.weights[row] == pytest.approx(weights, rel=1e-12)
        assert found.uncertainty[row] == pytest.approx(uncertainty, rel=1e-12)


def test_every_number_of_members_and_every_aggregation_come_from_one_array(scores):
    found = all_plans(scores, plans_per_member=4, most=3)
    assert set(found) == {(members, name) for members in (1, 3, 5) for name in AGGREGATIONS}
    for (members, name), plans in found.items():
        # As if the other members had never been: neither their scores nor their plans.
        alone = plan(scores[:members, :, : 4 * members], Settings(aggregation=name, most=3))
        assert all(np.array_equal(a, b) for a, b in zip(plans, alone, strict=True))


def test_one_request_is_planned_like_many(scores):
    one, many = plan(scores[:, 2]), plan(scores)
    assert np.array_equal(one.chosen, many.chosen[2])
    assert np.array_equal(one.weights, many.weights[2])
    assert float(one.uncertainty) == many.uncertainty[2]
    trajectories = np.arange(20 * 25 * 2.0).reshape(20, 25, 2)
    assert np.array_equal(chosen_trajectories(trajectories, one), trajectories[one.chosen])


def test_with_one_member_every_aggregation_chooses_the_same_plans(scores):
    found = [plan(scores, Settings(1, aggregation=name)) for name in AGGREGATIONS]
    assert all(np.array_equal(each.chosen, found[0].chosen) for each in found)


def test_requests_may_be_aggregated_otherwise_than_plans(scores):
    found = plan(scores, Settings(aggregation="MA", request_aggregation="WCM"))
    assert np.array_equal(found.uncertainty, -found.scores.min(axis=1))
    assert np.array_equal(found.chosen, plan(scores).chosen)


def test_of_equal_plans_the_first_comes_first():
    assert plan(np.zeros((2, 1, 8)), Settings(most=3)).chosen.tolist() == [[0, 1, 2]]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (Settings(members=6), "members: expected at most the 5 that scored the plans, found 6"),
        (Settings(most=21), "most: expected at most the 20 plans there are, found 21"),
        (Settings(members=5, plans_per_member=5), "expected 25 plans of 5 members, found 20"),
    ],
)
def test_more_than_there_is_is_refused(scores, settings, message):
    with pytest.raises(SettingsError, match=message):
        plan(scores, settings)


def test_settings_are_checked_when_they_are_made():
    with pytest.raises(UnknownNameError, match=r"Unknown aggregation 'mean'. .*Known: BCM, LQ, MA, UQ, WCM"):
        Settings(aggregation="mean")
    with pytest.raises(SettingsError, match="members: expected at least 1, found 0"):
        Settings(members=0)


def test_scores_that_are_no_finite_numbers_are_refused(scores):
    scores[2, 1, 3] = np.nan
    with pytest.raises(ArrayError, match=r"scores: expected finite numbers, found NaN \(1 of 600, first at index \(2,"):
        plan(scores)
    with pytest.raises(ArrayError, match=r"expected \[K, N, G\] or \[K, G\], found shape \(1, 5, 6, 20\)"):
        plan(np.zeros((1, 5, 6, 20)))
    with pytest.raises(ArrayError, match="scores: expected numbers"):
        plan([["a"]])


def test_the_sample_deviation_of_one_member_is_refused():
    with pytest.raises(SettingsError, match=r"ddof: expected less than the 1 members, found 1. Use ddof=0"):
        aggregate(np.zeros((1, 1, 4)), "LQ", ddof=1)


def test_trajectories_of_other_requests_or_plans_are_refused(scores):
    plans = plan(scores)
    with pytest.raises(ArrayError, match=r"trajectories: expected shape \[6, G, T, 2\], found \(5, 20, 25, 2\)"):
        chosen_trajectories(np.zeros((5, 20, 25, 2)), plans)
    with pytest.raises(ArrayError, match="expected all plans that were scored"):
        chosen_trajectories(np.zeros((6, 2, 25, 2)), plans)
