"""Ids: without `--id` the row numbers of the file in every command, and predictions know the targets they meet."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import pipeline
from shiftbench.assessment import predictions
from shiftbench.assessment.columns import Columns
from shiftbench.assessment.predictions import Predictions
from shiftbench.assessment.scored_table import load
from shiftbench.ensembles import Gaussian
from shiftbench.errors import ShiftbenchWarning
from shiftbench.pipeline import settings
from shiftbench.report.content import Report
from tests.cli.conftest import Said, Shiftbench, errors_table

pytest.importorskip("catboost")

QUICK = ("--replicates", 20, "--intervals", "percentile")


def gappy(n: int = 300) -> pl.DataFrame:
    """A table without ids in which every seventh row has no target."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    y = np.where(np.arange(n) % 7 == 3, np.nan, 2 * x + 0.1 * rng.normal(size=n))
    return pl.DataFrame({"x": x, "z": rng.normal(size=n), "y": y}).fill_nan(None)


def did(said: Said) -> Said:
    assert said.code == 0, said.err
    return said


@pytest.fixture(scope="module")
def run_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("ids")
    gappy().write_csv(folder / "t.csv")
    how = settings.Assessment(replicates=20, kind="percentile")
    chosen = settings.Settings(str(folder / "t.csv"), "y", members=1, assessment=how)
    report = pipeline.run(chosen, folder / "run").report
    report.save(folder / "report.json")
    return folder


@pytest.fixture
def ran(run_once: Path, tmp_path: Path) -> Path:
    shutil.copytree(run_once, tmp_path, dirs_exist_ok=True)
    return tmp_path


def rmse(folder: Path) -> float:
    report = Report.load(folder / "report.json")
    return next(score.value for score in report.scores if score.metric == "rmse")


def test_run_predict_and_partition_number_rows_as_the_file_does(shiftbench: Shiftbench, ran: Path) -> None:
    frame = gappy().with_row_index("row", offset=1)
    did(shiftbench("predict", "run/model/boosting", "t.csv", "--out", "p.parquet"))
    whole, part = (predictions.load(ran / name) for name in ("p.parquet", "run/predictions/boosting.parquet"))
    assert list(whole.ids) == [str(row) for row in frame["row"]]
    lined = whole.line_up(list(part.ids), extra="drop")
    assert np.array_equal(lined.ensemble.answers(), part.ensemble.answers())
    assert part.fingerprints is not None
    assert lined.fingerprints is not None
    assert lined.fingerprints.equals(part.fingerprints, check_names=False)
    did(shiftbench("partition", "t.csv", "--out", "parts"))
    frame = frame.cast({"row": pl.Int64})
    for path in sorted(ran.glob("parts/*_in.parquet")):
        made = pl.read_parquet(path)
        assert made.equals(frame.filter(pl.col("row").is_in(made["id"].implode())).rename({"row": "id"}))
    assignment = pl.read_parquet(ran / "parts/assignment.parquet")
    assert assignment["id"].to_list() == frame["row"].to_list()
    in_both = assignment.join(pl.read_parquet(ran / "run/partition/assignment.parquet"), on="id")
    assert len(in_both) == frame["y"].count()
    assert (in_both["partition"] == in_both["partition_right"]).all()


def test_predictions_meet_the_targets_they_were_made_for_in_a_larger_table_too(
    shiftbench: Shiftbench, ran: Path
) -> None:
    later = pl.concat([gappy(), gappy(40)]).with_row_index("row", offset=1)
    later.sample(fraction=1.0, shuffle=True, seed=1).write_csv(ran / "more.csv")
    words = ("assess", "run/predictions/boosting.parquet", "--target", "y", *QUICK)
    did(shiftbench(*words, "--truth", "t.csv", "--out", "a"))
    did(shiftbench(*words, "--truth", "more.csv", "--id", "row", "--out", "b"))
    made = predictions.load(ran / "run/predictions/boosting.parquet")
    targets = gappy()["y"].gather([int(one) - 1 for one in made.ids]).to_numpy()
    wanted = float(((made.ensemble.answers() - targets) ** 2).mean() ** 0.5)
    assert rmse(ran / "a") == pytest.approx(wanted)
    assert rmse(ran / "b") == pytest.approx(wanted)


@pytest.mark.parametrize("command", ["run", "predict"])
def test_predictions_joined_to_other_row_numbers_are_refused(shiftbench: Shiftbench, ran: Path, command: str) -> None:
    file = "run/predictions/boosting.parquet"
    if command == "predict":
        file = "p.parquet"
        did(shiftbench("predict", "run/model/boosting", "t.csv", "--out", file))
    dropped = pl.concat([gappy().drop_nulls("y"), gappy(50)]).with_row_index("row", offset=1)
    dropped.write_csv(ran / "dropped.csv")
    said = shiftbench("assess", file, "--truth", "dropped.csv", "--target", "y", "--id", "row", *QUICK, "--out", "a")
    assert said.code == 2
    assert "dropped.csv: expected the targets that these predictions were made for, found others" in said.err
    assert "of " in said.err
    assert "records (ids '" in said.err
    assert not (ran / "a").exists()


def test_a_table_without_targets_is_predicted_without_fingerprints(shiftbench: Shiftbench, ran: Path) -> None:
    gappy().drop("y").write_csv(ran / "new.csv")
    did(shiftbench("predict", "run/model/boosting", "new.csv", "--out", "p.parquet"))
    assert predictions.load(ran / "p.parquet").fingerprints is None
    did(shiftbench("assess", "p.parquet", "--truth", "t.csv", "--target", "y", *QUICK, "--out", "a"))
    unchecked = (
        "p.parquet: the predictions have no fingerprints of their targets, and ids are the row numbers of t.csv: "
        "whether they belong to these rows was not checked"
    )
    assert unchecked in Report.load(ran / "a/report.json").warnings
    did(shiftbench("predict", "run/model/boosting", "t.csv", "--out", "checked.parquet"))
    did(shiftbench("assess", "checked.parquet", "--truth", "t.csv", "--target", "y", *QUICK, "--out", "b"))
    assert not any("was not checked" in note for note in Report.load(ran / "b/report.json").warnings)


def test_predictions_of_another_task_than_the_one_named_are_refused(shiftbench: Shiftbench, ran: Path) -> None:
    words = ("assess", "run/predictions/boosting.parquet", "--truth", "t.csv", "--target", "y", *QUICK)
    said = shiftbench(*words, "--task", "classification", "--out", "a")
    found = "expected predictions of a classification, found those of a regression. Drop --task."
    assert (said.code, said.err) == (2, f"error: boosting.parquet: {found}\n")
    assert not (ran / "a").exists()
    did(shiftbench(*words, "--task", "regression", "--out", "a"))


def test_a_folder_of_partitions_without_an_id_column_keeps_the_row_numbers(shiftbench: Shiftbench, ran: Path) -> None:
    did(shiftbench("partition", "t.csv", "--out", "parts"))
    did(shiftbench("run", "parts", "--target", "y", "--members", 1, *QUICK, "--out", "again"))
    first, second = (predictions.load(ran / run / "predictions/boosting.parquet") for run in ("run", "again"))
    assert sorted(first.ids) == sorted(second.ids)
    assert np.array_equal(first.line_up(list(second.ids)).ensemble.answers(), second.ensemble.answers())
    assert "id" not in Report.load(ran / "again/report/report.json").recipe["features"]["used"]


def test_a_column_called_id_is_the_ids_of_every_command_or_of_none(shiftbench: Shiftbench, tmp_path: Path) -> None:
    named = gappy().with_columns(id=pl.format("r{}", pl.int_range(pl.len(), 0, -1)))
    named.write_csv(tmp_path / "t.csv")
    did(shiftbench("run", "t.csv", "--target", "y", "--members", 1, *QUICK, "--out", "run"))
    did(shiftbench("predict", "run/model/boosting", "t.csv", "--out", "p.parquet"))
    ids = set(predictions.load(tmp_path / "run/predictions/boosting.parquet").ids)
    assert ids <= set(predictions.load(tmp_path / "p.parquet").ids) == set(named["id"])
    twice = gappy().with_columns(id=pl.int_range(pl.len()) % 9)
    twice.write_csv(tmp_path / "u.csv")
    did(shiftbench("run", "u.csv", "--target", "y", "--members", 1, *QUICK, "--out", "again"))
    warned = Report.load(tmp_path / "again/report/report.json").warnings
    assert any("records go by their row numbers, since" in message and "'id'" in message for message in warned)
    assert max(map(int, predictions.load(tmp_path / "again/predictions/boosting.parquet").ids)) > 200
    said = shiftbench("partition", "u.csv", "--out", "parts")
    assert said.code == 2
    assert "Name a column, or rename `id`" in said.err


@pytest.mark.parametrize(
    ("spoil", "words", "message"),
    [
        ({"when": pl.lit("2020-01-01")}, ("--time", "when"), "found 'soon' (1 such, row 18)"),
        ({"forecast": pl.lit("1.5")}, ("--baseline", "forecast"), "found 'soon' (1 such, row 18)"),
    ],
)
def test_rows_in_messages_are_those_of_the_file(
    shiftbench: Shiftbench, tmp_path: Path, spoil: dict[str, pl.Expr], words: tuple[str, ...], message: str
) -> None:
    name, value = next(iter(spoil.items()))
    wrong = pl.when(pl.int_range(pl.len()) == 17).then(pl.lit("soon")).otherwise(value)
    gappy().with_columns(wrong.alias(name)).write_csv(tmp_path / "t.csv")
    said = shiftbench("run", "t.csv", "--target", "y", *words, "--members", 1, "--out", "run")
    assert said.code == 2
    assert message in said.err


def test_the_first_row_without_an_answer_is_counted_from_one(shiftbench: Shiftbench, tmp_path: Path) -> None:
    words = ["a", "b", None, "a"]
    pl.DataFrame({"target": ["a", "b", "b", "a"], "answer": words, "uncertainty": [1.0, 2.0, 3.0, 4.0]}).write_parquet(
        tmp_path / "t.parquet"
    )
    said = shiftbench("assess", "t.parquet", "--out", "a")
    assert said.code == 2
    assert "(row 3)" in said.err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("error", None, "column 'error': expected finite numbers, found NaN (1 of 300, first in row 8)"),
        ("error", -2.0, "column 'error': expected values >= 0, found -2 (1 of 300, first in row 8)"),
        ("uncertainty", float("inf"), "column 'uncertainty': expected finite numbers, found infinity (1 of 300, first"),
        ("answer", None, "column 'answer': expected finite numbers, found NaN (1 of 300, first in row 8)"),
    ],
)
def test_values_that_no_score_takes_are_named_by_column_and_row(
    shiftbench: Shiftbench, tmp_path: Path, name: str, value: float | None, message: str
) -> None:
    odd = pl.when(pl.int_range(pl.len()) == 7).then(value).otherwise(name).alias(name)
    errors_table().drop("error" if name == "answer" else "target").with_columns(odd).write_csv(tmp_path / "t.csv")
    said = shiftbench("assess", "t.csv", "--out", "a")
    assert (said.code, f"t.csv: {message}" in said.err) == (2, True), said.err


def test_a_target_that_is_infinite_is_named_by_its_row_before_anything_is_made(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    huge = pl.when(pl.int_range(pl.len()) == 17).then(float("inf")).otherwise("y").alias("y")
    gappy().with_columns(huge).write_csv(tmp_path / "t.csv")
    said = shiftbench("run", "t.csv", "--target", "y", "--members", 1, "--out", "run")
    assert (said.code, said.err) == (
        2, "error: t.csv: column 'y': expected finite numbers, found inf in row 18. Drop these.\n"
    )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]
    did(shiftbench("partition", "t.csv", "--out", "parts"))
    said = shiftbench("run", "parts", "--target", "y", "--members", 1, "--out", "run")
    assert said.code == 2
    assert "parts: column 'y': expected finite numbers, found inf in 1 record (first: id 18)" in said.err
    said = shiftbench("fit", "parts", "--target", "y", "--members", 1, "--out", "model")
    assert (said.code, ".parquet: column 'y': expected finite numbers, found inf in row" in said.err) == (2, True)


def test_values_that_no_model_takes_are_named_by_id_in_run_and_fit(shiftbench: Shiftbench, tmp_path: Path) -> None:
    huge = pl.when(pl.int_range(pl.len()).is_in([17, 30])).then(1e300).otherwise("x").alias("x")
    gappy().with_columns(huge).write_csv(tmp_path / "t.csv")
    said = shiftbench("run", "t.csv", "--target", "y", "--members", 1, "--out", "run")
    assert (said.code, "column 'x': expected finite numbers" in said.err) == (2, True), said.err
    assert "in 1 record (ids 31)" in said.err  # the target of row 18 is missing
    did(shiftbench("partition", "t.csv", "--out", "parts"))
    said = shiftbench("fit", "parts", "--target", "y", "--members", 1, "--out", "model")
    assert (said.code, "(ids 31)" in said.err) == (2, True), said.err


def test_rows_of_the_truth_are_named_as_its_file_numbers_them(shiftbench: Shiftbench, ran: Path) -> None:
    even = pl.int_range(pl.len()) % 2 == 0
    frame = gappy().with_columns(shifted=pl.when(even).then(pl.lit("yes")).otherwise(pl.lit("no")))
    ids = [int(one) for one in predictions.load(ran / "run/predictions/boosting.parquet").ids]
    odd = pl.int_range(pl.len()) == max(ids) - 1
    wrong = pl.when(odd).then(pl.lit("perhaps")).otherwise("shifted").alias("shifted")
    frame.with_columns(wrong).write_csv(ran / "u.csv")
    said = shiftbench("assess", "run/predictions/boosting.parquet", "--truth", "u.csv", "--target", "y", "--out", "a")
    assert (said.code, f"found 'perhaps' in row {max(ids)}" in said.err) == (2, True), said.err


def test_predictions_without_a_target_in_the_truth_are_counted(tmp_path):
    frame = pl.DataFrame({"x": np.arange(60) / 7.0, "y": np.sin(np.arange(60.0))})
    frame.write_csv(tmp_path / "truth.csv")
    ids = [str(row) for row in range(1, 61)]
    Predictions(np.array(ids), Gaussian(np.zeros((1, 60)), np.ones((1, 60))), {}).save(tmp_path / "p.parquet")
    (frame.with_columns(y=pl.when(pl.int_range(60) == 4).then(None).otherwise("y"))).write_csv(tmp_path / "gap.csv")
    with pytest.warns(ShiftbenchWarning, match=r"p\.parquet: 1 of 60 predictions have no 'y' in gap\.csv"):
        loaded = load(tmp_path / "p.parquet", Columns(target="y"), name="p", truth=tmp_path / "gap.csv")
    assert loaded.records.n == 59
