"""The canonical partition and splits A to D: the published sizes, literal twins, the published tool's differences."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PartitionError, TableError, UnknownNameError
from shiftbench.partition import PARTITIONS, partition, read_manifest, verify, write_manifest
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.climate import Grid, climates
from shiftbench.tracks.weather.partitions import EXPERIMENTS, added_rows, canonical_rules, official, split

GOLDEN = Path(__file__).parents[2] / "golden" / "weather"
IN_DOMAIN = ("tropical", "dry", "mild temperate")


def records(rng: np.random.Generator, rows: int = 9_000) -> pl.DataFrame:
    """Weather records in no order, 12 to an hour, of all five climates and one of none."""
    return pl.DataFrame(
        {
            "id": rng.permutation(rows) + 1,
            "fact_time": rng.permutation(rows) // 12 * 3_600,
            "fact_temperature": rng.normal(10, 9, rows),
            "fact_cwsm_class": rng.choice([0, 10, 11, 20, 21, None], rows, p=[0.3, 0.2, 0.1, 0.2, 0.15, 0.05]).tolist(),
            "climate": rng.choice([*schema.CLIMATES, "other"], rows, p=[0.1, 0.2, 0.3, 0.3, 0.08, 0.02]),
            "gfs_pressure": rng.normal(750, 20, rows).astype("f4"),
        }
    )


def ids_of(found, name: str) -> set:
    return set(found.ids_of(name))


def population(frame: pl.DataFrame, climate: tuple[str, ...], low: float, high: float) -> set:
    """Ids of the records of some climates in one stretch of time."""
    return {
        row["id"] for row in frame.iter_rows(named=True) if row["climate"] in climate and low <= row["fact_time"] < high
    }


@pytest.fixture(scope="module")
def published_sizes() -> pl.DataFrame:
    """Ten million rows, in each block of time the published number of records; classes 12 and 22 in the gap only."""
    blocks = (
        (6_000_000, {"tropical": 497_357, "dry": 824_732, "mild temperate": 2_418_606, "snow": 2_259_305}, (0, 10, 21)),
        (1_000_000, {"dry": 500_000, "snow": 500_000}, (0, 12, 22, 21)),
        (1_500_000, {"snow": 525_967, "polar": 50_659, "mild temperate": 923_374}, (0, 10, 21)),
        (1_500_000, {"snow": 524_896, "polar": 75_104, "mild temperate": 900_000}, (0, 10)),
    )
    climate = pl.Enum(schema.CLIMATES)
    kinds, classes = [], []
    for rows, counts, codes in blocks:
        assert sum(counts.values()) == rows
        kinds.append(np.repeat([schema.CLIMATES.index(name) for name in counts], list(counts.values())).astype("u1"))
        classes.append(np.resize(codes, rows))
    return pl.DataFrame(
        {
            "fact_time": np.arange(10_000_000) // 8 * 3 + schema.START,
            "climate": pl.Series(np.concatenate(kinds)).cat.to(climate),
            "fact_cwsm_class": np.concatenate(classes),
        }
    )


def test_a_table_with_the_published_blocks_has_the_published_partitions(published_sizes):
    found = split(published_sizes)
    assert found.counts == {
        "train": 3_129_592, "dev_in": 50_000, "dev_out": 50_000, "eval_in": 561_105, "eval_out": 576_626,
    }  # fmt: skip
    assert official(found.counts)
    assert found.partition.counts["train"] == 3_129_590
    assert found.added["fact_cwsm_class"].to_list() == [12, 22]
    held = found.partition.frame("eval_out")["climate"].value_counts()
    assert dict(held.iter_rows()) == {"snow": 525_967, "polar": 50_659}


def test_only_the_published_counts_are_official():
    counts = {name: published["total"] for name, published in schema.PARTITIONS.items()}
    assert official(counts)
    assert not official(counts | {"dev_in": 49_999})
    assert not official({"train": counts["train"]})


def test_each_partition_holds_its_climates_in_its_stretch_of_time(rng):
    frame = records(rng)
    found = split(frame).partition
    ordered = np.sort(frame["fact_time"])
    first, second, third = ordered[5_400], ordered[6_300], ordered[7_650]  # all at the start of an hour
    inside = ids_of(found, "train") | ids_of(found, "dev_in") | ids_of(found, "eval_in")
    assert inside == population(frame, IN_DOMAIN, -np.inf, first)
    assert ids_of(found, "eval_out") == population(frame, ("snow", "polar"), second, third)
    assert ids_of(found, "dev_out") == population(frame, ("snow",), third, np.inf)
    n = len(inside)
    assert found.counts["train"] == n * 83_642 // 100_000
    assert found.counts["dev_in"] == n * 1_358 // 100_000
    assert found.counts["eval_in"] == n - found.counts["train"] - found.counts["dev_in"]


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_the_order_of_rows_and_the_other_columns_never_matter(rng, experiment):
    frame = records(rng)
    shuffled = frame.select(*reversed(frame.columns)).sample(fraction=1, shuffle=True, seed=3)
    one, other = split(frame, experiment).partition, split(shuffled, experiment).partition
    assert all(ids_of(one, name) == ids_of(other, name) for name in PARTITIONS)


@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_an_experiment_adds_its_pools_to_train_and_dev_in_and_leaves_the_rest(rng, experiment):
    frame = records(rng)
    base, found = split(frame).partition, split(frame, experiment)
    windows = base.windows
    end = windows["in_domain"][1]
    pools = {
        "xclim": population(frame, ("snow", "polar"), -np.inf, end),
        "xtime": population(frame, IN_DOMAIN, *windows["eval_out"])
        | population(frame, IN_DOMAIN, windows["dev_out"][0], np.inf),
    }
    wanted = set().union(*(pools[pool] for pool in EXPERIMENTS[experiment]))
    for name, share in (("train", 83_642), ("dev_in", 1_358)):
        new = ids_of(found.partition, name) - ids_of(base, name)
        assert ids_of(base, name) <= ids_of(found.partition, name)
        assert new <= wanted
        piece = "train" if name == "train" else "dev"
        sizes = {pool: len(new & pools[pool]) for pool in EXPERIMENTS[experiment]}
        assert sizes == {pool: found.pieces[f"{piece}_{pool}"] for pool in EXPERIMENTS[experiment]}
        assert sizes == {pool: len(pools[pool]) * share // 100_000 for pool in EXPERIMENTS[experiment]}
    for name in ("eval_in", "dev_out", "eval_out"):
        assert ids_of(found.partition, name) == ids_of(base, name)
    assert sum(found.partition.counts.values()) + sum(found.partition.unused.values()) == frame.height


def test_what_d_adds_is_what_b_and_c_add(rng):
    frame = records(rng)
    b, c, d = (split(frame, experiment) for experiment in "BCD")
    assert d.pieces == {**b.pieces, **c.pieces}
    assert ids_of(d.partition, "train") == ids_of(b.partition, "train") | ids_of(c.partition, "train")


def test_the_surplus_of_a_pool_over_50_000_goes_to_train():
    rows = 10_000_000
    frame = pl.DataFrame(
        {"fact_time": np.arange(rows), "climate": pl.Series(np.where(np.arange(rows) % 500 < 1, 1, 3)).cast(pl.UInt8)}
    ).with_columns(climate=pl.col("climate").cat.to(pl.Enum(schema.CLIMATES)), fact_cwsm_class=pl.lit(0))
    rules = canonical_rules(in_domain=("dry",), shifted_eval=("snow",))
    found = split(frame, "B", rules=rules)
    pool = 6_000_000 - 12_000
    assert found.pieces == {
        "train_xclim": pool * 83_642 // 100_000 + pool * 1_358 // 100_000 - 50_000,
        "dev_xclim": 50_000,
    }


def test_added_rows_are_the_means_of_train_for_the_classes_it_lacks(rng):
    frame = records(rng)
    late = frame["fact_time"] > frame["fact_time"].quantile(0.62)
    frame = frame.with_columns(
        fact_cwsm_class=pl.when(late & (pl.col("id") % 9 == 0)).then(23).otherwise("fact_cwsm_class"),
        gfs_pressure=pl.when(pl.col("id") % 5 == 0).then(None).when(pl.col("id") % 7 == 0).then(np.nan)
        .otherwise("gfs_pressure").cast(pl.Float32),
    )  # fmt: skip
    found = split(frame)
    assert found.added.schema == frame.schema
    train = found.partition.frame("train").to_dicts()
    pressures = [value for row in train if (value := row["gfs_pressure"]) is not None and not np.isnan(value)]
    (row,) = found.added.to_dicts()
    assert row["fact_cwsm_class"] == 23
    assert row["climate"] == "mild temperate"
    assert row["id"] is None
    assert row["fact_time"] == round(sum(one["fact_time"] for one in train) / len(train))
    assert row["fact_temperature"] == pytest.approx(np.mean([one["fact_temperature"] for one in train]))
    assert row["gfs_pressure"] == pytest.approx(np.mean(pressures), rel=1e-6)


def test_with_added_appends_to_train_under_new_ids(rng):
    frame = records(rng).with_columns(fact_cwsm_class=pl.when(pl.col("climate") == "polar").then(22).otherwise(0))
    found = split(frame)
    whole = found.with_added()
    assert whole.counts == found.counts
    assert whole.counts["train"] == found.partition.counts["train"] + 1
    assert whole.frame("train")["id"].to_list()[-1] == 9_001
    assert whole.ids_of("train").to_list() == whole.frame("train")["id"].to_list()
    named = frame.with_columns(id="row-" + pl.col("id").cast(pl.String))
    assert split(named).with_added().ids_of("train").to_list()[-1] == "added-class-22"
    numbered = split(frame.drop("id")).with_added()
    assert numbered.ids_of("train").to_list()[-1] == 9_001


def test_nothing_is_added_where_train_has_every_class(rng):
    frame = records(rng)
    found = split(frame)
    assert found.added.is_empty()
    assert found.added.schema == frame.schema
    assert found.with_added() is found.partition
    assert added_rows(frame.lazy(), []).is_empty()


def test_a_manifest_says_which_experiment_it_is_of(rng, tmp_path):
    frame = records(rng).with_columns(fact_cwsm_class=pl.when(pl.col("climate") == "other").then(22).otherwise(0))
    hashes = set()
    for experiment in EXPERIMENTS:
        found = split(frame, experiment)
        folder = tmp_path / experiment
        write_manifest(folder, found.with_added(), found.rules, frames=True)
        assert verify(folder) == ()
        manifest = read_manifest(folder)
        assert manifest.rules.get("experiment", "A") == experiment
        assert manifest.counts == found.counts
        assert pl.read_parquet(folder / "train.parquet").height == found.counts["train"]
        hashes.add(manifest.hash)
    assert len(hashes) == 4


def test_any_table_with_times_and_groups_can_be_split_by_the_same_rules(rng):
    days = pl.date_range(pl.date(2020, 1, 1), pl.date(2022, 9, 26), eager=True)
    frame = pl.DataFrame(
        {"day": days.sample(8_000, with_replacement=True, seed=1), "ward": rng.choice(["a", "b", "c", "d"], 8_000)}
    )
    rules = canonical_rules(time="day", group="ward", in_domain=("a", "b"), shifted_dev=("c",), shifted_eval=("c", "d"))
    found = partition(frame, rules)
    assert set(found.frame("train")["ward"]) == {"a", "b"}
    assert set(found.frame("dev_out")["ward"]) == {"c"}
    assert found.frame("eval_in")["day"].max() < found.frame("eval_out")["day"].min()
    assert found.frame("eval_out")["day"].max() < found.frame("dev_out")["day"].min()
    classed = split(frame.with_columns(fact_cwsm_class=0), "D", rules=rules)
    assert set(classed.partition.frame("train")["ward"]) == {"a", "b", "c", "d"}
    assert official(classed.counts) is False


def test_bad_input_is_named(rng):
    frame = records(rng)
    with pytest.raises(UnknownNameError, match=r"Unknown experiment 'E'.* Known: A, B, C, D"):
        split(frame, "E")
    with pytest.raises(TableError, match="fact_cwsm_class"):
        split(frame.drop("fact_cwsm_class"))
    with pytest.raises(TableError, match="climate"):
        split(frame.drop("climate"))
    with pytest.raises(PartitionError, match="xclim, the records to add: the table: expected at least one record"):
        split(frame.filter((pl.col("fact_time") > 1e6) | pl.col("climate").is_in(IN_DOMAIN)).with_columns(
            fact_time=pl.when(pl.col("climate").is_in(IN_DOMAIN)).then(pl.col("fact_time") // 10).otherwise("fact_time")
        ), "B")  # fmt: skip


# What the published tool does otherwise. The golden file is its output on made-up rows.


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    """The made-up rows with the climates that the published look-up gives them."""
    frame = pl.read_csv(gzip.decompress((GOLDEN / "rows.csv.gz").read_bytes())).rename({"row_id": "id"})
    grid = Grid.read(GOLDEN / "koppen.tsv.gz")
    found = climates(frame["fact_latitude"], frame["fact_longitude"], grid, rule="published")
    return frame.with_columns(found.cast(pl.String))


@pytest.fixture(scope="module")
def tool() -> dict:
    return json.loads(gzip.decompress((GOLDEN / "partitioner.json.gz").read_bytes()))


def ids_in(tool: dict, *names: str) -> list[int]:
    """The tool's ids that belong to rows; rows it made up have averaged ids."""
    return [int(one) for name in names for one in tool["splits"][name] if one == int(one)]


def test_difference_1_the_tool_adds_rows_for_classes_that_train_has(rows, tool):
    announced = [float(line.split()[-1]) for line in tool["stdout"].splitlines()]
    in_train = set(rows.filter(pl.col("id").is_in(ids_in(tool, "train")))["fact_cwsm_class"])
    assert announced == [10, 11, 13, 20, 21, 22, 23]
    assert set(announced) <= in_train
    found = split(rows)
    assert (
        found.added["fact_cwsm_class"].to_list()
        == sorted(set(rows["fact_cwsm_class"]) - set(found.partition.frame("train")["fact_cwsm_class"]))
        == []
    )


def test_difference_2_the_tool_writes_over_a_row(rows, tool):
    cut = np.sort(rows["fact_time"])[1_800]
    inside = population(rows, IN_DOMAIN, -np.inf, cut)
    assert inside - set(ids_in(tool, "train", "dev_in", "eval_in")) == {709}
    made_up = [one for one in tool["splits"]["train"] if one != int(one)]
    assert len(made_up) == 2  # of the seven announced: five were written over one another, the first two remain
    kept = split(rows).partition
    assert ids_of(kept, "train") | ids_of(kept, "dev_in") | ids_of(kept, "eval_in") == inside


def test_difference_3_the_tool_cuts_by_row_count_through_equal_times(rows):
    times = np.sort(rows["fact_time"])
    assert times[1_799] == times[1_800]  # 60 % of 3,000 rows end between two of one time
    found = split(rows).partition
    assert found.windows["in_domain"][1] == times[1_800]
    sides = rows.filter(pl.col("fact_time") == times[1_800])
    assert sides.height == 2
    assert not set(sides["id"]) & (ids_of(found, "train") | ids_of(found, "dev_in") | ids_of(found, "eval_in"))


def test_difference_4_the_tool_takes_wrong_cells_so_that_records_change_sides(rows):
    grid = Grid.read(GOLDEN / "koppen.tsv.gz")
    nearest = rows.with_columns(climates(rows["fact_latitude"], rows["fact_longitude"], grid).cast(pl.String))
    one, other = split(rows).partition, split(nearest).partition
    moved = ids_of(one, "eval_out") ^ ids_of(other, "eval_out")
    assert len(moved) == 24
    assert "other" in set(rows["climate"])
    assert "other" not in set(nearest["climate"])


def test_difference_5_the_tools_third_block_of_time_is_eval_out_and_so_is_ours(rows, tool):
    time = dict(rows.select("id", "fact_time").iter_rows())
    assert max(time[one] for one in ids_in(tool, "eval_out")) < min(time[one] for one in ids_in(tool, "dev_out"))
    found = split(rows).partition
    assert ids_of(found, "eval_out") == set(ids_in(tool, "eval_out"))
    assert ids_of(found, "dev_out") == set(ids_in(tool, "dev_out"))


def test_difference_6_the_tool_draws_by_a_shuffle_of_rows_and_ours_by_ids(rows, tool):
    found = split(rows).partition
    again = split(rows.sample(fraction=1, shuffle=True, seed=8)).partition
    assert ids_of(found, "eval_in") == ids_of(again, "eval_in")
    assert ids_of(found, "eval_in") != set(ids_in(tool, "eval_in"))
    assert ids_in(tool, "train") != sorted(ids_in(tool, "train"))
