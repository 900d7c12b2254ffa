"""Speed over ground, apparent and true wind, and the sea state raised by a wind."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.tracks.power.physics.water import GRAVITY

PEAK_OVER_MEAN = 1.296  # T_p/T_1 of the ITTC (1978) spectrum: 2π (5/(4·691))^(1/4)
FULL_HEIGHT = 0.2433  # g H/U² of a fully developed sea
FULL_PERIOD = 8.134  # g T_p/U of a fully developed sea
SWELL_BORDER = 6.6  # s m^(-1/3)
SWELL_BEYOND_S = 2.0
SHORTEST_S = 1.0  # a calm sea has no period; any value gives no resistance


@dataclass(frozen=True, eq=False)
class Sea:
    """Long-crested seas, one a record.

    height_m: significant height [N] >= 0. period_s: mean period T_1 = 2π m_0/m_1 [N] > 0.
    angle_rad: between the heading and the direction the waves come from [N], 0 = head seas.
    """

    height_m: Vector
    period_s: Vector
    angle_rad: Vector


def speed_over_ground(speed_through_water_m_s: Any, current_along_m_s: Any) -> Vector:
    """The speed over ground in m/s [N]: through water plus the current along the heading (positive = with the ship).

    Raises:
        ArrayError: naming all problems of the arrays.
    """
    through, along = check.vectors(speed_through_water_m_s=speed_through_water_m_s, current_along_m_s=current_along_m_s)
    return through + along


def apparent_wind(true_speed_m_s: Any, true_angle_rad: Any, speed_over_ground_m_s: Any) -> tuple[Vector, Vector]:
    """The wind felt on board, along (positive = from ahead) and across (unsigned) the heading, each in m/s [N].

    true_angle_rad: between the heading and the direction the wind comes from, 0 = head wind, of either sign. Leeway is
    neglected: the course is the heading, as in ISO 15016:2015, Annex C.

    Raises:
        ArrayError: naming all problems of the arrays.
    """
    speed, angle, motion = check.vectors(
        nonnegative=("true_speed_m_s",),
        true_speed_m_s=true_speed_m_s,
        true_angle_rad=true_angle_rad,
        speed_over_ground_m_s=speed_over_ground_m_s,
    )
    return speed * np.cos(angle) + motion, np.abs(speed * np.sin(angle))


def true_wind(along_m_s: Any, across_m_s: Any, speed_over_ground_m_s: Any) -> tuple[Vector, Vector]:
    """The true wind's speed in m/s and its angle in 0 … π rad, each [N]: the inverse of `apparent_wind`.

    across_m_s: of either sign, or unsigned. Without wind the angle is 0 or π.

    Raises:
        ArrayError: naming all problems of the arrays.
    """
    along, across, motion = check.vectors(
        along_m_s=along_m_s, across_m_s=across_m_s, speed_over_ground_m_s=speed_over_ground_m_s
    )
    return polar(along - motion, across)


def true_wind_speed(along_m_s: Any, across_m_s: Any, speed_over_ground_m_s: Any) -> Vector:
    """The true wind's speed in m/s [N]: √((along - speed over ground)² + across²).

    Raises:
        ArrayError: naming all problems of the arrays.
    """
    return true_wind(along_m_s, across_m_s, speed_over_ground_m_s)[0]


def polar(along_m_s: Vector, across_m_s: Vector) -> tuple[Vector, Vector]:
    """Speed in m/s and angle off the bow in 0 … π rad, each [N], of a wind given along and across the heading."""
    return np.hypot(along_m_s, across_m_s), np.arctan2(np.abs(across_m_s), along_m_s)


def sea_state(height_m: Any, wind_speed_m_s: Any, wind_angle_rad: Any) -> Sea:
    """The sea of a significant height under a true wind: estimates of mean period and direction.

    Wind sea: the height that the wind can raise, H_w = min(H, 0.2433 U²/g), its peak period from the JONSWAP growth
    with fetch (Hasselmann et al. 1973) up to the fully developed sea of the Shore Protection Manual (1984, chapter 3),
    here with U at 10 m; without the fetch, g T_p/U = 8.134 (g H_w/(0.2433 U²))^(2/3).
    Swell: the rest of the energy, H² - H_w², with the peak period T_p = 6.6 H^(1/3) + 2 s of the swell beside a wind
    sea (Torsethaugen & Haver 2004).
    Mean period: moments add, so 1/T_1 is the mean of both, weighted by energy; T_p = 1.296 T_1 (ITTC 1978).
    Direction: waves come from the direction of the wind, and so does swell.

    wind_speed_m_s: true wind at 10 m [N]. wind_angle_rad: the direction it comes from, 0 = ahead [N].

    Raises:
        ArrayError: naming all problems of the arrays.
    """
    height, wind, angle = check.vectors(
        nonnegative=("height_m", "wind_speed_m_s"),
        height_m=height_m,
        wind_speed_m_s=wind_speed_m_s,
        wind_angle_rad=wind_angle_rad,
    )
    full_height = FULL_HEIGHT / GRAVITY * wind**2
    wind_height = np.minimum(height, full_height)
    growth = np.divide(wind_height, full_height, out=np.ones_like(wind), where=full_height > 0)
    share = np.divide(wind_height, height, out=np.ones_like(wind), where=height > 0) ** 2
    wind_peak_s = np.maximum(FULL_PERIOD / GRAVITY * wind * np.cbrt(growth) ** 2, SHORTEST_S)
    swell_peak_s = SWELL_BORDER * np.cbrt(height) + SWELL_BEYOND_S
    peak_s = 1 / (share / wind_peak_s + (1 - share) / swell_peak_s)
    return Sea(height_m=height, period_s=peak_s / PEAK_OVER_MEAN, angle_rad=angle)
