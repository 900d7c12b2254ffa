"""What a run and a report once misled about, seen from the command line and the public functions alone."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench import pipeline
from shiftbench.assessment import predictions
from shiftbench.pipeline import settings
from shiftbench.report.content import Report
from shiftbench.report.verdict import verdict
from shiftbench.scores.score import Slice

N = 1_800


def table() -> pl.DataFrame:
    """Records with a forecast that has gaps, and columns to slice by: hours, an amount, names, a place."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=N)
    y = 50 + 3 * x + rng.normal(size=N)
    return pl.DataFrame({
        "id": [f"r{k}" for k in range(N)],
        "x": x,
        "y": y,
        "raw": [None if k % 4 == 0 else value for k, value in enumerate(y + rng.normal(size=N))],
        "hour": rng.integers(0, 24, N),
        "rain": rng.lognormal(0.0, 2.0, N),
        "shop": [f"s{shop}" if shop < 60 else "mall" for shop in rng.integers(0, 120, N)],
        "place": np.where(x > 1.2, "polar", np.where(np.arange(N) % 2 == 0, "north", "south")),
    })  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run over the table whose shifted records have the largest x, those of eval larger ones than those of dev."""
    folder = tmp_path_factory.mktemp("run")
    table().write_parquet(folder / "table.parquet")
    chosen = settings.from_dict({
        "table": str(folder / "table.parquet"), "target": "y", "baselines": ["raw"], "allow_leaks": True,
        "methods": [{"name": "mean", "title": "flat"}], "slices": ["hour", "rain", "shop", "place"],
        "partition": {"id": "id", "time": "x"}, "assessment": {"replicates": 20},
    })  # fmt: skip
    pipeline.run(chosen, folder / "run").report.save(folder / "report.json")
    return folder


@pytest.fixture(scope="module")
def report(folder: Path) -> Report:
    return Report.load(folder / "report.json")


def groups(report: Report, column: str, split: str) -> dict[str, Slice]:
    return {
        entry.group: entry
        for entry in report.slices
        if (entry.column, entry.split, entry.system) == (column, split, "flat")
    }


def holds(label: str, values: pl.Series) -> pl.Series:
    """Which values are where a label says that they are."""
    if found := re.fullmatch(r"below (\S+)", label):
        return values < float(found[1])
    if found := re.fullmatch(r"(\S+) or more", label):
        return values >= float(found[1])
    found = re.fullmatch(r"\[(\S+), (\S+)\)", label)
    assert found, label
    return (values >= float(found[1])) & (values < float(found[2]))


def test_a_forecast_with_gaps_is_scored_on_its_values_and_no_other_is_written(folder: Path, report: Report) -> None:
    by_id = {row["id"]: row for row in table().iter_rows(named=True)}
    evaluated, answered = (
        list(predictions.load(folder / f"run/predictions/{name}.parquet").ids) for name in ("flat", "raw")
    )
    assert answered == [key for key in evaluated if by_id[key]["raw"] is not None]
    scores = [s for s in report.scores if (s.system, s.metric, s.subset) == ("raw", "rmse", "full")]
    assert sum(s.n for s in scores) == len(answered) < len(evaluated)
    errors = [(by_id[key]["raw"] - by_id[key]["y"]) ** 2 for key in answered]
    assert sum(s.n * s.value**2 for s in scores) == pytest.approx(sum(errors))
    assert "has a value for" in next(system.about for system in report.systems if system.name == "raw")


@pytest.mark.parametrize("split", ["dev", "eval"])
def test_ranges_are_the_same_in_every_split_and_hold_what_their_names_say(
    folder: Path, report: Report, split: str
) -> None:
    parts = pl.read_parquet(folder / "run/partition/assignment.parquet").cast({"id": pl.String})
    kept = parts.filter(pl.col("partition").cast(pl.String).str.starts_with(split)).select("id")
    rain = table().join(kept, on="id")["rain"]
    found = groups(report, "rain", split)
    assert set(found) == set(groups(report, "rain", "eval"))
    assert len(found) == 5
    assert {label: entry.n for label, entry in found.items()} == {label: holds(label, rain).sum() for label in found}
    assert sum(entry.n for entry in found.values()) == len(rain)


def test_small_whole_numbers_are_groups_of_their_own(report: Report) -> None:
    found = groups(report, "hour", "eval")
    assert set(found) <= set(map(str, range(24)))
    assert len(found) > 15


def test_many_small_groups_are_gathered_and_counted(report: Report) -> None:
    found = groups(report, "shop", "eval")
    records = next(count.records for count in report.counts if (count.split, count.subset) == ("eval", "full"))
    assert set(found) == {"mall", "other (60 groups)"}
    assert sum(entry.n for entry in found.values()) == records
    assert any("slices by shop: 61 groups" in warning for warning in report.warnings)


def test_groups_that_vanish_from_a_split_are_named(report: Report) -> None:
    assert "polar" in groups(report, "place", "eval")
    assert "dev: groups of place with fewer than 10 records are not shown: polar (0)" in report.warnings


def test_training_that_ended_suspiciously_early_is_told_in_the_verdict(tmp_path: Path) -> None:
    """Nothing is to be learnt from noise."""
    pytest.importorskip("catboost")
    rng = np.random.default_rng(0)
    pl.DataFrame({"x": rng.normal(size=400), "y": rng.normal(size=400)}).write_parquet(tmp_path / "t.parquet")
    chosen = settings.from_dict({
        "table": str(tmp_path / "t.parquet"), "target": "y", "members": 1, "assessment": {"replicates": 20},
    })  # fmt: skip
    told = verdict(pipeline.run(chosen, tmp_path / "run").report)
    assert any(sentence.startswith("Careful: training ended suspiciously early: ") for sentence in told), told
