"""Truths of the report that `assess` makes: its numbers are those of the public functions, and its parts add up."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import f1_score

import shiftbench
from shiftbench import assess, assess_predictions
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build, squared
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles import Categorical
from shiftbench.errors import ArrayError, SettingsError, ShiftbenchWarning, UnknownNameError
from shiftbench.report import plots
from shiftbench.report.content import Report
from shiftbench.report.verdict import verdict
from shiftbench.scores import detection, intervals, retention
from shiftbench.scores.metric import METRICS
from shiftbench.scores.ranking import rank_correlation
from shiftbench.scores.resampling import SetTerms, Terms
from shiftbench.scores.score import Curve

FEW = Options(intervals=intervals.Settings(replicates=60))


def is_resampled(metric: str) -> bool:
    """Whether a score has intervals: all but the area under precision and recall, and further areas of selection."""
    return metric != "pr_auc" and METRICS[metric].table != "selective"


def made(rng: np.random.Generator, n: int = 900, *, ties: bool = False) -> dict[str, np.ndarray]:
    shifted = rng.random(n) < 0.4
    sd = np.exp(0.5 * rng.normal(size=n) + 0.5 * shifted)
    errors = (sd * rng.normal(size=n)) ** 2
    uncertainty = sd**2 * np.exp(0.2 * rng.normal(size=n))
    if ties:
        uncertainty = np.round(uncertainty)
    return {"errors": errors, "uncertainty": uncertainty, "shifted": shifted, "clusters": rng.integers(0, 60, n)}


@pytest.mark.parametrize("rule", retention.RULES)
@pytest.mark.parametrize("ties", [False, True])
def test_every_score_is_that_of_the_public_function_on_its_subset(
    rng: np.random.Generator, rule: str, ties: bool
) -> None:
    data = made(rng, ties=ties)
    options = Options(rule=rule, intervals=intervals.Settings(replicates=20))  # type: ignore[arg-type]
    report = assess(**data, threshold=1.0, options=options)
    subsets = {"in": ~data["shifted"], "shifted": data["shifted"], "full": np.ones(900, dtype=bool)}
    for subset, member in subsets.items():
        e, u = data["errors"][member], data["uncertainty"][member]
        expected = {
            "mean_error": e.mean(),
            "r_auc": retention.r_auc(e, u, rule=rule),
            "f1_auc": retention.f1_auc(e, u, threshold=1.0, rule=rule),
            "f1_at_95": retention.f1_at(e, u, threshold=1.0, rule=rule),
            "f1_auc_normalised": retention.f1_auc_normalised(e, u, threshold=1.0, rule=rule),
            "rejection_ratio": retention.rejection_ratio(e, u) / 100,
        }
        for metric, value in expected.items():
            found = report.score(metric, system="model", split="all", subset=subset)
            assert found.value == pytest.approx(value, rel=1e-12), (subset, metric)
            assert found.n == member.sum()
    roc = report.score("roc_auc", system="model", split="all", subset="full")
    assert roc.value == pytest.approx(detection.roc_auc(data["uncertainty"], data["shifted"]), rel=1e-12)


@pytest.mark.parametrize("rule", retention.RULES)
def test_the_parts_of_an_r_auc_sum_to_it(rng: np.random.Generator, rule: str) -> None:
    options = Options(rule=rule, intervals=intervals.Settings(replicates=5))  # type: ignore[arg-type]
    report = assess(**made(rng, ties=True), options=options)
    area = report.score("r_auc", system="model", split="all", subset="full").value
    assert sum(part.value for part in report.parts) == pytest.approx(area, rel=1e-12)
    assert [part.name for part in report.parts] == [
        "level_in", "level_shift", "ranking_in", "ranking_shifted", "ranking_between",
    ]  # fmt: skip


def test_an_uncertainty_that_only_tells_the_domains_apart_gains_only_between_them(rng: np.random.Generator) -> None:
    data = made(rng)
    data["uncertainty"] = data["shifted"].astype(float)
    parts = {part.name: part.value for part in assess(**data, options=FEW).parts}
    assert parts["ranking_in"] == pytest.approx(0.0, abs=1e-12)
    assert parts["ranking_shifted"] == pytest.approx(0.0, abs=1e-12)
    assert parts["ranking_between"] < 0


def test_every_headline_score_has_an_interval_that_holds_it(rng: np.random.Generator) -> None:
    report = assess(**made(rng), threshold=1.0, options=FEW)
    held = [score for score in report.scores if score.measure in ("", "uncertainty") and is_resampled(score.metric)]
    assert len(held) == 3 * 7 + 2  # ROC-AUC and the ratio of shifted to in-domain errors
    for score in held:
        assert score.low is not None, score
        assert score.high is not None, score
        assert score.low <= score.value <= score.high, score


def test_row_order_never_matters_even_with_ties(rng: np.random.Generator) -> None:
    data = made(rng, ties=True)
    order = rng.permutation(900)
    first = assess(**data, threshold=1.0, options=FEW)
    again = assess(**{name: values[order] for name, values in data.items()}, threshold=1.0, options=FEW)
    for a, b in zip(first.scores, again.scores, strict=True):
        assert (a.metric, a.subset, a.value) == (b.metric, b.subset, pytest.approx(b.value, rel=1e-10, nan_ok=True))
        # Clusters are drawn by their label, so intervals are the same too.
        assert a.low == (None if b.low is None else pytest.approx(b.low, rel=1e-9))


def test_the_same_seed_gives_the_same_report_on_any_number_of_cores(rng: np.random.Generator) -> None:
    data = made(rng)
    reports = [
        assess(**data, options=Options(intervals=intervals.Settings(replicates=30, cores=cores))) for cores in (1, 2)
    ]
    assert reports[0].to_json() == reports[1].to_json()


def test_without_a_shift_only_the_full_subset_is_reported(rng: np.random.Generator) -> None:
    data = made(rng)
    del data["shifted"]
    report = assess(**data, options=FEW)
    assert {score.subset for score in report.scores} == {"full"}
    assert not any(score.metric in ("roc_auc", "f1_auc", "acceptable") for score in report.scores)
    assert {part.name for part in report.parts} == {"level_in", "ranking_in"}


def test_slices_come_worst_first_and_say_how_many_records_they_hold(rng: np.random.Generator) -> None:
    data = made(rng)
    group = np.where(np.arange(900) < 450, "calm", np.where(np.arange(900) < 895, "rough", "tiny"))
    data["errors"] = data["errors"] * np.where(group == "rough", 9.0, 1.0)
    report = assess(**data, slices={"sea": group}, options=FEW)
    assert [(row.group, row.n) for row in report.slices] == [("rough", 445), ("calm", 450)]  # five records are too few
    for row in report.slices:
        assert row.mean_error == pytest.approx(data["errors"][group == row.group].mean())
        assert row.low is not None
        assert row.low < row.mean_error


def test_a_wrong_sign_is_named_with_its_figure(rng: np.random.Generator) -> None:
    data = made(rng)
    data["uncertainty"] = -data["uncertainty"]
    with pytest.warns(ShiftbenchWarning, match=r"falls where the error rises \(rank correlation -0\.\d+\): wrong sign"):
        report = assess(**data, options=FEW)
    assert any("wrong sign" in message for message in report.warnings)


def test_a_constant_uncertainty_is_named_and_scores_as_a_random_order(rng: np.random.Generator) -> None:
    data = made(rng)
    data["uncertainty"] = np.full(900, 2.5)
    with pytest.warns(ShiftbenchWarning, match=r"is 2.5 for every record, so it ranks nothing"):
        report = assess(**data, options=FEW)
    area = report.score("r_auc", system="model", split="all", subset="full")
    assert area.value == pytest.approx(data["errors"].mean() / 2)
    assert report.score("rejection_ratio", system="model", split="all", subset="full").value == pytest.approx(0)


def test_a_model_with_one_answer_for_all_records_is_not_warned_of(rng: np.random.Generator) -> None:
    targets, ids = rng.integers(0, 2, 600), np.arange(600)
    models = {
        "shares": Categorical(np.tile([0.3, 0.7], (1, 600, 1))),
        "coin": Categorical(rng.dirichlet([2.0, 2.0], (1, 600))),
    }
    report = assess_predictions(targets, models, shifted=ids % 2 == 1, options=FEW)
    assert not [text for text in report.warnings if "ranks nothing" in text]


def test_few_clusters_are_warned_of(rng: np.random.Generator) -> None:
    data = made(rng)
    data["clusters"] = data["clusters"] % 7
    with pytest.warns(ShiftbenchWarning, match="expected at least 20 clusters"):
        assess(**data, options=FEW)


def test_all_problems_of_the_arrays_are_named_at_once() -> None:
    with pytest.raises(ArrayError) as caught:
        assess([1.0, -2.0, np.nan], [1.0, np.inf])
    text = str(caught.value)
    for piece in ("errors: expected finite numbers, found NaN", "found -2", "found infinity"):
        assert piece in text


def test_an_unknown_rule_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'published'"):
        assess([1.0, 2.0], [1.0, 2.0], options=Options(rule="publishd"))  # type: ignore[arg-type]


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_handful_of_records_is_reported_without_a_crash(n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = assess(np.arange(n) + 1.0, np.arange(n) + 1.0, threshold=1.0, options=FEW)
    assert report.score("mean_error", system="model", split="all", subset="full").value == (n + 1) / 2
    assert Report.from_json(report.to_json()).to_json() == report.to_json()


def test_identical_systems_share_a_rank_and_a_worse_one_does_not(rng: np.random.Generator) -> None:
    data = made(rng)
    records = Records(900, shifted=data["shifted"], clusters=data["clusters"])
    good = scored.given("good", data["errors"], {"u": data["uncertainty"]})
    twin = scored.given("twin", data["errors"], {"u": data["uncertainty"]})
    bad = scored.given("bad", data["errors"] * 2 + 1, {"u": rng.random(900)})
    report = build([(records, [good, twin, bad])], Options(intervals=intervals.Settings(replicates=100)))
    ranks = {rank.system: rank.rank for rank in report.ranks if rank.metric == "r_auc" and rank.subset == "full"}
    assert ranks == {"good": 1, "twin": 1, "bad": 3}
    same = next(c for c in report.comparisons if (c.a, c.b, c.metric, c.subset) == ("good", "twin", "r_auc", "full"))
    assert (same.difference, same.p, same.p_adjusted) == (0.0, 1.0, 1.0)


def test_single_models_are_reported_as_mean_and_standard_deviation(rng: np.random.Generator) -> None:
    truth = rng.normal(size=400)
    means = truth + rng.normal(size=(5, 400))
    ensemble = shiftbench.Gaussian(means, np.full((5, 400), 1.0))
    system = scored.regression("five", ensemble, truth)
    report = build([(Records(400), [system])], Options(intervals=intervals.Settings(replicates=20)))
    each = np.sqrt(((means - truth) ** 2).mean(axis=1))
    single = report.score("rmse", system="five (single)", split="all", subset="full")
    assert (single.value, single.std) == (pytest.approx(each.mean()), pytest.approx(each.std(ddof=1)))
    together = report.score("rmse", system="five", split="all", subset="full")
    assert together.value == pytest.approx(np.sqrt(((means.mean(axis=0) - truth) ** 2).mean()))
    assert together.value < single.value


def test_a_report_survives_its_json(rng: np.random.Generator, tmp_path) -> None:  # type: ignore[no-untyped-def]
    report = assess(**made(rng), threshold=1.0, options=FEW)
    assert Report.load(report.save(tmp_path / "report.json")) == report


def test_every_metric_of_a_report_is_a_known_one(rng: np.random.Generator) -> None:
    assert {score.metric for score in assess(**made(rng), threshold=1.0, options=FEW).scores} <= set(METRICS)


def test_rank_correlation_is_that_of_scipy(rng: np.random.Generator) -> None:
    stats = pytest.importorskip("scipy.stats")
    a, b = np.round(rng.normal(size=300), 1), np.round(rng.normal(size=300), 1)
    assert rank_correlation(a, b) == pytest.approx(stats.spearmanr(a, b).statistic, abs=1e-12)


@pytest.mark.parametrize(("unit", "expected"), [("", ""), ("°C", "°C²"), ("km/h", "(km/h)²"), ("kW", "kW²")])
def test_squared_units_are_written_as_people_write_them(unit: str, expected: str) -> None:
    assert squared(unit) == expected


def test_a_slice_of_fewer_than_ten_clusters_has_no_interval(rng: np.random.Generator) -> None:
    data = made(rng)
    region = np.where(data["clusters"] < 9, "nine", "many")
    report = assess(**data, slices={"station": data["clusters"], "region": region}, options=FEW)
    rows = {row.group: row for row in report.slices}
    assert len(rows) > 8
    for group, row in rows.items():
        if group == "many" or group.startswith("other"):
            assert row.low is not None
            assert row.low <= row.mean_error <= row.high  # type: ignore[operator]
        else:
            assert (row.low, row.high, row.no_interval) == (None, None, "too few clusters")


def test_too_few_replicates_to_tell_systems_apart_are_warned_of(rng: np.random.Generator) -> None:
    data = made(rng)
    records = Records(900)
    systems = [scored.given(name, data["errors"] * k, {"u": data["uncertainty"]}) for k, name in ((1, "a"), (9, "b"))]
    few = build([(records, systems)], Options(intervals=intervals.Settings(replicates=10)))
    assert any("10 replicates let no p fall below 0.091, so no test" in message for message in few.warnings)
    enough = build([(records, systems)], Options(intervals=intervals.Settings(replicates=200)))
    assert not enough.warnings


@pytest.mark.parametrize(("flag", "said"), [(1, "every record is"), (0, "no record is")])
def test_a_shift_on_one_side_only_is_told(rng: np.random.Generator, flag: int, said: str) -> None:
    data = made(rng)
    data["shifted"] = np.full(900, flag)
    with pytest.warns(ShiftbenchWarning, match=f"{said} marked as shifted"):
        report = assess(**data, options=FEW)
    assert {score.subset for score in report.scores} == {"full"}


def test_a_constant_uncertainty_has_the_pr_auc_of_chance(rng: np.random.Generator) -> None:
    data = made(rng)
    data["uncertainty"] = np.ones(900)
    with pytest.warns(ShiftbenchWarning):
        report = assess(**data, options=FEW)
    found = report.score("pr_auc", system="model", split="all", subset="full").value
    assert found == pytest.approx(data["shifted"].mean())


def test_masked_records_are_refused() -> None:
    with pytest.raises(ArrayError, match="found masked ones"):
        assess(np.ma.masked_array([1.0, 1e6, 3.0], mask=[False, True, False]), [1.0, 2.0, 3.0])


def test_options_of_another_kind_are_refused() -> None:
    number: Any = 5
    with pytest.raises(SettingsError, match=r"intervals: expected scores\.intervals\.Settings, found 5"):
        Options(intervals=number)
    with pytest.raises(SettingsError, match="recipe: expected JSON values, found: Object of type object"):
        Options(recipe={"model": object()})


def test_normal_intervals_tell_systems_apart_without_a_replicate(rng):
    errors = rng.chisquare(1, 3000)
    records = Records(3000)
    pairs = (("good", errors), ("bad", 2 * errors))
    systems = [scored.given(name, e, {"u": e + rng.normal(size=3000)}) for name, e in pairs]
    report = build([(records, systems)], Options(intervals=intervals.Settings(kind="normal")))
    assert not [text for text in report.warnings if "replicates" in text]
    (compared,) = (entry for entry in report.comparisons if entry.metric == "mean_error")
    assert compared.high < 0
    assert compared.p_adjusted < 1e-6
    assert {rank.system: rank.rank for rank in report.ranks if rank.metric == "mean_error"} == {"good": 1, "bad": 2}


# --- few clusters ---------------------------------------------------------------------------------------------------


def few_systems(rng: np.random.Generator, clusters: int, shifted: int) -> Report:
    """Two systems on records of so many clusters in-domain and on shifted data."""
    cluster = np.repeat(np.arange(clusters + shifted), 12)
    records = Records(len(cluster), shifted=cluster >= clusters, clusters=cluster)
    errors = rng.chisquare(1, len(cluster))
    uncertainty = errors * rng.lognormal(size=len(cluster))
    systems = [scored.given(name, scale * errors, {"u": uncertainty}) for name, scale in (("a", 1.0), ("b", 3.0))]
    return build([(records, systems)], Options(threshold=1.0, intervals=intervals.Settings(replicates=200)))


@pytest.mark.parametrize(("clusters", "shifted", "without"), [(30, 9, {"shifted", "full"}), (9, 30, {"in", "full"})])
def test_below_ten_clusters_a_score_has_neither_interval_nor_test(
    rng: np.random.Generator, clusters: int, shifted: int, without: set[str]
) -> None:
    report = few_systems(rng, clusters, shifted)
    headline = [score for score in report.scores if score.measure in ("", "u") and is_resampled(score.metric)]
    for score in headline:
        assert (score.low is None) is (score.subset in without), score
        assert score.no_interval == ("too few clusters" if score.subset in without else "")
    for entry in report.comparisons:
        numbers = (entry.low, entry.high, entry.p, entry.p_adjusted)
        assert np.isnan(numbers).all() == (entry.subset in without)
        assert entry.no_interval == ("too few clusters" if entry.subset in without else "")
    value = report.to_json()
    assert {row["p"] is None for row in value["comparisons"] if row["subset"] in without} == {True}
    assert Report.from_json(value).to_json() == value
    assert report.warnings == (
        f"expected at least 20 clusters in-domain and as many shifted, found {clusters} in-domain and {shifted} "
        "shifted: scores of fewer than 10 have no interval and no test; other intervals may be too short",
    )


def test_few_clusters_are_warned_of_by_split(rng: np.random.Generator) -> None:
    cluster = np.repeat(np.arange(12), 10)
    errors = rng.chisquare(1, 120)
    systems = [scored.given("a", errors, {"u": errors})]
    splits = [(Records(120, clusters=cluster, split=split), systems) for split in ("dev", "eval")]
    told = build(splits, Options(intervals=intervals.Settings(replicates=50))).warnings
    assert told == tuple(
        f"{split}: expected at least 20 clusters, found 12: intervals may be too short, and p-values too small"
        for split in ("dev", "eval")
    )


def test_a_system_that_answers_few_clusters_is_warned_of_by_name(rng: np.random.Generator) -> None:
    cluster = np.repeat(np.arange(40), 10)
    errors = rng.chisquare(1, 400)
    whole = scored.given("a", errors, {"u": errors})
    partly = replace(scored.given("b", errors[:120], {"u": errors[:120]}), answered=cluster < 12)
    report = build([(Records(400, clusters=cluster), [whole, partly])], Options(intervals=FEW.intervals))
    assert [text for text in report.warnings if "at least 20" in text] == [
        "expected at least 20 clusters of the records that a and b answer, found 12: intervals may be too short, and "
        "p-values too small"
    ]


def test_ten_clusters_on_each_side_are_enough_for_intervals(rng: np.random.Generator) -> None:
    report = few_systems(rng, 10, 10)
    assert not any(score.no_interval for score in report.scores)
    assert all(np.isfinite(entry.p) for entry in report.comparisons)


def test_fewer_than_ten_records_have_no_interval_either(rng: np.random.Generator) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = assess(rng.chisquare(1, 9), rng.random(9), options=FEW)
    score = report.score("mean_error", system="model", split="all", subset="full")
    assert (score.low, score.no_interval) == (None, "too few records")


# --- row order ------------------------------------------------------------------------------------------------------


def three_systems(data: dict[str, np.ndarray], order: np.ndarray, kind: str) -> Report:
    """Three systems on the same rows in an order, the second of them with many ties."""
    rows = {name: values[order] for name, values in data.items()}
    slices = {"sea": np.where(rows["sea"] < 0.5, "calm", "rough")}
    records = Records(len(order), shifted=rows["shifted"], clusters=rows.get("clusters"), slices=slices)
    systems = [
        scored.given("a", rows["errors"], {"u": rows["uncertainty"]}),
        scored.given("b", np.round(2 * rows["errors"]), {"u": np.round(rows["uncertainty"])}),
        scored.given("c", rows["errors"][:] * rows["sea"], {"u": rows["sea"]}),
    ]
    settings = intervals.Settings(replicates=60, kind=kind)  # type: ignore[arg-type]
    return build([(records, systems)], Options(threshold=1.0, intervals=settings))


@pytest.mark.parametrize("kind", intervals.KINDS)
@pytest.mark.parametrize("clustered", [False, True], ids=["by record", "by cluster"])
def test_any_order_of_the_rows_gives_the_same_intervals_and_p_values_to_the_last_bit(
    rng: np.random.Generator, kind: str, clustered: bool
) -> None:
    data = made(rng, 300) | {"sea": rng.random(300)}
    data["errors"][:40] = data["errors"][40:80]  # records that share some of what they hold
    if not clustered:
        del data["clusters"]
    first, again = (three_systems(data, order, kind) for order in (np.arange(300), rng.permutation(300)))
    for a, b in zip((*first.scores, *first.slices), (*again.scores, *again.slices), strict=True):
        assert (a.low, a.high) == (b.low, b.high)
    for one, other in zip(first.comparisons, again.comparisons, strict=True):
        assert (one.low, one.high, one.p, one.p_adjusted) == (other.low, other.high, other.p, other.p_adjusted)
    assert first.ranks == again.ranks


def test_intervals_do_not_depend_on_the_order_of_the_systems(rng: np.random.Generator) -> None:
    data = made(rng, 300)
    systems = [
        scored.given(name, data["errors"] * factor, {"u": data["uncertainty"] * factor})
        for name, factor in (("a", 1.0), ("b", 1.3), ("c", 0.9))
    ]
    options = Options(intervals=intervals.Settings(replicates=40))
    first, again = (build([(Records(300), entries)], options) for entries in (systems, systems[::-1]))
    ends = [
        {(score.system, score.metric): (score.low, score.high) for score in report.scores} for report in (first, again)
    ]
    assert ends[0] == ends[1]


# --- shifted over in-domain -----------------------------------------------------------------------------------------


def test_the_ratio_of_shifted_to_in_domain_errors_is_a_score(rng: np.random.Generator) -> None:
    data = made(rng)
    report = assess(**data, options=FEW)
    found = report.score("shift_ratio", system="model", split="all", subset="full")
    errors, shifted = data["errors"], data["shifted"]
    assert found.value == pytest.approx(errors[shifted].mean() / errors[~shifted].mean())
    assert found.low < found.value < found.high  # type: ignore[operator]
    assert not any(rank.metric == "shift_ratio" for rank in report.ranks)


def test_the_ratio_of_squared_errors_is_that_of_their_roots(rng: np.random.Generator) -> None:
    data = made(rng)
    records = Records(900, shifted=data["shifted"])
    system = scored.given("model", data["errors"], {"u": data["uncertainty"]}, root=True)
    report = build([(records, [system])], FEW)
    roots = [report.score("rmse", system="model", split="all", subset=subset).value for subset in ("shifted", "in")]
    found = report.score("shift_ratio", system="model", split="all", subset="full")
    assert found.value == pytest.approx(roots[0] / roots[1])


def test_a_further_score_of_a_set_is_that_of_the_single_models_too(rng: np.random.Generator) -> None:
    ensemble = Categorical(rng.dirichlet(np.ones(3), (4, 300)), ("a", "b", "c"))
    found = scored.classification("ours", ensemble, rng.integers(0, 3, 300))

    def terms(each: Scored) -> SetTerms:  # of the class "right", which is the answer wherever there is no error
        return SetTerms(Terms((np.ones(300, int), (1 - each.errors).astype(int)), (2, 2)))

    report = build([(Records(300), [found.with_set("macro_f1", terms)])], FEW)
    assert found.singles is not None
    for name, models in (("ours", [found]), ("ours (single)", [*found.singles])):
        right = np.array([1 - each.errors.mean() for each in models])
        score = report.score("macro_f1", system=name, split="all", subset="full")
        assert score.value == pytest.approx(np.mean(right / (1 + right)))  # the F1 of "wrong", never a target, is 0


def test_macro_f1_of_a_report_is_scikit_learns_and_has_a_retention_curve(rng: np.random.Generator) -> None:
    targets = rng.integers(0, 3, 300)  # class 3 is answered, but is nowhere the target
    skill = np.where(rng.random(300) < 0.5, 0.8, 0.0)
    noise = rng.dirichlet(np.ones(4), 300)
    ensemble = Categorical((skill[:, None] * np.eye(4)[targets] + (1 - skill)[:, None] * noise)[None])
    records = Records(300, shifted=np.arange(300) % 3 == 0)
    report = build([(records, [scored.classification("ours", ensemble, targets)])], FEW)
    labels = ensemble.answers().argmax(axis=1)
    assert 3 in labels
    for subset, member in records.subsets().items():
        place = {"system": "ours", "split": "all", "subset": subset}
        whole, area = (report.score(name, **place) for name in ("macro_f1", "macro_f1_area"))
        assert whole.value == pytest.approx(f1_score(targets[member], labels[member], average="macro"))
        assert whole.value < area.low < area.value < area.high < 1.0  # type: ignore[operator]
        (curve,) = (
            curve for curve in report.curves
            if (curve.kind, curve.subset, curve.order) == ("macro_f1_retention", subset, "uncertainty")
        )  # fmt: skip
        assert (curve.y[0], curve.y[-1]) == pytest.approx((1.0, whole.value))
    assert "Macro-F1 retention (all records)" in [plots.caption(name, report)[0] for name in plots.figures(report)]


def test_a_score_of_a_set_needs_a_metric_that_is_known() -> None:
    found = scored.given("ours", [1.0, 2.0], {"u": [1.0, 2.0]})
    with pytest.raises(SettingsError, match=r"found 'worst'\. Register it, or name it as an entry"):
        found.with_set("worst", lambda each: SetTerms(Terms()))


def test_days_on_both_sides_of_the_shift_tell_it_apart_though_their_own_intervals_overlap() -> None:
    rng = np.random.default_rng(3)
    day = np.repeat(np.arange(40), 20)
    shifted = np.arange(800) % 2 == 1
    errors = np.exp(rng.normal(0.0, 1.0, 40))[day] * (1.0 + 0.3 * shifted) * rng.gamma(8.0, size=800)
    options = Options(intervals=intervals.Settings(replicates=200))
    report = assess(errors, rng.random(800), shifted=shifted, clusters=day, options=options)
    inside, out = (report.score("mean_error", system="model", split="all", subset=s) for s in ("in", "shifted"))
    assert out.low < inside.high  # type: ignore[operator]
    assert verdict(report)[0].startswith("Under shift the error grows by ")
    ratio = report.score("shift_ratio", system="model", split="all", subset="full")
    assert 1.0 < ratio.low < 1.3 < ratio.high < 1.5  # type: ignore[operator]


def test_without_errors_in_domain_there_is_no_ratio() -> None:
    shifted = np.arange(40) % 2 == 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = assess(shifted.astype(float), np.arange(40.0), shifted=shifted, options=FEW)
    found = report.score("shift_ratio", system="model", split="all", subset="full")
    assert np.isnan(found.value)
    assert found.low is None


def turns(values: tuple[float, ...]) -> int:
    """How often a line turns round."""
    steps = np.sign(np.diff(values))
    steps = steps[steps != 0]
    return int(np.count_nonzero(np.diff(steps)))


def drawn(report: Report, kind: str, subset: str) -> Curve:
    (curve,) = (curve for curve in report.curves if (curve.kind, curve.subset) == (kind, subset))
    return curve


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("n", [60, 900, 20_000])
def test_a_density_is_smooth_and_has_the_area_one(rng: np.random.Generator, n: int, log: bool) -> None:
    shifted = np.arange(n) % 3 == 0
    values = 10.0 + rng.normal(size=n) + shifted
    uncertainty = np.exp(values) if log else values
    report = assess(rng.random(n), uncertainty, shifted=shifted, options=FEW)
    for subset in ("in", "shifted"):
        curve = drawn(report, "density", subset)
        assert curve.log_x == log
        x = np.log10(curve.x) if log else np.array(curve.x)
        assert np.sum(curve.y) * (x[1] - x[0]) == pytest.approx(1.0, abs=0.02)
        assert turns(curve.y) <= 6
    if n == 20_000 and not log:
        curve = drawn(report, "density", "in")
        pdf = np.exp(-0.5 * (np.array(curve.x) - 10.0) ** 2) / np.sqrt(2 * np.pi)
        assert np.abs(pdf - curve.y).max() < 0.02


def test_few_records_give_few_bins(rng: np.random.Generator) -> None:
    for n, bins in ((30, 4), (300, 6), (3_000, 20)):
        report = assess(rng.random(n), rng.random(n), options=FEW)
        assert len(drawn(report, "error_by_uncertainty", "full").x) == bins
