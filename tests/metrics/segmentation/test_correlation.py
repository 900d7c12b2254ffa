"""Correlations of scores with the volume of lesions: SciPy's numbers, repeated records as weights, and derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from shiftbench.metrics.segmentation import correlation
from shiftbench.scores.metric import METRICS

N = 30
TWINS = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}
kinds = pytest.mark.parametrize("kind", TWINS)


def made(seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Volumes and scores with ties."""
    rng = np.random.default_rng(seed)
    return np.round(rng.gamma(1.0, 10.0, N)), np.round(rng.uniform(0, 1, N), 1)


def sums(volumes: np.ndarray, scores: np.ndarray, weights: np.ndarray) -> np.ndarray:
    terms = correlation.all_terms(volumes, {"ndsc": scores})["ndsc_load_pearson"]
    return terms.found.amounts * weights[:, None]


@kinds
def test_it_is_that_of_scipy(kind):
    whole = sums(*made(), np.ones(N))
    assert METRICS[f"ndsc_load_{kind}"].of_sums(whole[None], whole)[0] == pytest.approx(TWINS[kind](*made())[0])


@kinds
def test_replicates_repeat_and_drop_records(kind):
    drawn = np.random.default_rng(1).multinomial(N, np.full(N, 1 / N), size=4)
    whole = sums(*made(), np.ones(N))
    found = METRICS[f"ndsc_load_{kind}"].of_sums(np.stack([sums(*made(), each) for each in drawn]), whole)
    expected = [TWINS[kind](*(np.repeat(values, each) for values in made()))[0] for each in drawn]
    np.testing.assert_allclose(found, expected, atol=1e-12)


@kinds
def test_derivatives_are_those_of_the_weights(kind):
    metric, whole = METRICS[f"ndsc_load_{kind}"], sums(*made(), np.ones(N))
    weights = np.random.default_rng(2).integers(1, 4, N).astype(float)
    slopes = metric.slopes(sums(*made(), weights)[None], whole)[0]
    moved = np.stack([sums(*made(), weights + step * one) for one in np.eye(N) for step in (1e-6, -1e-6)])
    up, down = metric.of_sums(moved, whole).reshape(N, 2).T
    np.testing.assert_allclose(slopes[:, 0], (up - down) / 2e-6, atol=1e-8)
    assert not slopes[:, 1:].any(), "values do not move"


@kinds
def test_a_subset_does_not_know_of_the_others(kind):
    volumes, scores = made()
    member = np.arange(N) % 2 == 0
    whole = sums(volumes, scores, member.astype(float))
    found = METRICS[f"ndsc_load_{kind}"].of_sums(whole[None], whole)[0]
    assert found == pytest.approx(TWINS[kind](volumes[member], scores[member])[0])


@kinds
def test_equal_scores_have_none(kind):
    whole = sums(made()[0], np.full(N, 0.1), np.ones(N))
    assert np.isnan(METRICS[f"ndsc_load_{kind}"].of_sums(whole[None], whole)[0])


def test_scores_without_a_correlation_are_left_out():
    found = correlation.all_terms(made()[0], {"dsc": made()[1], "hausdorff_95": made()[1]})
    assert list(found) == ["dsc_load_spearman", "dsc_load_pearson"]
    assert METRICS["dsc_load_spearman"].row == "DSC, Spearman"
    assert "hausdorff_95_load_pearson" not in METRICS
