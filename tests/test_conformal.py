"""Conformal intervals and sets: exact quantiles, the guarantee, and what a shift does to it."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from shiftbench.assessment import conformal as conformal_notes
from shiftbench.assessment import density_ratio, scored, scored_table
from shiftbench.assessment.arrays import assess_predictions
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.columns import Columns
from shiftbench.assessment.density_ratio import Ratio
from shiftbench.assessment.joined import line_up
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.source import Source
from shiftbench.ensembles import Categorical, Gaussian, Means, Quantiles
from shiftbench.errors import ArrayError, SettingsError, TableError, TableWarning
from shiftbench.metrics import conformal
from shiftbench.metrics.conformal import RULES, Case, Intervals, Rule, Sets, quantile
from shiftbench.metrics.regression import LEVELS
from shiftbench.partition.features import Features
from shiftbench.report.content import Report
from shiftbench.report.front import screen
from shiftbench.report.grids.listing import grids
from shiftbench.scores import logistic
from shiftbench.scores.intervals import Settings
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import SliceScore

QUICK = Options(task="regression", intervals=Settings(replicates=20, kind="normal"))


# --- thresholds -------------------------------------------------------------------------------------------------------


def slow_threshold(scores: np.ndarray, weights: np.ndarray, own: float, level: float) -> float:
    """The level-quantile of the calibration scores and one at infinity, each with its weight, by a plain loop."""
    pairs = sorted(zip([*scores.tolist(), math.inf], [*weights.tolist(), own], strict=True))
    total, reached = sum(weight for _, weight in pairs), 0.0
    for score, weight in pairs:
        reached += weight
        if reached >= level * total * (1 - 1e-9):
            return score
    return math.inf


@pytest.mark.parametrize("ties", [False, True], ids=["no ties", "ties"])
@pytest.mark.parametrize("n", [1, 5, 8, 9, 18, 19, 20, 60, 400])
def test_thresholds_are_those_of_a_slow_twin(rng, n, ties):
    scores = rng.integers(0, 5, n).astype(float) if ties else rng.random(n)
    known, own = rng.exponential(size=n), rng.exponential(size=7)
    groups = rng.integers(0, 3, n), np.array([0, 1, 2, 3, 0, 1, 2])
    case = Case(scores, 7, groups, (known, own))
    for level in LEVELS:
        twin = [slow_threshold(scores, known, each, level) for each in own]
        assert RULES["weighted"].thresholds(case, level).tolist() == twin
        plain = slow_threshold(scores, np.ones(n), 1.0, level)
        assert RULES["split"].thresholds(case, level).tolist() == [plain] * 7
        apart = [slow_threshold(s := scores[groups[0] == g], np.ones(len(s)), 1.0, level) for g in groups[1]]
        assert RULES["group"].thresholds(case, level).tolist() == apart


def test_equal_weights_change_nothing(rng):
    case = Case(rng.random(37), 5, weights=(np.full(37, 0.3), np.full(5, 0.3)))
    for level in (0.1, 0.35, *LEVELS, 0.999):
        assert np.array_equal(RULES["weighted"].thresholds(case, level), RULES["split"].thresholds(case, level))


def test_a_level_needs_enough_calibration_records():
    assert [conformal.fewest(level) for level in LEVELS] == [1, 9, 19]
    for level in LEVELS:
        n = conformal.fewest(level)
        assert math.isfinite(quantile(np.arange(n, dtype=float), level))
        assert quantile(np.arange(n - 1, dtype=float), level) == math.inf


def test_the_guarantee_is_exact_where_scores_are_ranks():
    """Of n + 1 exchangeable distinct scores each is the last one equally often: coverage is ⌈(n+1) level⌉ / (n+1)."""
    for n in (9, 19, 30):
        for level in LEVELS:
            whole = np.arange(n + 1, dtype=float)
            inside = [whole[k] <= quantile(np.delete(whole, k), level) for k in range(n + 1)]
            assert sum(inside) == math.ceil(round(level * (n + 1), 9))
            assert level <= sum(inside) / (n + 1) < level + 1 / (n + 1)


# --- regions ----------------------------------------------------------------------------------------------------------


def test_intervals_are_scaled_by_the_predicted_spread():
    regions = Intervals(np.array([1.0, 4.0]), np.array([1.0, 2.0]))
    assert regions.scores.tolist() == [1.0, 2.0]
    assert regions.size(np.array([1.5, 1.5])).tolist() == [3.0, 6.0]


def test_a_constant_spread_gives_the_intervals_of_absolute_residuals(rng):
    residual = rng.exponential(size=200)
    for spread in (0.01, 1.0, 37.0):
        scaled = Intervals(residual, np.full(200, spread))
        width = scaled.size(np.full(200, quantile(scaled.scores, 0.9)))
        assert np.allclose(width, 2 * quantile(residual, 0.9))


def test_a_spread_of_zero_holds_right_answers_only():
    regions = Intervals(np.array([0.0, 1.0]), np.zeros(2))
    assert regions.scores.tolist() == [0.0, math.inf]
    assert regions.size(np.array([3.0, math.inf])).tolist() == [0.0, math.inf]


def test_members_without_variances_have_intervals_of_absolute_residuals(rng):
    targets, members = rng.normal(size=50), rng.normal(size=(4, 50))
    regions = scored.predicted("ours", Means(members), targets, role="model").regions
    assert regions is not None
    assert np.allclose(regions.scores, np.abs(targets - members.mean(axis=0)))
    low, high = -rng.exponential(size=50), rng.exponential(size=50)
    values = Quantiles(np.stack([low, (low + high) / 2, high], axis=1)[None], (0.05, 0.5, 0.95))
    regions = scored.predicted("ours", values, targets, role="model").regions
    assert regions is not None
    assert np.allclose(regions.scores, np.abs(targets - (low + high) / 2) / (high - low))


def test_sets_hold_the_classes_above_the_threshold_and_may_be_empty():
    regions = Sets(np.array([[0.5, 0.3, 0.2], [0.9, 0.1, 0.0]]), np.array([2, 0]))
    assert regions.scores == pytest.approx([0.8, 0.1])
    assert regions.size(np.array([0.7, 0.7])).tolist() == [2, 1]
    assert regions.size(np.array([0.05, math.inf])).tolist() == [0, 3]


# --- in a report ------------------------------------------------------------------------------------------------------


def forecasts(x: np.ndarray, rng: np.random.Generator, *, spread: float = 1.0, name: str = "ours") -> Scored:
    """A forecast that is right on average, whose error grows with |x| although its spread does not tell."""
    target = 3.0 * x + (0.3 + np.abs(x)) * rng.normal(size=len(x))
    ensemble = Gaussian((3.0 * x)[None], np.full((1, len(x)), spread**2))
    return scored.regression(name, ensemble, target, role="model")


def source(columns: dict[str, Any], start: int = 0) -> Source:
    frame = pl.DataFrame(columns)
    numeric = tuple(name for name in columns if frame[name].dtype.is_numeric())
    features = Features(numeric, tuple(name for name in columns if name not in numeric))
    return Source(frame, pl.Series(np.arange(start, start + frame.height)), np.arange(frame.height), features)


def run(
    rng: np.random.Generator, *, known: int = 2_000, n: int = 4_000, moved: float = 1.0, features: bool = True,
    slices: bool = False, systems: int = 1,
) -> Report:  # fmt: skip
    """A covariate shift: x moves, and the error given x stays."""
    splits = []
    for split, start, count in (("dev", 0, known), ("eval", 10**6, n)):
        shifted = np.arange(2 * count) >= count
        x = rng.normal(size=2 * count) + moved * shifted
        own = source({"x": x, "noise": rng.normal(size=2 * count)}, start) if features else None
        groups = {"side": np.where(x > 0, "right", "left")} if slices else {}
        records = Records(2 * count, split, shifted, slices=groups, source=own)
        splits.append((records, [forecasts(x, rng, name=f"ours {k}") for k in range(systems)]))
    return build(splits, QUICK)


def coverage(report: Report, rule: str, subset: str, level: float = 0.9) -> float:
    name = conformal.coverage_name(rule, level)
    return report.score(name, system="ours 0", split="eval", subset=subset).value


def test_coverage_in_domain_is_within_binomial_error(rng):
    """Of 200 calibrations and as many tests each; the variance adds that of the calibration, Beta(k, n + 1 - k)."""
    n, tests, found = 199, 100, {level: [] for level in LEVELS}
    for _ in range(200):
        regions = forecasts(rng.normal(size=n + tests), rng).regions
        assert regions is not None
        for level in LEVELS:
            limit = quantile(regions.scores[:n], level)
            found[level].append((regions.scores[n:] <= limit).mean())
    for level, shares in found.items():
        error = math.sqrt(level * (1 - level) * (1 / tests + 1 / (n + 2)) / 200)
        assert abs(np.mean(shares) - math.ceil(level * (n + 1)) / (n + 1)) < 4 * error, level


def test_weights_restore_coverage_under_a_known_shift(rng):
    """The true ratio of N(1, 1) to N(0, 1) is exp(x - 1/2)."""
    n = 20_000
    known, x = rng.normal(size=n), rng.normal(size=n) + 1.0
    taught, own = (forecasts(each, rng).regions for each in (known, x))
    assert taught is not None
    assert own is not None
    case = Case(taught.scores, n, weights=(np.exp(known - 0.5), np.exp(x - 0.5)))
    for level in LEVELS:
        split, weighted = ((own.scores <= RULES[rule].thresholds(case, level)).mean() for rule in ("split", "weighted"))
        assert split < level - 0.03
        assert weighted == pytest.approx(level, abs=0.02)


def test_estimated_weights_restore_coverage_where_split_fails(rng):
    report = run(rng)
    assert coverage(report, "split", "in") == pytest.approx(0.9, abs=0.02)
    assert coverage(report, "split", "shifted") < 0.83
    assert coverage(report, "weighted", "in") == pytest.approx(0.9, abs=0.02)
    assert coverage(report, "weighted", "shifted") == pytest.approx(0.9, abs=0.03)
    apart = {(each.split, each.subset): each for each in report.separations}
    assert apart["eval", "in"].roc_auc == pytest.approx(0.5, abs=0.03)
    assert apart["eval", "shifted"].roc_auc == pytest.approx(0.76, abs=0.03)  # Phi(1 / sqrt 2)
    assert apart["dev", "shifted"].roc_auc == pytest.approx(0.76, abs=0.03)
    assert apart["eval", "in"].effective > 1_800
    assert 400 < apart["eval", "shifted"].effective < 1_200  # 2000 / e if the ratio were known


def test_scores_have_intervals_and_go_through_json(rng):
    report = run(rng, slices=True)
    for rule in RULES:
        for level in LEVELS:
            for name in (conformal.coverage_name(rule, level), conformal.size_name(rule, level)):
                for subset in ("in", "shifted", "full"):
                    score = report.score(name, system="ours 0", split="eval", subset=subset)
                    assert score.low <= score.value <= score.high
                    assert score.low < score.high
    assert not any(each.split == "dev" and each.metric.startswith("conformal") for each in report.scores)
    assert report.recipe["conformal"]["grouped_by"] == {"eval": "side"}
    again = Report.from_json(report.to_json())
    assert again.scores == report.scores
    assert again.separations == report.separations


def test_the_order_of_the_rows_changes_nothing(rng):
    x = rng.normal(size=1_200)
    order = {"dev": rng.permutation(400), "eval": rng.permutation(800)}
    found = []
    for shuffled in (False, True):
        splits = []
        for split, rows in (("dev", np.arange(400)), ("eval", np.arange(400, 1_200))):
            rows = rows[order[split]] if shuffled else rows
            own = Source(pl.DataFrame({"x": x}), pl.Series(np.arange(1_200)), rows, Features(("x",)))
            system = forecasts(x, np.random.default_rng(1)).select(rows)
            splits.append((Records(len(rows), split, rows % 2 == 1, source=own), [system]))
        found.append(build(splits, QUICK))
    first, other = ({(s.split, s.subset, s.metric): s.value for s in each.scores} for each in found)
    assert first == pytest.approx(other, rel=1e-12, nan_ok=True)
    assert found[0].separations == found[1].separations


def test_without_features_the_weighted_rule_is_left_out_and_the_report_says_why(rng):
    report = run(rng, features=False)
    metrics = {score.metric for score in report.scores}
    assert "conformal_split_coverage_90" in metrics
    assert not any("weighted" in name for name in metrics)
    (told,) = (text for text in report.warnings if "weighted" in text)
    assert "left out: expected features, columns that calibration and scored records share" in told


def test_without_development_records_there_are_no_conformal_scores(rng):
    x = rng.normal(size=300)
    report = build([(Records(300, shifted=np.arange(300) % 2 == 1), [forecasts(x, rng)])], QUICK)
    assert not any(score.metric.startswith("conformal") for score in report.scores)
    assert "conformal" not in report.recipe


def test_records_that_calibrate_are_not_scored_and_give_what_dev_gives(rng):
    """In one table with flags, from arrays: the same conformal scores as of a development split."""
    splits = [(Records(n, name, np.arange(n) % 2 == 1), n) for name, n in (("dev", 90), ("eval", 160))]
    targets = [rng.normal(size=n) for _, n in splits]
    made = [Gaussian(rng.normal(size=(1, n)), rng.gamma(2.0, size=(1, n))) for _, n in splits]
    systems = [scored.regression("ours", each, y, role="model") for each, y in zip(made, targets, strict=True)]
    wanted = build([(r, [system]) for (r, _), system in zip(splits, systems, strict=True)], QUICK)
    joined = Gaussian(*(np.concatenate([getattr(m, key) for m in made], axis=1) for key in ("mean", "variance")))
    flags = np.arange(250) < 90
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = assess_predictions(
            np.concatenate(targets), {"ours": joined}, shifted=np.arange(250) % 2 == 1, calibration=flags, options=QUICK
        )
    names = {score.metric for score in found.scores if score.metric.startswith("conformal")}
    assert len(names) == 6
    assert {count.records for count in found.counts if count.subset == "full"} == {160}
    for name in names:
        for subset in ("in", "shifted", "full"):
            mine, theirs = (
                report.score(name, system="ours", split=split, subset=subset).value
                for report, split in ((found, "all"), (wanted, "eval"))
            )
            assert mine == pytest.approx(theirs)
    assert "calibrated on separate records" in "".join(grid.title for grid in grids(found))


@pytest.mark.parametrize(
    ("flags", "values", "told"),
    [
        (np.ones(40), Means(np.ones((2, 40)) * [[1.0], [2.0]]), "found 20 in-domain ones, and 0 others"),
        (np.arange(40) % 2, Means(np.ones((2, 40)) * [[1.0], [2.0]]), "found 0 in-domain ones, and 20 others"),
    ],
)
def test_records_are_left_to_calibrate_and_to_score(flags, values, told):
    with pytest.raises(ArrayError, match=told):
        assess_predictions(np.arange(40.0), values, shifted=np.arange(40) % 2, calibration=flags, options=QUICK)


def test_too_few_calibration_records_give_infinite_intervals_and_are_told(rng):
    report = run(rng, known=12)
    assert coverage(report, "split", "in", 0.95) == 1.0
    assert coverage(report, "split", "in", 0.9) < 1.0
    width = report.score("conformal_split_size_95", system="ours 0", split="eval", subset="in")
    assert width.value == math.inf
    assert width.low is None
    told = "need at least 1 for 50 %, 9 for 90 %, 19 for 95 % calibration records in dev_in, found 12"
    assert any(told in text for text in report.warnings)
    again = Report.from_json(report.to_json())
    assert math.isnan(again.score("conformal_split_size_95", system="ours 0", split="eval", subset="in").value)


def test_the_share_of_records_without_a_finite_interval_is_that_of_the_rule(rng):
    known, wanted = rng.random(50), 20 * rng.random(200)
    thresholds = RULES["weighted"].thresholds(Case(rng.random(50), 200, weights=(known, wanted)), 0.9)
    share = 100 * np.isinf(thresholds).mean()
    assert 0 < share < 100
    assert 100 * conformal_notes._endless(Ratio(known, wanted, 0.9, 0.0)) == pytest.approx(share)
    told = conformal_notes._without_end(Ratio(known, wanted, 0.9, 0.0), "intervals")
    assert told.startswith(f"{share:.3g} % of the records have no finite 90 % interval")
    assert conformal_notes._without_end(Ratio(known, 0 * wanted, 0.9, 0.0), "intervals") == ""
    told = conformal_notes._without_end(Ratio(known, wanted, 0.9, 0.0), "sets")
    assert told.startswith(f"{share:.3g} % of the records have 90 % sets of all classes")


def test_records_that_are_alike_are_not_said_to_hardly_overlap(rng):
    known, wanted = rng.random(50), rng.random(200)
    assert conformal_notes._overlap(Ratio(known, wanted, 0.5, 0.0)) == ""
    assert "a ROC-AUC of 95 %" in conformal_notes._overlap(Ratio(known, wanted, 0.95, 0.0))


def test_records_that_hardly_overlap_are_told(rng):
    report = run(rng, moved=6.0)
    (told,) = (text for text in report.warnings if "hardly overlap" in text and text.startswith("eval"))
    assert "effective of 2,000 calibration records" in told


def test_records_of_a_forecast_with_gaps_are_matched(rng):
    """The same scores as if the records without an answer were not there."""
    x = {"dev": rng.normal(size=600), "eval": rng.normal(size=900)}
    has = {name: rng.random(len(values)) < 0.7 for name, values in x.items()}
    splits: dict[str, list[Any]] = {"gaps": [], "without": []}
    for split, values in x.items():
        whole = forecasts(values, rng)
        shifted = np.arange(len(values)) % 3 == 0
        records = Records(len(values), split, shifted, source=source({"x": values}, 10**6 * (split == "eval")))
        splits["gaps"].append((records, [whole.answering(has[split])]))
        splits["without"].append((records.select(has[split]), [whole.select(has[split])]))
    gaps, without = (build(each, QUICK) for each in splits.values())
    for rule in ("split", "weighted"):
        for subset in ("in", "shifted", "full"):
            name = conformal.coverage_name(rule, 0.9)
            found = [each.score(name, system="ours", split="eval", subset=subset).value for each in (gaps, without)]
            assert found[0] == pytest.approx(found[1], abs=1e-12 if rule == "split" else 0.02)


def test_sets_of_classes_are_calibrated(rng):
    def classes(n: int, sure: float) -> Scored:
        targets = rng.integers(0, 4, n)
        logits = rng.normal(size=(n, 4))
        logits[np.arange(n), targets] += 1.5
        powers = np.exp(sure * logits)  # surer than it should be
        ensemble = Categorical((powers / powers.sum(axis=1, keepdims=True))[None])
        return scored.classification("ours 0", ensemble, targets, role="model")

    splits = [
        (Records(n, split, np.arange(n) % 2 == 1), [classes(n, 3.0)]) for split, n in (("dev", 4_000), ("eval", 8_000))
    ]
    report = build(splits, replace(QUICK, task="classification", threshold=0.5))
    sizes = []
    for level in LEVELS:
        assert coverage(report, "split", "full", level) == pytest.approx(level, abs=0.02)
        size = report.score(conformal.size_name("split", level), system="ours 0", split="eval", subset="full")
        sizes.append(size.value)
    assert 0 < sizes[0] < sizes[1] < sizes[2] <= 4


@pytest.mark.parametrize("kind", ["normal", "studentised", "percentile"])
def test_the_mean_size_of_sets_has_an_interval_of_at_most_all_classes(rng, kind):
    def guessing(n: int) -> Scored:
        probabilities = np.full((n, 3), 1 / 3) + 0.01 * rng.random((n, 3))
        ensemble = Categorical((probabilities / probabilities.sum(axis=1, keepdims=True))[None])
        return scored.classification("ours", ensemble, rng.integers(0, 3, n), role="model")

    groups = {"half": np.arange(60) % 2}
    splits = [
        (
            Records(60, split, np.arange(60) % 4 > 1, slices={k: v.astype(str) for k, v in groups.items()}),
            [guessing(60)],
        )
        for split in ("dev", "eval")
    ]
    report = build(splits, replace(QUICK, task="classification", intervals=Settings(replicates=200, kind=kind)))
    name = conformal.size_name("split", 0.95)
    ends = [
        each.high for each in (*report.scores, *report.slice_scores) if each.metric == name and each.high is not None
    ]
    assert len(ends) > 3
    assert max(ends) <= 3


# --- by slice ---------------------------------------------------------------------------------------------------------


def by_slice(report: Report, metric: str) -> dict[tuple[str, str], SliceScore]:
    return {(e.column, e.group): e for e in report.slice_scores if e.metric == metric and e.split == "eval"}


def test_coverage_by_slice_is_that_of_its_records(rng):
    """A column of which one group errs more: calibrated by group both hold, all together neither does."""
    splits = []
    for split, n in (("dev", 16_000), ("eval", 8_000)):
        wild = rng.random(n) < 0.3
        target = rng.normal(size=n) * np.where(wild, 3.0, 1.0)
        system = scored.regression("ours 0", Gaussian(np.zeros((1, n)), np.ones((1, n))), target, role="model")
        slices = {"kind": np.where(wild, "wild", "calm"), "other": np.where(rng.random(n) < 0.5, "a", "b")}
        splits.append((Records(n, split, np.arange(n) % 2 == 1, slices=slices), [system]))
    report = build(splits, QUICK)
    own, split, group = (
        by_slice(report, f"{name}coverage_90") for name in ("", "conformal_split_", "conformal_group_")
    )
    records, (system,) = splits[1]
    member = records.slices["kind"] == "wild"
    assert own["kind", "wild"].value == pytest.approx(system.means["coverage_90"][member].mean())
    assert own["kind", "wild"].n == member.sum()
    half = 1.96 * math.sqrt(own["kind", "wild"].value * (1 - own["kind", "wild"].value) / member.sum())
    assert own["kind", "wild"].high - own["kind", "wild"].low == pytest.approx(2 * half, rel=0.02)
    assert split["kind", "wild"].value < 0.8 < 0.93 < split["kind", "calm"].value
    for name in ("wild", "calm"):
        assert group["kind", name].value == pytest.approx(0.9, abs=0.03)
        assert group["kind", name].low < group["kind", name].value < group["kind", name].high
    assert group["other", "a"].value == pytest.approx(split["other", "a"].value, abs=0.01)
    for level in LEVELS:
        at = by_slice(report, f"conformal_group_coverage_{100 * level:.3g}")
        assert [at["kind", name].value for name in ("wild", "calm")] == pytest.approx([level, level], abs=0.03)
        kind = f"interval_slices_{100 * level:.3g}"
        table = next(grid for grid in grids(report) if (grid.kind, grid.split) == (kind, "eval"))
        assert table.rows[0].label == "kind = wild"
        assert {column.group for column in table.columns[1:]} == {
            f"Coverage ({100 * level:.3g} %)", f"Mean size at {100 * level:.3g} %",
        }  # fmt: skip
    assert Report.from_json(report.to_json()).slice_scores == report.slice_scores


def test_a_group_without_calibration_records_has_endless_intervals(rng):
    n = 900
    splits = []
    for split in ("dev", "eval"):
        names = np.array(["a", "b", "new" if split == "eval" else "a"])[np.arange(n) % 3]
        splits.append(
            (Records(n, split, np.arange(n) % 2 == 1, slices={"kind": names}), [forecasts(rng.normal(size=n), rng)])
        )
    report = build(splits, QUICK)
    assert by_slice(report, "conformal_group_size_90")["kind", "new"].value == math.inf
    assert by_slice(report, "conformal_group_coverage_90")["kind", "new"].value == 1.0
    assert any("intervals by group; how many scored records they have: new (300)" in text for text in report.warnings)
    (table,) = (grid for grid in grids(report) if (grid.kind, grid.split) == ("interval_slices_90", "eval"))
    assert table.title == "Intervals of 90 % by slice (evaluation)"
    assert "∞: some records have a region without ends" in table.note


# --- what people see --------------------------------------------------------------------------------------------------


def intervals_sentence(report: Report) -> str:
    (found,) = (each for each in screen.findings(report) if "% intervals" in each.text and "contain" in each.text)
    return found.text


def test_the_first_screen_tells_of_conformal_intervals_where_these_are_better(rng):
    report = run(rng)
    split, weighted = (100 * coverage(report, rule, "shifted") for rule in ("split", "weighted"))
    told = intervals_sentence(report)
    own = 100 * report.score("coverage_90", system="ours 0", split="eval", subset="shifted").value
    widths = re.search(r"Conformal intervals calibrated on dev_in contain (.*)\.$", told)
    assert widths is not None
    shares = rf"{split:.1f} % on shifted data \((.*) wide\), weighted for the shift {weighted:.1f} % \((.*)\)"
    widths = re.fullmatch(rf"{shares}, instead of {own:.1f} % \((.*)\)", widths[1])
    assert widths is not None
    metrics = ("conformal_split_size_90", "conformal_weighted_size_90", "width_90")
    for text, metric in zip(widths.groups(), metrics, strict=True):
        (score,) = (s for s in report.scores if (s.metric, s.subset, s.split) == (metric, "shifted", "eval"))
        assert text == f"{score.value:.2f}"


def test_the_first_screen_tells_of_endless_intervals(rng):
    report = run(rng)
    endless = [
        replace(score, value=math.inf) if score.metric == "conformal_weighted_size_90" else score
        for score in report.scores
    ]
    assert "weighted" in intervals_sentence(report)
    inside, shifted = (100 * coverage(report, "split", side) for side in ("in", "shifted"))
    assert intervals_sentence(replace(report, scores=tuple(endless))).endswith(
        f"Conformal intervals calibrated on dev_in contain {inside:.1f} % in-domain, but "
        f"{shifted:.1f} % on shifted data; weighted for the shift they would be infinite for some records."
    )
    apart = tuple(replace(each, endless=0.234) for each in report.separations)
    told = replace(report, scores=tuple(endless), separations=apart)
    assert "they would be infinite for 23.4 % of the shifted records." in intervals_sentence(told)
    (note,) = (grid.note for grid in grids(told) if (grid.kind, grid.split) == ("conformal_size", "eval"))
    assert "23.4 % of the records have regions of 90 % without ends" in note


def test_the_first_screen_tells_where_they_mend_the_in_domain_side_alone(rng):
    report = run(rng, features=False)  # on shifted data, split intervals are no better
    inside, shifted = (100 * coverage(report, "split", side) for side in ("in", "shifted"))
    wanted = "Conformal intervals calibrated on dev_in contain "
    wanted += f"{inside:.1f} % in-domain, but {shifted:.1f} % on shifted data."
    assert intervals_sentence(report).endswith(wanted)
    hardly = intervals_sentence(run(rng, moved=6.0))  # sides that hardly overlap
    assert "% on shifted data" in hardly.partition("Conformal")[2]


def test_tables_show_regions_beside_the_models_own(rng):
    found = {grid.kind: grid for grid in grids(run(rng, slices=True))}
    hints = [row.hint for row in found["conformal"].rows]
    assert hints == [
        "its own intervals",
        "conformal",
        "conformal, by group (side)",
        "conformal, weighted for the shift",
    ]
    assert [column.group for column in found["conformal"].columns[::3]] == ["In-domain", "Shifted", "Full"]
    assert "Weighted for the shift: in-domain" in found["conformal"].note
    assert not any("conformal" in column.title.lower() for column in found["answers"].columns)
    few = {grid.kind: grid for grid in grids(run(rng, known=12))}["conformal_size"]
    assert few.rows[1].cells[2].text == "∞"
    assert few.note.endswith("as too few calibration records are like them.")


# --- somebody else's --------------------------------------------------------------------------------------------------


def test_a_rule_of_another_package_has_metrics_and_scores(monkeypatch, rng):
    monkeypatch.setattr(METRICS, "_held", dict(METRICS))
    monkeypatch.setattr(RULES, "_held", dict(RULES))
    wide = conformal.register(
        Rule("wide", "as wide as the worst", "a test", lambda case, level: np.full(case.records, case.scores.max()))
    )
    with pytest.raises(SettingsError, match="expected a new name, found 'wide'"):
        conformal.register(replace(wide, title="another"))
    report = run(rng, known=500, n=500)
    assert coverage(report, "wide", "in", 0.5) > 0.98


# --- the ratio --------------------------------------------------------------------------------------------------------


def test_the_ratio_is_that_of_the_densities(rng):
    """Of a number, a category and missing values that move independently of one another."""
    n = 4_000
    kinds = {}
    for place, (mean, share, missing) in enumerate(((0.0, 0.5, 0.1), (0.7, 0.8, 0.3))):
        x = rng.normal(size=n) + mean
        absent = rng.random(n) < missing
        names = np.where(rng.random(n) < share, "a", "b")
        columns = {"x": x, "y": np.where(absent, np.nan, 1.0), "name": names}
        true = np.exp(0.7 * x - 0.245) * np.where(names == "a", 1.6, 0.4) * np.where(absent, 3.0, 7 / 9)
        kinds[place] = source(columns, 10**6 * place), true
    found = density_ratio.ratio(kinds[0][0], kinds[1][0], seed=0)
    assert found is not None
    for mine, (_, true) in zip((found.known, found.wanted), kinds.values(), strict=True):
        assert np.median(np.abs(np.log(mine / true))) < 0.1
    assert found.clipped < 0.001


def test_hostile_features_give_finite_weights(rng):
    n = 200
    columns = {
        "constant": np.ones(n), "empty": np.full(n, np.nan), "huge": 1e37 * rng.normal(size=n),
        "outlier": np.where(np.arange(n) == 3, 1e30, rng.normal(size=n)), "many": [f"c{k}" for k in range(n)],
        "null": [None] * n,
    }  # fmt: skip
    frames = [source(columns, start) for start in (0, 10**6)]
    features = Features(("constant", "empty", "huge", "outlier"), ("many", "null"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = density_ratio.ratio(*(replace(each, features=features) for each in frames), seed=0)
    assert found is not None
    assert np.isfinite([*found.known, *found.wanted]).all()
    assert density_ratio.ratio(frames[0].select(slice(5)), frames[1], seed=0) is None


def test_the_logistic_regression_is_scipys_optimum(rng):
    x, weight = rng.normal(size=(300, 4)), rng.random(300)
    label = (rng.random(300) < 1 / (1 + np.exp(-x[:, 0]))).astype(float)

    def objective(b: np.ndarray) -> float:
        margin = x @ b[1:] + b[0]
        return float(weight @ (np.logaddexp(0, margin) - label * margin) + 0.5 * 2.0 * b[1:] @ b[1:])

    found = logistic.fit(x, label, weight, ridge=2.0)
    best = optimize.minimize(objective, np.zeros(5), tol=1e-12)
    assert found == pytest.approx(best.x, abs=1e-4)
    assert logistic.fit(x, label, weight, ridge=2.0, start=rng.normal(size=5)) == pytest.approx(found, abs=1e-4)
    apart = np.sign(x[:, :1])  # perfectly separable: finite all the same
    assert np.isfinite(logistic.fit(apart, (apart[:, 0] > 0).astype(float), weight, ridge=1e-3)).all()


# --- calibrated on a further file -------------------------------------------------------------------------------------


def written(folder: Path, name: str, rng: np.random.Generator, *, moved: float = 0.0, n: int = 1_500, start: int = 0,
            **more: Any) -> Path:  # fmt: skip
    """Forecasts of a deviation that does not tell how the error grows with |x|, from a place where x may have moved."""
    x = rng.normal(size=n) + moved
    target = 3.0 * x + (0.3 + np.abs(x)) * rng.normal(size=n)
    columns = {"id": np.arange(start, start + n), "target": target, "mean": 3.0 * x, "std": np.ones(n), "x": x, **more}
    pl.DataFrame(columns).write_csv(folder / name)
    return folder / name


def of_files(file: Path, other: Path, **roles: Any) -> Report:
    columns = Columns(calibration=str(other), **roles)
    joined = line_up([scored_table.load(file, columns, name="ours 0")])
    return build([(joined.records, joined.systems)], QUICK, calibration=joined.calibration)


def test_weights_of_the_columns_of_two_files_restore_coverage_under_shift(rng, tmp_path):
    """The file of scored records comes from elsewhere; that to calibrate on needs no column of shifted ones."""
    shifted = written(tmp_path, "there.csv", rng, moved=1.0, start=5_000, shifted=np.ones(1_500))
    inside = written(tmp_path, "here.csv", rng, start=2_000, shifted=np.zeros(1_500))
    both = tmp_path / "both.csv"
    pl.concat([pl.read_csv(inside), pl.read_csv(shifted)]).write_csv(both)
    report = of_files(both, written(tmp_path, "calibration.csv", rng))

    def held(rule: str, subset: str) -> float:
        name = conformal.coverage_name(rule, 0.9)
        return report.score(name, system="ours 0", split="all", subset=subset).value

    assert {count.subset: count.records for count in report.counts} == {"in": 1_500, "shifted": 1_500, "full": 3_000}
    assert held("split", "in") == pytest.approx(0.9, abs=0.025)
    assert held("split", "shifted") < 0.84
    assert held("weighted", "in") == pytest.approx(0.9, abs=0.025)
    assert held("weighted", "shifted") == pytest.approx(0.9, abs=0.035)
    assert [each.feature for each in report.shifts] == ["x"]
    assert "from the calibration records with" in next(grid.note for grid in grids(report) if grid.kind == "moved")


def test_without_a_common_column_nothing_is_weighted_and_a_line_says_so(rng, tmp_path):
    file = written(tmp_path, "test.csv", rng, n=60, start=100)
    other = written(tmp_path, "calibration.csv", rng, n=60)
    pl.read_csv(other).rename({"x": "y"}).write_csv(other)
    with pytest.warns(TableWarning, match=r"calibration\.csv: no column that describes records is in test\.csv, too"):
        report = of_files(file, other)
    found = {score.metric for score in report.scores}
    assert "conformal_split_coverage_90" in found
    assert not any("weighted" in name for name in found)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda frame: frame.with_columns(id=pl.col("id") + 60), r"found 60 in both \(100, 101, 102, …\)"),
        (
            lambda frame: frame.with_columns(id=pl.lit("a") + pl.col("id").cast(str)),
            r"column 'id' as in test\.csv, Int",
        ),
        (lambda frame: frame.drop("std"), r"calibration\.csv: expected .*, found id, target, mean, x"),
        (lambda frame: frame.with_columns(target=pl.lit("x")), r"calibration\.csv: .*column 'target'"),
    ],
)
def test_a_file_to_calibrate_on_is_checked_by_itself_and_against_the_other(rng, tmp_path, change, told):
    file = written(tmp_path, "test.csv", rng, n=60, start=100)
    other = written(tmp_path, "calibration.csv", rng, n=100)
    change(pl.read_csv(other)).write_csv(other)
    with pytest.raises(TableError, match=told):
        of_files(file, other)


def test_a_column_that_only_tells_the_files_apart_is_told_of_and_can_be_dropped(rng, tmp_path):
    file = written(tmp_path, "test.csv", rng, n=200, start=1_000, counter=np.arange(1_000, 1_200))
    other = written(tmp_path, "calibration.csv", rng, n=200, counter=np.arange(200))
    (told,) = (text for text in of_files(file, other).warnings if "hardly overlap" in text)
    assert told.endswith("Leave out columns that no model sees, such as counters and dates (--drop, or not in `table`)")
    assert not any("hardly overlap" in text for text in of_files(file, other, drop=("count*",)).warnings)


def test_categories_alone_give_weights(rng):
    known, wanted = (source({"side": np.where(rng.random(400) < share, "left", "right")}) for share in (0.8, 0.3))
    found = density_ratio.ratio(known, wanted, seed=0)
    assert found is not None
    left = known.frame["side"].to_numpy() == "left"
    assert found.known[left].mean() == pytest.approx(0.3 / 0.8, rel=0.2)
    assert found.known[~left].mean() == pytest.approx(0.7 / 0.2, rel=0.3)


def test_the_columns_of_a_table_in_memory_weight_its_calibration_records(rng):
    x = np.concatenate([rng.normal(size=400), rng.normal(size=400) + 1.0])
    forecast = Gaussian(3.0 * x[None], np.ones((1, 800)))
    flags = np.arange(800) < 400
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = assess_predictions(3.0 * x + rng.normal(size=800), forecast, table={"x": x}, calibration=flags,
                                    options=QUICK)  # fmt: skip
    (apart,) = report.separations
    assert apart.roc_auc == pytest.approx(0.76, abs=0.06)
    assert any(score.metric == "conformal_weighted_coverage_90" for score in report.scores)
