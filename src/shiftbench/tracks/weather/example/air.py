"""Physics of the atmosphere: the sun's elevation, humidity and dew point, pressure and height."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.weather.example.random_streams import Values

KELVIN = 273.15
SEA_LEVEL_PA = 101_325.0
LAPSE = 0.0065  # K/m, of the standard atmosphere
EXPONENT = 9.80665 / (287.05 * LAPSE)
MMHG = 133.322  # Pa
FIRST_DAY = 243  # 1 September 2018, in days since 1 January


def sun_elevation(latitude: Values, longitude: Values, hours: Values) -> Values:
    """The sun's elevation in degrees, without refraction; `hours` since 1 September 2018, UTC."""
    north, tilt = np.radians(latitude), declination(hours)
    angle = np.radians(15 * (hours % 24 - 12) + longitude)
    sine = np.sin(north) * np.sin(tilt) + np.cos(north) * np.cos(tilt) * np.cos(angle)
    return np.asarray(np.degrees(np.arcsin(np.clip(sine, -1, 1))))


def declination(hours: Values) -> Values:
    """The sun's declination in radians: a circular orbit with a first-order correction."""
    day = FIRST_DAY + hours / 24
    orbit = np.radians(360 / 365.24 * (day + 10) + 1.914 * np.sin(np.radians(360 / 365.24 * (day - 2))))
    return np.asarray(np.arcsin(-0.39779 * np.cos(orbit)))


def vapour_pressure(celsius: Values) -> Values:
    """The saturation pressure of water vapour in hPa, by the Magnus formula (Alduchov & Eskridge 1996)."""
    return np.asarray(6.1094 * np.exp(17.625 * celsius / (celsius + 243.04)))


def dew_point(celsius: Values, humidity: Values) -> Values:
    """The dew point in °C of air of a relative humidity in (0, 1]: the Magnus formula solved for the temperature."""
    logarithm = np.log(humidity) + 17.625 * celsius / (celsius + 243.04)
    return np.asarray(243.04 * logarithm / (17.625 - logarithm))


def pressure_at(height: Values, sea_level_pa: Values | float, ground_celsius: Values) -> Values:
    """The pressure in Pa at the ground, `height` m above the sea, by the barometric formula with a steady lapse."""
    sea_level = ground_celsius + KELVIN + LAPSE * height
    return np.asarray(sea_level_pa * (1 - LAPSE * height / sea_level) ** EXPONENT)


def height_at(level_pa: float, height: Values, ground_pa: Values, ground_celsius: Values) -> Values:
    """The height in m of a pressure level: the barometric formula solved for the height."""
    kelvin = ground_celsius + KELVIN
    return np.asarray(height + kelvin / LAPSE * (1 - (level_pa / ground_pa) ** (1 / EXPONENT)))


def temperature_at(level_pa: float, ground_pa: Values, ground_celsius: Values, top_celsius: Values) -> Values:
    """The temperature in °C at a pressure level; that of the tropopause (`top_celsius`) above it."""
    kelvin = (ground_celsius + KELVIN) * (level_pa / ground_pa) ** (1 / EXPONENT)
    return np.asarray(np.maximum(kelvin - KELVIN, top_celsius))
