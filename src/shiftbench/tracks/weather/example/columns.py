"""The forecasts under their official names, in their official units, and consistent with one another.

Names and units: Shifts 1.0, Appendix C.2. CMC and WRF give kelvin and pascal, GFS degrees Celsius and millimetres of
mercury.
"""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.weather.example import air, sky
from shiftbench.tracks.weather.example.air import KELVIN, MMHG, SEA_LEVEL_PA
from shiftbench.tracks.weather.example.forecasts import Forecast
from shiftbench.tracks.weather.example.random_streams import RandomStreams, Values
from shiftbench.tracks.weather.example.sky import STEP_H, Sky

Columns = dict[str, Values]

# CMC's pressure levels in hPa, and the ratio of the wind there to that at 10 m.
CMC_WINDS = {1000: 1.2, 925: 1.6, 850: 1.9, 700: 2.4, 500: 3.2}
CMC_TOTALS = {"rain": "cmc_0_1_65_0", "snow": "cmc_0_1_66_0", "ice": "cmc_0_1_67_0", "graupel": "cmc_0_1_68_0"}
# GFS's temperature levels in hPa.
GFS_LEVELS = (*range(100, 950, 50), 50, 70, 925, 950, 975)
DECIMALS = 3
FINER = {"cmc_0_1_0_0": 7, "gfs_a_vorticity": 9, "gfs_clouds_sea": 9}


def rounded(columns: Columns) -> Columns:
    """Every value rounded far above the precision in which mathematical libraries differ."""
    return {name: np.round(values, FINER.get(name, DECIMALS)) for name, values in columns.items()}


def _steps(name: str, before: Values, after: Values, fraction: Values | None = None) -> Columns:
    """A quantity at two steps and its change; with `fraction` also in between, linear in time."""
    value, following = np.round(before, DECIMALS), np.round(after, DECIMALS)
    found = {name: value, f"{name}_next": following, f"{name}_grad": following - value}
    return found if fraction is None else found | {f"{name}_interpolated": value + fraction * (following - value)}


def _percent(cloud: Values) -> Values:
    return np.asarray(100 * np.clip(1.2 * sky.cover(cloud) - 0.1, 0, 1))


def _level_noise(level_hpa: float, first: Values, second: Values) -> Values:
    # Errors of neighbouring levels are correlated: a normal number that varies slowly with height.
    return np.asarray(first * np.cos(level_hpa / 250) + second * np.sin(level_hpa / 250))


def _top(seen: Sky) -> Values:
    """The temperature of the tropopause in °C: coldest over the equator."""
    return np.asarray(-78 + 25 * np.sin(np.radians(seen.at.latitude)) ** 2)


def cmc(seen: Sky, forecast: Forecast, draws: RandomStreams) -> Columns:
    """CMC's columns without its flag."""
    depression = forecast.temperature - air.dew_point(forecast.temperature, forecast.humidity)
    vapour = forecast.humidity * air.vapour_pressure(forecast.temperature)
    found = _steps("cmc_0_0_0_2", forecast.temperature + KELVIN, forecast.temperature_next + KELVIN, seen.fraction)
    found |= {
        "cmc_0_0_6_2": forecast.temperature + KELVIN - depression,
        "cmc_0_0_7_2": depression,
        "cmc_0_1_0_0": 0.622 * vapour / (forecast.ground / 100 - 0.378 * vapour),
        "cmc_0_1_7_0": sky.rate(forecast.wetness),
        "cmc_0_1_11_0": 0.025 * np.maximum(2 - sky.climatology(seen.at, seen.hours), 0) * (1 + 0.5 * seen.at.quirk**2),
        "cmc_0_2_2_10": forecast.west,
        "cmc_0_2_3_10": forecast.south,
        "cmc_0_3_0_0": forecast.ground,
        "cmc_0_3_0_0_next": forecast.ground_next,
        "cmc_0_3_1_0": forecast.sea_level,
        "cmc_0_6_1_0": _percent(forecast.cloud),
        "cmc_horizon_h": forecast.horizon,
        "cmc_timedelta_s": 3600 * seen.at.offset,
    }
    return found | _cmc_levels(seen, forecast, draws) | _cmc_totals(forecast)


def _cmc_levels(seen: Sky, forecast: Forecast, draws: RandomStreams) -> Columns:
    first, second, top = draws.normal(), draws.normal(), _top(seen)
    found: Columns = {}
    for level, stronger in CMC_WINDS.items():
        pascal, noise = 100.0 * level, _level_noise(level, first, second)
        jet = 4 * (stronger - 1.2) * np.sin(2 * np.abs(np.radians(seen.at.latitude)))
        found |= {
            f"cmc_0_0_0_{level}": KELVIN
            + air.temperature_at(pascal, forecast.ground, forecast.free, top)
            + 0.5 * noise,
            f"cmc_0_0_7_{level}": np.maximum(25 * (1 - forecast.humidity) + (1000 - level) / 60 + 2 * noise, 0),
            f"cmc_0_2_2_{level}": stronger * forecast.west + jet + 0.8 * noise,
            f"cmc_0_2_3_{level}": stronger * forecast.south - 0.8 * noise,
            f"cmc_0_3_5_{level}": air.height_at(pascal, forecast.height, forecast.ground, forecast.free) + 3 * noise,
        }
    return found


def _cmc_totals(forecast: Forecast) -> Columns:
    """Accumulated precipitation since the start of the run, by type; the rates between steps follow from it."""
    found: Columns = {}
    for kind, share in forecast.kinds.items():
        found |= _steps(CMC_TOTALS[kind], share * forecast.total, share * (forecast.total + forecast.fallen))
    changes = sum(found[f"{name}_grad"] for name in CMC_TOTALS.values())
    return found | {"cmc_precipitations": np.asarray(changes / STEP_H)}


def gfs(seen: Sky, forecast: Forecast, draws: RandomStreams) -> Columns:
    """GFS's columns without its flags."""
    west, south = np.round(forecast.west, DECIMALS), np.round(forecast.south, DECIMALS)
    vapour = forecast.humidity * air.vapour_pressure(forecast.temperature)
    found = _steps("gfs_temperature_sea", forecast.temperature, forecast.temperature_next, seen.fraction)
    found |= _steps(
        "gfs_2m_dewpoint",
        air.dew_point(forecast.temperature, forecast.humidity),
        air.dew_point(forecast.temperature_next, forecast.humidity),
    )
    found |= {
        "gfs_humidity": 100 * forecast.humidity,
        "gfs_precipitable_water": 1.6 * vapour + 4 * sky.cover(forecast.cloud),
        "gfs_precipitations": forecast.fallen / STEP_H,
        "gfs_pressure": forecast.ground / MMHG,
        "gfs_r_velocity": 0.3 - 0.12 * forecast.cloud - 0.3 * seen.unrest + 0.04 * draws.normal(),
        "gfs_a_vorticity": 1.4584e-4 * np.sin(np.radians(seen.at.latitude))
        - 2e-8 * (forecast.sea_level - SEA_LEVEL_PA),
        "gfs_soil_temperature": _soil(seen, forecast),
        "gfs_u_wind": west,
        "gfs_v_wind": south,
        "gfs_wind_speed": np.hypot(west, south),
        "gfs_horizon_h": forecast.horizon,
        "gfs_timedelta_s": 3600 * seen.at.offset,
    }
    return found | _gfs_levels(seen, forecast, draws) | _gfs_clouds(forecast, draws)


def _soil(seen: Sky, forecast: Forecast) -> Values:
    """The soil temperature, which follows the season and half of the weather; near freezing under snow."""
    bare = (
        sky.climatology(seen.at, seen.hours) + 0.5 * seen.before.warmth + 0.3 * (forecast.temperature - forecast.free)
    )
    return np.asarray(np.where(bare < 0, 0.6 * bare, bare))


def _gfs_levels(seen: Sky, forecast: Forecast, draws: RandomStreams) -> Columns:
    first, second, top = draws.normal(), draws.normal(), _top(seen)
    return {
        f"gfs_temperature_{100 * level}": air.temperature_at(100.0 * level, forecast.ground, forecast.free, top)
        + 0.5 * _level_noise(level, first, second)
        for level in GFS_LEVELS
    }


def _gfs_clouds(forecast: Forecast, draws: RandomStreams) -> Columns:
    covers = {
        "middle": _percent(forecast.cloud - 0.4 + 0.4 * draws.normal()),
        "high": _percent(0.8 * forecast.cloud - 0.2 + 0.6 * draws.normal()),
    }
    found = {f"gfs_total_clouds_cover_{layer}": np.round(values, DECIMALS) for layer, values in covers.items()}
    found |= _steps("gfs_total_clouds_cover_low", _percent(forecast.cloud - 0.2), _percent(forecast.cloud_next - 0.2))
    layers = [found[f"gfs_total_clouds_cover_{layer}"] for layer in ("low", "middle", "high")]
    thick = np.maximum(layers[0] / 100 - 0.6, 0)
    return found | {"gfs_cloudness": np.asarray(sum(layers) / 100), "gfs_clouds_sea": 1e-4 * thick}


def wrf(seen: Sky, forecast: Forecast) -> Columns:
    """WRF's columns without its flag."""
    kinds, mean = forecast.kinds, forecast.fallen / STEP_H
    storm = 0.05 * np.clip(forecast.temperature / 15 - 1, 0, 1)  # the share of hail on hot days
    return _steps("wrf_t2", forecast.temperature + KELVIN, forecast.temperature_next + KELVIN, seen.fraction) | {
        "wrf_rain": mean * kinds["rain"] * (1 - storm),
        "wrf_hail": mean * kinds["rain"] * storm,
        "wrf_snow": mean * kinds["snow"],
        "wrf_graupel": mean * (kinds["ice"] + kinds["graupel"]),
        "wrf_psfc": forecast.ground,
        "wrf_rh2": forecast.humidity,
        "wrf_wind_u": forecast.west,
        "wrf_wind_v": forecast.south,
    }
