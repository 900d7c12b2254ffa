"""Locations of the made-up stations: regions of the continents, each of one climate."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.pipeline.example import normal
from shiftbench.tracks.weather.example.random_streams import Values
from shiftbench.tracks.weather.schema import CLIMATES

# Of all records, by climate: in-domain as in the published training set, snow and polar as in the published dev_out
# (before it was thinned) and eval_out.
SHARES = np.array([0.082, 0.136, 0.398, 0.350, 0.034])
MOST, FEWEST, ROWS_A_STATION = 8_000, 40, 25


@dataclass(frozen=True)
class Region:
    """A box on land, in degrees; `low`, `high`: heights of stations in m; `share`: of the stations of its climate.

    warmer: °C above the mean of the latitude. continentality: amplitude of the seasons, 1 for the latitude's average.
    wrf: whether the regional model covers it.
    """

    climate: str
    south: float
    north: float
    west: float
    east: float
    share: float
    low: float
    high: float
    warmer: float
    continentality: float
    wrf: bool


REGIONS = (
    Region("tropical", -9, 2, -69, -54, 0.25, 20, 300, 0, 0.6, False),  # Amazon
    Region("tropical", -4, 4, 12, 27, 0.15, 300, 700, 0, 0.6, False),  # Congo
    Region("tropical", 12, 18, 99, 106, 0.25, 5, 400, 3, 0.8, True),  # Indochina
    Region("tropical", -17, -8, -52, -45, 0.2, 200, 900, 2, 0.6, True),  # Brazil
    Region("tropical", -2, 3, 111, 116.5, 0.15, 5, 500, 0, 0.4, False),  # Borneo
    Region("dry", 19, 30, -3, 30, 0.2, 100, 900, 4, 1.2, False),  # Sahara
    Region("dry", 20, 30, 43, 54, 0.15, 50, 1_000, 5, 1.2, True),  # Arabia
    Region("dry", 40, 46, 56, 66, 0.2, 50, 500, 1, 1.4, True),  # Turan
    Region("dry", 32, 36, -116, -104, 0.2, 400, 2_200, 4, 1.1, True),  # western United States
    Region("dry", -30, -21, 120, 141, 0.15, 100, 600, 2, 1.2, False),  # Australia
    Region("dry", -27, -22, 18, 23, 0.1, 700, 1_200, 6, 1.1, False),  # Kalahari
    Region("mild temperate", 46, 52, 0, 9, 0.3, 5, 1_200, 3, 0.65, True),  # western Europe
    Region("mild temperate", 51.5, 54.5, -3, 0, 0.1, 5, 350, 5.5, 0.4, True),  # England
    Region("mild temperate", 31, 37, -94, -80, 0.25, 20, 500, 2, 1.0, True),  # southeastern United States
    Region("mild temperate", 24, 32, 106, 118, 0.15, 20, 1_000, -1, 1.3, False),  # China
    Region("mild temperate", -37, -26, -62, -52, 0.1, 10, 600, 1, 0.8, False),  # Pampas
    Region("mild temperate", -38, -33, 146, 150, 0.1, 20, 1_100, 0, 0.6, True),  # southeastern Australia
    Region("snow", 52, 62, 33, 58, 0.3, 50, 350, 2, 0.85, True),  # European Russia
    Region("snow", 53, 65, 62, 125, 0.2, 50, 700, -4, 1.4, True),  # Siberia
    Region("snow", 50, 60, -118, -95, 0.15, 200, 900, -1, 1.15, False),  # Canada
    Region("snow", 42, 47, -96, -72, 0.15, 50, 500, -1, 1.1, True),  # northern United States
    Region("snow", 60, 66, 23, 30, 0.1, 5, 300, 4, 0.75, True),  # Finland
    Region("snow", 43, 49, 122, 130, 0.1, 50, 700, -4, 1.4, False),  # Manchuria
    Region("polar", 66, 68, -112, -93, 0.35, 5, 300, -9, 0.75, False),  # Canadian Arctic
    Region("polar", 66, 69, 171, 179, 0.3, 5, 500, -5, 0.75, False),  # Chukotka
    Region("polar", 68, 77, -45, -32, 0.05, 1_500, 2_500, -5, 0.7, False),  # Greenland
    Region("polar", -72, -69, 20, 120, 0.1, 20, 1_500, -4, 0.6, False),  # Antarctica
    Region("polar", 32, 35, 82, 92, 0.2, 4_300, 5_200, 9, 1.1, False),  # Tibet
)


@dataclass(frozen=True)
class Stations:
    """Stations [S]; `at` takes those of records [N].

    climate: index in CLIMATES. latitude, longitude: degrees. height: m. relief: height of the models' ground above the
    station, m. quirk: local temperature anomaly, °C. offset: hours after 0, 3, … UTC at which it reports. soil, wrf:
    whether GFS has soil here, and whether WRF covers it.
    """

    climate: Values
    latitude: Values
    longitude: Values
    height: Values
    warmer: Values
    continentality: Values
    relief: Values
    quirk: Values
    offset: Values
    soil: Values
    wrf: Values

    def at(self, index: Values) -> Stations:
        """The stations of records, by index."""
        return Stations(**{name: values[index] for name, values in vars(self).items()})


def stations(rng: np.random.Generator, rows: int) -> Stations:
    """Stations for a table of `rows` rows: one for every 25, at least 40 and at most 8,000."""
    count = min(MOST, max(FEWEST, rows // ROWS_A_STATION))
    region = _regions(rng, count)

    def of(name: str) -> Values:
        return np.array([getattr(entry, name) for entry in REGIONS])[region]

    height = np.round(of("low") + (of("high") - of("low")) * rng.random(count) ** 2)
    return Stations(
        climate=np.array([CLIMATES.index(entry.climate) for entry in REGIONS])[region],
        latitude=np.round(of("south") + (of("north") - of("south")) * rng.random(count), 2),
        longitude=np.round(of("west") + (of("east") - of("west")) * rng.random(count), 2),
        height=height,
        warmer=of("warmer"),
        continentality=of("continentality"),
        relief=(20 + 0.15 * np.minimum(height, 1_500)) * normal(rng, count),
        quirk=0.4 * normal(rng, count),
        offset=np.floor(3 * rng.random(count)),
        soil=rng.random(count) < 0.94,
        wrf=of("wrf"),
    )


def _regions(rng: np.random.Generator, count: int) -> Values:
    # Exact shares in random order, so that small tables have every climate, too.
    weights = np.array([SHARES[CLIMATES.index(entry.climate)] * entry.share for entry in REGIONS])
    ranked = np.searchsorted(np.cumsum(weights / weights.sum())[:-1], (np.arange(count) + 0.5) / count)
    return np.asarray(ranked[np.argsort(rng.random(count), kind="stable")])
