from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from shiftbench.errors import SettingsError, TableError
from shiftbench.io.output import MARK
from shiftbench.tracks.power import example, schema
from shiftbench.tracks.power.example import generalization, labels, noise, random_streams, voyages, writing
from shiftbench.tracks.power.example.minutes import ACCELERATION, CURRENT_ACROSS, Minutes, World, world
from shiftbench.tracks.power.example.random_streams import Mixture
from shiftbench.tracks.power.example.voyages import PERIOD, SHORTEST_STAY
from shiftbench.tracks.power.physics.ship import ship
from tests.output.killing import kill, killed_later

ROWS = 200_000
TRAIN, DEV = 39.4 * schema.MONTH_MINUTES, 46.0 * schema.MONTH_MINUTES


@pytest.fixture(scope="module")
def made() -> World:
    return world(0)


@pytest.fixture(scope="module")
def exact(made) -> Minutes:
    """Every seventh minute at sea, without noise."""
    return made.at(np.arange(0, made.voyages.records, 7))


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    return with_wind(example.table(ROWS))


@pytest.fixture(scope="module")
def everywhere() -> pl.DataFrame:
    return generalization.sample(150_000, 3)


def with_wind(table: pl.DataFrame) -> pl.DataFrame:
    over_ground = pl.col(schema.SPEED) + pl.col(schema.CURRENT_ALONG)
    return table.with_columns(
        wind=((pl.col(schema.WIND_ALONG) - over_ground) ** 2 + pl.col(schema.WIND_ACROSS) ** 2).sqrt()
    )


def minutes_of(table: pl.DataFrame) -> Minutes:
    """The minutes that columns stand for."""
    column = {name: table[name].to_numpy().astype(float) for name in schema.NAMES}
    along = column[schema.WIND_ALONG] - column[schema.SPEED] - column[schema.CURRENT_ALONG]
    across = column[schema.WIND_ACROSS]
    return Minutes(
        column[schema.TIME_ID],
        column[schema.DRAFT_AFT],
        column[schema.DRAFT_FORE],
        column[schema.SPEED],
        column[ACCELERATION],
        np.hypot(along, across),
        np.arctan2(across, along),
        column[schema.CURRENT_ALONG],
        column[CURRENT_ACROSS],
        column[schema.WAVE_HEIGHT],
    )


def correlation(table: pl.DataFrame, first: str, second: str) -> float:
    return float(table.select(pl.corr(first, second)).item())


# --- form -----------------------------------------------------------------------------------------------------------


def test_tables_have_the_official_columns_in_order_of_time():
    table = example.table(2_000, seed=4)
    assert table.schema == pl.Schema(schema.TYPES)
    assert table.height == 2_000
    assert table[schema.TIME_ID].is_sorted()
    assert table[schema.TIME_ID].n_unique() == 2_000
    assert (table[schema.SINCE_DRY_DOCK] - table[schema.TIME_ID] == 10_776).all()
    assert sum(table.null_count().row(0)) == 0
    assert table.select(pl.all().is_finite().all()).row(0) == (True,) * 12


def test_values_have_six_digits_after_the_point():
    values = example.table(1_000).drop(schema.TIME_ID).to_numpy()
    np.testing.assert_array_equal(values, values.round(6))


def test_the_first_minute_at_sea_is_the_first_of_the_index_and_the_last_is_in_the_64th_month(made):
    first, last = made.at(np.array([0, made.voyages.records - 1])).time_id
    assert first == 0
    assert 0.99 * PERIOD < last < PERIOD


def test_seeds_decide():
    assert example.table(1_000, seed=1).equals(example.table(1_000, seed=1))
    assert not example.table(1_000, seed=1).equals(example.table(1_000, seed=2))


def test_some_rows_are_a_random_part_of_all(made, frame):
    times = frame[schema.TIME_ID].to_numpy()
    every = made.voyages.minute(np.arange(made.voyages.records))
    assert np.isin(times, every).all()
    # Kolmogorov's distance of a sample without replacement: below 2/√N but once in thousands.
    at = np.arange(1, ROWS + 1) / ROWS
    assert np.abs(np.searchsorted(every, times) / len(every) - at).max() < 2 / np.sqrt(ROWS)


# --- what the real data are like ------------------------------------------------------------------------------------


def published_mix(table: pl.DataFrame) -> pl.DataFrame:
    """Rows of the strata of train, dev_in and dev_out, with weights as many as the synthetic set holds of each."""
    time = pl.col(schema.TIME_ID)
    train = table.filter(time < TRAIN, pl.col("wind") < 19)
    shifted = table.filter(time >= TRAIN, time < DEV, pl.col("wind") >= 19, pl.col("wind") < 26)
    counts = {name: schema.total("synthetic", name) for name in ("train", "dev_in", "dev_out")}
    inside = counts["train"] + counts["dev_in"]
    return pl.concat(
        [
            train.with_columns(weight=pl.lit(inside / train.height)),
            shifted.with_columns(weight=pl.lit(counts["dev_out"] / shifted.height)),
        ]
    )


def mean_and_spread(table: pl.DataFrame, name: str) -> tuple[float, float]:
    values, weights = table[name].to_numpy(), table["weight"].to_numpy()
    mean = np.average(values, weights=weights)
    return float(mean), float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))


@pytest.mark.parametrize("name", [*schema.INPUTS, schema.POWER])
def test_means_and_spreads_are_those_of_the_real_data(frame, name):
    mean, spread = schema.STATISTICS[name]
    if name == ACCELERATION:  # the published noise is wider than all that the real ship does
        spread = float(np.hypot(spread, noise.SPREAD[name]))
    found_mean, found_spread = mean_and_spread(published_mix(frame), name)
    assert abs(found_mean - mean) < 0.05 * spread
    assert found_spread == pytest.approx(spread, rel=0.15)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_other_seeds_have_the_same_climate(seed):
    table = with_wind(example.table(60_000, seed=seed))
    for name, (mean, spread) in schema.STATISTICS.items():
        wide = float(np.hypot(spread, noise.SPREAD[name])) if name == ACCELERATION else spread
        found_mean, found_spread = mean_and_spread(published_mix(table), name)
        assert abs(found_mean - mean) < 0.06 * wide, name
        assert found_spread == pytest.approx(wide, rel=0.15), name


def test_acceleration_without_noise_is_that_of_the_real_ship(exact):
    mean, spread = schema.STATISTICS[ACCELERATION]
    calm = exact.acceleration[(exact.time_id < TRAIN) & (exact.wind_kn < 19)]
    assert abs(calm.mean() - mean) < 0.05 * spread
    assert calm.std() == pytest.approx(spread, rel=0.15)


@pytest.mark.needs_shared
def test_quartiles_and_ranges_resemble_the_real_ones(frame, shared):
    with (shared / "data/power/real_all_describe.csv").open() as file:
        real = {
            line.pop("feature"): {key: float(value) for key, value in line.items()} for line in csv.DictReader(file)
        }
    mix = published_mix(frame)
    rows = mix.sample(100_000, seed=0, with_replacement=True, shuffle=True)
    for name, known in real.items():
        if name in (schema.TIME_ID, ACCELERATION):
            continue
        for share in ("25%", "50%", "75%"):
            found = rows[name].quantile(float(share[:-1]) / 100)
            assert abs(found - known[share]) < 0.22 * known["std"], (name, share)
        assert known["min"] - 0.75 * known["std"] < rows[name].min() < known["min"] + 0.6 * known["std"], name
        assert known["max"] - 1.3 * known["std"] < rows[name].max() < known["max"] + 0.75 * known["std"], name


def test_strata_hold_the_published_counts_with_room_to_spare(exact):
    wind, time = exact.wind_kn, exact.time_id
    inside = (time < TRAIN) & (wind < 19)
    found = {
        "train": 7 * inside.sum(),
        "dev_out": 7 * ((time >= TRAIN) & (time < DEV) & (wind >= 19) & (wind < 26)).sum(),
        "eval_out": 7 * ((time >= DEV) & (wind >= 19) & (wind <= 40)).sum(),
    }
    needed = {name: schema.total("synthetic", name) for name in schema.PARTITIONS}
    assert found["train"] > 1.5 * (needed["train"] + needed["dev_in"] + needed["eval_in"])
    assert found["dev_out"] > 1.3 * needed["dev_out"]
    assert found["eval_out"] > 1.5 * needed["eval_out"]


def test_wind_intervals_have_the_published_shares(frame):
    wind = published_mix(frame).filter(pl.col(schema.TIME_ID) < TRAIN)["wind"].to_numpy()
    counts = np.array(schema.COUNTS["synthetic"]["train"][:3])
    bounds = [0.0, *(interval.high_kn for interval in schema.INTERVALS[:3])]
    np.testing.assert_allclose(np.histogram(wind, bounds)[0] / len(wind), counts / counts.sum(), atol=0.015)


def test_winds_reach_forty_knots(exact):
    assert 38 < exact.wind_kn.max() <= 40.5


# --- what depends on what -------------------------------------------------------------------------------------------


def test_wind_raises_waves(frame):
    assert correlation(frame, "wind", schema.WAVE_HEIGHT) > 0.5


def test_power_grows_about_with_the_cube_of_speed(frame):
    logarithms = frame.select(pl.col(schema.SPEED, schema.POWER).log())
    slope = np.polyfit(*logarithms.to_numpy().T, 1)[0]
    assert 2.5 < slope < 3.8


@pytest.mark.parametrize(
    "name",
    [schema.WIND_ALONG, "wind", schema.WAVE_HEIGHT, schema.SINCE_DRY_DOCK, schema.DRAFT_AFT, ACCELERATION],
)
def test_at_one_speed_all_that_resists_costs_power(frame, name):
    same_speed = frame.filter(pl.col(schema.SPEED).is_between(18.3, 18.9))
    assert correlation(same_speed, name, schema.POWER) > 0.1


@pytest.mark.parametrize(
    "name", [schema.WIND_ALONG, "wind", schema.WAVE_HEIGHT, schema.SINCE_DRY_DOCK, schema.DRAFT_AFT]
)
def test_over_all_speeds_too(frame, name):
    assert correlation(frame, name, schema.POWER) > 0.03  # 13 standard errors, were the records independent


# --- voyages --------------------------------------------------------------------------------------------------------


def test_there_is_one_record_a_minute_at_sea_and_none_in_port(made):
    voyages = made.voyages
    record = np.arange(voyages.records)
    steps = np.diff(voyages.minute(record))
    assert np.count_nonzero(steps != 1) == len(voyages.start) - 1
    assert steps[steps != 1].min() > SHORTEST_STAY
    np.testing.assert_array_equal(np.unique(voyages.leg(record), return_counts=True)[1], voyages.minutes)


def test_days_in_port_are_long_in_the_poor_months_and_short_later(made):
    minute = made.voyages.minute(np.arange(made.voyages.records))
    poor, later = np.array([0, 14.5]) * schema.MONTH_MINUTES, np.array([15, 63]) * schema.MONTH_MINUTES
    shares = [np.mean((minute >= low) & (minute < high)) * len(minute) / (high - low) for low, high in (poor, later)]
    assert shares[0] == pytest.approx(0.5, abs=0.06)
    assert shares[1] == pytest.approx(0.82, abs=0.03)


def test_drafts_change_once_a_day_by_what_is_burnt(made):
    voyages = made.voyages
    record = np.arange(voyages.records)
    leg, (aft, fore) = voyages.leg(record), voyages.drafts(record)
    for draft in (aft, fore):
        change = np.diff(draft)[np.diff(leg) == 0]
        assert (change < 1e-9).all()
        assert change.min() > -0.101
        at = (record - voyages.first[leg])[1:][(np.diff(leg) == 0) & (np.diff(draft) != 0)]
        assert (at % 1_440 == 0).all()
    light = (aft + fore) / 2 < 11
    assert (aft - fore)[light].mean() > (aft - fore)[~light].mean() > 0


def test_acceleration_is_the_change_of_speed_over_ground_in_three_minutes(made):
    record = made.voyages.first[7] + np.arange(600)
    minutes = made.at(record)
    over_ground = minutes.speed_kn + minutes.current_along
    np.testing.assert_allclose(minutes.acceleration[3:], over_ground[3:] - over_ground[:-3], atol=1e-9)
    assert np.abs(minutes.acceleration).max() > 0.3  # the ramp from pilotage to full ahead


def test_speeds_keep_to_the_orders_and_are_slow_near_ports(made, exact):
    voyages = made.voyages
    assert 5 < exact.speed_kn.min() < 6
    assert 22 < exact.speed_kn.max() < 25
    ends = np.concatenate([voyages.first, voyages.first + voyages.minutes - 1])
    assert made.at(ends).speed_kn.max() < 11
    assert 0.4 < np.mean((exact.speed_kn > 18) & (exact.speed_kn < 19.75)) < 0.7


def test_courses_and_distances_are_those_of_the_map(monkeypatch):
    monkeypatch.setattr(voyages, "LEGS", (((0.0, 0.0), (0.0, 2.0), (3.0, 2.0)), ((60.0, 0.0), (60.0, -1.0))))
    course, miles = voyages.passage(0)
    np.testing.assert_allclose(np.degrees(course), [90, 0])
    np.testing.assert_allclose(miles, [120, 180])
    np.testing.assert_allclose(voyages.passage(1)[1], [30])  # half as long at 60°
    np.testing.assert_allclose(np.degrees(voyages.passage(1)[0]), [270])
    np.testing.assert_allclose(np.degrees(voyages.passage(2)[0]), [90])  # and back
    np.testing.assert_allclose(np.degrees(voyages.passage(3)[0]), [180, 270])


def test_legs_join_into_one_line_but_for_the_canal():
    ends = [(leg[-1], following[0]) for leg, following in zip(voyages.LEGS[:-1], voyages.LEGS[1:], strict=True)]
    assert [end for end in ends if end[0] != end[1]] == [((31.6, 32.4), (29.7, 32.5))]


# --- weather --------------------------------------------------------------------------------------------------------


def lagged(made: World, first: str, second: str, hours: float) -> float:
    """The correlation of one with the other so many hours later, at sea."""
    minute = made.weather.minute
    known = minute[np.isin(minute + 60 * hours, minute)]
    return float(np.corrcoef(made.weather.at(first, known), made.weather.at(second, known + 60 * hours))[0, 1])


def test_weather_remembers_and_forgets(made):
    for name in ("wind_along", "wind_across", "wave_m", "current_along", "current_across"):
        assert lagged(made, name, name, 1) > 0.8, name
        assert abs(lagged(made, name, name, 100)) < 0.5 * lagged(made, name, name, 6), name


def test_waves_follow_the_wind(made):
    weather = made.weather
    wind = np.hypot(weather.wind_along, weather.wind_across)
    same_leg = np.diff(weather.minute[::6])[:-1] == 360
    wind, wave = wind[::6], weather.wave_m[::6]
    after = np.corrcoef(wind[:-2][same_leg], wave[1:-1][same_leg])[0, 1]
    before = np.corrcoef(wind[1:-1][same_leg], wave[:-2][same_leg])[0, 1]
    assert after > before + 0.05


def test_wind_turns_with_the_course(made):
    # Where the course changes, the wind's direction seen from the ship changes by as much, nearly.
    weather, voyages = made.weather, made.voyages
    relative = np.arctan2(weather.wind_across, weather.wind_along)
    course = voyages.course(weather.minute)
    turned = (np.diff(course) + np.pi) % (2 * np.pi) - np.pi
    seen = (np.diff(relative) + np.pi) % (2 * np.pi) - np.pi
    sharp = (np.abs(turned) > 0.5) & (np.diff(weather.minute) == 60)
    assert sharp.sum() > 100
    assert np.corrcoef(turned[sharp], -seen[sharp])[0, 1] > 0.6


# --- chance ---------------------------------------------------------------------------------------------------------


def test_wandering_has_variance_one_and_forgets_exponentially_whatever_the_steps():
    minutes = np.cumsum(np.tile([10.0, 50.0], 20_000))
    values = random_streams.wandering(random_streams.stream(0, 0), minutes, (100.0, 30.0))
    np.testing.assert_allclose(values.std(axis=0), 1, atol=0.03)
    for column, memory in zip(values.T, (100.0, 30.0), strict=True):
        for start, step in ((0, 50.0), (1, 10.0)):
            found = np.corrcoef(column[start:-1:2], column[start + 1 :: 2])[0, 1]
            assert found == pytest.approx(np.exp(-step / memory), abs=0.02)


def test_frequencies_are_weighted_shares_of_their_batch(rng):
    latent, weights = rng.normal(size=50), rng.uniform(0.1, 3, 50)
    found = random_streams.frequencies(latent, weights, 25)
    for batch in (slice(0, 25), slice(25, 50)):
        z, w = latent[batch], weights[batch]
        slow = [(w[z < value].sum() + w[z == value].sum() / 2) / w.sum() for value in z]
        np.testing.assert_allclose(found[batch], slow)


def test_mixtures_have_the_quantiles_of_their_bells():
    one = Mixture(-5.0, 11.0, ((1.0, 3.0, 1.0),))
    np.testing.assert_allclose(one.quantile(np.array([0.158655, 0.5, 0.841345])), [2, 3, 4], atol=2e-3)
    two = Mixture(0.0, 10.0, ((0.25, 2.0, 0.1), (0.75, 8.0, 0.1)))
    np.testing.assert_allclose(two.quantile(np.array([0.125, 0.625])), [2, 8], atol=5e-3)
    assert (two.quantile(np.array([0.0, 1.0])) == [0, 10]).all()


# --- noise ----------------------------------------------------------------------------------------------------------


@pytest.mark.needs_shared
def test_noise_on_inputs_is_that_of_table_19(shared):
    with (shared / "facts/schema/power_noise.csv").open() as file:
        table = {line["feature"]: float(line["sigma"]) for line in csv.DictReader(file)}
    wind = table.pop("awind_speed_provider")
    assert {**table, schema.WIND_ALONG: wind, schema.WIND_ACROSS: wind} == noise.SPREAD


def test_noise_on_inputs_is_normal_independent_and_leaves_time_alone(exact):
    columns = exact.columns()
    noisy = noise.on_inputs(columns, random_streams.stream(9, 4))
    far = (columns[schema.WAVE_HEIGHT] > 0.6) & (columns[schema.WIND_ACROSS] > 3)  # nothing is folded there
    added = np.array([(noisy[name] - columns[name])[far] for name in noise.SPREAD])
    n = added.shape[1]
    np.testing.assert_allclose(added.std(axis=1), list(noise.SPREAD.values()), rtol=4 / np.sqrt(2 * n))
    assert (np.abs(added.mean(axis=1)) < 4 * added.std(axis=1) / np.sqrt(n)).all()
    assert np.abs(np.corrcoef(added) - np.eye(9)).max() < 5 / np.sqrt(n)
    for name in (schema.TIME_ID, schema.SINCE_DRY_DOCK):
        assert noisy[name] is columns[name]


def test_unsigned_inputs_are_folded_at_nought():
    calm = {name: np.zeros(20_000) for name in noise.SPREAD}
    noisy = noise.on_inputs(calm, random_streams.stream(0, 4))
    for name in noise.UNSIGNED:
        assert noisy[name].min() >= 0
        assert noisy[name].mean() == pytest.approx(noise.SPREAD[name] * np.sqrt(2 / np.pi), rel=0.03)
    assert noisy[schema.WIND_ALONG].min() < 0


@pytest.mark.parametrize(("power_kw", "wind_kn", "spread"), [(40e3, 0, 1e3), (0.0, 40, 1e3), (20e3, 20, 500 * 2**0.5)])
def test_noise_on_power_grows_with_power_and_wind(power_kw, wind_kn, spread):
    power = np.full(100_000, power_kw + 1e6)  # far above where it is folded
    noisy = noise.on_power(power, np.full(len(power), float(wind_kn)), random_streams.stream(0, 4))
    added = float(np.std(noisy - power))
    assert added == pytest.approx(np.hypot(0.025 * (1e6 + power_kw), 25 * wind_kn), rel=0.01)
    noisy = noise.on_power(np.full(100_000, power_kw), np.full(100_000, float(wind_kn)), random_streams.stream(0, 4))
    if power_kw:
        assert noisy.std() == pytest.approx(spread, rel=0.01)
        assert noisy.mean() == pytest.approx(power_kw, rel=0.001)
    assert noisy.min() >= labels.LEAST_KW


def test_power_is_that_of_the_exact_inputs(made, monkeypatch):
    monkeypatch.setattr(noise, "RELATIVE", 0.0)
    monkeypatch.setattr(noise, "KW_A_KNOT", 0.0)
    table = example.table(1_000)
    voyages = made.voyages
    minute = table[schema.TIME_ID].to_numpy()
    leg = np.searchsorted(voyages.start, minute, side="right") - 1
    minutes = made.at(voyages.first[leg] + minute - voyages.start[leg])
    power_kw, possible = labels.power(ship(), minutes)
    assert possible.all()
    np.testing.assert_allclose(table[schema.POWER].to_numpy(), power_kw, rtol=1e-9, atol=1e-6)


def test_true_wind_follows_from_exact_columns(exact):
    table = pl.DataFrame(exact.columns())
    np.testing.assert_allclose(with_wind(table)["wind"].to_numpy(), exact.wind_kn, atol=1e-9)


def test_minutes_the_engine_cannot_give_and_those_without_thrust_are_left_out(made, monkeypatch):
    monkeypatch.setattr(noise, "RELATIVE", 0.0)
    monkeypatch.setattr(noise, "KW_A_KNOT", 0.0)
    power = example.table(100_000)[schema.POWER]
    assert power.min() >= labels.LEAST_KW
    assert 0.97 < power.max() / (1.1 * ship().drive.mcr_kw) <= 1
    stopping = made.at(np.arange(5))
    drifting = Minutes(**{**vars(stopping), "acceleration": np.full(5, -5.0)})
    assert not labels.power(ship(), drifting)[1].any()


# --- the generalisation set -----------------------------------------------------------------------------------------


@pytest.mark.needs_shared
def test_ranges_of_the_generalisation_set_are_those_of_table_20(shared):
    with (shared / "facts/schema/power_generalization_ranges.csv").open() as file:
        table = {line["feature"]: (float(line["min"]), float(line["max"])) for line in csv.DictReader(file)}
    assert table["speed over ground"] == generalization.OVER_GROUND_KN
    assert table["draft aft"] == table["draft fore"] == generalization.DRAFT_M
    assert table["true wind speed"] == generalization.WIND_KN
    assert table["current speed"] == generalization.CURRENT_KN
    assert table["waves"] == generalization.WAVE_M
    assert table["relative wind angle"] == table["relative current angle"] == (0, 360)
    assert (0, 2 * np.pi) == generalization.ANGLE_RAD


def test_generalisation_records_are_uniform_and_independent(everywhere):
    minutes = minutes_of(everywhere)
    current = np.hypot(minutes.current_along, minutes.current_across)
    found = {
        "speed": ((minutes.over_ground_kn, *generalization.OVER_GROUND_KN)),
        "aft": (minutes.draft_aft_m, *generalization.DRAFT_M),
        "fore": (minutes.draft_fore_m, *generalization.DRAFT_M),
        "wind": (minutes.wind_kn, *generalization.WIND_KN),
        "wind angle, sign lost": (minutes.wind_angle_rad, 0, np.pi),
        "current": (current, *generalization.CURRENT_KN),
        "current angle": (np.arctan2(minutes.current_across, minutes.current_along), -np.pi, np.pi),
        "waves": (minutes.wave_m, *generalization.WAVE_M),
        "time": (minutes.time_id, 0, PERIOD),
    }
    shares = np.array([(values - low) / (high - low) for values, low, high in found.values()])
    assert shares.min() > -1e-6
    assert shares.max() < 1 + 1e-6
    at = (np.arange(shares.shape[1]) + 0.5) / shares.shape[1]
    # 0.6 % drawn again, all slow, on top of Kolmogorov's 2/√N
    assert np.abs(np.sort(shares, axis=1) - at).max() < 0.006 + 2 / np.sqrt(len(at))
    assert np.abs(np.corrcoef(shares) - np.eye(len(shares))).max() < 0.02
    assert (everywhere[ACCELERATION] == 0).all()
    assert (everywhere[schema.SINCE_DRY_DOCK] - everywhere[schema.TIME_ID] == 10_776).all()


def test_generalisation_labels_are_those_of_the_physics_for_the_columns_themselves(everywhere):
    rows = everywhere.head(5_000)
    power_kw, possible = labels.power(ship(), minutes_of(rows))
    assert possible.mean() > 0.999  # but for the last digit
    np.testing.assert_allclose(rows[schema.POWER].to_numpy(), power_kw, rtol=1e-4)
    assert rows.schema == pl.Schema(schema.TYPES)


def test_generalisation_records_go_far_beyond_the_voyages(everywhere, frame):
    trained = published_mix(frame)
    for name in (schema.WIND_ACROSS, schema.WAVE_HEIGHT, schema.POWER):
        assert everywhere[name].std() > 1.3 * trained[name].std()
    assert everywhere[schema.POWER].quantile(0.25) < 0.5 * trained[schema.POWER].quantile(0.25)


def test_slow_records_make_the_relative_errors(everywhere):
    power_kw, wind_kn = everywhere[schema.POWER].to_numpy(), minutes_of(everywhere).wind_kn
    assert np.mean(1_000 / power_kw) == pytest.approx(0.3, abs=0.05)
    noisy_kw = noise.on_power(power_kw, wind_kn, random_streams.stream(0, random_streams.NOISE))
    assert np.mean(np.abs(noisy_kw - power_kw) / noisy_kw) == pytest.approx(0.12, abs=0.02)


def test_records_without_an_operating_point_are_drawn_again_and_counted(monkeypatch):
    plain = generalization.drawn(2_000, 0)
    assert plain[0].height == 2_000
    assert 0 < plain[1] < 60
    true = labels.power

    def half(vessel, minutes):
        power_kw, possible = true(vessel, minutes)
        return power_kw, possible & (minutes.wave_m > 3)

    monkeypatch.setattr(labels, "power", half)
    table, again = generalization.drawn(2_000, 0)
    assert table.height == 2_000
    assert table[schema.WAVE_HEIGHT].min() > 3
    assert again == pytest.approx(2_000, rel=0.15)


def test_generalisation_sets_are_repeatable_and_made_in_blocks(monkeypatch):
    monkeypatch.setattr(generalization, "BLOCK", 300)
    told: list[tuple[str, int, int]] = []
    table, _ = generalization.drawn(1_000, 5, progress=lambda *state: told.append(state))
    assert table.equals(generalization.sample(1_000, 5))
    assert not table.equals(generalization.sample(1_000, 6))
    assert told[-1] == ("generalization, records", 1_000, 1_000)
    assert len(told) >= 4


@pytest.mark.parametrize(
    ("records", "seed", "message"),
    [
        (0, 0, "records: expected a whole number from 1 .*, found 0"),
        (10, -1, "seed: expected a whole number >= 0, found -1"),
    ],
)
def test_impossible_generalisation_sets_are_refused(records, seed, message):
    with pytest.raises(SettingsError, match=message):
        generalization.sample(records, seed)


# --- files ----------------------------------------------------------------------------------------------------------


def test_a_folder_holds_both_files_and_says_that_they_are_an_example(tmp_path):
    told: list[tuple[str, int, int]] = []
    folder = example.write(tmp_path / "power", 1_000, 9, lambda *state: told.append(state))
    assert sorted(path.name for path in folder.iterdir()) == [MARK, writing.GENERALIZATION, writing.RECORDS]
    records, others = (pl.read_parquet(folder / name) for name in (writing.RECORDS, writing.GENERALIZATION))
    assert records.equals(example.table(1_000, seed=9))
    assert others.equals(generalization.sample(1_250, 9))
    said = [pl.read_parquet_metadata(folder / name)["shiftbench"] for name in (writing.RECORDS, writing.GENERALIZATION)]
    again = generalization.drawn(1_250, 9)[1]
    assert said[0] == "example power rows=1000 seed=9"
    assert said[1] == f"example power rows=1000 seed=9 generalization redrawn={again}"
    assert told[-1] == ("generalization, records", 1_250, 1_250)
    assert ("voyages", 1_000, 1_000) in told


def test_same_seed_same_bytes(tmp_path):
    first, second = (example.write(tmp_path / name, 1_000, 2) for name in ("first", "second"))
    for name in (writing.RECORDS, writing.GENERALIZATION):
        assert (first / name).read_bytes() == (second / name).read_bytes()


def test_what_is_broken_off_leaves_nothing_and_an_earlier_example_as_it_was(tmp_path):
    class Stopped(Exception):
        pass

    def stop(stage: str, *_: object) -> None:
        if stage == "generalization, records":
            raise Stopped("enough")

    with pytest.raises(Stopped, match="enough"):
        example.write(tmp_path / "new", 1_000, 0, stop)
    assert list(tmp_path.iterdir()) == []
    before = example.write(tmp_path / "old", 1_000, 1)
    kept = pl.read_parquet(before / writing.RECORDS)
    with pytest.raises(Stopped, match="enough"):
        example.write(before, 1_000, 0, stop)
    assert pl.read_parquet(before / writing.RECORDS).equals(kept)
    assert not pl.read_parquet(example.write(before, 1_000, 0) / writing.RECORDS).equals(kept)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_what_a_killed_run_left_behind_goes_with_the_next(tmp_path):
    with killed_later(tmp_path):
        example.write(tmp_path / "power", 1_000, 0, lambda *_: kill())
    assert {path.name for path in tmp_path.iterdir()} == {".power.making", ".power.shiftbench"}
    example.write(tmp_path / "power", 1_000)
    assert [path.name for path in tmp_path.iterdir()] == ["power"]


def test_other_folders_are_left_alone(tmp_path):
    (tmp_path / "thesis.tex").write_text("years of work")
    with pytest.raises(SettingsError, match=r"found another, with 'thesis\.tex' in it"):
        example.write(tmp_path, 1_000)
    blocked = tmp_path / "thesis.tex" / "power"
    with pytest.raises(SettingsError, match=r"thesis\.tex: expected a folder, found a file"):
        example.write(blocked, 1_000)
    assert [path.name for path in Path(tmp_path).iterdir()] == ["thesis.tex"]


def test_a_disk_without_room_is_told_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "ROW_BYTES", 10**15)
    with pytest.raises(TableError, match=r"expected about .* MB of room"):
        example.write(tmp_path / "power", 1_000)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rows", [999, 3_000_000])
def test_too_few_or_too_many_rows_are_refused(tmp_path, rows):
    with pytest.raises(SettingsError, match=rf"rows: expected 1,000 to 2,000,000, found {rows:,}"):
        example.write(tmp_path / "power", rows)
    with pytest.raises(SettingsError, match=r"seed: expected a whole number >= 0, found -1"):
        example.table(1_000, seed=-1)
