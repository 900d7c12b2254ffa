"""A made-up weather table of the official shape, with known truth.

Every value comes from the formulas in this package, so what a model should find, and what must mislead it under shift,
is known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench import argument
from shiftbench.progress import Progress
from shiftbench.tracks.weather import schema
from shiftbench.tracks.weather.example import columns, forecasts, sky
from shiftbench.tracks.weather.example.columns import Columns
from shiftbench.tracks.weather.example.forecasts import MODELS
from shiftbench.tracks.weather.example.random_streams import RandomStreams, Values
from shiftbench.tracks.weather.example.sky import STEP_H, Sky, World
from shiftbench.tracks.weather.example.writing import write_blocks

ROWS = 20_000
FEWEST_ROWS = 1_000
BLOCK = 32_768  # rows made at a time
STEPS = 365 * 24 // STEP_H


def table(rows: int = ROWS, *, seed: int = 0) -> pl.DataFrame:
    """The 129 official columns in their published order and types; exactly `rows` rows, roughly in order of time.

    One year from 1 September 2018. Stations lie in regions of the five climates, in the proportions of the official
    data, and report in turn, at multiples of three hours. Forecasts of three models have shared and individual errors,
    larger for longer lead times and colder climates; some runs are missing, and WRF covers only some regions. The nine
    classes follow from the true cloud and precipitation, which the models know in part.

    Two shifts are built in. In snow and polar climates the models err in the opposite direction: too cold by day, too
    warm on clear nights, anomalies exaggerated. And all models drift by 0.8 °C a year, which no column reveals.

    The same `rows` and `seed` give the same table everywhere: only uniform numbers of `Generator(PCG64)` are drawn,
    and every value is rounded far above the precision in which mathematical libraries differ.

    Raises:
        SettingsError: if `rows` is below 1,000, too few for every climate and partition, or `seed` below 0.
    """
    return pl.concat(blocks(rows, seed=seed))


def blocks(rows: int, *, seed: int = 0, size: int = BLOCK) -> Iterator[pl.DataFrame]:
    """The table in blocks of `size` rows; their concatenation does not depend on the size.

    Raises:
        SettingsError: as `table` does.
    """
    made = _made(rows, seed)
    argument.whole("size", size, 1)
    for start in range(0, rows, size):
        yield _frame(made, start, min(start + size, rows))


def truth(rows: int = ROWS, *, seed: int = 0) -> pl.DataFrame:
    """For each row of the table the normal distribution its temperature was drawn from: `mean` and `sd` in °C.

    Neither is in any column: this is the perfect forecast, for checks.

    Raises:
        SettingsError: as `table` does.
    """
    made = _made(rows, seed)
    skies = (made.sky(start, min(start + BLOCK, rows))[0] for start in range(0, rows, BLOCK))
    return pl.concat(pl.DataFrame({"mean": seen.mean, "sd": seen.sd}) for seen in skies)


def write(path: str | Path, rows: int | None = None, seed: int = 0, progress: Progress | None = None) -> Path:
    """Write the table whole or not at all, block by block: memory does not grow with `rows` (20,000 if None).

    CSV has the format of the official files: class codes as floats, empty fields for missing values. The metadata of
    Parquet state under `shiftbench` that it is an example.

    Raises:
        SettingsError: as `table` does, or if the suffix is neither .csv nor .parquet.
        TableError: if the file cannot be written.
    """
    rows = ROWS if rows is None else rows
    argument.callback("progress", progress)
    _made(rows, seed)
    made = partial(blocks, rows, seed=seed)
    return write_blocks(argument.path(path), made, rows, f"example weather rows={rows} seed={seed}", progress)


@dataclass(frozen=True)
class _Made:
    """Random quantities drawn once for a table; `luck`: those of the runs of each model."""

    rows: int
    seed: int
    world: World
    luck: dict[str, Values]

    def sky(self, start: int, stop: int) -> tuple[Sky, RandomStreams]:
        """The true weather of the rows `start` … `stop - 1`, and the remaining random stream for them."""
        row, draws = np.arange(start, stop), RandomStreams(self.seed, start, stop)
        stations = self.world.stations
        at = stations.at(row % len(stations.height))
        return sky.sky(self.world, at, row * STEPS // self.rows, draws), draws


def _made(rows: int, seed: int) -> _Made:
    advice = "Ask for more: every climate and every partition needs some."
    argument.whole("rows", rows, FEWEST_ROWS, 10**12, wanted=f"at least {FEWEST_ROWS:,}", advice=advice)
    argument.whole("seed", seed, advice="Choose another.")
    rng = np.random.Generator(np.random.PCG64(seed))
    world = sky.world(rng, rows)
    return _Made(rows, seed, world, {name: forecasts.runs(rng, model) for name, model in MODELS.items()})


def _frame(made: _Made, start: int, stop: int) -> pl.DataFrame:
    seen, draws = made.sky(start, stop)
    found = columns.rounded(sky.surroundings(seen, draws) | _forecasts(made, seen, draws))
    series = [
        pl.Series(schema.TIME, schema.START + 3600 * seen.hours, pl.Int64),
        pl.Series(schema.CLIMATE, np.array(schema.CLIMATES)[seen.at.climate]),
        *(pl.Series(name, values, nan_to_null=True) for name, values in found.items()),
    ]
    return pl.DataFrame(series).select(pl.col(name).cast(kind) for name, kind in schema.TYPES.items())


def _forecasts(made: _Made, seen: Sky, draws: RandomStreams) -> Columns:
    """The columns of the three models; NaN for missing forecasts."""
    common = forecasts.shared(made.world, seen, draws)
    predicted = {
        name: forecasts.forecast(model, made.luck[name], seen, common, draws) for name, model in MODELS.items()
    }
    present = {name: entry.available for name, entry in predicted.items()}
    present["wrf"] &= seen.at.wrf
    found = {
        "cmc": columns.cmc(seen, predicted["cmc"], draws),
        "gfs": columns.gfs(seen, predicted["gfs"], draws),
        "wrf": columns.wrf(seen, predicted["wrf"]),
    }
    every = {f"{name}_available": there.astype(float) for name, there in present.items()}
    every["gfs_soil_temperature_available"] = (present["gfs"] & seen.at.soil).astype(float)
    for name, there in present.items():
        every |= {column: np.where(there, values, np.nan) for column, values in found[name].items()}
    every["gfs_soil_temperature"] = np.where(seen.at.soil, every["gfs_soil_temperature"], np.nan)
    return every
