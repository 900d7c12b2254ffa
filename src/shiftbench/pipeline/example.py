"""A made-up table with known truth: daily electricity demand of stations, with known noise for every row.

Every value comes from the formulas below, so what a model should find is known.
"""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import argument
from shiftbench.io import files, tables
from shiftbench.io.executor import memory

Values = npt.NDArray[Any]

KEY = "shiftbench"  # in the metadata of a table
MADE_BY = "example table"
ROWS = 20_000
FEWEST_ROWS = 400
BYTES_A_ROW = 600  # at the peak
MOST_STATIONS = 150
ROWS_A_STATION = 20  # minimum, so that small tables keep several dates
START = np.datetime64("2021-01-01", "D")
DAYS = 800  # the time covered, whatever the number of rows

REGIONS = np.array(["north", "south", "east", "west"])
REGION_SHARES = np.array([1 / 3, 2 / 9, 2 / 9, 2 / 9])
COLDER_C = np.array([5.0, -3.0, 0.0, 1.0])  # how much colder a region is than the country
HEATING = np.array([0.028, 0.022, 0.022, 0.022])  # relative demand per degree below 16 °C
SECTORS = np.array(["residential", "commercial", "industrial"])
WEEKEND = np.array([1.05, 0.80, 0.90])  # factor on Saturdays and Sundays, by sector
GROWTH_A_YEAR = 0.03  # not in any column: later dates drift away from the training data


def table(rows: int = ROWS, *, seed: int = 0) -> pl.DataFrame:
    """One row per station and day, in the order of time; exactly `rows` rows.

    The target `demand_mw` is drawn from a normal distribution with mean `truth_mean` and standard deviation
    `truth_sd` (both in MW and in the table, for checks; no model may see them). The standard deviation rises
    with wind, frost and holidays. `level` is the demand relative to the station's base load as a class: low,
    medium or high. About 1.5 % of the targets are missing, as are some features.

    Two shifts are built in. The region `north` is 5 °C colder and responds to cold a quarter more strongly; and
    demand grows by 3 % a year, which no feature reveals. `forecast` is an imaginary forecast: in every region and
    at every time its distance from `truth_mean` has 0.8 times the standard deviation of the noise.

    The same `rows` and `seed` give the same table everywhere: only uniform numbers of `Generator(PCG64)` are
    drawn, and every value is rounded far above the precision in which mathematical libraries differ.

    Raises:
        SettingsError: if `rows` is below 400, too few to fill every partition, or more than memory holds.
    """
    advice = "Ask for more: every partition needs some."
    argument.whole("rows", rows, FEWEST_ROWS, wanted=f"at least {FEWEST_ROWS}", advice=advice)
    argument.whole("seed", seed)
    memory.require(rows, BYTES_A_ROW, what="rows")
    rng = np.random.Generator(np.random.PCG64(seed))
    stations = _stations(rng, min(MOST_STATIONS, rows // ROWS_A_STATION))
    count = len(stations["station"])
    dates = -(-rows // count)
    at = np.tile(np.arange(count), dates)[:rows]
    day = np.repeat(np.arange(dates) * DAYS // dates, count)[:rows]
    columns = {name: values[at] for name, values in stations.items()}
    columns |= _conditions(rng, columns, day)
    columns |= _demand(rng, columns, day)
    return _frame(rng, columns)


def write(path: str | Path, *, rows: int = ROWS, seed: int = 0) -> tuple[Path, Path]:
    """Write the table (Parquet or CSV, by the suffix) and the settings of a run on it; return both paths.

    The settings file is beside the table with the same stem: `table.parquet` and `table.toml`.
    """
    target, settings = paths(path)
    metadata = {KEY: f"{MADE_BY} rows={rows} seed={seed}"} if target.suffix == ".parquet" else None
    tables.write_table(table(rows, seed=seed), target, metadata=metadata)
    return target, files.write_text(settings, _settings(target))


def paths(path: str | Path) -> tuple[Path, Path]:
    """The files that `write` writes: the table, and the settings beside it."""
    target = argument.path(path)
    return target, target.with_name(target.name.split(".")[0] + ".toml")


def replaceable(path: str | Path) -> bool:
    """Whether the settings beside the table are missing, or unchanged since `write`, with any rows and seed."""
    target, settings = paths(path)
    try:
        return files.read_bytes(settings) == _settings(target).encode() and not settings.is_symlink()
    except FileNotFoundError:
        return not settings.is_symlink()


def _settings(table: Path) -> str:
    return SETTINGS.format(table=_quoted(table.name))


def normal(rng: np.random.Generator, *size: int) -> Values:
    """Normal numbers [size] from uniform ones: the algorithm of `standard_normal` may change between versions."""
    first, second = rng.random(size), rng.random(size)
    return np.asarray(np.sqrt(-2 * np.log1p(-first)) * np.cos(2 * np.pi * second))


SETTINGS = """\
# One run of shiftbench: what to predict, where the shift is, what to train, what to report.
table = {table}        # relative to this file
target = "demand_mw"
unit = "MW"
threshold = 25.0               # an acceptable squared error, in MW²
clusters = "station"
slices = ["region", "season"]
baselines = ["forecast"]
drop = ["truth_*", "level"]
seed = 0

[partition]
id = "id"
time = "date"
fractions = [0.6, 0.1, 0.15, 0.15]   # of the sorted time: in-domain, unused gap, dev_out, eval_out
group = "region"
shifted = ["north"]

[method]
name = "boosting"
members = 10

[assessment]
rule = "published"
replicates = 1000
"""


def _quoted(name: str) -> str:
    return '"' + name.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _stations(rng: np.random.Generator, count: int) -> dict[str, Values]:
    region = np.searchsorted(np.cumsum(REGION_SHARES)[:-1], (np.arange(count) + 0.5) / count)
    return {
        "station": np.array([f"S{number:03d}" for number in range(count)]),
        "region": region,
        "sector": np.floor(rng.random(count) * len(SECTORS)).astype(int),
        "base_mw": np.round(40 + 60 * rng.random(count), 1),
        "altitude_m": np.round(900 * rng.random(count) ** 2),
        "solar": rng.random(count) < 0.4,
    }


def _conditions(rng: np.random.Generator, station: dict[str, Values], day: Values) -> dict[str, Values]:
    size = len(day)
    date = START + day
    angle = 2 * np.pi * (day - 20) / 365.25  # the coldest day is 21 January
    # Half of the weather of a day is shared by all stations, so that stations and days are both clusters.
    country = normal(rng, day.max() + 1)[day]
    seasonal = 13 - 10 * np.cos(angle) - COLDER_C[station["region"]] - 0.0065 * station["altitude_m"]
    temperature = np.round(seasonal + 2.5 * country + 2.5 * normal(rng, size), 1)
    return {
        "date": date,
        "temperature_c": temperature,
        "temperature_before_c": np.round(temperature + 1.5 * normal(rng, size), 1),
        "wind_ms": np.round(3 * np.sqrt(-2 * np.log1p(-rng.random(size))), 1),
        "cloud": np.round(rng.random(size), 2),
        "humidity": np.round(0.35 + 0.6 * rng.random(size), 2),
        "pressure_hpa": np.round(1013 + 8 * normal(rng, size), 1),
        "daylight_h": np.round(12 - 4.3 * np.cos(angle), 2),
        "holiday": rng.random(day.max() + 1)[day] < 0.04,
        "maintenance": rng.random(size) < 0.03,
    }


def _demand(rng: np.random.Generator, at: dict[str, Values], day: Values) -> dict[str, Values]:
    frost, heat = np.maximum(16 - at["temperature_c"], 0), np.maximum(at["temperature_c"] - 22, 0)
    weekend = (day + 4) % 7 >= 5  # 1 January 2021 was a Friday
    factor = np.where(weekend, WEEKEND[at["sector"]], 1.0) * np.where(at["holiday"], 0.85, 1.0)
    sun = np.where(at["solar"], 0.12 * (1 - at["cloud"]), 0.0)
    growth = 1 + GROWTH_A_YEAR * day / 365.25
    relative = factor * growth * (0.8 + HEATING[at["region"]] * frost + 0.03 * heat - sun)
    mean = np.round(at["base_mw"] * relative, 3)
    bitter = np.maximum(-at["temperature_c"], 0)
    spread = 0.02 + 0.009 * at["wind_ms"] + 0.004 * bitter + 0.06 * at["holiday"]
    sd = np.round(at["base_mw"] * spread, 3)
    demand = np.round(mean + sd * normal(rng, len(day)), 3)
    relative_demand = demand / at["base_mw"]
    return {
        "forecast": np.round(mean + 0.8 * sd * normal(rng, len(day)), 2),
        "demand_mw": demand,
        "level": np.where(relative_demand < 0.85, "low", np.where(relative_demand < 1.1, "medium", "high")),
        "truth_mean": mean,
        "truth_sd": sd,
    }


def _frame(rng: np.random.Generator, columns: dict[str, Values]) -> pl.DataFrame:
    dates = [day.isoformat() for day in columns["date"].astype(datetime.date)]
    ids = [f"{station}-{day}" for station, day in zip(columns["station"], dates, strict=True)]
    named = columns | {"region": REGIONS[columns["region"]], "sector": SECTORS[columns["sector"]]}
    frame = pl.DataFrame({"id": ids} | named).with_columns(season=_season(columns["date"]))
    shares = {"wind_ms": 0.05, "humidity": 0.08, "pressure_hpa": 0.03, "sector": 0.02}
    for name, share in shares.items():
        frame = _with_missing(frame, rng.random(frame.height) < share, name)
    frame = _with_missing(frame, rng.random(frame.height) < 0.015, "demand_mw", "level")
    return frame.select(ORDER)


ORDER = (
    "id", "date", "station", "region", "season", "sector", "base_mw", "altitude_m", "solar",
    "temperature_c", "temperature_before_c", "wind_ms", "cloud", "humidity", "pressure_hpa", "daylight_h",
    "holiday", "maintenance", "forecast", "demand_mw", "level", "truth_mean", "truth_sd",
)  # fmt: skip


def _season(date: Values) -> pl.Series:
    month = date.astype("datetime64[M]").astype(int) % 12
    return pl.Series(np.array(["winter", "spring", "summer", "autumn"])[(month + 1) % 12 // 3])


def _with_missing(frame: pl.DataFrame, missing: Values, *names: str) -> pl.DataFrame:
    kept = pl.Series(~missing)
    return frame.with_columns(pl.when(kept).then(pl.col(name)).alias(name) for name in names)
