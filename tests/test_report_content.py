"""A report is plain values that survive being written and read."""

from __future__ import annotations

import dataclasses
import json
import math
import re
import sys
from dataclasses import replace
from html import escape

import numpy as np
import pytest

from shiftbench import Gaussian, assess, assess_predictions
from shiftbench.errors import MissingExtraError, TableError, UnknownNameError
from shiftbench.metrics.conformal import RULES
from shiftbench.report import text
from shiftbench.report.content import FORMAT, Report
from shiftbench.report.front import screen
from shiftbench.report.verdict import verdict
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import SUBSETS, Comparison, Count, Curve, Part, Rank, Score, Separation, Slice, System
from tests.report.factory import hostile, regression

REPORT = Report(
    title="Temperature °C",
    task="regression",
    rule="published",
    threshold=1.0,
    target_unit="°C",
    error_unit="°C²",
    systems=(
        System("ours", "ensemble", "total_variance", ("total_variance", "epkl"), "10 models"),
        System("raw", "baseline"),
    ),
    counts=(Count("eval", "in", 70, 7), Count("eval", "shifted", 30), Count("dev", "in", 20)),
    scores=(
        Score("ours", "eval", "in", "mean_error", 0.1 + 0.2, 70, low=0.2, high=0.4),
        Score("ours", "eval", "in", "r_auc", 0.12, 70, "total_variance"),
        Score("ours", "eval", "in", "r_auc", 0.34, 70, "epkl"),
        Score("raw", "eval", "in", "mean_error", math.nan, 70, std=0.01),
    ),
    comparisons=(Comparison("eval", "full", "r_auc", "ours", "raw", -0.1, -0.2, -0.0, 0.01, 0.02),),
    ranks=(Rank("eval", "full", "r_auc", "ours", 1),),
    curves=(Curve("ours", "eval", "in", "error_retention", (0.0, 0.5, 1.0), (0.0, math.nan, 1e-300), log_x=True),),
    slices=(Slice("ours", "eval", "climate", "snow", 9, 1.0, 2.5, None, 3.5, 0.7),),
    parts=(Part("ours", "eval", "level_in", 0.25),),
    warnings=("few clusters",),
    recipe={"manifest": None, "nested": {"kinds": ["a", "b"]}, "seed": 0},
)


def same(a: Report, b: Report) -> bool:
    """Equal, NaN counting as equal to itself."""
    return repr(dataclasses.astuple(a)) == repr(dataclasses.astuple(b))


def test_a_report_survives_being_written_and_read_to_the_last_digit(tmp_path):
    loaded = Report.load(REPORT.save(tmp_path / "report.json"))
    assert same(loaded, REPORT)
    assert loaded.scores[0].value == 0.1 + 0.2


def test_reading_and_writing_again_gives_the_same_bytes(tmp_path):
    first = REPORT.save(tmp_path / "first.json")
    second = Report.load(first).save(tmp_path / "second.json")
    assert first.read_bytes() == second.read_bytes()


def test_json_has_no_nan_and_missing_stays_apart_from_undefined():
    plain = REPORT.to_json()
    text = json.dumps(plain, allow_nan=False)
    assert plain["format"] == FORMAT
    loaded = Report.from_json(json.loads(text))
    assert math.isnan(loaded.scores[3].value)  # undefined: null becomes NaN again
    assert loaded.scores[3].low is None  # no interval: null stays None
    assert math.isnan(loaded.curves[0].y[1])
    assert loaded.slices[0].low is None


def test_numbers_of_numpy_become_plain_ones():
    score = Score("ours", "eval", "in", "r_auc", np.float64(0.5), np.int64(3), low=np.float32(0.25))
    plain = replace(REPORT, scores=(score,), recipe={1: np.array([1, 2])[0], "flag": np.bool_(True)}).to_json()
    assert json.loads(json.dumps(plain))["scores"][0]["low"] == 0.25
    assert plain["scores"][0]["n"] == 3
    assert plain["recipe"] == {"1": 1, "flag": True}


def test_fields_of_a_later_version_are_ignored():
    assert same(Report.from_json({**REPORT.to_json(), "mood": "good"}), REPORT)


@pytest.mark.parametrize("missing", ["title", "task", "rule", "threshold", "scores", "warnings"])
def test_an_incomplete_report_is_refused(missing):
    plain = REPORT.to_json()
    del plain[missing]
    with pytest.raises(TableError, match=f"expected a complete report, found a damaged one .*{missing}"):
        Report.from_json(plain)


@pytest.mark.parametrize("rows", [None, 3, ["text"], [{"system": "ours"}], [{"unknown": 1}]])
def test_damaged_rows_are_refused(rows):
    with pytest.raises(TableError, match="expected a complete report, found a damaged one"):
        Report.from_json({**REPORT.to_json(), "scores": rows})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"recipe": None}, "Report.recipe is 'None'"),
        ({"threshold": "high"}, "Report.threshold is 'high'"),
        ({"task": ["cnll"]}, "Report.task is"),
        ({"warnings": [3]}, "Report.warnings is '3'"),
        ({"warnings": 1.5}, "warnings is 1.5"),
        ({"scores": 1.5}, "scores is 1.5"),
        ({"scores": [1.5]}, "Score is 1.5"),
        ({"counts": [{"why": 1}]}, "missing or unknown in Count: "),
    ],
)
def test_fields_of_another_kind_are_refused(change, told):
    with pytest.raises(TableError, match=f"found a damaged one .{told}"):
        Report.from_json({**REPORT.to_json(), **change})


def test_values_of_another_kind_in_rows_are_refused():
    plain = REPORT.to_json()
    with pytest.raises(TableError, match=r"Score\.system is '\[1\]'"):
        Report.from_json(plain | {"scores": [plain["scores"][0] | {"system": [1]}]})
    for role in ({}, [1]):
        with pytest.raises(TableError, match=r"System\.role is "):
            Report.from_json(plain | {"systems": [plain["systems"][0] | {"role": role}]})
    curve = {"system": "ours", "split": "dev", "subset": "in", "kind": "roc", "x": [0.0, 1.0], "y": [0.0]}
    with pytest.raises(TableError, match=r"a curve has 2 x and 1 y"):
        Report.from_json(plain | {"curves": [curve]})
    with pytest.raises(TableError, match=r"Curve\.y is 'a'"):
        Report.from_json(plain | {"curves": [curve | {"y": [0.0, "a"]}]})


@pytest.mark.parametrize(
    ("rows", "key", "told"),
    [
        ("scores", "metric", "Unknown metric 'nope'"),
        ("scores", "system", r"Unknown system 'nope'\. Known: ours, raw"),
        ("counts", "subset", r"Unknown subset 'nope'\. Known: full, in, shifted"),
        ("systems", "role", "Unknown role 'nope'"),
        ("slices", "system", "Unknown system 'nope'"),
        ("comparisons", "a", "Unknown system 'nope'"),
        ("comparisons", "metric", "Unknown metric 'nope'"),
        ("ranks", "subset", "Unknown subset 'nope'"),
        ("curves", "subset", "Unknown subset 'nope'"),
        ("parts", "system", "Unknown system 'nope'"),
    ],
)
def test_names_that_are_not_known_are_refused_with_their_place(rows, key, told):
    plain = REPORT.to_json()
    plain[rows][0][key] = "nope"
    with pytest.raises(TableError, match=rf"^{rows}\[0\]\.{key}: {told}"):
        Report.from_json(plain)


@pytest.mark.parametrize("value", [[], 5, "x", None])
@pytest.mark.parametrize("part", ["intervals", "versions", "intervals.used"])
def test_parts_of_a_recipe_that_are_no_objects_are_refused(part, value):
    recipe = {"intervals": {"used": value}} if part == "intervals.used" else {part: value}
    with pytest.raises(TableError, match=rf"^recipe\.{part}: expected a JSON object, found '"):
        Report.from_json(REPORT.to_json() | {"recipe": recipe})


def test_all_that_is_not_known_is_told_at_once(tmp_path):
    plain = REPORT.to_json() | {"systems": [], "recipe": {"intervals": 5, "versions": []}}
    plain["counts"][1]["subset"] = "nope"
    path = tmp_path / "report.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(TableError, match=r"counts\[1\]\.subset: ") as caught:
        Report.load(path)
    problems = caught.value.problems
    assert all(problem.startswith(f"{path}: ") for problem in problems)
    assert len(problems) == 11  # a subset, eight places with systems, two parts of the recipe


@pytest.mark.parametrize(
    ("value", "found"),
    [({"format": "shiftbench report 99"}, "'shiftbench report 99'"), ({}, "None"), ([], "'list'"), ("text", "'str'")],
)
def test_another_format_is_refused(value, found):
    with pytest.raises(TableError, match=rf"expected a report \('{FORMAT}'\), found {found}"):
        Report.from_json(value)


@pytest.mark.parametrize("content", [b"", b"{", b"\xff\xfe", b"a,b"], ids=["empty", "truncated", "binary", "CSV"])
def test_a_file_that_is_no_report_is_refused(tmp_path, content):
    path = tmp_path / "report.json"
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"report\.json: expected a report as JSON, found another file .* Name the"):
        Report.load(path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(
        TableError, match=r"gone.json: expected a report as JSON, found: No such file or directory. Name"
    ):
        Report.load(tmp_path / "gone.json")


def test_splits_come_in_order_and_once():
    assert REPORT.splits == ("eval", "dev")


def test_a_score_is_found_under_the_headline_measure_unless_another_is_named():
    where = {"system": "ours", "split": "eval", "subset": "in"}
    assert REPORT.score("r_auc", **where).value == 0.12
    assert REPORT.score("r_auc", **where, measure="epkl").value == 0.34
    assert REPORT.score("mean_error", **where).low == 0.2
    assert REPORT.measure_of("ours") == "total_variance"
    assert REPORT.measure_of("nobody") == ""


def test_a_score_that_is_not_held_is_answered_with_the_nearest():
    with pytest.raises(UnknownNameError, match=r"Unknown score 'r_auk / .*'\. Did you mean 'r_auc / ours"):
        REPORT.score("r_auk", system="ours", split="eval", subset="in")


def test_every_metric_states_its_direction_once():
    assert all(name == metric.name for name, metric in METRICS.items())
    assert {metric.better for metric in METRICS.values()} == {"min", "max", "nominal"}
    lower = {name for name, metric in METRICS.items() if metric.better == "min"}
    displacements = {f"{which}_{what}" for which in ("min", "avg", "top1", "weighted") for what in ("ade", "fde")}
    others = {"mean_error", "rmse", "mae", "mape", "nll", "crps", "brier", "ece", "r_auc", "cnll", "shift_ratio"}
    others |= {"pinball", "hausdorff_95", "surface_distance"}
    sizes = {f"conformal_{rule}_size_{level}" for rule in RULES for level in (50, 90, 95)}
    widths = {"width_50", "width_90", "width_95"}
    assert others | displacements | sizes | widths | {"aurc", "e_aurc", "augrc"} == lower
    assert list(SUBSETS) == ["in", "shifted", "full"]


def test_a_report_of_an_earlier_version_without_reasons_and_ratios_is_read():
    value = regression().to_json()
    for kind in ("scores", "slices", "comparisons"):
        value[kind] = [{key: entry for key, entry in row.items() if key != "no_interval"} for row in value[kind]]
    report = Report.from_json(value)
    assert not any(row.no_interval for kind in ("scores", "slices", "comparisons") for row in getattr(report, kind))
    assert any("×" in sentence for sentence in verdict(report))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"title": "half \ud800"}, r"found half of a character in 'half \\ud800'"),
        ({"error_unit": "x" * 20_000}, "expected texts of at most 1,000 characters, found one of 20,000"),
        ({"threshold": 10**400}, "expected numbers that fit into a float"),
    ],
)
def test_what_cannot_be_shown_or_written_again_is_no_report(tmp_path, change, message):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**assess(np.ones(20), np.arange(20.0)).to_json(), **change}), "utf-8")
    with pytest.raises(TableError, match=message):
        Report.load(path)


@pytest.mark.parametrize(("key", "found"), [("half \ud800", "half of a character"), ("x" * 2_000, "one of 2,000")])
def test_what_could_not_be_read_again_is_not_written(tmp_path, key, found):
    report = replace(regression(), recipe={key: "a"})
    with pytest.raises(TableError, match=f"report.json: expected text.*{found}"):
        report.save(tmp_path / "report.json")
    assert not [*tmp_path.iterdir()]


def test_a_report_with_the_longest_name_is_read_again(tmp_path):
    members = np.random.default_rng(0).normal(size=(5, 40))
    members[4] = members[3]
    report = assess_predictions(np.zeros(40), {"x" * 1_000: Gaussian(members, np.ones((5, 40)))})
    assert same(Report.load(report.save(tmp_path / "report.json")), report)


def test_a_report_in_a_notebook_is_its_first_screen_in_a_few_thousand_characters():
    report = regression()
    assert repr(report).startswith("<shiftbench report 'Next-day highs': ")
    assert len(repr(report)) < 200
    html = report._repr_html_()
    assert len(html) < 20_000
    space = "\N{NO-BREAK SPACE}"
    for finding in screen.findings(report):
        shown = escape(finding.line).replace(" %", f"{space}%").replace(" → ", f"{space}→{space}")
        shown = shown.replace("p &lt; ", f"p{space}&lt;{space}").replace("p = ", f"p{space}={space}")
        shown = re.sub("“(.*?)”", r"<b>\1</b>", shown)  # a page has names in bold
        assert shown in html.replace("\N{WORD JOINER}", "")
    assert "<script>" not in hostile()._repr_html_()
    assert report.to_html().startswith("<!DOCTYPE html>")


def test_scores_as_tables_are_those_of_the_report():
    report = regression()
    table = report.to_polars()
    assert table["value"].to_list() == [score.value for score in report.scores]
    assert table.columns == list(text.FIELDS[:-1])
    assert set(table["better"].unique()) <= {"min", "max", "nominal"}
    assert report.to_pandas()["value"].tolist() == table["value"].to_list()


def test_without_pandas_the_table_of_scores_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"to_pandas: expected pandas, .* Or use to_polars\(\)"):
        regression().to_pandas()


def test_a_score_that_single_models_have_no_value_of_has_no_spread(tmp_path) -> None:
    targets = np.arange(12.0)
    right = np.stack([targets, targets])  # of errors that are all 0, no order is better than another
    report = assess_predictions(targets, Gaussian(right, np.ones((2, 12)) * (1 + targets)))
    (score,) = (each for each in report.scores if each.metric == "prr" and each.each)
    assert math.isnan(score.value)
    assert score.std is None
    loaded = Report.load(report.save(tmp_path / "report.json"))
    assert loaded.to_polars()["std"].to_list() == report.to_polars()["std"].to_list()


def test_numbers_beyond_64_bits_are_floats_of_a_report():
    plain = REPORT.to_json()
    curve = plain["curves"][0]
    large = curve | {"y": [10**30, *curve["y"][1:]]}
    found = Report.from_json(plain | {"curves": [large], "scores": [plain["scores"][0] | {"value": 10**30}]})
    assert type(found.curves[0].y[0]) is type(found.scores[0].value) is float
    assert found.curves[0].y[0] == found.scores[0].value == 1e30


def test_a_field_that_an_earlier_version_did_not_write_has_its_default() -> None:
    kept = replace(REPORT, separations=(Separation("eval", "in", 0.6, 40.0, 50, 0.0, 0.2),)).to_json()
    assert Report.from_json(kept).separations[0].endless == 0.2
    del kept["separations"][0]["endless"]
    assert math.isnan(Report.from_json(kept).separations[0].endless)
