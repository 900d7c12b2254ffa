"""`shiftbench import argoverse2 SOURCE`."""

from __future__ import annotations

from pathlib import Path

import pytest
import typer

from shiftbench.cli.importing import import_data
from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from tests.tracks.motion.argoverse2 import made


def _import(*words: object) -> None:
    app = typer.Typer()
    app.command()(import_data)
    app([str(word) for word in words], standalone_mode=False)


def test_an_import_says_what_it_brought_and_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _import("argoverse2", made.scenario(tmp_path / "source"), "--out", tmp_path / "out")
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
            _import("argoverse2", source, "--out", out, *words)
    with pytest.raises(SettingsError, match=r"elsewhere than the data"):
        _import("argoverse2", source, "--out", tmp_path, "--overwrite")
    assert (out / "mine.txt").exists()


def test_overwriting_begins_anew(tmp_path: Path) -> None:
    source, out = made.scenario(tmp_path / "source"), tmp_path / "out"
    _import("argoverse2", source, "--out", out)
    (out / "eval" / "old.pb").write_bytes(b"")
    _import("argoverse2", source, "--out", out)
    assert (out / "eval" / "old.pb").exists()
    _import("argoverse2", source, "--out", out, "--overwrite")
    assert not (out / "eval" / "old.pb").exists()


def test_formats_and_sources_that_are_none_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Did you mean 'argoverse2'"):
        _import("argoverse", tmp_path, "--out", tmp_path / "out")
    with pytest.raises(ShiftbenchError, match=r"found neither"):
        _import("argoverse2", tmp_path, "--out", tmp_path / "out")
