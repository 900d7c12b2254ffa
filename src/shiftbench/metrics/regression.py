"""Metrics of regression: point errors, and scores of the predictive distribution, a mixture of Gaussians.

Functions `..._per_record`, `squared_error` and `absolute_error` return [N], so that statistics can be resampled; the
others return their mean or another single number. Lower is better, except for `coverage` and `pit`, which measure
calibration.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import Array, Gaussian
from shiftbench.errors import ArrayError, DegenerateScoreWarning
from shiftbench.metrics import normal
from shiftbench.scores.metric import Metric

# Numbers in a block of records, so that the steps of a distribution function stay in the cache.
_BLOCK_VALUES = 1 << 14
# Bisection steps, down to the precision of float64.
_BISECTIONS = 52

METRICS = (
    Metric(
        "rmse", "RMSE", "min", "target", "root of the mean of (y - answer)²", "Shifts 1.0, Section 3", compared=True
    ),
    Metric("mae", "MAE", "min", "target", "mean of |y - answer|", "Shifts 1.0, Section 3"),
    Metric("mape", "MAPE", "min", "percent", "mean of |y - answer| / |y|", "Shifts 2.0, Table 23"),
    Metric(
        "nll", "NLL", "min", "plain", "mean of -log p(y), the mixture's density or probability",
        "Gneiting & Raftery 2007", least=-math.inf, of_classes=(0.0, math.inf),
    ),
    Metric("crps", "CRPS", "min", "target", "mean of E|X - y| - E|X - X'| / 2", "Grimit et al. 2006"),
)  # fmt: skip


# --- point predictions ------------------------------------------------------------------------------------------------


def squared_error(targets: Any, answers: Any) -> Vector:
    """(y - answer)² of each record [N], in the square of the target's unit.

    Raises:
        ArrayError: unequal lengths, no records, NaN or infinity; likewise in all functions here.
    """
    targets, answers = check.vectors(targets=targets, answers=answers)
    return np.asarray(np.square(targets - answers))


def absolute_error(targets: Any, answers: Any) -> Vector:
    """|y - answer| of each record [N], in the target's unit."""
    targets, answers = check.vectors(targets=targets, answers=answers)
    return np.asarray(np.abs(targets - answers))


def rmse(targets: Any, answers: Any) -> float:
    """Root of the mean squared error, in the target's unit."""
    return float(np.sqrt(squared_error(targets, answers).mean()))


def mae(targets: Any, answers: Any) -> float:
    """Mean absolute error, in the target's unit."""
    return float(absolute_error(targets, answers).mean())


def mape(targets: Any, answers: Any) -> float:
    """Mean of |y - answer| / |y|, as a fraction; NaN with a warning if any target is 0.

    Warns:
        DegenerateScoreWarning: a target is 0, so the score is undefined.
    """
    targets, answers = check.vectors(targets=targets, answers=answers)
    zeros = np.count_nonzero(targets == 0)
    if zeros:
        warnings.warn(
            f"mape is undefined: {zeros:,} of {len(targets):,} targets are 0. It is set to NaN; use mae instead.",
            DegenerateScoreWarning,
            stacklevel=2,
        )
        return float("nan")
    return float(np.abs((targets - answers) / targets).mean())


# --- predictive distributions -----------------------------------------------------------------------------------------


def nll_per_record(targets: Any, ensemble: Gaussian) -> Vector:
    """-log mean_m N(y; mu_m, v_m) of each record [N], in nats: the mixture's, not the mean of the members'."""
    return _by_blocks(_nll, targets, ensemble)


def nll(targets: Any, ensemble: Gaussian) -> float:
    """Mean negative log-likelihood of the mixture, in nats."""
    return float(nll_per_record(targets, ensemble).mean())


def crps_per_record(targets: Any, ensemble: Gaussian) -> Vector:
    """Continuous ranked probability score of the mixture for each record [N], in the target's unit; exact.

    CRPS = integral of (F(x) - [x >= y])² dx = E|X - y| - E|X - X'| / 2; for a point forecast it is the absolute error.

    Source: Grimit, Gneiting, Berrocal & Johnson 2006, Q. J. R. Meteorol. Soc. 132, Section 3.
    """
    return _by_blocks(_crps, targets, ensemble)


def crps(targets: Any, ensemble: Gaussian) -> float:
    """Mean continuous ranked probability score of the mixture, in the target's unit."""
    return float(crps_per_record(targets, ensemble).mean())


def pit(targets: Any, ensemble: Gaussian) -> Vector:
    """Probability integral transform: the mixture's distribution function at the target [N], uniform if calibrated.

    Source: Dawid 1984; Gneiting, Balabdaoui & Raftery 2007, J. R. Stat. Soc. B 69.
    """
    return _by_blocks(_cdf, targets, ensemble)


def coverage(targets: Any, ensemble: Gaussian, *, levels: Any) -> Vector:
    """The share of targets inside the mixture's central interval at each level [L]; calibrated if equal to the levels.

    The interval at level p goes from the quantile (1 - p)/2 to (1 + p)/2. A target is inside exactly if its PIT value
    lies between these two numbers, so no quantile has to be computed.

    Args:
        targets: [N].
        ensemble: [M, N].
        levels: [L], each strictly between 0 and 1.
    """
    levels = _levels(levels)
    distance = np.sort(np.abs(2 * pit(targets, ensemble) - 1))
    return np.asarray(np.searchsorted(distance, levels, side="right") / len(distance))


def quantiles(ensemble: Gaussian, *, levels: Any) -> Array:
    """Quantiles of the mixture [L, N] at each level, in the target's unit, by bisection of its distribution function.

    Args:
        ensemble: [M, N].
        levels: [L], each strictly between 0 and 1.
    """
    levels = _levels(levels)
    found = np.empty((len(levels), ensemble.records))
    for rows, block in ensemble.blocks(values=_BLOCK_VALUES):
        for level, values in zip(levels, found, strict=True):
            values[rows] = _quantile(level, block)
    return found


# --- cores: y [N], mu and v [M, N] ------------------------------------------------------------------------------------


def _nll(y: Vector, ensemble: Gaussian) -> Vector:
    mu, v = ensemble.mean, ensemble.variance
    logs = -0.5 * (np.log(2 * np.pi * v) + np.square(y - mu) / v)
    highest = logs.max(axis=0)
    return np.asarray(-highest - np.log(np.exp(logs - highest).mean(axis=0)))


def _crps(y: Vector, ensemble: Gaussian) -> Vector:
    mu, v = ensemble.mean, ensemble.variance
    members = len(mu)
    to_target = _expected_distance(y - mu, v).mean(axis=0)
    # E|X - X'| over all pairs of members; a member paired with itself has distance 2 sqrt(v / pi).
    between = 2 * np.sqrt(v / np.pi).sum(axis=0)
    for m in range(1, members):
        between += 2 * _expected_distance(mu[:m] - mu[m], v[:m] + v[m]).sum(axis=0)
    return np.asarray(to_target - between / (2 * members**2))


def _expected_distance(mean: Array, variance: Array) -> Array:
    """E|Z| of Z ~ N(mean, variance)."""
    sd = np.sqrt(variance)
    z = mean / sd
    return np.asarray(mean * (2 * normal.distribution(z) - 1) + 2 * sd * normal.density(z))


def _cdf(y: Vector, ensemble: Gaussian) -> Vector:
    z = (y - ensemble.mean) / np.sqrt(ensemble.variance)
    return np.asarray(normal.distribution(z).mean(axis=0))


def _quantile(level: float, ensemble: Gaussian) -> Vector:
    # Phi(-k) <= exp(-k²/2) / 2, so no member's quantile is farther than k deviations from its mean.
    sd = np.sqrt(ensemble.variance)
    k = np.sqrt(-2 * np.log(2 * min(level, 1 - level)))
    low, high = (ensemble.mean - k * sd).min(axis=0), (ensemble.mean + k * sd).max(axis=0)
    for _ in range(_BISECTIONS):
        middle = 0.5 * (low + high)
        below = _cdf(middle, ensemble) < level
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def _by_blocks(core: Any, targets: Any, ensemble: Gaussian) -> Vector:
    if not isinstance(ensemble, Gaussian):
        raise ArrayError(f"ensemble: expected Gaussian(mean, variance), found {type(ensemble).__name__}.")
    targets = check.vector("targets", targets, length=ensemble.records)
    values = np.empty(len(targets))
    for rows, block in ensemble.blocks(values=_BLOCK_VALUES):
        values[rows] = core(targets[rows], block)
    return values


def _levels(values: Any) -> Vector:
    levels = check.vector("levels", values)
    outside = (levels <= 0) | (levels >= 1)
    if outside.any():
        raise ArrayError(f"levels: expected values strictly between 0 and 1, found {levels[outside][0]:g}.")
    return levels
