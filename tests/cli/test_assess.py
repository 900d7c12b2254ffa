"""`shiftbench assess`, `compare`, `report`, `tables`, `example`: files in, reports out, bad files named."""

from __future__ import annotations

import datetime as dt
import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import Gaussian, assess, r_auc
from shiftbench.assessment import scored, scored_table
from shiftbench.assessment.columns import Columns
from shiftbench.errors import ArrayError
from shiftbench.report.content import Report
from shiftbench.scores.ranking import rank_correlation
from tests.cli.conftest import Shiftbench, errors_table

QUICK = ("--replicates", 25)


@pytest.mark.usefixtures("drawn")
def test_a_csv_of_errors_becomes_a_report_in_every_format(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table()
    table.select("id", "error", "uncertainty", "shifted", "city", "season").write_csv(tmp_path / "mine.csv")
    said = shiftbench(
        "assess", "mine.csv", "--cluster", "city", "--slice", "season", "--threshold", 1, "--out", "r", *QUICK
    )
    assert said.code == 0, said.err
    assert said.out.rstrip().endswith(str(Path("r/report.html")))
    assert {path.name for path in (tmp_path / "r").iterdir()} >= {
        "report.html", "report.md", "report.tex", "report.csv", "report.json", "figures",
    }  # fmt: skip
    report = Report.load(tmp_path / "r/report.json")
    found = report.score("r_auc", system="mine", split="all", subset="full").value
    assert found == pytest.approx(r_auc(table["error"], table["uncertainty"]), rel=1e-12)


def test_a_file_becomes_the_records_behind_its_scores(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().drop("error")
    table.write_parquet(tmp_path / "mine.parquet")
    said = shiftbench("assess", "mine.parquet", "--slice", "season", "--out", "r", "--full", *QUICK)
    assert said.code == 0, said.err
    assert "Largest errors: mine" in said.out
    assert "records: r/records.csv (worst, " in said.out
    listed = pl.read_csv(tmp_path / "r/records.csv", infer_schema_length=None)
    assert listed["list"].unique(maintain_order=True).to_list() == ["worst", "confident", "uncertain"]
    by_error = table.with_columns(error=(pl.col("target") - pl.col("answer")) ** 2).sort("error", descending=True)
    assert listed["id"].cast(pl.String).to_list()[:20] == by_error["id"].cast(pl.String).to_list()[:20]
    assert listed["season"].to_list()[:20] == by_error["season"].to_list()[:20]
    assert listed["answer"].to_list()[:20] == pytest.approx(by_error["answer"].to_list()[:20])


def test_targets_and_answers_give_the_squared_error(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table()
    table.drop("error").write_parquet(tmp_path / "mine.parquet")
    assert shiftbench("assess", "mine.parquet", "--out", "r", "--unit", "kW", *QUICK).code == 0
    report = Report.load(tmp_path / "r/report.json")
    assert (report.task, report.target_unit, report.error_unit) == ("regression", "kW", "kW²")
    assert report.score("mean_error", system="mine", split="all", subset="full").value == pytest.approx(
        table["error"].mean()
    )


def test_a_named_answer_is_scored_where_a_column_of_errors_is_there_too(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().with_columns(better=(pl.col("target") + pl.col("answer")) / 2)
    table.write_csv(tmp_path / "mine.csv")
    said = shiftbench("assess", "mine.csv", "--answer", "better", "--out", "out", *QUICK)
    assert said.code == 0, said.err
    score = Report.load(tmp_path / "out" / "report.json").score("rmse", system="mine", split="all", subset="full")
    assert score.value == pytest.approx(np.sqrt(table["error"].mean()) / 2)


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (("--error", "error", "--answer", "answer"), "found --error error and --answer answer"),
        (("--target", "target", "--answer", "target"), "found 'target' for both"),
    ],
)
def test_roles_of_columns_that_contradict_each_other_are_refused(
    shiftbench: Shiftbench, tmp_path: Path, options: tuple[str, ...], found: str
) -> None:
    errors_table().write_csv(tmp_path / "mine.csv")
    said = shiftbench("assess", "mine.csv", *options, "--out", "out", *QUICK)
    assert (said.code, found in " ".join(said.err.split())) == (2, True)
    assert not (tmp_path / "out").exists()


def test_text_answers_are_judged_right_or_wrong(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = pl.DataFrame(
        {"target": ["a", "b", "a", "b"] * 10, "answer": ["a", "a", "a", "b"] * 10, "uncertainty": range(40)}
    )
    table.write_csv(tmp_path / "mine.csv")
    assert shiftbench("assess", "mine.csv", "--out", "r", *QUICK).code == 0
    report = Report.load(tmp_path / "r/report.json")
    assert report.score("mean_error", system="mine", split="all", subset="full").value == 0.25
    assert report.threshold == 0.5


@pytest.mark.parametrize(
    ("targets", "answers", "found"),
    [
        (("true", "false"), ("1", "0"), ("Booleans", "'True'", "numbers", "'1'")),
        (("true", "false"), ("0.8", "0.1"), ("Booleans", "'True'", "numbers", "'0.8'")),
        (("True", "False"), ("True", "Maybe"), ("Booleans", "'True'", "text", "'True'")),
        (("1.0", "2.0"), ("1", "x"), ("numbers", "'1.0'", "text", "'1'")),
        (("2021-01-02", "2021-01-03"), ("2021-01-02 00:00", "2021-01-03 01:00"), ("dates", "dates with times")),
    ],
)
def test_targets_and_answers_of_two_kinds_are_not_compared(
    shiftbench: Shiftbench, tmp_path: Path, targets: tuple[str, str], answers: tuple[str, str], found: tuple[str, ...]
) -> None:
    table = pl.DataFrame({"target": targets * 20, "answer": answers * 20, "uncertainty": range(40)})
    table.write_csv(tmp_path / "mine.csv")
    said = shiftbench("assess", "mine.csv", "--out", "r", *QUICK)
    assert said.code == 2
    text = " ".join(said.err.split())
    assert "expected targets and answers of one kind" in text
    assert all(each in text for each in (*found, "'target'", "'answer'"))


@pytest.mark.parametrize(
    ("column", "value", "found"),
    [
        ("error", 1.7e308, "column 'error': expected values <= 1e+150, whose squares can be added up, found 1.7e+308"),
        ("error", 1e200, "expected values <= 1e+150"),
        ("answer", 1e200, "squared difference of columns 'target' and 'answer': expected finite numbers"),
        ("answer", 1e120, "squared difference of columns 'target' and 'answer': expected values <= 1e+150"),
    ],
)
def test_errors_too_large_to_be_added_up_are_named_by_row(
    shiftbench: Shiftbench, tmp_path: Path, column: str, value: float, found: str
) -> None:
    table = errors_table(60)
    table = table.drop("target", "answer") if column == "error" else table.drop("error")
    row = pl.int_range(pl.len()).is_in([5, 7])
    table.with_columns(pl.when(row).then(value).otherwise(column).alias(column)).write_csv(tmp_path / "mine.csv")
    said = shiftbench("assess", "mine.csv", "--out", "r", *QUICK)
    assert said.code == 2
    text = " ".join(said.err.split())
    assert found in text
    assert "(2 of 60, first in row 6, 8)" in text


def test_errors_too_large_to_be_added_up_are_refused_in_python() -> None:
    with pytest.raises(ArrayError, match=r"errors: expected values <= 1e\+150.* \(2 of 3, first at index 1, 2\)"):
        assess([1.0, 1.7e308, 1.7e308], [1.0, 2.0, 3.0])
    with pytest.raises(ArrayError, match=r"squared errors: expected finite numbers"):
        scored.regression("a", Gaussian([[1.0, 1e200]], [[1.0, 1.0]]), [1.0, 2.0])


def test_times_in_two_units_are_compared_as_times() -> None:
    times = pl.Series([dt.datetime(2021, 1, 1), dt.datetime(2021, 1, 2)] * 20)
    table = {"target": times.dt.cast_time_unit("ms"), "answer": times.dt.cast_time_unit("us"), "uncertainty": range(40)}
    read = scored_table.read(pl.DataFrame(table), Columns(), name="a", where="a.parquet")
    assert not read.scored.errors.any()


def test_npz_and_compressed_csv_with_bom_and_semicolons_say_the_same(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().select("error", "uncertainty", "shifted")
    np.savez(tmp_path / "a.npz", **{name: table[name].to_numpy() for name in table.columns})
    text = "\ufeff" + table.write_csv(separator=";")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(text.encode("utf-8")))
    values = []
    for name in ("a.npz", "b.csv.gz"):
        assert shiftbench("assess", name, "--out", name[0], *QUICK).code == 0
        report = Report.load(tmp_path / name[0] / "report.json")
        values.append([score.value for score in report.scores])
    assert values[0] == values[1]


BAD = {
    "nan error": (lambda t: t.with_columns(error=pl.lit(float("nan"))), "found NaN"),
    "negative error": (lambda t: t.with_columns(error=-pl.col("error") - 1), "expected values >= 0"),
    "infinite uncertainty": (lambda t: t.with_columns(uncertainty=pl.lit(float("inf"))), "found infinity"),
    "repeated ids": (lambda t: t.with_columns(id=pl.lit("same")), "same"),
    "no uncertainty": (lambda t: t.drop("uncertainty"), "names begin with `uncertainty`"),
    "no error": (lambda t: t.drop("error", "answer"), "expected a column `error`"),
    "odd flags": (lambda t: t.with_columns(shifted=pl.lit("perhaps")), "found 'perhaps' in row 1"),
    "text error": (lambda t: t.with_columns(error=pl.lit("much")), "much"),
    "empty": (lambda t: t.head(0), "expected at least one row"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_table_is_named_with_exit_code_2_and_leaves_nothing(
    shiftbench: Shiftbench, tmp_path: Path, case: str
) -> None:
    spoil, message = BAD[case]
    spoil(errors_table()).write_parquet(tmp_path / "bad.parquet")
    said = shiftbench("assess", "bad.parquet", "--out", "r", *QUICK)
    assert said.code == 2
    assert message in said.err
    assert "Traceback" not in said.err
    assert not (tmp_path / "r").exists()


def test_all_problems_of_a_table_are_named_at_once(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().with_columns(error=-pl.col("error") - 1, shifted=pl.lit(7), id=pl.lit("x"))
    table.write_csv(tmp_path / "bad.csv")
    said = shiftbench("assess", "bad.csv", *QUICK)
    assert said.code == 2
    assert len([line for line in said.err.splitlines() if line.startswith("error:")]) >= 2


@pytest.mark.parametrize(
    ("content", "message"), [(b"", "0 bytes"), (b"PAR1 and no more", "Parquet"), (None, "found none")]
)
def test_files_that_are_no_tables_are_named(
    shiftbench: Shiftbench, tmp_path: Path, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / "bad.parquet").write_bytes(content)
    said = shiftbench("assess", "bad.parquet")
    assert said.code == 2
    assert message.lower() in said.err.lower()


def test_a_misspelt_column_names_the_nearest(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv(tmp_path / "mine.csv")
    said = shiftbench("assess", "mine.csv", "--uncertainty", "uncertanty", *QUICK)
    assert said.code == 2
    assert "Did you mean 'uncertainty'?" in said.err


def test_wrong_words_exit_with_2(shiftbench: Shiftbench) -> None:
    assert shiftbench("asess", "x").code == 2
    assert shiftbench("assess").code == 2
    assert shiftbench("assess", "x.csv", "--replicates", "many").code == 2


def test_models_are_compared_on_the_same_ids_in_any_order(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table()
    table.write_csv(tmp_path / "good.csv")
    worse = table.with_columns(error=pl.col("error") * 3 + 1).select("id", "error", "uncertainty")
    worse.reverse().write_parquet(tmp_path / "bad.parquet")
    table.select("id", "error", "uncertainty").sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "twin.csv")
    said = shiftbench(
        "compare", "good.csv", "bad.parquet", "twin.csv", "--error", "error", "--cluster", "city", "--out", "c",
        "--replicates", 200,
    )  # fmt: skip
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "c/report.json")
    ranks = {row.system: row.rank for row in report.ranks if (row.metric, row.subset) == ("r_auc", "full")}
    assert ranks == {"good": 1, "twin": 1, "bad": 3}
    twins = [row for row in report.comparisons if {row.a, row.b} == {"good", "twin"}]
    assert all(row.difference == pytest.approx(0, abs=1e-12) for row in twins)


@pytest.mark.parametrize("cluster", [(), ("--cluster", "city")], ids=["by record", "by cluster"])
def test_a_shuffled_table_has_the_same_intervals(
    shiftbench: Shiftbench, tmp_path: Path, cluster: tuple[str, ...]
) -> None:
    table = errors_table().select("error", "uncertainty", "shifted", "city", "season")
    table.write_csv(tmp_path / "a.csv")
    table.sample(fraction=1, shuffle=True, seed=1).write_csv(tmp_path / "b.csv")
    found = []
    for name in ("a", "b"):
        words = ("assess", f"{name}.csv", "--slice", "season", *cluster, "--out", name)
        assert shiftbench(*words, "--replicates", 200, "--threshold", 1).code == 0
        report = Report.load(tmp_path / name / "report.json")
        found.append([(row.low, row.high) for row in (*report.scores, *report.slices)])
    assert found[0] == found[1]
    assert sum(low is not None for low, _ in found[0]) > 20


def test_two_models_are_compared_on_the_terminal(shiftbench: Shiftbench) -> None:
    errors = errors_table().drop("target", "answer")
    errors.write_csv("a.csv")
    errors.with_columns(error=pl.col("error") * 2 + 0.5).write_csv("b.csv")
    said = shiftbench("compare", "a.csv", "b.csv", "--out", "c", "--replicates", 100, "--cluster", "city")
    assert said.code == 0, said.err
    assert said.out.splitlines()[1].startswith("  “a” is better than “b” over all records by ")
    assert "Paired comparisons" not in said.out
    assert len(said.out.splitlines()) <= 40
    whole = shiftbench(
        "compare", "a.csv", "b.csv", "--out", "c", "--replicates", 100, "--cluster", "city", "--overwrite", "--full"
    )
    assert whole.code == 0, whole.err
    assert "Paired comparisons" in whole.out


def test_different_ids_are_not_compared(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table()
    table.write_csv(tmp_path / "a.csv")
    table.head(290).write_csv(tmp_path / "b.csv")
    said = shiftbench("compare", "a.csv", "b.csv", *QUICK)
    assert said.code == 2
    assert "found 10 missing and 0 others" in said.err


@pytest.mark.parametrize("with_ids", ["a", "b"])
def test_ids_are_not_compared_with_row_numbers(shiftbench: Shiftbench, tmp_path: Path, with_ids: str) -> None:
    table = errors_table(60).select(pl.int_range(60, 0, -1).alias("id"), "error", "uncertainty")
    for name in "ab":
        (table if name == with_ids else table.drop("id")).write_csv(tmp_path / f"{name}.csv")
    said = shiftbench("compare", "a.csv", "b.csv", "--out", "r", *QUICK)
    assert said.code == 2
    without = "b" if with_ids == "a" else "a"
    assert f"{without}: expected a column of ids as in {with_ids}, found none" in " ".join(said.err.split())


def test_one_file_is_nothing_to_compare(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv(tmp_path / "a.csv")
    said = shiftbench("compare", "a.csv")
    assert said.code == 2
    assert "use assess" in said.err


def test_a_report_is_written_again_from_its_json(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv(tmp_path / "a.csv")
    assert shiftbench("assess", "a.csv", "--out", "r", *QUICK).code == 0
    said = shiftbench("report", "r/report.json", "--out", "again")
    assert said.code == 0, said.err
    for name in ("report.html", "report.md", "report.tex", "report.csv"):
        assert (tmp_path / "r" / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_the_command_at_the_foot_of_a_first_screen_prints_every_score(shiftbench: Shiftbench) -> None:
    errors_table().write_csv("a.csv")
    assessed = shiftbench("assess", "a.csv", "--out", "r", *QUICK)
    (foot,) = (line for line in assessed.out.splitlines() if line.startswith("every score: "))
    command = foot.partition("`")[2].partition("`")[0].split()
    assert command == ["shiftbench", "report", "r", "--full"]
    short, full = shiftbench("report", "r"), shiftbench(*command[1:])
    assert (short.code, full.code) == (0, 0), short.err + full.err
    assert short.out.replace(" (written again)", "") == assessed.out
    again = shiftbench("assess", "a.csv", "--out", "r", "--overwrite", "--full", *QUICK)
    assert full.out.replace(" (written again)", "") == again.out
    assert len(full.out.splitlines()) > len(short.out.splitlines())


def test_the_report_of_a_run_is_written_again_where_it_is(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv("a.csv")
    for place in ("run/report", "tasks/one/report", "tasks/two/report"):
        assert shiftbench("assess", "a.csv", "--title", place, "--out", place, *QUICK).code == 0
    before = {path: path.read_bytes() for path in tmp_path.rglob("report.*")}
    page = tmp_path / "run/report/report.html"
    page.unlink()
    said = shiftbench("report", "run")
    assert said.out.splitlines()[-1] == "report: run/report/report.html (written again)"
    assert "every score: `shiftbench report run --full`" in said.out
    assert {path: path.read_bytes() for path in tmp_path.rglob("report.*")} == before
    both = shiftbench("report", "tasks")
    assert [line for line in both.out.splitlines() if line.startswith("tasks/")] == [
        f"tasks/{name}/report · 165 in-domain, 135 shifted records" if name == "one" else f"tasks/{name}/report"
        for name in ("one", "two")
    ]
    assert both.out.splitlines()[-2:] == [
        f"report: tasks/{name}/report/report.html (written again)" for name in ("one", "two")
    ]
    assert "records: records.csv beside each (worst, " in both.out
    assert max(len(line) for line in both.out.splitlines() if line.startswith("records: ")) <= 80
    assert shiftbench("report", "tasks", "--out", "elsewhere").code == 0
    assert sorted(path.parent.name for path in tmp_path.glob("elsewhere/*/report.html")) == ["one", "two"]
    assert {path: path.read_bytes() for path in tmp_path.rglob("report.*") if "elsewhere" not in path.parts} == before


def test_reports_by_several_errors_are_found_in_their_folder(shiftbench: Shiftbench) -> None:
    """As `assess --track` writes them, one beside the other."""
    errors_table().write_csv("a.csv")
    for name in ("one", "two"):
        assert shiftbench("assess", "a.csv", "--title", name, "--out", f"errors/{name}", *QUICK).code == 0
    said = shiftbench("report", "errors")
    assert said.code == 0, said.err
    pages = [line for line in said.out.splitlines() if line.startswith("report: ")]
    assert pages == [f"report: errors/{name}/report.html (written again)" for name in ("one", "two")]


def test_something_else_is_no_report(shiftbench: Shiftbench, tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"format": "other"}))
    said = shiftbench("report", "x.json")
    assert said.code == 2
    assert "expected a report" in said.err


def test_a_folder_of_something_else_is_never_overwritten(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv(tmp_path / "a.csv")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.tex").write_text("years of work")
    said = shiftbench("assess", "a.csv", "--out", "mine", "--overwrite", *QUICK)
    assert said.code == 2
    assert (tmp_path / "mine/thesis.tex").read_text() == "years of work"


def test_published_results_are_printed_and_written(shiftbench: Shiftbench, tmp_path: Path) -> None:
    said = shiftbench("tables", "weather", "--metric", "r_auc", "--out", "t.csv")
    assert said.code == 0, said.err
    assert "CatBoost" in said.out
    assert pl.read_csv(tmp_path / "t.csv")["metric"].unique().to_list() == ["r_auc"]
    assert "Did you mean 'weather'?" in shiftbench("tables", "wether").err


@pytest.mark.parametrize("track", ["weather", "motion", "lesions"])
def test_published_results_fit_a_screen_unless_all_are_asked_for(
    shiftbench: Shiftbench, monkeypatch: pytest.MonkeyPatch, track: str
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    said = shiftbench("tables", track)
    assert said.code == 0, said.err
    lines = said.out.splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 100
    assert "every result: --full" in lines[-1]
    assert len(shiftbench("tables", track, "--full").out.splitlines()) > 200


def test_help_and_version_are_there(shiftbench: Shiftbench) -> None:
    said = shiftbench("--help")
    assert said.code == 0
    for word in ("run", "assess", "compare", "partition", "fit", "predict", "report", "tables", "example"):
        assert word in said.out
    assert shiftbench("--version").out.startswith("shiftbench ")


def test_a_folder_of_something_else_is_left_alone_without_being_asked(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv(tmp_path / "a.csv")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/report.html").write_text("another report")
    said = shiftbench("assess", "a.csv", "--out", "mine", *QUICK)
    assert said.code == 2
    assert (tmp_path / "mine/report.html").read_text() == "another report"


def test_a_place_that_cannot_be_written_to_is_named(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().write_csv(tmp_path / "a.csv")
    said = shiftbench("assess", "a.csv", "--out", "a.csv/below", *QUICK)
    assert said.code == 2
    assert "a.csv" in said.err
    assert "Traceback" not in said.err


def test_whole_numbers_are_classes_where_the_task_says_so(shiftbench: Shiftbench, tmp_path: Path) -> None:
    numbers = {"target": [i % 3 for i in range(60)], "answer": [0] * 60, "uncertainty": [i / 60 for i in range(60)]}
    pl.DataFrame(numbers).write_csv(tmp_path / "n.csv")
    pl.DataFrame(numbers).rename({"target": "error"}).drop("answer").write_csv(tmp_path / "e.csv")
    pl.DataFrame(numbers).with_columns(pl.col("target", "answer").cast(pl.String) + "x").write_csv(tmp_path / "t.csv")
    words = ("--replicates", 25, "--out", "out")
    assert shiftbench("assess", "n.csv", "--task", "classification", *words).code == 0
    report = json.loads((tmp_path / "out/report.json").read_text())
    means = [score["value"] for score in report["scores"] if score["metric"] == "mean_error"]
    assert (report["task"], means) == ("classification", [pytest.approx(2 / 3)])
    for task, message in (("regression", "expected numbers in columns"), ("clasification", "Unknown task")):
        said = shiftbench("assess", "t.csv", "--task", task, "--out", "other")
        assert (said.code, message in said.err) == (2, True), said.err
    assert shiftbench("assess", "e.csv", "--task", "regression", "--out", "other").code == 2


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (("assess", "m.csv", "--data", "prepared"), "--data: expected --track beside it"),
        (("tables", "--out", "t.csv"), "expected a track beside the options"),
        (("tables", "--metric", "rmse"), "expected a track beside the options"),
    ],
)
def test_options_that_would_do_nothing_are_refused(
    shiftbench: Shiftbench, tmp_path: Path, words: tuple[str, ...], found: str
) -> None:
    (tmp_path / "m.csv").write_text("id,error,uncertainty\n1,0.5,1\n2,0.25,3\n")
    said = shiftbench(*words)
    assert (said.code, found in " ".join(said.err.split())) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["m.csv"]


def test_a_column_of_lengths_gives_the_length_check(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().select("id", "error", "uncertainty").with_columns(tokens=pl.int_range(pl.len()) % 17)
    table.write_csv(tmp_path / "mine.csv")
    table.reverse().write_csv(tmp_path / "theirs.csv")
    said = shiftbench("compare", "mine.csv", "theirs.csv", "--length", "tokens", "--out", "r", *QUICK)
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "r/report.json")
    mine, theirs = (
        report.score("length_correlation", system=name, split="all", subset="full") for name in ("mine", "theirs")
    )
    assert mine.value == pytest.approx(
        rank_correlation(*(table[name].to_numpy() for name in ("uncertainty", "tokens")))
    )
    assert mine.value == pytest.approx(theirs.value, abs=1e-12)
    assert "uncertainty, length residual" in (tmp_path / "r/report.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("column", "told"),
    [
        ("words", "odd.csv: expected a column 'words', found none"),
        ("negative", "odd.csv: column 'negative': expected values >= 0, found -1"),
        ("text", "odd.csv: column 'text': expected numbers, found 'long'"),
    ],
)
def test_other_columns_of_lengths_are_refused(shiftbench: Shiftbench, tmp_path: Path, column: str, told: str) -> None:
    errors_table().with_columns(negative=pl.lit(-1), text=pl.lit("long")).write_csv(tmp_path / "odd.csv")
    said = shiftbench("assess", "odd.csv", "--length", column, "--out", "no", *QUICK)
    assert said.code == 2
    assert told in said.err
    assert not (tmp_path / "no").exists()
