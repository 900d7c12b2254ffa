"""The records behind the scores: the right ones, in an order that no order of the rows changes."""

from __future__ import annotations

import csv as csv_format
import datetime as dt
import io
import math
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench import Categorical, Gaussian, assess, assess_predictions
from shiftbench.assessment import scored, scored_table
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.columns import Columns
from shiftbench.assessment.notable import LONGEST, MOST, MOST_TEXTS, chosen, notable
from shiftbench.assessment.scored import Records
from shiftbench.assessment.source import Source
from shiftbench.errors import TableError
from shiftbench.partition.features import Features
from shiftbench.report import notable as shown
from shiftbench.report.content import Report
from shiftbench.report.page import html
from shiftbench.scores import intervals
from shiftbench.scores.score import Notable, Text
from tests.report.factory import HOSTILE, hostile

N = 500
RNG = np.random.default_rng(3)
ERRORS, UNCERTAINTY = RNG.chisquare(1, N).round(1), RNG.random(N).round(2)  # with ties
SHIFTED = RNG.random(N) < 0.4
TABLE = pl.DataFrame(
    {
        "name": [f"r{place}" for place in RNG.permutation(N)],
        "y": RNG.normal(size=N),
        "city": RNG.choice(["a", "b"], N),
        "text": ["x" * 1000] * N,
        "single": RNG.normal(size=N).round(1).astype(np.float32),
        "gap": [None, math.nan, 1.0, 2.0, math.inf] * (N // 5),
        "^.*$": ["a name, not a pattern"] * N,
        "vector": [[1.0, 2.0]] * N,
    }
)
FEW = Options(task="regression", intervals=intervals.Settings(replicates=20))


def described(table: pl.DataFrame = TABLE) -> Source:
    return Source(table, table["name"], np.arange(table.height), Features(), "y", "name", ("city",))


def names(places: np.ndarray, ids: Source) -> list[str]:
    return ids.ids.gather(ids.rows[places]).to_list()


def slowly(errors: np.ndarray, uncertainty: np.ndarray, ids: Source) -> dict[str, list[str]]:
    """The rules of the docs, one record after another."""
    name = ids.ids.to_list()
    edge = sorted(uncertainty)[math.ceil(0.1 * len(errors)) - 1]
    certain = [k for k in range(len(errors)) if uncertainty[k] <= edge and errors[k] > np.median(errors)]

    def first(among, one, two):
        return [name[k] for k in sorted(among, key=lambda k: (-one[k], -two[k], len(name[k]), name[k]))[:20]]

    return {
        "worst": first([k for k in range(len(errors)) if errors[k] > 0], errors, -uncertainty),
        "confident": first(certain, errors, -uncertainty),
        "uncertain": first(range(len(errors)), uncertainty, errors),
    }


@pytest.mark.parametrize("levels", [1, 0])
def test_the_lists_are_those_of_the_rules(levels: int) -> None:
    errors, uncertainty = ERRORS.round(levels), UNCERTAINTY.round(1 + levels)  # few or very many ties
    found = chosen(errors, uncertainty, described())
    assert {kind: names(places, described()) for kind, places in found.items()} == slowly(
        errors, uncertainty, described()
    )


def test_the_order_of_the_rows_never_matters() -> None:
    order = np.random.default_rng(0).permutation(N)
    found = chosen(ERRORS.round(), UNCERTAINTY.round(1), described())
    again = chosen(ERRORS.round()[order], UNCERTAINTY.round(1)[order], described(TABLE[order]))
    assert {kind: names(places, described()) for kind, places in found.items()} == {
        kind: names(places, described(TABLE[order])) for kind, places in again.items()
    }


def test_a_constant_uncertainty_ranks_nothing_and_right_answers_are_not_listed() -> None:
    errors = np.where(np.arange(N) < 7, 1.0, 0.0)
    found = chosen(errors, np.ones(N), described())
    assert {kind: len(places) for kind, places in found.items()} == {"worst": 7}


def test_equal_lists_of_classification_errors_are_shown_once() -> None:
    wrong = (UNCERTAINTY < 0.05) | (UNCERTAINTY > 0.9)
    assert wrong[UNCERTAINTY < 0.05].sum() > MOST
    assert set(chosen(wrong.astype(float), UNCERTAINTY, described())) == {"confident", "uncertain"}


def test_a_report_lists_records_with_their_columns() -> None:
    ensemble = Gaussian(RNG.normal(size=(3, N)), RNG.random((3, N)) + 0.1)
    system = scored.regression("ours", ensemble, TABLE["y"].to_numpy())
    report = build([(Records(N, "eval", SHIFTED, source=described()), [system])], FEW)
    worst = [entry for entry in report.notable if entry.kind == "worst"]
    assert [entry.place for entry in worst] == list(range(1, MOST + 1))
    row = TABLE["name"].to_list().index(worst[0].id)
    assert worst[0].error == system.errors.max() == pytest.approx((worst[0].target - worst[0].answer) ** 2)
    assert (worst[0].target, worst[0].answer) == (TABLE["y"][row], ensemble.answers()[row])
    assert worst[0].shifted == SHIFTED[row]
    assert worst[0].uncertainty == system.uncertainty[system.measure][row]
    assert list(worst[0].columns) == ["city", "text", "single", "gap", "^.*$"]  # neither id nor target, nor lists
    assert worst[0].columns["text"] == "x" * LONGEST
    assert worst[0].columns["single"] == float(str(TABLE["single"][row]))
    assert {entry.columns["gap"] for entry in report.notable} == {None, 1.0, 2.0}
    again = Report.from_json(report.to_json())
    assert again.notable == report.notable


def test_classes_are_listed_by_name() -> None:
    probabilities = RNG.dirichlet(np.ones(2), (3, N))
    truth = RNG.integers(0, 2, N)
    system = scored.classification("ours", Categorical(probabilities, classes=("dry", "rain")), truth)
    table = TABLE.with_columns(y=pl.Series(np.array(["dry", "rain"])[truth]))
    report = build([(Records(N, "eval", source=described(table)), [system])], FEW)
    assert {(entry.target, entry.answer) for entry in report.notable if entry.error} == {
        ("dry", "rain"), ("rain", "dry"),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([True, False], {True, False}),
        ([1, 2], {1, 2}),
        ([dt.date(2021, 1, 31), dt.date(2021, 2, 1)], {"2021-01-31", "2021-02-01"}),
        ([Decimal("0.5"), Decimal("1.5")], {0.5, 1.5}),
    ],
)
def test_answers_of_any_type_are_shown_as_targets_are(values: list[Any], shown: set[Any]) -> None:
    table = pl.DataFrame({"target": values * 30, "answer": values[::-1] * 30, "uncertainty": np.arange(60.0)})
    found = scored_table.read(table, Columns(task="classification"), name="a", where="a.csv")
    entries = notable(found.records, [found.scored])
    assert {entry.target for entry in entries} == {entry.answer for entry in entries} == shown
    assert {type(entry.target) for entry in entries} == {type(entry.answer) for entry in entries}


def test_gaps_of_a_system_are_not_listed() -> None:
    answered = np.arange(N) % 3 > 0
    system = scored.given("gaps", ERRORS, {"uncertainty": UNCERTAINTY}).answering(answered)
    listed = {entry.id for entry in notable(Records(N, source=described()), [system])}
    assert listed <= set(TABLE["name"].filter(pl.Series(answered)))
    assert len(listed) > MOST


def test_only_the_evaluated_records_are_listed_and_those_of_the_leading_system_first() -> None:
    base = scored.given("base", ERRORS, {"uncertainty": UNCERTAINTY})
    base = replace(base, system=replace(base.system, role="baseline"))
    model = scored.given("model", ERRORS, {"uncertainty": UNCERTAINTY})
    records = [Records(N, split, SHIFTED, source=described()) for split in ("dev", "eval", "more")]
    report = build([(each, [base, model]) for each in records], FEW)
    assert {entry.split for entry in report.notable} == {"eval"}
    assert shown.systems(report) == ["model", "base"]


def test_many_systems_of_a_wide_table_stay_small() -> None:
    table = TABLE.with_columns(**{f"c{place}": pl.lit(1) for place in range(900)})
    systems = [scored.given(f"s{place}", ERRORS, {"uncertainty": UNCERTAINTY}) for place in range(9)]
    assert len({entry.system for entry in notable(Records(N, source=described()), systems)}) == 8
    assert len({entry.system for entry in notable(Records(N, source=described(table)), systems)}) == 1


def test_arrays_are_listed_by_position() -> None:
    report = assess(ERRORS, UNCERTAINTY, slices={"city": TABLE["city"].to_numpy()}, options=FEW)
    first = report.notable[0]
    assert (ERRORS[int(first.id)], first.columns) == (ERRORS.max(), {"city": TABLE["city"][int(first.id)]})


def test_reports_of_earlier_versions_have_no_records() -> None:
    plain = hostile().to_json()
    del plain["notable"]
    assert Report.from_json(plain).notable == ()


def test_names_are_text_and_no_formulas_and_columns_of_our_names_stay_apart() -> None:
    text = shown.csv(hostile())
    head, *lines = csv_format.reader(io.StringIO(text))
    assert head[-4:] == [HOSTILE[0], "'=n", "table.id", "wind"]
    assert len(lines) == len(hostile().notable)
    assert lines[3][head.index("id")] == f"'{HOSTILE[3]}"
    assert lines[3][head.index("target")] == f"'{HOSTILE[3]}"
    assert lines[0][head.index("'=n")] == "-3"
    page = html(hostile(), pictures={})
    assert "&lt;script&gt;" in page
    assert HOSTILE[0] not in page
    section = page.partition('id="records"')[2].partition("</section>")[0]
    assert HOSTILE[2].strip() not in section
    assert f"{HOSTILE[2][:50]}" in section


def test_the_page_shows_twelve_columns_and_counts_the_others() -> None:
    table = TABLE.with_columns(**{f"c{place}": pl.lit(place) for place in range(20)})
    system = scored.given("ours", ERRORS, {"uncertainty": UNCERTAINTY})
    report = build([(Records(N, source=described(table)), [system])], FEW)
    (grid, *_) = shown.grids(report, "ours")
    assert [column.title for column in grid.columns][:4] == ["Target", "Error", "Uncertainty", "city"]
    assert len(grid.columns) == 3 + shown.MOST_COLUMNS
    assert grid.note.endswith("13 more columns are in records.csv.")
    assert [row.label for row in grid.rows] == [entry.id for entry in report.notable if entry.kind == "worst"]


# --- texts ------------------------------------------------------------------------------------------------------------

ACCENT, ARABIC, TURNED, FAMILY = "e\u0301", "\u0633\u0644\u0627\u0645", "a\u202eb\x00c", "\U0001f468\u200d\U0001f469"


def test_the_texts_of_records_are_read_for_those_that_are_shown_alone() -> None:
    asked = []

    def texts(places: np.ndarray) -> list[tuple[Text, ...]]:
        asked.extend(places.tolist())
        return [(Text("Source", (f"record {place}",)), Text("Answer", ("a", "b"), (0.1, 0.9))) for place in places]

    answered = np.arange(N) % 3 > 0
    system = replace(scored.given("ours", ERRORS, {"uncertainty": UNCERTAINTY}), texts=texts).answering(answered)
    report = build([(Records(N, "eval", SHIFTED, source=described()), [system])], FEW)
    own = np.array(TABLE["name"])
    listed = [entry for entry in report.notable if entry.texts]
    assert len(listed) == len(asked) == 3 * MOST_TEXTS
    assert {entry.id for entry in listed} == {own[int(entry.texts[0].pieces[0].split()[1])] for entry in listed}
    assert Report.from_json(report.to_json()).notable == report.notable
    page = html(report, pictures={})
    assert page.count("<mark") == 2 * len(listed)
    assert "10 more are in records.csv" in page


def test_texts_are_shown_and_never_run_and_signs_stay_whole() -> None:
    text = Text(
        "<i>", ("<script>alert(1)</script>", "e", "\u0301", ARABIC, TURNED, FAMILY), (0.0, 0.2, 0.7, 0.5, math.nan, 2)
    )
    shown_text = shown.shown(text)
    assert shown_text.pieces == (
        ("<script>alert(1)</script>", 0, "0 %"), (ACCENT, 70, "70 %"), (ARABIC, 50, "50 %"), ("abc", None, ""),
        (FAMILY, 100, "100 %"),
    )  # fmt: skip
    entry = replace(hostile().notable[0], texts=(text,))
    page = html(replace(hostile(), notable=(entry,)), pictures={})
    section = page.partition('id="records"')[2].partition("</section>")[0]
    assert "<script>" not in section
    assert "&lt;script&gt;alert(1)" in section
    assert f'<mark style="--shade: 70%" title="70 %">{ACCENT}</mark>' in section
    assert '<dd dir="auto">' in section


def test_texts_of_a_damaged_report_are_refused() -> None:
    plain = replace(
        hostile(), notable=(replace(hostile().notable[0], texts=(Text("a", ("b", "c"), (0.5, 1.0)),)),)
    ).to_json()
    plain["notable"][0]["texts"][0]["shades"] = [0.5]
    with pytest.raises(TableError, match="a text has 2 pieces and 1 shades"):
        Report.from_json(plain)
    plain["notable"][0]["texts"] = [{"label": "a", "pieces": [3], "shades": []}]
    with pytest.raises(TableError, match=r"Text\.pieces is '3'"):
        Report.from_json(plain)


def test_predictions_are_listed_with_the_records_of_their_own_system_alone() -> None:
    table = pl.DataFrame({"target": ERRORS, "q0.1": 0.0, "q0.9": ERRORS + 1, "shifted": SHIFTED, "city": TABLE["city"]})
    found = scored_table.read(table, Columns(), name="ours", where="a.csv")
    other = replace(found.scored, system=replace(found.scored.system, name="theirs"))
    listed = {entry.system: list(entry.columns) for entry in notable(found.records, [found.scored, other])}
    assert listed == {"ours": ["city", "q0.1", "q0.9"], "theirs": ["city"]}  # shifted is the domain


def test_a_column_has_one_format_in_all_tables_and_whole_numbers_have_no_decimals() -> None:
    table = TABLE.with_columns(age=pl.Series(np.arange(N) % 90.0), size=pl.Series(np.arange(N) / 2))
    ensemble = Gaussian(RNG.normal(size=(3, N)), RNG.random((3, N)) + 0.1)
    system = scored.regression("ours", ensemble, TABLE["y"].to_numpy())
    report = build([(Records(N, "eval", source=described(table)), [system])], replace(FEW, error_unit="kW²"))
    grids = shown.grids(replace(report, error_name="squared error"), "ours")
    for grid in grids:
        titles = [column.title for column in grid.columns]
        assert "Total variance (kW²)" in titles
        assert all(row.cells[titles.index("age")].text.isdigit() for row in grid.rows)
    decimals = {row.cells[titles.index("size")].text.partition(".")[2] != "" for grid in grids for row in grid.rows}
    assert len(decimals) == 1


def test_a_target_is_written_alike_in_the_tables_of_all_systems() -> None:
    def listed(system: str, *targets: float) -> list[Notable]:
        return [
            Notable(system, "eval", "worst", place, f"r{target}", 1.0, 1.0, target=target, answer=target)
            for place, target in enumerate(targets, 1)
        ]

    system = scored.given("near", ERRORS, {"uncertainty": UNCERTAINTY})
    report = replace(
        build([(Records(N, "eval", SHIFTED), [system])], FEW),
        notable=(*listed("near", 31.9, 20.5), *listed("far", 31.9, 700.5, 800.5)),
    )
    firsts = {shown.grids(report, name)[0].rows[0].cells[0].text for name in ("near", "far")}
    assert len(firsts) == 1


def test_a_system_without_uncertainty_has_no_column_of_it() -> None:
    system = scored.given("ours", ERRORS, {"uncertainty": np.zeros(N)})
    report = build([(Records(N, "eval", SHIFTED, source=described()), [system])], FEW)
    assert "Uncertainty" in [column.title for column in shown.grids(report, "ours")[0].columns]
    without = replace(report, systems=(replace(report.systems[0], measure="", measures=()),))
    assert "Uncertainty" not in [column.title for column in shown.grids(without, "ours")[0].columns]


def test_whole_targets_have_the_separators_of_the_answers_beside_them() -> None:
    rng = np.random.default_rng(5)
    targets, years = rng.integers(1_000, 9_000, 200), np.repeat(2019, 200)
    ensemble = Gaussian(targets + rng.normal(0, 300, (3, 200)), np.full((3, 200), 9e4))
    options = Options(intervals=intervals.Settings(replicates=20))
    report = assess_predictions(targets, ensemble, table={"year": years}, options=options)
    grid = shown.grids(report, "model")[0]
    titles = [column.title for column in grid.columns]
    assert "," in grid.rows[0].cells[titles.index("Target")].text
    assert grid.rows[0].cells[titles.index("year")].text == "2019"  # what may be a name stays as it is


def test_the_confidently_wrong_are_called_so_and_say_their_rule():
    title, rule = shown.LISTS["confident"]
    assert title == "Confidently wrong"  # as in pictures of motion, and in the line of the terminal
    assert "above the median, among the least uncertain tenth" in rule
