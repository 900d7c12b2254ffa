"""`shiftbench run power` from example voyages to the paper's tables: every network, in the quick preset."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.assessment import predictions
from shiftbench.io.output import writing
from shiftbench.report.content import Report
from shiftbench.tracks.power import baselines
from tests import small_presets
from tests.cli.conftest import Shiftbench, run_in

pytest.importorskip("torch")

SMALL = ("--members", 2, "--replicates", 25)
NETWORKS = ("DNN", "MC-dropout", "VI", "Symbolic")


@pytest.mark.parametrize("preset", baselines.PRESETS)
def test_the_settings_of_a_preset_are_settings_of_its_methods(preset: str) -> None:
    from shiftbench import methods

    for entry in baselines.methods(preset, task="regression"):
        own = {key: value for key, value in entry.items() if key not in ("name", "title")}
        assert methods.method(entry["name"]).Settings.from_dict({"task": "regression", **own}).members == 10


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with example voyages and a run of every network on them."""
    folder = tmp_path_factory.mktemp("power")
    made = run_in(folder, "example", "power", "--rows", 6_000, "--out", "voyages")
    assert made.code == 0, made.err
    said = run_in(folder, "run", "power", "--data", "voyages", "--out", "run", *SMALL)
    assert said.code == 0, said.err
    return folder


def test_example_voyages_become_a_report_with_three_splits_and_the_papers_tables(
    shiftbench: Shiftbench, ran: Path, tmp_path: Path
) -> None:
    report = Report.load(ran / "run/regression/report/report.json")
    assert report.splits == ("dev", "eval", "generalization")
    assert [system.name for system in report.systems if system.role == "ensemble"] == list(NETWORKS)
    assert (report.rule, report.threshold, report.target_unit) == ("mixed", 250_000.0, "kW")
    assert report.recipe["track"]["origin"] == "made-up example, 6,000 rows, seed 0"
    assert report.recipe["clusters"] == ["day"]
    assert len(report.recipe["features"]["used"]) == 10

    def rmse(system: str, split: str) -> float:
        return float(report.score("rmse", system=system, split=split, subset="full").value)

    assert all(rmse(system, "eval") < 0.5 * rmse("mean", "eval") for system in NETWORKS)
    assert rmse("Symbolic", "generalization") < rmse("DNN", "generalization")  # what its physics are for
    said = shiftbench("tables", "power", ran / "run", "--out", "tables")
    assert said.code == 0, said.err
    written = (tmp_path / "tables/tables.md").read_text("utf-8")
    assert all(f"Table {number}" in written for number in (16, 17, 23, 24))
    assert "Not the official data" in written


def test_prepared_records_that_were_changed_are_not_scored(shiftbench: Shiftbench, ran: Path, tmp_path: Path) -> None:
    file = next(path for path in (ran / "run/regression/predictions").glob("*.parquet") if path.stem == "DNN")
    shutil.copytree(ran / "run/data-canonical", tmp_path / "data")
    part = tmp_path / "data/eval_out.parquet"
    whole = pl.read_parquet(part)
    for changed in (whole.head(20), whole.with_columns(pl.col("power").cast(pl.String))):
        changed.write_parquet(part)
        said = shiftbench("assess", file, "--track", "power", "--data", "data", "--out", "o", "--replicates", 25)
        assert (said.code, "it was changed" in said.err, "eval_out.parquet: expected SHA-256" in said.err) == (
            2,
            True,
            True,
        )
        assert not (tmp_path / "o").exists()


def test_scores_are_those_of_the_predictions_that_were_written(
    shiftbench: Shiftbench, ran: Path, tmp_path: Path
) -> None:
    report = Report.load(ran / "run/regression/report/report.json")
    file = next(path for path in (ran / "run/regression/predictions").glob("*.parquet") if path.stem == "DNN")
    words = ("--track", "power", "--data", ran / "run/data-canonical", "--replicates", 25, "--out", "again")
    said = shiftbench("assess", file, *words)
    assert said.code == 0, said.err
    again = Report.load(tmp_path / "again/regression/report.json")
    assert again.splits == ("dev", "eval")
    assert (again.rule, again.threshold, again.target_unit) == (report.rule, report.threshold, report.target_unit)
    for score in again.scores:
        place = {"system": score.system, "split": score.split, "subset": score.subset, "measure": score.measure}
        same = report.score(score.metric, **place)
        found, known = (
            [value for value in (each.value, each.low, each.high) if value is not None] for each in (score, same)
        )
        assert found == pytest.approx(known, rel=1e-12, nan_ok=True), score
    truth = pl.read_parquet(ran / "run/data-canonical/generalization.parquet")["power"].to_numpy()
    for name, draws in (("DNN", 1), ("MC-dropout", 10)):
        ensemble = predictions.load(ran / f"run/regression/predictions/generalization/{name}.parquet").ensemble
        assert (ensemble.members, ensemble.draws) == (2 * draws, draws)
        means = {
            metric: report.score(metric, system=name, split="generalization", subset="full").value
            for metric in ("rmse", "mape")
        }
        errors = ensemble.mean.mean(axis=0) - truth
        assert means["rmse"] == pytest.approx(np.sqrt((errors**2).mean()))
        assert means["mape"] == pytest.approx(np.abs(errors / truth).mean())
        single = report.score("rmse", system=f"{name} (single)", split="generalization", subset="full")
        each = [np.sqrt(((model.mean(axis=0) - truth) ** 2).mean()) for model in ensemble.mean.reshape(2, draws, -1)]
        assert single.each == pytest.approx(each)
        assert (single.value, single.std) == pytest.approx((np.mean(each), np.std(each, ddof=1)))


def test_climates_are_for_weather_alone(shiftbench: Shiftbench, tmp_path: Path) -> None:
    assert shiftbench("example", "power", "--rows", 3_000, "--out", "voyages").code == 0
    (tmp_path / "grid.tsv").write_text("longitude\tlatitude\tcode\n")
    said = shiftbench("prepare", "power", "voyages", "--climate", "grid.tsv", "--out", "prepared")
    assert said.code == 2
    assert "--climate" in said.err
    assert not (tmp_path / "prepared").exists()


def test_overwriting_example_data_removes_nothing_else(shiftbench: Shiftbench, tmp_path: Path) -> None:
    words = ("example", "power", "--rows", 2_000, "--out", "voyages")
    assert shiftbench(*words).code == 0
    first = (tmp_path / "voyages/records.parquet").read_bytes()
    assert shiftbench(*words, "--overwrite").code == 0
    assert (tmp_path / "voyages/records.parquet").read_bytes() == first
    (tmp_path / "voyages/notes.txt").write_text("mine")
    said = shiftbench(*words, "--overwrite")
    assert (said.code, "found 'notes.txt' in it" in said.err) == (2, True), said.err
    assert (tmp_path / "voyages/records.parquet").read_bytes() == first


def test_a_damaged_note_of_a_run_is_named(shiftbench: Shiftbench, tmp_path: Path) -> None:
    assert shiftbench("example", "power", "--rows", 2_000, "--out", "voyages").code == 0
    with writing(tmp_path / "run", "run power") as place:
        place.mkdir()
        (place / "track.toml").write_text("track = ")
    said = shiftbench("run", "power", "--data", "voyages", "--out", "run", *SMALL)
    assert (said.code, "expected an earlier run's record of its data" in said.err) == (2, True), said.err


def test_a_table_of_ones_own_is_scored_beside_the_tracks(
    shiftbench: Shiftbench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_presets.use(monkeypatch)
    assert shiftbench("example", "power", "--rows", 3_000, "--out", "voyages").code == 0
    assert shiftbench("example", "power", "--rows", 1_000, "--seed", 9, "--out", "others").code == 0
    words = ("--method", "mlp", *SMALL, "--test-set", "other=others/records.parquet", "--out", "run")
    said = shiftbench("run", "power", "--data", "voyages", *words)
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "run/regression/report/report.json")
    assert report.splits == ("dev", "eval", "generalization", "other")
    assert report.score("rmse", system="DNN", split="other", subset="full").n == 1_000
