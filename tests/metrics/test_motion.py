"""Metrics of trajectories: against the published code, a slow twin that loops over requests, and what must hold."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from shiftbench.errors import ArrayError, SettingsError
from shiftbench.metrics import motion

GOLDEN = Path(__file__).parent.parent / "golden" / "motion"
NAMES = [f"{over}_{kind}" for kind in ("ade", "fde") for over in ("min", "avg", "top1", "weighted")]
CASES = {"main": ("pred", "weights", "gt"), "far": ("far_pred", "weights", "gt"),
         "small": ("small_pred", "small_w", "small_gt")}  # fmt: skip


@pytest.fixture(scope="module")
def golden():
    return np.load(GOLDEN / "inputs_metrics.npz"), np.load(GOLDEN / "metrics.npz")


@pytest.fixture
def made(rng):
    """Trajectories [30, 4, 25, 2], weights [30, 4], targets [30, 25, 2]."""
    targets = rng.normal(size=(30, 25, 2)).cumsum(axis=1)
    trajectories = targets[:, None] + rng.normal(0, 0.5, (30, 4, 25, 2)).cumsum(axis=2)
    return trajectories, rng.dirichlet(np.ones(4), 30), targets


def slow_scores(trajectories, weights, targets):
    """One request, step by step, as the definitions read."""
    ade, fde, squared = [], [], []
    for mode in trajectories:
        distances = [math.dist(place, target) for place, target in zip(mode, targets, strict=True)]
        ade.append(sum(distances) / len(distances))
        fde.append(distances[-1])
        squared.append(sum(distance**2 for distance in distances))
    top = max(range(len(weights)), key=lambda mode: (weights[mode], -mode))
    density = sum(weight * math.exp(-each / 2) for weight, each in zip(weights, squared, strict=True))
    found = {"cnll": -math.log(density)}
    for name, values in (("ade", ade), ("fde", fde)):
        found[f"min_{name}"], found[f"avg_{name}"] = min(values), sum(values) / len(values)
        found[f"top1_{name}"] = values[top]
        found[f"weighted_{name}"] = sum(w * value for w, value in zip(weights, values, strict=True))
    return found


# --- the published code -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", CASES)
def test_every_score_equals_the_published_code(golden, case):
    inputs, published = golden
    trajectories, weights, targets = (inputs[name] for name in CASES[case])
    weights, targets = weights[: len(trajectories)], targets[: len(trajectories)]
    assert motion.ade(trajectories, targets) == pytest.approx(published[f"{case}.ade"], rel=1e-14)
    assert motion.fde(trajectories, targets) == pytest.approx(published[f"{case}.fde"], rel=1e-14)
    for name in NAMES:
        found = getattr(motion, name)(trajectories, weights, targets)
        assert found == pytest.approx(published[f"{case}.{name}"], rel=1e-14), name
    for sigma, suffix in ((1.0, ""), (2.0, "_sigma2")):
        found = motion.cnll(trajectories, weights, targets, sigma_m=sigma)
        assert found == pytest.approx(published[f"{case}.corrected_nll{suffix}"], rel=1e-13)
        found = motion.log_likelihood(trajectories, weights, targets, sigma_m=sigma)
        assert found == pytest.approx(published[f"{case}.log_likelihood{suffix}"], rel=1e-13)


def test_scores_by_logits_equal_the_published_code(golden):
    inputs, published = golden
    weights = motion.softmax_weights(inputs["logits"])
    assert weights == pytest.approx(published["softmax"], abs=1e-15)
    found = motion.scores(inputs["pred"], weights, inputs["gt"])
    for name in NAMES:
        over, kind = name.split("_")
        assert found[name] == pytest.approx(published[f"agg_logits.{over}{kind.upper()}"], rel=1e-14)


@pytest.mark.needs_shared
def test_all_two_hundred_requests_equal_the_published_code(shared):
    inputs, published = (np.load(shared / "golden" / path) for path in ("inputs/motion.npz", "motion_metrics.npz"))
    found = motion.scores(inputs["pred"], inputs["weights"], inputs["gt"])
    for name in NAMES:
        assert found[name] == pytest.approx(published[f"main.{name}"], rel=1e-14)
    assert found["cnll"] == pytest.approx(published["main.corrected_nll"], rel=1e-13)


# --- twins ------------------------------------------------------------------------------------------------------------


def test_scores_equal_a_loop_over_requests_modes_and_steps(made):
    trajectories, weights, targets = made
    slow = [slow_scores(*request) for request in zip(trajectories, weights, targets, strict=True)]
    found = motion.scores(trajectories, weights, targets)
    assert set(found) == {*NAMES, "cnll"}
    for name, values in found.items():
        assert values == pytest.approx([each[name] for each in slow], rel=1e-12)
        assert np.array_equal(getattr(motion, name)(trajectories, weights, targets), values)


def test_requests_with_different_numbers_of_modes_are_scored_each_alone(rng):
    counts = rng.integers(1, 12, 40)
    trajectories = rng.normal(size=(counts.sum(), 6, 2))
    targets = rng.normal(size=(40, 6, 2))
    weights = np.concatenate([rng.dirichlet(np.ones(count)) for count in counts])
    found = motion.ragged_scores(trajectories, weights, counts, targets)
    for row, (start, count) in enumerate(zip(np.cumsum(counts) - counts, counts, strict=True)):
        part = slice(start, start + count)
        slow = slow_scores(trajectories[part], weights[part], targets[row])
        assert {name: values[row] for name, values in found.items()} == pytest.approx(slow, rel=1e-12)


def test_more_modes_than_fit_into_a_block_change_nothing(rng, monkeypatch, made):
    whole = motion.scores(*made)
    monkeypatch.setattr("shiftbench.metrics.modes._BLOCK_VALUES", 150)
    assert all(np.array_equal(values, whole[name]) for name, values in motion.scores(*made).items())


# --- truths -----------------------------------------------------------------------------------------------------------


def test_one_mode_without_error_has_a_cnll_of_zero_and_none_is_below(made):
    trajectories, weights, targets = made
    assert motion.cnll(targets[:, None], np.ones((30, 1)), targets).tolist() == [0.0] * 30
    assert motion.cnll(trajectories, weights, targets).min() > 0


def test_scores_are_those_of_any_frame(made):
    trajectories, weights, targets = made
    turn = np.array([[math.cos(0.7), -math.sin(0.7)], [math.sin(0.7), math.cos(0.7)]])
    moved = motion.scores(trajectories @ turn.T + [4000.0, -900.0], weights, targets @ turn.T + [4000.0, -900.0])
    for name, values in motion.scores(trajectories, weights, targets).items():
        assert moved[name] == pytest.approx(values, rel=1e-9)


def test_far_modes_stay_finite_where_densities_underflow():
    far = np.full((1, 2, 25, 2), 1e4)
    found = motion.cnll(far, [[0.5, 0.5]], np.zeros((1, 25, 2)))
    assert found == pytest.approx(25 * 2 * 1e8 / 2)


def test_a_mode_of_weight_zero_counts_for_the_least_error_only(made):
    trajectories, weights, targets = made
    better = np.concatenate([trajectories, targets[:, None]], axis=1)
    found = motion.scores(better, np.pad(weights, ((0, 0), (0, 1))), targets)
    before = motion.scores(trajectories, weights, targets)
    assert found["min_ade"].tolist() == [0.0] * 30
    for name in ("top1_ade", "weighted_fde", "cnll"):
        assert found[name] == pytest.approx(before[name], rel=1e-12)


def test_of_equal_weights_the_first_mode_is_the_top_one():
    trajectories = np.arange(3.0)[None, :, None, None] * np.ones((1, 3, 5, 2))
    found = motion.top1_fde(trajectories, [[0.2, 0.4, 0.4]], np.zeros((1, 5, 2)))
    assert found == pytest.approx(math.sqrt(2))


def test_of_thirty_modes_the_25_heaviest_count_with_renormalised_weights(rng):
    trajectories, targets = rng.normal(size=(8, 30, 25, 2)), rng.normal(size=(8, 25, 2))
    weights = rng.dirichlet(np.ones(30), 8)
    found = motion.scores(trajectories, weights, targets)
    for row in range(8):
        kept = sorted(np.argsort(-weights[row], kind="stable")[:25])
        slow = slow_scores(trajectories[row][kept], weights[row][kept] / weights[row][kept].sum(), targets[row])
        assert {name: values[row] for name, values in found.items()} == pytest.approx(slow, rel=1e-12)
    assert (motion.min_ade(trajectories, weights, targets, most=30) <= found["min_ade"]).all()


def test_of_equal_weights_at_the_cut_the_first_modes_are_kept():
    trajectories = np.arange(30.0)[None, :, None, None] * np.ones((1, 30, 4, 2))
    found = motion.avg_fde(trajectories, np.full((1, 30), 1 / 30), np.zeros((1, 4, 2)))
    assert found == pytest.approx(np.arange(25).mean() * math.sqrt(2))


def test_float32_trajectories_are_scored_in_double_precision(made):
    trajectories, weights, targets = made
    single = trajectories.astype(np.float32)
    found = motion.scores(single, weights, targets)
    assert all(values.dtype == np.float64 for values in found.values())
    assert np.array_equal(found["cnll"], motion.cnll(single.astype(np.float64), weights, targets))


# --- bad input --------------------------------------------------------------------------------------------------------


def test_all_problems_of_all_arrays_are_reported_together(made):
    trajectories, weights, targets = made
    trajectories[3, 1, 0, 0], weights[5, 0] = np.nan, -0.25
    with pytest.raises(ArrayError, match=r"trajectories: expected finite numbers, found NaN") as caught:
        motion.cnll(trajectories, weights, np.full_like(targets, np.inf))
    text = str(caught.value)
    assert "targets: expected finite numbers, found infinity" in text
    assert "weights: expected numbers >= 0, found -0.25 in request 5" in text


def test_weights_that_do_not_sum_to_one_are_refused_beyond_the_tolerance(made):
    trajectories, weights, targets = made
    weights[2] *= 0.83
    with pytest.raises(ArrayError, match=r"expected a sum of 1 \(within 0.001\).*found 0.83 in request 2\. Divide"):
        motion.weighted_ade(trajectories, weights, targets)


@pytest.mark.parametrize("most", [25, 3])
def test_a_sum_within_the_tolerance_gains_nothing(made, most):
    trajectories, weights, targets = made
    expected = motion.scores(trajectories, weights, targets, most=most)
    factors = np.linspace(0.9991, 1.0009, len(weights))[:, None]
    found = motion.scores(trajectories, weights * factors, targets, most=most)
    for name, values in expected.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-12, atol=1e-12)
    ragged = (trajectories.reshape(-1, 25, 2), (weights * factors).reshape(-1), np.full(len(weights), 4), targets)
    np.testing.assert_allclose(motion.ragged_scores(*ragged)["cnll"], motion.cnll(*made), rtol=1e-12)


def test_rounding_of_float32_is_left_as_it_stands(made):
    trajectories, weights, targets = made
    single = weights.astype(np.float32).astype(np.float64)
    assert (single.sum(axis=1) != 1).any()
    expected = (single * motion.ade(trajectories, targets)).sum(axis=1)
    np.testing.assert_allclose(motion.weighted_ade(trajectories, single, targets), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, w, y: (x[0], w, y), r"trajectories: expected \[N, D, T, 2\], found shape \(4, 25, 2\)"),
        (lambda x, w, y: (x[..., :1], w, y), r"found shape \(30, 4, 25, 1\)"),
        (lambda x, w, y: (x[:, :0], w[:, :0], y), r"expected at least one of each of \[N, D, T, 2\]"),
        (lambda x, w, y: (x, w[:, :3], y), r"weights: expected shape \(30, 4\), found \(30, 3\)"),
        (lambda x, w, y: (x, w, y[:, :24]), r"targets: expected shape \(30, 25, 2\) like the trajectories"),
        (lambda x, w, y: (x.astype(str), w, y), "trajectories: expected numbers, found dtype"),
        (lambda x, w, y: ([x[0], x[1][:2]], w, y), "found a ragged sequence. Use ragged_scores"),
        (lambda x, w, y: (x * 1e200, w, y), r"expected positions within 1e\+08 m"),
    ],
)
def test_arrays_of_other_shapes_and_values_are_refused(made, change, message):
    with pytest.raises(ArrayError, match=message):
        motion.cnll(*change(*made))


def test_a_request_without_modes_is_refused_by_its_place():
    with pytest.raises(ArrayError, match="expected at least one mode in each request, found 0 in request 1"):
        motion.ragged_scores(np.zeros((3, 5, 2)), [0.5, 0.5, 1.0], [2, 0, 1], np.zeros((3, 5, 2)))


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([1, 1], "trajectories: expected 2 modes as counted, found 3"),
        ([3], "counts: expected 2, one for each target, found 1"),
        ([1.0, 2.0], r"counts: expected integers \[N\], found dtype float64"),
    ],
)
def test_counts_that_do_not_fit_are_refused(counts, message):
    with pytest.raises(ArrayError, match=message):
        motion.ragged_scores(np.zeros((3, 5, 2)), [1.0, 0.5, 0.5], counts, np.zeros((2, 5, 2)))


def test_settings_out_of_range_are_refused(made):
    with pytest.raises(SettingsError, match="sigma_m: expected a standard deviation above 0 in metres, found 0"):
        motion.cnll(*made, sigma_m=0)
    with pytest.raises(SettingsError, match="most: expected a whole number of modes >= 1, found 0"):
        motion.min_ade(*made, most=0)
    with pytest.raises(ArrayError, match="logits: expected finite numbers"):
        motion.softmax_weights([[0.0, np.inf]])
