"""Clusters in a run: kept on one side by default, and where they are not, the verdict says so before all else."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest

from shiftbench.partition import Rules, features, partition
from shiftbench.pipeline.partitioning import divide
from shiftbench.pipeline.settings import Settings
from shiftbench.report.content import Report
from shiftbench.report.verdict import verdict
from tests.cli.conftest import Said, Shiftbench

if TYPE_CHECKING:
    from shiftbench.scores.score import Leak

pytest.importorskip("catboost")

QUICK = ("--replicates", 50, "--members", 1, "--cores", 1)
WORDS = ("--target", "y", "--drop", "kind", "--cluster", "day")


def days(effect: float, *, days: int = 120, each: int = 10) -> pl.DataFrame:
    """Ten records a day; days differ by an effect that no column tells but the serial number of the day."""
    rng = np.random.default_rng(1)
    day = np.repeat(np.arange(days), each)
    x = rng.normal(size=len(day))
    y = x + effect * rng.normal(size=days)[day] + 0.3 * rng.normal(size=len(day))
    frame = pl.DataFrame({"day": day, "serial": 7 * day % days, "x": x, "y": y})
    return frame.with_columns(kind=pl.when(pl.col("y") > 0).then(pl.lit("warm")).otherwise(pl.lit("cold")))


def did(said: Said) -> Said:
    assert said.code == 0, said.err
    return said


def report(folder: Path) -> Report:
    return Report.load(folder / "report/report.json")


def found(frame: pl.DataFrame, rules: Rules, target: str = "y") -> tuple[Leak, ...]:
    """The leaks of a partition with the days as clusters."""
    from shiftbench.pipeline.leak import leaks

    parts = partition(frame, rules)
    chosen = features.choose(parts.frame("train"), target=target, exclude=["day", "y", "kind"])
    task = "regression" if target == "y" else "classification"
    return leaks(parts, ("day",), chosen, Settings("t", target, task=task))


def test_neighbours_in_time_that_are_drawn_one_by_one_are_told_with_the_answer(
    shiftbench: Shiftbench, tmp_path: Path
):  # fmt: skip
    days(0.5).write_csv(tmp_path / "t.csv")
    words = ("--target", "y", "--drop", "kind", "--time", "day", "--method", "mean", "--replicates", 50)
    alone = did(shiftbench("run", tmp_path / "t.csv", *words, "--out", tmp_path / "alone"))
    assert (
        "Careful: records next to each other in 'day' are both in training and in the in-domain evaluation"
        in " ".join(alone.out.split())
    )
    apart = did(shiftbench("run", tmp_path / "t.csv", *words, "--cluster", "serial", "--out", tmp_path / "apart"))
    assert "next to each other" not in apart.out + apart.err


def test_clusters_are_kept_apart_unless_cut_and_then_the_first_sentence_says_by_how_much(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    frame = days(1.0)
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "t.toml").write_text('[[methods]]\nname = "boosting"\niterations = 100\n')  # of no concern here
    did(shiftbench("run", "t.csv", "--config", "t.toml", *WORDS, *QUICK, "--out", "apart"))
    parts = pl.read_parquet(tmp_path / "apart/partition/assignment.parquet").with_columns(frame["day"])
    assert parts.group_by("day").agg(pl.col("partition").n_unique())["partition"].max() == 1
    assert report(tmp_path / "apart").leaks == ()
    assert verdict(report(tmp_path / "apart"))[0].startswith("“boosting” has RMSE")
    assert 'apart = "day"' in (tmp_path / "apart/run.toml").read_text()

    did(shiftbench("run", "--config", "apart/run.toml", "--cut-clusters", *QUICK, "--out", "cut"))
    assert "apart" not in (tmp_path / "cut/run.toml").read_text().splitlines()
    (told,) = (text for text in verdict(report(tmp_path / "cut")) if "share their “day”" in text)
    said = re.fullmatch(
        r"Careful: in-domain is probably too good, as (all|[\d.]+ % of) in-domain records share their “day” with "
        r"train; with these kept apart it would be about ([\d.]+)\.",
        told,
    )
    assert said, told
    (leak,) = (each for each in report(tmp_path / "cut").leaks if each.split == "eval")
    assert 1.2 < leak.low < leak.factor < leak.high < 2
    rmse = report(tmp_path / "cut").score("rmse", system="boosting", split="eval", subset="full").value
    assert float(said[2]) == pytest.approx(leak.factor * rmse, rel=0.01)
    assert "in-domain is probably too good" in (tmp_path / "cut/report/report.md").read_text()


def test_given_partitions_that_cut_clusters_are_told_first_of_classes_too(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    days(2.0, each=12).write_csv(tmp_path / "t.csv")
    did(shiftbench("partition", "t.csv", "--cluster", "day", "--cut-clusters", "--out", "cut"))
    words = ("--target", "kind", "--drop", "y", "--cluster", "day")
    did(shiftbench("run", "cut", *words, *QUICK, "--out", "run"))
    told = " ".join(verdict(report(tmp_path / "run")))
    assert re.search(r"Careful: in-domain is probably too good, as all in-domain .*it would be about [\d.]+ %\.", told)


def test_the_estimate_nears_the_truth_of_trees_that_are_fitted_both_ways() -> None:
    cut = found(days(1.0), Rules())
    assert [leak.split for leak in cut] == ["dev", "eval"]
    assert all(leak.records > 0.99 * leak.of for leak in cut)
    factor = cut[0].factor
    assert factor is not None
    # Where a day's effect is unknown, variance 1 + 0.3²; known from seven records by trees, something above 0.3².
    assert 1.2 < factor < np.sqrt(1.09) / 0.3
    stronger = found(days(3.0), Rules())[0].factor
    assert stronger is not None
    assert stronger > factor


def test_clusters_that_do_not_matter_are_not_clearly_worse() -> None:
    (leak, _) = found(days(0.0), Rules())
    assert leak.factor is not None
    assert leak.low is not None
    assert leak.low < 1
    assert leak.factor == pytest.approx(1.0, abs=0.06)


def test_what_cannot_be_estimated_says_why_and_kept_clusters_do_not_leak() -> None:
    few = found(days(1.0, days=6, each=60), Rules())
    assert {(leak.factor, leak.why) for leak in few} == {(None, "train has only 6 of them")}
    assert found(days(1.0), Rules(apart="day")) == ()


def test_the_estimate_is_independent_of_the_order_of_rows() -> None:
    frame = days(1.0).with_row_index("id")
    rules = Rules(id="id")
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=2)
    assert found(frame.select("id", "day", "serial", "x", "y", "kind"), rules) == found(shuffled, rules)


@pytest.mark.parametrize(("cut", "whole"), [((), ["day"]), (("--cut-clusters",), [])])
def test_folds_keep_clusters_whole_where_the_partition_does_made_or_given(
    shiftbench: Shiftbench, tmp_path: Path, cut: tuple[str, ...], whole: list[str]
) -> None:
    days(1.0, days=40).write_csv(tmp_path / "t.csv")
    did(shiftbench("partition", "t.csv", "--cluster", "day", *cut, "--out", "parts"))
    did(shiftbench("fit", "parts", *WORDS, "--members", 1, "--cores", 1, "--out", "fit"))
    did(shiftbench("run", "parts", *WORDS, *QUICK, "--out", "given"))
    did(shiftbench("run", "t.csv", *WORDS, *cut, *QUICK, "--out", "made"))
    did(shiftbench("run", "--config", "made/run.toml", *QUICK, "--out", "again"))
    for folder in ("fit", "given/model/boosting", "made/model/boosting", "again/model/boosting"):
        assert json.loads((tmp_path / folder / "settings.json").read_text())["settings"]["clusters"] == whole, folder


def test_clusters_that_a_method_names_are_kept_whole_whatever_the_partition_does(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    days(1.0, days=40).write_csv(tmp_path / "t.csv")
    (tmp_path / "t.toml").write_text('[[methods]]\nname = "boosting"\nmembers = 1\nclusters = ["day"]\n')
    words = (*WORDS, "--cut-clusters", "--replicates", 50, "--cores", 1)
    did(shiftbench("run", "t.csv", "--config", "t.toml", *words, "--out", "made"))
    record = json.loads((tmp_path / "made/model/boosting/settings.json").read_text())
    assert record["settings"]["clusters"] == ["day"]
    assert 'clusters = [\n "day",\n]' in (tmp_path / "made/run.toml").read_text().split("[[methods]]")[1].replace(
        "    ", " "
    )


def test_partition_leaves_the_target_and_dropped_columns_out_of_the_search_for_near_duplicates(
    shiftbench: Shiftbench, tmp_path: Path
) -> None:
    x = np.tile(np.random.default_rng(0).normal(size=300), 2)
    frame = pl.DataFrame({"x": x, "z": x**2, "y": np.arange(600.0), "logged": np.arange(600.0)})
    frame.write_csv(tmp_path / "t.csv")
    (tmp_path / "s.toml").write_text('target = "y"\ndrop = "log*"\n[partition.where]\nshifted = "x > 1"\n')

    def leakage(*words: str) -> tuple[str, dict[str, Any]]:
        said = did(shiftbench("partition", "t.csv", *words, "--out", "p", "--overwrite"))
        return said.err, json.loads((tmp_path / "p/leakage.json").read_text("utf-8"))

    for words in (("--config", "s.toml"), ("--config", "s.toml", "--target", "y")):
        told, found = leakage(*words)
        assert found["compared"] == ["x", "z"]
        assert any("whose features are equal" in finding["what"] for finding in found["findings"])
        assert "note:" not in told
    told, found = leakage("--shifted-if", "x > 1")
    assert found["compared"] == ["x", "z", "y", "logged"]
    assert "--target excludes one" in told


def test_columns_that_no_model_sees_make_no_difference_between_equal_records(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = np.tile(rng.normal(size=300), 2)
    frame = pl.DataFrame({"x": x, "y": rng.normal(size=600), "logged": np.arange(600.0)})
    rules = Rules(where={"shifted": "x > 1"})
    ids = pl.Series("id", [str(row) for row in range(600)])
    source = tmp_path / "t.csv"
    frame.write_csv(source)
    for unseen, shared in ((("y", "logged"), True), ((), False)):
        divide(frame, rules, tmp_path / str(shared), ids=ids, source=source, unseen=unseen)
        told = (tmp_path / str(shared) / "leakage.json").read_text("utf-8")
        assert ("whose features are equal" in told) is shared
