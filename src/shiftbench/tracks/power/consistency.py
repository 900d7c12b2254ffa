"""Units of the vessel's columns that only a comparison of several columns can reveal."""

from __future__ import annotations

import itertools

import numpy as np
import polars as pl

from shiftbench.check import Vector
from shiftbench.partition.settings import IN_DOMAIN
from shiftbench.track.intake.units import Mistake
from shiftbench.tracks.power.physics import motion
from shiftbench.tracks.power.schema import (
    CURRENT_ALONG,
    POWER,
    SINCE_DRY_DOCK,
    SPEED,
    STATISTICS,
    WAVE_HEIGHT,
    WIND_ACROSS,
    WIND_ALONG,
)
from shiftbench.tracks.power.units import KNOT, MISTAKES

ACCELERATION, CURRENT_ACROSS = "diff_speed_overground", "rcurrent_ucomp"
BOUNDS_KN = {**dict.fromkeys(IN_DOMAIN, (0.0, 19.0)), "dev_out": (19.0, 26.0), "eval_out": (19.0, 40.0)}  # Table 16
# Power over the cube of speed in kW/kn³: 3 to 4 in the official data, 0.8 to 8 for merchant ships of any size. Speeds
# in m/s make it 7.3 times as large, in km/h 6.4 times as small; MW and W move it by a thousand.
SPEED_RATES = (0.8, 12.0)
POWER_RATES = (0.1, 100.0)
FEWEST = 20  # records, for a median to be meaningful
CALM_SEA_M, CALM_WIND_KN, STEADY, SLOWEST_KN = 2.5, 19.0, 0.5, 4.0  # within them power depends on little but speed
CLEARLY_KN = 2.0  # of head wind; less may be due to the current
DAYS, MANY_DAYS = 20, 100  # at sea, enough for both head and following winds; enough for all directions
LIGHT_WIND_KN, LIGHT_SHARE = 9.0, 0.1
FEET_MEDIAN, FEET_HIGH, FEET_LIGHT = 3.5, 8.0, 2.5  # wave heights in m: median, 95 % quantile, median in light wind
CLEAR = 5  # times fewer records out of bounds


def rate(frame: pl.DataFrame) -> float | None:
    """The median of power over speed cubed, among steady records that neither wind nor sea slows down.

    None if there are too few of them.
    """
    speed, ground = pl.col(SPEED), pl.col(SPEED) + pl.col(CURRENT_ALONG)
    ahead = pl.col(WIND_ALONG) - ground
    wind = (ahead**2 + pl.col(WIND_ACROSS) ** 2).sqrt()
    calm = (pl.col(WAVE_HEIGHT) <= CALM_SEA_M) & (wind <= CALM_WIND_KN)
    steady = (speed >= SLOWEST_KN) & (pl.col(ACCELERATION).abs() <= STEADY)
    found = frame.filter(steady & (calm | (ahead <= 0))).select(pl.col(POWER) / speed**3).to_series().drop_nulls()
    return float(np.median(found.to_numpy())) if len(found) >= FEWEST else None


def speed_unit(rate_kw: float | None) -> Mistake | None:
    """The unit of speed that explains this rate, if it is not knots."""
    least, most = SPEED_RATES
    known = MISTAKES["kn"] if rate_kw is not None and not least <= rate_kw <= most else ()
    return next((entry for entry in known if least <= (rate_kw or 0.0) / entry.factor**3 <= most), None)


def days(frame: pl.DataFrame) -> int:
    """The number of different days since dry dock among the records [N]."""
    return int((frame[SINCE_DRY_DOCK] / 1440).floor().n_unique())


def wind_along_in_m_s(frame: pl.DataFrame) -> bool:
    """Whether head and following winds balance over weeks only if wind along is converted from m/s to knots.

    Records with following winds alone do not balance either, but they have no head wind at all.
    """
    if days(frame) < DAYS:
        return False
    along, ground = _along(frame)
    ahead = float(np.mean(along > ground + CLEARLY_KN))
    return _balance(along, ground) < -1 and abs(_balance(along / KNOT, ground)) < 0.5 and ahead > 1e-3


def wind_like_speed(frame: pl.DataFrame) -> bool:
    """Whether wind along is in m/s as the speed is: head and following winds then balance better than with knots."""
    along, ground = _along(frame)
    if len(along) < FEWEST:
        return False
    alike = abs(_balance(along, ground))
    return alike < 0.5 and alike < abs(_balance(along * KNOT, ground))


def wind_across_is_weak(frame: pl.DataFrame) -> bool:
    """Whether wind across is far weaker over months than wind along less the ship's speed: m/s beside knots."""
    if days(frame) < MANY_DAYS:
        return False
    ahead = pl.col(WIND_ALONG) - pl.col(SPEED) - pl.col(CURRENT_ALONG)
    across, along = frame.select(across=(pl.col(WIND_ACROSS) ** 2).mean(), along=(ahead**2).mean()).row(0)
    return bool(along and across is not None and across < 0.6**2 * along)


def currents_are_weak(frame: pl.DataFrame) -> bool:
    """Whether both currents vary far less than the published ones (`schema.STATISTICS`), as m/s beside knots would."""
    found = ((frame[name].std(), STATISTICS[name][1]) for name in (CURRENT_ALONG, CURRENT_ACROSS))
    return all(isinstance(own, float) and own < 0.62 * known for own, known in found)


def waves_in_feet(frame: pl.DataFrame) -> bool:
    """Whether waves are high for weeks, even in light wind."""
    height, ground = pl.col(WAVE_HEIGHT), pl.col(SPEED) + pl.col(CURRENT_ALONG)
    wind = ((pl.col(WIND_ALONG) - ground) ** 2 + pl.col(WIND_ACROSS) ** 2).sqrt()
    light = wind < LIGHT_WIND_KN
    middle, high, calm, share = frame.select(
        height.median(), high=height.quantile(0.95), calm=height.filter(light).median(), share=light.mean()
    ).row(0)
    if None in (middle, high, calm, share) or days(frame) < DAYS:
        return False
    return bool(middle > FEET_MEDIAN and high > FEET_HIGH and calm > FEET_LIGHT and share > LIGHT_SHARE)


def columns_of_true_wind(frame: pl.DataFrame, partition: str) -> tuple[str, ...]:
    """The columns that, if they are in m/s, explain why true winds of a partition are outside its bounds. Empty if the
    winds are inside the bounds, or remain outside after the conversion.
    """
    if partition not in BOUNDS_KN:
        return ()
    bounds_kn = BOUNDS_KN[partition]
    columns = [frame[name].to_numpy() for name in (SPEED, WIND_ALONG, WIND_ACROSS, CURRENT_ALONG)]
    speed, *others = (values[~np.isnan(columns).any(axis=0)] for values in columns)
    names, outside = (WIND_ALONG, WIND_ACROSS, CURRENT_ALONG), _outside(speed, others, bounds_kn)
    if outside < FEWEST or outside <= 1e-3 * len(speed):
        return ()
    chosen = [chosen for count in (1, 2, 3) for chosen in itertools.combinations(range(len(names)), count)]
    left = [_outside(speed, _in_knots(others, places), bounds_kn) for places in chosen]
    best = int(np.argmin(left))
    return tuple(names[place] for place in chosen[best]) if left[best] < min(outside / CLEAR, len(speed) / 100) else ()


def _in_knots(others: list[Vector], places: tuple[int, ...]) -> list[Vector]:
    return [values / KNOT if place in places else values for place, values in enumerate(others)]


def _outside(speed: Vector, others: list[Vector], bounds_kn: tuple[float, float]) -> int:
    """The number of true winds out of bounds; others: wind along, wind across, current along, [N] each."""
    if not len(speed):
        return 0
    along, across, current = others
    wind = np.round(motion.true_wind_speed(along, across, speed + current), 6)
    return int(np.sum((wind < bounds_kn[0]) | (wind > bounds_kn[1])))


def _along(frame: pl.DataFrame) -> tuple[Vector, Vector]:
    """Wind along and speed over ground, [K] each, of the records that have both."""
    known = frame.select(WIND_ALONG, ground=pl.col(SPEED) + pl.col(CURRENT_ALONG)).drop_nulls()
    return known[WIND_ALONG].to_numpy(), known["ground"].to_numpy()


def _balance(along: Vector, ground: Vector) -> float:
    """Mean over standard deviation of the head wind [N]: 0 if head and following winds balance."""
    ahead = along - ground
    spread = float(np.std(ahead))
    return float(np.mean(ahead)) / spread if spread else float("inf")
