"""The canonical partition: who falls where, how many, and that a draw is the same everywhere."""

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import PartitionError, TableError
from shiftbench.partition.hashing import keyed_hash
from shiftbench.tracks.power import partitions, schema
from tests.tracks.power.made import records

ROWS = 30_000
COUNTS = {
    "train": (1000, 800, 700, 0),
    "dev_in": (60, 50, 40, 0),
    "dev_out": (0, 0, 0, 200),
    "eval_in": (150, 120, 100, 0),
    "eval_out": (0, 0, 0, 500),
}


def described(frame):
    return partitions.described(frame.with_columns(id="time_id"))


@pytest.fixture(scope="module")
def frame():
    return described(records(ROWS))


@pytest.fixture(scope="module")
def split(frame):
    return partitions.split(frame, counts=COUNTS)


def by_interval(split, name):
    return partitions.wind_counts(split.partition.frame(name))


def test_true_wind_is_rebuilt_from_what_is_felt_on_board():
    one = records(3).with_columns(
        stw=pl.Series([15.0, 12.0, 10.0]),
        rcurrent_vcomp=pl.Series([1.0, 0.0, -2.0]),
        awind_vcomp_provider=pl.Series([26.0, 12.0, 5.0]),
        awind_ucomp_provider=pl.Series([0.0, 7.0, 4.0]),
    )
    assert described(one)["wind_kn"].to_list() == [10.0, 7.0, 5.0]  # head wind, beam wind, 3-4-5 from astern


def test_months_run_from_the_first_record_and_days_from_the_dry_dock():
    minutes = [10_776.0, 10_776 + 43_830.0, 10_776 + 43_830 * 6.5]
    found = described(records(3).with_columns(timeSinceDryDock=pl.Series(minutes)))
    assert found["month"].to_list() == [0.0, 1.0, 6.5]
    assert found["half_year"].to_list() == ["months 00 to 06", "months 00 to 06", "months 06 to 12"]
    assert found["day"].to_list() == [7, 37, 205]


def test_the_last_published_minute_of_train_lies_in_its_window():
    last = described(records(1).with_columns(timeSinceDryDock=pl.lit(1_735_544.0)))["month"][0]
    assert last < 39.4
    assert 1_735_544 / schema.MONTH_MINUTES > 39.4  # so months cannot run from the dry dock itself


@pytest.mark.parametrize(("wind", "label"), [(0, 1), (8.999, 1), (9, 2), (14, 3), (18.9, 3), (19, 4), (60, 4)])
def test_intervals_hold_their_lower_bound(wind, label):
    found = pl.select(partitions.interval(pl.lit(float(wind)))).item()
    assert found == schema.INTERVALS[label - 1].label


def test_every_partition_has_the_counts_asked_for_in_each_interval(split):
    assert {name: by_interval(split, name) for name in COUNTS} == COUNTS
    assert split.partition.counts == {name: sum(row) for name, row in COUNTS.items()}
    assert split.scale == 1.0
    assert not split.notes


@pytest.mark.parametrize(
    ("names", "months", "wind"),
    [
        (("train", "dev_in", "eval_in"), (0, 39.4), (0, 19)),
        (("dev_out",), (39.4, 46), (19, 26)),
        (("eval_out",), (46, 64), (19, 40)),
    ],
)
def test_partitions_keep_to_their_months_and_winds(split, names, months, wind):
    for name in names:
        found = split.partition.frame(name)
        assert found["month"].is_between(*months, closed="left").all()
        assert found["wind_kn"].is_between(*wind, closed="left").all()


def test_no_record_is_in_two_partitions_and_all_are_accounted_for(split):
    found = split.partition
    assert sum(found.counts.values()) + sum(found.unused.values()) == ROWS
    assert found.unused["more than dev_out was to have"] > 0


def test_neither_the_order_of_rows_nor_other_columns_move_a_record(frame, split):
    turned = frame.sample(fraction=1.0, shuffle=True, seed=3).with_columns(power=pl.lit(1.0))
    other = partitions.split(turned, counts=COUNTS)
    for name in COUNTS:
        assert sorted(other.partition.ids_of(name)) == sorted(split.partition.ids_of(name))


def test_records_are_drawn_by_the_smallest_hashes_of_their_stratum(frame, split):
    """A slow twin: sort a stratum by hash, then give each partition its number in turn."""
    belongs = dict(zip(split.partition.ids, split.partition.assignment, strict=True))
    for place, entry in enumerate(schema.INTERVALS[:3]):
        ids = frame.filter((pl.col("month") < 39.4) & (pl.col("wind_interval") == entry.label))["id"]
        hashes = dict(zip(ids, keyed_hash(ids, seed=1), strict=True))
        ordered = sorted(ids, key=lambda one: hashes[one])
        wanted = [name for name in ("dev_in", "eval_in", "train") for _ in range(COUNTS[name][place])]
        assert [belongs[one] for one in ordered] == wanted + [None] * (len(ordered) - len(wanted))


def test_the_draw_is_the_same_for_ever():
    """Ids that were drawn when this was written."""
    kind = pl.col("id") % 5
    winds, months = [5.0, 10.0, 15.0, 20.0, 30.0], [1.0, 2.0, 3.0, 40.0, 50.0]
    frame = pl.DataFrame({"id": range(500)}).with_columns(
        wind_kn=kind.replace_strict(list(range(5)), winds), month=kind.replace_strict(list(range(5)), months)
    )
    counts = dict.fromkeys(("train", "dev_in", "eval_in"), (2, 1, 1, 0)) | {"dev_out": (0, 0, 0, 3)}
    found = partitions.split(
        frame.with_columns(wind_interval=partitions.interval(pl.col("wind_kn"))),
        counts={**counts, "eval_out": (0, 0, 0, 2)},
    ).partition
    drawn = {name: found.ids_of(name).to_list() for name in ("dev_in", "dev_out", "eval_out")}
    assert drawn == {"dev_in": [355, 405, 451, 472], "dev_out": [18, 328, 483], "eval_out": [144, 164]}


def test_too_few_records_scale_every_count_by_one_factor(frame, split):
    few = frame.filter(~((pl.col("wind_interval") == schema.INTERVALS[1].label) & (pl.col("id") % 7 > 0)))
    there = few.filter((pl.col("month") < 39.4) & (pl.col("wind_interval") == schema.INTERVALS[1].label)).height
    asked = sum(row[1] for row in COUNTS.values())
    assert there < asked
    scaled = partitions.split(few, counts=COUNTS)
    assert scaled.scale == pytest.approx(there / asked)
    for name, row in COUNTS.items():
        assert by_interval(scaled, name) == tuple(count * there // asked for count in row)
    (note,) = scaled.notes
    assert f"all are scaled by {there / asked:.4g} (scarcest: in_domain in wind interval 2: 9 to 14 kn, {there}" in note


def test_published_shares_survive_the_scaling():
    small = partitions.split(described(records(20_000, seed=4)))
    train = np.array(by_interval(small, "train"), float)
    published = np.array(schema.COUNTS["synthetic"]["train"], float)
    assert small.scale < 0.1
    np.testing.assert_allclose(train / train.sum(), published / published.sum(), atol=1e-3)
    counts = small.partition.counts
    assert abs(counts["dev_in"] - counts["dev_out"]) <= 3
    assert abs(counts["eval_in"] - counts["eval_out"]) <= 3


def test_an_interval_without_any_record_is_named(frame):
    calm = frame.filter(pl.col("wind_interval") != schema.INTERVALS[2].label)
    with pytest.raises(PartitionError, match="in_domain in wind interval 3: 14 to 19 kn: expected records to draw 840"):
        partitions.split(calm, counts=COUNTS)


def test_a_window_without_any_record_is_named():
    with pytest.raises(PartitionError, match="eval_out: expected records, found none"):
        partitions.split(described(records(5000, months=45)), counts=COUNTS)


def test_ids_that_are_used_twice_are_refused(frame):
    with pytest.raises(TableError, match="expected each id once"):
        partitions.split(pl.concat([frame, frame.head(1)]), counts=COUNTS)


def test_another_seed_draws_other_records(frame, split):
    other = partitions.split(frame, counts=COUNTS, seed=2).partition
    assert set(other.ids_of("dev_in")) != set(split.partition.ids_of("dev_in"))


def test_the_rules_say_what_was_drawn(split):
    written = split.rules.to_settings()
    assert written["drawn"]["train"] == [1000, 800, 700, 0]
    assert written["sizes"]["eval_out"] == 500
    assert written["windows"] == {"in_domain": ["", 39.4], "dev_out": [39.4, 46.0], "eval_out": [46.0, 64.0]}
