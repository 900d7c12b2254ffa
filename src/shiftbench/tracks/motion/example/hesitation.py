"""Drivers in rain and snow: now and then one slows down on a road that seems slippery, and then drives on."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.motion.example.habits import WeatherEffects
from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.schema import HZ

MOST = 12  # times that a driver hesitates in a scene
SHORTEST_S, LONGEST_S = 1.0, 4.0
LEAST, GREATEST = 0.15, 0.5  # shares of the allowed speed that are dared meanwhile


def dared(weather: WeatherEffects, steps: int, drivers: int, rng: np.random.Generator) -> Floats:
    """The share of the allowed speed at which each driver drives: float64 [steps, V], 1 except while hesitating.

    The seconds from one hesitation to the next have an exponential distribution with mean `weather.calm_s`; if that is
    infinite nothing is drawn.
    """
    found = np.ones((steps, drivers))
    if np.isinf(weather.calm_s):
        return found
    luck = rng.random((3, MOST, drivers))
    calm = -weather.calm_s * np.log1p(-luck[0])
    lasting = SHORTEST_S + (LONGEST_S - SHORTEST_S) * luck[1]
    share = LEAST + (GREATEST - LEAST) * luck[2]
    end = np.cumsum(calm + lasting, axis=0)
    seconds = np.arange(steps)[:, None] / HZ
    for start, stop, low in zip(end - lasting, end, share, strict=True):
        found = np.where((seconds >= start) & (seconds < stop), low, found)
    return found
