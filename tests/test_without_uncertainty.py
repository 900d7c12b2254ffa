"""Systems whose answers come without any uncertainty: what would need one is left out, everything else stands."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records, Scored
from shiftbench.report import page, verdict
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.scores.metric import METRICS, Metric

N = 48
SHIFTED = np.arange(N) >= N // 2
OPTIONS = Options(task="overlap", error_name="1 − nDSC", threshold=0.5, intervals=Settings(replicates=50))
ROW = {"better": "max", "scale": "percent", "formula": "a test", "source": "a test", "most": 1.0}


def certain(rng: np.random.Generator, name: str = "certain") -> Scored:
    errors = np.clip(0.3 + 0.2 * SHIFTED + 0.1 * rng.normal(size=N), 0, 1)
    return scored.given(name, errors, {"uncertainty": errors + 0.1 * rng.normal(size=N)})


def bare(rng: np.random.Generator) -> Scored:
    found = certain(rng, "bare")
    return replace(
        found,
        uncertainty={"": np.zeros(N)},
        system=replace(found.system, measure="", measures=()),
        means={"mae": found.errors},
    )


def made(*systems: Scored) -> Report:
    slices = {"site": np.where(np.arange(N) % 2, "a", "b")}
    return build([(Records(N, "eval", SHIFTED, slices=slices), systems)], OPTIONS)


@pytest.fixture(scope="module")
def report() -> Report:
    rng = np.random.default_rng(0)
    return made(bare(rng), certain(rng))


def test_no_score_curve_or_comparison_needs_an_uncertainty_that_is_not_there(report):
    mine = [score for score in report.scores if score.system == "bare"]
    assert {score.metric for score in mine} == {"mean_error", "mae", "acceptable", "shift_ratio"}
    assert all(score.low is not None for score in mine)
    assert not [entry for entry in (*report.curves, *report.parts) if entry.system == "bare"]
    assert {entry.metric for entry in report.comparisons} <= {"mean_error", "acceptable"}
    assert {rank.metric for rank in report.ranks} <= {"mean_error", "acceptable"}
    assert all(np.isnan(row.r_auc) for row in report.slices if row.system == "bare")


def test_the_other_system_keeps_all_that_its_uncertainty_gives(report):
    own, alone = ({score.metric for score in each.scores if score.system == "certain"} for each in (report, made(
        certain(np.random.default_rng(1)),
    )))  # fmt: skip
    assert own == alone
    assert {curve.system for curve in report.curves} == {"certain"}
    assert [row.system for row in report.slices if np.isfinite(row.r_auc)] == ["certain", "certain"]


def test_the_report_says_that_there_is_no_uncertainty_and_no_more_of_it():
    alone = made(bare(np.random.default_rng(0)))
    told = " ".join([*verdict.verdict(alone), *alone.warnings])
    assert told.count("“bare” gives no uncertainty, so whether it knows where it is wrong cannot be told.") == 1
    assert told.count("uncertainty") == 1
    assert "R-AUC" not in told
    assert page.html(alone)
    assert Report.from_json(alone.to_json()).scores == alone.scores


def test_only_its_largest_errors_are_listed(report):
    assert not [entry for entry in report.notable if entry.system == "bare" and entry.kind != "worst"]


def test_measures_of_a_score_are_not_taken_for_its_levels(monkeypatch):
    names = ("overlap", "overlap_area_entropy", "overlap_area_variance")
    metrics = [Metric(name, "Overlap", table="within" if place else "", row=name if place else "", **ROW)
               for place, name in enumerate(names)]  # fmt: skip
    monkeypatch.setattr(METRICS, "_held", {**METRICS, **{metric.name: metric for metric in metrics}})
    rng = np.random.default_rng(0)
    one, two = certain(rng, "one"), certain(rng, "two")
    one = replace(one, means=dict.fromkeys(names[:2], one.errors))
    two = replace(two, means={names[0]: two.errors, names[2]: two.errors})
    found = made(one, two)
    assert not [text for text in found.warnings if "not compared" in text]
