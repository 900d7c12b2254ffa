"""What friction does to a hull in calm water: plate, form factor, and the allowance between model and ship.

Holtrop & Mennen 1982 and Holtrop 1984 as in `calm_water`; the plate is the ITTC's.
"""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.ship import Hull

FLOOR = 0.02  # of bases that the regressions raise to a power, so that no hull beyond their range turns into NaN


def friction_coefficient(reynolds: Vector) -> Vector:
    """C_F [N] of the ITTC-1957 line, 0.075 / (log10 Re - 2)²; Reynolds numbers under 10⁵ count as 10⁵."""
    logarithm: Vector = np.log10(np.maximum(reynolds, 1e5)) - 2
    return 0.075 / (logarithm * logarithm)


def run_ratio(loading: Loading) -> Vector:
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
        * run_ratio(loading) ** -0.121563
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
    width = hull.beam_m / (loading.length_waterline_m * run_ratio(loading))
    form = c12 * width**0.92497 * (0.95 - prismatic) ** -0.521448 * afterbody**0.6906
    return (1 + 0.003 * hull.stern_shape) * (0.93 + form)


def correlation_allowance(loading: Loading, bulb_reduction: Vector) -> Vector:
    """C_A [N] between model and ship, for a hull roughness of 150 µm (1982, formula for C_A).

    bulb_reduction: c2 [N], see `wave_making`.
    """
    length, block = loading.length_waterline_m, loading.block_coefficient
    square = block * block
    c4 = np.minimum(loading.draft_fore_m / length, 0.04)
    allowance = 0.006 * (length + 100) ** -0.16 - 0.00205
    return allowance + 0.003 * np.sqrt(length / 7.5) * square * square * bulb_reduction * (0.04 - c4)
