"""Three forecast models with shared and individual errors, independent of the names of their columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.tracks.weather.example import air, sky
from shiftbench.tracks.weather.example.random_streams import RandomStreams, Values
from shiftbench.tracks.weather.example.sky import STEP_H, Sky, World

SPREAD_C = 1.2  # of a forecast's errors in average conditions
# By climate: tropical, dry, mild temperate, snow, polar. What is learned from the first three misleads in the others.
BY_DAY_C = np.array([0.6, 1.2, 0.9, -1.6, -1.2])  # warm bias under a high sun and a clear sky
INVERSION_C = np.array([0.4, 1.2, 1.0, 2.6, 3.2])  # warm bias in clear and calm nights
EXAGGERATED = np.array([-0.05, -0.05, -0.05, 0.12, 0.15])  # relative error of the anomaly from the season
DRIFT_C = 0.8  # a year; in no column
HUMID = np.array([0.2, -0.15, 0.1, 0.12, 0.15])

MISSING_RUNS, LATE_RUNS = 0.02, 0.06  # a late run is replaced by the previous one


@dataclass(frozen=True)
class Model:
    """The characteristics of a model.

    bias: °C. systematic, own: factors of the shared and of its own errors. relief: the share of the relief that its
    grid does not resolve. every_h, delay_h: the interval between runs, and the age of a run when it is published.
    """

    bias: float
    systematic: float
    own: float
    relief: float
    every_h: int
    delay_h: int


CMC = Model(bias=-0.3, systematic=0.9, own=1.0, relief=1.0, every_h=12, delay_h=9)
GFS = Model(bias=0.4, systematic=1.15, own=1.1, relief=1.2, every_h=6, delay_h=6)
WRF = Model(bias=0.1, systematic=1.0, own=0.95, relief=0.4, every_h=6, delay_h=6)
MODELS = {"cmc": CMC, "gfs": GFS, "wrf": WRF}


def runs(rng: np.random.Generator, model: Model) -> Values:
    """For each run of a model in the year: a uniform number that determines whether it is missing or late."""
    return rng.random(370 * 24 // model.every_h)


@dataclass(frozen=True)
class Shared:
    """Errors that all models share, each [N]."""

    systematic: Values
    scale: Values
    temperature: Values
    cloud: Values
    wetness: Values


def shared(world: World, seen: Sky, draws: RandomStreams) -> Shared:
    """The errors that the models share, since they use the same observations and the same physics."""
    climate, at = seen.at.climate, seen.at
    clear = 1 - sky.cover(seen.cloud)
    systematic = (
        BY_DAY_C[climate] * seen.daylight * clear
        + INVERSION_C[climate] * clear * seen.calm * (seen.sun < 0)
        + EXAGGERATED[climate] * seen.before.warmth
        + DRIFT_C * (seen.years - 0.3)
        - at.quirk  # unresolved by any grid
    )
    cold = np.clip((10 - sky.climatology(at, seen.hours)) / 30, 0, 1)
    place = (at.latitude, at.longitude, seen.hours)
    scale = SPREAD_C * seen.unrest * (0.9 + 0.15 * cold)
    return Shared(
        systematic=systematic,
        scale=scale,
        temperature=scale * (0.45 * world.blunder.at(*place) + 0.35 * draws.normal()),
        cloud=0.3 * draws.normal(),
        wetness=0.25 * draws.normal(),
    )


@dataclass(frozen=True)
class Forecast:
    """One model's forecast, each [N], at the step before the observation and (`…_next`) the step after it.

    cloud, wetness: increasing in cloud cover and precipitation. humidity: 0-1. temperature: at 2 m, °C. free: of the
    air above the ground, without the daily cycle, °C. height: of the model's ground, m. sea_level, ground: pressure in
    Pa. west, south: wind at 10 m in m/s. total: precipitation since the start of the run, in mm.
    """

    available: Values
    horizon: Values
    temperature: Values
    temperature_next: Values
    free: Values
    cloud: Values
    cloud_next: Values
    wetness: Values
    wetness_next: Values
    humidity: Values
    height: Values
    sea_level: Values
    sea_level_next: Values
    west: Values
    south: Values
    total: Values

    @property
    def ground(self) -> Values:
        """The pressure at the model's ground."""
        return air.pressure_at(self.height, self.sea_level, self.free)

    @property
    def ground_next(self) -> Values:
        """The pressure at the model's ground at the next step."""
        return air.pressure_at(self.height, self.sea_level_next, self.free)

    @property
    def fallen(self) -> Values:
        """Precipitation between the steps in mm."""
        return np.asarray(STEP_H * (sky.rate(self.wetness) + sky.rate(self.wetness_next)) / 2)

    @property
    def kinds(self) -> dict[str, Values]:
        """The shares of precipitation by type: rain, snow, and near freezing ice rain and graupel."""
        frozen = 1 / (1 + np.exp(np.clip((self.temperature - 0.8) / 0.5, -40, 40)))
        mixed = 0.4 * frozen * (1 - frozen)  # taken equally from rain and snow
        return {"rain": 1 - frozen - mixed, "snow": frozen - mixed, "ice": 1.2 * mixed, "graupel": 0.8 * mixed}


def forecast(model: Model, luck: Values, seen: Sky, common: Shared, draws: RandomStreams) -> Forecast:
    """A model's forecasts for the records; `luck`: the random numbers of its runs."""
    available, horizon = _run(model, luck, seen)
    grown = np.sqrt(0.6 + 0.04 * horizon)  # errors grow with the lead time
    before, after = seen.before, seen.after
    cloud_error = common.cloud + 0.3 * draws.normal()
    cloud, cloud_next = before.cloud + cloud_error, after.cloud + cloud_error + 0.15 * draws.normal()
    relief = model.relief * seen.at.relief
    error = (
        model.bias
        + model.systematic * common.systematic
        + grown * (common.temperature + model.own * 0.6 * common.scale * draws.normal())
        - air.LAPSE * relief
        - 1.5 * cloud_error * (seen.daylight - 0.25)  # spurious clouds cool the day and warm the night
    )
    dry = -sky.WET[seen.at.climate] + common.wetness
    sea_level_error = 60 * grown * draws.normal()
    return Forecast(
        available=available,
        horizon=horizon,
        temperature=before.temperature + error,
        temperature_next=after.temperature + error + 0.2 * common.scale * draws.normal(),
        free=sky.climatology(seen.at, seen.hours) + before.warmth + 0.5 * error,
        cloud=cloud,
        cloud_next=cloud_next,
        wetness=1.3 * cloud + dry + 0.25 * draws.normal(),
        wetness_next=1.3 * cloud_next + dry + 0.25 * draws.normal(),
        humidity=_humidity(seen, cloud, draws),
        height=np.maximum(seen.at.height + relief, 0),
        sea_level=before.pressure + sea_level_error,
        sea_level_next=after.pressure + sea_level_error,
        west=seen.west + 0.8 * grown * draws.normal(),
        south=seen.south + 0.8 * grown * draws.normal(),
        total=horizon * 0.7 * sky.rate(1.3 * cloud + dry + 0.5 * draws.normal()),
    )


def _run(model: Model, luck: Values, seen: Sky) -> tuple[Values, Values]:
    """Whether there is a forecast, and its lead time in hours at the step before the observation."""
    step = seen.hours - seen.at.offset
    latest = np.floor((step - model.delay_h) / model.every_h).astype(np.int64)
    drawn = luck[latest]  # runs before the start are at the end of the array
    late = (drawn >= MISSING_RUNS) & (drawn < MISSING_RUNS + LATE_RUNS)
    return drawn >= MISSING_RUNS, step - model.every_h * (latest - late)


def _humidity(seen: Sky, cloud: Values, draws: RandomStreams) -> Values:
    humid = 0.35 + HUMID[seen.at.climate] + 0.4 * sky.cover(cloud) - 0.15 * seen.daylight + 0.05 * draws.normal()
    return np.asarray(np.clip(humid, 0.05, 1))
