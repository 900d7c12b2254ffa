"""Measurement noise: on the inputs (Shifts 2.0, Table 19) and on the power (Appendix D.1)."""

from __future__ import annotations

import numpy as np

from shiftbench.pipeline.example import normal
from shiftbench.tracks.power.example.labels import LEAST_KW
from shiftbench.tracks.power.example.minutes import ACCELERATION, CURRENT_ACROSS, Columns
from shiftbench.tracks.power.example.random_streams import Values
from shiftbench.tracks.power.schema import (
    CURRENT_ALONG,
    DRAFT_AFT,
    DRAFT_FORE,
    SPEED,
    WAVE_HEIGHT,
    WIND_ACROSS,
    WIND_ALONG,
)

# Standard deviations in the units of the columns. The table has one for the apparent wind, used for both components.
SPREAD = {
    DRAFT_AFT: 0.15,
    DRAFT_FORE: 0.15,
    SPEED: 0.25,
    ACCELERATION: 0.25,
    WIND_ALONG: 0.5,
    WIND_ACROSS: 0.5,
    CURRENT_ALONG: 0.05,
    CURRENT_ACROSS: 0.05,
    WAVE_HEIGHT: 0.1,
}
UNSIGNED = (WIND_ACROSS, WAVE_HEIGHT)
RELATIVE = 0.025  # a: of the power, 1 MW at 40 MW
KW_A_KNOT = 25.0  # b: of true wind, 1 MW at 40 kn


def on_inputs(columns: Columns, rng: np.random.Generator) -> Columns:
    """The columns with noise: independent normal noise on nine inputs, none on time.

    Unsigned columns are folded at 0. For the wind across that is the absolute value of a signed component with noise;
    waves near 0 become slightly too high.
    """
    found = columns | {name: columns[name] + normal(rng, len(columns[name])) * SPREAD[name] for name in SPREAD}
    return found | {name: folded(found[name]) for name in UNSIGNED}


def on_power(power_kw: Values, wind_kn: Values, rng: np.random.Generator) -> Values:
    """y' = y + N(0, a·y) + N(0, b·w) in kW, with standard deviations, y the true power and w the true wind in knots.

    Folded at 100 kW, the least that a torque meter shows of a ship under way. Only slow ships in strong winds come near
    it.
    """
    size = len(power_kw)
    noisy = power_kw + RELATIVE * power_kw * normal(rng, size) + KW_A_KNOT * wind_kn * normal(rng, size)
    return folded(noisy, LEAST_KW)


def folded(values: Values, least: float = 0.0) -> Values:
    """Values below `least` mirrored at it."""
    return np.asarray(least + np.abs(values - least))
