"""The engine: partitions equal a plain row-by-row reading of the rules, and say what emptied them."""

from __future__ import annotations

import dataclasses
import datetime
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PartitionError, TableError, UnknownNameError
from shiftbench.partition import IN_DOMAIN, PARTITIONS, SHIFTED, Partition, Rules, partition
from shiftbench.partition.hashing import keyed_hash
from shiftbench.partition.sampling import divided

DAY = datetime.date(2020, 1, 1)
CLIMATES = ["tropical", "dry", "mild", "snow", "polar", "other"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(11)
    records = 3_000
    return pl.DataFrame(
        {
            "id": [f"r{number:05}" for number in rng.permutation(records)],
            "date": [DAY + datetime.timedelta(days=int(day)) for day in rng.integers(0, 400, records)],
            "climate": rng.choice(CLIMATES, records),
            "city": [f"c{number:02}" for number in rng.integers(0, 60, records)],
            "wind": np.where(rng.random(records) < 0.05, np.nan, rng.gamma(3, 5, records)),
        }
    )


def by_id(found: Partition) -> dict[str, str | None]:
    return dict(zip(found.ids, found.assignment, strict=True))


def places(ids: pl.Series, seed: int) -> dict[str, float]:
    """Where the hash of each id lies in its range, 0 … 1."""
    return dict(zip(ids, (keyed_hash(ids, seed=seed) / 2**64).tolist(), strict=True))


def test_time_and_groups_equal_a_row_by_row_reading(table: pl.DataFrame) -> None:
    rules = Rules(
        id="id", seed=3, time="date", fractions="60/10/15/15", eval_first=True, group="climate",  # type: ignore[arg-type]
        in_domain=("tropical", "dry", "mild"), shifted_dev=("snow",), shifted_eval=("snow", "polar"),
    )  # fmt: skip
    found = partition(table, rules)
    edges = {
        name: tuple(edge and datetime.date.fromisoformat(edge) for edge in window)
        for name, window in found.windows.items()
    }
    groups = {"in_domain": rules.in_domain, "dev_out": rules.shifted_dev, "eval_out": rules.shifted_eval}
    drawn = places(table["id"], 3)
    expected: dict[str, str | None] = {}
    for row in table.iter_rows(named=True):
        fitting = [
            name
            for name, (start, end) in edges.items()
            if (start is None or row["date"] >= start)
            and (end is None or row["date"] < end)
            and row["climate"] in groups[name]
        ]
        name = fitting[0] if fitting else None
        if name == "in_domain":
            place = drawn[row["id"]]
            name = "dev_in" if place < 0.1 else "eval_in" if place < 0.3 else "train"
        expected[row["id"]] = name
    assert by_id(found) == expected
    assert sum(found.unused.values()) == sum(name is None for name in expected.values())
    assert edges["eval_out"][1] == edges["dev_out"][0]


def test_conditions_and_ranges_equal_a_row_by_row_reading(table: pl.DataFrame) -> None:
    rules = Rules(id="id", where={"shifted": "wind >= 19"}, ranges={"dev_out": {"wind": (None, 26.0)}}, dev_share=0.3)
    found, drawn = by_id(partition(table, rules)), places(table["id"], 0)
    for row in table.iter_rows(named=True):
        place, wind, name = drawn[row["id"]], row["wind"], found[row["id"]]
        if np.isnan(wind):
            assert name is None
        elif wind < 19:
            assert name == ("dev_in" if place < 0.1 else "eval_in" if place < 0.3 else "train")
        elif wind < 26:
            assert name == ("dev_out" if place < 0.3 else "eval_out")
        else:
            assert name == "eval_out"


ALL_RULES: list[dict[str, Any]] = [
    {},
    {"time": "date"},
    {"time": "date", "gap": "30d", "group": "climate", "shifted": ["snow"]},
    {"time": "date", "windows": {"dev_out": ["2020-09-01", "2020-11-01"], "eval_out": ["2020-11-01", ""]}},
    {"group": "climate", "in_domain": ["dry"]},
    {"group": "climate", "shifted": ["snow"], "by": "city"},
    {
        "group": "climate",
        "shifted_dev": ["snow"],
        "shifted_eval": ["snow", "polar"],
        "sizes": {"dev_in": 100, "dev_out": 50},
    },
    {"where": {"shifted": "wind >= 19", "in_domain": "wind < 10"}, "at_most": {"train": 200}},
    {"where": {"train": "climate == 'dry'", "dev_in": "climate == 'mild'", "eval_out": "climate == 'snow'"}},
    {"time": "date", "fractions": [0.5, 0.0, 0.0, 0.5], "dev_share": 0.0},
]


@pytest.mark.parametrize("settings", ALL_RULES)
def test_row_order_and_other_columns_never_move_a_record(table: pl.DataFrame, settings: dict[str, Any]) -> None:
    rules = Rules.from_settings({"id": "id", **settings})
    shuffled = table.sample(fraction=1.0, shuffle=True, seed=5).with_columns(noise=pl.lit(1.0))
    assert by_id(partition(table, rules)) == by_id(partition(shuffled, rules))


@pytest.mark.parametrize("settings", ALL_RULES)
def test_partitions_and_unused_records_sum_to_the_table(table: pl.DataFrame, settings: dict[str, Any]) -> None:
    found = partition(table, Rules.from_settings({"id": "id", **settings}))
    assert sum(found.counts.values()) + sum(found.unused.values()) == len(table)
    assert found.assignment.null_count() == sum(found.unused.values())
    frames = pl.concat([found.frame(name) for name in PARTITIONS])
    assert frames["id"].n_unique() == len(frames) == sum(found.counts.values())
    assert all(found.ids_of(name).to_list() == found.frame(name)["id"].to_list() for name in PARTITIONS)


def test_another_seed_draws_other_records_and_leaves_the_shifted_ones(table: pl.DataFrame) -> None:
    rules = {"id": "id", "time": "date", "group": "climate", "shifted": ["snow"]}
    one, two = (partition(table, Rules.from_settings({**rules, "seed": seed})) for seed in (0, 1))
    for name in SHIFTED:
        assert one.ids_of(name).equals(two.ids_of(name))
    assert not one.ids_of("dev_in").equals(two.ids_of("dev_in"))


def test_without_shift_rules_there_are_three_partitions(table: pl.DataFrame) -> None:
    counts = partition(table, Rules(id="id")).counts
    assert counts["dev_out"] == counts["eval_out"] == 0
    for name, expected in (("train", 2_100), ("dev_in", 300), ("eval_in", 600)):
        assert abs(counts[name] - expected) < 100


def test_without_an_id_column_the_row_numbers_are_drawn(table: pl.DataFrame) -> None:
    numbered = table.select(id=pl.int_range(1, len(table) + 1).cast(pl.String))
    found = by_id(partition(table, Rules(seed=9)))
    assert {str(one): name for one, name in found.items()} == by_id(partition(numbered, Rules(id="id", seed=9)))


@pytest.mark.parametrize("dtype", [pl.Int64, pl.Int16, pl.UInt32])
def test_ids_that_are_numbers_stay_numbers_and_are_drawn_as_their_text(dtype: Any) -> None:
    numbers = pl.Series("id", np.random.default_rng(3).permutation(3_000), dtype=dtype)
    rules = Rules(id="id", seed=2, sizes={"dev_in": 40}, at_most={"eval_in": 30})
    found, as_text = (partition(ids.to_frame(), rules) for ids in (numbers, numbers.cast(pl.String)))
    assert found.ids.dtype == pl.Int64
    assert found.assignment.equals(as_text.assignment)
    assert found.ids_of("eval_in").cast(pl.String).equals(as_text.ids_of("eval_in"))


def test_numbers_beyond_64_bits_are_ids_as_text() -> None:
    frame = pl.DataFrame({"id": pl.Series([2**64 - 1 - number for number in range(300)], dtype=pl.UInt64)})
    assert partition(frame, Rules(id="id")).ids.to_list() == [str(2**64 - 1 - number) for number in range(300)]


@pytest.mark.parametrize(
    ("ids", "message"),
    [([1, 2, 3, 2], r"1 id more than once: 2 in rows 2, 4"), ([1, None, 3], "found none in 1 of 3 rows, first row 2")],
)
def test_numbers_that_are_missing_or_repeated_are_refused(ids: list[int | None], message: str) -> None:
    with pytest.raises(TableError, match=message):
        partition(pl.DataFrame({"id": ids}), Rules(id="id"))


def test_a_table_in_chunks_is_partitioned_as_one_piece(table: pl.DataFrame) -> None:
    rules = Rules(id="id", time="date", gap="20d", group="climate", shifted=("snow",), at_most={"dev_out": 20})
    chunks = pl.concat([table[:7], table[7:1_500], table[1_500:]], rechunk=False)
    assert chunks["date"].n_chunks() == 3
    assert by_id(partition(chunks, rules)) == by_id(partition(table, rules))


def test_many_listed_groups_are_looked_up_as_few_are_compared(table: pl.DataFrame) -> None:
    shifted = tuple(f"c{number:02}" for number in range(20))
    few = table.with_columns(side=pl.when(pl.col("city").is_in(shifted)).then(pl.lit("out")).otherwise(pl.lit("in")))
    many = partition(table, Rules(id="id", group="city", shifted=shifted))
    assert by_id(many) == by_id(partition(few, Rules(id="id", group="side", shifted=("out",))))


def test_records_that_are_added_move_none_of_the_old_ones(table: pl.DataFrame) -> None:
    rules = Rules(id="id", group="climate", shifted=("snow",))
    before, after = by_id(partition(table.head(2_000), rules)), by_id(partition(table, rules))
    assert all(after[one] == name for one, name in before.items())


def test_equal_times_never_come_apart(table: pl.DataFrame) -> None:
    months = table.with_columns(pl.col("date").dt.truncate("1mo"))
    found = partition(months, Rules(id="id", time="date"))
    sides = {name: set(found.frame(name)["date"]) for name in PARTITIONS}
    in_domain = set().union(*(sides[name] for name in IN_DOMAIN))
    assert not in_domain & sides["dev_out"]
    assert not sides["dev_out"] & sides["eval_out"]
    assert max(in_domain) < min(sides["dev_out"]) <= max(sides["dev_out"]) < min(sides["eval_out"])


def test_the_gap_is_kept(table: pl.DataFrame) -> None:
    rules = Rules(id="id", time="date", fractions=(0.6, 0.0, 0.2, 0.2), gap="45d")
    found = partition(table, rules)
    last = max(found.frame(name)["date"].max() for name in IN_DOMAIN)
    assert found.frame("dev_out")["date"].min() - last >= datetime.timedelta(days=45)
    assert found.unused["time (date) fits no partition"] > 0


def test_sizes_are_exact_and_train_takes_the_surplus(table: pl.DataFrame) -> None:
    """As in the published weather split, where surplus dev_in records went to train."""
    rules = Rules(
        id="id", group="climate", shifted=("snow",), sizes={"dev_in": 50, "eval_in": 561}, at_most={"dev_out": 40}
    )
    found = partition(table, rules)
    population = int((table["climate"] != "snow").sum())
    assert [found.counts[name] for name in PARTITIONS[:4]] == [population - 611, 50, 40, 561]
    assert found.unused == {
        "more than dev_out was to have": int((table["climate"] == "snow").sum()) - 40 - found.counts["eval_out"]
    }


def test_exact_shares_are_rounded_down_and_surplus_goes_to_train() -> None:
    """The published weather split: 3,740,695 in-domain records, and 798 of dev_in too many."""
    shares = {"train": 0.83642, "dev_in": 0.01358, "eval_in": 0.15}
    frame = pl.select(id=pl.int_range(1, 3_740_696))
    rules = Rules.from_settings({"id": "id", "shares": shares, "exact": True})
    assert partition(frame, rules).counts == {
        "train": 3_128_792, "dev_in": 50_798, "eval_in": 561_105, "dev_out": 0, "eval_out": 0
    }  # fmt: skip
    limited = partition(frame, dataclasses.replace(rules, at_most={"dev_in": 50_000}))
    assert limited.counts == {"train": 3_129_590, "dev_in": 50_000, "eval_in": 561_105, "dev_out": 0, "eval_out": 0}
    assert limited.unused == {}


@pytest.mark.parametrize(
    "shares", ["70/10/20", "33.3/33.3/33.4", "57.3/14.9/27.8", "100/0/0", "90/10/0", "0.29/0.57/0.14"]
)
@pytest.mark.parametrize("records", [100, 1_000, 2_900])
def test_exact_shares_are_those_written_not_their_floating_neighbours(shares: str, records: int) -> None:
    rules = Rules.from_settings({"shares": shares, "exact": True, "where": {"dev_out": "x < 0"}})
    frame = pl.DataFrame({"x": np.r_[np.zeros(records), [-1.0]]})
    written = [Fraction(share) for share in shares.split("/")]
    expected = [int(share / sum(written) * records) for share in written]
    expected[max(place for place in range(3) if written[place])] += records - sum(expected)
    counts = partition(frame, rules).counts
    assert [counts[name] for name in ("train", "dev_in", "eval_in")] == expected


def test_exact_shares_take_the_smallest_hashes_first_dev_then_eval_then_train(table: pl.DataFrame) -> None:
    found = partition(table, Rules(id="id", seed=6, exact=True, at_most={"dev_in": 100, "eval_in": 250}))
    drawn = places(table["id"], 6)
    ordered = sorted(drawn, key=lambda one: drawn[one])
    assert set(found.ids_of("dev_in")) == set(ordered[:100])
    assert set(found.ids_of("eval_in")) == set(ordered[300:550])
    assert set(found.ids_of("train")) == {*ordered[100:300], *ordered[550:]}


def test_records_that_a_condition_gave_to_dev_in_never_go_to_train(table: pl.DataFrame) -> None:
    rules = Rules(id="id", exact=True, where={"dev_in": "climate == 'dry'"}, at_most={"dev_in": 50, "eval_in": 60})
    found = partition(table, rules)
    assert "dry" not in set(found.frame("train")["climate"])
    assert found.counts["eval_in"] == 60
    assert found.unused == {"more than dev_in was to have": int((table["climate"] == "dry").sum()) - 50}


def test_a_size_beside_shares_leaves_the_others_their_share(table: pl.DataFrame) -> None:
    counts = partition(table, Rules(id="id", sizes={"dev_in": 7})).counts
    assert (counts["dev_in"], counts["eval_in"], counts["train"]) == (7, 600, 2_393)
    counts = partition(table, Rules(id="id", sizes={"train": 100, "dev_in": 7, "eval_in": 8})).counts
    assert (counts["dev_in"], counts["eval_in"], counts["train"]) == (7, 8, 100)


def test_the_records_of_a_size_have_the_smallest_hashes(table: pl.DataFrame) -> None:
    found = partition(table, Rules(id="id", seed=2, sizes={"dev_in": 25}))
    drawn = places(table["id"], 2)
    ordered = sorted(drawn, key=lambda one: drawn[one])
    assert set(found.ids_of("dev_in")) == set(ordered[:25])


def test_groups_stay_whole_and_shares_are_met_nearly(table: pl.DataFrame) -> None:
    rules = Rules(id="id", by="city", group="climate", shifted=("snow",))
    found = partition(table, rules)
    for names in (IN_DOMAIN, SHIFTED):
        cities = [set(found.frame(name)["city"]) for name in names]
        assert sum(map(len, cities)) == len(set().union(*cities)) == 60
    in_domain = sum(found.counts[name] for name in IN_DOMAIN)
    assert abs(found.counts["dev_in"] / in_domain - 0.1) < 0.03
    assert abs(found.counts["eval_in"] / in_domain - 0.2) < 0.03


def test_few_large_groups_are_divided_as_they_allow_with_a_warning() -> None:
    frame = pl.DataFrame({"city": ["a"] * 700 + ["b"] * 300})
    found = partition(frame, Rules(by="city", shares="50/0/50"))  # type: ignore[arg-type]
    assert set(found.frame("train")["city"]).isdisjoint(found.frame("eval_in")["city"])
    assert any("whole city" in warning for warning in found.warnings)


def test_named_corpora_become_partitions_without_sampling() -> None:
    corpora = ["news", "test19", "voices", "forum", "chat", "spare"]
    frame = pl.DataFrame({"corpus": corpora * 40})
    where = {
        "train": "corpus == 'news'", "dev_in": "corpus == 'test19'", "eval_in": "corpus == 'voices'",
        "dev_out": "corpus == 'forum'", "eval_out": "corpus == 'chat'",
    }  # fmt: skip
    found = partition(frame, Rules(where=where))
    assert found.counts == dict.fromkeys(PARTITIONS, 40)
    assert set(found.frame("eval_in")["corpus"]) == {"voices"}
    assert found.unused == {"in-domain, but no condition of train, dev_in or eval_in fits": 40}


def test_two_group_columns_are_expressed_by_conditions() -> None:
    """The published motion split: place and precipitation; in-domain without precipitation, one kind unused."""
    frame = pl.DataFrame({"place": ["m", "s", "a"] * 120, "rain": (["no"] * 3 + ["rain"] * 3 + ["sleet"] * 3) * 40})
    where = {"in_domain": "rain == 'no'", "dev_out": "rain != 'sleet'"}
    found = partition(
        frame, Rules(group="place", in_domain=("m",), shifted_dev=("s",), shifted_eval=("a",), where=where)
    )
    cells = {name: set(found.frame(name).rows()) for name in PARTITIONS}
    assert cells["train"] == cells["dev_in"] == cells["eval_in"] == {("m", "no")}
    assert cells["dev_out"] == {("s", "no"), ("s", "rain")}
    assert cells["eval_out"] == {("a", "no"), ("a", "rain"), ("a", "sleet")}


def test_numbers_serve_as_time() -> None:
    frame = pl.DataFrame({"minutes": np.arange(1_000) * 0.5})
    found = partition(
        frame, Rules(time="minutes", windows={"dev_out": (300.0, 400.0), "eval_out": (400.0, None)}, gap=20)
    )
    assert max(found.frame(name)["minutes"].max() for name in IN_DOMAIN) == 299.5
    assert found.frame("dev_out")["minutes"].min() == 319.5


def test_reasons_name_the_axes_that_disagree(table: pl.DataFrame) -> None:
    found = partition(table, Rules(id="id", time="date", group="climate", in_domain=("dry",), shifted=("snow",)))
    assert set(found.unused) == {
        "time (date) fits no partition",
        "group (climate) fits no partition",
        "time (date) fits in_domain, but group (climate) fits dev_out or eval_out",
        "time (date) fits dev_out, but group (climate) fits in_domain",
        "time (date) fits eval_out, but group (climate) fits in_domain",
    }


def test_a_small_partition_is_warned_of(table: pl.DataFrame) -> None:
    found = partition(table.head(100), Rules(id="id"))
    assert any(warning.startswith("dev_in has only") for warning in found.warnings)


def test_windows_that_many_equal_times_move_are_warned_of() -> None:
    frame = pl.DataFrame({"year": [1] * 400 + [2] * 400 + [3] * 400})
    found = partition(frame, Rules(time="year", fractions=(0.5, 0.0, 0.25, 0.25), dev_share=0.0))
    assert any("in_domain: its window holds 33.3%" in warning for warning in found.warnings)


def test_integer_and_categorical_groups_work(table: pl.DataFrame) -> None:
    coded = table.with_columns(
        zone=pl.col("climate").replace_strict(CLIMATES, range(6)), kind=pl.col("climate").cast(pl.Categorical)
    )
    expected = by_id(partition(table, Rules(id="id", group="climate", shifted=("snow",))))
    assert by_id(partition(coded, Rules(id="id", group="zone", shifted=("3",)))) == expected
    assert by_id(partition(coded, Rules(id="id", group="kind", shifted=("snow",)))) == expected


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time": "dates"}, r"column 'dates'.*Did you mean 'date'"),
        ({"group": "climate", "shifted": ["snwo", "dry"]}, r"value of climate 'snwo'.*Did you mean 'snow'"),
        ({"time": "city"}, "time column 'city': expected dates"),
        ({"where": {"dev_out": "wnd > 3"}}, "dev_out: Unknown column 'wnd'"),
        ({"where": {"dev_out": "wind > 'a'"}}, "dev_out: condition"),
        ({"where": {"shifted": "climate = snow"}},
         r'^--shifted-if \(where.shifted\): condition .* Compare with ==: climate == "snow"$'),
        ({"ranges": {"shifted": {"wnd": [3, 9]}}}, "^ranges.shifted: Unknown column 'wnd'.* Known: .*[^\n]$"),
        ({"where": {"train": "city > 3"}}, "train: condition"),
        ({"time": "date", "gap": 7}, "gap: expected a duration"),
        ({"where": {"dev_out": "wind > 1000"}}, "dev_out: .* found none: of 3,000 records condition removed 3,000"),
        ({"group": "climate", "in_domain": CLIMATES}, "dev_out: expected records, found none"),
        ({"group": "climate", "shifted": CLIMATES}, r"train: expected records.* group \(climate\) removed 3,000"),
        ({"time": "date", "gap": "500d"},
         r"dev_out: expected records.* time \(date\), whose window is from 20.* and before 20.*, removed 3,000\. "
         r"Move the windows with --shifted-from or --fractions, or in the settings, shorten --gap\.\n"),
        ({"time": "date", "shifted_from": "2100-01-01", "group": "climate", "shifted": ["snow"]},
         r"time \(date\), whose window is from 2100-01-01, removed 3,000, .*; or leave out --time, since the other"),
        ({"where": {"train": "wind > 1000"}}, "but its share or condition took none"),
        ({"where": {"in_domain": "wind > 3", "dev_out": "wind > 9"}}, "keep in-domain and shifted records apart"),
        ({"where": {"train": "wind > 3", "dev_in": "wind > 9"}}, "exclude each other"),
        ({"sizes": {"train": 2_999, "dev_in": 1, "eval_in": 1}}, r"expected at most 3,000 .* found 3,001"),
        ({"group": "climate", "shifted": ["snow"], "sizes": {"dev_out": 2_000}}, "sizes.dev_out: expected at most"),
    ],
)  # fmt: skip
def test_rules_that_do_not_fit_the_table_are_refused(
    table: pl.DataFrame, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(PartitionError, match=message):
        partition(table, Rules.from_settings({"id": "id", **settings}))


def test_every_empty_partition_is_named_at_once(table: pl.DataFrame) -> None:
    rules = Rules(
        id="id", time="date", windows={"dev_out": ("2030-01-01", "2031-01-01"), "eval_out": ("2031-01-01", None)}
    )
    with pytest.raises(PartitionError, match="dev_out") as caught:
        partition(table, rules)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["dev_out", "eval_out"]


def test_missing_values_are_counted_for_every_column_at_once(table: pl.DataFrame) -> None:
    holed = table.with_columns(
        pl.when(pl.int_range(pl.len()) >= 7).then("date"), pl.when(pl.int_range(pl.len()) >= 4).then("climate")
    )
    with pytest.raises(PartitionError, match=r"'date': .*found 7 of 3,000[\s\S]*'climate': .*found 4 of 3,000"):
        partition(holed, Rules(id="id", time="date", group="climate", shifted=("snow",)))
    with pytest.raises(PartitionError, match=r"'wind': .*found \d+ of 3,000"):
        partition(table, Rules(id="id", time="wind"))


@pytest.mark.parametrize(
    ("ids", "message"), [(["a", "a", "b"], "more than once"), (["a", None, "b"], "expected an id")]
)
def test_ids_that_are_missing_or_repeated_are_refused(ids: list[str | None], message: str) -> None:
    with pytest.raises(TableError, match=message):
        partition(pl.DataFrame({"id": ids}), Rules(id="id"))


def test_an_empty_table_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(PartitionError, match="at least one record"):
        partition(table.clear(), Rules(id="id"))


def test_a_misspelt_partition_is_refused(table: pl.DataFrame) -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'dev_in'"):
        partition(table, Rules(id="id")).frame("dev_inn")


def test_shares_of_the_hash_have_no_gaps_and_no_overlaps() -> None:
    hashes = np.linspace(0, 2**64 - 2**11, 1_000).astype(np.uint64)
    drawn = divided(hashes, {"a": 0.1, "b": 0.2, "c": 0.7})
    assert {name: len(rows) for name, rows in drawn.items()} == {"a": 100, "b": 200, "c": 700}
    assert np.array_equal(np.concatenate(list(drawn.values())), np.arange(1_000))


@pytest.mark.needs_shared
def test_the_weather_table_is_divided_into_five_disjoint_partitions(shared: Any) -> None:
    frame = pl.read_csv(
        shared / "data/weather/nws_next_day.csv.gz", columns=["id", "valid_date", "climate"], try_parse_dates=True
    )
    found = partition(frame, Rules(id="id", time="valid_date", group="climate", shifted=("snow",)))
    assert found.windows["in_domain"] == (None, "2021-11-07")
    assert found.counts == {"train": 21_679, "dev_in": 3_058, "dev_out": 3_319, "eval_in": 6_215, "eval_out": 3_298}
