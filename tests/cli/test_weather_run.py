"""`shiftbench run weather` from example data to the paper's tables, and what it refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from shiftbench.report.content import Report
from shiftbench.tracks import TRACKS, track
from shiftbench.tracks.weather import baselines, schema
from tests import small_presets
from tests.cli.conftest import Shiftbench, run_in

pytest.importorskip("catboost")

QUICK = ("--method", "likelihood_boosting", "--members", 2, "--replicates", 10)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weather")
    assert run_in(folder, "example", "weather", "--rows", 1_500, "--out", "w.parquet").code == 0
    return folder / "w.parquet"


@pytest.mark.parametrize("name", TRACKS)
def test_every_track_has_tasks_and_presets_and_divides_its_data_unless_they_come_divided(name):
    chosen = track(name)
    assert chosen.name == name
    assert chosen.tasks
    assert chosen.presets
    assert chosen.experiments or name in ("lesions", "translation")  # whose folders are the parts


@pytest.mark.parametrize("task", ["regression", "classification"])
@pytest.mark.parametrize("preset", baselines.PRESETS)
def test_the_settings_of_a_preset_are_settings_of_its_methods(preset: str, task: str) -> None:
    from shiftbench import methods

    for entry in baselines.methods(preset, task=task):
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        methods.method(entry["name"]).Settings.from_dict({"task": task, **own})


def test_the_paper_preset_has_the_printed_settings_of_catboost():
    printed = {
        task: next(e for e in baselines.methods("paper", task=task) if e["name"] == "likelihood_boosting")
        for task in ("regression", "classification")
    }
    values = ("members", "depth", "iterations", "learning_rate")
    assert [printed["regression"][name] for name in values] == [10, 8, 20_000, 0.3]
    assert [printed["classification"][name] for name in values] == [10, 6, 10_000, 0.4]


def test_example_data_become_reports_and_the_papers_tables(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_presets.use(monkeypatch)
    small_presets.blank_pictures(monkeypatch)
    said = shiftbench("run", "weather", "--data", table, "--out", "run", *QUICK)
    assert said.code == 0, said.err
    regression, classification = (
        Report.load(tmp_path / f"run/{task}/report/report.json") for task in ("regression", "classification")
    )
    assert [system.name for system in regression.systems] == [
        "CatBoost (single)", "CatBoost", "GFS", "CMC", "WRF", "mean",
    ]  # fmt: skip
    assert [system.name for system in classification.systems] == ["CatBoost (single)", "CatBoost", "majority"]
    used = regression.recipe["features"]["used"]
    assert sorted(used) == sorted(set(schema.FEATURES) - regression.recipe["features"]["left_out"].keys())
    for report in (regression, classification):
        assert report.recipe["track"]["origin"] == "made-up example, 1,500 rows, seed 0"
        assert report.recipe["track"]["experiment"] == "A"
        assert report.recipe["clusters"] == ["fact_latitude", "fact_longitude"]
    for raw in ("GFS", "CMC", "WRF"):  # two of the three are in kelvin
        assert regression.score("rmse", system=raw, split="eval", subset="in").value < 20
    shown = shiftbench("tables", "weather", "run", "--out", "tables")
    assert shown.code == 0, shown.err
    assert len(shown.out.splitlines()) <= 40
    assert "Furthest from print" in shown.out
    written = (tmp_path / "tables/tables.md").read_text("utf-8")
    assert all(f"Table {number}" in written for number in (1, 2, 3, 4, 9, 10, 11, 12, 13))
    assert "example" in written
    again = shiftbench("run", "weather", "--data", table, "--out", "run", "--task", "regression", *QUICK)
    assert again.code == 0, again.err
    assert Report.load(tmp_path / "run/regression/report/report.json").scores == regression.scores


def test_a_method_that_one_task_lacks_is_refused_before_the_other_is_fitted(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    said = shiftbench("run", "weather", "--data", table, "--out", "run", "--method", "column")
    assert (said.code, "Unknown method of this preset for classification 'column'" in said.err) == (2, True), said.err
    assert list(tmp_path.iterdir()) == []


def test_prepared_partitions_hold_the_official_columns_and_their_own_ids(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    assert shiftbench("example", "weather", "--rows", 2500, "--out", "w.csv").code == 0
    said = shiftbench("prepare", "weather", "w.csv", "--out", "prepared")
    assert said.code == 0, said.err
    parts = {name: pl.read_parquet(tmp_path / f"prepared/{name}.parquet") for name in schema.PARTITIONS}
    assert {tuple(part.columns) for part in parts.values()} == {("id", *schema.NAMES)}
    ids = pl.concat(part["id"] for part in parts.values())
    assert ids.n_unique() == len(ids)
    assert set(parts["eval_out"]["climate"]) == {"snow", "polar"}
    assert not {"snow", "polar"} & set(parts["train"]["climate"])


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), "expected --data with the track's data"),
        (("--data", "absent.csv"), "absent.csv"),
        (("--data", "w.parquet", "--preset", "quik"), "Did you mean 'quick'?"),
        (("--data", "w.parquet", "--task", "regresion"), "Did you mean 'regression'?"),
        (("--data", "w.parquet", "--experiment", "Z"), "Unknown experiment 'Z'"),
        (("--data", "w.parquet", "--method", "likelihood_bosting"), "Did you mean 'likelihood_boosting'?"),
        (
            ("--data", "w.parquet", "--target", "x", "--gap", "7d"),
            "weather does not support --target, --gap. Drop the options.",
        ),
    ],
)
def test_wrong_words_end_in_a_sentence(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, words: tuple[str, ...], expected: str
) -> None:
    shutil.copy(table, tmp_path)
    said = shiftbench("run", "weather", *words, "--out", "run")
    assert (said.code, expected in said.err) == (2, True), said.err
