"""The measure of quantile forecasts: members q_m(p) at levels p."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import Quantiles
from shiftbench.measures import Measure


def _interval_width(ensemble: Quantiles) -> Vector:
    with np.errstate(over="ignore"):  # what is infinite is refused with the measure's name
        return np.asarray((ensemble.values[..., -1] - ensemble.values[..., 0]).mean(axis=0))


MEASURES = (
    Measure(
        "interval_width", "Width of the widest interval", "total", "mean(highest q_m - lowest q_m)", "this package",
        {Quantiles: _interval_width},
    ),
)  # fmt: skip
