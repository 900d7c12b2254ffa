"""Coverage, widths, likelihood and calibration error by slice: those of the records of each group, wherever shown."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

from shiftbench import report as reports
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records, Scored
from shiftbench.ensembles import Categorical, Gaussian, Quantiles
from shiftbench.metrics.classification import expected_calibration_error
from shiftbench.report.content import Report
from shiftbench.report.grids.listing import grids
from shiftbench.scores.intervals import Settings
from shiftbench.scores.score import SliceScore

N = 300
GROUP = np.array(["calm", "wild", "wild"])[np.arange(N) % 3]
WILD = GROUP == "wild"


def report_of(system: Scored) -> Report:
    records = Records(N, "eval", np.arange(N) % 2 == 1, slices={"sea": GROUP})
    return build([(records, [system])], Options(threshold=1.0, intervals=Settings(replicates=20)))


def by_metric(report: Report, group: str) -> dict[str, SliceScore]:
    return {entry.metric: entry for entry in report.slice_scores if entry.group == group}


@pytest.fixture
def numbers(rng) -> Scored:
    target = rng.normal(size=N) * np.where(WILD, 3.0, 1.0)
    return scored.regression("ours", Gaussian(np.zeros((1, N)), np.ones((1, N))), target, role="model")


@pytest.fixture
def classes(rng) -> tuple[Scored, np.ndarray, np.ndarray]:
    probabilities, targets = rng.dirichlet(np.ones(3), N), rng.integers(0, 3, N)
    return (
        scored.classification("ours", Categorical(probabilities[None]), targets, role="model"),
        probabilities,
        targets,
    )


def test_every_level_and_the_likelihood_are_given_by_slice(numbers):
    report = report_of(numbers)
    found = by_metric(report, "wild")
    wanted = {f"{what}_{level}" for what in ("coverage", "width") for level in (50, 90, 95)} | {"nll"}
    assert found.keys() == wanted
    for name, entry in found.items():
        assert entry.value == pytest.approx(numbers.means[name][WILD].mean()), name
        assert entry.n == WILD.sum()
        assert entry.low <= entry.value <= entry.high
    assert found["coverage_90"].high < by_metric(report, "calm")["coverage_90"].low


def test_the_calibration_error_by_slice_is_that_of_its_records(classes):
    system, probabilities, targets = classes
    found = by_metric(report_of(system), "wild")
    assert found.keys() == {"nll", "ece", "overconfidence"}
    sure, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == targets
    assert found["overconfidence"].value == pytest.approx((sure - right)[WILD].mean())
    assert found["ece"].value == pytest.approx(expected_calibration_error(targets[WILD], probabilities[WILD]))
    assert (found["ece"].low, found["ece"].no_interval) == (None, "")


def test_quantile_forecasts_have_the_coverage_of_their_own_levels_by_slice(rng):
    target = rng.normal(size=N)
    forecast = Quantiles(np.tile([-1.0, 0.0, 1.0], (1, N, 1)), (0.16, 0.5, 0.84))
    found = by_metric(report_of(scored.quantiles("ours", forecast, target)), "calm")
    assert found.keys() == {"pinball", "coverage_68", "width_68"}
    assert found["coverage_68"].value == pytest.approx((np.abs(target[~WILD]) <= 1).mean())


def test_scores_by_slice_stand_in_a_table_a_csv_and_the_page(numbers, tmp_path):
    report = report_of(numbers)
    (table,) = (grid for grid in grids(report) if grid.kind == "calibration_slices")
    assert [row.label for row in table.rows] == ["sea = wild", "sea = calm"]  # as the table of slices
    assert [column.title for column in table.columns[:3]] == ["Records", "NLL ↓", "Coverage of 50 % interval (%)"]
    assert not [grid for grid in grids(report) if grid.kind.startswith("interval_slices")], (
        "of conformal intervals alone"
    )
    written = reports.write(report, tmp_path)
    assert "Intervals and probabilities by slice" in written["html"].read_text("utf-8")
    rows = list(csv.DictReader(written["slices"].open(encoding="utf-8")))
    found = {(row["group"], row["metric"]): row for row in rows}
    assert len(found) == len(rows) == 2 * (3 + 7)
    for group in ("calm", "wild"):
        for name, entry in by_metric(report, group).items():
            assert float(found[group, name]["value"]) == entry.value
        errors = numbers.errors[group == GROUP]
        assert float(found[group, "mean_error"]["value"]) == pytest.approx(errors.mean())
        assert float(found[group, "acceptable"]["value"]) == pytest.approx((errors <= 1).mean())
        assert float(found[group, "mean_error"]["low"]) < errors.mean() < float(found[group, "mean_error"]["high"])
    assert math.isfinite(float(found["calm", "r_auc"]["value"]))
