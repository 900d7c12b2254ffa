"""Thrust and torque coefficients of a propeller in open water, for tests: the curves at any advance ratio."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.tracks.power.physics import open_water
from shiftbench.tracks.power.physics.ship import Propeller


def characteristics(propeller: Propeller, ratio: Vector, reynolds: float | None = None) -> tuple[Vector, Vector]:
    """K_T and K_Q at advance ratios, [N] each; without a Reynolds number the polynomials as they are, at 2e6."""
    found = open_water.curves(propeller)
    if reynolds is not None:
        logarithm = open_water.log_reynolds(np.full(len(ratio), reynolds))
        return tuple(open_water.evaluate(curve, ratio, logarithm) for curve in (found.thrust, found.torque))
    torque = open_water._polynomial(open_water._collapsed("torque", propeller))
    return tuple(open_water.evaluate(curve, ratio, np.zeros(len(ratio))) for curve in (found.base_thrust, torque))
