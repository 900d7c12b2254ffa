"""Output that is one file takes the place of what the same command wrote, and of nothing else."""

from __future__ import annotations

import shutil

import polars as pl
import pytest

COMMANDS = {
    "table.parquet": ("example", "table", "--rows", "400"),
    "table.csv": ("example", "table", "--rows", "400"),
    "weather.parquet": ("example", "weather", "--rows", "1000"),
    "weather.csv": ("example", "weather", "--rows", "1000"),
    "printed.csv": ("tables", "motion"),
    "printed.csv.gz": ("tables", "motion"),
    "printed.parquet": ("tables", "motion"),
    "printed.jsonl": ("tables", "motion"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_replaces_its_own_file_only(shiftbench, tmp_path, name):
    words = (*COMMANDS[name], "--out", name)
    assert shiftbench(*words).code == 0
    assert shiftbench(*words).code == 2
    again = shiftbench(*words, "--overwrite")
    assert again.code == 0, again.err
    path = tmp_path / name
    if path.suffix == ".parquet":
        pl.read_parquet(path).write_parquet(path)  # somebody else's
    else:
        path.write_bytes(path.read_bytes() + b"mine")
    before = path.read_bytes()
    refused = shiftbench(*words, "--overwrite")
    assert refused.code == 2
    assert f"error: {name}: expected a new file, or one that this command wrote" in refused.err
    assert path.read_bytes() == before


@pytest.mark.parametrize("name", ["weather.csv", "printed.csv", "printed.parquet", "table.csv"])
def test_a_file_of_somebody_else_stays(shiftbench, tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"mine")
    refused = shiftbench(*COMMANDS[name], "--out", name, "--overwrite")
    assert refused.code == 2
    assert f"error: {name}: expected a new file, or one that this command wrote" in refused.err
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {name: b"mine"}


def test_one_command_does_not_replace_the_file_of_another(shiftbench, tmp_path):
    assert shiftbench(*COMMANDS["weather.parquet"], "--out", "a.parquet").code == 0
    before = (tmp_path / "a.parquet").read_bytes()
    for name in ("table.parquet", "printed.parquet"):
        assert shiftbench(*COMMANDS[name], "--out", "a.parquet", "--overwrite").code == 2
    assert (tmp_path / "a.parquet").read_bytes() == before


def test_a_link_and_a_note_of_somebody_else_stay(shiftbench, tmp_path):
    words = (*COMMANDS["table.csv"], "--out", "table.csv")
    assert shiftbench(*words).code == 0
    note = tmp_path / ".table.csv.shiftbench.json"
    kept = note.read_text()
    note.write_text("mine")
    refused = shiftbench(*words, "--overwrite")
    assert refused.code == 2
    assert ".table.csv.shiftbench.json: expected nothing there" in refused.err
    assert note.read_text() == "mine"
    note.write_text(kept)
    shutil.move(tmp_path / "table.csv", tmp_path / "other.csv")
    (tmp_path / "table.csv").symlink_to("other.csv")
    assert shiftbench(*words, "--overwrite").code == 2
    assert (tmp_path / "table.csv").is_symlink()


def test_predictions_take_the_place_of_predictions_only(shiftbench, tmp_path):
    assert shiftbench("example", "table", "--rows", "400", "--out", "t.parquet").code == 0
    assert shiftbench("partition", "t.parquet", "--config", "t.toml", "--out", "parts").code == 0
    fitted = shiftbench("fit", "parts", "--config", "t.toml", "--method", "mean", "--out", "model")
    assert fitted.code == 0, fitted.err
    words = ("predict", "model", "parts/eval_out.parquet", "--id", "id", "--out", "p.parquet")
    assert shiftbench(*words).code == 0
    assert shiftbench(*words, "--overwrite").code == 0
    shutil.copy(tmp_path / "t.parquet", tmp_path / "p.parquet")
    refused = shiftbench(*words, "--overwrite")
    assert refused.code == 2
    assert "error: p.parquet: expected a new file, or one that this command wrote" in refused.err
    assert (tmp_path / "p.parquet").read_bytes() == (tmp_path / "t.parquet").read_bytes()
