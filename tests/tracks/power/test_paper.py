"""The power tables of the paper from runs: every printed value in its cell, ours beside it, agreement computed."""

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
from shiftbench.ensembles import Gaussian
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.report.content import Report
from shiftbench.scores.intervals import Settings
from shiftbench.scores.score import Slice
from shiftbench.track import published
from shiftbench.track.paper.text import csv
from shiftbench.tracks.power import paper
from shiftbench.tracks.power.paper import comparison
from shiftbench.tracks.power.paper.systems import MODELS, Run
from shiftbench.tracks.power.paper.tables import LAYOUTS
from shiftbench.tracks.power.schema import INTERVALS

SYNTHETIC, REAL, EXAMPLE = "official, synthetic", "official, real", "made-up, example power rows=4000 seed=0"
SYSTEMS = {"DNN": "mlp", "MC-dropout": "mlp_dropout", "VI": "mlp_flipout", "Symbolic": "symbolic"}
SPLITS = ("dev", "eval", "generalization")
RECORDS = 120
COUNTS = {"train": 523_190, "dev_in": 18_108, "dev_out": 18_108, "eval_in": 46_021, "eval_out": 46_021}


def gaussian(method, rng, targets, sd, *, noise):
    """Ten members, where the model answers at random with three draws each; the mean has one member."""
    draws = 3 if method in ("mlp_dropout", "mlp_flipout") else 1
    models = 1 if method == "mean" else 10
    shared = noise * sd * rng.standard_normal(targets.size)
    own = noise * rng.lognormal(5.2, 0.35, (models, 1)) * rng.standard_normal((models, targets.size))
    answer = np.repeat(targets + shared + own, draws, axis=0)
    answer = answer + 20.0 * rng.standard_normal(answer.shape) * (draws > 1)
    return Gaussian(answer, np.broadcast_to((noise * sd) ** 2, answer.shape).copy(), draws=draws)


@cache
def made(systems=tuple(SYSTEMS), origin=EXAMPLE, seed=0, splits=SPLITS, unit="kW") -> Report:
    """A small run: each system a little noisier than the one before it, shifted records harder."""
    rng, parts = np.random.default_rng(seed), []
    for split in splits:
        whole = split == "generalization"
        shifted = np.arange(2 * RECORDS) >= RECORDS
        sd = np.where(shifted, 1400.0, 1000.0) * np.exp(0.4 * rng.standard_normal(shifted.size)) * (1.3 if whole else 1)
        targets = rng.uniform(6_000.0, 38_000.0, shifted.size)
        entries = []
        for place, name in enumerate(systems):
            ensemble = gaussian(SYSTEMS.get(name, "mean"), rng, targets, sd, noise=1.0 + 0.15 * place)
            role = "ensemble" if name in SYSTEMS else "baseline"
            entries.append(scored.regression(name, ensemble, targets, role=role))
        parts.append((Records(shifted.size, split, None if whole else shifted), entries))
    recipe = {
        "track": {"name": "power", "origin": origin, "preset": "quick"},
        "systems": {name: {"method": SYSTEMS.get(name, "mean"), "members": 10} for name in systems},
        "partition": {"counts": dict(COUNTS)},
    }
    settings = Settings(replicates=50)
    options = Options(
        f"power {seed}", "regression", 500.0**2, rule="mixed", intervals=settings, recipe=recipe, target_unit=unit,
        error_unit=f"{unit}²", error_name="squared error",
    )  # fmt: skip
    return build(parts, options)


@cache
def of_example():
    """The tables of the run on made-up data."""
    return paper.tables([made()])


@cache
def of_real():
    """The tables of a run on real data."""
    return paper.tables([made(origin=REAL, splits=("dev", "eval"))])


def found(tables, number, *words):
    """The tables of a number whose headings have the words."""
    return [entry for entry in tables if entry.number == number and all(word in entry.heading for word in words)]


def cell(table, system, metric, subset="full"):
    row = [entry.system for entry in table.rows].index(system)
    return table.cells[row][[(column.metric, column.subset) for column in table.columns].index((metric, subset))]


# --- print ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.number)
def test_every_printed_value_stands_in_its_table_once(layout):
    frame = published.results(track="power", task=layout.kind)
    frame = frame.filter(pl.col("source") == f"Shifts 2.0, {layout.number}")
    shown = Counter()
    for table in found(of_real() if layout.kind == "real" else of_example(), layout.number):
        for cells in table.cells:
            for column, entry in zip(table.columns, cells, strict=True):
                dataset = "gen" if column.dataset == "generalization" else column.dataset
                for value in entry.printed:
                    shown[dataset, column.subset, column.metric, column.unit, value.text, value.std] += 1
    columns = ("dataset", "subset", "metric", "unit", "printed", pl.col("printed_std").fill_null(""))
    assert frame.height == sum(shown.values())
    assert shown == Counter(frame.select(columns).rows())


def test_known_cells_of_the_paper():
    tables = of_example()
    errors = found(tables, "Table 23", "generalization")[0]
    single = cell(errors, "DNN single", "rmse").printed[0]
    assert (single.text, single.std) == ("1487", "52")
    assert cell(errors, "VI deep ensemble", "mape").printed[0].text == "23.19"
    joint = found(tables, "Table 24", "generalization")[0]
    sampled = cell(joint, "MC dropout ensemble (1 × 10)", "r_auc").printed[0]
    assert (sampled.text, sampled.std) == ("5.39", "0.45")
    assert joint.titles[0] == "R-AUC ↓ (10⁵ kW²), full"


def test_a_table_that_the_paper_does_not_have_is_refused():
    with pytest.raises(UnknownNameError, match="Unknown table 'Table 99'"):
        paper.printed("Table 99")


@pytest.mark.needs_shared
@pytest.mark.parametrize(("number", "kind"), [("Table 17", "synthetic"), ("Table 18", "real")])
def test_counts_and_shares_are_those_in_print(shared, number, kind):
    facts = pl.read_csv(shared / "facts" / "counts" / "power_partition.csv", infer_schema=False).filter(dataset=kind)
    report = made(systems=("DNN",)) if kind == "synthetic" else made(("DNN",), REAL, splits=("dev", "eval"))
    table = found(paper.tables([report]), number)[0]
    places = [place for place, head in enumerate(table.heads) if head.endswith(", printed")]
    shown = {row.system: [words[place] for place in places] for row, words in zip(table.rows, table.words, strict=True)}
    assert shown.keys() == set(facts["partition"])
    for name, percent, *counts in facts.select("partition", "percent", "total", "^group_.$").iter_rows():
        assert shown[name] == [*(f"{int(count):,}" for count in counts), percent or "–"]


def test_wind_intervals_stand_where_they_occur():
    table = found(paper.tables([made(systems=("DNN",))]), "Table 16")[0]
    assert table.words[1] == ("9 ≤ w < 14", "3-4", "train, dev_in, eval_in")
    assert table.words[3] == ("19 ≤ w", ">=5", "dev_out, eval_out")


# --- ours -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("system", "title"),
    [
        ("DNN", "DNN ensemble"),
        ("DNN (single)", "DNN single"),
        ("MC-dropout", "MC dropout deep ensemble"),
        ("MC-dropout (single)", "MC dropout ensemble (1 × 10)"),
        ("VI", "VI deep ensemble"),
        ("VI (single)", "VI ensemble (1 × 10)"),
        ("Symbolic", "Symbolic ensemble"),
        ("Symbolic (single)", "Symbolic single"),
    ],
)
def test_each_system_stands_beside_its_own_of_the_paper_in_the_units_of_print(system, title):
    report = made()
    for number, factors in (
        ("Table 23", {"rmse": 1.0, "mae": 1.0, "mape": 100.0}),
        ("Table 24", {"r_auc": 1e-5, "f1_auc": 1.0, "f1_at_95": 1.0}),
    ):
        tables = found(of_example(), number)
        assert [table.columns[0].dataset for table in tables] == list(SPLITS)
        for table, split in zip(tables, SPLITS, strict=True):
            for metric, factor in factors.items():
                for subset in ("full",) if split == "generalization" else ("in", "shifted", "full"):
                    score = report.score(metric, system=system, split=split, subset=subset)
                    entry = cell(table, title, metric, subset)
                    assert entry.value == score.value * factor
                    assert (entry.std is None) is (score.std is None) is ("(single)" not in system)
                    assert entry.printed


def test_a_mean_over_members_keeps_each_of_them():
    table = found(of_example(), "Table 24", "evaluation")[0]
    entry = cell(table, "VI ensemble (1 × 10)", "r_auc")
    assert len(entry.each) == 10
    assert np.mean(entry.each) == pytest.approx(entry.value)
    assert np.std(entry.each, ddof=1) == pytest.approx(entry.std)


def test_one_member_alone_is_no_ensemble():
    report = made(systems=("DNN",))
    recipe = {**report.recipe, "systems": {"DNN": {"method": "mlp", "members": 1}}}
    one = replace(report, recipe=recipe, systems=tuple(s for s in report.systems if s.role != "single"))
    table = found(paper.tables([one]), "Table 23", "evaluation")[0]
    assert cell(table, "DNN ensemble", "rmse").value is None
    assert (
        cell(table, "DNN single", "rmse").value == report.score("rmse", system="DNN", split="eval", subset="full").value
    )


def test_systems_that_the_paper_lacks_follow_below_without_a_printed_value():
    for table in paper.tables([made(systems=("DNN", "mean"))]):
        if table.columns:
            assert table.rows[-1].system == "mean"
            assert not any(entry.printed for entry in table.cells[-1])


def test_real_data_stand_beside_the_real_tables_and_all_others_beside_the_synthetic():
    numbers = {}
    for origin in (SYNTHETIC, REAL, EXAMPLE, ""):
        numbers[origin] = {table.number for table in paper.tables([made(systems=("DNN",), origin=origin)])}
    assert numbers[REAL] == {"Table 16", "Table 18", "Table 25", "Table 26", "Summary"}
    for origin in (SYNTHETIC, EXAMPLE, ""):
        assert numbers[origin] == {"Table 16", "Table 17", "Table 23", "Table 24", "Summary"}
    both = {table.number for table in paper.tables([made(), made(origin=REAL, splits=("dev", "eval"))])}
    assert both >= {"Table 17", "Table 18", "Table 23", "Table 26"}


# --- what is said of the data ---------------------------------------------------------------------------------------


def test_only_official_data_are_said_to_compare():
    for origin, words in ((SYNTHETIC, "the official synthetic data"), (EXAMPLE, EXAMPLE), ("", "another table")):
        for table in paper.tables([made(systems=("DNN",), origin=origin)]):
            if table.number != "Table 16":
                assert words in table.caption
                assert ("are not comparable" in table.caption) is (origin != SYNTHETIC)
                assert any("apart in the median" in note for note in table.notes) is (
                    origin == SYNTHETIC and bool(table.columns)
                )


def test_how_far_official_data_are_from_print_is_computed():
    report = made(systems=("DNN",), origin=SYNTHETIC)
    table = found(paper.tables([report]), "Table 23", "generalization")[0]
    ours = [
        report.score("rmse", system=name, split="generalization", subset="full") for name in ("DNN", "DNN (single)")
    ]
    known = {metric: cell(table, "DNN ensemble", metric) for metric in ("mae", "mape")}
    known |= {f"{metric} single": cell(table, "DNN single", metric) for metric in ("mae", "mape")}
    apart = [abs(entry.value / entry.printed[0].value - 1) for entry in known.values()]
    apart += [abs(ours[0].value / 1427 - 1), abs(ours[1].value / 1487 - 1)]
    said = f"{100 * np.median(apart):.1f} % apart in the median of 6, {100 * max(apart):.1f} % at most"
    assert any(said in note for note in table.notes)


def test_what_a_run_does_otherwise_is_said():
    report = made(systems=("DNN",))
    few = {**report.recipe, "systems": {"DNN": {"method": "mlp", "members": 3}}}
    other = replace(report, recipe=few, rule="exact", threshold=1.0, target_unit="MW", error_unit="MW²")
    notes = " ".join(found(paper.tables([other]), "Table 24", "evaluation")[0].notes)
    for words in ("measures in MW", "rule 'exact'", "accepts errors by the threshold 1,", "of 3 members"):
        assert words in notes
    plain = " ".join(found(paper.tables([report]), "Table 24", "evaluation")[0].notes)
    assert not any(words in plain for words in ("measures in", "by the rule", "accepts", "where the paper has"))


@pytest.mark.parametrize(
    ("changed", "said"), [({}, "all as printed (7 counts"), ({"dev_out": 5}, "others in dev_out, dev (7 counts")]
)
def test_counts_of_official_data_are_held_against_the_printed_ones(changed, said):
    report = made(systems=("DNN",), origin=SYNTHETIC)
    report = replace(report, recipe={**report.recipe, "partition": {"counts": COUNTS | changed}})
    table = found(paper.tables([report]), "Table 17")[0]
    assert any(said in note for note in table.notes)
    assert not found(of_example(), "Table 17")[0].notes


@pytest.mark.parametrize("odd", ["abc", 7, ["a", None, 2.5, {}], {"1": 2}])
def test_counts_that_are_none_are_left_out(odd):
    recipe = {"partition": {"counts": {"dev_in": [odd]}, "rules": {"drawn": {"dev_in": odd}}}}
    (table,) = found(paper.tables([replace(made(), recipe={**made().recipe, **recipe})]), "Table 17")
    words = table.words[[row.system for row in table.rows].index("dev_in")]
    assert dict(zip(table.heads, words, strict=True))["All, ours"] == "–"
    assert dict(zip(table.heads, words, strict=True))["Interval 1, ours"] == "–"


def test_counts_by_wind_interval_are_shown_where_a_report_has_them():
    report = made(systems=("DNN",))
    drawn = {"dev_in": [10, 20, 30, 0], "dev_out": [0, 0, 0, 60]}
    recipe = {**report.recipe, "partition": {"counts": COUNTS, "rules": {"drawn": drawn}}}
    part = Slice("DNN", "eval", "wind_interval", INTERVALS[2].label, 77, 0.0, 1.0, None, None, 1.0)
    table = found(paper.tables([replace(report, recipe=recipe, slices=(part,))]), "Table 17")[0]
    rows = {row.system: words for row, words in zip(table.rows, table.words, strict=True)}
    places = [table.heads.index(f"Interval {number}, ours") for number in (1, 2, 3, 4)]
    shown = {name: [words[place] for place in places] for name, words in rows.items()}
    assert shown["dev_in"] == ["10", "20", "30", "0"]
    assert shown["dev"] == ["10", "20", "30", "60"]
    assert shown["eval"] == ["–", "–", "77", "–"]
    assert shown["train"] == ["–"] * 4


# --- ranking and degradation ----------------------------------------------------------------------------------------


def rescored(report, values):
    """The report with other scores of ensembles: (system, split, subset, metric) → value, without intervals."""
    scores = tuple(
        replace(score, value=values[key], low=None, high=None)
        if (key := (score.system, score.split, score.subset, score.metric)) in values
        else score
        for score in report.scores
    )
    return replace(report, scores=scores, comparisons=(), ranks=())


def like_print(kind="synthetic"):
    """A report whose ensembles have just the printed RMSE and R-AUC."""
    report = made() if kind == "synthetic" else made(origin=REAL, splits=("dev", "eval"))
    names = {model.name: name for model in MODELS for name, method in SYSTEMS.items() if method == model.method}
    values = {}
    for split, subset in {(score.split, score.subset) for score in report.scores}:
        for metric, factor in (("rmse", 1.0), ("r_auc", 1e5)):
            for name, value in comparison._printed(kind, (split, subset), metric).items():
                values[names[name], split, subset, metric] = value * factor
    return rescored(report, values)


@pytest.mark.parametrize("kind", ["synthetic", "real"])
def test_a_run_with_the_scores_of_print_agrees_with_it_throughout(kind):
    every = comparison.findings(Run("run", like_print(kind)))
    assert len(every) == (6 if kind == "synthetic" else 5)
    for entry in every:
        assert entry.ours == entry.theirs
        assert re.search(r"^4 of 4 the same|6 of 6 pairs", entry.agreement)
    first = {"synthetic": "Symbolic 1,204 < DNN 1,427 < VI 1,446 < MC dropout 1,498", "real": "VI 1,895 < "}
    assert every[0].ours.startswith(first[kind])


def test_a_model_that_changes_places_is_counted_against_agreement():
    report = rescored(like_print(), {("Symbolic", "generalization", "full", "rmse"): 1440.0})
    ranking, _, *_, last, most = comparison.findings(Run("run", report))
    assert ranking.ours == "DNN 1,427 < Symbolic 1,440 < VI 1,446 < MC dropout 1,498"
    assert ranking.agreement == "5 of 6 pairs in the same order"
    assert last.ours.startswith("Symbolic 1.29")
    assert most.agreement == "4 of 4 the same"


def test_models_that_cannot_be_told_apart_are_no_agreement():
    report = like_print()
    wide = tuple(replace(score, low=0.0, high=1e9) if score.metric == "rmse" else score for score in report.scores)
    ranking = comparison.findings(Run("run", replace(report, scores=wide)))[0]
    assert " < " not in ranking.ours
    assert ranking.agreement == "0 of 6 pairs in the same order, 6 undecided"


def test_a_shift_that_costs_nothing_where_print_loses_is_no_agreement():
    ours = {("DNN", "generalization", "full", "rmse"): 1076.0}  # that of eval, in-domain
    entry = next(
        entry
        for entry in comparison.findings(Run("run", rescored(like_print(), ours)))
        if entry.about == "Degradation, generalization over evaluation in-domain"
    )
    assert entry.ours.startswith("DNN 1.00 < ")
    assert entry.agreement.startswith("3 of 4 in the same direction")


def test_without_two_models_there_is_no_ranking():
    kinds = {entry.about.split(" ")[0] for entry in comparison.findings(Run("run", made(systems=("DNN",))))}
    assert kinds == {"Degradation,", "Costs"}
    assert comparison.findings(Run("run", made(systems=("mean",)))) == []


# --- what is missing ------------------------------------------------------------------------------------------------


def test_a_run_that_lacks_anything_leaves_dashes(tmp_path):
    report = replace(made(), curves=())
    bare = [
        replace(report, recipe={}),
        replace(report, recipe={"systems": "torn", "track": "torn", "partition": "torn"}),
        replace(report, scores=()),
        replace(report, scores=tuple(replace(score, value=float("nan")) for score in report.scores)),
    ]
    for place, entry in enumerate(bare):
        tables = paper.tables([entry])
        table = found(tables, "Table 23", "evaluation")[0]
        row = [row.system for row in table.rows].index("DNN ensemble")
        assert table.ours(row, 0) == ("–", "")
        assert table.in_print(row, 0) == "1076"
        assert not found(tables, "Summary")
        assert paper.figures([entry], tmp_path / str(place)) == []


def test_reports_without_each_member_still_have_their_spread_drawn(tmp_path):
    small = made(systems=("DNN",), splits=("dev",))
    report = replace(small, curves=(), scores=tuple(replace(score, each=()) for score in small.scores))
    assert {"synthetic_errors_of_members"} <= {figure.path.stem for figure in paper.figures([report], tmp_path)}


@pytest.mark.parametrize(
    ("reports", "expected"),
    [
        ([], "expected a run of the track power, with reports of regression, found: no report. Name the folder"),
        (
            ["errors"],
            "expected a run of the track power, with reports of regression, found: power 0 (errors). Name",
        ),
        (["weather"], "expected a run of the track power, found one of 'weather'. Leave it out"),
    ],
)
def test_reports_that_have_no_place_here_are_refused(reports, expected):
    entries = {
        "errors": replace(made(), task="errors"),
        "weather": replace(made(), recipe={**made().recipe, "track": {"name": "weather"}}),
    }
    with pytest.raises(TableError, match=re.escape(expected)):
        paper.tables([entries[name] for name in reports])


# --- formats and figures --------------------------------------------------------------------------------------------


def test_the_csv_holds_every_number_in_the_unit_of_print():
    tables = of_example()
    frame = pl.read_csv(io.StringIO(csv(tables)), infer_schema_length=None)
    numbers = sum(max(len(entry.printed), entry.value is not None) for t in tables for row in t.cells for entry in row)
    assert frame.height == numbers
    row = frame.filter(
        table="Shifts 2.0, Table 24", own_name="Symbolic", metric="r_auc", dataset="generalization", task="synthetic"
    )
    score = made().score("r_auc", system="Symbolic", split="generalization", subset="full")
    assert (row["ours"].item(), row["printed"].item(), row["unit"].item()) == (1e-5 * score.value, 4.41, "1e5 kW^2")


@pytest.mark.parametrize("width", [60, 120])
def test_a_terminal_of_any_width_shows_every_table(width):
    buffer = io.StringIO()
    Console(file=buffer, width=width).print(paper.PAPER.shown([made()]))
    text = buffer.getvalue()
    assert all(number in text for number in ("Summary", "Table 16", "Table 17", "Table 23", "Table 24"))
    assert max(map(len, text.splitlines())) <= width


def test_markdown_rows_are_as_long_as_their_heads_whatever_the_names():
    name = "a|b`<script>*_"
    text = paper.PAPER.markdown(paper.tables([replace(made(systems=("DNN",)), title=name)]))
    assert "<script>" not in text
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        assert len({len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}) == 1


def test_writing_leaves_tables_and_pictures_that_refer_to_each_other(tmp_path):
    paths = paper.PAPER.write([made(systems=("DNN",), splits=("dev",))], tmp_path)
    assert sorted(paths) == ["csv", "figures", "html", "markdown"]
    pictures = re.findall(r"!\[.*\]\((.*)\)", paths["markdown"].read_text("utf-8"))
    names = ("errors_of_members", "scores_of_members", "error_retention_dev", "f1_retention_dev", "degradation_rmse")
    assert {f"figures/synthetic_{name}.png" for name in names} <= set(pictures)
    assert all((tmp_path / picture).is_file() for picture in pictures)


def test_pictures_are_the_same_each_time_and_hold_no_print_of_another_unit(tmp_path):
    report = replace(made(systems=("DNN",), splits=("generalization",)), curves=())
    other = replace(report, target_unit="MW", error_unit="MW²")
    first, again, foreign = (
        {path.name: path for figure in paper.figures([run], tmp_path / str(place)) for path in figure.paths}
        for place, run in enumerate((report, report, other))
    )
    assert {path.suffix for path in first.values()} == {".png", ".svg"}
    assert [path.read_bytes() for path in first.values()] == [path.read_bytes() for path in again.values()]
    drawn = [paths["synthetic_errors_of_members.svg"].read_text("utf-8") for paths in (first, foreign)]
    assert ["RMSE ↓ (kW)" in text for text in drawn] == [True, False]
    assert "RMSE ↓ (MW)" in drawn[1]
    assert len(drawn[1]) < len(drawn[0])
