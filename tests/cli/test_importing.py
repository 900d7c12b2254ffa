"""`shiftbench import argoverse2 SOURCE`."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.cli import app, main
from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from tests.tracks.motion.argoverse2 import made


def _import(*words: object) -> None:
    app(["import", *map(str, words)], standalone_mode=False)


def test_an_import_says_what_it_brought_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _import("argoverse2", made.scenario(tmp_path / "source"), "--out", tmp_path / "out", "--executor", "serial")
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["recordings          1", "scenes              1", "requests            3"]
    assert "left out            1  lane of type BIKE" in lines
    assert lines[-1].startswith(f"data: {tmp_path / 'out'} (a test set")
    assert len(list((tmp_path / "out" / "eval").glob("*.pb"))) == 1


def test_only_a_folder_of_an_import_is_written_to_or_emptied(tmp_path: Path) -> None:
    source, out = made.scenario(tmp_path / "source"), tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("mine")
    for words in ((), ("--overwrite",)):
        with pytest.raises(SettingsError, match=r"nothing was removed"):
            _import("argoverse2", source, "--out", out, "--executor", "serial", *words)
    with pytest.raises(SettingsError, match=r"elsewhere than the data"):
        _import("argoverse2", source, "--out", tmp_path, "--overwrite")
    assert (out / "mine.txt").exists()


def test_overwriting_begins_anew(tmp_path: Path) -> None:
    source, out = made.scenario(tmp_path / "source"), tmp_path / "out"
    _import("argoverse2", source, "--out", out, "--executor", "serial")
    (out / "eval" / "old.pb").write_bytes(b"mine")
    _import("argoverse2", source, "--out", out, "--executor", "serial")
    assert (out / "eval" / "old.pb").exists()
    words = ("argoverse2", source, "--out", out, "--executor", "serial", "--overwrite")
    with pytest.raises(SettingsError, match=r"found 'eval/old.pb' in it, added or changed since"):
        _import(*words)
    (out / "eval" / "old.pb").unlink()
    before = {path.name: path.stat().st_ino for path in (out / "eval").iterdir()}
    _import(*words)
    assert before.keys() == {path.name for path in (out / "eval").iterdir()}
    assert before != {path.name: path.stat().st_ino for path in (out / "eval").iterdir()}


def test_formats_and_sources_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'argoverse2'"):
        _import("argoverse", tmp_path, "--out", tmp_path / "out", "--executor", "serial")
    with pytest.raises(ShiftbenchError, match=r"found neither"):
        _import("argoverse2", tmp_path, "--out", tmp_path / "out", "--executor", "serial")


def test_an_import_that_brings_nothing_exits_with_two_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (made.scenario(tmp_path / "source") / "scenario_made.parquet").write_bytes(b"PAR1 nothing")
    (made.log(tmp_path / "source" / "log") / "annotations.feather").write_bytes(b"nothing")
    words = ["import", "argoverse2", tmp_path / "source", "--out", tmp_path / "out", "--workers", "2"]
    monkeypatch.setattr("sys.argv", ["shiftbench", *map(str, words)])
    with pytest.raises(SystemExit, match=r"^2$"):
        main()
    said = capsys.readouterr().err
    for part in ("scenario_made.parquet", "annotations.feather", "found none that could be imported"):
        assert part in said
    assert not (tmp_path / "out").exists()


def test_an_executor_that_is_none_is_named_before_anything_is_removed(tmp_path: Path) -> None:
    source, out = made.scenario(tmp_path / "source"), tmp_path / "out"
    _import("argoverse2", source, "--out", out, "--executor", "serial")
    with pytest.raises(UnknownNameError, match=r"Unknown executor 'pool'. .*Known: processes, ray, serial, slurm"):
        _import("argoverse2", source, "--out", out, "--executor", "pool", "--overwrite")
    assert (out / "origin.toml").exists()
