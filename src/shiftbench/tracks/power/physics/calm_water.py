"""Resistance in calm water by Holtrop & Mennen (1982) and its re-analysis by Holtrop (1984).

J. Holtrop, G. G. J. Mennen, "An approximate power prediction method", International Shipbuilding Progress 29 (1982)
166-170; J. Holtrop, "A statistical re-analysis of resistance and propulsion data", ibid. 31 (1984) 272-276. Names of
coefficients (c1, m1, …) are theirs. The 1984 paper changes form factor and wave resistance, and leaves the rest. Full,
slow ships take the branches that the papers have for high prismatic coefficients and small ratios of length to beam.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.tracks.power.physics.hydrostatics import Loading, first
from shiftbench.tracks.power.physics.ship import Hull, Ship

VERSIONS = ("1982", "1984")
GRAVITY = 9.81  # m/s², as in both papers
VISCOSITY = 1.1883e-6  # m²/s, sea water of 15 °C (ITTC 7.5-02-01-03)
DENSITY = 1025.0  # kg/m³
RANGES = {
    "container": {
        "Froude number": (0.0, 0.45),
        "prismatic coefficient": (0.55, 0.67),
        "length over beam": (6.0, 9.5),
        "beam over draft": (3.0, 4.0),
    },
    "tanker": {
        "Froude number": (0.0, 0.24),
        "prismatic coefficient": (0.73, 0.85),
        "length over beam": (5.1, 7.1),
        "beam over draft": (2.4, 3.2),
    },
}
"""Kind of ship → what the models behind the regressions spanned, as textbooks quote it from Holtrop & Mennen (1978)."""

STILL = 1e-3  # Froude number: under it all waves vanish in float64, while powers of it stay finite
FLOOR = 0.02  # of bases that the regressions raise to a power, so that no hull beyond their range turns into NaN


@dataclass(frozen=True, eq=False)
class CalmWater:
    """Resistance in N and its parts, all arrays [N].

    friction_N: of a plate with the hull's wetted area (ITTC-57); `form_factor`, 1 + k1, times it is the hull's own.
    viscous_coefficient: C_V = (1 + k1) C_F + C_A, what the wake depends on.
    """

    friction_N: Vector
    form_factor: Vector
    appendages_N: Vector
    wave_N: Vector
    bulb_N: Vector
    transom_N: Vector
    correlation_N: Vector
    total_N: Vector
    viscous_coefficient: Vector


def resistance(
    ship: Ship,
    loading: Loading,
    speed_m_s: Any,
    *,
    viscosity: float = VISCOSITY,
    density: float = DENSITY,
    version: str = "1984",
) -> CalmWater:
    """Resistance of a ship at N loadings and speeds.

    Args:
        ship: its hull is used.
        loading: at N drafts.
        speed_m_s: [N] speed through water in m/s, ≥ 0.
        viscosity: kinematic, in m²/s.
        density: in kg/m³.
        version: "1984", or "1982" for form factor and wave resistance of the first paper.

    Raises:
        ArrayError: if a speed is no number or negative, or there are not as many as loadings.
        UnknownNameError: if the version is none of `VERSIONS`.
    """
    if version not in VERSIONS:
        raise UnknownNameError("version of the Holtrop-Mennen method", version, VERSIONS)
    speed = _speed(loading, speed_m_s)
    hull = ship.hull
    pressure = 0.5 * density * speed * speed
    plate = friction_coefficient(speed * loading.length_waterline_m / viscosity)
    form = form_factor(hull, loading, version=version)
    bulb = _bulb_reduction(hull, loading)
    allowance = _correlation_allowance(loading, bulb)
    friction = pressure * loading.wetted_area_m2 * plate
    appendages = pressure * plate * (hull.appendage_area_m2 * hull.appendage_factor)
    weight = density * GRAVITY * loading.displacement_m3
    wave = weight * bulb * _transom_reduction(hull, loading) * _wave(hull, loading, speed, version)
    bulb_resistance = density * GRAVITY * _bulb_volume(loading, speed)
    transom = pressure * _transom_area(hull, loading, speed)
    correlation = pressure * loading.wetted_area_m2 * allowance
    return CalmWater(
        friction_N=friction,
        form_factor=form,
        appendages_N=appendages,
        wave_N=wave,
        bulb_N=bulb_resistance,
        transom_N=transom,
        correlation_N=correlation,
        total_N=friction * form + appendages + wave + bulb_resistance + transom + correlation,
        viscous_coefficient=form * plate + allowance,
    )


def validity(ship: Ship, loading: Loading, speed_m_s: Any) -> tuple[str, ...]:
    """One message for each range of `RANGES` that records leave, with their number and the first of them.

    Args and errors as of `resistance`. Results outside are extrapolated, not wrong by themselves.
    """
    speed = _speed(loading, speed_m_s)
    length, beam = loading.length_waterline_m, ship.hull.beam_m
    found = {
        "Froude number": speed / np.sqrt(GRAVITY * length),
        "prismatic coefficient": loading.prismatic_coefficient,
        "length over beam": length / beam,
        "beam over draft": beam / loading.draft_m,
    }
    messages = []
    for name, (low, high) in RANGES[ship.kind].items():
        if (outside := (found[name] < low) | (found[name] > high)).any():
            hint = " Are speeds in m/s?" if name == "Froude number" else ""
            messages.append(
                f"{name}: the Holtrop-Mennen method rests on {ship.kind} ships from {low:g} to {high:g}, "
                f"found {first(found[name], outside)}. There it extrapolates.{hint}"
            )
    return tuple(messages)


def _speed(loading: Loading, speed_m_s: Any) -> Vector:
    speed = check.vector("speed_m_s", speed_m_s, length=len(loading.draft_m))
    if (negative := speed < 0).any():
        raise ArrayError(
            f"speed_m_s: expected speeds >= 0 m/s, found {first(speed, negative)}. "
            "Drop these records: the method knows no sternway."
        )
    return speed


def friction_coefficient(reynolds: Vector) -> Vector:
    """C_F [N] of the ITTC-1957 line, 0.075 / (log10 Re - 2)²; Reynolds numbers under 10⁵ count as 10⁵."""
    logarithm: Vector = np.log10(np.maximum(reynolds, 1e5)) - 2
    return 0.075 / (logarithm * logarithm)


def _run(loading: Loading) -> Vector:
    """L_R / L [N], length of the run over the waterline's (1982, formula for L_R)."""
    prismatic = loading.prismatic_coefficient
    run = 1 - prismatic + 0.06 * prismatic * loading.lcb_percent / (4 * prismatic - 1)
    return np.maximum(run, FLOOR)


def form_factor(hull: Hull, loading: Loading, *, version: str = "1984") -> Vector:
    """1 + k1 [N] of the hull: by the 1984 regression with c14, or the 1982 one with c12 and c13."""
    return _form_1982(hull, loading) if version == "1982" else _form_1984(hull, loading)


def _form_1984(hull: Hull, loading: Loading) -> Vector:
    length, prismatic = loading.length_waterline_m, loading.prismatic_coefficient
    return 0.93 + 0.487118 * (1 + 0.011 * hull.stern_shape) * (
        (hull.beam_m / length) ** 1.06806
        * (loading.draft_m / length) ** 0.46106
        * _run(loading) ** -0.121563
        * (length * length * length / loading.displacement_m3) ** 0.36486
        * (1 - prismatic) ** -0.604247
    )


def _form_1982(hull: Hull, loading: Loading) -> Vector:
    prismatic = loading.prismatic_coefficient
    slimness = loading.draft_m / loading.length_waterline_m
    c12 = np.where(
        slimness > 0.05,
        slimness**0.2228446,
        48.20 * np.maximum(slimness - 0.02, 0.0) ** 2.078 + 0.479948,
    )
    afterbody = np.maximum(1 - prismatic + 0.0225 * loading.lcb_percent, FLOOR)
    width = hull.beam_m / (loading.length_waterline_m * _run(loading))
    form = c12 * width**0.92497 * (0.95 - prismatic) ** -0.521448 * afterbody**0.6906
    return (1 + 0.003 * hull.stern_shape) * (0.93 + form)


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
        * (_run(loading) * slenderness) ** 0.34574
        * fullness**0.16302
    )


def _bulb_reduction(hull: Hull, loading: Loading) -> Vector:
    """c2 [N]: what a bulb leaves of the wave resistance."""
    area = loading.bulb_area_m2
    root = np.sqrt(area)
    above = 0.31 * root + loading.draft_fore_m - loading.bulb_centre_m
    c3 = 0.56 * area * root / (hull.beam_m * loading.draft_m * above)
    return np.exp(-1.89 * np.sqrt(c3))


def _transom_reduction(hull: Hull, loading: Loading) -> Vector:
    """c5 [N]: what an immersed transom leaves of the wave resistance."""
    section = hull.beam_m * loading.draft_m * loading.midship_coefficient
    return np.maximum(1 - 0.8 * loading.transom_area_m2 / section, FLOOR)


def _wave(hull: Hull, loading: Loading, speed: Vector, version: str) -> Vector:
    """Wave resistance over weight, c2 and c5, [N]; 1984 goes over to another formula between Froude 0.40 and 0.55."""
    froude = np.maximum(speed / np.sqrt(GRAVITY * loading.length_waterline_m), STILL)
    if version == "1982" or not (fast := froude > 0.4).any():
        return _wave_slow(hull, loading, froude, version)
    slow = _wave_slow(hull, loading, np.minimum(froude, 0.4), version)
    high = _wave_fast(hull, loading, np.maximum(froude, 0.55))
    share = np.clip((10 * froude - 4) / 1.5, 0.0, 1.0)
    return np.where(fast, slow + share * (high - slow), slow)


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


def _bulb_volume(loading: Loading, speed: Vector) -> Vector:
    """Resistance of a bulb near the surface over ρ g, [N] (1982, formula for R_B)."""
    area, fore, centre = loading.bulb_area_m2, loading.draft_fore_m, loading.bulb_centre_m
    root = np.sqrt(area)
    # 3 / P_B² with P_B = 0.56 √A_BT / (T_F - 1.5 h_B), written so that no bulb is no division by zero
    depth = fore - 1.5 * centre
    squared = speed * speed / (GRAVITY * np.maximum(fore - centre - 0.25 * root, FLOOR) + 0.15 * speed * speed)
    emergence = np.exp(-3 * depth * depth / np.maximum(0.3136 * area, 1e-9))
    return 0.11 * emergence * squared * np.sqrt(squared) * area * root / (1 + squared)


def _transom_area(hull: Hull, loading: Loading, speed: Vector) -> Vector:
    """A_T c6 [N] in m²: a transom that runs dry, F_nT ≥ 5, has no resistance of its own (1982, formula for R_TR)."""
    area = loading.transom_area_m2
    width = hull.beam_m * (1 + loading.waterplane_coefficient)
    froude = speed * np.sqrt(width / (2 * GRAVITY * np.maximum(area, 1e-9)))
    return area * np.maximum(0.2 * (1 - 0.2 * froude), 0.0)


def _correlation_allowance(loading: Loading, bulb: Vector) -> Vector:
    """C_A [N] between model and ship, for a hull roughness of 150 µm (1982, formula for C_A). bulb: c2 [N]."""
    length, block = loading.length_waterline_m, loading.block_coefficient
    square = block * block
    c4 = np.minimum(loading.draft_fore_m / length, 0.04)
    allowance = 0.006 * (length + 100) ** -0.16 - 0.00205
    return allowance + 0.003 * np.sqrt(length / 7.5) * square * square * bulb * (0.04 - c4)
