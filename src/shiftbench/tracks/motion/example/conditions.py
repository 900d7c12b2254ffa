"""Which town, weather, season and hour each scene has: shares are met exactly, what is left is chance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

import numpy as np

from shiftbench.tracks.motion.schema import City, DayTime, Precipitation, SceneTags, Season, SunPhase

SHARES = {"train": 0.57, "dev": 0.18, "eval": 0.25}
"""The share of each part among all scenes."""

_NO, _RAIN, _SLEET, _SNOW = Precipitation.NO, Precipitation.RAIN, Precipitation.SLEET, Precipitation.SNOW
Weather = tuple[City, Precipitation]
Value = TypeVar("Value")

# Weather comes only where it comes: no snow at the coast. Precipitation that is unknown counts as none.
_OUT_DEV: Mapping[Weather, float] = {
    (City.SKOLKOVO, _NO): 0.18, (City.INNOPOLIS, _NO): 0.20, (City.MODIIN, _NO): 0.22, (City.SKOLKOVO, _RAIN): 0.08,
    (City.SKOLKOVO, _SNOW): 0.10, (City.INNOPOLIS, _SNOW): 0.08, (City.MODIIN, _RAIN): 0.08,
    (City.INNOPOLIS, _RAIN): 0.06,
}  # fmt: skip
_OUT_EVAL: Mapping[Weather, float] = {
    (City.ANN_ARBOR, _NO): 0.28, (City.TEL_AVIV, _NO): 0.38, (City.ANN_ARBOR, _SNOW): 0.09,
    (City.TEL_AVIV, _RAIN): 0.13, (City.ANN_ARBOR, _RAIN): 0.08, (City.ANN_ARBOR, _SLEET): 0.04,
}  # fmt: skip
_WET: Mapping[Weather, float] = {
    (City.MOSCOW, _SNOW): 0.5, (City.MOSCOW, _RAIN): 0.25, (City.MOSCOW, _SLEET): 0.15,
    (City.MOSCOW, Precipitation.UNKNOWN): 0.10,
}  # fmt: skip
# Of each part: scenes in Moscow without precipitation, of the shifted towns, and in Moscow in other weather.
_PARTS: Mapping[str, tuple[float, float, float]] = {
    "train": (0.90, 0.04, 0.06), "dev": (0.46, 0.46, 0.08), "eval": (0.46, 0.46, 0.08),
}  # fmt: skip
_SEASONS: Mapping[Precipitation, Mapping[Season, float]] = {
    _NO: {Season.SUMMER: 0.25, Season.AUTUMN: 0.3, Season.WINTER: 0.45},
    _RAIN: {Season.SUMMER: 0.4, Season.AUTUMN: 0.6},
    _SLEET: {Season.AUTUMN: 0.3, Season.WINTER: 0.7},
    _SNOW: {Season.WINTER: 1.0},
    Precipitation.UNKNOWN: {Season.SUMMER: 0.3, Season.AUTUMN: 0.3, Season.WINTER: 0.4},
}
_HOURS = {DayTime.NIGHT: 0.25, DayTime.MORNING: 0.25, DayTime.AFTERNOON: 0.3, DayTime.EVENING: 0.2}
_NORTH = (City.MOSCOW, City.SKOLKOVO, City.INNOPOLIS)
UNSEEN_SUN = 0.02  # of the scenes lack their sun phase, as some genuine ones do


def counts(rows: int) -> dict[str, int]:
    """How many of `rows` scenes each part has."""
    dev, evaluation = round(SHARES["dev"] * rows), round(SHARES["eval"] * rows)
    return {"train": rows - dev - evaluation, "dev": dev, "eval": evaluation}


def weathers(part: str, number: int) -> list[Weather]:
    """Town and precipitation of the first `number` scenes of a part.

    Every beginning of the list has about its shares.
    """
    plain, out, wet = _PARTS[part]
    shifted = {**_OUT_DEV, **_OUT_EVAL} if part == "train" else _OUT_DEV if part == "dev" else _OUT_EVAL
    shares: dict[Weather, float] = {(City.MOSCOW, _NO): plain}
    for group, share in ((shifted, out), (_WET, wet)):
        total = sum(group.values())
        shares |= {key: share * value / total for key, value in group.items()}
    return _evenly(shares, number)


def _evenly(shares: Mapping[Weather, float], number: int) -> list[Weather]:
    """Whoever lags most behind its share comes next."""
    keys, share = list(shares), np.array(list(shares.values()))
    lag, found = np.zeros(len(keys)), []
    for _ in range(number):
        lag += share
        place = int(lag.argmax())
        lag[place] -= 1
        found.append(keys[place])
    return found


def drawn(shares: Mapping[Value, float], uniform: float) -> Value:
    """The key that a uniform number in [0, 1) falls on."""
    left = uniform * sum(shares.values())
    for key, share in shares.items():
        left -= share
        if left < 0:
            return key
    return list(shares)[-1]


def scene_tags(weather: Weather, rng: np.random.Generator) -> SceneTags:
    """All tags of a scene: seasons that fit the weather, sun phases that fit season, hour and town."""
    city, precipitation = weather
    luck = rng.random(4)
    season = drawn(_SEASONS[precipitation], luck[0])
    hour = drawn(_HOURS, luck[1])
    sun = _sun(city, season, hour, luck[2])
    return SceneTags(hour, season, city, SunPhase.UNKNOWN if luck[3] < UNSEEN_SUN else sun, precipitation)


def _sun(city: City, season: Season, hour: DayTime, uniform: float) -> SunPhase:
    night, twilight, daylight = SunPhase.ASTRONOMICAL_NIGHT, SunPhase.TWILIGHT, SunPhase.DAYLIGHT
    early = season is Season.WINTER and city in _NORTH  # the sun rises late and sets early
    if hour is DayTime.AFTERNOON:
        return drawn({daylight: 0.8, twilight: 0.2}, uniform) if early else daylight
    if hour is DayTime.NIGHT:
        return drawn({night: 0.85, twilight: 0.15}, uniform)
    if hour is DayTime.MORNING:
        return drawn(
            {daylight: 0.6, twilight: 0.25, night: 0.15} if early else {daylight: 0.95, twilight: 0.05}, uniform
        )
    return drawn({night: 1.0} if early else {night: 0.5, twilight: 0.3, daylight: 0.2}, uniform)
