"""Predictions on a cluster that were cut off: the same command goes on with the parts that are done."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.methods import ensemble_files
from tests.cli.conftest import Shiftbench
from tests.output.killing import kill, killed_later

METHOD = "tests.methods.dying_method:METHOD"
SLURM = ("--executor", "slurm", "--workers", 2)


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, made_up_slurm: Path) -> Path:
    """Records in order, of which every part has 120."""
    monkeypatch.setattr("shiftbench.methods.parts.RECORDS", 120)
    path = tmp_path / "t.parquet"
    rows = np.arange(500)
    frame = pl.DataFrame(
        {"x": rows, "y": np.random.default_rng(0).random(500), "g": np.where(rows < 300, "a", "b"), "id": rows + 1}
    )
    frame.write_parquet(path)
    return path


def predicted(folder: Path) -> set[int]:
    """The first record of every part that was predicted since this was asked last."""
    marks = list(folder.rglob("predicted-*"))
    for mark in marks:
        mark.unlink()
    return {int(mark.name.split("-")[1]) for mark in marks}


def fitted(shiftbench: Shiftbench) -> None:
    for words in (
        ("partition", "t.parquet", "--group", "g", "--shifted", "b", "--out", "parts"),
        ("fit", "parts", "--target", "y", "--method", METHOD, "--out", "model"),
    ):
        assert shiftbench(*words).code == 0


def test_a_prediction_whose_worker_was_killed_goes_on(shiftbench: Shiftbench, table: Path, tmp_path: Path) -> None:
    fitted(shiftbench)
    words = ("predict", "model", table, "--out", "p.parquet", *SLURM)
    said = shiftbench(*words)
    assert (said.code, "Run again to go on" in said.err) == (2, True), said.err
    assert not Path("p.parquet").exists()
    done = predicted(tmp_path) - {0}  # the first record was looked at first
    said = shiftbench(*words)
    assert said.code == 0, said.err
    again = predicted(tmp_path) - {0}
    assert done
    assert not done & again
    assert 240 in again
    assert not [path for path in tmp_path.glob(".*") if path.suffix != ".json"]
    assert shiftbench("predict", "model", table, "--out", "here.parquet").code == 0
    assert Path("p.parquet").read_bytes() == Path("here.parquet").read_bytes()


@pytest.mark.parametrize("error", [kill, KeyboardInterrupt])
def test_a_prediction_that_was_killed_itself_goes_on(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Callable[[], None]
) -> None:
    fitted(shiftbench)
    (tmp_path / "killed").touch()
    words = ("predict", "model", table, "--out", "p.parquet", *SLURM)

    def stopped(*_: object) -> None:
        if error is KeyboardInterrupt:
            raise KeyboardInterrupt
        kill()

    with monkeypatch.context() as patch, killed_later(tmp_path):
        patch.setattr(ensemble_files, "read", stopped)
        shiftbench(*words)
    assert predicted(tmp_path) == {0, 120, 240, 360, 480}
    assert {path.name for path in tmp_path.glob(".p*")} == {".p.parquet.making", ".p.parquet.shiftbench"}
    said = shiftbench(*words)
    assert said.code == 0, said.err
    assert predicted(tmp_path) == {0}
    assert {path.name for path in tmp_path.glob(".p*")} == {".p.parquet.shiftbench.json"}


def test_other_commands_do_not_keep_parts_of_predictions(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fitted(shiftbench)
    said = shiftbench("predict", "model", table, "--out", "p.parquet", *SLURM)
    assert said.code == 2
    assert list(tmp_path.glob(".p.parquet.making/*.answered.part"))
    assert shiftbench("example", "table", "--rows", 400, "--out", "p.parquet").code == 0
    assert {path.name for path in tmp_path.glob(".p*")} == {".p.parquet.shiftbench.json"}


def test_a_run_goes_on_with_the_parts_that_are_predicted(shiftbench: Shiftbench, table: Path, tmp_path: Path) -> None:
    words = ("run", table, "--target", "y", "--group", "g", "--shifted", "b", "--method", METHOD,
             "--replicates", 20, "--test-set", f"more={table}", "--out", "run")  # fmt: skip
    said = shiftbench(*words, *SLURM)
    assert (said.code, "Run again to go on" in said.err) == (2, True), said.err
    parts = {120, 240, 360, 480}  # of the test set, but for the first: the record 250 is in its third
    done = predicted(tmp_path) & parts
    said = shiftbench(*words, *SLURM)
    assert said.code == 0, said.err
    again = predicted(tmp_path) & parts
    assert done
    assert not done & again, (done, again)
    assert 240 in again
    assert not list(Path("run").rglob("*.part"))
