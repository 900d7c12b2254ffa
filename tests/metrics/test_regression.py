"""Metrics of regression: against scikit-learn, the published code, and slow integrals of the definitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import integrate, optimize, stats
from sklearn import metrics as sklearn_metrics

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import ArrayError, DegenerateScoreWarning
from shiftbench.metrics import regression

GOLDEN = Path(__file__).parent.parent / "golden"
DISTRIBUTIONAL = [regression.nll_per_record, regression.crps_per_record, regression.pit]


@pytest.fixture(scope="module")
def inputs():
    return dict(np.load(GOLDEN / "inputs_likelihood.npz"))


@pytest.fixture(scope="module")
def published():
    return dict(np.load(GOLDEN / "likelihood.npz"))


@pytest.fixture
def ensemble(rng):
    return Gaussian(rng.normal(scale=2, size=(4, 25)), rng.gamma(2.0, size=(4, 25)))


@pytest.fixture
def targets(rng):
    return rng.normal(scale=3, size=25)


def mixture(ensemble: Gaussian, n: int):
    members = stats.norm(ensemble.mean[:, n], np.sqrt(ensemble.variance[:, n]))
    return (lambda x: members.pdf(x).mean()), (lambda x: members.cdf(x).mean())


# --- point predictions ------------------------------------------------------------------------------------------------


def test_point_metrics_equal_scikit_learn(rng):
    targets, answers = rng.normal(size=(2, 300))
    assert regression.rmse(targets, answers) == pytest.approx(sklearn_metrics.root_mean_squared_error(targets, answers))
    assert regression.mae(targets, answers) == pytest.approx(sklearn_metrics.mean_absolute_error(targets, answers))
    assert regression.mape(targets, answers) == pytest.approx(
        sklearn_metrics.mean_absolute_percentage_error(targets, answers)
    )


def test_mean_metrics_are_means_of_their_records(targets, ensemble):
    answers = ensemble.answers()
    assert regression.rmse(targets, answers) ** 2 == pytest.approx(regression.squared_error(targets, answers).mean())
    assert regression.mae(targets, answers) == pytest.approx(regression.absolute_error(targets, answers).mean())
    assert regression.nll(targets, ensemble) == pytest.approx(regression.nll_per_record(targets, ensemble).mean())
    assert regression.crps(targets, ensemble) == pytest.approx(regression.crps_per_record(targets, ensemble).mean())


def test_rmse_equals_the_published_code(inputs, published):
    mean = inputs["reg_preds"][..., 0].mean(axis=0)
    errors = regression.squared_error(inputs["target"], mean)
    assert errors == pytest.approx(published["ens_rmse.raw"], rel=1e-14)
    assert regression.rmse(inputs["target"], mean) == pytest.approx(float(published["ens_rmse"]))
    assert regression.rmse(inputs["target"], inputs["reg_preds"][0, :, 0]) == pytest.approx(float(published["rmse"]))


def test_mape_is_undefined_where_a_target_is_zero():
    with pytest.warns(DegenerateScoreWarning, match="1 of 3 targets are 0"):
        assert np.isnan(regression.mape([1.0, 0.0, 2.0], [1.0, 1.0, 1.0]))
    assert regression.mape([-2.0, 4.0], [-1.0, 5.0]) == pytest.approx(0.375)


def test_unequal_lengths_and_nan_are_refused_together():
    with pytest.raises(ArrayError, match="answers: expected finite numbers, found NaN") as caught:
        regression.rmse([1.0, 2.0, np.inf], [1.0, np.nan])
    assert any("targets: expected finite numbers, found infinity" in problem for problem in caught.value.problems)


# --- likelihood -------------------------------------------------------------------------------------------------------


def test_nll_is_minus_the_log_density_of_the_mixture(targets, ensemble):
    slow = [-np.log(mixture(ensemble, n)[0](y)) for n, y in enumerate(targets)]
    assert regression.nll_per_record(targets, ensemble) == pytest.approx(slow, rel=1e-12)


def test_nll_equals_the_published_code_but_for_its_epsilon(inputs, published):
    targets, mean, variance = inputs["target"], inputs["reg_preds"][..., 0], inputs["reg_preds"][..., 1]
    one, all_members = Gaussian(mean[:1], variance[:1]), Gaussian(mean, variance)
    # The published code adds 1e-8 to v inside the log and to 2 v in the denominator; we do not, so that the score of a
    # target does not depend on its unit. The first lines show that this is the whole difference.
    logs = -0.5 * np.log(2 * np.pi) - 0.5 * np.log(variance + 1e-8) - (targets - mean) ** 2 / (2 * variance + 1e-8)
    assert published["nll_regression.raw"] == pytest.approx(-logs[0], abs=1e-13)
    assert published["ens_nll_regression.raw"] == pytest.approx(-np.log(np.exp(logs).mean(axis=0)), abs=1e-13)
    assert regression.nll_per_record(targets, one) == pytest.approx(published["nll_regression.raw"], abs=5e-7)
    assert regression.nll_per_record(targets, all_members) == pytest.approx(
        published["ens_nll_regression.raw"], abs=5e-8
    )
    assert regression.nll(targets, all_members) == pytest.approx(float(published["ens_nll_regression.mean"]), abs=1e-8)


def test_nll_of_a_target_far_outside_is_large_and_finite():
    far = regression.nll([1e6], Gaussian([[0.0], [1.0]], [[1.0], [1.0]]))
    assert far == pytest.approx(0.5 * (1e6 - 1) ** 2 + 0.5 * np.log(2 * np.pi) + np.log(2), rel=1e-14)


# --- CRPS -------------------------------------------------------------------------------------------------------------


def test_crps_is_the_integral_of_the_squared_distance_of_distribution_functions(targets, ensemble):
    for n, found in enumerate(regression.crps_per_record(targets, ensemble)):
        cdf, y = mixture(ensemble, n)[1], targets[n]
        below = integrate.quad(lambda x, F=cdf: F(x) ** 2, -40, y, limit=200)[0]
        above = integrate.quad(lambda x, F=cdf: (1 - F(x)) ** 2, y, 40, limit=200)[0]
        assert found == pytest.approx(below + above, rel=1e-7)


def test_crps_of_one_gaussian_is_the_closed_form_of_gneiting_and_raftery(targets):
    sd = 0.7
    z = targets / sd
    closed = sd * (z * (2 * stats.norm.cdf(z) - 1) + 2 * stats.norm.pdf(z) - 1 / np.sqrt(np.pi))
    one = Gaussian(np.zeros((1, 25)), np.full((1, 25), sd**2))
    assert regression.crps_per_record(targets, one) == pytest.approx(closed, rel=1e-12)


def test_crps_of_members_without_spread_is_that_of_their_values(targets, ensemble):
    narrow = Gaussian(ensemble.mean, np.full_like(ensemble.variance, 1e-24))
    values = ensemble.mean
    slow = np.abs(values - targets).mean(axis=0) - np.abs(values[:, None] - values).mean(axis=(0, 1)) / 2
    assert regression.crps_per_record(targets, narrow) == pytest.approx(slow, abs=1e-11)


def test_crps_is_a_proper_score(rng):
    targets = rng.normal(1.0, 2.0, size=4000)
    honest, narrow, biased = (
        regression.crps(targets, Gaussian(np.full((1, 4000), mean), np.full((1, 4000), sd**2)))
        for mean, sd in [(1.0, 2.0), (1.0, 0.7), (2.0, 2.0)]
    )
    assert honest < narrow
    assert honest < biased
    assert honest == pytest.approx(2.0 / np.sqrt(np.pi), rel=0.03)


def test_crps_does_not_depend_on_the_unit_or_the_origin(targets, ensemble):
    moved = Gaussian(ensemble.mean * 1000 + 5e5, ensemble.variance * 1000**2)
    found = regression.crps_per_record(targets * 1000 + 5e5, moved)
    assert found == pytest.approx(1000 * regression.crps_per_record(targets, ensemble), rel=1e-10)


# --- calibration ------------------------------------------------------------------------------------------------------


def test_pit_is_the_distribution_function_of_the_mixture_at_the_target(targets, ensemble):
    slow = [mixture(ensemble, n)[1](y) for n, y in enumerate(targets)]
    assert regression.pit(targets, ensemble) == pytest.approx(slow, rel=1e-12)


@pytest.mark.parametrize("level", [1e-9, 0.025, 0.5, 0.8, 1 - 1e-6])
def test_quantiles_invert_the_distribution_function(ensemble, level):
    found = regression.quantiles(ensemble, levels=[level])
    assert found.shape == (1, 25)
    assert regression.pit(found[0], ensemble) == pytest.approx(level, rel=1e-9)
    cdfs = [mixture(ensemble, n)[1] for n in range(25)]
    slow = [optimize.brentq(lambda x, F=cdf: F(x) - level, -90, 90) for cdf in cdfs]
    assert found[0] == pytest.approx(slow, rel=1e-6)


def test_quantiles_of_one_gaussian_are_its_own():
    levels = [0.01, 0.5, 0.975]
    found = regression.quantiles(Gaussian([[3.0]], [[4.0]]), levels=levels)
    assert found[:, 0] == pytest.approx(stats.norm(3, 2).ppf(levels), abs=1e-13)


def test_quantiles_of_mixtures_that_hardly_overlap_are_found(rng):
    mean = np.concatenate([rng.normal(size=(4, 300)) * 10.0 ** rng.integers(-6, 7, 300), [[0.0] * 300]])
    ensemble = Gaussian(mean, 10.0 ** rng.uniform(-12, 6, (5, 300)))
    for level in (1e-6, 0.025, 0.4, 0.5, 0.8, 0.975):  # 0.4 and 0.8 lie between members
        (found,) = regression.quantiles(ensemble, levels=[level])
        sd = np.sqrt(ensemble.variance).min(axis=0)
        below, above = (regression.pit(found + side * 1e-5 * sd, ensemble) for side in (-1, 1))
        room = 1e-9 + np.spacing(np.abs(found)) / sd  # the numbers next to it are so far away
        assert (below <= level + room).all()
        assert (above >= level - room).all()


def test_inside_and_widths_are_those_of_the_central_intervals(rng):
    ensemble = Gaussian(rng.normal(size=(3, 400)), rng.gamma(2.0, size=(3, 400)))
    targets = rng.normal(scale=2, size=400)
    inside = regression.inside(regression.pit(targets, ensemble))
    widths = regression.widths(ensemble)
    for level, name in ((0.5, "50"), (0.9, "90"), (0.95, "95")):
        low, high = regression.quantiles(ensemble, levels=[(1 - level) / 2, (1 + level) / 2])
        assert (inside[f"coverage_{name}"] == ((low <= targets) & (targets <= high))).all()
        assert widths[f"width_{name}"] == pytest.approx(high - low)


@pytest.mark.parametrize(("mean", "sd"), [(1.6e18, 60.0), (1e12, 1e-3), (-1e15, 1e-6)])
def test_widths_keep_their_digits_where_means_are_far_larger(mean, sd):
    wide = regression.widths(Gaussian([[mean], [mean]], [[sd**2], [sd**2]]))
    plain = regression.widths(Gaussian([[0.0]], [[sd**2]]))
    assert {name: each.item() for name, each in wide.items()} == pytest.approx(
        {name: each.item() for name, each in plain.items()}, rel=1e-9
    )


def test_coverage_counts_targets_between_the_quantiles(rng):
    ensemble = Gaussian(rng.normal(size=(3, 500)), rng.gamma(2.0, size=(3, 500)))
    targets, levels = rng.normal(size=500), np.array([0.1, 0.5, 0.9, 0.99])
    low = regression.quantiles(ensemble, levels=(1 - levels) / 2)
    high = regression.quantiles(ensemble, levels=(1 + levels) / 2)
    slow = ((low <= targets) & (targets <= high)).mean(axis=1)
    assert regression.coverage(targets, ensemble, levels=levels) == pytest.approx(slow, abs=1e-12)


def test_a_calibrated_mixture_covers_its_levels_and_an_overconfident_one_does_not(rng):
    records = 20_000
    mean = rng.normal(scale=2, size=(3, records))
    variance = rng.gamma(2.0, size=(3, records))
    rows = np.arange(records)
    drawn = rng.integers(3, size=records)
    targets = rng.normal(mean[drawn, rows], np.sqrt(variance[drawn, rows]))
    levels = [0.5, 0.8, 0.95]
    assert regression.coverage(targets, Gaussian(mean, variance), levels=levels) == pytest.approx(levels, abs=0.012)
    overconfident = Gaussian(mean[:1], variance[:1] / 4)
    assert (regression.coverage(targets, overconfident, levels=levels) < np.array(levels) - 0.1).all()


@pytest.mark.parametrize("levels", [[0.0], [0.5, 1.0], [-0.1], [1.5]])
def test_levels_outside_0_and_1_are_refused(targets, ensemble, levels):
    with pytest.raises(ArrayError, match="levels: expected values strictly between 0 and 1"):
        regression.coverage(targets, ensemble, levels=levels)
    with pytest.raises(ArrayError, match="levels: expected"):
        regression.quantiles(ensemble, levels=levels)


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", DISTRIBUTIONAL)
def test_blocks_equal_the_whole(monkeypatch, targets, ensemble, metric):
    whole = metric(targets, ensemble)
    monkeypatch.setattr(regression, "_BLOCK_VALUES", 12)
    assert metric(targets, ensemble) == pytest.approx(whole, rel=1e-13)


@pytest.mark.parametrize("metric", DISTRIBUTIONAL)
def test_what_does_not_fit_the_ensemble_is_refused(targets, ensemble, metric):
    with pytest.raises(ArrayError, match="targets: expected 25 records like the others, found 24"):
        metric(targets[:24], ensemble)
    with pytest.raises(ArrayError, match=r"expected Gaussian\(mean, variance\), found Categorical"):
        metric(targets, Categorical(np.full((1, 25, 2), 0.5)))
