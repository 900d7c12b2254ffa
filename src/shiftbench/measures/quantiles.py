"""The measure of quantile forecasts: members q_m(p) at levels p."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import Quantiles
from shiftbench.measures import Measure

DIGITS = 34  # binary


def _interval_width(ensemble: Quantiles) -> Vector:
    with np.errstate(over="ignore"):  # what is infinite is refused with the measure's name
        width = (ensemble.values[..., -1] - ensemble.values[..., 0]).mean(axis=0)
    # To ten digits: the rounding of the ends would rank records of one width by the size of their targets.
    mantissa, exponent = np.frexp(width)
    return np.asarray(np.ldexp(np.round(np.ldexp(mantissa, DIGITS)), exponent - DIGITS))


MEASURES = (
    Measure(
        "interval_width", "Width of the widest interval", "total", "mean(highest q_m - lowest q_m)", "this package",
        {Quantiles: _interval_width},
    ),
)  # fmt: skip
