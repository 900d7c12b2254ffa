"""Paths mean themselves: `[ ] ? *` are no patterns and `~` is no home, whichever reader opens the file."""

from __future__ import annotations

import os
import tarfile
from pathlib import Path

import polars as pl
import pytest

from shiftbench.io import tables
from shiftbench.report.content import Report
from shiftbench.tracks.motion.prepared.prepared_shards import PreparedShards
from shiftbench.tracks.power import schema
from shiftbench.tracks.weather import example as weather
from tests.cli.conftest import Shiftbench, errors_table, weather_like
from tests.tracks.motion import made_parts
from tests.tracks.power import made

ODD, DECOY = "a[1]?*", "a1xx"  # as a pattern, the first matches the second


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder whose name is a pattern that matches the folder beside it."""
    for name in (ODD, DECOY):
        (tmp_path / name).mkdir()
    return tmp_path / ODD


def write(frame: pl.DataFrame, path: Path) -> None:
    with path.open("wb") as file:
        if path.suffix == ".zst":
            frame.lazy().sink_csv(file, compression="zstd")
        else:
            (frame.write_parquet if path.suffix == ".parquet" else frame.write_csv)(file)


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".csv.zst"])
def test_a_table_beside_one_that_its_path_matches_as_a_pattern_is_read_itself(
    shiftbench: Shiftbench, odd: Path, tmp_path: Path, suffix: str
) -> None:
    frame = errors_table(60)
    write(frame, odd / f"e{suffix}")
    write(frame.with_columns(error=pl.col("error") + 1), tmp_path / DECOY / f"e{suffix}")
    said = shiftbench("assess", f"{ODD}/e{suffix}", "--out", f"{ODD}/out", "--replicates", 20)
    assert said.code == 0, said.err
    report = Report.load(odd / "out/report.json")
    found = [score.value for score in report.scores if score.metric == "mean_error" and score.subset == "full"]
    assert frame["error"].mean() in [pytest.approx(value) for value in found]


@pytest.mark.filterwarnings("error")  # of a packed file, whose reader drops the last line end: was it cut off?
def test_home_is_read_only_where_the_shell_has_put_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for folder, value in (("~", 1), ("home", 2)):
        (tmp_path / folder).mkdir()
        for suffix in (".parquet", ".csv", ".csv.zst"):
            write(pl.DataFrame({"x": [value]}), tmp_path / folder / f"t{suffix}")
    for suffix in (".parquet", ".csv", ".csv.zst"):
        assert tables.read_table(f"~/t{suffix}")["x"].to_list() == [1]


def test_a_table_is_partitioned_and_trained_on_in_a_folder_named_like_a_pattern(
    shiftbench: Shiftbench, odd: Path
) -> None:
    write(weather_like(240), odd / "t.parquet")
    shift = ("--target", "y", "--group", "region", "--shifted", "hills", "--method", "mean", "--replicates", 20)
    said = shiftbench("run", f"{ODD}/t.parquet", *shift, "--out", f"{ODD}/run")
    assert said.code == 0, said.err
    said = shiftbench("partition", f"{ODD}/t.parquet", "--group", "region", "--shifted", "hills", "--out", f"{ODD}/p")
    assert said.code == 0, said.err


def test_weather_is_prepared_in_a_folder_named_like_a_pattern(shiftbench: Shiftbench, odd: Path) -> None:
    frame = weather.table(1_000, seed=0)
    (odd / "parts").mkdir()
    for name in ("train", "dev_in", "eval_in"):  # empty tables stand for the others
        frame.write_csv(odd / f"parts/{name}.csv")
    assert weather.write(odd / "w.parquet", 2_500, 0)
    for source in ("parts", "w.parquet"):
        said = shiftbench("prepare", "weather", f"{ODD}/{source}", "--out", f"{ODD}/prepared-{source}")
        assert said.code == 0, said.err


def test_power_is_prepared_in_a_folder_named_like_a_pattern(shiftbench: Shiftbench, odd: Path) -> None:
    rows = made.records(600)
    for number, name in enumerate((*schema.PARTITIONS, "generalization")):
        rows.slice(100 * number, 100).write_csv(odd / f"{name}.csv")
    said = shiftbench("prepare", "power", ODD, "--out", f"{ODD}/prepared")
    assert said.code == 0, said.err


def test_motion_is_prepared_and_read_beside_a_folder_that_its_path_matches_as_a_pattern(
    shiftbench: Shiftbench, odd: Path, tmp_path: Path
) -> None:
    made_parts.write(odd / "scenes")
    fewer = {name: where for name, where in made_parts.PLACES.items() if name != "train/001/a.pb"}
    made_parts.write(tmp_path / DECOY / "scenes", fewer)
    for name in (DECOY, ODD):
        words = ("--executor", "serial", "--set", "size=8,8", "--set", "metres_per_pixel=8")
        said = shiftbench("prepare", "motion", f"{name}/scenes", "--out", f"{name}/prepared", *words)
        assert said.code == 0, said.err
    prepared = PreparedShards(Path(ODD) / "prepared")
    assert len(prepared.requests) == len(prepared.targets) == len(prepared)
    assert "train/001/a.pb" in prepared.requests["file"]


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("track", ["power", "weather"])
def test_tables_under_names_that_are_not_text_are_refused(
    shiftbench: Shiftbench, tmp_path: Path, track: str, packed: bool
) -> None:
    folder = tmp_path / os.fsdecode(b"data/n\xff")
    folder.mkdir(parents=True)
    for name in ("train", "dev_in", "more"):
        (folder / f"{name}.csv").write_text("x\n1\n")
    if packed:
        with tarfile.open(tmp_path / "data.tar", "w") as archive:
            archive.add(tmp_path / "data", "data")
    said = shiftbench("prepare", track, "data.tar" if packed else "data", "--out", "p")
    assert said.code == 2
    assert "n\\udcff/train.csv': expected a name in UTF-8, found another. Rename it." in said.err
    assert not (tmp_path / "p").exists()
