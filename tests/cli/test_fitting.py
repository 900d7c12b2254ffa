"""`shiftbench run` and its steps alone: a report from a table, to the digit, after a kill, and refused when wrong."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from shiftbench.report.content import Report
from tests.cli.conftest import Said, Shiftbench, run_in, weather_like

pytest.importorskip("catboost")

SHIFT = ("--time", "date", "--group", "region", "--shifted", "hills", "--id", "id", "--cluster", "station")
SMALL = ("--members", 2, "--replicates", 25, "--baseline", "forecast", "--drop", "kind")
RUN = ("run", "t.parquet", "--target", "y", *SHIFT, *SMALL, "--threshold", 1, "--cores", 1)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    weather_like().write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Said]:
    """The folder of a table and its run, and what the command said."""
    folder = tmp_path_factory.mktemp("once")
    weather_like().write_parquet(folder / "t.parquet")
    return folder, run_in(folder, *RUN, "--out", "run")


@pytest.fixture
def ran(once: tuple[Path, Said], tmp_path: Path) -> Path:
    """A copy of the table and its run in the current folder of the test."""
    return shutil.copytree(once[0], tmp_path, dirs_exist_ok=True)


def test_a_table_becomes_a_report_beside_its_baselines(once: tuple[Path, Said]) -> None:
    folder, said = once
    assert said.code == 0, said.err
    report = Report.load(folder / "run/report/report.json")
    assert [system.name for system in report.systems] == ["boosting (single)", "boosting", "mean", "forecast"]
    assert report.splits == ("dev", "eval")
    rmse = {name: report.score("rmse", system=name, split="eval", subset="in").value for name in ("boosting", "mean")}
    assert rmse["boosting"] < 0.7 * rmse["mean"]
    shifted = report.score("rmse", system="boosting", split="eval", subset="shifted").value
    assert shifted > rmse["boosting"]
    manifest = report.recipe["manifest"]
    assert len(manifest) == 64
    assert report.recipe["rows"] == {"read": 1200, "without_target": 0}
    assert "y" not in report.recipe["features"]["used"]
    assert not {"id", "date", "region", "station", "kind"} & set(report.recipe["features"]["used"])


def test_the_records_behind_the_scores_have_the_columns_of_the_table(ran: Path) -> None:
    table = pl.read_parquet(ran / "t.parquet")
    listed = pl.read_csv(ran / "run/report/records.csv", infer_schema_length=None)
    mine = listed.filter(system="boosting", list="worst").with_columns(pl.col("id").cast(table.schema["id"]))
    assert mine.height == 20
    assert mine.columns[10] == "station"  # the cluster comes first
    joined = mine.join(table, on="id", how="left", maintain_order="left", suffix=" there")
    assert joined["forecast there"].to_list() == pytest.approx(joined["forecast"].to_list())
    assert joined["y"].to_list() == pytest.approx(joined["target"].to_list())
    assert ((joined["region"] == "hills") == (joined["domain"] == "shifted")).all()
    assert set(listed["split"]) == {"eval"}


def test_a_run_tells_what_each_system_took(ran: Path) -> None:
    (cost,) = Report.load(ran / "run/report/report.json").costs
    assert cost.system == "boosting"
    assert cost.predicted == sum(pl.read_parquet(ran / "run/predictions/boosting.parquet").shape[:1])
    assert min(cost.fit_seconds, cost.fit_cpu_seconds, cost.predict_seconds) > 0
    assert min(cost.fit_bytes, cost.predict_bytes) > 50e6
    assert "## Cost" in (ran / "run/report/report.md").read_text("utf-8")
    assert (ran / "run/report/cost.csv").is_file()


def test_a_run_is_repeated_to_the_digit_from_the_settings_it_wrote(shiftbench: Shiftbench, ran: Path) -> None:
    assert shiftbench("run", "--config", "run/run.toml", "--out", "two", "--cores", 2).code == 0
    for name in ("report/report.csv", "report/report.json", "predictions/boosting.parquet", "partition/manifest.json"):
        assert (ran / "run" / name).read_bytes() == (ran / "two" / name).read_bytes(), name


def test_another_table_is_refused_by_settings_written_for_the_first(shiftbench: Shiftbench, ran: Path) -> None:
    weather_like(seed=1).write_parquet(ran / "t.parquet")
    said = shiftbench("run", "--config", "run/run.toml", "--out", "two")
    assert said.code == 2
    assert "expected the table these settings were written for" in said.err


def test_a_folder_of_another_run_is_refused_and_overwritten_if_asked(shiftbench: Shiftbench, ran: Path) -> None:
    words = (*RUN, "--out", "run")
    said = shiftbench(*words, "--seed", 5)
    assert said.code == 2
    assert "settings differ in" in said.err
    assert "seed" in said.err
    assert shiftbench(*words, "--seed", 5, "--overwrite").code == 0


def test_classes_are_learnt_and_rows_without_one_are_dropped_and_counted(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    frame = weather_like().with_row_index("n")
    frame = frame.with_columns(pl.when(pl.col("n") % 50 != 0).then(pl.col("kind")).alias("kind")).drop(
        "n", "y", "forecast"
    )
    frame.write_csv(tmp_path / "t.csv")
    said = shiftbench("run", "t.csv", "--target", "kind", *SHIFT, "--members", 2, "--replicates", 25, "--out", "run")
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "run/report/report.json")
    assert report.task == "classification"
    assert report.recipe["rows"] == {"read": 1200, "without_target": 24}
    assert any("24 of 1,200 rows have no 'kind'" in message for message in report.warnings)
    score = report.score("accuracy", system="boosting", split="eval", subset="in")
    assert score.value > report.score("accuracy", system="majority", split="eval", subset="in").value


def test_a_column_that_gives_the_target_away_is_refused_by_name(shiftbench: Shiftbench, tmp_path: Path) -> None:
    weather_like().with_columns(copy=pl.col("y") * 2 + 1).write_parquet(tmp_path / "t.parquet")
    words = ("run", "t.parquet", "--target", "y", *SHIFT, "--method", "mean", "--replicates", 5, "--out", "run")
    said = shiftbench(*words)
    assert said.code == 2
    assert "column 'copy' gives the target 'y' away" in said.err
    assert "--drop copy" in said.err
    said = shiftbench(*words, "--allow-leaks", "--overwrite")
    assert said.code == 0, said.err
    assert any("'copy'" in message for message in Report.load(tmp_path / "run/report/report.json").warnings)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", "yy"), "Did you mean"),
        (("--target", "y", "--group", "regoin", "--shifted", "hills"), "Did you mean 'region'?"),
        (("--target", "y", "--group", "region", "--shifted", "hils"), "Did you mean 'hills'?"),
        (("--target", "y", "--group", "region", "--shifted", "hills,coast,plain"), "group (region) removed"),
        (("--target", "y", "--shifted-if", "x > 1000"), "dev_out"),
        (("--target", "y", "--shifted-if", "import os"), "import os"),
        (("--target", "y", "--method", "bosting"), "Did you mean 'boosting'?"),
        (("--target", "y", "--baseline", "fourcast"), "Did you mean 'forecast'?"),
        (("--target", "y", "--drop", "nothing_*"), "nothing_*"),
        (("--target", "kind", "--task", "regression"), "number"),
        (("--target", "kind", "--baseline", "forecast"), "t.parquet, forecast: expected a class among"),
        (("--target", "y", "--threshold", "-1"), "threshold"),
        (("--target", "y", "--rule", "publishd"), "Did you mean 'published'?"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_trained(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    said = shiftbench("run", "t.parquet", *words, "--out", "run", "--members", 2)
    assert said.code == 2, said.out
    assert message in said.err
    assert "Traceback" not in said.err
    assert not list(tmp_path.glob("run/model/*"))
    assert not (tmp_path / ".run.making").exists()


def test_the_steps_alone_give_the_numbers_of_the_run(shiftbench: Shiftbench, ran: Path, tmp_path: Path) -> None:
    words = ("--members", 2, "--drop", "kind")
    said = shiftbench("partition", "t.parquet", *SHIFT, "--out", "parts")
    assert said.code == 0, said.err
    assert "manifest" in said.out
    assert shiftbench("fit", "parts", "--target", "y", "--cluster", "station", *words, "--out", "model").code == 0
    said = shiftbench("predict", "model", "parts/eval_out.parquet", "--id", "id", "--out", "p.parquet")
    assert said.code == 0, said.err
    assert " ms per record, and " in said.out
    said = shiftbench(
        "assess", "p.parquet", "--truth", "t.parquet", "--target", "y", "--cluster", "station", "--out", "a",
        "--replicates", 25,
    )  # fmt: skip
    assert said.code == 0, said.err
    (spent,) = Report.load(tmp_path / "a/report.json").costs
    assert (spent.system, spent.predicted) == ("p", pl.read_parquet(tmp_path / "p.parquet").height)
    assert min(spent.fit_seconds, spent.predict_seconds, spent.predict_cpu_seconds) > 0
    assert spent.predict_bytes > 50e6
    alone = Report.load(tmp_path / "a/report.json").score("rmse", system="p", split="all", subset="full")
    whole = Report.load(tmp_path / "run/report/report.json").score(
        "rmse", system="boosting", split="eval", subset="shifted"
    )
    assert alone.value == pytest.approx(whole.value, rel=1e-12)


def test_predictions_without_their_targets_say_what_to_name(shiftbench: Shiftbench, ran: Path) -> None:
    said = shiftbench("assess", "run/predictions/boosting.parquet")
    assert said.code == 2
    assert "--truth" in said.err


def test_a_run_that_was_killed_goes_on_and_ends_as_if_undisturbed(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    words = ["run", "t.parquet", "--target", "y", *SHIFT, *SMALL, "--members", "4", "--cores", "1", "--out"]
    assert shiftbench(*words, "whole").code == 0
    process = subprocess.Popen(
        [sys.executable, "-m", "shiftbench", *map(str, words), "cut"], cwd=tmp_path,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while not list((tmp_path / ".cut.making/model/boosting").glob("member_*.cbm")) and time.monotonic() < deadline:
        if process.poll() is not None:
            break
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert (tmp_path / ".cut.making").exists(), "killed too late to show anything"
    said = shiftbench(*words, "cut")
    assert said.code == 0, said.err
    for name in ("report/report.json", "predictions/boosting.parquet", "partition/manifest.json"):
        assert (tmp_path / "whole" / name).read_bytes() == (tmp_path / "cut" / name).read_bytes(), name


@pytest.mark.needs_shared
def test_real_forecasts_are_partitioned_by_time_and_climate(
    shiftbench: Shiftbench, shared: Path, tmp_path: Path
) -> None:
    said = shiftbench(
        "partition", shared / "data/weather/nws_next_day.csv.gz", "--time", "valid_date", "--group", "climate",
        "--shifted", "snow", "--id", "id", "--cluster", "city+state", "--out", "parts",
    )  # fmt: skip
    assert said.code == 0, said.err
    frames = {path.stem: pl.read_parquet(path) for path in (tmp_path / "parts").glob("*.parquet")}
    assert set(frames["eval_out"]["climate"]) == {"snow"}
    assert set(frames["train"]["climate"]) == {"tropical", "dry", "mild temperate"}
    assert frames["train"]["valid_date"].max() < frames["dev_out"]["valid_date"].min()
    assert frames["dev_out"]["valid_date"].max() < frames["eval_out"]["valid_date"].min()
    ids = pl.concat([frames[name]["id"] for name in ("train", "dev_in", "dev_out", "eval_in", "eval_out")])
    assert ids.is_duplicated().sum() == 0


def test_a_baseline_may_have_any_name(shiftbench: Shiftbench, tmp_path: Path) -> None:
    frame = weather_like().rename({"forecast": "mean"}).with_columns(pl.col("mean").alias("../up"))
    frame.write_parquet(tmp_path / "t.parquet")
    words = ("--members", 1, "--replicates", 25, "--drop", "kind", "--baseline", "mean", "--baseline", "../up")
    said = shiftbench("run", "t.parquet", "--target", "y", *SHIFT, *words, "--out", "run/deep")
    assert said.code == 0, said.err
    names = [system.name for system in Report.load(tmp_path / "run/deep/report/report.json").systems]
    assert names == ["boosting", "mean", "mean (column)", "../up"]
    assert {path.name for path in (tmp_path / "run").iterdir()} == {"deep"}
    assert len(list((tmp_path / "run/deep/predictions").glob("*.parquet"))) == 4


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("target = 3", "target: expected text, found 3"),
        ('target = "y"\nallow_leaks = "no"', "allow_leaks: expected true or false, found 'no'"),
        ('target = "y"\n[assessment]\nreplicates = "50"', "assessment.replicates: expected a whole number, found '50'"),
        ('target = "y"\npartition = 3', "partition: expected a table [partition], found 3"),
        ('target = "y"\nthreshhold = 3.0', "Did you mean 'threshold'?"),
        ("target = ", "expected TOML"),
    ],
)
def test_settings_of_the_wrong_type_are_named(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, line: str, message: str
) -> None:
    (tmp_path / "s.toml").write_text(f'table = "t.parquet"\n{line}\n')
    said = shiftbench("run", "--config", "s.toml", "--out", "run")
    assert said.code == 2
    assert message in said.err


@pytest.mark.parametrize(
    ("spoil", "words", "message"),
    [
        ({"y": pl.when(pl.col("id") == "0003-13").then(pl.lit("much")).otherwise(pl.col("y").cast(pl.String))}, (),
         "found 'much' in row 14"),
        ({}, ("--task", "classification"), "expected classes, found 1,200 different values"),
    ],
)  # fmt: skip
def test_a_target_that_is_neither_numbers_nor_classes_is_named(
    shiftbench: Shiftbench, tmp_path: Path, spoil: dict[str, pl.Expr], words: tuple[str, ...], message: str
) -> None:
    weather_like().with_columns(**spoil).write_parquet(tmp_path / "t.parquet")
    said = shiftbench("run", "t.parquet", "--target", "y", *words, "--out", "run")
    assert said.code == 2
    assert message in said.err
