"""An import writes whole scenes, goes on where it stopped, and names all that it could not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion import read_scene
from shiftbench.tracks.motion.argoverse2 import Settings, import_scenes, scene_making
from tests.tracks.motion.argoverse2 import made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made.log(tmp_path / "source" / "logs" / "log")
    made.scenario(tmp_path / "source" / "scenarios" / "made")
    return tmp_path / "source"


def _import(source: Path, folder: Path, **named):
    return import_scenes(source, folder, **{"executor": "serial", **named})


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _damaged(folder: Path, *names: str) -> None:
    for name in names:
        (made.scenario(folder / name, name=name) / f"scenario_{name}.parquet").write_bytes(b"PAR1 nothing")


def test_scenes_are_written_as_the_evaluation_part(source: Path, tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    imported = _import(source, tmp_path / "out", progress=lambda *step: said.append(step))
    paths = sorted((tmp_path / "out" / "eval").iterdir())
    assert (imported.recordings, imported.scenes, imported.requests) == (2, 7, 15)
    assert [read_scene(path).id for path in paths] == [path.stem for path in paths]
    assert imported.left_out == {"lane of type BIKE": 2, "CONSTRUCTION_CONE": 1, "static": 1}
    assert said == [("import", 1, 2), ("import", 2, 2)]
    assert (tmp_path / "out" / "origin.toml").read_text().startswith('origin = "Argoverse 2')


def test_a_killed_import_goes_on_and_gives_the_same(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole, out = tmp_path / "whole", tmp_path / "out"
    expected = _import(source, whole)

    def killed(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt("killed")

    with pytest.raises(KeyboardInterrupt, match="killed"):
        _import(source, out, progress=killed)
    with (out / "imported.jsonl").open("a") as file:
        file.write('{"recording": "made", "sce')  # cut off
    read: list[str] = []
    scenes_of = scene_making.scenes_of
    monkeypatch.setattr(
        scene_making, "scenes_of", lambda each, **named: read.append(each.id) or scenes_of(each, **named)
    )
    again = _import(source, out)
    assert read == ["made"]
    assert _bytes(out) == _bytes(whole)
    assert (again.scenes, again.left_out) == (expected.scenes, expected.left_out)


def test_a_scene_that_was_removed_is_written_again(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    before = _bytes(tmp_path / "out")
    next((tmp_path / "out" / "eval").glob("log*")).unlink()
    _import(source, tmp_path / "out")
    after = _bytes(tmp_path / "out")
    assert {name: after[name] for name in after if name.endswith(".pb")} == {
        name: before[name] for name in before if name.endswith(".pb")
    }


def test_scenes_of_other_settings_are_not_mixed(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    with pytest.raises(SettingsError, match=r"found scenes that were made otherwise"):
        _import(source, tmp_path / "out", settings=Settings(moved_m=5))


def test_damaged_recordings_are_all_named_and_the_others_imported(source: Path, tmp_path: Path) -> None:
    _damaged(source, "bad", "worse")
    with pytest.raises(ShiftbenchError, match=r"expected 4 recordings, found 2 that could be imported") as caught:
        _import(source, tmp_path / "out")
    assert "scenario_bad.parquet" in str(caught.value)
    assert "scenario_worse.parquet" in str(caught.value)
    assert len(list((tmp_path / "out" / "eval").iterdir())) == 7


@pytest.mark.parametrize("there", [False, True])
def test_an_import_that_brings_nothing_leaves_nothing(there: bool, tmp_path: Path) -> None:
    _damaged(tmp_path / "source", "bad", "worse")
    out = tmp_path / "out"
    if there:
        out.mkdir()
    with pytest.raises(ShiftbenchError, match=r"expected 2 recordings, found none that could be imported") as caught:
        _import(tmp_path / "source", out)
    assert len(caught.value.problems) == 3
    assert out.exists() == there
    assert not there or not list(out.iterdir())


def test_of_a_recording_whose_last_scene_fails_no_scene_stays(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_scene = scene_making.write_scene

    def refused(scene, path):
        if scene.id == "log_05.2s":
            raise ShiftbenchError(f"scene {scene.id}: expected another")
        write_scene(scene, path)

    monkeypatch.setattr(scene_making, "write_scene", refused)
    with pytest.raises(ShiftbenchError, match=r"scene log_05.2s: expected another"):
        _import(source, tmp_path / "out")
    assert [path.name for path in (tmp_path / "out" / "eval").iterdir()] == ["made_00.1s.pb"]
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["eval", "imported.jsonl", "origin.toml"]


def test_a_failure_takes_nothing_from_what_was_imported_before(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    before = _bytes(tmp_path / "out")
    _damaged(tmp_path / "other", "bad")
    with pytest.raises(ShiftbenchError, match=r"expected 1 recordings, found none that could be imported"):
        _import(tmp_path / "other", tmp_path / "out")
    assert _bytes(tmp_path / "out") == before


def test_processes_write_the_same_bytes_and_say_the_same_problems(source: Path, tmp_path: Path) -> None:
    _damaged(source, "bad", "worse")
    said = []
    for name in ("serial", "processes"):
        with pytest.raises(ShiftbenchError, match=r"expected 4 recordings, found 2 that could be") as caught:
            _import(source, tmp_path / name, executor=name, workers=2)
        said.append([problem.replace(str(tmp_path / name), "out") for problem in caught.value.problems])
    assert said[0] == said[1]
    assert _bytes(tmp_path / "serial") == _bytes(tmp_path / "processes")


def test_an_executor_that_is_none_is_named_and_leaves_nothing(source: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"Unknown executor 'process'. Did you mean 'processes'"):
        _import(source, tmp_path / "out", executor="process")
    with pytest.raises(SettingsError, match=r"workers: expected a whole number from 1 on, found 0"):
        _import(source, tmp_path / "out", workers=0)
    assert not (tmp_path / "out").exists()
