"""`shiftbench run` with several methods, presets, partitions made before, and classes that train lacks."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from shiftbench.pipeline.planning import plan
from shiftbench.pipeline.settings import Settings
from shiftbench.report.content import Report
from tests.cli.conftest import Shiftbench, weather_like

pytest.importorskip("catboost")

SHIFT = ("--time", "date", "--group", "region", "--shifted", "hills", "--id", "id", "--cluster", "station")
SMALL = ("--replicates", 25, "--drop", "kind")

METHODS = """
table = "t.parquet"
target = "y"
drop = ["kind"]
clusters = ["station"]

[partition]
id = "id"
time = "date"
group = "region"
shifted = ["hills"]

[[methods]]
name = "boosting"
title = "shallow trees"
members = 2
depth = 2
iterations = 40

[[methods]]
name = "boosting"
title = "deep trees"
members = 4
depth = 5
iterations = 40

[[methods]]
name = "combination"
title = "both"
of = ["shallow trees", "deep trees"]

[assessment]
replicates = 25
"""


@pytest.fixture
def table(tmp_path: Path) -> Path:
    weather_like().write_parquet(tmp_path / "t.parquet")
    return tmp_path / "t.parquet"


def names(report: Report) -> list[str]:
    return [system.name for system in report.systems if system.role in ("ensemble", "model")]


def test_several_methods_and_their_mixture_stand_in_one_report(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    (tmp_path / "many.toml").write_text(METHODS)
    said = shiftbench("run", "--config", "many.toml", "--out", "run")
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "run/report/report.json")
    assert names(report) == ["shallow trees", "deep trees", "both"]
    assert report.recipe["systems"]["deep trees"]["depth"] == 5
    rmse = {name: report.score("rmse", system=name, split="eval", subset="in").value for name in names(report)}
    assert "each 2 times" in next(system.about for system in report.systems if system.name == "both")
    assert not any("copies" in warning for warning in report.warnings)  # those of shallow trees are meant
    assert rmse["both"] < (rmse["shallow trees"] + rmse["deep trees"]) / 2  # a mean is better than its parts on average
    again = shiftbench("run", "--config", "run/run.toml", "--out", "again")
    assert again.code == 0, again.err
    assert (tmp_path / "run/report/report.json").read_bytes() == (tmp_path / "again/report/report.json").read_bytes()


@pytest.mark.parametrize("parts", ["0", "true", "2.5", "2021-01-01"])
def test_parts_of_a_mixture_that_are_no_names_are_refused(
    shiftbench: Shiftbench, table: Path, tmp_path: Path, parts: str
) -> None:
    (tmp_path / "many.toml").write_text(
        METHODS.split("[[methods]]")[0] + f'[[methods]]\nname = "combination"\nof = {parts}\n'
    )
    said = shiftbench("run", "--config", "many.toml", "--out", "run")
    assert (said.code, "combination: expected names of methods in `of`, found " in said.err) == (2, True), said.err


def test_a_mixture_before_its_parts_is_refused(shiftbench: Shiftbench, table: Path, tmp_path: Path) -> None:
    first, second, third, rest = METHODS.split("[[methods]]")
    (tmp_path / "many.toml").write_text("[[methods]]".join((first, rest.split("[assessment]")[0], second, third)))
    said = shiftbench("run", "--config", "many.toml", "--out", "run")
    assert said.code == 2
    assert "both: expected to be made of methods that come before it (none), found 'shallow trees'" in said.err
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("--method", "boosting", "--preset", "quick"), "expected --method or --preset, found both"),
        (("--preset", "quik"), "Did you mean 'quick'?"),
        (("--method", "boosting", "--method", "bosting"), "Did you mean 'boosting'?"),
        (("--data", "x"), "expected a track's name with it, found"),
    ],
)
def test_wrong_words_about_methods_are_named(
    shiftbench: Shiftbench, table: Path, words: tuple[str, ...], expected: str
) -> None:
    said = shiftbench("run", "t.parquet", "--target", "y", *SHIFT, *SMALL, *words)
    assert (said.code, expected in said.err) == (2, True), said.err


def test_partitions_made_before_give_the_numbers_of_the_whole_table(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    common = ("--target", "y", *SMALL, "--members", 2, "--cluster", "station")
    assert shiftbench("run", "t.parquet", *SHIFT, *common, "--out", "whole").code == 0
    assert shiftbench("partition", "t.parquet", *SHIFT, "--out", "parts").code == 0
    said = shiftbench("run", "parts", *common, "--out", "divided")
    assert said.code == 0, said.err
    one, two = (Report.load(tmp_path / name / "report/report.json") for name in ("whole", "divided"))
    assert one.recipe["features"] == two.recipe["features"]
    for name in ("boosting", "mean"):
        for subset in ("in", "shifted", "full"):
            mine, other = (report.score("rmse", system=name, split="eval", subset=subset) for report in (one, two))
            assert mine.value == pytest.approx(other.value, rel=0.1 if name == "boosting" else 1e-12)
            assert mine.n == other.n


def test_changed_partitions_are_refused(shiftbench: Shiftbench, table: Path, tmp_path: Path) -> None:
    assert shiftbench("partition", "t.parquet", *SHIFT, "--out", "parts").code == 0
    train = tmp_path / "parts/train.parquet"
    pl.read_parquet(train).head(300).write_parquet(train)
    said = shiftbench("run", "parts", "--target", "y", *SMALL)
    assert said.code == 2
    assert "train.parquet: expected SHA-256" in said.err
    said = shiftbench("run", "parts", "--target", "y", "--time", "date", *SMALL)
    assert (said.code, "expected no partition rules with a folder of existing partitions" in said.err) == (2, True)


def test_a_class_that_train_lacks_gets_probability_zero_and_a_note(
    shiftbench: Shiftbench, table: Path, tmp_path: Path
) -> None:
    frame = pl.read_parquet(table)
    late = (pl.col("region") == "hills") & (pl.int_range(pl.len()) >= pl.len() - 100)
    frame.with_columns(pl.when(late).then(pl.lit("storm")).otherwise("kind").alias("kind")).write_parquet(table)
    said = shiftbench("run", "t.parquet", "--target", "kind", *SHIFT, "--replicates", 25, "--members", 2, "--drop", "y")
    assert said.code == 0, said.err
    report = Report.load(tmp_path / "shiftbench-t-kind/report/report.json")
    assert any(text.startswith("class 'storm' never occurs in train") for text in report.warnings)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--preset", "quick"), "note: --preset replaces the methods of s.toml\n"),
        (("--method", "mean"), "note: --method replaces the methods of s.toml\n"),
        ((), ""),
    ],
)
@pytest.mark.parametrize("methods", ['[method]\nname = "boosting"', '[[methods]]\nname = "boosting"'])
def test_methods_of_a_settings_file_that_give_way_are_told(
    shiftbench: Shiftbench, tmp_path: Path, methods: str, words: tuple[str, ...], told: str
) -> None:
    (tmp_path / "s.toml").write_text(f'table = "gone.csv"\ntarget = "y"\n{methods}\n')
    said = shiftbench("run", "--config", "s.toml", *words)
    assert said.code == 2
    assert said.err.startswith(f"{told}error: gone.csv: expected a table, found none")


def test_a_constant_that_is_a_method_of_its_own_is_no_baseline_beside_it() -> None:
    made = Settings("t.csv", "y", "regression", methods=({"name": "mean"}, {"name": "mlp"}))
    assert [(each.name, each.role) for each in plan(made)] == [("mean", "baseline"), ("mlp", "ensemble")]
    named = Settings("t.csv", "y", "regression", methods=({"name": "mean", "title": "Level"},))
    assert [each.name for each in plan(named)] == ["Level", "mean"]
