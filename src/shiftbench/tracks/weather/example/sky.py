"""The true weather: the predictable part and the observations of stations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.tracks.weather.example import air, random_streams
from shiftbench.tracks.weather.example.air import MMHG, SEA_LEVEL_PA
from shiftbench.tracks.weather.example.random_streams import Field, RandomStreams, Values
from shiftbench.tracks.weather.example.stations import Stations, stations

STEP_H = 3  # between two observations of a station, and between two steps of a forecast

# By climate: tropical, dry, mild temperate, snow, polar.
DAILY_C = np.array([4.5, 7.5, 5.0, 5.5, 2.5])  # half the daily range under a high sun and a clear sky
WEATHER_C = np.array([0.9, 2.8, 3.4, 4.6, 4.4])  # amplitude of weather variations
UNREST = np.array([-0.35, -0.05, -0.05, 0.6, 0.75])  # mean logarithm of the unsettledness
NOISE_C = 0.85  # unpredictable: showers, valleys, the thermometer
CLOUDY = np.array([0.25, -0.9, 0.05, 0.2, 0.1])
WET = np.array([1.1, 1.3, 1.35, 1.4, 1.6])  # cloudiness above which precipitation begins

NO_CLOUDS, CLOUDS = 0.3, 0.72  # below the first: no clouds; above the second: cloudy; as shares of the sky
SNOW_BELOW, SLEET_BELOW = 0.0, 1.8  # °C


@dataclass(frozen=True)
class World:
    """Stations and weather, drawn once for a table."""

    stations: Stations
    warmth: Field
    pressure: Field
    moisture: Field
    west: Field
    south: Field
    blunder: Field
    doubt: Field


def world(rng: np.random.Generator, rows: int) -> World:
    """The stations and the weather of a table of `rows` rows; forecasts share the
    error `blunder`, and are less certain where `doubt` is high."""
    return World(
        stations(rng, rows),
        warmth=random_streams.field(rng, days=(4, 12)),
        pressure=random_streams.field(rng, days=(4, 10)),
        moisture=random_streams.field(rng, days=(2, 6)),
        west=random_streams.field(rng, days=(3, 8)),
        south=random_streams.field(rng, days=(3, 8)),
        blunder=random_streams.field(rng, days=(2, 5)),
        doubt=random_streams.field(rng, days=(3, 8)),
    )


@dataclass(frozen=True)
class Moment:
    """The predictable weather at one hour, each [N].

    warmth: °C above the season. cloud: increasing in cloud cover. pressure: at sea level, Pa.
    temperature: at 2 m, °C.
    """

    warmth: Values
    cloud: Values
    pressure: Values
    temperature: Values


def cover(cloud: Values) -> Values:
    """The share of the sky that is covered."""
    return np.asarray(1 / (1 + np.exp(-2 * cloud)))


def rate(wetness: Values) -> Values:
    """Precipitation in mm/h; 0 for negative wetness."""
    return np.asarray(0.8 * np.maximum(wetness, 0) ** 1.6)


def climatology(at: Stations, hours: Values) -> Values:
    """The mean 2 m temperature of a place and season in °C."""
    poleward = np.sin(np.radians(at.latitude)) ** 2
    yearly = 27 - 36 * poleward + at.warmer - 0.006 * at.height
    season = -np.tanh(at.latitude / 5) * np.cos(2 * np.pi * (air.FIRST_DAY + hours / 24 - 20) / 365.25)
    return np.asarray(yearly + (2 + 22 * poleward) * at.continentality * season)


def moment(world: World, at: Stations, hours: Values) -> Moment:
    """The weather of records at their hours since the start."""
    place = (at.latitude, at.longitude, hours)
    warmth = WEATHER_C[at.climate] * world.warmth.at(*place)
    cloud = CLOUDY[at.climate] + 0.8 * world.moisture.at(*place)
    deep = 200 + 900 * np.sin(np.radians(at.latitude)) ** 2
    noon = np.maximum(np.cos(np.radians(at.latitude) - air.declination(hours)), 0.05)
    daily = DAILY_C[at.climate] * noon * (1 - 0.6 * cover(cloud))
    clock = np.cos(2 * np.pi * (hours + at.longitude / 15 - 14.5) / 24)
    return Moment(
        warmth=warmth,
        cloud=cloud,
        pressure=SEA_LEVEL_PA + deep * (world.pressure.at(*place) - 0.4 * world.moisture.at(*place)),
        temperature=climatology(at, hours) + warmth + daily * clock + at.quirk,
    )


@dataclass(frozen=True)
class Sky:
    """The weather of records [N]: at the forecast step before, at the next one, and as observed in between.

    hours: since 1 September 2018, UTC. fraction: position between the steps. west, south: wind at 10 m in m/s.
    unrest: about 1; errors of forecasts and stations grow with it, and the forecasts know it approximately.
    mean, sd: the normal distribution from which `temperature` (°C) was drawn. code: the class, by its official code.
    """

    at: Stations
    hours: Values
    fraction: Values
    before: Moment
    after: Moment
    sun: Values
    west: Values
    south: Values
    unrest: Values
    mean: Values
    sd: Values
    temperature: Values
    code: Values

    @property
    def cloud(self) -> Values:
        """The predictable cloud at the hour of the observation."""
        return np.asarray(self.before.cloud + self.fraction * (self.after.cloud - self.before.cloud))

    @property
    def daylight(self) -> Values:
        """The sine of the sun's elevation; 0 at night."""
        return np.asarray(np.maximum(np.sin(np.radians(self.sun)), 0))

    @property
    def calm(self) -> Values:
        """1 without wind, 0 in a storm."""
        return np.asarray(np.exp(-(self.west**2 + self.south**2) / 20))

    @property
    def years(self) -> Values:
        """Years since the start."""
        return np.asarray(self.hours / 24 / 365)


def sky(world: World, at: Stations, steps: Values, draws: RandomStreams) -> Sky:
    """The weather of records at their stations, `steps` times three hours after the start."""
    hours = STEP_H * steps + at.offset
    before, after = (moment(world, at, STEP_H * (steps + further)) for further in (0, 1))
    now = moment(world, at, hours)
    sun = air.sun_elevation(at.latitude, at.longitude, hours)
    west, south = _wind(world, at, hours)
    clear_night = (1 - cover(now.cloud)) * (sun < 0)
    unrest = np.exp(UNREST[at.climate] + 0.5 * world.doubt.at(at.latitude, at.longitude, hours))
    sd = NOISE_C * unrest**0.8 * (0.85 + 0.2 * clear_night + 0.04 * np.hypot(west, south))
    temperature = now.temperature + sd * draws.normal()
    return Sky(
        at, hours, at.offset / STEP_H, before, after, sun, west, south, unrest,
        mean=now.temperature, sd=sd, temperature=temperature, code=_code(at, now.cloud, temperature, draws),
    )  # fmt: skip


def _wind(world: World, at: Stations, hours: Values) -> tuple[Values, Values]:
    place = (at.latitude, at.longitude, hours)
    north = np.radians(at.latitude)
    strength = 1.2 + 2.2 * np.abs(np.sin(north))
    # Trade winds from the east, westerlies farther from the equator.
    return -2 * np.cos(3 * north) + strength * world.west.at(*place), strength * world.south.at(*place)


def _code(at: Stations, cloud: Values, temperature: Values, draws: RandomStreams) -> Values:
    """Tens: none, partly cloudy, cloudy. Units: no precipitation, rain, sleet, snow."""
    cloud = cloud + 0.45 * draws.normal()
    covered = cover(cloud)
    wet = (1.3 * cloud + 0.7 * draws.normal() > WET[at.climate]) & (covered >= NO_CLOUDS)
    felt = temperature + 0.6 * draws.normal()
    kind = np.where(felt < SNOW_BELOW, 3, np.where(felt < SLEET_BELOW, 2, 1))
    clouds = np.searchsorted([NO_CLOUDS, CLOUDS], covered, side="right")
    return np.asarray(10 * clouds + np.where(wet, kind, 0))


def surroundings(seen: Sky, draws: RandomStreams) -> dict[str, Values]:
    """The official columns of time, place, targets and climate, before rounding."""
    at, usual = seen.at, climatology(seen.at, seen.hours)
    return {
        "fact_latitude": at.latitude,
        "fact_longitude": at.longitude,
        "fact_temperature": seen.temperature,
        "fact_cwsm_class": seen.code,
        "topography_bathymetry": at.height,
        "sun_elevation": seen.sun,
        "climate_temperature": usual + 0.3 * draws.normal(),
        "climate_pressure": air.pressure_at(at.height, SEA_LEVEL_PA, usual) / MMHG,
    }
