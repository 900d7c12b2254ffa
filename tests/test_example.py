"""The example table: what is known to be true in it is found in it."""

from __future__ import annotations

import hashlib
import tomllib

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import SettingsError
from shiftbench.io import tables
from shiftbench.pipeline import example
from shiftbench.scores.detection import roc_auc
from shiftbench.scores.retention import error_retention, r_auc, rejection_ratio


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return example.table()


@pytest.fixture(scope="module")
def known(frame: pl.DataFrame) -> pl.DataFrame:
    return frame.drop_nulls("demand_mw")


def squared_errors(frame: pl.DataFrame, answers: str) -> np.ndarray:
    return ((frame["demand_mw"] - frame[answers]) ** 2).to_numpy()


def test_same_seed_gives_the_same_table_and_another_seed_another(frame):
    assert frame.equals(example.table(seed=0))
    assert not frame["demand_mw"].equals(example.table(seed=1)["demand_mw"])


def test_values_are_the_ones_written_down_here():
    # Fixed once: a change of platform, numpy or code that moved a single value would move this hash.
    text = example.table(400, seed=7).write_csv(float_precision=3)
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "406c56960c076570c0e492dc4d6ea66076bc6baf2ed4ca2acc9be91e8183f263"
    )


@pytest.mark.parametrize("rows", [400, 1_001, 20_000])
def test_as_many_rows_as_asked_for_with_unique_ids_in_the_order_of_time(rows):
    made = example.table(rows)
    assert made.height == rows
    assert made["id"].n_unique() == rows
    assert made["date"].is_sorted()


def test_ids_are_station_and_date(frame):
    built = frame.select(pl.concat_str("station", pl.col("date").dt.to_string("%Y-%m-%d"), separator="-"))
    assert built.to_series().to_list() == frame["id"].to_list()


def test_columns_are_mixed_and_some_values_missing(frame):
    kinds = {type(kind) for kind in frame.dtypes} | set(frame.dtypes)
    assert {pl.String, pl.Float64, pl.Date, pl.Boolean} <= kinds
    missing = {name for name in frame.columns if frame[name].null_count()}
    assert missing == {"sector", "wind_ms", "humidity", "pressure_hpa", "demand_mw", "level"}
    assert not any(frame[name].is_nan().any() for name in frame.columns if frame[name].dtype == pl.Float64)
    assert frame["demand_mw"].is_null().equals(frame["level"].is_null())


def test_seasons_are_the_meteorological_ones(frame):
    for season, months in {"winter": {12, 1, 2}, "spring": {3, 4, 5}, "summer": {6, 7, 8}}.items():
        assert set(frame.filter(season=season)["date"].dt.month()) == months


def test_the_true_mean_and_spread_are_the_ones_of_the_target(known):
    z = ((known["demand_mw"] - known["truth_mean"]) / known["truth_sd"]).to_numpy()
    # Standard errors at N records: 1/√N of the mean, 1/√(2N) of the spread.
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs(z.std() - 1) < 4 / np.sqrt(2 * len(z))


@pytest.mark.parametrize(("half_width", "nominal"), [(0.67449, 0.5), (1.64485, 0.9), (1.95996, 0.95)])
@pytest.mark.parametrize("region", ["north", "south"])
def test_a_perfect_model_has_nominal_coverage_in_and_out_of_domain(known, half_width, nominal, region):
    part = known.filter(region=region)
    inside = (part["demand_mw"] - part["truth_mean"]).abs() <= half_width * part["truth_sd"]
    assert abs(inside.mean() - nominal) < 4 * np.sqrt(nominal * (1 - nominal) / part.height)


def test_no_other_order_retains_less_error_than_the_true_variance(known):
    # The expected squared error of the perfect answer is truth_sd²: sorting by it is optimal in expectation.
    errors = squared_errors(known, "truth_mean")
    best = r_auc(errors, known["truth_sd"].to_numpy() ** 2)
    others = ["base_mw", "temperature_c", "truth_mean", "cloud", "daylight_h"]
    for name in others:
        values = known[name].to_numpy()
        assert best < min(r_auc(errors, values), r_auc(errors, -values)), name
    assert rejection_ratio(errors, known["truth_sd"].to_numpy() ** 2) > 20


def test_the_error_retention_of_the_perfect_model_follows_its_expectation(known):
    variance = known["truth_sd"].to_numpy() ** 2
    curve = error_retention(squared_errors(known, "truth_mean"), variance)
    expected = np.concatenate([[0], np.cumsum(np.sort(variance))]) / len(variance)
    assert np.abs(curve - expected).max() < 0.03 * expected[-1]


def test_the_forecast_is_as_good_in_the_north_as_elsewhere_relative_to_the_noise(known):
    for region in ("north", "south", "east", "west"):
        part = known.filter(region=region)
        relative = squared_errors(part, "forecast") / part["truth_sd"].to_numpy() ** 2
        assert relative.mean() == pytest.approx(1 + 0.8**2, abs=5 * relative.std() / np.sqrt(part.height))


def test_the_north_differs_in_its_features_and_in_its_response(known):
    north, rest = known.filter(region="north"), known.filter(pl.col("region") != "north")
    assert roc_auc(-known["temperature_c"].to_numpy(), (known["region"] == "north").to_numpy()) > 0.6
    cold = pl.col("temperature_c").is_between(0, 5)
    relative = pl.col("truth_mean") / pl.col("base_mw")
    response = [part.filter(cold).select(relative.mean()).item() for part in (north, rest)]
    assert response[0] > 1.05 * response[1]


def test_demand_drifts_upwards_by_three_per_cent_a_year(known):
    # The same region, sector and temperature in two winters a year or two apart.
    relative = (pl.col("truth_mean") / pl.col("base_mw")).mean()
    mild = known.filter(pl.col("temperature_c").is_between(16, 22), holiday=False, solar=False)
    by_year = mild.group_by(pl.col("date").dt.year().alias("year")).agg(relative.alias("relative")).sort("year")
    assert by_year["relative"][1] / by_year["relative"][0] == pytest.approx(1.03, abs=0.01)


def test_too_few_rows_are_refused():
    with pytest.raises(SettingsError, match="expected at least 400, found 3"):
        example.table(3)


@pytest.mark.parametrize("name", ["table.parquet", "table.csv.gz"])
def test_the_written_table_and_settings_are_read_back(tmp_path, name):
    table, settings = example.write(tmp_path / name, rows=500, seed=3)
    assert (table.name, settings.name) == (name, "table.toml")
    assert tables.read_table(table).equals(example.table(500, seed=3))
    chosen = tomllib.loads(settings.read_text(encoding="utf-8"))
    assert chosen["table"] == name
    named = [chosen["target"], chosen["clusters"], *chosen["slices"], *chosen["baselines"]]
    named += [chosen["partition"][key] for key in ("id", "time", "group")]
    assert set(named) <= set(example.table(500).columns)


def test_the_settings_hide_the_truth_from_the_model(tmp_path):
    _, settings = example.write(tmp_path / "table.parquet", rows=400, seed=0)
    dropped = tables.expand(tomllib.loads(settings.read_text())["drop"], example.table(400).columns, what="drop")
    assert set(dropped) == {"truth_mean", "truth_sd", "level"}
