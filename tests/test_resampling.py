"""Replicates in closed form: equal to the scores of the rows physically repeated, with derivatives that are right."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from sklearn.metrics import f1_score

from shiftbench.errors import DegenerateScoreWarning
from shiftbench.scores import detection, retention, selective
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.ranking import Ranking, rank_correlation
from shiftbench.scores.resampling import (
    REPLICATE_POINTS,
    Detection,
    GroupMeans,
    Joined,
    Means,
    RankCorrelations,
    Ranked,
    Ratio,
    Resampler,
    Retention,
    Root,
    SameOrder,
    SetRetention,
    SetScore,
    SetTerms,
    Terms,
    canonical_order,
    set_area,
)

RULES = retention.RULES
NAMES = ("r_auc", "f1_auc", "f1_auc_normalised", "f1_at_95", "rejection_ratio")
UNCERTAINTY = {
    "all different": lambda rng, n: rng.normal(size=n),
    "many ties": lambda rng, n: rng.integers(0, 12, n) * 1.0,
    "all equal": lambda rng, n: np.zeros(n),
}
MACRO_F1 = METRICS["macro_f1"]
WORST = Metric(
    "worst", "Worst group", "min", "error", "largest mean error of a group", "a test", area="worst_area",
    of_sums=lambda sums, whole: (sums[..., 1] / sums[..., 0]).max(axis=-1),
)  # fmt: skip
F1 = Metric(
    "f", "Pooled F1", "max", "percent", "2 TP / (2 TP + FP + FN) of all records", "a test", most=1.0, area="f_area",
    of_sums=lambda sums, whole: 2.0 * sums[..., 0] / (2.0 * sums[..., 0] + sums[..., 1] + sums[..., 2]),
)  # fmt: skip
tied = pytest.mark.parametrize("uncertainty_of", UNCERTAINTY.values(), ids=UNCERTAINTY.keys())
clustered = pytest.mark.parametrize("clusters", [None, 17], ids=["by record", "by cluster"])


def drawn(rng: np.random.Generator, clusters: int | None, n: int = 120) -> tuple[Resampler, list[np.ndarray]]:
    """A resampler and counts: everything once, usual draws with zeros among them, and one unit alone."""
    resampler = Resampler(n, clusters=None if clusters is None else rng.integers(0, clusters, n))
    alone = np.zeros(resampler.units)
    alone[resampler.units // 2] = 3.0
    return resampler, [np.ones(resampler.units), *(resampler.draw(5, b) for b in range(6)), alone]


def repeated(resampler: Resampler, counts: np.ndarray) -> np.ndarray:
    """The rows of a replicate, each as often as its unit was drawn, in no particular order."""
    rows = np.repeat(np.arange(len(resampler.unit)), counts[resampler.unit].astype(int))
    return np.random.default_rng(0).permutation(rows)


def public_scores(errors: np.ndarray, uncertainty: np.ndarray, rule: str) -> list[float]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DegenerateScoreWarning)
        return [
            retention.r_auc(errors, uncertainty, rule=rule),
            retention.f1_auc(errors, uncertainty, threshold=1.0, rule=rule),
            retention.f1_auc_normalised(errors, uncertainty, threshold=1.0, rule=rule),
            retention.f1_at(errors, uncertainty, threshold=1.0, rule=rule),
            retention.rejection_ratio(errors, uncertainty) / 100.0,
        ]


# --- values: a replicate is the score of the repeated rows ----------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@tied
@clustered
def test_retention_scores_are_those_of_the_repeated_rows(rng, rule, uncertainty_of, clusters):
    errors, uncertainty = rng.chisquare(1, 120), uncertainty_of(rng, 120)
    resampler, draws = drawn(rng, clusters)
    good = retention.acceptable(errors, 1.0, rule)
    ranked = Ranked.of(Ranking.of(uncertainty), resampler.unit, resampler.units)
    statistic = Retention(errors, good, ranked, rule=rule, rejection=True)
    assert statistic.names == NAMES
    for counts in draws:
        rows = repeated(resampler, counts)
        expected = public_scores(errors[rows], uncertainty[rows], rule)
        np.testing.assert_allclose(statistic.values(counts), expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("rule", RULES)
@tied
def test_scores_of_a_subset_are_those_of_its_repeated_rows(rng, rule, uncertainty_of):
    errors, uncertainty, member = rng.chisquare(1, 120), uncertainty_of(rng, 120), rng.random(120) < 0.4
    resampler, draws = drawn(rng, 17)
    ranking = Ranking.of(uncertainty).subset(member)
    good = retention.acceptable(errors[member], 1.0, rule)
    statistic = Retention(
        errors[member], good, Ranked.of(ranking, resampler.unit[member], resampler.units), rule=rule, rejection=True
    )
    for counts in draws[:-1]:
        rows = repeated(resampler, counts)
        rows = rows[member[rows]]
        expected = public_scores(errors[rows], uncertainty[rows], rule)
        np.testing.assert_allclose(statistic.values(counts), expected, rtol=1e-11, atol=1e-11)


@tied
@clustered
@pytest.mark.parametrize("binary", [False, True], ids=["any errors", "right or wrong"])
def test_areas_of_selective_prediction_are_those_of_the_repeated_rows(rng, uncertainty_of, clusters, binary):
    errors, uncertainty = rng.chisquare(1, 120), uncertainty_of(rng, 120)
    errors = (errors > 1.0).astype(float) if binary else errors
    resampler, draws = drawn(rng, clusters)
    statistic = Retention(
        errors, None, Ranked.of(Ranking.of(uncertainty), resampler.unit, resampler.units), rule="published",
        rejection=True, selective=True,
    )  # fmt: skip
    for counts in draws:
        rows = repeated(resampler, counts)
        expected = selective.scores(errors[rows], Ranking.of(uncertainty[rows]), selective.Best.of(errors[rows]))
        found = dict(zip(statistic.names[2:], statistic.values(counts)[2:], strict=True))
        assert math.isnan(found["auarc"]) is not binary
        for name, value in expected.items():
            np.testing.assert_allclose(found.get(name, math.nan), value, rtol=1e-10, atol=1e-10, err_msg=name)


def test_without_a_threshold_only_r_auc_is_scored(rng):
    errors, uncertainty = rng.chisquare(1, 30), rng.normal(size=30)
    statistic = Retention(errors, None, Ranked.of(Ranking.of(uncertainty), np.arange(30), 30), rule="exact")
    assert statistic.names == ("r_auc",)
    assert statistic.values(np.ones(30)) == pytest.approx([retention.r_auc(errors, uncertainty, rule="exact")])
    assert statistic.linearised(np.ones(30))[1].shape == (1, 30)


@tied
@clustered
def test_roc_auc_is_that_of_the_repeated_rows(rng, uncertainty_of, clusters):
    shifted, uncertainty = rng.random(120) < 0.3, uncertainty_of(rng, 120)
    resampler, draws = drawn(rng, clusters)
    statistic = Detection(shifted, Ranked.of(Ranking.of(uncertainty), resampler.unit, resampler.units))
    for counts in draws[:-1]:
        rows = repeated(resampler, counts)
        assert statistic.values(counts)[0] == pytest.approx(detection.roc_auc(uncertainty[rows], shifted[rows]))


@tied
@clustered
def test_pr_auc_is_that_of_the_repeated_rows(rng, uncertainty_of, clusters):
    shifted, uncertainty = rng.random(120) < 0.3, uncertainty_of(rng, 120)
    resampler, draws = drawn(rng, clusters)
    ranked = Ranked.of(Ranking.of(uncertainty), resampler.unit, resampler.units)
    statistic = Detection(shifted, ranked, average_precision=True)
    for counts in draws[:-1]:
        rows = repeated(resampler, counts)
        exact = detection.pr_auc(uncertainty[rows], shifted[rows], rule="exact")
        assert statistic.values(counts)[1] == pytest.approx(exact)


@tied
@clustered
def test_rank_correlations_are_those_of_the_repeated_rows(rng, uncertainty_of, clusters):
    resampler, draws = drawn(rng, clusters)
    columns = [uncertainty_of(rng, 120), rng.normal(size=120), rng.integers(0, 5, 120).astype(float)]
    pairs = {"a": (0, 1), "b": (2, 0), "c": (1, 2)}
    statistic = RankCorrelations(pairs, [*map(Ranking.of, columns)], resampler.unit, resampler.units)
    for counts in draws[:-1]:
        rows = repeated(resampler, counts)
        expected = [rank_correlation(columns[k][rows], columns[j][rows]) for k, j in pairs.values()]
        np.testing.assert_allclose(statistic.values(counts), expected, atol=1e-12)


@clustered
def test_means_by_group_and_in_all_are_those_of_the_repeated_rows(rng, clusters):
    errors, other, group = rng.chisquare(1, 120), rng.normal(size=120), rng.integers(0, 4, 120)
    resampler, draws = drawn(rng, clusters)
    unit, units = resampler.unit, resampler.units
    means = Means(("error", "other"), np.array([errors, other]), unit, units)
    root = Root(("rmse",), Means(("mse",), errors[None], unit, units))
    groups = GroupMeans(("a", "b", "c", "d"), errors, group, unit, units)
    joined = Joined([means, root, groups, groups.of(other)])
    assert joined.names == ("error", "other", "rmse", *"abcd", *"abcd")
    for counts in draws:
        rows = repeated(resampler, counts)
        by_group = [values[rows][group[rows] == code] for values in (errors, other) for code in range(4)]
        expected = [errors[rows].mean(), other[rows].mean(), math.sqrt(errors[rows].mean())]
        expected += [values.mean() if len(values) else math.nan for values in by_group]
        np.testing.assert_allclose(joined.values(counts), expected, rtol=1e-12)


@clustered
def test_macro_f1_is_that_of_the_repeated_rows(rng, clusters):
    targets = rng.integers(0, 3, 120)  # class 3 is only ever answered
    labels = np.where(rng.random(120) < 0.6, targets, rng.integers(0, 4, 120))
    resampler, draws = drawn(rng, clusters)
    statistic = SetScore(MACRO_F1, Terms((targets, labels), (4, 4)), resampler.unit, resampler.units)
    for counts in draws:
        rows = repeated(resampler, counts)
        assert statistic.values(counts)[0] == pytest.approx(f1_score(targets[rows], labels[rows], average="macro"))


@pytest.mark.parametrize("rule", ["published", "exact"])
@clustered
def test_retention_of_macro_f1_is_that_of_the_repeated_rows(rng, rule, clusters):
    """Against scikit-learn, with the k most certain rows as they are and the targets in place of the other answers."""
    targets, uncertainty = rng.integers(0, 3, 120), rng.normal(size=120)
    labels = np.where(rng.random(120) < 0.6, targets, rng.integers(0, 4, 120))
    terms = SetTerms(*(Terms((targets, each), (4, 4)) for each in (labels, targets)))
    resampler = Resampler(120, clusters=None if clusters is None else rng.integers(0, clusters, 120))
    statistic = SetRetention(MACRO_F1, terms, Ranking.of(uncertainty), resampler.unit, resampler.units, rule=rule)
    rows = np.argsort(uncertainty)
    curve = [
        f1_score(targets[rows], np.where(np.arange(120) < k, labels[rows], targets[rows]), average="macro")
        for k in range(121)
    ]
    assert statistic.curve(np.ones(120)) == pytest.approx(np.array(curve))
    area = np.mean(curve) if rule == "published" else np.trapezoid(curve, dx=1 / 120)
    assert statistic.values(np.ones(resampler.units))[0] == pytest.approx(area)


@pytest.mark.parametrize("rule", ["published", "exact"])
@pytest.mark.parametrize(("answered", "error"), [(5, 1e-5), (6, 5e-4)], ids=["classes", "and one that is no target"])
@tied
def test_retention_of_very_many_records_is_close_to_that_of_every_one_of_them(
    rng, rule, answered, error, uncertainty_of
):
    n = 20_000
    targets, uncertainty = rng.integers(0, 5, n), uncertainty_of(rng, n)
    labels = np.where(rng.random(n) < 0.8, targets, rng.integers(0, answered, n))
    terms = SetTerms(*(Terms((targets, each), (6, 6)) for each in (labels, targets)))
    ranking = Ranking.of(uncertainty)
    each = set_area(MACRO_F1, terms, ranking, rule, points=n)
    assert set_area(MACRO_F1, terms, ranking, rule) == pytest.approx(each, abs=error)
    assert set_area(MACRO_F1, terms, ranking, rule, points=REPLICATE_POINTS) == pytest.approx(each, abs=2 * error)
    assert set_area(MACRO_F1, terms, ranking, rule) != each


def pooled(rng: np.random.Generator, n: int = 120) -> SetTerms:
    """True and false positives and false negatives of each record; ideally all that is to be found is."""
    right, false, missed = rng.integers(0, 20, (3, n)) * 1.0
    ideal = np.stack((right + missed, np.zeros(n), np.zeros(n)), axis=1)
    return SetTerms(Terms(amounts=np.stack((right, false, missed), axis=1)), Terms(amounts=ideal))


def by_group(rng: np.random.Generator, n: int = 120) -> SetTerms:
    """The errors of four groups; ideal ones are 0."""
    group, errors, count = rng.integers(0, 4, n), rng.chisquare(1, n), np.ones(n)
    terms = (Terms((group,), (4,), np.stack((count, each), axis=1)) for each in (errors, 0.0 * errors))
    return SetTerms(*terms)


@clustered
def test_the_worst_group_and_a_pooled_f1_are_those_of_the_repeated_rows(rng, clusters):
    groups, counted = by_group(rng), pooled(rng)
    resampler, draws = drawn(rng, clusters)
    (group,), errors = groups.found.codes, groups.found.amounts[:, 1]
    worst = SetScore(WORST, groups.found, resampler.unit, resampler.units)
    f1 = SetScore(F1, counted.found, resampler.unit, resampler.units)
    for counts in draws[:-1]:
        rows = repeated(resampler, counts)
        expected = max(errors[rows][group[rows] == code].mean() for code in range(4))
        assert worst.values(counts)[0] == pytest.approx(expected)
        right, false, missed = counted.found.amounts[rows].sum(axis=0)
        assert f1.values(counts)[0] == pytest.approx(2 * right / (2 * right + false + missed))


@pytest.mark.parametrize("rule", RULES)
@tied
@clustered
def test_retention_of_a_pooled_f1_is_that_of_the_repeated_rows(rng, rule, uncertainty_of, clusters):
    """Against one evaluation after another, with the k most certain rows as they are and ideal others."""
    terms, uncertainty = pooled(rng), uncertainty_of(rng, 120)
    resampler, draws = drawn(rng, clusters)
    ranking = Ranking.of(uncertainty)
    statistic = SetRetention(F1, terms, ranking, resampler.unit, resampler.units, rule=rule)
    for counts in draws:
        rows = repeated(resampler, counts)
        again = Ranking.of(uncertainty[rows])
        found, ideal = (
            np.stack([again.averaged(column) for column in part.amounts[rows].T], axis=1)
            for part in (terms.found, terms.ideal)
        )
        sums = [found[:k].sum(axis=0) + ideal[k:].sum(axis=0) for k in range(len(rows) + 1)]
        curve = np.array([2 * right / (2 * right + false + missed) for right, false, missed in sums])
        area = curve.mean() if rule == "published" else np.trapezoid(curve, dx=1 / len(rows))
        assert statistic.values(counts)[0] == pytest.approx(area, rel=1e-11)


def test_retention_of_a_sum_over_records_is_their_r_auc(rng):
    """The mean error as a function of sums has the area under the error-retention curve."""
    mean = Metric(
        "mean", "Mean", "min", "error", "mean", "a test", area="a",
        of_sums=lambda sums, whole: sums[..., 1] / sums[..., 0],
    )  # fmt: skip
    errors, uncertainty = rng.chisquare(1, 300), rng.integers(0, 40, 300) * 1.0
    count = np.ones(300)
    terms = SetTerms(*(Terms(amounts=np.stack((count, each), axis=1)) for each in (errors, 0.0 * errors)))
    resampler = Resampler(300)
    ours = SetRetention(mean, terms, Ranking.of(uncertainty), resampler.unit, 300, rule="exact")
    known = Retention(errors, None, Ranked.of(Ranking.of(uncertainty), resampler.unit, 300), rule="exact")
    for b in range(3):
        counts = resampler.draw(2, b)
        value, influence = ours.linearised(counts)
        expected, slope = known.linearised(counts)
        assert value == pytest.approx(expected)
        assert resampler.standard_errors(influence, counts) == pytest.approx(
            resampler.standard_errors(slope, counts), rel=0.01
        )


@pytest.mark.parametrize("rule", RULES)
def test_no_acceptable_copy_scores_zero_and_only_acceptable_ones_nan_where_normalised(rng, rule):
    errors, uncertainty = np.array([0.5, 3.0, 4.0, 0.2]), np.array([0.0, 1.0, 2.0, 3.0])
    ranked = Ranked.of(Ranking.of(uncertainty), np.arange(4), 4)
    statistic = Retention(errors, errors <= 1.0, ranked, rule=rule, rejection=True)
    for counts in ([0, 2, 1, 0], [1, 0, 0, 3], [0, 0, 4, 0]):
        rows = np.repeat(np.arange(4), counts)
        expected = public_scores(errors[rows], uncertainty[rows], rule)
        np.testing.assert_allclose(statistic.values(np.array(counts) * 1.0), expected, atol=1e-12)


def statistics(rng: np.random.Generator, resampler: Resampler, uncertainty: np.ndarray, rule: str) -> Joined:
    """One of every sort, on the same records; errors rise with the uncertainty and differ between clusters."""
    unit, units, n = resampler.unit, resampler.units, len(uncertainty)
    errors = np.exp(0.4 * uncertainty + rng.normal(0.0, 0.3, units)[unit]) * rng.chisquare(1, n)
    shifted = rng.random(n) < 0.5 * (1.0 + np.tanh(uncertainty - uncertainty.mean()))
    targets = rng.integers(0, 3, n)
    labels = np.where(rng.random(n) < 0.7, targets, rng.integers(0, 3, n))
    ranking = Ranking.of(uncertainty)
    ranked = Ranked.of(ranking, unit, units)
    groups = Terms((targets,), (3,), np.stack((np.ones(n), errors), axis=1))
    counted = pooled(rng, n)
    parts = [
        Means(("mean_error",), errors[None], unit, units),
        Root(("rmse",), Means(("mse",), errors[None], unit, units)),
        GroupMeans(("a", "b"), errors, (rng.random(n) < 0.5).astype(int), unit, units),
        SetScore(MACRO_F1, Terms((targets, labels), (3, 3)), unit, units),
        SetScore(WORST, groups, unit, units),
        SetScore(F1, counted.found, unit, units),
        SetRetention(F1, counted, ranking, unit, units, rule=rule),
        SameOrder(
            Retention(errors, errors <= 1.0, ranked, rule=rule, rejection=True, selective=True),
            Detection(shifted, ranked, average_precision=True),
        ),
        RankCorrelations({"correlation": (0, 1)}, [ranking, Ranking.of(errors + uncertainty)], unit, units),
        Ratio("shift_ratio", *(Means(("m",), errors[s][None], unit[s], units) for s in (shifted, ~shifted))),
    ]
    return Joined(parts)


@clustered
def test_without_any_copies_every_score_is_nan_and_nothing_raises(rng, clusters):
    resampler, _ = drawn(rng, clusters)
    statistic = statistics(rng, resampler, rng.normal(size=120), "published")
    with np.errstate(invalid="ignore", divide="ignore"):
        values, influence = statistic.linearised(np.zeros(resampler.units))
    assert influence.shape == (len(statistic.names), resampler.units)
    np.testing.assert_array_equal(values, statistic.values(np.zeros(resampler.units)))
    assert np.isnan(values).all()


# --- influences -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES)
@tied
@clustered
def test_linearised_gives_the_same_scores_as_values(rng, rule, uncertainty_of, clusters):
    resampler, draws = drawn(rng, clusters)
    statistic = statistics(rng, resampler, uncertainty_of(rng, 120), rule)
    for counts in draws[:-1]:
        values, influence = statistic.linearised(counts)
        np.testing.assert_array_equal(values, statistic.values(counts))
        assert influence.shape == (len(statistic.names), resampler.units)


@pytest.mark.parametrize(("kind", "rule"), [("all different", "published"), ("many ties", "exact")])
def test_influences_are_the_derivatives_of_the_scores_by_the_counts(rng, rule, kind):
    clusters = np.repeat(np.arange(60), rng.integers(200, 600, 60))
    resampler = Resampler(len(clusters), clusters=clusters)
    uncertainty = UNCERTAINTY[kind](rng, len(clusters))
    if kind == "all different":
        uncertainty += rng.normal(0.0, 1.0, 60)[clusters]
    statistic = statistics(rng, resampler, uncertainty, rule)
    counts = 2.0 + resampler.draw(1, 0)
    influence = statistic.linearised(counts)[1]
    numerical = np.empty_like(influence)
    for u in range(60):
        step = np.eye(60)[u]
        numerical[:, u] = 0.5 * (statistic.values(counts + step) - statistic.values(counts - step))
    for name, ours, slope in zip(statistic.names, influence, numerical, strict=True):
        if name == "auarc":  # of errors of 0 and 1 alone
            assert np.isnan([ours, slope]).all()
            continue
        ours, slope = ours - np.average(ours, weights=counts), slope - np.average(slope, weights=counts)
        # F1@95 is a step function of the counts: its derivative is that of a smoothed curve.
        loose = name == "f1_at_95"
        assert np.corrcoef(ours, slope)[0, 1] > (0.98 if loose else 0.999), name
        assert np.dot(ours, slope) / np.dot(ours, ours) == pytest.approx(1.0, abs=0.1 if loose else 0.01), name


def test_weighted_influences_sum_to_zero(rng):
    # Doubling all counts changes no score; F1@95 counts the record at the cut whole.
    resampler = Resampler(900, clusters=rng.integers(0, 40, 900))
    statistic = statistics(rng, resampler, rng.normal(size=900), "published")
    counts = resampler.draw(3, 1)
    weighted = statistic.linearised(counts)[1] * counts
    np.testing.assert_array_less(np.abs(weighted.sum(axis=1)), 0.03 * np.abs(weighted).sum(axis=1))


def test_standard_error_of_a_mean_is_the_textbook_one(rng):
    errors = rng.chisquare(1, 400)
    resampler = Resampler(400)
    _, influence = Means(("mean_error",), errors[None], resampler.unit, 400).linearised(np.ones(400))
    expected = errors.std(ddof=1) / math.sqrt(400)
    assert resampler.standard_errors(influence, np.ones(400)) == pytest.approx([expected], rel=1e-12)


def test_standard_error_of_a_stratified_mean_adds_the_variances_of_the_strata(rng):
    strata = np.repeat([0, 1], [100, 300])
    errors = rng.chisquare(1, 400) + 50.0 * strata
    resampler = Resampler(400, strata=strata)
    _, influence = Means(("mean_error",), errors[None], resampler.unit, 400).linearised(np.ones(400))
    variance = sum(errors[strata == s].var(ddof=1) * (strata == s).sum() for s in (0, 1)) / 400**2
    assert resampler.standard_errors(influence, np.ones(400)) == pytest.approx([math.sqrt(variance)], rel=1e-9)


@pytest.mark.parametrize("stratified", [False, True])
def test_standard_errors_are_the_spread_of_the_replicates(rng, stratified):
    clusters = np.repeat(np.arange(150), rng.integers(10, 30, 150))
    resampler = Resampler(len(clusters), clusters=clusters, strata=clusters % 2 if stratified else None)
    statistic = statistics(rng, resampler, rng.normal(size=len(clusters)), "published")
    replicates = np.array([statistic.values(resampler.draw(0, b)) for b in range(500)])
    errors = resampler.standard_errors(statistic.linearised(np.ones(150))[1], np.ones(150))
    np.testing.assert_allclose(errors, replicates.std(axis=0), rtol=0.15)


# --- draws ----------------------------------------------------------------------------------------------------------


def test_a_draw_depends_on_the_seed_and_the_replicate_only(rng):
    clusters = rng.integers(0, 30, 200)
    first, second = (Resampler(200, clusters=clusters) for _ in range(2))
    for b in range(5):
        first.draw(9, b)
    np.testing.assert_array_equal(first.draw(9, 3), second.draw(9, 3))
    draws = {tuple(first.draw(seed, b)) for seed in (0, 1) for b in range(50)}
    assert len(draws) == 100


def test_the_first_draw_is_known_so_that_another_stream_of_random_numbers_is_noticed():
    assert Resampler(8).draw(0, 0).tolist() == [3, 0, 2, 0, 1, 1, 1, 0]


def test_units_are_drawn_with_replacement_and_equal_chances():
    resampler = Resampler(40)
    draws = np.array([resampler.draw(0, b) for b in range(2000)])
    assert (draws.sum(axis=1) == 40).all()
    np.testing.assert_allclose(draws.mean(axis=0), 1.0, atol=0.1)
    np.testing.assert_allclose(draws.var(axis=0), 1.0 - 1.0 / 40, atol=0.17)


@clustered
def test_strata_keep_their_numbers_of_units(rng, clusters):
    codes = None if clusters is None else rng.integers(0, clusters, 120)
    strata = rng.random(120) < 0.3 if codes is None else codes % 3 == 0
    resampler = Resampler(120, clusters=codes, strata=strata.astype(int))
    sizes = [(resampler.stratum == s).sum() for s in (0, 1)]
    assert resampler.fewest == min(sizes)
    for b in range(20):
        counts = resampler.draw(0, b)
        assert [counts[resampler.stratum == s].sum() for s in (0, 1)] == sizes


def test_records_of_a_cluster_are_drawn_together(rng):
    codes = rng.integers(0, 17, 120) + 1000
    resampler = Resampler(120, clusters=codes)
    assert resampler.units == 17
    for code in np.unique(codes):
        assert len(np.unique(resampler.unit[codes == code])) == 1
    assert len(np.unique(resampler.unit)) == 17


def test_a_cluster_on_both_sides_of_the_shift_is_drawn_whole(rng):
    # Its records resemble each other across the shift too: drawn apart, the sides would seem independent.
    days, shifted = np.repeat(np.arange(30), 4), np.tile([0, 1, 0, 1, 1, 0, 1, 0], 15)
    resampler = Resampler(120, clusters=days, strata=shifted)
    assert resampler.units == resampler.fewest == 30
    assert len(np.unique(resampler.stratum)) == 1
    for day in range(30):
        assert len(np.unique(resampler.unit[days == day])) == 1


def test_few_clusters_on_one_side_are_seen_even_where_others_are_on_both(rng):
    clusters, shifted = np.repeat(np.arange(30), 4), np.zeros(120, dtype=int)
    shifted[[0, 1, 5]] = 1  # only clusters 0 and 1 have shifted records
    assert Resampler(120, clusters=clusters, strata=shifted).fewest == 2


def test_units_with_records_in_a_part_are_counted(rng):
    codes = rng.integers(0, 17, 120)
    member = rng.random(120) < 0.1
    assert Resampler(120, clusters=codes).units_of(member) == len(np.unique(codes[member]))
    assert Resampler(120).units_of(member) == member.sum()


# --- an order of records that no order of rows changes --------------------------------------------------------------


def columns(rng: np.random.Generator, n: int) -> list[np.ndarray]:
    """A flag, a code and two systems' numbers, with many ties, and zeros of both signs."""
    coarse = np.round(rng.normal(size=(2, n)), 1) + 0.0
    coarse[0][coarse[0] == 0.0] = -0.0
    return [rng.random(n) < 0.5, rng.integers(0, 4, n), *coarse]


def test_records_come_in_the_same_order_however_rows_and_systems_are_ordered(rng):
    flag, code, a, b = columns(rng, 400)
    expected = canonical_order([flag, code], [[a], [b]], 400)
    assert sorted(expected) == list(range(400))
    for _ in range(5):
        rows = rng.permutation(400)
        order = rows[canonical_order([flag[rows], code[rows]], [[b[rows]], [a[rows]]], 400)]
        for column in (flag, code, a, b):  # records that hold the same are exchangeable
            np.testing.assert_array_equal(column[order], column[expected])


def test_two_systems_that_swap_their_numbers_are_told_from_each_other():
    a, b = np.array([1.0, 2.0, 1.0]), np.array([2.0, 1.0, 2.0])
    first, again = canonical_order([], [[a], [b]], 3), canonical_order([], [[a[::-1]], [b[::-1]]], 3)
    np.testing.assert_array_equal(a[first], a[::-1][again])


def test_zeros_of_either_sign_are_one_number():
    zeros = np.array([0.0, -0.0, 1.0])
    ones = np.array([5.0, 4.0, 3.0])
    expected = ones[canonical_order([zeros], [[ones]], 3)]
    np.testing.assert_array_equal(ones[canonical_order([np.abs(zeros)], [[ones]], 3)], expected)
