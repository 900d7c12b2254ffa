"""The tables of the paper from runs: every printed value in its cell, ours beside it, and nothing that breaks them."""

from __future__ import annotations

import io
import re
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import polars as pl
import pytest
from rich.console import Console

from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.report import finding
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.scores.score import Rank
from shiftbench.track.paper.text import csv, render
from shiftbench.tracks.weather import paper
from shiftbench.tracks.weather.paper.layouts import LAYOUTS, training_sets

OFFICIAL, EXAMPLE = "official", "example rows=4000 seed=0"
PAPER = ("likelihood_boosting", "ft_transformer", "mc_dropout", "combination")
RECORDS = 80


def gaussian(name, rng, targets, sd, *, noise):
    members = 1 if name in ("mean", "column") else 3
    mean = targets + noise * sd * rng.standard_normal(targets.size) + 0.3 * rng.standard_normal((members, targets.size))
    role = "ensemble" if members > 1 else "baseline"
    return scored.regression(name, Gaussian(mean, (noise * sd) ** 2 * np.ones_like(mean)), targets, role=role)


def categorical(name, rng, targets, sd, *, noise):
    members = 1 if name == "majority" else 3
    logits = (3 / sd / noise)[None, :, None] * np.eye(9)[targets][None] + rng.standard_normal(
        (members, targets.size, 9)
    )
    exponentials = np.exp(logits) if name != "majority" else np.ones_like(logits)
    role = "ensemble" if members > 1 else "baseline"
    return scored.classification(
        name, Categorical(exponentials / exponentials.sum(-1, keepdims=True)), targets, role=role
    )


@cache
def made(task="regression", systems=PAPER, experiment="A", origin=EXAMPLE, seed=0) -> Report:
    """A small run: each system twice as noisy as the one before it; shifted records harder."""
    rng, splits = np.random.default_rng(seed), []
    for split in ("dev", "eval"):
        shifted = np.arange(2 * RECORDS) >= RECORDS
        sd = np.where(shifted, 2.0, 1.0) * np.exp(0.3 * rng.standard_normal(shifted.size))
        regression = task == "regression"
        targets = 10 * rng.standard_normal(shifted.size) if regression else rng.integers(0, 9, shifted.size)
        draw = gaussian if regression else categorical
        entries = [draw(name, rng, targets, sd, noise=2.0**place) for place, name in enumerate(systems)]
        splits.append((Records(shifted.size, split, shifted), entries))
    recipe = {"systems": {name: {"method": name} for name in systems}}
    if origin:
        recipe["track"] = {"name": "weather", "origin": origin, "experiment": experiment, "preset": "quick"}
    unit = {"target_unit": "°C", "error_unit": "°C²"} if task == "regression" else {}
    threshold = 1.0 if task == "regression" else 0.5
    settings = Settings(replicates=50)
    title = f"{task} {experiment} {seed}"
    return build(splits, Options(title, task, threshold, intervals=settings, recipe=recipe, **unit))


def both():
    return [made(), made("classification", (*PAPER, "majority"))]


@cache
def of_both():
    """The tables of runs of both tasks."""
    return paper.tables(both())


@cache
def of_one():
    """The tables of a run of regression alone."""
    return paper.tables([made()])


def found(tables, number, *words):
    """The tables of a number whose headings have the words."""
    return [entry for entry in tables if entry.number == number and all(word in entry.heading for word in words)]


def cell(table, system, metric, *, dataset=None, subset="full", measure="", experiment=""):
    row = next(
        place
        for place, entry in enumerate(table.rows)
        if (entry.system, entry.measure, entry.experiment) == (system, measure, experiment)
    )
    places = [(column.metric, column.subset) for column in table.columns]
    datasets = [column.dataset for column in table.columns]
    column = next(
        place for place, entry in enumerate(places) if entry == (metric, subset) and dataset in (None, datasets[place])
    )
    return table.cells[row][column]


# --- print ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: f"{layout.version} {layout.number}")
def test_every_printed_value_stands_in_its_table_once(layout):
    frame = paper.printed(layout.number, version=layout.version)
    version = "v1" if layout.version == "v1" else "full paper"
    shown = Counter()
    for table in found(of_both(), layout.number, version):
        for row, cells in zip(table.rows, table.cells, strict=True):
            # The confidence has two rows where its sign was wrong in print: one of them is the print.
            twice = row.measure == "Negated confidence (corrected)" and row.system != "CatBoost ensemble"
            for column, entry in zip(table.columns, cells, strict=True):
                for value in () if twice else entry.printed:
                    shown[(table.task, column.dataset, column.subset, column.metric, value.text, value.source)] += 1
    columns = ("task", "dataset", "subset", "metric", "printed", "source")
    assert shown == Counter(frame.select(columns).rows())


def test_known_cells_of_the_full_paper():
    tables = of_both()
    robust = found(tables, "Table 9", "regression, evaluation")[0]
    assert [value.text for value in cell(robust, "CatBoost ensemble", "rmse", subset="shifted").printed] == ["2.37"]
    retention = found(tables, "Table 3", "v1")[0]
    single = cell(retention, "CatBoost single", "r_auc", dataset="eval").printed[0]
    assert (single.text, single.std) == ("2.320", "0.063")
    training = found(tables, "Table 13", "regression, evaluation")[0]
    latest = cell(training, "CatBoost ensemble", "rmse", subset="shifted", experiment="D")
    assert (latest.printed[0].text, latest.value) == ("2.04", None)


def test_rows_of_other_training_sets_are_named_by_system_and_letter_alone():
    text = paper.PAPER.markdown(found(of_both(), "Table 13", "regression, evaluation"))
    assert "| CatBoost ensemble · A |" in text
    assert "boosting" not in text.split("\n\n- ")[0]


def test_both_printings_of_macro_f1_stand_side_by_side_and_are_explained():
    table = found(of_both(), "Table 9", "classification, development")[0]
    entry = cell(table, "CatBoost single", "macro_f1", subset="in")
    assert [value.text for value in entry.printed] == ["42.2", "48.8"]
    assert any("two versions" in note for note in table.notes)
    assert "42.2 / 48.8" in paper.PAPER.markdown([table])


def test_a_flag_on_a_printed_value_is_marked_and_explained():
    table = found(of_one(), "Table 2", "v1")[0]
    mae = [column.metric for column in table.columns].index("mae")
    assert table.in_print(0, mae) == "1.182 ± 0.002ᵃ"
    assert any(note.startswith("ᵃ value printed for the full set") for note in table.notes)


@pytest.mark.parametrize(
    ("number", "version", "message"), [("Table 99", "full", "Unknown table 'Table 99'"), ("Table 9", "v2", "version")]
)
def test_a_table_that_the_paper_does_not_have_is_refused(number, version, message):
    with pytest.raises(UnknownNameError, match=message):
        paper.printed(number, version=version)


@pytest.mark.needs_shared
def test_the_training_sets_are_those_of_table_12(shared):
    facts = pl.read_csv(shared / "facts" / "schema" / "weather_repartition_experiments.csv")
    ours = [tuple(text.replace(" + ", "+") for text in row) for row in training_sets()]
    assert ours == facts.drop("source").rows()


# --- ours -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("method", "title"),
    [
        ("likelihood_boosting", "CatBoost ensemble"),
        ("likelihood_boosting (single)", "CatBoost single"),
        ("ft_transformer", "FT-Transformer ensemble"),
        ("ft_transformer (single)", "FT-Transformer single"),
        ("mc_dropout", "FT-Transformer MC dropout"),
        ("combination", "CatBoost+FT-Transformer"),
    ],
)
def test_each_method_stands_beside_its_system_of_the_paper(method, title):
    report, tables = made(), of_one()
    robust = found(tables, "Table 9", "evaluation")[0]
    for subset in ("in", "shifted", "full"):
        score = report.score("mae", system=method, split="eval", subset=subset)
        entry = cell(robust, title, "mae", subset=subset)
        assert (entry.value, entry.std, entry.low, entry.high) == (score.value, score.std, score.low, score.high)
        assert entry.printed
    share = cell(found(tables, "Table 10")[0], title, "f1_at_95", dataset="dev").value
    assert share == 100 * report.score("f1_at_95", system=method, split="dev", subset="full").value


def test_the_first_version_prints_fractions_where_the_full_paper_prints_percentages():
    tables = of_one()
    first = cell(found(tables, "Table 3", "v1")[0], "CatBoost ensemble", "f1_auc", dataset="eval")
    full = cell(found(tables, "Table 10")[0], "CatBoost ensemble", "f1_auc", dataset="eval")
    assert full.value == pytest.approx(100 * first.value)
    assert full.printed[0].value == pytest.approx(100 * first.printed[0].value)


def test_systems_that_the_paper_lacks_follow_below_without_a_printed_value():
    report = made(systems=("tabm", "likelihood_boosting", "mean"))
    for table in paper.tables([report]):
        if table.number in ("Table 9", "Table 10"):
            names = [row.system for row in table.rows]
            assert names[-2:] == ["tabm", "mean"]
            assert names.index("CatBoost ensemble") < names.index("tabm")
            assert not any(entry.printed for row in table.cells[-2:] for entry in row)
            assert not any("single" in name and "tabm" in name for name in names)


def test_systems_that_lack_answers_are_told_with_the_records_that_they_are_scored_on():
    report = made(systems=("likelihood_boosting", "mean"))
    assert not any("gaps" in note for table in paper.tables([report]) for note in table.notes)
    scores = tuple(replace(each, n=each.n - 9) if each.system == "mean" else each for each in report.scores)
    for table in paper.tables([replace(report, scores=scores)]):
        told = [note for note in table.notes if "gaps" in note]
        assert len(told) == any(row.own == "mean" for row in table.rows)
        assert all("“mean” on 151 of 160 records" in note for note in told)


def test_published_and_corrected_epkl_stand_side_by_side():
    report = made()
    table = found(paper.tables([report]), "Table 11", "regression")[0]
    for title, measure, prints in (
        ("EPKL (published)", "expected_pairwise_cross_entropy", True),
        ("EPKL (corrected)", "epkl", False),
    ):
        entry = cell(table, "CatBoost ensemble", "roc_auc", dataset="eval", measure=title)
        score = report.score("roc_auc", system="likelihood_boosting", split="eval", subset="full", measure=measure)
        assert entry.value == 100 * score.value
        assert bool(entry.printed) is prints


def test_a_confidence_of_the_wrong_sign_is_shown_as_printed_and_corrected():
    report = made("classification", (*PAPER, "majority"))
    table = found(paper.tables([report]), "Table 11", "classification")[0]
    where = {"dataset": "dev", "measure": "Confidence (sign as printed)"}
    right = {"dataset": "dev", "measure": "Negated confidence (corrected)"}
    wrong = cell(table, "FT-Transformer ensemble", "roc_auc", **where)
    corrected = cell(table, "FT-Transformer ensemble", "roc_auc", **right)
    assert (wrong.printed[0].text, corrected.printed[0].text) == ("35.46", "64.54")
    assert corrected.printed[0].turned
    assert not wrong.printed[0].turned
    assert wrong.value == pytest.approx(100 - corrected.value)
    assert (wrong.low, wrong.high) == pytest.approx((100 - corrected.high, 100 - corrected.low))
    f1 = [cell(table, "FT-Transformer ensemble", "f1_auc", **place) for place in (where, right)]
    assert f1[0].value == f1[1].value
    assert f1[0].printed == f1[1].printed


def test_a_confidence_printed_with_the_right_sign_has_one_row():
    table = found(of_both(), "Table 11", "classification")[0]
    titles = [row.measure for row in table.rows if row.system == "CatBoost ensemble"]
    assert "Negated confidence (corrected)" in titles
    assert "Confidence (sign as printed)" not in titles


def test_a_random_order_finds_shifted_records_by_chance():
    table = found(of_one(), "Table 4", "v1")[0]
    entry = cell(table, "CatBoost ensemble", "roc_auc", dataset="eval", measure="Random order")
    assert (entry.value, entry.printed[0].text) == (0.5, "0.5000")


def bold(report):
    """The systems whose in-domain RMSE is marked as the best, and the text of the table."""
    table = found(paper.tables([report]), "Table 9", "evaluation")[0]
    assert table.columns[0].place == ("eval", "in", "rmse")
    marked = {row.system for row, cells in zip(table.rows, table.cells, strict=True) if cells[0].best}
    return marked, paper.PAPER.markdown([table]), table.ours(1, 0)[0]


def test_without_a_test_nothing_is_bold():
    marked, text, _ = bold(replace(made(), ranks=()))
    assert marked == set()
    assert "Bold" not in text


def test_the_best_and_those_of_rank_one_within_its_interval_are_bold():
    ranks = [Rank("eval", "in", "rmse", name, rank) for name, rank in zip(PAPER, (1, 1, 3, 3), strict=True)]
    report = made()
    many = {**report.recipe, "intervals": {**report.recipe["intervals"], "replicates": 1000}}  # enough for tests
    report = replace(report, recipe=many, ranks=tuple(ranks))
    place = {"split": "eval", "subset": "in"}
    first, second = (report.score("rmse", system=name, **place) for name in [*PAPER][:2])
    assert not min(first, second, key=lambda one: one.value).high >= max(first.value, second.value)
    marked, text, number = bold(report)
    assert len(marked) == 1  # the other one is far worse, though it has rank 1
    scores = [replace(each, low=0.0, high=1e9) if each in (first, second) else each for each in report.scores]
    marked, text, number = bold(replace(report, scores=tuple(scores)))
    assert marked == {"CatBoost ensemble", "FT-Transformer ensemble"}
    assert f"**{number}**" in text
    assert "Bold: of a run's systems of rank 1" in text


def test_measures_and_training_sets_have_no_test_and_no_bold():
    for table in of_both():
        if table.number in ("Table 4", "Table 11", "Table 13"):
            assert not any(entry.best for cells in table.cells for entry in cells)


def test_runs_of_other_training_sets_fill_tables_12_and_13_alone():
    other = made(systems=("likelihood_boosting",), experiment="C", seed=1)
    tables = paper.tables([made(), other])
    for table in tables:
        if table.number not in ("Table 12", "Table 13"):
            assert other.title not in {row.run for row in table.rows}
    training = found(tables, "Table 13", "evaluation")[0]
    entry = cell(training, "CatBoost ensemble", "rmse", subset="in", experiment="C")
    assert entry.value == other.score("rmse", system="likelihood_boosting", split="eval", subset="in").value
    assert [words[-1] for words in found(tables, "Table 12")[0].words] == [made().title, "–", other.title, "–"]
    alone = paper.tables([other])
    assert {table.number for table in alone} == {"Table 12", "Table 13"}


def test_two_runs_of_one_system_have_a_row_each():
    second = replace(made(systems=("likelihood_boosting",), seed=2), title=made().title)
    table = found(paper.tables([made(), second]), "Table 9", "evaluation")[0]
    rows = [row.run for row in table.rows if row.system == "CatBoost ensemble"]
    assert rows == [f"{made().title} (1)", f"{made().title} (2)"]


# --- what is said of the data ---------------------------------------------------------------------------------------


def test_tables_of_other_data_say_that_print_does_not_compare():
    for origin, words in ((EXAMPLE, EXAMPLE), ("", "another table")):
        for table in paper.tables([made(systems=PAPER[:1], origin=origin)]):
            if table.columns:
                assert words in table.caption
                assert "are not comparable" in table.caption
    for table in paper.tables([made(systems=PAPER[:1], origin=OFFICIAL)]):
        assert "comparable with ours" not in table.caption


def test_another_unit_is_said():
    report = replace(made(systems=PAPER[:1], origin=""), target_unit="MW", error_unit="MW²")
    table = found(paper.tables([report]), "Table 9", "evaluation")[0]
    assert f"{report.title} measures in MW, the paper in °C." in table.notes


# --- what is missing ------------------------------------------------------------------------------------------------


def test_a_run_that_lacks_anything_leaves_dashes(tmp_path):
    report = made(systems=("likelihood_boosting", "tabm"))
    bare = [
        made(systems=("mean",)),
        replace(report, recipe={}),
        replace(report, recipe={"systems": "torn", "track": "torn"}),
        replace(report, scores=(), curves=()),
        replace(report, scores=tuple(score for score in report.scores if score.split == "eval"), curves=(), ranks=()),
        replace(report, scores=tuple(replace(score, value=float("nan")) for score in report.scores), curves=()),
    ]
    for entry in bare:
        table = found(paper.tables([entry]), "Table 9", "development")[0]
        row = [row.system for row in table.rows].index("CatBoost ensemble")
        assert table.ours(row, 0) == ("–", "")
        assert table.in_print(row, 0) == "1.51"
    drawn = [
        {figure.path.stem for figure in paper.figures([replace(entry, curves=())], tmp_path)} for entry in bare[-3:]
    ]
    assert drawn == [set(), {"regression_robustness", "regression_measures_eval"}, set()]


def test_without_a_report_of_a_task_there_is_no_table():
    errors = replace(made(), task="errors")
    with pytest.raises(TableError, match=r"with reports of regression or classification, found: .* \(errors\)"):
        paper.tables([errors])
    with pytest.raises(TableError, match="found: no report"):
        paper.tables([])
    assert {table.task for table in paper.tables([errors, made()])} == {"regression", ""}


def test_reports_are_found_by_run_by_folder_and_by_file(tmp_path):
    path = made().save(tmp_path / "run" / "report" / "report.json")
    assert [entry.title for entry in finding.load([tmp_path / "run", path.parent, path])] == [made().title] * 3


def test_every_path_without_a_report_is_named(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "torn.json").write_text("{")
    with pytest.raises(TableError, match="expected the folder of a run") as caught:
        finding.load([tmp_path / "empty", tmp_path / "absent", tmp_path / "torn.json"])
    assert [name in str(caught.value) for name in ("empty", "absent", "torn.json")] == [True] * 3


# --- formats --------------------------------------------------------------------------------------------------------


def test_the_csv_holds_every_number_in_the_unit_of_print():
    tables = of_both()
    frame = pl.read_csv(io.StringIO(csv(tables)), infer_schema_length=None)
    numbers = sum(max(len(entry.printed), entry.value is not None) for t in tables for row in t.cells for entry in row)
    assert frame.height == numbers
    row = frame.filter(
        pl.col("table").str.ends_with("full paper, Table 10"), own_name="likelihood_boosting", metric="f1_auc",
        dataset="eval", task="classification",
    )  # fmt: skip
    score = made("classification", (*PAPER, "majority")).score(
        "f1_auc", system="likelihood_boosting", split="eval", subset="full"
    )
    assert row["ours"].to_list() == [100 * score.value]
    assert (row["printed"].item(), row["unit"].item()) == (58.22, "%")


def test_markdown_rows_are_as_long_as_their_heads_whatever_the_names():
    name = "a|b`<script>*_"
    report = replace(made(systems=("likelihood_boosting", "mean")), title=name)
    text = paper.PAPER.markdown(paper.tables([report, replace(made(systems=("tabm",)), title=name)]))
    assert "<script>" not in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


@pytest.mark.parametrize("width", [60, 100, 200])
def test_a_terminal_of_any_width_shows_every_number_whole(width):
    table = found(of_both(), "Table 9", "classification, evaluation")[0]
    buffer = io.StringIO()
    Console(file=buffer, width=width).print(render([table]))
    text = buffer.getvalue()
    for row in range(len(table.rows)):
        for place in range(len(table.columns)):
            value, note = table.ours(row, place)
            assert re.search(rf"(?<![\d.]){re.escape(value)}(?![\d.])", text), value
            assert note in text
            assert table.in_print(row, place) in text
    assert max(map(len, text.splitlines())) <= width


# --- figures --------------------------------------------------------------------------------------------------------


def test_pictures_are_drawn_of_what_there_is_and_the_same_each_time(tmp_path):
    runs = [
        made(systems=("likelihood_boosting", "tabm")),
        made(systems=("likelihood_boosting",), experiment="B", seed=1),
    ]
    runs = [replace(run, curves=()) for run in runs]
    paths = [path for figure in paper.figures(runs, tmp_path / "one") for path in figure.paths]
    stems = {path.stem for path in paths}
    assert {"regression_robustness", "regression_measures_eval", "regression_training_sets"} <= stems
    assert not any(stem.startswith("classification") or "retention" in stem for stem in stems)
    assert {path.suffix for path in paths} == {".png", ".svg"}
    again = [path for figure in paper.figures(runs, tmp_path / "two") for path in figure.paths]
    assert [path.read_bytes() for path in paths] == [path.read_bytes() for path in again]


def test_print_is_not_drawn_on_an_axis_of_another_unit(tmp_path):
    report = replace(made(systems=("likelihood_boosting",)), curves=())
    other = replace(report, target_unit="MW", error_unit="MW²")
    pictures = []
    for place, run in enumerate((report, other)):
        paths = [figure.svg for figure in paper.figures([run], tmp_path / str(place))]
        pictures.append(next(path.read_text("utf-8") for path in paths if path.name == "regression_robustness.svg"))
    assert "<!-- FT-Transformer ensemble -->" in pictures[0]
    assert "<!-- FT-Transformer ensemble -->" not in pictures[1]
    assert "<!-- CatBoost ensemble -->" in pictures[1]
    assert "MW" in pictures[1]


def test_without_other_training_sets_there_is_no_picture_of_them(tmp_path):
    report = replace(made("classification", (*PAPER, "majority")), curves=())
    stems = {figure.path.stem for figure in paper.figures([report], tmp_path)}
    assert "classification_robustness" in stems
    assert "classification_training_sets" not in stems


def test_writing_leaves_tables_and_pictures_that_refer_to_each_other(tmp_path):
    paths = paper.PAPER.write([made(systems=("likelihood_boosting",))], tmp_path)
    assert sorted(paths) == ["csv", "figures", "html", "markdown"]
    pictures = re.findall(r"!\[.*\]\((.*)\)", paths["markdown"].read_text("utf-8"))
    assert {"figures/regression_error_retention_eval.png", "figures/regression_f1_retention_dev.png"} <= set(pictures)
    assert all((tmp_path / picture).is_file() for picture in pictures)


@pytest.mark.parametrize(
    ("track", "expected"),
    [
        ({"name": "translation"}, "expected a run of the track weather, found one of 'translation'"),
        ({"name": "weather", "experiment": "Z"}, "expected an experiment among A, B, C, D, found 'Z'"),
    ],
)
def test_runs_of_other_tracks_and_experiments_are_refused(track, expected):
    foreign = replace(made(), recipe={**made().recipe, "track": track})
    with pytest.raises(TableError, match=re.escape(expected)):
        paper.tables([made(), foreign])
