"""The made-up weather table: of the official shape, physically consistent, and shifted where it says so."""

from __future__ import annotations

import gzip
import hashlib
import itertools
import tracemalloc
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from shiftbench.errors import SettingsError, TableError
from shiftbench.tracks.weather import example, schema
from shiftbench.tracks.weather.example import air

KELVIN = 273.15
TWO_METRES = {
    "gfs": "gfs_temperature_sea_interpolated",
    "cmc": "cmc_0_0_0_2_interpolated",
    "wrf": "wrf_t2_interpolated",
}
IN_DOMAIN = schema.CLIMATES[:3]


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return example.table()


@pytest.fixture(scope="module")
def forecasts(frame: pl.DataFrame) -> pl.DataFrame:
    """Errors of the three 2 m temperatures in °C, NaN where there is none, and what they may depend on."""
    celsius = {"gfs": 0.0, "cmc": KELVIN, "wrf": KELVIN}
    errors = [
        (pl.col(name).cast(pl.Float64) - celsius[model] - pl.col("fact_temperature")).alias(model)
        for model, name in TWO_METRES.items()
    ]
    return frame.select("climate", "gfs_horizon_h", "cmc_horizon_h", "sun_elevation", *errors)


def rmse(errors: pl.Series) -> float:
    return float(np.sqrt((errors.drop_nulls() ** 2).mean()))


def numbers(frame: pl.DataFrame, name: str) -> np.ndarray:
    return frame[name].cast(pl.Float64).to_numpy()


# --- shape ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1_000, 5_001])
def test_the_table_has_the_official_columns_in_order_and_exactly_the_rows_asked_for(rows):
    made = example.table(rows)
    assert made.height == rows
    assert dict(made.schema) == schema.TYPES
    assert tuple(made.columns) == schema.NAMES
    assert len(made.columns) == 129


def test_every_value_is_inside_the_range_of_its_column(frame):
    outside = {
        name: (frame[name].min(), frame[name].max())
        for name, expected in schema.RANGES.items()
        if frame[name].min() < expected.low or frame[name].max() > expected.high
    }
    assert not outside


def test_medians_are_those_of_the_right_unit(frame):
    wrong = {
        name: frame[name].median()
        for name, expected in schema.RANGES.items()
        if not expected.median_low <= frame[name].median() <= expected.median_high
    }
    assert not wrong


@pytest.mark.parametrize(
    "name", ["cmc_0_0_0_2", "cmc_0_0_0_2_next", "cmc_0_0_0_2_interpolated", "wrf_t2", "wrf_t2_next"]
)
def test_cmc_and_wrf_are_in_kelvin(frame, name):
    assert frame[name].min() > 200
    assert frame[name].max() < 330


def test_no_value_is_nan_and_no_feature_is_constant(frame):
    for name in schema.FEATURES:
        assert not frame[name].is_nan().any(), name
        assert frame[name].n_unique() > 1, name


# --- the same everywhere --------------------------------------------------------------------------------------------


def test_same_seed_gives_the_same_table_and_another_seed_another():
    assert example.table(1_500, seed=3).equals(example.table(1_500, seed=3))
    assert not example.table(1_500, seed=3)["fact_temperature"].equals(example.table(1_500, seed=4)["fact_temperature"])


def test_values_are_the_ones_written_down_here():
    # Fixed once: a change of platform, numpy or code that moved a single value would move this hash.
    text = example.table(1_000, seed=7).write_csv()
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "8a2367714a1071ec74aca3fac6c4700cbb9c5896c4b1a90e52f5bcd623041e31"
    )


@pytest.mark.parametrize("size", [33, 700, 5_000])
def test_pieces_of_any_size_give_the_same_table(size):
    assert pl.concat(example.blocks(1_500, seed=2, size=size)).equals(example.table(1_500, seed=2))


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_the_same_seed_writes_the_same_bytes(tmp_path, suffix):
    first, second = (example.write(tmp_path / f"{name}{suffix}", 2_000, 5) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


# --- time and place -------------------------------------------------------------------------------------------------


def test_records_cover_the_official_year_in_hours(frame):
    assert frame["fact_time"].min() - schema.START < 3 * 3600
    assert schema.END - 6 * 3600 < frame["fact_time"].max() < schema.END
    assert (frame["fact_time"] % 3600 == 0).all()


def test_a_station_reports_every_three_hours_and_never_twice(frame):
    place = ["fact_latitude", "fact_longitude", "topography_bathymetry"]
    assert not frame.select(*place, "fact_time").is_duplicated().any()
    hours = frame.group_by(place).agg((pl.col("fact_time") // 3600 % 3).n_unique().alias("hours"))
    assert hours["hours"].to_list() == [1] * 800


def test_rows_are_in_the_order_of_time_but_for_the_three_hours_of_a_step(frame):
    assert (frame["fact_time"] // (3 * 3600)).is_sorted()


def test_climates_have_the_shares_of_the_published_partitions():
    shares = dict(example.table(20_000, seed=1)["climate"].value_counts(normalize=True).iter_rows())
    train = schema.PARTITIONS["train"]
    inside = sum(shares[climate] for climate in IN_DOMAIN)
    for climate in IN_DOMAIN:
        published = train[climate] / train["total"]
        assert shares[climate] / inside == pytest.approx(published, abs=0.01)
    assert shares["snow"] == pytest.approx(524_896 / 1_500_000, abs=0.01)
    assert shares["polar"] == pytest.approx(50_659 / 1_500_000, abs=0.005)


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("rows", [1_000, 5_000])
def test_every_canonical_partition_has_records_even_in_small_tables(rows, seed):
    made = example.table(rows, seed=seed).with_columns(at=pl.col("fact_time").rank("ordinal") / rows)
    inside = made.filter(pl.col("at") <= 0.6, pl.col("climate").is_in(IN_DOMAIN))
    assert set(inside["climate"]) == set(IN_DOMAIN)
    assert {"snow", "polar"} <= set(made.filter(pl.col("at").is_between(0.7, 0.85))["climate"])
    assert "snow" in set(made.filter(pl.col("at") > 0.85)["climate"])


@pytest.mark.needs_shared
def test_stations_stand_in_the_climate_that_the_koppen_map_gives(shared, frame):
    with gzip.open(shared / "data/weather/koppen_geiger_0.5deg_kgc.tsv.gz") as file:
        grid = pl.read_csv(file.read(), separator="\t")
    letters = dict(zip("ABCDE", schema.CLIMATES, strict=True))
    mapped = grid.select(
        "longitude", "latitude", mapped=pl.col("koppen").str.head(1).replace_strict(letters, default="other")
    )

    def cell(name: str, alias: str) -> pl.Expr:
        return ((pl.col(name) * 2).floor() / 2 + 0.25).alias(alias)

    cells = frame.select("climate", cell("fact_longitude", "longitude"), cell("fact_latitude", "latitude"))
    found = cells.join(mapped, on=["longitude", "latitude"], how="left").fill_null("other")
    assert (found["climate"] == found["mapped"]).mean() > 0.93


# --- physics --------------------------------------------------------------------------------------------------------


def test_the_sun_stands_where_astronomy_says():
    def sun(latitude: float, longitude: float, when: str) -> float:
        hours = (np.datetime64(when) - np.datetime64("2018-09-01T00")) / np.timedelta64(1, "h")
        return float(air.sun_elevation(*(np.array([value]) for value in (latitude, longitude, hours)))[0])

    assert sun(23.44, 0, "2019-06-21T12:00") == pytest.approx(90, abs=0.1)
    assert sun(-23.44, 180, "2018-12-21T00:00") == pytest.approx(90, abs=0.1)
    assert sun(0, 0, "2019-03-20T12:00") == pytest.approx(90, abs=0.5)
    assert sun(50, 0, "2019-03-20T12:00") == pytest.approx(40, abs=0.5)
    assert sun(50, 90, "2019-03-20T12:00") == pytest.approx(0, abs=0.5)  # sunset
    assert sun(90, 0, "2018-12-21T12:00") == pytest.approx(-23.44, abs=0.1)  # polar night


def test_seasons_are_opposite_on_the_two_halves_of_the_earth(frame):
    month = pl.from_epoch(pl.col("fact_time")).dt.month()
    temperate = frame.filter(climate="mild temperate").with_columns(north=pl.col("fact_latitude") > 0, month=month)
    means = temperate.group_by("north", "month").agg(pl.col("fact_temperature").mean())
    at = {(north, m): value for north, m, value in means.iter_rows()}
    assert at[True, 7] - at[True, 1] > 8
    assert at[False, 1] - at[False, 7] > 6


@pytest.mark.parametrize(
    "name",
    ["cmc_0_0_0_2", "gfs_temperature_sea", "wrf_t2", "gfs_2m_dewpoint", "gfs_total_clouds_cover_low"]
    + [f"cmc_0_1_{kind}_0" for kind in (65, 66, 67, 68)],
)
def test_gradients_are_the_next_step_less_this_one(frame, name):
    change = numbers(frame, f"{name}_next") - numbers(frame, name)
    np.testing.assert_allclose(numbers(frame, f"{name}_grad"), change, atol=2e-4)


@pytest.mark.parametrize(("model", "name"), [("cmc", "cmc_0_0_0_2"), ("gfs", "gfs_temperature_sea")])
def test_interpolated_values_lie_between_the_steps_linear_in_time(frame, model, name):
    passed = numbers(frame, f"{model}_timedelta_s") / (3 * 3600)
    assert set(np.unique(passed[~np.isnan(passed)]).round(3)) == {0, 0.333, 0.667}
    expected = (1 - passed) * numbers(frame, name) + passed * numbers(frame, f"{name}_next")
    np.testing.assert_allclose(numbers(frame, f"{name}_interpolated"), expected, atol=1e-3)


def test_wind_speed_follows_from_its_components(frame):
    speed = np.hypot(numbers(frame, "gfs_u_wind"), numbers(frame, "gfs_v_wind"))
    np.testing.assert_allclose(numbers(frame, "gfs_wind_speed"), speed, atol=1e-3)


def test_dew_points_never_exceed_temperatures_and_fit_the_humidity(frame):
    temperature, dew = numbers(frame, "gfs_temperature_sea"), numbers(frame, "gfs_2m_dewpoint")
    there = ~np.isnan(dew)
    assert (dew[there] <= temperature[there]).all()
    humidity = 100 * air.vapour_pressure(dew) / air.vapour_pressure(temperature)
    np.testing.assert_allclose(humidity[there], numbers(frame, "gfs_humidity")[there], atol=0.05)
    depression = numbers(frame, "cmc_0_0_0_2") - numbers(frame, "cmc_0_0_6_2")
    np.testing.assert_allclose(numbers(frame, "cmc_0_0_7_2"), depression, atol=2e-3)
    assert np.nanmin(depression) >= 0


def test_rates_are_changes_of_totals_and_totals_grow_with_lead_time(frame):
    kinds = [f"cmc_0_1_{kind}_0" for kind in (65, 66, 67, 68)]
    fallen = sum(numbers(frame, f"{kind}_grad") for kind in kinds)
    np.testing.assert_allclose(numbers(frame, "cmc_precipitations"), fallen / 3, atol=2e-3)
    assert min(frame[f"{kind}_grad"].min() for kind in kinds) >= 0
    total = frame.select("cmc_horizon_h", total=pl.sum_horizontal(kinds)).drop_nulls()
    early = total.filter(pl.col("cmc_horizon_h") < 12)["total"].mean()
    assert total.filter(pl.col("cmc_horizon_h") >= 18)["total"].mean() > 1.3 * early


def test_snow_falls_when_it_is_cold_and_rain_when_it_is_warm(frame):
    cold, warm = frame.filter(pl.col("cmc_0_0_0_2") < 265), frame.filter(pl.col("cmc_0_0_0_2") > 280)
    assert cold["cmc_0_1_66_0"].sum() > 100 * cold["cmc_0_1_65_0"].sum()
    assert warm["cmc_0_1_65_0"].sum() > 100 * warm["cmc_0_1_66_0"].sum()


def test_total_cloudiness_is_the_sum_of_the_layers(frame):
    layers = sum(numbers(frame, f"gfs_total_clouds_cover_{layer}") for layer in ("low", "middle", "high"))
    np.testing.assert_allclose(numbers(frame, "gfs_cloudness"), layers / 100, atol=1e-3)


def test_heights_of_pressure_levels_fit_their_temperatures(frame):
    # The hypsometric equation: a layer is as thick as it is warm.
    levels = (1000, 925, 850, 700)
    for lower, upper in itertools.pairwise(levels):
        thickness = numbers(frame, f"cmc_0_3_5_{upper}") - numbers(frame, f"cmc_0_3_5_{lower}")
        kelvin = (numbers(frame, f"cmc_0_0_0_{upper}") + numbers(frame, f"cmc_0_0_0_{lower}")) / 2
        np.testing.assert_allclose(thickness, 287.05 * kelvin / 9.80665 * np.log(lower / upper), rtol=0.05)


def test_surface_pressure_falls_with_height_and_agrees_between_models(frame):
    there = frame.drop_nulls(["cmc_0_3_0_0", "gfs_pressure"])
    pascal = numbers(there, "gfs_pressure") * 133.322
    assert np.corrcoef(pascal, numbers(there, "topography_bathymetry"))[0, 1] < -0.95
    assert np.corrcoef(pascal, numbers(there, "cmc_0_3_0_0"))[0, 1] > 0.99
    assert np.corrcoef(pascal, numbers(there, "climate_pressure"))[0, 1] > 0.95


# --- what is missing ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cmc", "gfs", "wrf"])
def test_a_missing_run_leaves_all_columns_of_its_model_empty(frame, model):
    flags = {name for name in schema.NAMES if name.endswith("_available")}
    own = [name for name in schema.NAMES if name.startswith(f"{model}_") and name not in flags]
    missing = frame[f"{model}_available"] == 0
    assert 0.005 < missing.mean() < (0.5 if model == "wrf" else 0.05)
    for name in own:
        if name != "gfs_soil_temperature":
            assert frame[name].is_null().equals(missing), name


def test_soil_temperature_is_missing_by_itself_too(frame):
    missing = frame["gfs_soil_temperature_available"] == 0
    assert frame["gfs_soil_temperature"].is_null().equals(missing)
    assert (missing & (frame["gfs_available"] == 1)).mean() > 0.02


def test_only_forecasts_are_missing(frame):
    others = [name for name in frame.columns if not name.startswith(("cmc_", "gfs_", "wrf_"))]
    assert frame.select(others).null_count().sum_horizontal().item() == 0


def test_wrf_covers_some_regions_only(frame):
    covered = frame.group_by("fact_latitude", "fact_longitude").agg(pl.col("wrf_available").max())["wrf_available"]
    assert 0.5 < covered.mean() < 0.8


# --- classes --------------------------------------------------------------------------------------------------------


def test_all_nine_classes_are_there_and_sleet_is_rare(frame):
    shares = dict(frame["fact_cwsm_class"].value_counts(normalize=True).iter_rows())
    assert set(shares) == set(schema.CODES)
    assert shares[0] + shares[10] + shares[20] > 0.7
    assert shares[12] + shares[22] < 0.02


def test_precipitation_is_snow_below_and_rain_above_freezing(frame):
    means = dict(frame.group_by("fact_cwsm_class").agg(pl.col("fact_temperature").mean()).iter_rows())
    assert means[23] < -3
    assert -1 < means[22] < 3
    assert means[21] > 6


def test_models_know_a_part_of_clouds_and_precipitation(frame):
    there = frame.drop_nulls(["cmc_0_6_1_0", "gfs_cloudness"])
    tens, wet = numbers(there, "fact_cwsm_class") // 10, numbers(there, "fact_cwsm_class") % 10 > 0
    for name in ("cmc_0_6_1_0", "gfs_cloudness"):
        assert 0.5 < np.corrcoef(numbers(there, name), tens)[0, 1] < 0.9
    for name in ("cmc_0_1_7_0", "gfs_precipitations"):
        assert 0.3 < np.corrcoef(numbers(there, name), wet)[0, 1] < 0.9


# --- how forecasts err ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["cmc", "gfs", "wrf"])
def test_forecasts_miss_by_one_to_four_degrees_and_more_in_snow(forecasts, model):
    by_climate = {name: rmse(forecasts.filter(climate=name)[model]) for name in ("mild temperate", "snow")}
    assert 1 < rmse(forecasts[model]) < 4
    assert by_climate["snow"] > 1.2 * by_climate["mild temperate"]


def test_forecasts_err_more_the_longer_their_lead_time(forecasts):
    early, late = forecasts.filter(pl.col("cmc_horizon_h") < 12), forecasts.filter(pl.col("cmc_horizon_h") >= 18)
    assert rmse(late["cmc"]) > rmse(early["cmc"])


def test_models_err_partly_together_and_their_disagreement_tells_of_errors(forecasts):
    there = forecasts.drop_nulls(["gfs", "cmc"])
    gfs, cmc = there["gfs"].to_numpy(), there["cmc"].to_numpy()
    assert 0.4 < np.corrcoef(gfs, cmc)[0, 1] < 0.85
    assert np.corrcoef(np.abs(gfs - cmc), np.abs(gfs + cmc))[0, 1] > 0.1


def test_under_a_high_sun_forecasts_are_too_warm_in_domain_and_too_cold_in_snow(forecasts):
    def by_day(*climates: str) -> float:
        return forecasts.filter(pl.col("climate").is_in(climates), pl.col("sun_elevation") > 30)["gfs"].mean()

    assert by_day(*IN_DOMAIN) > 0.4
    assert by_day("snow", "polar") < by_day(*IN_DOMAIN) - 0.7


def test_what_forecasts_know_of_unsettled_air_tells_of_errors_and_of_the_shift(frame):
    known = frame.drop_nulls("gfs_r_velocity")
    shifted = known["climate"].is_in(["snow", "polar"]).to_numpy()
    unsettled = -known["gfs_r_velocity"].to_numpy()
    errors = (known["gfs_temperature_sea_interpolated"] - known["fact_temperature"]).to_numpy() ** 2
    assert np.corrcoef(unsettled[~shifted], errors[~shifted])[0, 1] > 0.15
    higher = np.searchsorted(np.sort(unsettled[~shifted]), unsettled[shifted]) / np.count_nonzero(~shifted)
    assert 0.65 < higher.mean() < 0.95  # the area under the ROC curve


def test_temperatures_are_drawn_from_the_known_truth(frame):
    known = example.truth()
    z = ((frame["fact_temperature"] - known["mean"]) / known["sd"]).to_numpy()
    # Standard errors at N records: 1/√N of the mean, 1/√(2N) of the spread.
    assert abs(z.mean()) < 4 / np.sqrt(len(z))
    assert abs(z.std() - 1) < 4 / np.sqrt(2 * len(z))
    for half_width, share in ((0.67449, 0.5), (1.95996, 0.95)):
        assert (np.abs(z) < half_width).mean() == pytest.approx(share, abs=0.015)


def test_a_trained_model_beats_the_forecast_in_domain_and_fails_under_shift(frame):
    names = [
        "sun_elevation", "climate_temperature", "climate_pressure", "topography_bathymetry", "gfs_pressure",
        *TWO_METRES.values(), "cmc_0_6_1_0", "gfs_cloudness", "gfs_wind_speed", "gfs_humidity",
    ]  # fmt: skip
    features, target = frame.select(names).to_numpy(), numbers(frame, "fact_temperature")
    at, inside = np.arange(len(target)) / len(target), frame["climate"].is_in(IN_DOMAIN).to_numpy()
    kept = np.random.default_rng(0).random(len(target)) < 0.8
    train = (at < 0.6) & inside & kept
    model = HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=15, random_state=0)
    errors = model.fit(features[train], target[train]).predict(features) - target
    forecast = numbers(frame, TWO_METRES["gfs"]) - target

    def root(values: np.ndarray, where: np.ndarray) -> float:
        return float(np.sqrt(np.nanmean(values[where] ** 2)))

    in_domain, shifted = (at < 0.6) & inside & ~kept, (at > 0.7) & (at <= 0.85) & ~inside
    assert root(errors, in_domain) < 0.92 * root(forecast, in_domain)
    assert root(errors, shifted) > 1.3 * root(errors, in_domain)
    assert np.mean(errors[(at > 0.7) & inside]) > np.mean(errors[in_domain]) + 0.1  # the drift


# --- files ----------------------------------------------------------------------------------------------------------


def test_parquet_holds_the_table_and_says_that_it_is_an_example(tmp_path):
    path = example.write(tmp_path / "weather.parquet", 3_000, 9)
    assert pl.read_parquet(path).equals(example.table(3_000, seed=9))
    assert pl.read_parquet_metadata(path)["shiftbench"] == "example weather rows=3000 seed=9"


def test_csv_is_written_as_the_official_files_are(tmp_path):
    path = example.write(tmp_path / "weather.csv", 1_000, 9)
    text = pl.read_csv(path, infer_schema=False)
    assert tuple(text.columns) == schema.NAMES
    assert set(text["fact_cwsm_class"]) <= {f"{code}.0" for code in schema.CODES}
    assert (
        text.with_columns(pl.col("fact_cwsm_class").cast(pl.Float64))
        .cast(schema.TYPES)
        .equals(example.table(1_000, seed=9))
    )


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_tables_of_several_pieces_are_written_in_order_and_progress_is_told(tmp_path, monkeypatch, suffix):
    monkeypatch.setattr(example, "blocks", lambda rows, seed: BLOCKS(rows, seed=seed, size=400))
    told: list[tuple[str, int, int]] = []
    path = example.write(tmp_path / f"weather{suffix}", 1_000, 0, lambda *state: told.append(state))
    read = pl.read_parquet(path) if suffix == ".parquet" else pl.read_csv(path)
    assert read["fact_time"].to_list() == example.table(1_000)["fact_time"].to_list()
    assert told == [("rows", 400, 1_000), ("rows", 800, 1_000), ("rows", 1_000, 1_000)]


BLOCKS = example.blocks


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_what_is_broken_off_leaves_no_file(tmp_path, suffix):
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped("enough")

    with pytest.raises(Exception, match="enough"):
        example.write(tmp_path / f"weather{suffix}", 1_000, 0, stop)
    assert list(tmp_path.iterdir()) == []


def test_memory_does_not_grow_with_rows():
    def peak(rows: int) -> int:
        tracemalloc.start()
        for _ in example.blocks(rows, size=2_000):
            pass
        found = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return found

    peak(2_000)
    assert peak(40_000) < 1.5 * peak(4_000)


def test_too_few_rows_a_negative_seed_and_other_formats_are_refused(tmp_path):
    with pytest.raises(SettingsError, match=r"rows: expected at least 1,000, found 999"):
        example.table(999)
    with pytest.raises(SettingsError, match=r"seed: expected a whole number >= 0, found -1"):
        example.table(1_000, seed=-1)
    with pytest.raises(SettingsError, match=r"expected \.csv or \.parquet, found '\.xlsx'"):
        example.write(tmp_path / "weather.xlsx", 1_000)
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(TableError, match="expected to write 1,000 rows"):
        example.write(blocked / "weather.csv", 1_000)
    assert [path.name for path in Path(tmp_path).iterdir()] == ["file"]
