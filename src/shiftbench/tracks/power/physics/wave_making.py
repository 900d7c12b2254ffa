"""Resistance of the waves that a hull makes in calm water, and what a bulb and an immersed transom leave of it.

Holtrop & Mennen 1982 and Holtrop 1984 as in `calm_water`.
"""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import Hull
from shiftbench.tracks.power.physics.viscous import FLOOR, run_ratio
from shiftbench.tracks.power.physics.water import GRAVITY

STILL = 1e-3  # Froude number: under it all waves vanish in float64, while powers of it stay finite


def bare(hull: Hull, loading: Loading, speed: Vector, *, version: str) -> Vector:
    """Wave resistance over weight, without c2 and c5, [N], at a speed [N] in m/s.

    1984 goes over to another formula between the Froude numbers 0.40 and 0.55.
    """
    froude = np.maximum(speed / np.sqrt(GRAVITY * loading.length_waterline_m), STILL)
    if version == "1982" or not (fast := froude > 0.4).any():
        return _wave_slow(hull, loading, froude, version)
    slow = _wave_slow(hull, loading, np.minimum(froude, 0.4), version)
    high = _wave_fast(hull, loading, np.maximum(froude, 0.55))
    share = np.clip((10 * froude - 4) / 1.5, 0.0, 1.0)
    return np.where(fast, slow + share * (high - slow), slow)


def bulb_reduction(hull: Hull, loading: Loading) -> Vector:
    """c2 [N]: what a bulb leaves of the wave resistance."""
    area = loading.bulb_area_m2
    root = np.sqrt(area)
    above = 0.31 * root + loading.draft_fore_m - loading.bulb_centre_m
    c3 = 0.56 * area * root / (hull.beam_m * loading.draft_m * above)
    return np.exp(-1.89 * np.sqrt(c3))


def transom_reduction(hull: Hull, loading: Loading) -> Vector:
    """c5 [N]: what an immersed transom leaves of the wave resistance."""
    section = hull.beam_m * loading.draft_m * loading.midship_coefficient
    return np.maximum(1 - 0.8 * loading.transom_area_m2 / section, FLOOR)


def half_entrance_angle(hull: Hull, loading: Loading) -> Vector:
    """i_E [N] in degrees, of the waterline at the bow with the plane of symmetry (1982, formula for i_E)."""
    slenderness = loading.length_waterline_m / hull.beam_m
    forebody = np.maximum(1 - loading.prismatic_coefficient - 0.0225 * loading.lcb_percent, FLOOR)
    length = loading.length_waterline_m
    fullness = 100 * loading.displacement_m3 / (length * length * length)
    return 1 + 89 * np.exp(
        -(slenderness**0.80856)
        * (1 - loading.waterplane_coefficient) ** 0.30484
        * forebody**0.6367
        * (run_ratio(loading) * slenderness) ** 0.34574
        * fullness**0.16302
    )


def _wave_slow(hull: Hull, loading: Loading, froude: Vector, version: str) -> Vector:
    """c1 exp(m1 Fn^d + m2 cos(λ Fn^-2)), [N]; 1984 has m4 for m2 and keeps the rest."""
    length, prismatic = loading.length_waterline_m, loading.prismatic_coefficient
    width, angle = hull.beam_m / length, half_entrance_angle(hull, loading)
    c7 = np.where(width < 0.11, 0.229577 * width**0.33333, np.where(width > 0.25, 0.5 - 0.0625 / width, width))
    c1 = 2223105 * c7**3.78613 * (loading.draft_m / hull.beam_m) ** 1.07961 * (90 - angle) ** -1.37565
    square = prismatic * prismatic
    c16 = np.where(
        prismatic < 0.8,
        8.07981 * prismatic - 13.8673 * square + 6.984388 * square * prismatic,
        1.73014 - 0.7067 * prismatic,
    )
    m1 = 0.0140407 * length / loading.draft_m - 1.75254 * np.cbrt(loading.displacement_m3) / length
    m1 = m1 - 4.79323 * width - c16
    return c1 * np.exp(m1 * froude**-0.9 + _interference(hull, loading, froude, version))


def _wave_fast(hull: Hull, loading: Loading, froude: Vector) -> Vector:
    """c17 exp(m3 Fn^d + m4 cos(λ Fn^-2)), [N], for Froude numbers from 0.55 up (1984)."""
    length = loading.length_waterline_m
    fullness = loading.displacement_m3 / (length * length * length)
    c17 = 6919.3 * loading.midship_coefficient**-1.3346 * fullness**2.00977
    c17 = c17 * np.maximum(length / hull.beam_m - 2, FLOOR) ** 1.40692
    m3 = -7.2035 * (hull.beam_m / length) ** 0.326869 * (loading.draft_m / hull.beam_m) ** 0.605375
    return c17 * np.exp(m3 * froude**-0.9 + _interference(hull, loading, froude, "1984"))


def _interference(hull: Hull, loading: Loading, froude: Vector, version: str) -> Vector:
    """m2 cos(λ Fn^-2) of 1982 or m4 cos(λ Fn^-2) of 1984, [N]: how bow and stern waves meet."""
    length, prismatic = loading.length_waterline_m, loading.prismatic_coefficient
    # -1.69385 up to L³/∇ = 512, 0 from 1726.91 on
    c15 = np.clip(-1.69385 + (length / np.cbrt(loading.displacement_m3) - 8) / 2.36, -1.69385, 0.0)
    inverse = 1 / (froude * froude)
    if version == "1982":
        amplitude = c15 * prismatic * prismatic * np.exp(-0.1 * inverse)
    else:
        amplitude = c15 * 0.4 * np.exp(-0.034 * froude**-3.29)
    wave_number = 1.446 * prismatic - 0.03 * np.minimum(length / hull.beam_m, 12.0)
    return amplitude * np.cos(wave_number * inverse)
