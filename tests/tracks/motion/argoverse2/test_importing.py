"""An import writes whole scenes, goes on where it stopped, and names all that it could not read."""

from __future__ import annotations

from pathlib import Path

import pytest

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.tracks.motion import read_scene
from shiftbench.tracks.motion.argoverse2 import Settings, import_scenes, importing
from tests.tracks.motion.argoverse2 import made


@pytest.fixture
def source(tmp_path: Path) -> Path:
    made.log(tmp_path / "source" / "logs" / "log")
    made.scenario(tmp_path / "source" / "scenarios" / "made")
    return tmp_path / "source"


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_scenes_are_written_as_the_evaluation_part(source: Path, tmp_path: Path) -> None:
    said: list[tuple[str, int, int]] = []
    imported = import_scenes(source, tmp_path / "out", progress=lambda *step: said.append(step))
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
    expected = import_scenes(source, whole)

    def killed(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt("killed")

    with pytest.raises(KeyboardInterrupt, match="killed"):
        import_scenes(source, out, progress=killed)
    with (out / "imported.jsonl").open("a") as file:
        file.write('{"recording": "made", "sce')  # cut off
    read: list[str] = []
    scenes_of = importing.scenes_of
    monkeypatch.setattr(importing, "scenes_of", lambda each, **named: read.append(each.id) or scenes_of(each, **named))
    again = import_scenes(source, out)
    assert read == ["made"]
    assert _bytes(out) == _bytes(whole)
    assert (again.scenes, again.left_out) == (expected.scenes, expected.left_out)


def test_a_scene_that_was_removed_is_written_again(source: Path, tmp_path: Path) -> None:
    import_scenes(source, tmp_path / "out")
    before = _bytes(tmp_path / "out")
    next((tmp_path / "out" / "eval").glob("log*")).unlink()
    import_scenes(source, tmp_path / "out")
    after = _bytes(tmp_path / "out")
    assert {name: after[name] for name in after if name.endswith(".pb")} == {
        name: before[name] for name in before if name.endswith(".pb")
    }


def test_scenes_of_other_settings_are_not_mixed(source: Path, tmp_path: Path) -> None:
    import_scenes(source, tmp_path / "out")
    with pytest.raises(SettingsError, match=r"found scenes that were made otherwise"):
        import_scenes(source, tmp_path / "out", settings=Settings(moved_m=5))


def test_damaged_recordings_are_all_named_and_the_others_imported(source: Path, tmp_path: Path) -> None:
    for name in ("bad", "worse"):
        path = made.scenario(source / name, name=name) / f"scenario_{name}.parquet"
        path.write_bytes(b"PAR1 nothing")
    with pytest.raises(ShiftbenchError, match=r"expected 4 recordings, found 2 that could be imported") as caught:
        import_scenes(source, tmp_path / "out")
    assert "scenario_bad.parquet" in str(caught.value)
    assert "scenario_worse.parquet" in str(caught.value)
    assert len(list((tmp_path / "out" / "eval").iterdir())) == 7
