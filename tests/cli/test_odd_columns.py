"""Columns whose names have commas, quotes and plus signs, in every option that takes several, and in settings."""

from __future__ import annotations

import json
import shlex
import tomllib
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.cli.options import listed

from .conftest import Shiftbench

WIND, CITY, SEASON, LEVEL = 'wind "10 m", m/s', "city, state", "season, wet/dry", "level + 1, m"
FORECAST, DAY, TARGET = "forecast, °C", "day, local", "high, °C"


def table(path: Path) -> Path:
    rng = np.random.default_rng(0)
    n = 600
    x = rng.normal(size=n)
    frame = {
        DAY: pl.Series(np.arange(n) // 2 + 18_500).cast(pl.Int32).cast(pl.Date), WIND: x,
        CITY: [f"c{k}" for k in rng.integers(0, 60, n)], "part": rng.integers(0, 9, n).astype(str),
        SEASON: rng.choice(["a", "b"], n), LEVEL: 2 * x, FORECAST: x + rng.normal(size=n),
        TARGET: x + rng.normal(size=n),
    }  # fmt: skip
    pl.DataFrame(frame).write_csv(path)
    return path


def test_a_run_takes_them_on_the_command_line_and_writes_settings_that_repeat_it(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    table(tmp_path / "odd.csv")
    said = shiftbench(
        "run", "odd.csv", "--target", TARGET, "--time", DAY, "--shifted-from", "2021-04-01",
        "--cluster", f'"{CITY}"+part', "--cut-clusters", "--slice", f'"{SEASON}",part', "--drop", f'part,"{LEVEL}"',
        "--keep", '"wind ""10 m"", m/s"', "--baseline", f'"{FORECAST}"', "--method", "mean",
        "--replicates", 20, "--out", "first",
    )  # fmt: skip
    assert said.code == 0, said.err
    settings = tomllib.loads((tmp_path / "first/run.toml").read_text("utf-8"))
    assert (settings["clusters"], settings["slices"]) == ([CITY, "part"], [SEASON, "part"])
    assert (settings["drop"], settings["keep"], settings["baselines"]) == (["part", LEVEL], [WIND], [FORECAST])
    assert settings["partition"]["shifted_from"] == "2021-04-01"
    assert shiftbench("run", "--config", "first/run.toml", "--out", "again").code == 0
    first, again = (
        json.loads((tmp_path / name / "report/report.json").read_text("utf-8")) for name in ("first", "again")
    )
    assert first["scores"] == again["scores"]
    counts = {(count["split"], count["subset"]): count["records"] for count in first["counts"]}
    shifted = pl.read_csv(tmp_path / "odd.csv", try_parse_dates=True).filter(pl.col(DAY) >= pl.date(2021, 4, 1)).height
    assert counts["dev", "shifted"] + counts["eval", "shifted"] == shifted


def test_an_assessment_takes_several_columns_of_uncertainty_and_names_of_models(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    for name in ("a.csv", "b.csv"):
        error = rng.gamma(1.0, size=(3, 200))
        pl.DataFrame({"id": range(200), "error": error[0], "u, all": error[1], "u + v": error[2]}).write_csv(
            tmp_path / name
        )
    said = shiftbench("assess", "a.csv", "--uncertainty", '"u, all",u + v', "--replicates", 20, "--full")
    assert (said.code, "u, all" in said.out, "u + v" in said.out) == (0, True, True), said.err
    said = shiftbench(
        "compare", "a.csv", "b.csv", "--uncertainty", '"u, all"', "--name", '"first, small",second', "--replicates", 20
    )
    assert (said.code, "first, small" in said.out) == (0, True), said.err
    said = shiftbench(
        "compare", "a.csv", "b.csv", "--uncertainty", '"u, all"', "--name", 'first,"first "', "--out", "x"
    )
    assert (said.code, "expected systems of different names, found 'first' twice" in said.err) == (2, True), said.err


def test_the_remedy_for_a_column_that_gives_the_target_away_can_be_pasted(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    frame = pl.read_csv(table(tmp_path / "odd.csv"))
    frame.with_columns(pl.col(TARGET).alias(LEVEL)).write_csv(tmp_path / "odd.csv")
    said = shiftbench("run", "odd.csv", "--target", TARGET, "--time", DAY, "--method", "mean", "--out", "x")
    assert said.code == 2
    word = said.err.partition("--drop ")[2].partition(";")[0]
    assert listed(shlex.split(word)) == (LEVEL,)


def test_a_name_with_a_comma_but_no_quotes_is_refused_with_the_nearest(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table(tmp_path / "odd.csv")
    said = shiftbench(
        "run", "odd.csv", "--target", TARGET, "--time", DAY, "--method", "mean", "--slice", SEASON, "--out", "x"
    )
    assert said.code == 2
    assert "expected a column 'season', found none. Did you mean 'season, wet/dry'?" in said.err
