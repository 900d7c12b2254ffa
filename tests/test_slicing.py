"""Slices are disjoint groups under honest names, the same in every split, and neither too many nor lost in silence."""

from __future__ import annotations

import datetime as dt
import math
import re

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shiftbench.assessment import assess as assessment
from shiftbench.assessment import scored
from shiftbench.assessment.arrays import assess
from shiftbench.assessment.scored import Records
from shiftbench.assessment.slicing import Gathering, Slicing
from shiftbench.errors import ShiftbenchWarning, TableError
from shiftbench.partition import keys

FEW = assessment.Options(intervals=assessment.intervals.Settings(replicates=25))


def labels(values: object, *, strict: bool = False) -> list[str]:
    frame = pl.DataFrame({"x": values}, strict=strict)
    return Slicing.of(frame, ["x"]).labels(frame)["x"].tolist()


def holds(name: str, value: float) -> bool:
    """Whether a value is where the name of a range says."""
    if found := re.fullmatch(r"below (\S+)", name):
        return value < float(found[1])
    if found := re.fullmatch(r"(\S+) or more", name):
        return value >= float(found[1])
    found = re.fullmatch(r"\[(\S+), (\S+)\)", name)
    assert found, name
    return float(found[1]) <= value < float(found[2])


@pytest.mark.parametrize("kind", [int, float])
def test_small_whole_numbers_are_categories(kind: type) -> None:
    months = [*range(1, 13), None] * 5
    assert set(labels([None if month is None else kind(month) for month in months])) == {
        *map(str, range(1, 13)), "(missing)",
    }  # fmt: skip
    assert len(set(labels([hour % 24 for hour in range(500)]))) == 24
    assert len(set(labels([day % 31 + 1 for day in range(500)]))) == 31


@pytest.mark.parametrize("seed", range(6))
def test_ranges_are_disjoint_about_equal_and_hold_what_their_names_say(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = [
        rng.normal(size=900), 1e-9 * rng.normal(size=900), 101_325 + rng.normal(size=900), rng.lognormal(0, 3, 900),
        rng.integers(-50, 5_000, 900), np.round(rng.normal(size=900), 1),
    ][seed]  # fmt: skip
    names = labels(values)
    assert all(holds(name, value) for name, value in zip(names, values, strict=True))
    _, counts = np.unique(names, return_counts=True)
    assert len(counts) == 5
    assert counts.min() > 900 / 5 * 0.6
    ranges = set(names)
    for value in values[:50]:
        assert sum(holds(name, value) for name in ranges) == 1


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(allow_nan=True, width=64), min_size=20, max_size=60))
def test_any_numbers_are_in_the_range_that_is_named(values: list[float]) -> None:
    for name, value in zip(labels(values), values, strict=True):
        if math.isnan(value):
            assert name == "(missing)"
        elif "below" in name or "or more" in name or name.startswith("["):
            assert holds(name, value)
        else:
            assert float(name) == value


def test_a_value_at_an_edge_is_where_the_name_says_in_single_precision_too() -> None:
    values = np.tile(np.arange(0, 1, 0.01), 3).round(2)
    frame = pl.DataFrame({"x": values.astype(np.float32)})
    names = Slicing.of(frame, ["x"]).labels(frame)["x"].tolist()
    assert all(holds(name, value) for name, value in zip(names, values, strict=True))


def test_edges_are_settled_once_and_hold_for_every_split_and_test_set() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"x": rng.normal(size=1_000)})
    slicing = Slicing.of(table, ["x"])
    whole = slicing.labels(table)["x"]
    for rows in (slice(0, 500), slice(500, 1_000)):
        assert slicing.labels(table[rows])["x"].tolist() == whole[rows].tolist()
    beyond = pl.DataFrame({"x": [-1e9, 1e9, 0.0]})
    names = slicing.labels(beyond)["x"]
    assert set(names) <= set(whole)
    assert all(holds(name, value) for name, value in zip(names, beyond["x"], strict=True))
    assert slicing.labels(pl.DataFrame({"y": [1]})) == {}


def test_nearly_constant_columns_and_ties_leave_no_empty_range() -> None:
    rng = np.random.default_rng(1)
    rain = np.where(rng.random(500) < 0.9, 0.0, rng.lognormal(size=500))
    names = labels(rain)
    assert len(set(names)) == 2
    assert all(holds(name, value) for name, value in zip(names, rain, strict=True))


def test_dates_are_months_or_years_and_times_hours() -> None:
    start = dt.date(2020, 1, 15)
    year = [start + dt.timedelta(days=day) for day in range(360)]
    assert set(labels(year)) >= {"2020-01", "2020-12"}
    assert set(labels([start + dt.timedelta(days=30 * day) for day in range(100)])) >= {"2020", "2027"}
    assert labels([dt.time(7, 30), dt.time(23, 59)]) == ["07:00", "23:00"]


def test_of_many_groups_the_largest_stay_and_the_others_are_one() -> None:
    many = [f"v{value}" for value in range(4_968) for _ in range(2)]
    large = [f"large {value}" for value in range(32) for _ in range(40)]
    names = labels([*many, *large])
    assert len(set(names)) == 33
    assert names.count("other (4,968 groups)") == len(many)
    frame = pl.DataFrame({"x": [*many, *large]})
    assert Slicing.of(frame, ["x"]).notes == [
        "slices by x: 5,000 groups; the 32 largest are shown, the others together as 'other (4,968 groups)'"
    ]


def test_one_group_is_not_told_as_several() -> None:
    slicing = Slicing.of(pl.DataFrame({"x": [*"a" * 40, *map(str, range(32))]}), ["x"])
    assert slicing.notes == ["slices by x: 33 groups; the largest is shown, the others together as 'other (32 groups)'"]
    slicing = Slicing.of(pl.DataFrame({"x": [f"v{value % 33}" for value in range(33 * 20)]}), ["x"])
    assert slicing.notes[0].endswith("the 32 largest are shown, the others together as 'other (1 group)'")


def test_groups_that_a_test_set_alone_has_are_kept_if_few_and_gathered_if_many() -> None:
    slicing = Slicing.of(pl.DataFrame({"x": ["a", "b"] * 50}), ["x"])
    few = slicing.labels(pl.DataFrame({"x": ["a", "mars"] * 50}))["x"]
    assert set(few) == {"a", "mars"}
    many = slicing.labels(pl.DataFrame({"x": [*["a"] * 9, *map(str, range(100))]}))["x"]
    assert set(many) == {"a", "other (100 groups, only here)"}


def test_the_groups_do_not_depend_on_the_order_of_rows() -> None:
    rng = np.random.default_rng(2)
    frame = pl.DataFrame({"x": rng.normal(size=999), "t": rng.integers(0, 200, 999).astype(str), "k": range(999)})
    turned = frame.sample(fraction=1.0, shuffle=True, seed=1)
    one, other = (Slicing.of(each, ["x", "t"]) for each in (frame, turned))
    for name in ("x", "t"):
        assert one.labels(frame)[name][turned["k"]].tolist() == other.labels(turned)[name].tolist()


def test_combinations_are_groups_too() -> None:
    frame = pl.DataFrame({"a": ["x", "y"] * 4, "m": [1, 1, 2, 2] * 2})
    assert set(Slicing.of(frame, ["a+m"]).labels(frame)["a+m"]) == {"x, 1", "y, 1", "x, 2", "y, 2"}


def test_combinations_stay_apart_whatever_their_texts_are() -> None:
    frame = pl.DataFrame({"a": ["x, y", "x", 'x"', 'x", "z', "x"], "b": ["z", "y, z", "z", "z", None]})
    assert Slicing.of(frame, ["a+b"]).labels(frame)["a+b"].tolist() == [
        '"x, y", z', 'x, "y, z"', '"x""", z', '"x"", ""z", z', "x, (missing)",
    ]  # fmt: skip


def test_missing_values_are_not_the_text_that_names_them() -> None:
    assert labels([None, "(missing)", '"(missing)"', "x, y"]) == [
        "(missing)", '"(missing)"', '"""(missing)"""', "x, y",
    ]  # fmt: skip
    frame = pl.DataFrame({"a": [None, "(missing)", '"(missing)"'], "b": [1, 1, 1]})
    assert len(set(Slicing.of(frame, ["a+b"]).labels(frame)["a+b"].tolist())) == 3


AWKWARD = st.text(alphabet=', "x', max_size=4)


@given(st.lists(st.tuples(AWKWARD, AWKWARD), min_size=1, max_size=12))
@example([("x, x", "x"), ("x", "x, x")])
def test_different_combinations_are_different_groups(pairs: list[tuple[str, str]]) -> None:
    frame = pl.DataFrame(pairs, schema={"a": pl.String, "b": pl.String}, orient="row")
    found = Slicing.of(frame, ["a+b"]).labels(frame)["a+b"].tolist()
    assert len(set(found)) == len(set(pairs)) == keys.key(frame, "a+b").n_unique()


def test_numbers_that_name_clusters_are_no_amounts() -> None:
    frame = pl.DataFrame({"station": [*range(1_000, 1_040)] * 30})
    assert len(set(Slicing.of(frame, ["station"]).labels(frame)["station"])) == 5
    names = Slicing.of(frame, ["station"], labels=["station"]).labels(frame)["station"]
    assert len(set(names)) == 33
    assert {"1000", "other (8 groups)"} <= set(names)


def test_what_cannot_be_grouped_is_refused() -> None:
    frame = pl.DataFrame({"x": [[1], [2]], "y": [dt.timedelta(1), None]})
    with pytest.raises(TableError, match="'x': expected text, numbers, dates, or true and false, found List") as caught:
        Slicing.of(frame, ["x", "y"])
    assert len(caught.value.problems) == 2


def test_train_groups_that_are_never_evaluated_are_named() -> None:
    slicing = Slicing.of(pl.DataFrame({"x": ["a", "b"] * 9, "d": [dt.date(2021, 1, 1)] * 18}), ["x", "d"])
    train = pl.DataFrame({"x": ["a", "gone", "gone"], "d": [dt.date(2020, 1, 1)] * 3})
    assert slicing.only_in(train) == ["slices by x: in train, but in no evaluated record: gone (2)"]


def test_slices_that_vanish_from_a_split_are_named() -> None:
    rng = np.random.default_rng(3)
    splits = []
    for split, groups in (
        ("dev", ["north"] * 40 + ["south"] * 40),
        ("eval", ["north"] * 40 + ["polar"] * 36 + ["south"] * 4),
    ):
        system = scored.given("ours", rng.random(80), {"uncertainty": rng.random(80)})
        by = {"region": np.array(groups), "one": np.full(80, "same")}
        splits.append((Records(80, split, slices=by), [system]))
    notes = assessment.build(splits, FEW).warnings
    assert "dev: groups of region with fewer than 10 records are not shown: polar (0)" in notes
    assert "eval: groups of region with fewer than 10 records are not shown: south (4)" in notes
    assert "dev: scores are not shown by one: fewer than two groups have 10 records: same (80)" in notes


def test_five_thousand_values_are_no_five_thousand_slices() -> None:
    rng = np.random.default_rng(4)
    names = np.repeat(np.arange(500), 12).astype(str)
    with pytest.warns(ShiftbenchWarning, match="500 groups; none has 20 records"):
        report = assess(rng.random(6_000), rng.random(6_000), slices={"shop": names}, options=FEW)
    assert report.slices == ()
    assert Gathering.of(names.astype(str)).others == 500
