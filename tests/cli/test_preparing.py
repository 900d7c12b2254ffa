"""`shiftbench prepare` of a track that tells its own work again: settings in words, and nothing is done twice."""

from __future__ import annotations

import os
import shutil
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shiftbench.io import executor
from shiftbench.io.output import MARK
from shiftbench.partition import verify
from shiftbench.tracks import TRACKS, track
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import preparation
from shiftbench.tracks.motion.prepared.store import Store
from shiftbench.tracks.power import definition
from tests.cli.conftest import Said, Shiftbench, replace_track
from tests.output.killing import kill, killed_later
from tests.tracks.motion import made_parts
from tests.tracks.motion.made_parts import tree

FINE = ("--set", "size=40,50", "--set", "metres_per_pixel=0.5", "--set", "channels=vehicles.yaw,15",
        "--set", "history=4,0", "--set", "yaw_frame=agent", "--set", "interpolation=exact")  # fmt: skip
SETTINGS = MapSettings.of(
    size=(40, 50), metres_per_pixel=0.5, channels=("vehicles.yaw", 15), history=(4, 0), yaw_frame="agent",
    interpolation="exact",
)  # fmt: skip
SERIAL = ("--executor", "serial")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return made_parts.write(tmp_path_factory.mktemp("made"))


@pytest.fixture
def source(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "source")


@pytest.fixture(scope="module")
def fine(made: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the function makes with the settings that `FINE` has in words."""
    folder = tmp_path_factory.mktemp("fine") / "prepared"
    return preparation.prepare(made, folder, executor="serial", settings=SETTINGS).folder


def data_of(folder: Path) -> dict[str, str]:
    return {name: sha for name, sha in tree(folder).items() if name not in ("scenes.json", MARK)}


def interrupted(job: executor.Job, where: executor.Executor) -> Iterator[Any]:
    yield job.done(0)
    raise KeyboardInterrupt


def times(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.shard")}


# --- settings in words ------------------------------------------------------------------------------------------------


def test_settings_in_words_are_those_of_the_function(shiftbench: Shiftbench, source: Path, fine: Path) -> None:
    said = shiftbench("prepare", "motion", source, "--out", "p", *SERIAL, *FINE)
    assert said.code == 0, said.err
    assert data_of(Path("p")) == data_of(fine)
    assert Store.open(Path("p")).map_settings == SETTINGS
    assert Store.open(Path("p")).maps([0]).shape == (1, 3, 40, 50)


def test_an_array_is_told_the_settings_and_names_the_command_that_ends_it(
    shiftbench: Shiftbench, source: Path, fine: Path
) -> None:
    words = ("prepare", "motion", source, "--out", "p", *FINE)
    said = shiftbench(*words, "--executor", "slurm", "--workers", 1)
    assert said.code == 0, said.err
    script, then = (said.out.splitlines()[line].partition(": ")[2].strip() for line in (0, 2))
    assert then.endswith(f"--experiment canonical {' '.join(FINE)}")
    environment = {**os.environ, "SLURM_ARRAY_TASK_ID": "0"}
    subprocess.run(["bash", script], env=environment, check=True, capture_output=True)
    made = sorted(times(Path()).values())
    assert shiftbench(*then.split()[1:], *SERIAL).code == 0
    assert sorted(times(Path()).values()) == made
    assert data_of(Path("p")) == data_of(fine)


def test_all_words_that_are_no_settings_are_named_before_anything_is_done(shiftbench: Shiftbench, source: Path) -> None:
    wrong = ("sise=3", "size", "history=1,x", "history=2", "metres_per_pixel=0", "=4")
    said = shiftbench("prepare", "motion", source, "--out", "p", *(each for one in wrong for each in ("--set", one)))
    assert said.code == 2
    for told in (
        "Unknown map setting 'sise'. Did you mean 'size'?",
        "expected NAME=VALUE, found 'size'",
        "history: expected it once, found it 2 times",
        "metres_per_pixel: expected a number from 0.001 to 1000, found 0",
        "Unknown map setting ''",
    ):
        assert told in said.err
    assert not Path("p").exists()


def test_settings_are_for_tracks_that_have_use_for_them(shiftbench: Shiftbench) -> None:
    Path("x.parquet").touch()
    said = shiftbench("prepare", "weather", "x.parquet", "--out", "p", "--set", "size=3")
    assert (said.code, "weather does not support --set. Drop the option." in said.err) == (2, True), said.err
    assert not Path("p").exists()


# --- nothing is done twice --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("where", [SERIAL, ("--executor", "slurm")], ids=["serial", "slurm"])
def test_what_is_there_is_not_made_again(
    shiftbench: Shiftbench, source: Path, fine: Path, where: tuple[str, ...]
) -> None:
    shutil.copytree(fine, "p")
    before, made = tree(Path("p")), times(Path("p"))
    said = shiftbench("prepare", "motion", source, "--out", "p", *where, *FINE)
    assert said.code == 0, said.err
    assert "already there, made of the same data in the same way: nothing to do" in said.err
    assert "next: shiftbench run motion --data p" in said.out
    assert (tree(Path("p")), times(Path("p"))) == (before, made)


def test_another_way_and_other_data_are_refused_with_what_differs(
    shiftbench: Shiftbench, source: Path, fine: Path
) -> None:
    shutil.copytree(fine, "p")
    before = tree(Path("p"))
    words = ("prepare", "motion", source, "--out", "p")
    exchanged = (source / "dev/a.pb").read_bytes().replace(b"dev-a.pb", b"dev-z.pb")
    for told, act in {
        "begun with the same map settings, found": lambda: words,
        "begun with the same experiment, found": lambda: (*words, *FINE, "--experiment", "published"),
        "in 1 of its 3 shards (the first: dev/a.pb to dev/b.pb)": (
            lambda: (source / "dev/a.pb").write_bytes(exchanged) and (*words, *FINE)
        ),
        "begun with the same scenes, found": lambda: (source / "eval/c.pb").write_bytes(exchanged) and (*words, *FINE),
    }.items():
        (source / "eval_tags.txt").unlink(missing_ok=True)
        said = shiftbench(*act())
        assert (said.code, told in said.err) == (2, True), said.err
        assert "found an earlier result. Choose another --out, or --overwrite." in said.err
    assert tree(Path("p")) == before


def test_overwriting_discards_what_was_begun_in_another_way_and_goes_on_in_the_same(
    shiftbench: Shiftbench, source: Path, fine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("prepare", "motion", source, "--out", "p", *SERIAL)
    with monkeypatch.context() as patch:
        patch.setitem(executor.EXECUTORS, "serial", interrupted)
        assert shiftbench(*words).code == 130
        assert len(times(Path(".p.making"))) == 1
        refused = shiftbench(*words, *FINE)
        assert (refused.code, "begun with the same map settings" in refused.err) == (2, True)
        assert shiftbench(*words, *FINE, "--overwrite").code == 130
        (made,) = times(Path(".p.making")).values()
    assert shiftbench(*words, *FINE, "--overwrite").code == 0
    assert data_of(Path("p")) == data_of(fine)
    assert made in times(Path("p")).values()


@pytest.mark.parametrize("overwrite", [(), ("--overwrite",)], ids=["new", "overwriting"])
def test_an_archive_without_scenes_leaves_nothing(shiftbench: Shiftbench, overwrite: tuple[str, ...]) -> None:
    Path("n.csv").write_text("a,b\n1,2\n")
    with tarfile.open("n.tar", "w") as archive:
        archive.add("n.csv")
    before = tree(Path())
    said = shiftbench("prepare", "motion", "n.tar", "--out", "p", *SERIAL, *overwrite)
    assert (said.code, said.err.count("\n"), "n.tar: expected" in said.err) == (2, 1, True), said.err
    assert (tree(Path()), {entry.name for entry in Path().iterdir()}) == (before, {"n.csv", "n.tar"})


@pytest.mark.parametrize("packed", [False, True], ids=["folder", "archive"])
def test_scenes_that_are_refused_leave_nothing_unless_others_were_made(
    shiftbench: Shiftbench, source: Path, packed: bool
) -> None:
    def prepare() -> Said:
        if packed:
            with tarfile.open("source.tar", "w") as archive:
                archive.add(source, "source")
        said = shiftbench("prepare", "motion", "source.tar" if packed else source, "--out", "p", *SERIAL)
        Path("source.tar").unlink(missing_ok=True)
        return said

    for part in ("train", "dev", "eval"):
        (source / f"{part}_tags.txt").unlink()  # which would be compared with the scenes beforehand
    shutil.rmtree(source / "train")
    shutil.rmtree(source / "eval")
    whole = (source / "dev/b.pb").read_bytes()
    (source / "dev/b.pb").write_bytes(whole[:50])
    alone = prepare()
    assert (alone.code, "dev/b.pb: expected" in alone.err, "kept in" in alone.err) == (2, True, False), alone.err
    assert {entry.name for entry in Path().iterdir()} == {"source"}
    made_parts.write(source, {"eval/a.pb": made_parts.PLACES["eval/a.pb"]}, tags=False)
    beside = prepare()
    told = "note: what was made so far is kept in .p.making; the same command goes on"
    assert (beside.code, "dev/b.pb: expected" in beside.err, told in beside.err) == (2, True, True), beside.err
    (made,) = times(Path(".p.making")).values()
    (source / "dev/b.pb").write_bytes(whole)
    mended = prepare()
    assert mended.code == 0, mended.err
    assert made in times(Path("p")).values()
    assert {entry.name for entry in Path().iterdir()} == {"source", "p"}


def test_a_planned_array_outlives_scenes_that_are_refused(shiftbench: Shiftbench, source: Path) -> None:
    words = ("prepare", "motion", source, "--out", "p")
    assert shiftbench(*words, "--executor", "slurm", "--workers", 1).code == 0
    script = next(Path().rglob("array.sh"))
    for name in made_parts.PLACES:
        (source / name).write_bytes(b"damaged")
        (source / f"{name.split('/')[0]}_tags.txt").unlink(missing_ok=True)
    assert shiftbench(*words, *SERIAL).code == 2
    assert script.exists()


# --- nothing of others is removed, and nobody is disturbed ------------------------------------------------------------

ROWS = {"weather": 3_000, "power": 1_000, "motion": 20, "lesions": 10, "translation": 400}
SIZES = {"lesions": {"voxel": 8.0}}
WORDS = {"motion": (*SERIAL, "--set", "size=16"), "translation": SERIAL}


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Example data of each track."""
    made = {}
    for name in TRACKS:
        kind = track(name).example
        made[name] = kind.write(tmp_path_factory.mktemp(name) / kind.name, ROWS[name], 0, None, **SIZES.get(name, {}))
    return made


@pytest.mark.parametrize("name", TRACKS)
def test_only_what_a_preparation_of_the_track_wrote_is_replaced(
    shiftbench: Shiftbench, examples: dict[str, Path], name: str
) -> None:
    words = ("prepare", name, examples[name], "--out", "p", *WORDS.get(name, ()))
    assert shiftbench(*words).code == 0
    made = tree(Path("p"))
    Path("p/mine").mkdir()
    Path("p/notes.txt").write_text("mine", "utf-8")
    Path("p/mine/thesis.txt").write_text("mine", "utf-8")
    before = tree(Path("p"))
    said = shiftbench(*words, "--overwrite")
    assert (said.code, "found 'mine/thesis.txt', 'notes.txt' in it" in said.err) == (2, True), said.err
    assert "nothing was removed" in said.err
    assert tree(Path("p")) == before
    shutil.rmtree("p/mine")
    Path("p/notes.txt").unlink()
    said = shiftbench(*words, "--overwrite")
    assert said.code == 0, said.err
    assert tree(Path("p")) == made


@pytest.mark.parametrize(("first", "second"), [("power", "motion"), ("weather", "power"), ("motion", "weather")])
def test_a_folder_prepared_for_another_track_is_not_replaced(
    shiftbench: Shiftbench, examples: dict[str, Path], first: str, second: str
) -> None:
    assert shiftbench("prepare", first, examples[first], "--out", "p", *WORDS.get(first, ())).code == 0
    before = tree(Path("p"))
    said = shiftbench("prepare", second, examples[second], "--out", "p", *WORDS.get(second, ()), "--overwrite")
    told = f"one that `shiftbench prepare {second}` made, found one of `shiftbench prepare {first}`"
    assert (said.code, told in said.err) == (2, True), said.err
    assert tree(Path("p")) == before


def test_what_is_put_into_a_folder_after_a_kill_is_kept(
    shiftbench: Shiftbench, examples: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("prepare", "power", examples["power"], "--out", "p")
    with monkeypatch.context() as patched, killed_later(Path()):
        replace_track(patched, definition.TRACK, prepare=lambda *_, **__: kill())
        shiftbench(*words)
    Path("p").mkdir()
    Path("p/notes.txt").write_text("mine", "utf-8")
    said = shiftbench(*words)
    assert (said.code, "found another, with 'notes.txt' in it" in said.err) == (2, True), said.err
    assert sorted(tree(Path("p"))) == ["notes.txt"]
    Path("p/notes.txt").unlink()
    assert shiftbench(*words).code == 0
    assert {entry.name for entry in Path().iterdir()} == {"p"}


def test_of_two_preparations_of_a_folder_the_later_is_told_of_the_other(
    shiftbench: Shiftbench, examples: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    words, told = ("prepare", "power", examples["power"], "--out", "p"), list[Said]()
    prepare = definition.TRACK.prepare

    def disturbed(source: Path, folder: Path, **named: Any) -> object:
        if not told:
            told.extend((shiftbench(*words), shiftbench(*words, "--overwrite")))
        return prepare(source, folder, **named)

    replace_track(monkeypatch, definition.TRACK, prepare=disturbed)
    assert shiftbench(*words).code == 0
    for said in told:
        assert said.code == 2
        assert (
            "p: expected a folder that nobody else writes to, found another process writing to it. Wait for it"
            in said.err
        )
    assert len(told) == 2
    assert verify("p") == ()
    assert {entry.name for entry in Path().iterdir()} == {"p"}
