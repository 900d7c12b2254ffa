"""Made-up weather along the voyages: hourly wind, waves and currents with memory."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shiftbench.tracks.power.example import random_streams
from shiftbench.tracks.power.example.random_streams import Mixture, Values
from shiftbench.tracks.power.example.voyages import Voyages

HOUR = 60.0  # minutes
HOURS_A_BATCH = 2_400

# Memory in minutes of wind speed, wind direction (east, north), swell, and currents
WIND, TURNING, SWELL, EDDIES = 30 * HOUR, 50 * HOUR, 90 * HOUR, 7 * HOUR
SEA = 8 * HOUR  # minutes that the wind needs to raise a sea

# Light airs, trade winds and gales
WIND_KN = Mixture(0.0, 40.5, ((0.41, 5.3, 2.9), (0.505, 16.1, 3.5), (0.085, 24.0, 6.0)))
# The relative direction's density, 1 + 2·A·cos θ + 2·B·cos 2θ over 2π: more often along the track than across it
HEAD_WIND, ALONG_TRACK = -0.07, 0.125

WAVE_SCALE_M, WAVE_SHAPE, HIGHEST_WAVE_M = 2.03, 1.85, 6.0
WIND_IN_WAVES = 0.75  # of the waves' variance on their latent scale; the rest is swell

STRONGEST_KN = 2.0  # of a current's component
CURRENT_KN = (0.255, 0.187)  # along, across: the width of the normal core
CURRENT_TAIL = 1.25


@dataclass(frozen=True)
class Weather:
    """Weather at K times in minutes since the first record, seen from the ship; linear in between.

    wind_along, wind_across: components in kn of the true wind from ahead and from starboard. wave_m: the significant
    height of wind sea and swell. current_along, current_across: components in kn of the movement of the water.
    """

    minute: Values
    wind_along: Values
    wind_across: Values
    wave_m: Values
    current_along: Values
    current_across: Values

    def at(self, name: str, minute: Values) -> Values:
        """One of the five quantities at times [N]."""
        return np.asarray(np.interp(minute, self.minute, getattr(self, name)))


def weather(seed: int, voyages: Voyages) -> Weather:
    """The weather of a seed along its voyages, every hour from three minutes before a leg to its end."""
    rng = random_streams.stream(seed, random_streams.WEATHER)
    minute = _hours(voyages)
    memory = (WIND, TURNING, TURNING, SWELL, EDDIES, EDDIES)
    wind, east, north, swell, along, across = random_streams.wandering(rng, minute, memory).T
    kn = WIND_KN.quantile(_share(wind))
    angle = _relative(np.arctan2(east, north) - voyages.course(minute))
    return Weather(
        minute,
        kn * np.cos(angle),
        kn * np.sin(angle),
        _waves(minute, wind, swell),
        _current(along, CURRENT_KN[0]),
        _current(across, CURRENT_KN[1]),
    )


def _hours(voyages: Voyages) -> Values:
    counts = np.ceil((voyages.minutes + 3) / HOUR).astype(int) + 1
    return np.concatenate(
        [start - 3 + HOUR * np.arange(count) for start, count in zip(voyages.start, counts, strict=True)]
    )


def _share(latent: Values) -> Values:
    return random_streams.frequencies(latent, np.ones(len(latent)), HOURS_A_BATCH)


def _relative(angle: Values) -> Values:
    """Directions relative to the course in rad, spread by the density of HEAD_WIND and ALONG_TRACK."""
    grid = np.linspace(0, 2 * np.pi, random_streams.GRID)
    below = (grid + 2 * HEAD_WIND * np.sin(grid) + ALONG_TRACK * np.sin(2 * grid)) / (2 * np.pi)
    return np.interp(_share(angle % (2 * np.pi)), below, grid)


def _waves(minute: Values, wind: Values, swell: Values) -> Values:
    """Significant wave height in m: a Weibull distribution, driven by the wind of the last hours and by swell."""
    kept = np.exp(-np.diff(minute, prepend=-np.inf) / SEA)[:, None]
    raised = random_streams.remembered(kept, (1 - kept) * wind[:, None])[:, 0]
    share = _share(np.sqrt(WIND_IN_WAVES) * raised / raised.std() + np.sqrt(1 - WIND_IN_WAVES) * swell)
    highest = -np.expm1(-((HIGHEST_WAVE_M / WAVE_SCALE_M) ** WAVE_SHAPE))
    return np.asarray(WAVE_SCALE_M * (-np.log1p(-highest * share)) ** (1 / WAVE_SHAPE))


def _current(latent: Values, core_kn: float) -> Values:
    """A component in kn with heavy tails, core·sinh(tail·z)/tail of a normal z, limited to the strongest."""
    reach = np.arcsinh(STRONGEST_KN * CURRENT_TAIL / core_kn) / CURRENT_TAIL
    z = Mixture(-reach, reach, ((1.0, 0.0, 1.0),)).quantile(_share(latent))
    return np.asarray(core_kn * np.sinh(CURRENT_TAIL * z) / CURRENT_TAIL)
