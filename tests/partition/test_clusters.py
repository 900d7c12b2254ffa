"""Clusters kept apart: none is ever on two sides of train, dev and eval, and what that leaves out is counted."""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shiftbench.errors import PartitionError
from shiftbench.partition import PARTITIONS, Manifest, Partition, Rules, leakage, partition
from shiftbench.partition.clusters import SIDE
from shiftbench.partition.hashing import keyed_hash

DAY = datetime.date(2020, 1, 1)


def made(records: int = 2_000, clusters: int = 80, seed: int = 0) -> pl.DataFrame:
    """Records with a day (which cuts across everything), a station of one climate, and numbers."""
    rng = np.random.default_rng(seed)
    station = rng.integers(0, clusters, records)
    return pl.DataFrame(
        {
            "id": rng.permutation(records),
            "day": [DAY + datetime.timedelta(days=int(day)) for day in rng.integers(0, clusters, records)],
            "station": station,
            "state": station // 4,
            "climate": np.array(["dry", "mild", "snow", "dry"])[station % 4],
            "x": rng.normal(size=records),
        }
    )


def sides(found: Partition, frame: pl.DataFrame, column: str) -> dict[Any, set[str]]:
    where = defaultdict(set)
    for cluster, name in zip(frame[column], found.assignment, strict=True):
        if name is not None:
            where[cluster].add(SIDE[name])
    return where


SHIFTS: list[dict[str, Any]] = [
    {},
    {"group": "climate", "shifted": ["snow"]},
    {"group": "climate", "shifted": ["snow"], "dev_share": 0.2},
    {"group": "climate", "shifted_dev": ["mild"], "shifted_eval": ["snow"]},
    {"time": "day"},
    {"time": "day", "group": "climate", "shifted": ["snow"]},
    {"time": "day", "gap": "3d", "shares": "50/20/30"},
    {"where": {"shifted": "x > 1"}},
    {"where": {"eval_in": "x < -1", "shifted": "x > 1"}, "at_most": {"train": 200}},
    {"where": {"train": "x < 0", "dev_in": "x >= 0 and x < 0.3", "eval_in": "x >= 0.3"}},
    {"group": "climate", "shifted": ["snow"], "by": "state"},
]


@pytest.mark.parametrize("rules", SHIFTS)
@pytest.mark.parametrize("column", ["day", "station"])
def test_no_cluster_is_on_two_sides_whatever_the_shift(rules: dict[str, Any], column: str) -> None:
    if column == "day" and "by" in rules:
        return
    frame = made()
    chosen = Rules.from_settings({"id": "id", "apart": column, **rules})
    found = partition(frame, chosen)
    assert max(map(len, sides(found, frame, column).values())) == 1
    assert sum(found.counts.values()) + sum(found.unused.values()) == len(frame)
    assert not leakage(frame, found, chosen, clusters=[column]).errors
    shuffled = frame.sample(fraction=1.0, shuffle=True, seed=3)
    again = partition(shuffled, chosen)
    assert dict(zip(found.ids, found.assignment, strict=True)) == dict(zip(again.ids, again.assignment, strict=True))


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    st.integers(0, 2**32), st.integers(60, 400), st.integers(6, 60), st.sampled_from(SHIFTS[:8]),
    st.sampled_from(["day", "station"]),
)  # fmt: skip
def test_no_cluster_is_on_two_sides_of_any_table(
    seed: int, records: int, clusters: int, rules: dict[str, Any], column: str
) -> None:
    frame = made(records, clusters, seed)
    without = Rules.from_settings({"id": "id", **rules})
    chosen = Rules.from_settings({"id": "id", "apart": column, "seed": seed, **rules})
    try:
        found, other = partition(frame, chosen), partition(frame, without)
    except PartitionError as error:
        assert any("expected records, found none" in problem for problem in error.problems)  # noqa: PT017
        return
    assert max(map(len, sides(found, frame, column).values())) == 1
    shifted, before = (
        part.assignment.cast(pl.String).str.ends_with("_out").fill_null(value=False) for part in (found, other)
    )
    assert not (shifted & ~before).any()
    assert sum(found.counts.values()) + sum(found.unused.values()) == records


def expected_sides(frame: pl.DataFrame, column: str, *, seed: int, shares: dict[str, float]) -> dict[str, str]:
    """The slow twin: clusters on a line in the order of their hashes, one after the other; snow is the shift."""
    inside, outside = defaultdict(int), defaultdict(int)
    for cluster, climate in zip(frame[column].cast(pl.String), frame["climate"], strict=True):
        (outside if climate == "snow" else inside)[cluster] += 1
    found = {}
    names = sorted({*inside, *outside})
    hashes = dict(zip(names, keyed_hash(pl.Series(names), seed=seed).tolist(), strict=True))
    kinds = (
        [name for name in names if inside[name] and not outside[name]],
        [name for name in names if inside[name] and outside[name]],
        [name for name in names if not inside[name]],
    )
    for kind in kinds:
        counts = inside if any(inside[name] for name in kind) else outside
        chances = shares if counts is inside else {"dev": 0.5, "eval": 0.5}
        total, reached = sum(counts[name] for name in kind), 0.0
        for name in sorted(kind, key=lambda name: (hashes[name], name)):
            middle = (reached + counts[name] / 2) / total
            reached += counts[name]
            edge = 0.0
            for side, chance in chances.items():
                edge += chance
                if middle < edge:
                    found[name] = side
                    break
            else:
                found[name] = "train"
    return found


@pytest.mark.parametrize("column", ["day", "station"])
def test_the_sides_equal_a_plain_walk_along_the_line(column: str) -> None:
    frame = made()
    rules = Rules(id="id", group="climate", shifted=("snow",), apart=column, seed=4)
    found = sides(partition(frame, rules), frame, column)
    wanted = expected_sides(frame, column, seed=4, shares={"dev": 0.1, "eval": 0.2})
    assert {str(cluster): next(iter(where)) for cluster, where in found.items()} == {
        name: side for name, side in wanted.items() if name in map(str, found)
    }


def test_shares_hold_in_domain_and_what_is_left_out_is_named() -> None:
    frame = made(20_000, 400)
    found = partition(frame, Rules(id="id", group="climate", shifted=("snow",), apart="day"))
    in_domain = len(frame.filter(pl.col("climate") != "snow"))
    for name, share in (("train", 0.7), ("dev_in", 0.1), ("eval_in", 0.2)):
        assert found.counts[name] / in_domain == pytest.approx(share, abs=0.01)
    snow = len(frame) - in_domain
    assert found.counts["dev_out"] / snow == pytest.approx(0.1, abs=0.02)
    assert found.counts["eval_out"] / snow == pytest.approx(0.2, abs=0.02)
    assert found.unused == {
        "shifted, but its day is in train": snow - found.counts["dev_out"] - found.counts["eval_out"]
    }


def test_clusters_that_windows_of_time_cut_are_whole_and_lie_where_more_of_them_is() -> None:
    frame = made(20_000, 100)
    weeks = frame.with_columns(week=pl.col("day").dt.truncate("1w"))
    rules = {"id": "id", "time": "day", "fractions": "40/10/25/25", "group": "climate", "shifted": ["snow"]}
    cut, whole = (partition(weeks, Rules.from_settings({**rules, **more})) for more in ({}, {"apart": "week"}))
    assert max(map(len, sides(cut, weeks, "week").values())) > 1
    assert max(map(len, sides(whole, weeks, "week").values())) == 1
    kept = sum(whole.counts[name] for name in ("dev_out", "eval_out"))
    assert kept > 0.9 * sum(cut.counts[name] for name in ("dev_out", "eval_out"))


def test_too_few_clusters_are_refused_with_a_way_out() -> None:
    frame = made(400, 4)
    with pytest.raises(PartitionError, match=r"dev_in: .* each day is kept on one side .* --cut-clusters"):
        partition(frame, Rules(id="id", apart="day"))
    with pytest.raises(PartitionError, match=r"sizes.train: would cut the clusters of 'day'.* --cut-clusters"):
        Rules(apart="day", sizes={"train": 100})
    with pytest.raises(PartitionError, match="exact: would cut the clusters of 'day'"):
        Rules(apart="day", exact=True)
    with pytest.raises(PartitionError, match=r"by='station', apart='day': .* found some that cut each other"):
        partition(made(), Rules(id="id", by="station", apart="day"))
    gap = made().with_columns(day=pl.when(pl.col("id") > 5).then("day"))
    with pytest.raises(PartitionError, match="column 'day': expected a value for every record"):
        partition(gap, Rules(id="id", apart="day"))


def test_the_manifest_names_the_clusters_and_rules_without_them_keep_their_hash() -> None:
    frame = made()
    plain, apart = Rules(id="id"), Rules(id="id", apart="day")
    assert "apart" not in plain.to_settings()
    assert Rules.from_settings(apart.to_settings()) == apart
    manifests = [Manifest.of(partition(frame, rules), rules) for rules in (plain, apart)]
    assert manifests[1].rules["apart"] == "day"
    assert manifests[0].hash != manifests[1].hash
    assert manifests[0].counts.keys() == set(PARTITIONS)
