"""Intervals and paired comparisons: against twins, and by simulation against the truth."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from scipy import stats

import shiftbench
from shiftbench.assessment.assess import Options
from shiftbench.errors import FewClustersWarning, SettingsError
from shiftbench.scores import retention
from shiftbench.scores.intervals import KINDS, Bootstrap, Settings, bootstrap, wilson
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.resampling import (
    PLAIN,
    Detection,
    Joined,
    Means,
    Ranked,
    Ratio,
    Resampler,
    Retention,
    Statistic,
    scale_between,
)

EXPLICIT = [kind for kind in KINDS if kind != "auto"]


def mean_of(errors: np.ndarray, resampler: Resampler) -> Means:
    return Means(("mean_error",), errors[None], resampler.unit, resampler.units)


def scores_of(errors: np.ndarray, uncertainty: np.ndarray, resampler: Resampler, threshold: float = 1.0) -> Joined:
    ranked = Ranked.of(Ranking.of(uncertainty), resampler.unit, resampler.units)
    return Joined([mean_of(errors, resampler), Retention(errors, errors <= threshold, ranked, rule="published")])


def clustered(rng: np.random.Generator, clusters: int, *, least: int = 5, most: int = 15) -> np.ndarray:
    return np.repeat(np.arange(clusters), rng.integers(least, most + 1, clusters))


# --- the same numbers, however they are computed --------------------------------------------------------------------


@pytest.mark.parametrize("kind", EXPLICIT)
def test_the_number_of_cores_changes_no_digit(rng, kind):
    clusters = clustered(rng, 30)
    resampler = Resampler(len(clusters), clusters=clusters)
    errors, uncertainty = rng.chisquare(1, (2, len(clusters))), rng.normal(size=(2, len(clusters)))
    results = []
    for cores in (1, 2):
        systems = [scores_of(*arrays, resampler) for arrays in zip(errors, uncertainty, strict=True)]
        results.append(bootstrap(systems, resampler, Settings(replicates=40, kind=kind, seed=3, cores=cores)))
    one, two = results
    np.testing.assert_array_equal(one.replicates, two.replicates)
    np.testing.assert_array_equal(one.intervals(), two.intervals())
    np.testing.assert_array_equal(one.difference(0), two.difference(0))


def test_more_replicates_begin_with_the_same_ones_and_another_seed_gives_others(rng):
    errors, resampler = rng.chisquare(1, 50), Resampler(50)

    def replicates(**settings: int) -> np.ndarray:
        return bootstrap([mean_of(errors, resampler)], resampler, Settings(**settings)).replicates

    np.testing.assert_array_equal(replicates(replicates=20), replicates(replicates=50)[:20])
    assert not np.array_equal(replicates(replicates=20), replicates(replicates=20, seed=1))


def test_progress_is_told_once_a_replicate(rng):
    told = []
    resampler = Resampler(30)
    statistic = mean_of(rng.chisquare(1, 30), resampler)
    bootstrap([statistic], resampler, Settings(replicates=7), progress=lambda done, of: told.append((done, of)))
    assert told == [(b, 7) for b in range(1, 8)]


def test_systems_are_drawn_together_so_that_differences_are_paired(rng):
    errors, resampler = rng.chisquare(1, 60), Resampler(60)
    systems = [mean_of(errors, resampler), mean_of(errors + 0.5, resampler)]
    result = bootstrap(systems, resampler, Settings(replicates=50))
    np.testing.assert_allclose(result.replicates[:, 1] - result.replicates[:, 0], 0.5)
    value, low, high, p = result.difference(0)
    np.testing.assert_allclose([value, low, high], -0.5)
    assert p[0] == pytest.approx(1 / 51)


def test_pairs_come_in_the_order_of_the_systems(rng):
    resampler = Resampler(40)
    systems = [mean_of(level + rng.chisquare(1, 40), resampler) for level in (0.0, 10.0, 30.0)]
    result = bootstrap(systems, resampler, Settings(replicates=20))
    assert result.pairs == [(0, 1), (0, 2), (1, 2)]
    for pair, (a, b) in enumerate(result.pairs):
        assert result.difference(pair)[0] == pytest.approx(result.values[a] - result.values[b])


# --- against twins --------------------------------------------------------------------------------------------------


def quantile(values: list[float], share: float) -> float:
    """The value at rank share * (B + 1), interpolated between neighbours."""
    ordered = sorted(values)
    rank = min(max(share * (len(ordered) + 1), 1.0), float(len(ordered)))
    below = math.floor(rank)
    above = min(below + 1, len(ordered))
    return ordered[below - 1] + (rank - below) * (ordered[above - 1] - ordered[below - 1])


def resampled_means(values: np.ndarray, resampler: Resampler, seed: int, replicates: int) -> tuple[list, list]:
    """Means and textbook standard errors of replicates with rows really repeated."""
    means, errors = [], []
    for b in range(replicates):
        drawn = np.repeat(values, resampler.draw(seed, b).astype(int))
        means.append(drawn.mean())
        errors.append(drawn.std(ddof=1) / math.sqrt(len(drawn)))
    return means, errors


def test_percentile_and_studentised_intervals_of_a_mean_equal_their_twins(rng):
    values, resampler = rng.chisquare(1, 80), Resampler(80)
    means, errors = resampled_means(values, resampler, 4, 150)
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(80)
    plain = quantile([abs(one - mean) / spread for one, spread in zip(means, errors, strict=True)], 0.9) * error
    # On the logarithm a replicate's standard error is divided by its mean, and records are left out of the logarithm.
    logs = [abs(math.log(one / mean)) / (spread / one) for one, spread in zip(means, errors, strict=True)]
    left_out = np.log([np.delete(values, i).mean() for i in range(80)])
    factor = math.exp(quantile(logs, 0.9) * math.sqrt(79 * left_out.var()))
    expected = {
        ("percentile", PLAIN): (quantile(means, 0.05), quantile(means, 0.95)),
        ("studentised", PLAIN): (mean - plain, mean + plain),
        ("studentised", scale_between(0.0, math.inf)): (mean / factor, mean * factor),
    }
    for (kind, scale), ends in expected.items():
        settings = Settings(replicates=150, kind=kind, seed=4, level=0.9)
        result = bootstrap([mean_of(values, resampler)], resampler, settings, scales=[scale])
        np.testing.assert_allclose(np.ravel(result.intervals()), ends, rtol=1e-9)


def test_standard_errors_are_those_of_leaving_out_one_cluster_at_a_time(rng):
    cluster = clustered(rng, 14, least=1, most=40)
    stratum = (cluster >= 6).astype(int)
    resampler = Resampler(len(cluster), clusters=cluster, strata=stratum)
    errors, uncertainty = rng.chisquare(1, (2, len(cluster))), rng.normal(size=len(cluster))
    systems = [scores_of(row, uncertainty, resampler) for row in errors]
    with pytest.warns(FewClustersWarning, match="found 6"):
        result = bootstrap(systems, resampler, Settings(replicates=5, kind="studentised"), units=[14] * 5)

    def r_auc(row: np.ndarray, left_out: int) -> float:
        kept = cluster != left_out
        return retention.r_auc(row[kept], uncertainty[kept])

    left = np.array([[r_auc(row, k) for row in errors] for k in range(14)])
    left = np.column_stack((left, left[:, 0] - left[:, 1]))  # both systems, and their difference
    variance = sum(
        (size - 1) * part.var(axis=0) for part, size in ((left[:6], 6), (left[6:], 8))
    )  # the jackknife's (m - 1) / m times the sum of squares, by stratum
    assert result.errors is not None
    np.testing.assert_allclose(result.errors[:, result.names.index("r_auc")], np.sqrt(variance), rtol=1e-9)


def test_with_many_units_influences_give_the_same_standard_errors_as_leaving_out(rng):
    cluster = clustered(rng, 501)
    resampler = Resampler(len(cluster), clusters=cluster)
    statistic = scores_of(rng.chisquare(1, len(cluster)), rng.normal(size=len(cluster)), resampler)
    made = bootstrap([statistic], resampler, Settings(replicates=2, kind="studentised"))
    left_out = resampler.jackknife_errors(
        np.array([statistic.values((np.arange(501) != unit).astype(float)) for unit in range(501)])
    )
    assert made.errors is not None
    np.testing.assert_allclose(made.errors[0], left_out, rtol=0.06)  # F1@95% jumps with the number of records


@pytest.mark.parametrize(
    ("least", "most", "inside"),
    [
        (0.0, math.inf, [1e-6, 0.3, 1.0, 1e6]),
        (0.0, 1.0, [1e-6, 0.3, 0.999]),
        (0.0, 2.0, [1e-6, 0.3, 0.999]),
        (-1.0, 1.0, [-0.9, 0.0, 0.9]),
    ],
)
def test_a_scale_has_its_inverse_and_slope_and_keeps_the_range(least, most, inside):
    scale, values = scale_between(least, most), np.array(inside)
    there = scale.to(values)
    np.testing.assert_allclose(scale.back(there), values, rtol=1e-9)
    step = 1e-6 * np.minimum(np.abs(values) + (scale.name == "plain"), 1.0 - values if most == 1.0 else np.inf)
    np.testing.assert_allclose(
        (scale.to(values + step) - scale.to(values - step)) / (2 * step), scale.slope(values), rtol=1e-4
    )
    if scale.name != "plain":
        ends = scale.back(there[:, None] + np.array([-1e3, -5.0, 5.0, 30.0]))
        assert (ends >= least).all()
        assert (ends <= most).all()


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99])
@pytest.mark.parametrize("least", [0.0, -math.inf], ids=["logarithm", "as it stands"])
def test_the_interval_of_a_score_reaches_no_further_than_that_of_students_t_with_three_degrees(least, level):
    values, error = np.full((1, 1), 2.0), np.full((1, 1), 0.4)
    replicates = np.full((200, 1, 1), 2.0) + np.linspace(-1.0, 1.0, 200)[:, None, None]
    wild = {"errors": error, "replicate_errors": np.full((200, 1, 1), 1e-6)}
    made = Bootstrap(("m",), values, replicates, level, "studentised", **wild, scales=(scale_between(least, math.inf),))
    reach = stats.t.ppf(0.5 + 0.5 * level, 3) * 0.4
    expected = [2.0 - reach, 2.0 + reach]
    if least == 0.0:
        expected = [2.0 * math.exp(-reach / 2.0), 2.0 * math.exp(reach / 2.0)]
    assert np.ravel(made.intervals()) == pytest.approx(expected, rel=1e-6)


def test_a_rejection_ratio_has_an_interval_in_sight_where_one_cluster_outweighs_all_others():
    """Without a limit some of these reached from -100 to 100 %; percentiles exclude a random order in all of them."""
    rng, whole, apart = np.random.default_rng(2), 0, 0
    for seed in range(40):
        cluster = np.repeat(np.arange(12), [130] + [12] * 11)
        known = rng.normal(0.0, 0.7, 12)[cluster] + rng.normal(0.0, 0.7, len(cluster))
        errors, resampler = np.exp(known) * rng.chisquare(1, len(cluster)), Resampler(len(cluster), clusters=cluster)
        ranked = Ranked.of(Ranking.of(known), resampler.unit, resampler.units)
        statistic = Retention(errors, None, ranked, rule="published", rejection=True)
        settings = Settings(replicates=99, kind="studentised", seed=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewClustersWarning)
            made = bootstrap(
                [statistic], resampler, settings, scales=[scale_between(0.0, math.inf), scale_between(-1, 1)]
            )
        (low, _high), at = np.array(made.intervals())[:, 0], made.names.index("rejection_ratio")
        whole += low[at] <= -0.99
        apart += low[at] > 0.0
    assert whole == 0
    assert apart >= 30


@pytest.mark.parametrize(("right", "of"), [(10, 10), (0, 25), (59, 60), (1, 12)])
def test_wilsons_interval_is_that_of_scipy(right, of):
    expected = stats.binomtest(right, of).proportion_ci(method="wilson")
    assert wilson(right / of, of, 0.95) == pytest.approx((expected.low, expected.high), abs=1e-12)


@pytest.mark.parametrize("kind", EXPLICIT)
@pytest.mark.parametrize(("share", "records"), [(1.0, 12), (0.0, 12), (1.0, 400)])
def test_a_share_of_all_or_none_has_the_interval_of_its_effective_number_of_units(share, records, kind):
    resampler, logit = Resampler(records), [scale_between(0.0, 1.0)]
    settings = Settings(replicates=40, kind=kind)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FewClustersWarning)
        statistic = mean_of(np.full(records, share), resampler)
        made = bootstrap([statistic], resampler, settings, scales=logit, effective=[float(records)])
        other = bootstrap([statistic], resampler, settings, scales=logit)
    expected = stats.binomtest(round(share * records), records).proportion_ci(method="wilson")
    assert np.ravel(made.intervals()) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert made.reasons(0) == [""]
    assert np.isnan(np.ravel(other.intervals())).all()  # any other score that no replicate moves from its end
    assert other.reasons(0) == ["too little variation"]


def test_a_share_of_nearly_all_has_no_narrower_interval_than_one_of_all():
    """59 of 60: a third of the replicates has only hits, so that neither logits nor percentiles know the end."""
    resampler = Resampler(60)
    lows = []
    for misses in range(3):
        statistic = mean_of((np.arange(60) >= misses).astype(float), resampler)
        settings = Settings(replicates=400, kind="studentised")
        made = bootstrap([statistic], resampler, settings, scales=[scale_between(0.0, 1.0)], effective=[60.0])
        lows.append(float(made.intervals()[0][0, 0]))
    assert lows[:2] == pytest.approx([0.9398, 0.9114], abs=1.5e-3)  # Wilson's of 60 of 60 and 59 of 60
    assert lows[2] < lows[1]


@pytest.mark.parametrize("both", [0.0, 0.9], ids=["independent records", "records of a cluster agree"])
def test_intervals_of_rare_errors_cover_as_they_should(both):
    rng, held, shown = np.random.default_rng(6), 0, 0
    cluster = np.repeat(np.arange(40), 5)
    resampler = Resampler(200, clusters=cluster)
    for seed in range(200):
        alike = rng.random(40)[cluster] < 0.02
        wrong = np.where(rng.random(200) < both, alike, rng.random(200) < 0.02)
        settings = Settings(replicates=39, kind="studentised", seed=seed)
        statistic = mean_of(wrong.astype(float), resampler)
        made = bootstrap([statistic], resampler, settings, scales=[scale_between(0.0, 1.0)], effective=[40.0])
        low, high = np.ravel(made.intervals())
        held += low <= 0.02 <= high
        shown += high - low
    assert held / 200 >= 0.92
    assert shown / 200 < 0.2


def test_percentiles_of_a_biased_score_still_hold_the_score():
    replicates = np.linspace(0.5, 0.9, 100)[:, None, None]
    for value, expected in ((0.4, (0.4, 0.89)), (0.95, (0.51, 0.95))):
        made = Bootstrap(("share",), np.full((1, 1), value), replicates, 0.95, "percentile")
        assert np.ravel(made.intervals()) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("least", "most", "value", "error"), [(0.0, 2.0, 1.9, 0.3), (-1.0, 1.0, 0.9, 0.3), (0.0, 1.0, 0.99, 0.3)]
)
@pytest.mark.parametrize("kind", ["normal", "percentile", "studentised"])
def test_every_interval_keeps_the_range_of_its_score(least, most, value, error, kind):
    replicates = value + error * np.random.default_rng(1).normal(size=(300, 1, 1))
    own = {"errors": np.full((1, 1), error), "replicate_errors": np.full((300, 1, 1), error)}
    scale = (scale_between(least, most),)
    made = Bootstrap(("m",), np.full((1, 1), value), replicates, 0.95, kind, **own, scales=scale)
    low, high = np.ravel(made.intervals())
    assert least <= low < value < high <= most


def test_a_dozen_wild_clusters_have_no_interval_out_of_sight():
    rng = np.random.default_rng(4)
    worst = 0.0
    for seed in range(60):
        cluster = np.repeat(np.arange(12), np.maximum(1, np.round(12 * np.exp(rng.normal(-0.5, 1.0, 12)))).astype(int))
        errors = rng.standard_t(3, len(cluster)) ** 2 * np.exp(rng.normal(0.0, 1.0, 12))[cluster]
        resampler = Resampler(len(cluster), clusters=cluster)
        settings, log = Settings(replicates=99, kind="studentised", seed=seed), [scale_between(0.0, math.inf)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewClustersWarning)
            made = bootstrap([mean_of(errors, resampler)], resampler, settings, scales=log)
        low, high = np.ravel(made.intervals())
        assert 0.0 < low < errors.mean() < high
        worst = max(worst, high / errors.mean())
    assert worst < 100.0


def test_the_ratio_of_two_means_is_studentised_on_its_logarithm_so_that_either_way_up_it_says_the_same(rng):
    day, shifted = np.repeat(np.arange(30), 8), np.tile([0, 1], 120)
    errors = rng.gamma(1.0, size=30)[day] * (1 + shifted) * rng.gamma(5.0, size=240)
    resampler = Resampler(240, clusters=day, strata=shifted)
    sides = [Means(("m",), errors[shifted == s][None], resampler.unit[shifted == s], resampler.units) for s in (1, 0)]
    settings, log = Settings(replicates=300, kind="studentised"), [scale_between(0.0, math.inf)]
    (low, high), (inverse_low, inverse_high) = (
        np.ravel(bootstrap([Ratio("ratio", *pair)], resampler, settings, scales=log).intervals())
        for pair in (sides, sides[::-1])
    )
    assert (1 / inverse_high, 1 / inverse_low) == pytest.approx((low, high), rel=2e-2)
    assert low < errors[shifted == 1].mean() / errors[shifted == 0].mean() < high


def test_interval_and_p_value_of_a_difference_equal_their_twins(rng):
    a, b = rng.chisquare(1, (2, 80))
    resampler = Resampler(80)
    means, errors = resampled_means(a - b, resampler, 4, 199)
    mean, error = (a - b).mean(), (a - b).std(ddof=1) / math.sqrt(80)
    t = [abs(one - mean) / spread for one, spread in zip(means, errors, strict=True)]
    settings = Settings(replicates=199, kind="studentised", seed=4)
    result = bootstrap([mean_of(a, resampler), mean_of(b, resampler)], resampler, settings)
    value, low, high, p = np.ravel(result.difference(0))
    assert value == pytest.approx(mean)
    assert (low, high) == pytest.approx((mean - quantile(t, 0.95) * error, mean + quantile(t, 0.95) * error))
    assert p == pytest.approx((1 + sum(one >= abs(mean) / error for one in t)) / 200)
    percentile = replace(result, kind="percentile").difference(0)
    assert percentile[1][0] == pytest.approx(quantile(means, 0.025))
    assert percentile[2][0] == pytest.approx(quantile(means, 0.975))
    assert percentile[3][0] == pytest.approx((1 + sum(abs(one - mean) >= abs(mean) for one in means)) / 200)


@pytest.mark.parametrize("unit", [2.0**460, 2.0**-460])
def test_bca_intervals_do_not_depend_on_the_unit(unit, rng):
    values, resampler, settings = rng.chisquare(1, 80), Resampler(80), Settings(replicates=99, kind="bca", seed=4)
    usual, scaled = (bootstrap([mean_of(values * each, resampler)], resampler, settings) for each in (1.0, unit))
    np.testing.assert_allclose(np.ravel(scaled.intervals()), np.ravel(usual.intervals()) * unit, rtol=1e-12)


def test_bca_interval_of_a_mean_equals_that_of_scipy_on_the_same_replicates(rng):
    values, resampler = rng.chisquare(1, 80), Resampler(80)
    result = bootstrap([mean_of(values, resampler)], resampler, Settings(replicates=3999, kind="bca", seed=4))
    same = SimpleNamespace(bootstrap_distribution=result.replicates[:, 0, 0])
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=0, bootstrap_result=same)
    low, high = theirs.confidence_interval
    assert np.ravel(result.intervals()) == pytest.approx((low, high), abs=0.005 * (high - low))
    plain = np.ravel(replace(result, kind="percentile").intervals())
    assert abs(plain[1] - high) > 0.02 * (high - low)  # the correction is not nothing


@pytest.mark.parametrize(("kind", "method"), [("percentile", "percentile"), ("bca", "BCa")])
def test_intervals_of_a_mean_agree_with_scipys_own_draws(rng, kind, method):
    values, resampler = rng.chisquare(1, 80), Resampler(80)
    result = bootstrap([mean_of(values, resampler)], resampler, Settings(replicates=4000, kind=kind))
    theirs = stats.bootstrap((values,), np.mean, method=method, n_resamples=4000, rng=rng).confidence_interval
    width = theirs.high - theirs.low
    assert np.ravel(result.intervals()) == pytest.approx((theirs.low, theirs.high), abs=0.06 * width)


@pytest.mark.parametrize("level", [0.5, 0.8, 0.99])
def test_studentised_interval_of_a_normal_mean_is_students(level):
    values = np.random.default_rng(1).normal(size=400)
    resampler = Resampler(400)
    settings = Settings(replicates=1999, kind="studentised", level=level)
    low, high = np.ravel(bootstrap([mean_of(values, resampler)], resampler, settings).intervals())
    expected = stats.t.interval(level, 399, values.mean(), stats.sem(values))
    assert (low, high) == pytest.approx(expected, abs=0.12 * (expected[1] - expected[0]))


def test_automatic_is_studentised_for_few_units_and_percentile_for_many():
    assert Settings().chosen(2_000) == "studentised"
    assert Settings().chosen(2_001) == Settings().chosen(300_000) == "percentile"
    assert Settings().chosen(300_001) == "normal"
    assert Settings(kind="bca").chosen(5) == "bca"


def test_normal_intervals_and_p_values_are_those_of_many_replicates_where_records_are_many(rng):
    resampler = Resampler(4000)
    errors = rng.chisquare(1, 4000)
    systems = [scores_of(e, e + rng.normal(size=4000), resampler) for e in (errors, 1.02 * errors + 0.005)]
    normal, drawn = (
        bootstrap(systems, resampler, Settings(replicates=1500, kind=kind)) for kind in ("normal", "percentile")
    )
    (low, high), (other_low, other_high) = normal.intervals(), drawn.intervals()
    width = other_high - other_low
    assert np.abs((low - other_low) / width).max() < 0.12
    assert np.abs((high - other_high) / width).max() < 0.12
    np.testing.assert_allclose(normal.difference(0)[3], drawn.difference(0)[3], atol=0.06)


# --- comparisons ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", EXPLICIT)
def test_identical_systems_have_p_one(rng, kind):
    clusters = clustered(rng, 25)
    resampler = Resampler(len(clusters), clusters=clusters)
    errors, uncertainty = rng.chisquare(1, len(clusters)), rng.normal(size=len(clusters))
    systems = [scores_of(errors, uncertainty, resampler) for _ in range(2)]
    result = bootstrap(systems, resampler, Settings(replicates=30, kind=kind))
    value, low, high, p = result.difference(0)
    np.testing.assert_array_equal([value, low, high], 0.0)
    np.testing.assert_array_equal(p, 1.0)


@pytest.mark.parametrize("kind", EXPLICIT)
def test_clearly_different_systems_are_separated(rng, kind):
    clusters = clustered(rng, 40)
    resampler = Resampler(len(clusters), clusters=clusters)
    errors = rng.chisquare(1, len(clusters))
    better, worse = (scores_of(e, e + rng.normal(size=len(e)), resampler) for e in (errors, 1.5 * errors + 0.1))
    result = bootstrap([better, worse], resampler, Settings(replicates=199, kind=kind))
    value, low, high, p = result.difference(0)
    at = result.names.index("r_auc")
    for s in (0, at):
        assert value[s] < 0.0
        assert low[s] < value[s] < high[s] < 0.0
        assert p[s] <= 0.01


def test_an_interval_of_a_difference_leaves_out_zero_where_its_p_value_is_small(rng):
    # B = 199: the 190th of the distances decides both.
    disagreements = 0
    for shift in np.linspace(0.0, 0.6, 20):
        resampler = Resampler(40)
        systems = [mean_of(values, resampler) for values in (rng.chisquare(1, 40) + shift, rng.chisquare(1, 40))]
        result = bootstrap(systems, resampler, Settings(replicates=199, kind="studentised"))
        _, low, high, p = np.ravel(result.difference(0))
        disagreements += (p <= 0.05 + 1e-12) != (low > 0.0 or high < 0.0)
    assert disagreements == 0


def test_p_values_are_uniform_where_there_is_no_difference():
    rng = np.random.default_rng(12)
    found = []
    for seed in range(200):
        clusters = clustered(rng, 40, most=8)
        resampler = Resampler(len(clusters), clusters=clusters)
        hard = np.exp(rng.normal(0.0, 0.4, 40))[clusters]
        systems = [mean_of(hard * rng.gamma(4.0, size=len(clusters)), resampler) for _ in range(2)]
        result = bootstrap(systems, resampler, Settings(replicates=39, kind="studentised", seed=seed))
        found.append([float(replace(result, kind=kind).difference(0)[3][0]) for kind in ("studentised", "percentile")])
    for p_values in np.array(found).T:
        assert stats.kstest(p_values, "uniform").pvalue > 0.01
        assert 0.025 <= np.mean(p_values <= 0.05) <= 0.08


def test_p_values_by_record_are_too_small_where_records_of_a_cluster_resemble_each_other():
    rng = np.random.default_rng(13)
    found = []
    for seed in range(100):
        clusters = clustered(rng, 30)
        systems_errors = (rng.chisquare(1, 30)[clusters] + rng.chisquare(1, len(clusters)) for _ in range(2))
        resampler = Resampler(len(clusters))
        systems = [mean_of(errors, resampler) for errors in systems_errors]
        result = bootstrap(systems, resampler, Settings(replicates=39, kind="percentile", seed=seed))
        found.append(float(result.difference(0)[3][0]))
    assert np.mean(np.array(found) <= 0.05) > 0.3


# --- coverage -------------------------------------------------------------------------------------------------------


def heteroscedastic(clusters: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Squared errors whose level differs between clusters, an uncertainty that knows part of it, and the clusters."""
    cluster = clustered(rng, clusters, least=5, most=25)
    n = len(cluster)
    known = rng.normal(0.0, 0.4, clusters)[cluster] + rng.normal(0.0, 0.4, n)
    deviation = np.exp(0.5 * known + rng.normal(0.0, 0.3, clusters)[cluster])
    return (deviation * rng.normal(size=n)) ** 2, known + rng.normal(0.0, 0.2, n), cluster


def missed_by(truth: np.ndarray, systems: list[Statistic], resampler: Resampler, kind: str, seed: int) -> np.ndarray:
    low, high = bootstrap(systems, resampler, Settings(replicates=39, kind=kind, seed=seed)).intervals()
    return (truth < low[0]) | (truth > high[0])


def test_studentised_intervals_by_cluster_cover_the_truth_and_intervals_by_record_do_not():
    rng = np.random.default_rng(5)
    errors, uncertainty, cluster = heteroscedastic(60_000, rng)
    large = Resampler(len(cluster), clusters=cluster)
    truth = scores_of(errors, uncertainty, large).values(np.ones(large.units))
    studentised, by_record = [], []
    for seed in range(240):
        errors, uncertainty, cluster = heteroscedastic(50, rng)
        clusters, records = Resampler(len(cluster), clusters=cluster), Resampler(len(cluster))
        systems = [scores_of(errors, uncertainty, clusters)]
        studentised.append(missed_by(truth, systems, clusters, "studentised", seed))
        if seed < 60:
            systems = [scores_of(errors, uncertainty, records)]
            by_record.append(missed_by(truth, systems, records, "percentile", seed))
    covered = dict(zip(systems[0].names, 1.0 - np.mean(studentised, axis=0), strict=True))
    # 93 to 97 %, widened by less than the standard error of 1.4 %.
    assert all(0.92 <= share <= 0.98 for share in covered.values()), covered
    too_short = dict(zip(systems[0].names, 1.0 - np.mean(by_record, axis=0), strict=True))
    assert max(too_short["mean_error"], too_short["r_auc"]) < 0.8, too_short


def heavy(rng: np.random.Generator, days: int, *, both_sides: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Errors of days of log-normal sizes, whether they are shifted, and the days; shifted errors are twice as large."""
    day = np.repeat(np.arange(days), np.maximum(1, np.round(12 * np.exp(rng.normal(-0.5, 1.0, days)))).astype(int))
    shifted = (np.arange(len(day)) if both_sides else day) % 2 == 1
    level = np.exp(rng.normal(0.0, 0.7, days))[day]
    return level * (1.0 + shifted) * np.exp(rng.normal(-0.5, 1.0, len(day))), shifted, day


@pytest.mark.parametrize("both_sides", [False, True], ids=["days on one side each", "days on both sides"])
def test_the_interval_of_shifted_over_in_domain_covers_as_it_should_and_tells_more_where_days_are_on_both(both_sides):
    rng = np.random.default_rng(8)
    held, told, scale = [], [], [scale_between(0.0, math.inf)]
    for seed in range(150):
        errors, shifted, day = heavy(rng, 50, both_sides=both_sides)
        resampler = Resampler(len(day), clusters=day, strata=shifted.astype(int))
        sides = [Means(("m",), errors[s][None], resampler.unit[s], resampler.units) for s in (shifted, ~shifted)]
        settings = Settings(replicates=39, kind="studentised", seed=seed)
        made = bootstrap([Ratio("ratio", *sides)], resampler, settings, units=[25], scales=scale)
        low, high = np.ravel(made.intervals())
        held.append(low <= 2.0 <= high)
        told.append(low > 1.0)
    assert 0.90 <= np.mean(held) <= 0.985
    assert np.mean(told) > 0.9 if both_sides else 0.2 < np.mean(told) < 0.9


def as_in_0_6_0(made: Bootstrap, sides: Joined, resampler: Resampler) -> tuple[float, float]:
    """The factor's interval from one interval a side, as though the two had nothing in common."""
    ones = np.ones(resampler.units)
    value, error = made.values[0, :2], resampler.standard_errors(sides.linearised(ones)[1], ones)
    assert made.replicate_errors is not None
    t = (made.replicates[:, 0, :2] - value) / made.replicate_errors[:, 0, :2]
    low, high = value - np.quantile(t, [0.975, 0.025], axis=0, method="weibull") * error
    if min(low) <= 0.0:
        return 0.0, math.inf
    middle = math.log(value[0] / value[1])
    down = math.hypot(math.log(value[0] / low[0]), math.log(high[1] / value[1]))
    up = math.hypot(math.log(high[0] / value[0]), math.log(value[1] / low[1]))
    return math.exp(middle - down), math.exp(middle + up)


def test_a_small_factor_is_seen_where_hard_days_are_hard_on_both_sides_and_was_never_seen_from_an_interval_a_side():
    """60 days of unequal size and very unequal level, on both sides; shifted errors are 1.2 times as large."""
    rng, held, told = np.random.default_rng(21), np.zeros(2), np.zeros(2)
    for seed in range(150):
        day = np.repeat(np.arange(60), np.maximum(2, np.round(12 * np.exp(rng.normal(-0.5, 1.0, 60)))).astype(int))
        shifted = np.arange(len(day)) % 2 == 1
        noise = np.exp(rng.normal(-0.245, 0.7, len(day)))
        errors = np.exp(rng.normal(0.0, 1.0, 60))[day] * np.where(shifted, 1.2, 1.0) * noise
        resampler = Resampler(len(day), clusters=day, strata=shifted.astype(int))
        sides = Joined(
            [Means(("m",), errors[s][None], resampler.unit[s], resampler.units) for s in (shifted, ~shifted)]
        )
        settings = Settings(replicates=199, kind="studentised", seed=seed)
        scores = Joined([sides, Ratio("ratio", *sides.parts)])
        made = bootstrap([scores], resampler, settings, scales=[scale_between(0.0, math.inf)] * 3)
        low, high = made.intervals()
        for k, (least, most) in enumerate((as_in_0_6_0(made, sides, resampler), (low[0, 2], high[0, 2]))):
            held[k] += least <= 1.2 <= most
            told[k] += least > 1.0 or most < 1.0
    before, now = zip(held / 150, told / 150, strict=True)
    assert before[0] == 1.0
    assert before[1] == 0.0
    assert 0.92 <= now[0] <= 0.985
    assert now[1] > 0.4


def test_few_unequal_clusters_of_heavy_tailed_errors_are_covered_far_better_than_by_percentiles():
    rng = np.random.default_rng(9)
    studentised, percentile = [], []
    for seed in range(150):
        errors, _, day = heavy(rng, 25, both_sides=True)
        resampler = Resampler(len(day), clusters=day)
        half = errors / np.where(np.arange(len(day)) % 2 == 1, 2.0, 1.0)  # of mean exp(0.245)
        settings = Settings(replicates=39, kind="studentised", seed=seed)
        made = bootstrap([mean_of(half, resampler)], resampler, settings, scales=[scale_between(0.0, math.inf)])
        for kind, found in (("studentised", studentised), ("percentile", percentile)):
            low, high = np.ravel(replace(made, kind=kind).intervals())
            found.append(low <= math.exp(0.245) <= high)
    assert np.mean(studentised) >= 0.90
    assert np.mean(studentised) > np.mean(percentile) + 0.04


def test_clusters_on_both_sides_of_the_shift_are_drawn_whole_or_the_interval_would_be_too_short():
    rng = np.random.default_rng(6)
    missed = []
    for seed in range(100):
        day = np.repeat(np.arange(50), 10)
        shifted = np.tile([0, 1], 250)
        errors = rng.gamma(4.0, size=50)[day] * (1.0 + shifted) + rng.gamma(4.0, size=500)
        resampler = Resampler(500, clusters=day, strata=shifted)
        missed.append(missed_by(np.array([10.0]), [mean_of(errors, resampler)], resampler, "studentised", seed)[0])
    assert 0.90 <= 1.0 - np.mean(missed) <= 0.99


# --- few clusters, and scores that are undefined --------------------------------------------------------------------


def test_fewer_than_twenty_clusters_are_warned_of(rng):
    clusters = np.arange(190) % 19
    resampler = Resampler(190, clusters=clusters)
    with pytest.warns(
        FewClustersWarning, match=r"expected at least 20 clusters to resample, found 19: intervals are too short"
    ):
        bootstrap([mean_of(rng.chisquare(1, 190), resampler)], resampler, Settings(replicates=5))


def test_few_clusters_in_one_stratum_are_warned_of(rng):
    clusters = np.arange(400) % 40
    resampler = Resampler(400, clusters=clusters, strata=(clusters < 6).astype(int))
    with pytest.warns(FewClustersWarning, match="found 6"):
        bootstrap([mean_of(rng.chisquare(1, 400), resampler)], resampler, Settings(replicates=5))


def test_twenty_clusters_are_enough_for_silence(rng):
    resampler = Resampler(200, clusters=np.arange(200) % 20)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        bootstrap([mean_of(rng.chisquare(1, 200), resampler)], resampler, Settings(replicates=5))


@pytest.mark.parametrize("kind", EXPLICIT)
def test_a_single_cluster_has_no_interval_and_separates_nothing(rng, kind):
    resampler = Resampler(30, clusters=np.zeros(30, dtype=int))
    systems = [mean_of(values, resampler) for values in (rng.chisquare(1, 30), 9.0 + rng.chisquare(1, 30))]
    with pytest.warns(FewClustersWarning, match="found 1"):
        result = bootstrap(systems, resampler, Settings(replicates=20, kind=kind))
    assert np.isnan(result.intervals()).all()
    value, low, high, p = result.difference(0)
    assert math.isfinite(value[0])
    assert math.isnan(low[0])
    assert math.isnan(high[0])
    assert math.isnan(p[0])


DEGENERATE = {
    "all errors equal": lambda rng: (np.full(60, 2.0), rng.normal(size=60)),
    "all errors zero": lambda rng: (np.zeros(60), rng.normal(size=60)),
    "constant uncertainty": lambda rng: (rng.chisquare(1, 60), np.zeros(60)),
    "nothing varies": lambda rng: (np.ones(60), np.ones(60)),
    "one record carries all": lambda rng: (np.eye(60)[0], rng.normal(size=60)),
}


@pytest.mark.parametrize("kind", EXPLICIT)
@pytest.mark.parametrize("data_of", DEGENERATE.values(), ids=DEGENERATE.keys())
@pytest.mark.parametrize("threshold", [-1.0, 0.5, 99.0], ids=["none acceptable", "some", "all acceptable"])
@pytest.mark.parametrize("shifted", [0, 1, 60], ids=["none shifted", "one shifted", "all shifted"])
def test_degenerate_scores_never_crash_nor_warn_from_a_library(rng, kind, data_of, threshold, shifted):
    errors, uncertainty = data_of(rng)
    resampler = Resampler(60, clusters=np.arange(60) // 2)
    ranked = Ranked.of(Ranking.of(uncertainty), resampler.unit, resampler.units)
    retained = Retention(errors, errors <= threshold, ranked, rule="published", rejection=True)
    detection = Detection(np.arange(60) < shifted, ranked)
    system = Joined([mean_of(errors, resampler), retained, detection])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = bootstrap([system, system], resampler, Settings(replicates=20, kind=kind))
        low, high = result.intervals()
        difference = result.difference(0)
    values = result.values[0]
    defined = np.isfinite(values)
    assert defined[0]
    assert np.isnan(low[0][~defined]).all()
    assert (low[0][defined] <= high[0][defined]).all()
    np.testing.assert_array_equal(np.isnan(difference[3]), ~defined)


def test_a_replicate_without_a_score_is_left_out(rng):
    replicates = rng.normal(size=(100, 1, 1))
    usual = Bootstrap(("score",), np.zeros((1, 1)), replicates, 0.95, "percentile")
    gaps = replace(usual, replicates=np.concatenate((replicates, np.full((40, 1, 1), np.nan))))
    np.testing.assert_array_equal(gaps.intervals(), usual.intervals())


def test_all_that_is_wrong_with_settings_is_said_at_once():
    with pytest.raises(SettingsError, match="replicates: expected 1 to 1,000,000, found 0") as caught:
        Settings(replicates=0, level=95, kind="gaussian", cores=0, seed=-1)
    assert [problem.split(":")[0] for problem in caught.value.problems] == [
        "replicates", "cores", "seed", "level", "kind of intervals",
    ]  # fmt: skip
    values: dict[str, Any] = {"replicates": 5.5, "level": "wide", "cores": True, "seed": None}
    with pytest.raises(SettingsError, match=r"replicates: expected 1 to 1,000,000, found 5\.5") as caught:
        Settings(**values)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["replicates", "cores", "seed", "level"]


def test_retention_statistics_observe_the_public_scores(rng):
    errors, uncertainty, resampler = rng.chisquare(1, 80), rng.normal(size=80), Resampler(80)
    result = bootstrap([scores_of(errors, uncertainty, resampler)], resampler, Settings(replicates=5))
    scores = dict(zip(result.names, result.values[0], strict=True))
    assert scores["r_auc"] == pytest.approx(retention.r_auc(errors, uncertainty))
    assert scores["f1_auc"] == pytest.approx(retention.f1_auc(errors, uncertainty, threshold=1.0))


FEW = Options(intervals=Settings(replicates=100))


def test_errors_of_0_and_1_are_shares_also_without_the_answers_behind_them() -> None:
    rng = np.random.default_rng(0)
    shifted = np.arange(120) >= 60
    errors = np.where(shifted, rng.random(120) < 0.3, 0).astype(float)
    report = shiftbench.assess(errors, rng.random(120), shifted=shifted, threshold=0.5, options=FEW)
    for subset in ("in", "shifted", "full"):
        mean = report.score("mean_error", system="model", split="all", subset=subset)
        good = report.score("acceptable", system="model", split="all", subset=subset)
        assert (mean.low, mean.high) == pytest.approx((1 - good.high, 1 - good.low), abs=1e-9)


@pytest.mark.parametrize("metric", ["f1_auc", "f1_at_95"])
def test_f1_of_errors_that_are_all_acceptable_has_no_interval(metric: str) -> None:
    rng = np.random.default_rng(0)
    report = shiftbench.assess(np.zeros(40), rng.random(40), threshold=0.5, options=FEW)
    score = report.score(metric, system="model", split="all", subset="full")
    assert (score.low, score.high, score.no_interval) == (None, None, "too little variation")


def test_a_constant_uncertainty_detects_no_shift_for_certain() -> None:
    rng = np.random.default_rng(0)
    with pytest.warns(shiftbench.errors.ShiftbenchWarning, match="ranks nothing"):
        report = shiftbench.assess(rng.random(60), np.ones(60), shifted=np.arange(60) >= 30, options=FEW)
    score = report.score("roc_auc", system="model", split="all", subset="full")
    assert (score.value, score.low, score.high) == (0.5, 0.5, 0.5)
