"""What an import has noted is believed only as far as files bear it out."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.argoverse2 import import_scenes
from shiftbench.tracks.motion.argoverse2.scene_making import parsed
from shiftbench.tracks.motion.prepared.sources import recordings
from tests.tracks.motion.argoverse2 import made

DEEP = "[" * 200_000
GOOD = {"recording": "log", "scenes": {"log_00.2s": "0"}, "requests": 3, "left_out": {"static": 1}, "inputs": {}}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made.log(tmp_path / "source" / "log")
    made.scenario(tmp_path / "source" / "made")
    return tmp_path / "source"


def _import(source: Path, folder: Path):
    """Import, and which recordings were not yet done."""
    said: list[int] = []
    imported = import_scenes(source, folder, executor="serial", progress=lambda stage, done, total: said.append(done))
    return imported, len(said)


def _scenes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "eval").iterdir()}


def test_notes_hold_the_hashes_of_files_and_scenes(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    lines = [json.loads(line) for line in (tmp_path / "out" / "imported.jsonl").read_text().splitlines()]
    inputs = {path.name: path for path in source.rglob("*") if path.is_file()}
    for found, paths in (("inputs", inputs), ("scenes", {p.stem: p for p in (tmp_path / "out" / "eval").iterdir()})):
        noted = {name: digest for line in lines for name, digest in line[found].items()}
        assert noted == {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in paths.items()}
    assert recordings(tmp_path / "out" / "eval") == {
        name: name.split("_")[0] for line in lines for name in line["scenes"]
    }


def test_what_is_done_is_not_done_again(source: Path, tmp_path: Path) -> None:
    first, _ = _import(source, tmp_path / "out")
    before = (tmp_path / "out" / "imported.jsonl").read_bytes()
    again, missing = _import(source, tmp_path / "out")
    assert (missing, again) == (0, first)
    assert (tmp_path / "out" / "imported.jsonl").read_bytes() == before


@pytest.mark.parametrize("changed", ["table", "poses", "map"])
def test_a_recording_that_was_changed_under_its_id_is_imported_anew(changed: str, source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    before = _scenes(tmp_path / "out")
    if changed == "map":
        path = next((source / "log" / "map").iterdir())
        path.write_text(path.read_text().replace("VEHICLE", "BIKE"))
    else:
        away = {"table": "boxes", "poses": "poses"}[changed]
        made.log(source / "log", **{away: lambda frame: frame.with_columns(pl.col("tx_m") + 1.0)})
    _, missing = _import(source, tmp_path / "out")
    after = _scenes(tmp_path / "out")
    assert missing == 1
    assert {name for name in before if before[name] != after[name]} == {n for n in before if n.startswith("log_")}
    _import(source, tmp_path / "fresh")
    assert after == _scenes(tmp_path / "fresh")


def test_scenes_that_a_changed_recording_no_longer_has_do_not_stay(source: Path, tmp_path: Path) -> None:
    made.log(source / "log_1")  # whose scenes begin with the name of the other
    _import(source, tmp_path / "out")
    made.log(source / "log", sweeps=120)
    imported, _ = _import(source, tmp_path / "out")
    assert imported.scenes == 2 + 6 + 1
    assert len(_scenes(tmp_path / "out")) == 9


def test_a_changed_recording_that_is_damaged_is_named_and_its_scenes_stay(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    before = _scenes(tmp_path / "out")
    (source / "log" / "annotations.feather").write_bytes(b"ARROW1 nothing")
    for _ in range(2):
        with pytest.raises(ShiftbenchError, match=r"expected 2 recordings, found 1 that could be imported"):
            _import(source, tmp_path / "out")
    assert _scenes(tmp_path / "out") == before
    assert len(recordings(tmp_path / "out" / "eval")) == 7


@pytest.mark.parametrize("content", [b"", b"something else"])
def test_a_scene_that_is_not_as_it_was_written_is_written_again(content: bytes, source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    before = _scenes(tmp_path / "out")
    (tmp_path / "out" / "eval" / "made_00.1s.pb").write_bytes(content)
    _, missing = _import(source, tmp_path / "out")
    assert missing == 1
    assert _scenes(tmp_path / "out") == before


def test_a_file_that_cannot_be_read_is_named(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    (source / "log" / "annotations.feather").unlink()
    (source / "log" / "annotations.feather").mkdir()
    with pytest.raises(ShiftbenchError, match=r"annotations.feather: expected a file, found a folder"):
        _import(source, tmp_path / "out")


def _without(name: str):
    return {key: value for key, value in GOOD.items() if key != name}


@pytest.mark.parametrize(
    "line",
    [
        "", "{", "7", "null", '"log"', "[]", "{}", DEEP, '{"recording": ' + DEEP,
        *(_without(name) for name in ("recording", "scenes", "requests", "left_out")),
        *(GOOD | {"recording": value} for value in (None, 7, ["log"], {"log": 1})),
        *(GOOD | {"scenes": value} for value in (None, 7, "log", [7], [["log"]], {"log": 7})),
        *(GOOD | {"requests": value} for value in (None, "3", 3.5, True, -1, [3])),
        *(GOOD | {"left_out": value} for value in (None, 3, ["static"], {"static": "1"}, {"static": None})),
        *(GOOD | {"inputs": value} for value in (None, 7, ["a"], {"a": 7})),
    ],
)  # fmt: skip
def test_lines_of_other_json_are_no_notes(line) -> None:
    assert parsed(json.dumps(GOOD)) is not None
    assert parsed(line if isinstance(line, str) else json.dumps(line)) is None


def test_lines_that_are_no_notes_are_dropped(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    path = tmp_path / "out" / "imported.jsonl"
    before = path.read_text()
    others = (_without("recording"), GOOD | {"recording": ["log"]}, GOOD | {"left_out": {"static": "1"}}, 7)
    path.write_text("\n".join([DEEP, *map(json.dumps, others), before]))
    _, missing = _import(source, tmp_path / "out")
    assert (missing, path.read_text()) == (0, before)


def test_scenes_that_no_folder_can_have_are_not_there(tmp_path: Path) -> None:
    for scene in ("log\0", "x" * 5000, "../../log", "\ud800", ""):
        note = parsed(json.dumps(GOOD | {"scenes": {scene: "0"}}))
        assert note is not None
        assert not note.any_there(tmp_path)
        assert not note.holds(tmp_path, {})


def test_notes_of_older_versions_keep_scenes_together_but_do_not_hold(source: Path, tmp_path: Path) -> None:
    _import(source, tmp_path / "out")
    path, before = tmp_path / "out" / "imported.jsonl", recordings(tmp_path / "out" / "eval")
    old = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(_older(line)) + "\n" for line in old))
    shutil.rmtree(source / "log")
    _, missing = _import(source, tmp_path / "out")
    assert missing == 1
    assert recordings(tmp_path / "out" / "eval") == before


def _older(line):
    return {name: list(line[name]) if name == "scenes" else line[name] for name in line if name != "inputs"}


def test_deep_nesting_says_nothing_of_recordings(tmp_path: Path) -> None:
    (tmp_path / "imported.jsonl").write_text(DEEP + "\n" + json.dumps(GOOD) + "\n")
    assert recordings(tmp_path) == {"log_00.2s": "log"}
