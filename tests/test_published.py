"""The printed results: what ships equals what was printed."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from shiftbench.errors import UnknownNameError
from shiftbench.scores.metric import METRICS
from shiftbench.track import published

NUMBER = r"^-?\d+(\.\d+)?$"


def test_every_track_of_the_papers_is_there():
    assert published.tracks() == ("weather", "translation", "motion", "lesions", "power")
    assert published.results().height == sum(published.results(track=name).height for name in published.tracks())


def test_a_known_cell_of_the_first_paper():
    rows = published.results(
        track="weather", task="regression", metric="rmse", dataset="dev", subset="full", ensemble="ensemble",
        source="Shifts 1.0 arXiv v1, Table 2",
    )  # fmt: skip
    assert rows.select("model", "value", "printed", "std").rows() == [("CatBoost", 1.842, "1.842", None)]


def test_filters_narrow_together_and_a_filter_not_given_keeps_all():
    every = published.results(track="power")
    some = published.results(track="power", metric="rmse", subset="shifted")
    assert 0 < some.height < every.height
    assert some.equals(every.filter(metric="rmse", subset="shifted"))


def test_none_asks_for_nothing():
    assert published.results(track="power", metric=None).equals(published.results(track="power"))


def test_numbers_are_the_printed_text_digit_by_digit():
    rows = published.results()
    assert rows["printed"].str.contains(NUMBER).all()
    assert rows["value"].to_list() == [float(text) for text in rows["printed"]]
    stds = rows.drop_nulls("printed_std")
    assert stds["std"].to_list() == [float(text) for text in stds["printed_std"]]
    assert "0.960" in rows["printed"].to_list()  # a trailing zero is kept: it tells the precision


def test_no_cell_is_there_twice():
    assert not published.results().is_duplicated().any()


def test_subsets_are_called_as_in_reports():
    assert {"in", "shifted", "full"} < set(published.results()["subset"])
    assert "out" not in set(published.results()["subset"])


@pytest.mark.parametrize(
    ("where", "message"),
    [
        ({"track": "wether"}, "Unknown track 'wether'. Did you mean 'weather'"),
        ({"metric": "f1auc"}, "Unknown metric 'f1auc'. Did you mean 'f1_auc'"),
        ({"subsets": "in"}, "Did you mean 'subset'"),
    ],
)
def test_a_misspelt_name_is_told_the_nearest(where, message):
    with pytest.raises(UnknownNameError, match=message):
        published.results(**where)


def test_every_flag_metric_and_reading_that_is_used_is_explained_and_no_other():
    rows = published.results()
    used = {code for text in rows["flag"].drop_nulls() for code in text.split(";")}
    assert used == set(published.flags())
    assert set(rows["metric"]) == set(published.metrics()["metric"])
    assert {name for text in rows["readings"] for name in text.split(";")} == set(published.sources()["reading"])


def test_directions_are_those_of_the_registry_which_alone_says_them():
    directions = dict(published.metrics().select("metric", "better").iter_rows())
    written = dict(published._read("metrics.csv").select("metric", "better").iter_rows())
    shared_names = directions.keys() & METRICS.keys()
    assert {"rmse", "r_auc", "f1_auc", "roc_auc", "accuracy"} <= shared_names
    assert directions == written | {name: METRICS[name].better for name in shared_names}
    assert {name for name, better in written.items() if better is None} == shared_names
    assert set(directions.values()) == {"min", "max", "none"}


def test_the_data_stay_small():
    folder = Path(published.__file__).parent
    assert sum(path.stat().st_size for path in folder.iterdir() if path.is_file()) < 100_000


@pytest.mark.needs_shared
def test_the_values_that_ship_are_the_collected_ones(shared):
    collected = pl.read_csv(shared / "facts" / "published" / "results.csv", infer_schema=False)
    shipped = published.results().drop("value", "std").rename({"printed": "value", "printed_std": "std"})
    renamed = collected.with_columns(pl.col("subset").replace({"out": "shifted"}))
    assert_frame_equal(shipped.select(collected.columns), renamed)


@pytest.mark.needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "weather_measures",
        "weather_repartition",
        "motion_predictive",
        "motion_retention",
        "power_real",
        "lesions",
    ],
)
def test_the_further_columns_of_each_table_are_kept(shared, name):
    table = pl.read_csv(shared / "facts" / "published" / f"{name}.csv", infer_schema=False)
    table = table.with_columns(pl.col("subset").replace({"out": "shifted"}))
    shipped = published.results().drop("value", "std").rename({"printed": "value", "printed_std": "std"})
    matched = table.join(shipped.select(table.columns), on=table.columns, how="semi", nulls_equal=True)
    assert matched.height == table.height
