"""`shiftbench compare` takes files on the same records: what they say of these records must agree."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.io.files import sha256
from shiftbench.report.content import Report
from tests.cli.conftest import Shiftbench, errors_table

QUICK = ("--replicates", 25, "--out", "c")


def two_files(folder: Path, other: pl.DataFrame, *, columns: tuple[str, ...]) -> None:
    """a.csv, and b.csv with the rows of `other` in another order."""
    errors_table().select("id", *columns, "uncertainty").write_csv(folder / "a.csv")
    other.select("id", *columns, "uncertainty").sample(fraction=1, shuffle=True, seed=1).write_csv(folder / "b.csv")


def test_files_that_agree_are_compared(shiftbench: Shiftbench, tmp_path: Path) -> None:
    other = errors_table().with_columns(answer=pl.col("answer") + 0.1, target=pl.col("target").cast(pl.Float32))
    columns = ("target", "answer", "shifted", "city", "season")
    two_files(tmp_path, other, columns=columns)
    other.select("id", *columns, "uncertainty").write_parquet(tmp_path / "b.parquet")  # in which the precision is kept
    said = shiftbench("compare", "a.csv", "b.parquet", "--cluster", "city", "--slice", "season", *QUICK)
    assert said.code == 0, said.err


@pytest.mark.parametrize(
    ("one", "other", "dtype"),
    [
        (1.0, 1.0 + 1e-9, pl.Float64),
        (2**24, 2**24 + 1, pl.Int64),
        (2**60, 2**60 + 1, pl.Int64),
        (2**63, 2**63 + 1, pl.UInt64),
    ],
)
def test_targets_are_compared_exactly(
    shiftbench: Shiftbench, tmp_path: Path, one: float, other: float, dtype: type[pl.DataType]
) -> None:
    for name, target in (("a", one), ("b", other)):
        frame = errors_table().with_columns(target=pl.lit(target, dtype), answer=pl.lit(one, dtype) // 2)
        frame.select("id", "target", "answer", "uncertainty").write_parquet(tmp_path / f"{name}.parquet")
    said = shiftbench("compare", "a.parquet", "b.parquet", *QUICK)
    assert said.code == 2
    assert "found others in column 'target' for 300 of 300 records" in " ".join(said.err.split())


def test_clusters_beyond_double_precision_are_told_apart(shiftbench: Shiftbench, tmp_path: Path) -> None:
    for name, room in (("a", pl.int_range(pl.len()) // 10), ("b", pl.int_range(pl.len()) % 30)):
        frame = errors_table().with_columns(room=2**60 + room)
        frame.select("id", "error", "uncertainty", "room").write_parquet(tmp_path / f"{name}.parquet")
    said = shiftbench("compare", "a.parquet", "b.parquet", "--cluster", "room", *QUICK)
    assert (said.code, "found others in column 'room'" in " ".join(said.err.split())) == (2, True)


def test_shifts_that_only_the_second_file_tells_are_noted(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().select("id", "error", "uncertainty").write_csv(tmp_path / "a.csv")
    errors_table().select("id", "error", "uncertainty", "shifted").write_csv(tmp_path / "b.csv")
    said = shiftbench("compare", "a.csv", "b.csv", *QUICK)
    assert said.code == 0, said.err
    notes = Report.load(tmp_path / "c/report.json").warnings
    assert any(note.startswith("b: which records are shifted is not used") for note in notes)


def test_targets_that_differ_are_refused_with_their_ids(shiftbench: Shiftbench, tmp_path: Path) -> None:
    other = errors_table().with_columns(
        target=pl.when(pl.col("id").is_in(["r007", "r250"])).then(9.0).otherwise("target")
    )
    two_files(tmp_path, other, columns=("target", "answer"))
    said = shiftbench("compare", "a.csv", "b.csv", *QUICK)
    assert said.code == 2
    message = " ".join(said.err.split())
    assert "b: expected the targets of the first file, found others in column 'target' for 2 of 300 records" in message
    assert "(ids 'r007', 'r250'; 9.0 for " in message
    assert not (tmp_path / "c").exists()


def test_classes_that_differ_are_refused(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().with_columns(target=pl.col("season"), answer=pl.lit("wet"))
    table.select("id", "target", "answer", "uncertainty").write_csv(tmp_path / "a.csv")
    swapped = table.with_columns(target=pl.col("target").replace({"wet": "dry", "dry": "wet"}))
    swapped.select("id", "target", "answer", "uncertainty").write_csv(tmp_path / "b.csv")
    said = shiftbench("compare", "a.csv", "b.csv", *QUICK)
    assert (said.code, "found others in column 'target' for 300 of 300" in " ".join(said.err.split())) == (2, True)


@pytest.mark.parametrize(("option", "column"), [("--cluster", "city"), ("--slice", "season")])
def test_groups_that_differ_are_refused(shiftbench: Shiftbench, tmp_path: Path, option: str, column: str) -> None:
    shuffled = errors_table().with_columns(pl.col(column).shuffle(seed=3))
    two_files(tmp_path, shuffled, columns=("error", column))
    said = shiftbench("compare", "a.csv", "b.csv", option, column, *QUICK)
    assert said.code == 2
    assert f"b: expected the groups of the first file, found others in column {column!r}" in " ".join(said.err.split())


def test_the_same_groups_may_be_written_differently(shiftbench: Shiftbench, tmp_path: Path) -> None:
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(day)) for day in np.arange(300) // 10]
    table = errors_table().with_columns(day=pl.Series(days))
    table.select("id", "error", "uncertainty", "day").write_csv(tmp_path / "a.csv")
    written = table.with_columns(pl.col("day").dt.strftime("day %j of %Y"))
    written.select("id", "error", "uncertainty", "day").write_parquet(tmp_path / "b.parquet")
    said = shiftbench("compare", "a.csv", "b.parquet", "--cluster", "day", *QUICK)
    assert said.code == 0, said.err


def test_columns_that_only_the_first_file_has_need_not_be_repeated(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().select("id", "error", "uncertainty", "city").write_csv(tmp_path / "a.csv")
    errors_table().select("id", "error", "uncertainty").write_csv(tmp_path / "b.csv")
    said = shiftbench("compare", "a.csv", "b.csv", "--cluster", "city", *QUICK)
    assert said.code == 0, said.err


def test_a_column_of_lists_agrees_with_no_groups(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().select("id", "error", "uncertainty", "city").write_csv(tmp_path / "a.csv")
    lists = errors_table().with_columns(city=pl.concat_list("city"))
    lists.select("id", "error", "uncertainty", "city").write_parquet(tmp_path / "b.parquet")
    said = shiftbench("compare", "a.csv", "b.parquet", "--cluster", "city", *QUICK)
    assert (said.code, "found others in column 'city' for 300 of 300" in " ".join(said.err.split())) == (2, True)


def test_a_named_column_of_shifts_is_held_against_the_first(shiftbench: Shiftbench, tmp_path: Path) -> None:
    table = errors_table().rename({"shifted": "ood"})
    table.select("id", "error", "uncertainty", "ood").write_csv(tmp_path / "a.csv")
    table.select("id", "error", "uncertainty", ood=1 - pl.col("ood")).write_csv(tmp_path / "b.csv")
    said = shiftbench("compare", "a.csv", "b.csv", "--shifted", "ood", *QUICK)
    assert (said.code, "expected the same records to be shifted" in " ".join(said.err.split())) == (2, True)


def test_one_file_named_twice_is_nothing_to_compare(shiftbench: Shiftbench, tmp_path: Path) -> None:
    errors_table().select("id", "error", "uncertainty").write_csv(tmp_path / "a.csv")
    said = shiftbench("compare", "a.csv", "./a.csv", *QUICK)
    assert said.code == 2
    assert "expected different files to compare, found one more than once (a.csv)" in " ".join(said.err.split())


def test_files_of_one_name_are_told_apart_in_the_recipe(shiftbench: Shiftbench, tmp_path: Path) -> None:
    for folder in ("first", "second"):
        (tmp_path / folder).mkdir()
        other = errors_table().with_columns(error=pl.col("error") * len(folder))
        other.select("id", "error", "uncertainty").write_csv(tmp_path / folder / "p.csv")
    said = shiftbench("compare", "first/p.csv", "second/p.csv", *QUICK)
    assert said.code == 0, said.err
    files = Report.load(tmp_path / "c" / "report.json").recipe["files"]
    assert files == {name: sha256(tmp_path / name) for name in ("first/p.csv", "second/p.csv")}


def test_reports_of_one_command_are_not_replaced_by_another(shiftbench: Shiftbench, tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        errors_table().select("id", "error", "uncertainty").write_csv(tmp_path / name)
    commands = {
        "assess": ("assess", "a.csv", *QUICK[:2]),
        "compare": ("compare", "a.csv", "b.csv", *QUICK[:2]),
        "report": ("report", "assess/report.json"),
    }
    for command, words in commands.items():
        assert shiftbench(*words, "--out", command).code == 0
    for folder in commands:
        for command in {"assess", "compare"} - {folder}:
            before = sha256(tmp_path / folder / "report.html")
            said = shiftbench(*commands[command], "--out", folder, "--overwrite")
            assert (said.code, sha256(tmp_path / folder / "report.html")) == (2, before)
            assert f"found one of `shiftbench {folder}`" in " ".join(said.err.split())


@pytest.mark.parametrize("known", ["ids", "targets"])
def test_a_system_has_the_same_intervals_alone_and_beside_others(
    shiftbench: Shiftbench, tmp_path: Path, known: str
) -> None:
    """Replicates follow the records, not what systems say of them."""
    columns = ["target", "answer", "uncertainty", "shifted", *(["id"] if known == "ids" else [])]
    errors_table().select(columns).write_csv(tmp_path / "a.csv")
    other = pl.col("answer") + 0.3
    frame = errors_table().with_columns(answer=other, uncertainty=1 / pl.col("uncertainty")).select(columns)
    (frame.reverse() if known == "ids" else frame).write_csv(tmp_path / "b.csv")
    assert shiftbench("assess", "a.csv", *QUICK).code == 0
    for files in (("a.csv", "b.csv"), ("b.csv", "a.csv")):
        assert shiftbench("compare", *files, *QUICK[:-1], "b", "--overwrite").code == 0
        alone, beside = (Report.load(tmp_path / f"{name}/report.json").scores for name in ("c", "b"))
        found = {(each.subset, each.metric, each.measure): each for each in beside if each.system == "a"}
        assert len(found) == len(alone)
        assert sum(each.low is not None for each in alone) > 20
        for each in alone:
            same = found[each.subset, each.metric, each.measure]
            mine, theirs = ([x.value, x.low or 0.0, x.high or 0.0] for x in (each, same))
            assert mine == pytest.approx(theirs, rel=1e-12, nan_ok=True)
