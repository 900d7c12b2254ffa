"""Settings and options that were once passed over in silence: refused with exit code 2 and a name."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Shiftbench, weather_like


@pytest.fixture
def table(tmp_path: Path) -> Path:
    weather_like(200).write_csv(tmp_path / "t.csv")
    return tmp_path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[partition]\nshare = "70/10/20"', "Unknown setting in [partition] 'share'. Did you mean 'shares'?"),
        ('[partition]\nclusters_ = "x"', "Unknown setting in [partition] 'clusters_'"),
        ('timee = "date"', "Unknown setting 'timee'"),
        ('id = "key"', "It belongs in [partition]."),
        ("[asessment]\nlevel = 0.9", "Did you mean 'assessment'?"),
        ("[assessment]\nlevels = 0.9", "Unknown setting in [assessment] 'levels'. Did you mean 'level'?"),
        ('partition = "time"', "partition: expected a table [partition], found 'time'"),
        ("partition = [1, 2]", "partition: expected a table [partition], found [1, 2]"),
        ('[[partition]]\ntime = "date"', "partition: expected a table [partition], found [{'time': 'date'}]"),
        ('clusters = ["station", ""]', "clusters: expected a list of names, found ['station', '']"),
        ("[partition]\nshares = [inf, 0.1, 0.2]", "shares: expected 3 numbers"),
        ("[partition]\nshares = [1e308, 1e308, 1.0]", "shares: expected 3 numbers"),
        ("[partition]\nshares = [nan, 0.1, 0.2]", "shares: expected 3 numbers"),
        ("[partition]\nshares = [inf, -inf, 0.2]", "shares: expected 3 numbers"),
        (f"[partition]\nshares = [{10**400}, 0.1, 0.2]", "shares: expected 3 numbers"),
        ('[partition]\nid = ""', "id: expected the name of a column, found ''"),
        (f'[partition]\ntime = "date"\nwindows.dev_out = [1, {10**400}]', "expected an ISO date, a number"),
    ],
)
@pytest.mark.parametrize("command", ["partition", "run"])
def test_a_file_of_settings_that_cannot_be_meant_is_refused(
    shiftbench: Shiftbench, table: Path, command: str, text: str, message: str
) -> None:
    (table / "s.toml").write_text(text)
    words = ("--target", "y") if command == "run" else ()
    said = shiftbench(command, "t.csv", *words, "--config", "s.toml", "--out", "out")
    assert (said.code, message in said.err) == (2, True), said.err
    assert "s.toml: " in said.err
    assert not (table / "out").exists()


def test_all_that_is_wrong_in_a_file_of_settings_is_told_at_once(shiftbench: Shiftbench, table: Path) -> None:
    (table / "s.toml").write_text('seed = -1\nmembers = "x"\n[assessment]\nrule = "foo"\n[partition]\nby = 3\ngap = -1')
    said = shiftbench("run", "t.csv", "--target", "y", "--config", "s.toml", "--out", "out")
    lines = said.err.splitlines()
    assert [line.startswith("error: s.toml: ") for line in lines] == [True] * 5, said.err
    for line, what in zip(lines, ("'foo'", "seed", "members", "[partition] by", "[partition] gap"), strict=True):
        assert what in line


def test_a_partition_without_any_shifted_record_says_so(shiftbench: Shiftbench, table: Path) -> None:
    said = shiftbench("partition", "t.csv", "--time", "date", "--fractions", "100/0/0/0", "--out", "out")
    assert (said.code, "warning: no record is shifted" in said.err) == (0, True), said.err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("partition", "t.csv", "--cluster", "+"), "--cluster: expected names, found '+'"),
        (("partition", "t.csv", "--cluster", "station+"), "--cluster: expected names, found 'station+'"),
        (("partition", "t.csv", "--cluster", "station", "--cluster", ""), "--cluster: expected a name, found ''"),
        (("partition", "t.csv", "--id", ""), "--id: expected a name, found ''"),
        (("predict", "model", "t.csv", "--id", ""), "--id: expected a name, found ''"),
        (("assess", "t.csv", "--id", " "), "--id: expected a name, found ' '"),
        (("run", "t.csv", "--target", ""), "--target: expected a name, found ''"),
        (("run", "t.csv", "--target", "y", "--slice", "sky,,region"), "--slice: expected names, found 'sky,,region'"),
        (("run", "t.csv", "--target", "y", "--drop", ""), "--drop: expected a name, found ''"),
    ],
)
def test_empty_names_are_refused(shiftbench: Shiftbench, table: Path, words: tuple[str, ...], message: str) -> None:
    said = shiftbench(*words, "--out", "out")
    assert (said.code, message in said.err) == (2, True), said.err
    assert not (table / "out").exists()


@pytest.mark.parametrize(
    ("shares", "empty"), [("100/0/0", ["dev_in", "eval_in"]), ("0/50/50", ["train"]), ("90/10/0", ["eval_in"])]
)
def test_shares_of_nothing_are_refused(shiftbench: Shiftbench, table: Path, shares: str, empty: list[str]) -> None:
    said = shiftbench("partition", "t.csv", "--shares", shares, "--out", "out")
    assert said.code == 2
    assert [line.split(":")[1].strip() for line in said.err.splitlines()] == empty
    assert "expected records, found none" in said.err


def test_a_partition_with_its_own_condition_needs_no_share(shiftbench: Shiftbench, table: Path) -> None:
    (table / "s.toml").write_text('[partition]\nshares = [0.9, 0.1, 0.0]\nwhere.eval_in = "x > 1"\n')
    assert shiftbench("partition", "t.csv", "--config", "s.toml", "--out", "out").code == 0
    assert pl.read_parquet(table / "out/eval_in.parquet")["x"].min() > 1  # type: ignore[operator]
