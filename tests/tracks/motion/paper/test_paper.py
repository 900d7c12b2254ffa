"""The motion tables of the paper from runs: every printed value in its cell, ours beside it, agreement computed."""

from __future__ import annotations

import io
from collections import Counter
from dataclasses import replace
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from rich.console import Console

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Rank
from shiftbench.track import published
from shiftbench.tracks.motion import paper
from shiftbench.tracks.motion.paper import facets
from shiftbench.tracks.motion.paper.systems import PaperSystem, error_of, of
from shiftbench.tracks.motion.paper.tables import LAYOUTS
from shiftbench.tracks.motion.schema import COUNTS, PARTITIONS
from tests.tracks.motion.paper import made

FIRST = "RIP-BC deep MA K=5"


@cache
def of_one():
    """The tables of the report by cNLL alone."""
    return paper.tables([made.run()])


@cache
def of_all():
    """The tables of all reports of a run."""
    return paper.tables(made.reports())


def found(tables, number, *words):
    """The tables of a number whose headings have the words."""
    return [entry for entry in tables if entry.number == number and all(word in entry.heading for word in words)]


def cell(table, system, metric, subset="full"):
    row = [entry.system for entry in table.rows].index(system)
    return table.cells[row][[(column.metric, column.subset) for column in table.columns].index((metric, subset))]


def shown(table, label):
    return table.words[[row.system for row in table.rows].index(label)]


# --- print ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.number)
def test_every_printed_value_stands_in_its_table_once(layout):
    frame = published.results(track="motion").filter(pl.col("source") == f"{layout.paper}, {layout.number}")
    counted = Counter()
    for table in found(of_one(), layout.number):
        for row, cells in zip(table.rows, table.cells, strict=True):
            for column, entry in zip(table.columns, cells, strict=True):
                for value in entry.printed:
                    name = (
                        f"{column.metric}_{table.task}" if column.metric.startswith(("r_auc", "f1")) else column.metric
                    )
                    counted[row.system, column.dataset, column.subset, name, column.unit, value.text] += 1
    expected = Counter(
        (PaperSystem(*names, int(k)).title, *place)
        for *names, k, place in (
            (row["model"], row["ensemble"], row["aggregation"], row["k"], tuple(row[key] for key in PLACE))
            for row in frame.iter_rows(named=True)
        )
    )
    assert counted == expected
    assert frame.height == sum(counted.values())


PLACE = ("dataset", "subset", "metric", "unit", "printed")


def test_known_cells_of_the_paper():
    tables = of_one()
    robust = found(tables, "Table 7", "cNLL", "development")[0]
    assert [cell(robust, FIRST, name).printed[0].text for name in ("r_auc", "f1_auc", "f1_at_95", "roc_auc")] == [
        "9.08", "65.2", "90.6", "49.2",
    ]  # fmt: skip
    assert cell(found(tables, "Table 7", "weightedADE")[0], FIRST, "r_auc").printed[0].text == "0.236"
    first = found(tables, "Table 14", "arXiv v1", "weightedADE", "development")[0]
    assert cell(first, "RIP-BC deep LQ K=1", "f1_auc", "shifted").printed[0].text == "0.685"
    assert robust.titles[0] == "R-AUC ↓ (nats), full"


def test_the_first_version_prints_the_same_errors():
    table = found(of_one(), "Table 20")[0]
    assert any(note.endswith("Table 13, the same in every value.") for note in table.notes)


def test_values_of_the_first_version_that_were_filled_in_are_marked():
    table = found(of_one(), "Table 14", "evaluation")[0]
    row = [entry.system for entry in table.rows].index("RIP-BC deep LQ K=1")
    place = [(column.metric, column.subset) for column in table.columns].index(("roc_auc", "full"))
    assert table.in_print(row, place) == "52.8ᵃ"
    assert any(note.startswith("ᵃ ") for note in table.notes)


def test_a_table_that_the_paper_does_not_have_is_refused():
    with pytest.raises(UnknownNameError, match="Unknown table 'Table 99'"):
        paper.printed("Table 99")


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("r_auc_cnll", ("r_auc", "cnll")),
        ("f1_at_95_weighted_ade", ("f1_at_95", "weighted_ade")),
        ("weighted_ade", ("weighted_ade", None)),
        ("cnll", ("cnll", None)),
        ("roc_auc", ("roc_auc", None)),
    ],
)
def test_scores_are_called_as_reports_call_them(name, expected):
    assert error_of(name) == expected
    assert expected[0] in METRICS


# --- ours -----------------------------------------------------------------------------------------------------------


def test_scores_come_from_whichever_report_holds_them():
    tables = of_all()
    cnll, ade, every = made.reports()
    for table, split in zip(found(tables, "Table 7", "cNLL"), ("dev", "eval"), strict=True):
        for metric, factor in {"r_auc": 1.0, "f1_auc": 100.0, "f1_at_95": 100.0, "roc_auc": 100.0}.items():
            value = cnll.score(metric, system="BC", split=split, subset="full").value
            assert cell(table, FIRST, metric).value == pytest.approx(factor * value)
    table = found(tables, "Table 7", "weightedADE", "evaluation")[0]
    assert cell(table, FIRST, "r_auc").value == ade.score("r_auc", system="BC", split="eval", subset="full").value
    table = found(tables, "Table 21", "evaluation")[0]
    score = every.score("r_auc", system="DIM dropout LQ 3", split="eval", subset="shifted")
    assert cell(table, "RIP-DIM dropout LQ K=3", "r_auc", "shifted").value == score.value


def test_a_single_model_stands_where_one_member_does():
    table = found(of_all(), "Table 20", "development")[0]
    score = made.run().score("cnll", system="BC alone", split="dev", subset="in")
    assert cell(table, "RIP-BC deep MA K=1", "cnll", "in").value == score.value


def test_systems_that_the_paper_does_not_have_come_last():
    tables = of_all()
    assert [row.system for row in found(tables, "Table 6")[0].rows][4:] == ["vector"]
    rows = [row.system for row in found(tables, "Table 20")[0].rows]
    assert len(rows) == len(set(rows))
    assert rows.index("RIP-BC deep WCM K=5") >= 24
    assert "RIP-BC dropout BCM K=3" in rows


MASKS = "RIP-BC MC dropout (one network) MA K=3"


def test_masks_of_one_network_have_a_row_of_their_own_and_the_printed_dropout_is_of_trained_networks():
    tables = of_all()
    every = made.run(every=True)
    for number, metric in (("Table 20", "cnll"), ("Table 21", "r_auc")):
        table = found(tables, number, "evaluation")[0]
        place = {"split": "eval", "subset": "full"}
        shown = {row: cell(table, row, metric) for row in ("RIP-BC dropout MA K=3", MASKS)}
        for (row, entry), system in zip(shown.items(), ("BC dropout MA 3", "BC masks MA 3"), strict=True):
            own = "mean_error" if metric == "cnll" else metric
            assert entry.value == every.score(own, system=system, **place).value, row
        assert (bool(shown["RIP-BC dropout MA K=3"].printed), shown[MASKS].printed) == (True, ())
        assert sum(note.startswith("Members of MC dropout are masks of one network") for note in table.notes) == 1
    assert not any(row.system == MASKS for row in found(tables, "Table 7")[0].rows)
    assert not any(note.startswith("Members of MC dropout") for note in found(of_one(), "Table 20")[0].notes)


def test_dropout_of_earlier_reports_was_masks_of_one_network():
    report = made.run(every=True)
    systems = {
        name: {key: value for key, value in system.items() if key != "networks"}
        for name, system in report.recipe["systems"].items()
    }
    table = found(paper.tables([replace(report, recipe={**report.recipe, "systems": systems})]), "Table 20")[0]
    own = {row.system: row.own for row in table.rows}
    assert own[MASKS] in ("BC dropout MA 3", "BC masks MA 3")
    assert own["RIP-BC dropout MA K=3"] == ""
    assert own["RIP-BC dropout MA K=1"] == "BC dropout MA 1", "the same with one network"


def test_systems_of_print_that_no_run_has_are_rows_too():
    table = found(of_one(), "Table 21")[0]
    entry = cell(table, "RIP-DIM dropout LQ K=3", "r_auc")
    assert entry.value is None
    assert entry.printed


def test_bold_are_the_systems_of_rank_one_and_nothing_else():
    own = {row.system: row.own for row in found(of_all(), "Table 20", "evaluation")[0].rows}
    place = ("eval", "full", "weighted_ade")
    ranks = (Rank(*place, own["vector"], 1), Rank(*place, own[FIRST], 2))
    enough = {"level": 0.95, "replicates": 1_000_000, "used": {"eval": "percentile"}}
    ranked = [replace(report, ranks=ranks, recipe={**report.recipe, "intervals": enough}) for report in made.reports()]
    table = found(paper.tables(ranked), "Table 20", "evaluation")[0]
    bold = [entry for cells in table.cells for entry in cells if entry.best]
    assert bold == [cell(table, "vector", "weighted_ade")]
    unranked = [replace(report, ranks=()) for report in made.reports()]
    assert not any(entry.best for table in paper.tables(unranked) for cells in table.cells for entry in cells)


def test_reports_of_one_run_are_one_bundle_and_those_of_others_are_not():
    (bundle,) = of(made.reports())
    assert (bundle.name, len(bundle.runs)) == ("motion quick", 3)
    bundles = of([*made.reports(), made.run(origin=made.OFFICIAL)])
    assert [len(entry.runs) for entry in bundles] == [3, 1]
    assert len({entry.name for entry in bundles}) == 2


def test_a_second_run_on_the_same_data_does_not_vanish_behind_the_first():
    """Only its scores are others: another version of a method, say."""
    first = made.reports()
    second = [
        replace(report, scores=tuple(replace(score, value=2 * score.value) for score in report.scores))
        for report in first
    ]
    mixed = [first[0], second[0], first[1], second[1], second[2], first[2]]
    bundles = of(mixed)
    assert [[entry.report for entry in bundle.runs] for bundle in bundles] == [first, second]
    assert len(of([*first, *first])) == 1


def test_what_is_done_otherwise_is_said():
    other = replace(made.run(), threshold=30.0, rule="exact")
    tables = paper.tables([other])
    notes = " ".join(found(tables, "Table 21")[0].notes)
    assert "accepts errors by the threshold 30, the paper up to 25." in notes
    assert "scores by the rule 'exact'; print by 'published'" in notes
    assert "has no report by weightedADE" in " ".join(found(tables, "Table 14")[0].notes)
    assert "accepts" not in " ".join(found(of_one(), "Table 21")[0].notes)


def test_distance_from_print_is_told_of_official_data_alone():
    def notes(report):
        return " ".join(found(paper.tables([report]), "Table 6")[0].notes)

    assert "apart in the median" in notes(made.run(origin=made.OFFICIAL))
    assert "apart in the median" not in notes(made.run())


def test_reports_of_other_tracks_and_tasks_are_refused():
    says = r"the track motion, with reports of cnll or weighted_ade, found: .* \(regression\)\. Name the folder"
    with pytest.raises(TableError, match=says):
        paper.tables([replace(made.run(), task="regression")])
    foreign = replace(made.run(), recipe={"track": {"name": "power"}})
    with pytest.raises(TableError, match="expected a run of the track motion, found one of 'power'"):
        paper.tables([foreign])


# --- facets ---------------------------------------------------------------------------------------------------------


def test_tags_are_counted_beside_print():
    tables = of_one()
    assert shown(found(tables, "Table 16")[0], "Location: Moscow") == (
        "450,504",
        "107",
        "30,505",
        "514",
        "30,534",
        "914",
    )
    assert shown(found(tables, "Table 17")[0], "Precipitation: Snow") == ("36,574", "17", "2,262", "34", "2,985", "34")
    assert shown(found(tables, "Table 18")[0], "Stopping") == ("441,619", "11", "38,411", "55", "39,336", "99")
    assert shown(found(tables, "Table 19")[0], "eval_out") == ("shifted", "9,939", "562")
    assert shown(found(tables, "Table 15")[0], "motion quick cnll")[:4] == ("10", "150", "609", "1,021")
    assert "Table 9 in the first version of the paper." in found(tables, "Table 16")[0].notes


def test_official_counts_are_compared():
    table = found(paper.tables([made.run(origin=made.OFFICIAL)]), "Table 19")[0]
    assert any(note.endswith("all as printed.") for note in table.notes)
    report = made.run(origin=made.OFFICIAL)
    tags = {**report.recipe["tags"], "dev_out": {"location": {"Skolkovo": 3}}}
    other = replace(report, recipe={**report.recipe, "tags": tags})
    assert any(note.endswith("others in dev_out.") for note in found(paper.tables([other]), "Table 19")[0].notes)


@pytest.mark.parametrize("tags", [None, [], {"train": 3}, {"train": {"location": {"Moscow": "many"}}}, {"other": {}}])
def test_reports_without_counts_leave_their_columns_out_or_empty(tags):
    report = replace(made.run(), recipe={**made.run().recipe, "tags": tags})
    table = found(paper.tables([report]), "Table 19")[0]
    assert shown(table, "train")[1] == "388,406"


@pytest.mark.needs_shared
def test_printed_datasets_are_those_of_the_facts(shared):
    facts = pl.read_csv(shared / "facts" / "counts" / "motion_dataset_comparison.csv", infer_schema=False)
    assert [tuple(row.values()) for row in facets.datasets()] == [
        tuple(value or "" for value in row) for row in facts.drop("source").rows()
    ]


# --- output ---------------------------------------------------------------------------------------------------------


def _only(report, *, split, systems=None):
    """A report cut to a split, and to some of its systems."""
    kept = {system.name for system in report.systems} if systems is None else systems
    return replace(
        report,
        systems=tuple(system for system in report.systems if system.name in kept),
        counts=tuple(count for count in report.counts if count.split == split),
        curves=tuple(curve for curve in report.curves if curve.system in kept and curve.split == split),
    )


def test_tables_can_be_written_and_shown(tmp_path: Path):
    bc = {name for name in made.EVERY if name.startswith("BC")}
    report = _only(made.run(every=True), split="eval", systems=bc)
    written = paper.PAPER.write([report], tmp_path)
    assert written["markdown"].read_text("utf-8").startswith("# The vehicle motion tables of Shifts 1.0")
    frame = pl.read_csv(written["csv"], infer_schema=False)
    assert frame.filter(pl.col("ours").is_not_null() & pl.col("printed").is_not_null()).height > 200
    assert {path.name for path in written["figures"].glob("*.png")} == {"tags.png", "by_members_eval_RIP-BC.png"}
    console = Console(file=io.StringIO(), width=140)
    console.print(paper.PAPER.shown([report]))
    assert "Table 21" in console.file.getvalue()


def test_retention_is_drawn_by_backbone(tmp_path: Path):
    small = _only(made.run(tags=False), split="eval", systems={"BC", "vector"})
    only_f1 = replace(small, curves=tuple(curve for curve in small.curves if curve.kind == "f1_retention"))
    names = {figure.path.stem for figure in paper.figures([only_f1], tmp_path)}
    assert names == {"f1_retention_eval_cnll_RIP-BC", "f1_retention_eval_cnll_others"}


def test_labels_of_facets_are_those_of_the_schema():
    assert set(facets.TITLES) <= set(COUNTS["train"])
    assert {name for names in facets.SHIFT.values() for name in names} == set(PARTITIONS)
