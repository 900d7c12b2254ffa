"""Wave-making resistance in calm water, and its reduction by a bulb and an immersed transom.

Holtrop & Mennen 1982 and Holtrop 1984 as in `calm_water`.
"""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.power.physics.calibration import HOLTROP, Calibration
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.parts import Hull
from shiftbench.tracks.power.physics.viscous import FLOOR, run_ratio
from shiftbench.tracks.power.physics.water import GRAVITY

STILL = 1e-3  # Froude number: below it wave resistance vanishes in float64, while powers of it stay finite


def bare(hull: Hull, loading: Loading, speed: Vector, *, version: str, constants: Calibration = HOLTROP) -> Vector:
    """Wave resistance over weight, without c2 and c5, [N], at a speed [N] in m/s.

    The 1984 version changes to another formula between the Froude numbers 0.40 and 0.55.
    """
    froude = np.maximum(speed / np.sqrt(GRAVITY * loading.length_waterline_m), STILL)
    if version == "1982" or not (fast := froude > 0.4).any():
        return _wave_slow(hull, loading, froude, version, constants)
    slow = _wave_slow(hull, loading, np.minimum(froude, 0.4), version, constants)
    high = _wave_fast(hull, loading, np.maximum(froude, 0.55), constants)
    share = np.clip((10 * froude - 4) / 1.5, 0.0, 1.0)
    return np.where(fast, slow + share * (high - slow), slow)


def bulb_reduction(hull: Hull, loading: Loading, *, constants: Calibration = HOLTROP) -> Vector:
    """c2 [N]: the factor on wave resistance due to a bulb."""
    area = loading.bulb_area_m2
    root = np.sqrt(area)
    above = 0.31 * root + loading.draft_fore_m - loading.bulb_centre_m
    c3 = constants.c3_factor * area * root / (hull.beam_m * loading.draft_m * above)
    return np.exp(-constants.c2_factor * np.sqrt(c3))


def transom_reduction(hull: Hull, loading: Loading, *, constants: Calibration = HOLTROP) -> Vector:
    """c5 [N]: the factor on wave resistance due to an immersed transom."""
    section = hull.beam_m * loading.draft_m * loading.midship_coefficient
    return np.maximum(1 - constants.c5_factor * loading.transom_area_m2 / section, FLOOR)


def half_entrance_angle(hull: Hull, loading: Loading, *, constants: Calibration = HOLTROP) -> Vector:
    """i_E [N] in degrees, of the waterline at the bow with the plane of symmetry (1982, formula for i_E)."""
    slenderness = loading.length_waterline_m / hull.beam_m
    forebody = np.maximum(1 - loading.prismatic_coefficient - 0.0225 * loading.lcb_percent, FLOOR)
    length = loading.length_waterline_m
    fullness = 100 * loading.displacement_m3 / (length * length * length)
    return 1 + 89 * np.exp(
        -(slenderness**constants.angle_slenderness)
        * (1 - loading.waterplane_coefficient) ** constants.angle_waterplane
        * forebody**constants.angle_forebody
        * (run_ratio(loading) * slenderness) ** constants.angle_run
        * fullness**constants.angle_fullness
    )


def _wave_slow(hull: Hull, loading: Loading, froude: Vector, version: str, by: Calibration) -> Vector:
    """c1 exp(m1 Fn^d + m2 cos(λ Fn^-2)), [N]; 1984 has m4 for m2 and keeps the rest."""
    length, width = loading.length_waterline_m, hull.beam_m / loading.length_waterline_m
    angle = half_entrance_angle(hull, loading, constants=by)
    c7 = np.where(width < 0.11, 0.229577 * width**0.33333, np.where(width > 0.25, 0.5 - 0.0625 / width, width))
    c1 = by.c1_factor * c7**by.c1_width * (loading.draft_m / hull.beam_m) ** by.c1_draft * (90 - angle) ** by.c1_angle
    m1 = by.m1_slimness * length / loading.draft_m - by.m1_displacement * np.cbrt(loading.displacement_m3) / length
    m1 = m1 - by.m1_width * width - _fullness(loading, by)
    return c1 * np.exp(m1 * froude**by.wave_exponent + _interference(hull, loading, froude, version, by))


def _fullness(loading: Loading, by: Calibration) -> Vector:
    """c16 [N], of the prismatic coefficient; full ships, from 0.8 on, have a branch of their own."""
    prismatic = loading.prismatic_coefficient
    square = prismatic * prismatic
    return np.where(
        prismatic < 0.8,
        by.c16_linear * prismatic - by.c16_square * square + by.c16_cube * square * prismatic,
        by.c16_full_constant - by.c16_full_slope * prismatic,
    )


def _wave_fast(hull: Hull, loading: Loading, froude: Vector, by: Calibration) -> Vector:
    """c17 exp(m3 Fn^d + m4 cos(λ Fn^-2)), [N], for Froude numbers from 0.55 up (1984)."""
    length = loading.length_waterline_m
    fullness = loading.displacement_m3 / (length * length * length)
    c17 = 6919.3 * loading.midship_coefficient**-1.3346 * fullness**2.00977
    c17 = c17 * np.maximum(length / hull.beam_m - 2, FLOOR) ** 1.40692
    m3 = -7.2035 * (hull.beam_m / length) ** 0.326869 * (loading.draft_m / hull.beam_m) ** 0.605375
    return c17 * np.exp(m3 * froude**by.wave_exponent + _interference(hull, loading, froude, "1984", by))


def _interference(hull: Hull, loading: Loading, froude: Vector, version: str, by: Calibration) -> Vector:
    """m2 cos(λ Fn^-2) of 1982 or m4 cos(λ Fn^-2) of 1984, [N]: interference of bow and stern waves."""
    length, prismatic = loading.length_waterline_m, loading.prismatic_coefficient
    # Holtrop's -1.69385 up to L³/∇ = 512, 0 from 1726.91 on
    slender = (length / np.cbrt(loading.displacement_m3) - 8) / 2.36
    c15 = np.clip(by.c15_constant + slender, by.c15_constant, 0.0)
    inverse = 1 / (froude * froude)
    if version == "1982":
        amplitude = c15 * prismatic * prismatic * np.exp(-by.m2_decay * inverse)
    else:
        amplitude = c15 * by.m4_factor * np.exp(-by.m4_decay * froude**by.m4_exponent)
    wave_number = by.lambda_prismatic * prismatic - by.lambda_slenderness * np.minimum(length / hull.beam_m, 12.0)
    return amplitude * np.cos(wave_number * inverse)
