from __future__ import annotations

import re
from dataclasses import replace

import pytest

from shiftbench.report.digits import MISSING, metric_digits
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.grids.listing import grids
from shiftbench.report.grids.slices import part_names, worst_first
from shiftbench.report.page import html
from shiftbench.report.view import clean, headline_metric, headline_scores, lead, main_split
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import SUBSETS, Rank, Score

from .factory import classification, many, nothing_defined, one_record, regression, with_test_set


def grid_of(report, kind: str, split: str = "eval") -> Grid:
    return next(grid for grid in grids(report) if (grid.kind, grid.split) == (kind, split))


def cell_of(grid: Grid, label: str, group: str, title: str):
    place = next(k for k, column in enumerate(grid.columns) if column.group.startswith(group) and column.title == title)
    return next(row for row in grid.rows if row.label == label).cells[place]


def test_every_row_has_a_cell_for_every_column(report):
    for grid in grids(report):
        assert {len(row.cells) for row in grid.rows} == {len(grid.columns)}


def test_each_cell_of_the_main_tables_is_its_score():
    report = regression()
    grid = grid_of(report, "answers")
    score = report.score("rmse", system="boosting", split="eval", subset="shifted")
    digits = metric_digits(report, METRICS["rmse"], "eval")
    cell = cell_of(grid, "boosting", "RMSE", "Shifted")
    assert (cell.text, cell.note) == digits.cell(score.value, low=score.low, high=score.high)


def test_in_domain_shifted_and_full_stand_side_by_side_with_units_and_direction():
    grid = grid_of(regression(), "answers")
    assert [(column.group, column.title) for column in grid.columns[:3]] == [
        ("RMSE ↓ (°C)", "In-domain"),
        ("RMSE ↓ (°C)", "Shifted"),
        ("RMSE ↓ (°C)", "Full"),
    ]
    assert "Mean squared error ↓ (°C²)" in {column.group for column in grid.columns}
    assert "Accuracy ↑ (%)" in {column.group for column in grid_of(classification(), "answers").columns}


def test_single_models_stand_beside_the_ensemble_with_their_deviation():
    cell = cell_of(grid_of(regression(), "answers"), "boosting, one model", "RMSE", "Full")
    assert cell.note.startswith("± ")


def test_scores_that_use_uncertainty_stand_apart_and_only_for_systems_that_have_one():
    grid = grid_of(regression(), "joint")
    assert [row.label for row in grid.rows] == ["boosting", "boosting, one model", "deep_ensemble"]
    assert all("RMSE" not in column.group for column in grid.columns)


def ranked(*ranks: int):
    report = regression()
    names = [system.name for system in report.systems if system.role != "single"]
    others = tuple(rank for rank in report.ranks if (rank.split, rank.subset) != ("eval", "shifted"))
    mine = tuple(Rank("eval", "shifted", "rmse", name, rank) for name, rank in zip(names, ranks, strict=True))
    return replace(report, ranks=others + mine)


def bold(report) -> list[str]:
    grid = grid_of(report, "answers")
    return [row.label for row in grid.rows if cell_of(grid, row.label, "RMSE", "Shifted").best]


def valued(report, **values: float):
    """The report with other RMSEs on shifted data; all have the interval of ±1."""
    found = tuple(
        replace(each, value=values[each.system], low=values[each.system] - 1, high=values[each.system] + 1)
        if (each.split, each.subset, each.metric) == ("eval", "shifted", "rmse") and each.system in values
        else each
        for each in report.scores
    )
    return replace(report, scores=found)


def test_bold_is_the_best_value_and_those_of_rank_one_within_its_interval():
    values = {"boosting": 2.0, "deep_ensemble": 2.9, "mean": 9.0, "fc24_high_c": 2.5, "persistence": 3.1}
    assert bold(valued(ranked(1, 1, 1, 1, 1), **values)) == ["boosting", "deep_ensemble", "fc24_high_c"]
    assert bold(valued(ranked(1, 2, 1, 1, 1), **values)) == ["boosting", "fc24_high_c"]
    assert bold(valued(ranked(2, 3, 4, 1, 1), **values)) == ["fc24_high_c", "persistence"]


def test_a_system_far_worse_is_not_bold_where_no_test_tells_it_from_the_best():
    report = valued(ranked(1, 1, 1, 1, 1), boosting=24.0, deep_ensemble=50, mean=236.0, fc24_high_c=60, persistence=70)
    assert bold(report) == ["boosting"]


def scored(*ends: tuple[float, float | None, float | None]):
    names = [system.name for system in regression().systems[2:5]]
    scores = [
        Score(name, "eval", "shifted", "rmse", value, 10, low=low, high=high)
        for name, (value, low, high) in zip(names, ends, strict=True)
    ]
    return replace(regression(), scores=tuple(scores), ranks=(), comparisons=())


@pytest.mark.parametrize("ends", [((1.0, 0.8, 1.2), (2.0, 1.8, 2.2), (3.0, 2.8, 3.2)), ((1.0, None, None),) * 3])
def test_scores_without_a_test_are_never_bold(ends):
    assert bold(scored(*ends)) == []


def test_what_is_bold_is_told_where_anything_is():
    report = regression()
    few = replace(report, recipe={**report.recipe, "intervals": {"replicates": 20, "used": {"eval": "percentile"}}})
    for made, told in ((report, True), (few, False), (replace(report, ranks=()), False)):
        for kind, split in (("answers", "eval"), ("splits", "")):
            grid = grid_of(made, kind, split)
            assert ("Bold: of the systems of rank 1" in grid.note) is told
            assert any(cell.best for row in grid.rows for cell in row.cells) is told


def test_the_parts_of_an_r_auc_add_up_to_it():
    report = regression()
    grid = grid_of(report, "parts")
    score = headline_scores(report)["boosting", "eval", "full", "r_auc"]
    assert grid.rows[0].cells[-1].text == metric_digits(report, METRICS["r_auc"], "eval").text(score.value)
    assert list(part_names(report, "eval")) == [
        "level_in",
        "level_shift",
        "ranking_in",
        "ranking_shifted",
        "ranking_between",
    ]


def test_without_a_shift_the_parts_do_not_speak_of_one():
    report = regression()
    parts = tuple(part for part in report.parts if part.name in ("level_in", "ranking_in"))
    assert list(part_names(replace(report, parts=parts), "eval").values()) == ["Error level", "Ranking"]


def test_random_and_optimal_orders_stand_below_the_measures():
    report = regression()
    order = Score("boosting", "eval", "full", "r_auc", 2.5, 600, "random order")
    labels = [row.label for row in grid_of(replace(report, scores=(order, *report.scores)), "measures").rows]
    assert labels == ["Total variance (total)", "EPKL (knowledge)", "Knowledge variance (knowledge)", "Random order"]


def test_slices_come_worst_first_for_the_leading_system_with_the_others_beside_it():
    report = regression()
    errors = [entry.mean_error for entry in worst_first(report, "eval")]
    assert errors == sorted(errors, reverse=True)
    grid = grid_of(report, "slices")
    assert grid.rows[0].label == "climate = polar"
    assert "fc24_high_c" in {column.title for column in grid.columns}


def test_measures_are_listed_only_where_there_is_a_choice():
    labels = [(row.hint, row.label) for row in grid_of(regression(), "measures").rows]
    names = ["Total variance (total)", "EPKL (knowledge)", "Knowledge variance (knowledge)"]
    assert labels == [("boosting", name) for name in names]
    assert not any(grid.kind == "measures" for grid in grids(many()))


def test_comparisons_say_who_is_better_or_that_nobody_can_tell():
    report = regression()
    rows = grid_of(report, "comparisons").rows
    compared = [entry for entry in report.comparisons if entry.split == "eval"]
    for row, entry in zip(rows, compared, strict=True):
        winner = entry.a if entry.difference < 0 else entry.b
        assert row.cells[-1].text == (f"{winner} is better" if entry.p_adjusted < 0.05 else MISSING)
    assert grid_of(report, "comparisons").note.count("cannot be told apart") == 1


def test_a_score_with_more_is_better_turns_the_reading_of_a_comparison_round():
    report = classification()
    entry = next(c for c in report.comparisons if c.split == "eval" and c.subset == "full")
    report = replace(report, comparisons=(replace(entry, difference=0.1, p_adjusted=0.001),))
    assert grid_of(report, "comparisons").rows[0].cells[-1].text == f"{entry.a} is better"


def test_undefined_scores_leave_no_row_behind():
    assert not any(grid.kind in ("answers", "joint") for grid in grids(nothing_defined()))


def test_the_leading_system_is_the_ensemble_wherever_it_stands():
    report = replace(regression(), ranks=())
    assert lead(replace(report, systems=report.systems[::-1])).name == "boosting"


def test_where_tests_find_a_model_better_than_the_first_the_best_one_leads():
    report = regression()
    place = {"split": "eval", "subset": "shifted", "metric": "rmse"}

    def led(**ranks: int) -> str:
        found = lead(
            replace(report, ranks=tuple(Rank(system=name, rank=rank, **place) for name, rank in ranks.items()))
        )
        assert found is not None
        return found.name

    assert led(boosting=1, deep_ensemble=1) == "boosting"  # no noise decides
    assert led(boosting=2, deep_ensemble=1) == "deep_ensemble"
    assert led(boosting=1, deep_ensemble=2) == "boosting"
    assert led(boosting=2, deep_ensemble=2, persistence=1) == "boosting"  # a baseline never leads
    assert led(deep_ensemble=1) == "boosting"  # not tested itself


def test_the_headline_metric_is_the_one_the_task_is_known_by():
    assert headline_metric(regression()).name == "rmse"
    assert headline_metric(classification()).name == "accuracy"


def test_the_headline_of_squared_errors_is_their_root_whatever_the_task_is_called():
    assert headline_metric(replace(regression(), task="heart rate")).name == "rmse"


def test_the_main_split_is_eval_where_there_is_one():
    report = regression()
    assert main_split(report) == "eval"
    assert main_split(replace(report, counts=report.counts[:1])) == "dev"


@pytest.mark.parametrize(
    ("name", "text"),
    [(" a\n\tb ", "a b"), ("a\u202eb\u0007", "ab"), ("\u200b", ""), ("模型 °C²", "模型 °C²")],
)
def test_names_become_one_visible_line(name, text):
    assert clean(name) == text


def test_all_splits_stand_side_by_side_where_there_are_several():
    report = with_test_set()
    grid = grid_of(report, "splits", "")
    rmse = [column.title for column in grid.columns if column.group.startswith("RMSE")]
    assert rmse == ["Development", "Evaluation", "Generalization"]
    score = report.score("rmse", system="boosting", split="generalization", subset="full")
    digits = metric_digits(report, METRICS["rmse"], "generalization")
    cell = cell_of(grid, "boosting", "RMSE", "Generalization")
    assert (cell.text, cell.note) == digits.cell(score.value, low=score.low, high=score.high)
    assert not [grid for grid in grids(one_record()) if grid.kind == "splits"]


def test_all_splits_of_a_metric_are_written_in_one_unit():
    report = with_test_set()
    sizes = {"dev": 8.4e5, "eval": 1.2e6, "generalization": 3.5e5}  # either side of a power of ten
    scores = tuple(
        replace(score, value=sizes[score.split] * score.value, low=None, high=None, std=None)
        for score in report.scores
        if score.metric in ("rmse", "r_auc")
    )
    report = replace(report, scores=scores)
    grid = grid_of(report, "splits", "")
    groups = list(dict.fromkeys(column.group for column in grid.columns))
    assert [name.split()[0] for name in groups] == ["RMSE", "R-AUC"]
    assert all("×10" in name for name in groups)
    for split, title in (("dev", "Development"), ("generalization", "Generalization")):
        score = report.score("r_auc", system="boosting", split=split, subset="full", measure="total_variance")
        written = float(cell_of(grid, "boosting", "R-AUC", title).text.replace(",", ""))
        assert written == pytest.approx(score.value * metric_digits(report, METRICS["r_auc"], "eval").factor, rel=0.01)


def test_a_missing_interval_is_a_sign_that_the_note_explains_once():
    report = regression(60)
    none = {"low": None, "high": None, "std": None, "no_interval": "too few clusters"}
    few = tuple(replace(score, **none) for score in report.scores)
    for grid in grids(replace(report, scores=few)):
        if grid.kind in ("answers", "joint", "splits"):
            assert {cell.note for row in grid.rows for cell in row.cells if cell.text != "–"} == {"†"}
            assert grid.note.count("too few clusters") == 1
            assert "† No interval and no test: too few clusters (fewer than 10)." in grid.note


def test_single_models_are_named_after_their_ensemble():
    report = regression(60)
    systems = tuple(
        replace(system, name="boosting (single)") if system.role == "single" else system for system in report.systems
    )
    rows = [row for grid in grids(replace(report, systems=systems)) if grid.kind == "systems" for row in grid.rows]
    assert [(row.label, row.hint) for row in rows][:2] == [("boosting", "ensemble"), ("boosting", "single models")]


def test_metrics_of_one_title_are_a_column_with_a_row_for_each_measure_or_rule(monkeypatch):
    row = {"better": "max", "scale": "percent", "formula": "a test", "source": "a test", "most": 1.0, "table": "within"}
    made = [
        Metric(f"{title}_{k}", title, row=measure, **row)
        for title in ("Overlap", "Recall")
        for k, measure in enumerate(("entropy", "random order"))
    ]
    monkeypatch.setattr(METRICS, "_held", {**METRICS, **{metric.name: metric for metric in made}})
    report = regression()
    values = [
        Score("boosting", "eval", "full", metric.name, 0.1 * place, 50, low=0.0, high=0.5)
        for place, metric in enumerate(made[:3], start=1)
    ]
    grid = grid_of(replace(report, scores=(*report.scores, *values)), "within")
    assert [(column.group, column.title) for column in grid.columns] == [
        ("Overlap ↑ (%)", "Full"),
        ("Recall ↑ (%)", "Full"),
    ]
    told = [(row.hint, row.label, [cell.line for cell in row.cells]) for row in grid.rows]
    assert told == [
        ("boosting", "entropy", ["10 [0, 50]", "30 [0, 50]"]),
        ("boosting", "random order", ["20 [0, 50]", MISSING]),
    ]
    assert not any(other.kind == "within" for other in grids(report))


def test_each_kind_of_parts_has_a_table_from_the_random_to_the_optimal_order(monkeypatch):
    row = {"better": "min", "scale": "fraction", "formula": "a test", "source": "a test", "table": "within"}
    orders = ("Optimal order", "unknown", "Expected entropy", "EPKL", "Random order")
    made = [
        Metric(f"{parts}_{k}", "Area", row=order, parts=parts, plain=f"an area over {parts}", **row)
        for parts in ("voxels", "large parts")
        for k, order in enumerate(orders)
    ]
    monkeypatch.setattr(METRICS, "_held", {**METRICS, **{metric.name: metric for metric in made}})
    report = regression()
    values = [Score("boosting", "eval", "full", metric.name, 0.5, 50) for metric in made]
    found = grids(replace(report, scores=(*report.scores, *values)))
    tables = {grid.kind: grid for grid in found if grid.kind.startswith("within")}
    assert [grid.title for grid in tables.values()] == [
        "Uncertainty of voxels (evaluation)", "Uncertainty of large parts (evaluation)",
    ]  # fmt: skip
    for kind, parts in (("within_voxels", "voxels"), ("within_large_parts", "large parts")):
        assert [row.label for row in tables[kind].rows] == [
            "Random order", "EPKL", "Expected entropy", "unknown", "Optimal order",
        ]  # fmt: skip
        assert f"Area: an area over {parts}." in tables[kind].note


def test_scores_under_other_rules_and_scores_of_groups_are_tables_apart_and_folded(monkeypatch):
    row = {"better": "max", "scale": "fraction", "formula": "a test", "source": "a test", "table": "variants"}
    made = [
        Metric("rule", "F1", row="another rule", parts="F1 under other rules", **row),
        Metric("large", "Found", row="large ones", parts="found by size", **row),
    ]
    monkeypatch.setattr(METRICS, "_held", {**METRICS, **{metric.name: metric for metric in made}})
    report = regression()
    values = [Score("boosting", "eval", "full", metric.name, 0.5, 50) for metric in made]
    whole = replace(report, scores=(*report.scores, *values))
    tables = {grid.kind: grid for grid in grids(whole) if grid.kind.startswith("variants")}
    assert {kind: grid.title for kind, grid in tables.items()} == {
        "variants_F1_under_other_rules": "F1 under other rules (evaluation)",
        "variants_found_by_size": "Found by size (evaluation)",
    }
    assert all(MISSING not in [cell.text for cell in grid.rows[0].cells] for grid in tables.values())
    page = html(whole, pictures={})
    for grid in tables.values():
        assert re.search(rf"<details>\s*<summary><h3[^>]*>{grid.title.removesuffix(' (evaluation)')}", page)


def test_ranks_have_a_row_for_each_system_and_subset():
    report = regression()
    grid = grid_of(report, "ranks")
    ranks = [rank for rank in report.ranks if rank.split == "eval"]
    places = {(rank.system, SUBSETS[rank.subset]) for rank in ranks}
    assert {(row.label, row.cells[0].text) for row in grid.rows} == places
    assert len(grid.columns) == 1 + len({rank.metric for rank in ranks})
    for rank in ranks:
        row = next(r for r in grid.rows if (r.label, r.cells[0].text) == (rank.system, SUBSETS[rank.subset]))
        assert str(rank.rank) in [cell.text for cell in row.cells[1:]]


def wide(rows: int, columns: int = 24) -> Grid:
    """A table of groups of three columns."""
    heads = tuple(Column(f"part {place % 3}", f"score {place // 3}") for place in range(columns))
    cells = tuple(Cell("57.3", "[51.0, 63.5]") for _ in heads)
    return Grid(
        "answers", "eval", "Quality", "System", heads, tuple(Row(f"m{k}", cells) for k in range(rows)), "A note."
    )


def test_a_wide_table_is_parted_between_groups_so_that_a_page_shows_all_of_it():
    whole = wide(2)
    parts = whole.portions()
    assert len(parts) > 1
    assert tuple(column for part in parts for column in part.columns) == whole.columns
    assert tuple(cell for part in parts for cell in part.rows[1].cells) == whole.rows[1].cells
    assert all(len(part.columns) % 3 == 0 and len(part.columns) * 6.5 < 77 - 9 for part in parts)
    assert [part.note for part in parts] == [""] * (len(parts) - 1) + ["A note."]


def test_a_table_that_fits_or_has_many_rows_to_sort_stays_one():
    for grid in (wide(2, 6), wide(9)):
        assert grid.portions() == [grid]


def test_merged_groups_say_that_they_are_counted_over_all_splits():
    report = regression()
    assert "counts the groups of all splits" not in grid_of(report, "slices").note
    first = report.slices[0].group
    merged = [replace(each, group="other (1,204 groups)") if each.group == first else each for each in report.slices]
    several = replace(report, slices=tuple(merged))
    assert len(several.splits) > 1
    assert "“other (… groups)” counts the groups of all splits" in grid_of(several, "slices").note
