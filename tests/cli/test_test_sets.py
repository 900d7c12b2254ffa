"""Further tables that a run is scored on: test sets."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from shiftbench.assessment import predictions
from shiftbench.report.content import Report
from tests.cli.conftest import Shiftbench, run_in, weather_like

pytest.importorskip("catboost")

RUN = (
    "run", "t.parquet", "--target", "y", "--time", "date", "--group", "region", "--shifted", "hills", "--id", "id",
    "--cluster", "station", "--drop", "kind", "--replicates", 25, "--members", 2,
)  # fmt: skip


@pytest.fixture(autouse=True)
def tables(tmp_path: Path) -> None:
    write_tables(tmp_path)


def write_tables(folder: Path) -> None:
    weather_like().write_parquet(folder / "t.parquet")
    weather_like(600, seed=7).write_csv(folder / "later.csv")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run with a test set, made once."""
    folder = tmp_path_factory.mktemp("once")
    write_tables(folder)
    said = run_in(folder, *RUN, "--test-set", "later=later.csv", "--out", "with")
    assert said.code == 0, said.err
    return folder / "with"


@pytest.fixture
def ran(once: Path, tmp_path: Path) -> None:
    shutil.copytree(once, tmp_path / "with")


def test_ids_of_a_test_set_that_are_no_ids_are_told(shiftbench: Shiftbench, tmp_path: Path) -> None:
    weather_like(40, seed=7).with_columns(id=pl.lit("same")).write_csv(tmp_path / "again.csv")
    said = shiftbench(*RUN[:-2], "--method", "mean", "--test-set", "again=again.csv", "--out", "o")
    assert said.code == 0, said.err
    told = Report.load(tmp_path / "o/report/report.json").warnings
    assert [text for text in told if text.startswith("test set again: records go by their row numbers, since ")]


@pytest.mark.usefixtures("ran")
def test_a_test_set_is_a_split_of_its_own_that_changes_nothing_else(shiftbench: Shiftbench, tmp_path: Path) -> None:
    assert shiftbench(*RUN, "--out", "without").code == 0
    one, other = (Report.load(tmp_path / name / "report/report.json") for name in ("with", "without"))
    assert one.splits == ("dev", "eval", "later")
    assert [count.subset for count in one.counts if count.split == "later"] == ["full"]
    assert [score for score in one.scores if score.split != "later"] == list(other.scores)
    found = one.score("rmse", system="boosting", split="later", subset="full")
    said_of_later = predictions.load(tmp_path / "with/predictions/later/boosting.parquet").ensemble
    targets = pl.read_csv(tmp_path / "later.csv")["y"].to_numpy()
    assert found.value == pytest.approx(float(((said_of_later.answers() - targets) ** 2).mean() ** 0.5))
    assert found.low < found.value < found.high


def test_records_of_train_in_a_test_set_are_counted(shiftbench: Shiftbench, tmp_path: Path) -> None:
    weather_like(400).write_csv(tmp_path / "t.csv")
    words = ("--method", "mean", "--replicates", 25, "--test-set", "same=t.csv")
    said = shiftbench("run", "t.csv", "--target", "y", *words, "--out", "run")
    assert said.code == 0, said.err
    counts = json.loads((tmp_path / "run" / "partition" / "manifest.json").read_text())["counts"]
    warnings = json.loads((tmp_path / "run" / "report" / "report.json").read_text())["warnings"]
    assert any(f"test set same: {counts['train']} of 400 records are also in train" in warning for warning in warnings)


@pytest.mark.usefixtures("ran")
def test_a_run_is_repeated_with_its_test_sets_unless_one_has_changed(shiftbench: Shiftbench, tmp_path: Path) -> None:
    assert shiftbench("run", "--config", "with/run.toml", "--out", "again").code == 0
    same = [(tmp_path / name / "report/report.json").read_bytes() for name in ("with", "again")]
    assert same[0] == same[1]
    weather_like(600, seed=8).write_csv(tmp_path / "later.csv")
    said = shiftbench("run", "--config", "with/run.toml", "--out", "third")
    assert said.code == 2
    assert "expected the test set that these settings were written for" in said.err


def test_everything_that_is_wrong_with_test_sets_is_said_at_once(shiftbench: Shiftbench, tmp_path: Path) -> None:
    weather_like(50).drop("x").write_csv(tmp_path / "no_x.csv")
    weather_like(50).with_columns(y=pl.lit(None, pl.Float64)).write_csv(tmp_path / "no_y.csv")
    said = shiftbench(*RUN, "--test-set", "a=no_x.csv", "--test-set", "b=no_y.csv", "--out", "run")
    assert said.code == 2
    assert "test set a" in said.err
    assert "'x'" in said.err
    assert "test set b: no_y.csv: expected rows with a value in 'y', found none" in said.err
    assert not (tmp_path / "run").exists()


def test_values_that_no_model_takes_are_told_before_any_is_trained(shiftbench: Shiftbench, tmp_path: Path) -> None:
    later = weather_like(50)
    first = pl.int_range(pl.len()) == 0
    infinite = later.with_columns(
        pl.when(first).then(float("inf")).otherwise(pl.col(name)).alias(name) for name in "xy"
    )
    infinite.write_parquet(tmp_path / "infinite.parquet")
    later.with_columns(x=pl.col("x").cast(pl.String) + "?").write_csv(tmp_path / "words.csv")
    said = shiftbench(*RUN, "--test-set", "a=infinite.parquet", "--test-set", "b=words.csv", "--out", "run")
    assert said.code == 2
    assert "test set a: infinite.parquet: column 'y': expected finite numbers, found inf in row 1" in said.err
    assert "test set a: infinite.parquet: column 'x': expected finite numbers within" in said.err
    assert "test set b: words.csv: column 'x': expected numbers as in training, found String" in said.err
    assert not (tmp_path / "run").exists()


def test_a_forecast_that_a_test_set_lacks_is_told_before_any_training(shiftbench: Shiftbench, tmp_path: Path) -> None:
    weather_like(50).drop("x").with_columns(z=1.0).write_csv(tmp_path / "no_x.csv")
    said = shiftbench(*RUN, "--baseline", "x", "--drop", "x", "--test-set", "a=no_x.csv", "--out", "run")
    assert said.code == 2
    assert "test set a: no_x.csv: expected a column 'x'" in said.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("later", "--test-set: expected NAME=FILE, found 'later'"),
        ("a=later.csv", "--test-set: expected different names, found 'a' 2 times"),
        ("dev=later.csv", "found 'dev' = 'later.csv'"),
        ("a/b=later.csv", "expected a name of letters"),
        ("gone=gone.csv", "test set gone: expected a table at gone.csv, found none"),
    ],
)
def test_a_wrong_word_about_a_test_set_is_named(shiftbench: Shiftbench, word: str, expected: str) -> None:
    twice = ("--test-set", word) if word == "a=later.csv" else ()
    said = shiftbench(*RUN, "--test-set", word, *twice, "--out", "run")
    assert (said.code, expected in said.err) == (2, True), said.err
