"""An import with `skip_damaged` takes what is whole and names what it leaves; without it damage is an error."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from shiftbench.cli import app, main
from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion import read_scene
from shiftbench.tracks.motion.argoverse2 import import_scenes, scene_making
from tests.tracks.motion.argoverse2 import made


def _cut(folder: Path, name: str) -> None:
    path = next(folder.rglob(name))
    path.write_bytes(path.read_bytes()[:-100])


def _without(folder: Path, name: str) -> None:
    next(folder.rglob(name)).unlink()


def _copied(folder: Path, name: str) -> None:
    path = next(folder.rglob(name))
    path.with_name(f"{path.stem}2{path.suffix}").write_bytes(path.read_bytes())


MAP, BOXES, POSES, STATES = "log_map*.json", "annotations.feather", "city_SE3*.feather", "scenario_*.parquet"
LOG = {
    "cut table": (lambda at: _cut(made.log(at), BOXES), "annotations.feather: "),
    "cut poses": (lambda at: _cut(made.log(at), POSES), "city_SE3_egovehicle.feather: "),
    "cut map": (lambda at: _cut(made.log(at), MAP), "expected a map in JSON"),
    "no map": (lambda at: _without(made.log(at), MAP), "expected one log_map_archive_*.json, found none"),
    "two maps": (lambda at: _copied(made.log(at), MAP), "expected one log_map_archive_*.json, found 2"),
    "no poses": (lambda at: _without(made.log(at), POSES), "expected city_SE3_egovehicle.feather, found none"),
    "no boxes": (lambda at: _without(made.log(at), BOXES), "expected one annotations*.feather, found none"),
    "few poses": (lambda at: made.log(at, poses=lambda frame: frame.head(90)), "expected a pose at each of 156 sweeps"),
    "too short": (lambda at: made.log(at, sweeps=80), "The log is shorter than a scene"),
    "not finite": (
        lambda at: made.log(at, boxes=lambda frame: frame.with_columns(tx_m=pl.lit(float("nan")))),
        "'tx_m': expected a number in every row",
    ),
}
SCENARIO = {
    "cut scenario": (lambda at: _cut(made.scenario(at, name="bad"), STATES), "scenario_bad.parquet: "),
    "no future": (lambda at: made.scenario(at, name="bad", sweeps=50), "Without the future there is nothing"),
    "no column": (
        lambda at: made.scenario(at, name="bad", states=lambda frame: frame.drop("heading")), "heading",
    ),
    "no map of it": (lambda at: _without(made.scenario(at, name="bad"), MAP), "log_map_archive_*.json, found none"),
    "twice": (lambda at: made.scenario(at), "expected each recording once, found made in"),
}  # fmt: skip
DAMAGE = LOG | SCENARIO


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of six scenes and a scenario of one."""
    folder = tmp_path_factory.mktemp("recordings")
    made.log(folder / "a" / "log")
    made.scenario(folder / "a" / "scenario")
    return folder


@pytest.fixture(scope="module")
def whole(recordings: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Their import, in which nothing is damaged."""
    folder = tmp_path_factory.mktemp("whole") / "scenes"
    _import(recordings, folder)
    return folder


@pytest.fixture
def source(recordings: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(recordings, tmp_path / "source"))


def _import(source: Path, folder: Path, **named):
    return import_scenes(source, folder, **{"executor": "serial", "skip_damaged": True, **named})


def _scenes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "eval").iterdir()}


def _listed(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "damaged.jsonl").read_text().splitlines()]


@pytest.mark.parametrize("kind", DAMAGE)
def test_what_is_whole_is_taken_and_each_kind_of_damage_is_named(
    kind: str, source: Path, whole: Path, tmp_path: Path
) -> None:
    assert not (whole / "damaged.jsonl").exists()
    spoil, words = DAMAGE[kind]
    spoil(source / "b")
    imported = _import(source, tmp_path / "out")
    assert (imported.recordings, imported.scenes, imported.requests) == (2, 7, 15)
    assert _scenes(tmp_path / "out") == _scenes(whole)
    (left,) = imported.damaged
    assert left.recording == ("made" if kind == "twice" else "b" if kind in LOG or kind == "no map of it" else "bad")
    assert any(words in problem and str(source / "b") in problem for problem in left.problems)
    assert _listed(tmp_path / "out") == [{"recording": left.recording, "problems": list(left.problems)}]


@pytest.mark.parametrize("kind", DAMAGE)
def test_without_the_option_damage_is_an_error_that_names_it(kind: str, source: Path, tmp_path: Path) -> None:
    DAMAGE[kind][0](source / "b")
    with pytest.raises(ShiftbenchError, match=r"leave them out \(--skip-damaged\)") as caught:
        _import(source, tmp_path / "out", skip_damaged=False)
    assert any(DAMAGE[kind][1] in problem for problem in caught.value.problems)
    assert not (tmp_path / "out" / "damaged.jsonl").exists()


def test_all_that_is_damaged_is_named_however_many_and_in_processes_alike(source: Path, tmp_path: Path) -> None:
    for number in range(25):
        folder = made.scenario(source / f"bad{number}", name=f"bad{number:02d}")
        (folder / f"scenario_bad{number:02d}.parquet").write_bytes(b"PAR1 nothing")
    _without(made.log(source / "c"), MAP)
    names = ["serial", "processes"]
    found = [_import(source, tmp_path / name, executor=name, workers=2) for name in names]
    assert found[0].damaged == found[1].damaged
    assert [each.recording for each in found[0].damaged] == [*(f"bad{number:02d}" for number in range(25)), "c"]
    assert _listed(tmp_path / "serial") == _listed(tmp_path / "processes")


@pytest.mark.parametrize("lost", [("cut table", "cut scenario"), ("no map", "no map of it")])
def test_if_all_are_damaged_it_is_an_error_and_nothing_stays(lost: tuple[str, str], tmp_path: Path) -> None:
    for kind in lost:
        DAMAGE[kind][0](tmp_path / "source" / kind)
    with pytest.raises(
        ShiftbenchError, match=r"expected 2 (whole )?recordings, found (none|2 that lack files)"
    ) as caught:
        _import(tmp_path / "source", tmp_path / "out")
    assert all(any(DAMAGE[kind][1] in problem for problem in caught.value.problems) for kind in lost)
    assert not (tmp_path / "out").exists()


def test_an_interrupted_import_goes_on_and_names_the_same(source: Path, tmp_path: Path) -> None:
    DAMAGE["cut map"][0](source / "a0")
    whole = _import(source, tmp_path / "whole")

    def killed(stage: str, done: int, total: int) -> None:
        if done == 2:
            raise KeyboardInterrupt("killed")

    with pytest.raises(KeyboardInterrupt, match="killed"):
        _import(source, tmp_path / "out", progress=killed)
    again = _import(source, tmp_path / "out")
    assert again.damaged == whole.damaged
    assert _scenes(tmp_path / "out") == _scenes(tmp_path / "whole")
    assert _listed(tmp_path / "out") == _listed(tmp_path / "whole")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "eval", "imported.jsonl", "origin.toml", "damaged.jsonl",
    }  # fmt: skip


def test_a_mended_recording_is_imported_by_the_next_run_and_no_longer_listed(source: Path, tmp_path: Path) -> None:
    DAMAGE["cut table"][0](source / "b")
    before = _import(source, tmp_path / "out")
    made.log(source / "b")
    after = _import(source, tmp_path / "out")
    assert (before.scenes, after.scenes, after.damaged) == (7, 13, ())
    assert not (tmp_path / "out" / "damaged.jsonl").exists()


def test_what_is_no_damage_of_a_recording_stays_an_error(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(scene, path):
        raise ShiftbenchError(f"scene {scene.id}: expected room on the disk")

    monkeypatch.setattr(scene_making, "write_scene", refused)
    with pytest.raises(ShiftbenchError, match=r"expected room on the disk"):
        _import(source, tmp_path / "out")


def test_the_command_names_what_it_leaves_and_exits_with_zero_or_two(
    source: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    DAMAGE["cut map"][0](source / "b")
    DAMAGE["no poses"][0](source / "c")
    words = ["import", "argoverse2", str(source), "--out", str(tmp_path / "out"), "--executor", "serial"]
    app([*words, "--skip-damaged"], standalone_mode=False)
    lines = capsys.readouterr().out.splitlines()
    assert "recordings          2" in lines
    assert "left out            2  damaged recordings, listed in damaged.jsonl" in lines
    named = [line for line in lines if line.startswith("left out: ")]
    assert [str(source / name) in line for name, line in zip("bc", named, strict=True)] == [True, True]
    monkeypatch.setattr("sys.argv", ["shiftbench", *words[:-3], str(tmp_path / "other")])
    with pytest.raises(SystemExit, match=r"^2$"):
        main()
    assert "leave them out (--skip-damaged)" in capsys.readouterr().err.replace("\n", " ")


@pytest.mark.needs_shared
def test_of_genuine_recordings_with_a_cut_one_the_others_are_taken(shared: Path, tmp_path: Path) -> None:
    genuine = shared / "data" / "motion" / "argoverse2"
    for path in genuine.rglob("*"):
        if path.is_file() and "Sim2" not in path.name:
            copy = tmp_path / "source" / path.relative_to(genuine)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(path.read_bytes())
    cut = next((tmp_path / "source").rglob("annotations.feather"))
    cut.write_bytes(cut.read_bytes()[: cut.stat().st_size // 2])
    imported = _import(tmp_path / "source", tmp_path / "out")
    assert [each.recording for each in imported.damaged] == [cut.parent.name]
    assert imported.recordings == 2
    paths = sorted((tmp_path / "out" / "eval").iterdir())
    assert len(paths) == imported.scenes == 7
    assert not any(read_scene(path).id.startswith(cut.parent.name) for path in paths)
