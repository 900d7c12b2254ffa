"""Added resistance in waves by STAWAVE-1 and STAWAVE-2 (ISO 15016:2015, Annex D; ITTC 7.5-04-01-01.1)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector, first
from shiftbench.tracks.power.physics.motion import Sea
from shiftbench.tracks.power.physics.parts import Hull
from shiftbench.tracks.power.physics.water import DENSITY, GRAVITY

SECTOR = np.pi / 4  # off the bow, within which waves count as head waves
SPECTRUM_A, SPECTRUM_B = 173.0, 691.0  # ITTC (1978): S = A H²/T_1⁴ ω⁻⁵ exp(-B/(T_1⁴ ω⁴))
STEP = 0.005  # step of the tables in the logarithm: relative errors of linear interpolation are below 10⁻⁴
TABLE = np.arange(np.log(1e-3), np.log(1e2), STEP)
TIMES = np.arange(0.4, 10.0, STEP)  # logarithms of ω T_1: no energy below, 10⁻¹⁷ of it above
DEEP = 30.0  # 1.5 k T above which a hull reflects all but 10⁻⁵⁰ of a wave
VALID_HEIGHT = 2.25  # H_S <= 2.25 √(L_PP/100)

RANGES = {
    "length between perpendiculars in m": (75.0, 350.0),
    "length over beam": (4.0, 9.0),
    "beam over draft": (2.2, 5.5),
    "Froude number": (0.1, 0.3),
    "block coefficient": (0.39, 0.9),
    "degrees off the bow that the waves come from": (0.0, 45.0),
}
"""The ranges of STAWAVE-2 (ISO 15016:2015, Annex D); the last applies to STAWAVE-1, too."""


def stawave1(hull: Hull, sea: Sea, *, density: float = DENSITY) -> Vector:
    """Added resistance in N [N] of short waves reflected by the bow: (1/16) ρ g H² B √(B/L_BWL).

    It depends on neither speed nor period: for waves so short that the ship does not heave or pitch. Waves from further
    than 45° off the bow are reduced as `direction` says.

    Raises:
        ArrayError: naming all problems of the sea.
    """
    height, _, angle = _checked(sea)
    beam = hull.beam_m
    scale = density * GRAVITY * beam * np.sqrt(beam / hull.bow_length_m) / 16
    return np.asarray(scale * height**2 * direction(angle))


def stawave2(
    hull: Hull, sea: Sea, speed_m_s: Vector, *, draft_m: Vector, block_coefficient: Vector, density: float = DENSITY
) -> Vector:
    """Mean added resistance in N [N] in irregular seas: motion and reflection.

    R = 2 ∫ (R_motion + R_reflection)/ζ² S dω over the ITTC (1978) spectrum. With ω̄ = z ω T_1 and 1.5 k T = (y ω T_1)²
    each integral depends on one number only, z or y; both are tabulated once and interpolated (to 10⁻⁴).
    speed_m_s: through water [N] >= 0. draft_m: amidships [N]. block_coefficient: at this draft [N]. Waves from further
    than 45° off the bow are reduced as `direction` says. see `validity` for the range of the method.

    Raises:
        ArrayError: naming all problems of the sea and the ship's condition.
    """
    height, period, angle, speed, draft, block = _checked(
        sea, speed_m_s=speed_m_s, draft_m=draft_m, block_coefficient=block_coefficient
    )
    beam, length = hull.beam_m, hull.length_between_perpendiculars_m
    froude = speed / np.sqrt(GRAVITY * length)
    log_period = np.log(period)
    # ω̄ = √(L/g) k_yy^(1/3) Fr^0.143/1.17 ω; at rest there is no motion part
    log_z = 0.143 * np.log(np.maximum(froude, 1e-9)) - log_period
    log_z += np.log(np.sqrt(length / GRAVITY) * np.cbrt(hull.pitch_radius_ratio) / 1.17)
    log_y = 0.5 * np.log(1.5 / GRAVITY * draft) - log_period
    motion = 60.3 * block**1.34 * froude * np.sqrt(froude) * np.exp(-3.5 * froude)
    motion *= np.interp(log_z, TABLE, _motion_table(length / beam))
    reflection = 0.692 * (speed / np.sqrt(GRAVITY * draft)) ** 0.769 + 1.81 * block**6.95
    reflection *= np.interp(log_y, TABLE, _reflection_table())
    scale = density * GRAVITY * beam * height**2 * direction(angle)
    return np.asarray(scale * (8 * beam / length * motion + reflection))


def direction(angle_rad: Vector) -> Vector:
    """The share of the head seas' resistance [N]: 1 up to 45° off the bow, then (1 + 2 cos χ)/(1 + √2), 0 from 120°.

    The standard treats waves within 45° of the bow as head waves and ignores all others, which is a discontinuity.
    Beyond 45° our resistance falls like the amplitude of the motion part between head and beam seas in the later method
    SNNM (Liu & Papanikolaou 2020; ITTC 7.5-04-01-01.1, 2021: (1 + 2 cos χ)/3).
    """
    return np.asarray(np.clip((1 + 2 * np.cos(angle_rad)) / (1 + 2 * np.cos(SECTOR)), 0, 1))


def quantities(
    hull: Hull, speed_m_s: Vector, *, angle_rad: Vector, draft_m: Vector, block_coefficient: Vector
) -> dict[str, Vector]:
    """The quantities of `RANGES`: name → [N]."""
    beam, length = hull.beam_m, hull.length_between_perpendiculars_m
    every = np.ones_like(speed_m_s)
    values = (
        length * every,
        length / beam * every,
        beam / draft_m,
        speed_m_s / np.sqrt(GRAVITY * length),
        block_coefficient,
        np.degrees(np.arccos(np.cos(angle_rad))).round(9),
    )
    return dict(zip(RANGES, values, strict=True))


def validity(hull: Hull, sea: Sea, speed_m_s: Vector, *, draft_m: Vector, block_coefficient: Vector) -> tuple[str, ...]:
    """Messages on records outside the ranges of the methods, with their number and the first of them; NaN counts as
    inside.

    STAWAVE-2: 75 to 350 m, L/B 4 to 9, B/T 2.2 to 5.5, Froude numbers 0.1 to 0.3, block coefficients 0.39 to 0.9;
    STAWAVE-1: H <= 2.25 √(L/100); both: waves from within 45° of the bow.
    """
    values = quantities(hull, speed_m_s, angle_rad=sea.angle_rad, draft_m=draft_m, block_coefficient=block_coefficient)
    found = [(f"STAWAVE-2: {what}", values[what], *ends) for what, ends in RANGES.items()]
    highest = VALID_HEIGHT * np.sqrt(hull.length_between_perpendiculars_m / 100)
    found.append(("STAWAVE-1: significant height in m", sea.height_m, 0.0, highest))
    return tuple(message for what, given, low, high in found for message in _outside(what, given, low, high))


def motion_shape(frequency: Vector, length_over_beam: float) -> Vector:
    """The motion part over ω̄ = `frequency` [N], 1 at its peak: ω̄^b₁ exp(b₁/d₁ (1 - ω̄^d₁))."""
    long = frequency <= 1
    b = np.where(long, 11.0, -8.5)
    d = np.where(long, 14.0, -566 * length_over_beam**-2.66)
    # in logarithms, to avoid overflow and underflow for any wave length
    logarithm = np.log(frequency)
    return np.asarray(np.exp(b * logarithm - b / d * np.expm1(d * logarithm)))


def reflection_share(depth: Vector) -> Vector:
    """The share of waves reflected by a hull, 0 … 1 [N]: π² I₁²/(π² I₁² + K₁²) of `depth` = 1.5 k T."""
    clipped = np.minimum(depth, DEEP)
    waves, hull = (np.pi * bessel_i1(clipped)) ** 2, bessel_k1(clipped) ** 2
    return np.asarray(waves / (waves + hull))


def bessel_i1(x: Vector) -> Vector:
    """I₁ [N] for 0 <= x <= 30 by its power series, Σ (x/2)^(2k+1)/(k! (k+1)!) (Abramowitz & Stegun, 9.6.10)."""
    term = x / 2
    total = term.copy()
    for k in range(1, 70):
        term = term * (x / 2) ** 2 / (k * (k + 1))
        total += term
    return total


def bessel_k1(x: Vector) -> Vector:
    """K₁ [N] for 10⁻⁶ <= x <= 30: the trapezoidal rule on ∫₀^∞ exp(-x cosh t) cosh t dt (Abramowitz & Stegun, 9.6.24).

    The integrand is analytic and falls off doubly exponentially, so the rule is exact to rounding.
    """
    t = np.arange(0, 22, 0.1)
    weights = np.where(t == 0, 0.05, 0.1) * np.cosh(t)
    return np.asarray(np.exp(-np.multiply.outer(x, np.cosh(t))) @ weights)


@cache
def _motion_table(length_over_beam: float) -> Vector:
    """∫ motion_shape(z ω T_1) S dω/H² at log z = TABLE."""
    return _spectral_mean(lambda frequency: motion_shape(frequency, length_over_beam))


@cache
def _reflection_table() -> Vector:
    """∫ reflection_share((y ω T_1)²) S dω/H² at log y = TABLE."""
    return _spectral_mean(lambda root: reflection_share(root**2))


def _spectral_mean(function: Callable[[Vector], Vector]) -> Vector:
    """∫ function(scale ω T_1) S dω/H² at log scale = TABLE: on a logarithmic grid, a correlation with the spectrum."""
    energy = SPECTRUM_A * np.exp(-4 * TIMES - SPECTRUM_B * np.exp(-4 * TIMES))
    grid = TABLE[0] + TIMES[0] + STEP * np.arange(len(TABLE) + len(TIMES) - 1)
    return np.asarray(np.correlate(function(np.exp(grid)), STEP * energy, "valid"))


def _checked(sea: Sea, **condition: Any) -> tuple[Vector, ...]:
    return check.vectors(
        nonnegative=("height_m", *(name for name in condition if name == "speed_m_s")),
        positive=("period_s", *(name for name in condition if name != "speed_m_s")),
        height_m=sea.height_m,
        period_s=sea.period_s,
        angle_rad=sea.angle_rad,
        **condition,
    )


def _outside(what: str, values: Vector, low: float, high: float) -> list[str]:
    outside = (values < low) | (values > high)
    return [f"{what}: expected {low:.4g} to {high:.4g}, found {first(values, outside)}."] if outside.any() else []
