"""The leakage report: it finds what was planted on both sides, grades it, and finds nothing where nothing is."""

from __future__ import annotations

import dataclasses
import datetime
import json

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PartitionError, UnknownNameError
from shiftbench.partition import Leakage, Partition, Rules, leakage, partition

RECORDS = 2_000
FEATURES = ["x", "y", "kind", "z0", "z1", "z2", "z3"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    start = datetime.date(2021, 1, 1)
    return pl.DataFrame(
        {
            "id": [f"r{number}" for number in range(RECORDS)],
            "date": [start + datetime.timedelta(days=number // 10) for number in range(RECORDS)],
            "station": [f"s{number}" for number in rng.integers(0, 40, RECORDS)],
            "x": rng.normal(size=RECORDS),
            "y": rng.normal(size=RECORDS) * 1e6,
            "kind": rng.choice(["a", "b"], RECORDS),
            **{f"z{number}": rng.normal(size=RECORDS) for number in range(4)},
        }
    )


def kinds(found: Leakage) -> dict[str, str]:
    return {finding.kind: finding.severity for finding in found.findings}


def moved(parts: Partition, rows: list[int], name: str) -> Partition:
    """The partition with some rows put elsewhere by hand."""
    place = pl.int_range(len(parts.assignment), eager=True)
    assignment = pl.select(pl.when(place.is_in(rows)).then(pl.lit(name)).otherwise(parts.assignment)).to_series()
    return dataclasses.replace(parts, assignment=assignment)


def rows_of(parts: Partition, name: str) -> list[int]:
    return [int(row) for row in (parts.assignment == name).arg_true()]


def test_independent_rows_leak_nothing(table: pl.DataFrame) -> None:
    rules = Rules(id="id")
    found = leakage(table, partition(table, rules), rules, features=FEATURES)
    assert found == Leakage(())
    assert found.text() == "no leakage found"


def test_shared_stations_and_days_are_counted(table: pl.DataFrame) -> None:
    rules = Rules(id="id", time="date")
    parts = partition(table, rules)
    found = leakage(table, parts, rules, clusters=["station"])
    for finding in found.findings:
        if finding.kind in ("clusters", "days"):
            column = "station" if finding.kind == "clusters" else "date"
            train = set(parts.frame("train")[column])
            assert finding.counts == {name: len(train & set(parts.frame(name)[column])) for name in finding.counts}
            assert set(finding.examples) <= set(map(str, train))
    clusters = [finding for finding in found.findings if finding.kind == "clusters"]
    assert [(finding.severity, set(finding.counts)) for finding in clusters] == [
        ("warning", {"dev_in", "eval_in"}),
        ("information", {"dev_out", "eval_out"}),
    ]
    assert kinds(found)["days"] == "information"


def test_whole_groups_leak_no_cluster_and_a_cut_one_is_an_error(table: pl.DataFrame) -> None:
    rules = Rules(id="id", by="station")
    parts = partition(table, rules)
    assert "clusters" not in kinds(leakage(table, parts, rules))
    broken = moved(parts, rows_of(parts, "eval_in")[:1], "train")
    found = leakage(table, broken, rules)
    assert kinds(found)["clusters"] == "error"
    assert "stay whole" in found.errors[0].what


def test_ids_on_both_sides_are_an_error(table: pl.DataFrame) -> None:
    rules = Rules(id="id")
    parts = partition(table, rules)
    train, evaluation = rows_of(parts, "train")[0], rows_of(parts, "eval_in")[0]
    ids = parts.ids.to_list()
    ids[evaluation] = ids[train]
    found = leakage(table, dataclasses.replace(parts, ids=pl.Series(ids)), rules)
    assert found.findings[0].kind == "ids"
    assert found.errors[0].counts == {"eval_in": 1, "train": 1}
    assert found.errors[0].examples == (ids[train],)


def test_the_achieved_gap_is_told_and_a_broken_one_is_an_error(table: pl.DataFrame) -> None:
    rules = Rules(id="id", time="date", gap="10d")
    parts = partition(table, rules)
    gap = [finding for finding in leakage(table, parts, rules).findings if finding.kind == "gap"]
    assert [finding.severity for finding in gap] == ["information"] * 2
    distance = (parts.frame("dev_out")["date"].min() - parts.frame("train")["date"].max()).days  # type: ignore[operator]
    assert f"dev_out and the in-domain records are {distance} days apart" in gap[0].what
    unused = [row for row in range(RECORDS) if parts.assignment[row] is None]
    broken = leakage(table, moved(parts, unused[:1], "dev_out"), rules)
    assert [finding.kind for finding in broken.errors] == ["gap"]
    assert "the rules require 10d" in broken.errors[0].what


def test_overlapping_windows_are_an_error_unless_written_for_both_sides(table: pl.DataFrame) -> None:
    rules = Rules(id="id", time="date")
    parts = partition(table, rules)
    overlapping = moved(parts, rows_of(parts, "train")[:1], "eval_out")
    assert [finding.kind for finding in leakage(table, overlapping, rules).errors] == ["gap"]
    both = dict.fromkeys(("in_domain", "dev_out", "eval_out"), ("2021-01-01", None))
    written = Rules(id="id", time="date", windows=both, group="kind", shifted=("b",))
    assert leakage(table, partition(table, written), written).errors == ()


@pytest.mark.parametrize(("noise", "kind"), [(0.0, "equal"), (1e-6, "nearly equal")])
def test_planted_duplicates_are_found(table: pl.DataFrame, noise: float, kind: str) -> None:
    rules = Rules(id="id")
    copies = table.head(300).with_columns(id=pl.lit("copy ") + pl.col("id"), x=pl.col("x") + noise)
    doubled = pl.concat([table, copies])
    parts = partition(doubled, rules)
    found = leakage(doubled, parts, rules, features=FEATURES).findings[0]
    assert (found.severity, found.kind) == ("warning", "duplicates")
    assert found.what.startswith(f"records whose features are {kind} to")
    side = dict(zip(parts.ids, parts.assignment, strict=True))
    pairs = [{side[f"r{number}"], side[f"copy r{number}"]} for number in range(300)]
    for name in ("dev_in", "eval_in"):
        expected = sum(pair == {name, "train"} for pair in pairs)
        assert found.counts[name] == expected
    one, other = found.examples[0].replace(" of dev_in", "").removesuffix(" of train").split(" and ")
    assert one.removeprefix("copy ") == other.removeprefix("copy ")


def test_one_duplicate_among_many_is_information() -> None:
    frame = pl.DataFrame({"id": range(4_000), "x": np.random.default_rng(0).permutation(4_000) ** 2})
    rules = Rules(id="id")
    parts = partition(frame, rules)
    train, evaluation = rows_of(parts, "train")[0], rows_of(parts, "eval_in")[0]
    x = frame["x"].to_list()
    x[evaluation] = x[train]
    found = leakage(frame.with_columns(x=pl.Series(x)), parts, rules)
    equal = [finding for finding in found.findings if "are equal" in finding.what]
    assert [(finding.severity, finding.counts) for finding in equal] == [("information", {"eval_in": 1})]


def test_missing_values_equal_each_other_and_nothing_else() -> None:
    frame = pl.DataFrame(
        {"id": range(6), "x": [None, float("nan"), 0.0, 1.0, 2.0, None], "n": [None] * 6, "l": [[1]] * 6}
    )
    names = ["train", "dev_in", "dev_out", "eval_in", "eval_out", None]
    parts = Partition(frame, frame["id"].cast(pl.String), pl.Series(names, dtype=pl.String))
    found = leakage(frame, parts, Rules(id="id"))
    near = next(finding for finding in found.findings if "nearly" in finding.what)
    assert near.counts == {"dev_in": 1}


def test_features_default_to_columns_without_a_role(table: pl.DataFrame) -> None:
    rules = Rules(id="id")
    same = table.select("id", "date", "station", x=pl.lit(1.0), y=pl.lit(2), kind=pl.lit("a"))
    parts = partition(same, rules)
    assert "duplicates" not in kinds(leakage(table.select("id"), parts, rules))
    found = leakage(same, parts, Rules(id="id", time="date"), clusters=["station"])
    duplicates = [finding for finding in found.findings if finding.kind == "duplicates"]
    assert duplicates[0].counts == {name: parts.counts[name] for name in ("dev_in", "eval_in")}


def test_findings_come_worst_first_and_survive_json(table: pl.DataFrame) -> None:
    rules = Rules(id="id", time="date")
    parts = partition(table, rules)
    broken = moved(parts, rows_of(parts, "train")[:1], "eval_out")
    found = leakage(table, broken, rules, clusters=["station"])
    severities = [finding.severity for finding in found.findings]
    assert severities == sorted(severities, key=["error", "warning", "information"].index)
    assert set(severities) == {"error", "warning", "information"}
    assert json.loads(json.dumps(found.to_json(), allow_nan=False))["findings"][0]["severity"] == "error"
    assert found.text().splitlines()[0] == f"error: {found.findings[0]}"


def test_other_tables_and_unknown_columns_are_refused(table: pl.DataFrame) -> None:
    rules = Rules(id="id")
    parts = partition(table, rules)
    with pytest.raises(PartitionError, match="expected the 2,000 records that were partitioned, found 10"):
        leakage(table.head(10), parts, rules)
    with pytest.raises(UnknownNameError, match="Did you mean 'station'"):
        leakage(table, parts, rules, clusters=["statoin"])


def test_the_report_counts_duplicates_at_a_hundred_and_twenty_features() -> None:
    rng = np.random.default_rng(2)
    values = rng.normal(size=(2_000, 120))
    values[1_800:] = values[:200] + 0.0005 * rng.choice([-1, 1], size=(200, 120))
    frame = pl.DataFrame(values, orient="row")
    sides = pl.Series(["train"] * 1_500 + ["eval_out"] * 500)
    parts = Partition(frame, pl.int_range(2_000, eager=True).cast(pl.String), sides)
    finding = leakage(frame, parts, Rules()).findings[0]
    assert finding.counts == {"eval_out": 200}
    assert finding.examples[0] == "1800 of eval_out and 0 of train"
