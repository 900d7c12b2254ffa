"""Viscous resistance in calm water: flat plate, form factor, and the allowance between model and ship.

Holtrop & Mennen 1982 and Holtrop 1984 as in `calm_water`; the plate is the ITTC's.
"""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.power.physics.calibration import HOLTROP, Calibration
from shiftbench.tracks.power.physics.hydrostatics import Loading
from shiftbench.tracks.power.physics.parts import Hull

FLOOR = 0.02  # least base of a power in the regressions, so that hulls beyond their range do not give NaN


def friction_coefficient(reynolds: Vector) -> Vector:
    """C_F [N] of the ITTC-1957 line, 0.075 / (log10 Re - 2)²; Reynolds numbers below 10⁵ are replaced by 10⁵."""
    logarithm: Vector = np.log10(np.maximum(reynolds, 1e5)) - 2
    return 0.075 / (logarithm * logarithm)


def run_ratio(loading: Loading) -> Vector:
    """L_R / L [N], length of the run over the waterline's (1982, formula for L_R)."""
    prismatic = loading.prismatic_coefficient
    run = 1 - prismatic + 0.06 * prismatic * loading.lcb_percent / (4 * prismatic - 1)
    return np.maximum(run, FLOOR)


def form_factor(hull: Hull, loading: Loading, *, version: str = "1984", constants: Calibration = HOLTROP) -> Vector:
    """1 + k1 [N] of the hull: by the 1984 regression with c14, or the 1982 one with c12 and c13."""
    return _form_1982(hull, loading, constants) if version == "1982" else _form_1984(hull, loading, constants)


def _form_1984(hull: Hull, loading: Loading, by: Calibration) -> Vector:
    length, prismatic = loading.length_waterline_m, loading.prismatic_coefficient
    return by.form_1984_constant + by.form_1984_factor * (1 + by.form_1984_stern * hull.stern_shape) * (
        (hull.beam_m / length) ** by.form_1984_beam
        * (loading.draft_m / length) ** by.form_1984_draft
        * run_ratio(loading) ** -by.form_1984_run
        * (length * length * length / loading.displacement_m3) ** by.form_1984_slenderness
        * (1 - prismatic) ** by.form_1984_prismatic
    )


def _form_1982(hull: Hull, loading: Loading, by: Calibration) -> Vector:
    prismatic = loading.prismatic_coefficient
    slimness = loading.draft_m / loading.length_waterline_m
    above = np.maximum(slimness - 0.02, 0.0)
    c12 = np.where(
        slimness > 0.05,
        slimness**by.form_1982_draft,
        by.form_1982_shallow_factor * above**by.form_1982_shallow_exponent + by.form_1982_shallow_constant,
    )
    afterbody = np.maximum(1 - prismatic + 0.0225 * loading.lcb_percent, FLOOR)
    width = hull.beam_m / (loading.length_waterline_m * run_ratio(loading))
    form = c12 * width**by.form_1982_beam * (0.95 - prismatic) ** by.form_1982_prismatic
    form = form * afterbody**by.form_1982_afterbody
    return (1 + by.form_1982_stern * hull.stern_shape) * (by.form_1982_constant + form)


def correlation_allowance(loading: Loading, bulb_reduction: Vector, *, constants: Calibration = HOLTROP) -> Vector:
    """C_A [N] between model and ship, for a hull roughness of 150 µm (1982, formula for C_A).

    bulb_reduction: c2 [N], see `wave_making`.
    """
    length, block = loading.length_waterline_m, loading.block_coefficient
    square = block * block
    c4 = np.minimum(loading.draft_fore_m / length, 0.04)
    allowance = constants.ca_factor * (length + 100) ** constants.ca_length - constants.ca_constant
    fullness = constants.ca_fullness * np.sqrt(length / 7.5) * square * square
    return allowance + fullness * bulb_reduction * (0.04 - c4)
