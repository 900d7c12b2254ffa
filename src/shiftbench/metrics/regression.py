"""Metrics of regression: point errors, and scores of the predictive distribution, a mixture of Gaussians.

Functions `..._per_record`, `squared_error` and `absolute_error` return [N], so that statistics can be resampled; the
others return their mean or another single number. Lower is better, except for `coverage` and `pit`, which measure
calibration.
"""

from __future__ import annotations

import math
import warnings
from statistics import NormalDist
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import Array, Gaussian
from shiftbench.errors import ArrayError, DegenerateScoreWarning
from shiftbench.metrics import normal
from shiftbench.metrics.levels import coverage_at, width_at
from shiftbench.scores.metric import Metric

# Numbers in a block of records, so that the steps of a distribution function stay in the cache.
_BLOCK_VALUES = 1 << 14
# Most steps of the search for a quantile; nearly all need three.
_STEPS = 240
_HALVING = 4  # every so many steps, halve the bracket, so that the search ends whatever the mixture
_LAST_STEP = 1e-6  # deviations: after a step of this size Newton's method is exact to about its square

LARGER_UNIT = "Choose a larger unit."
ROUNDING = 1e-9  # of sums of probabilities
LEVELS = (0.5, 0.9, 0.95)
"""Nominal levels of the central intervals that reports score."""

METRICS = (
    Metric(
        "rmse", "RMSE", "min", "target", "root of the mean of (y - answer)²", "Shifts 1.0, Section 3", compared=True
    ),
    Metric("mae", "MAE", "min", "target", "mean of |y - answer|", "Shifts 1.0, Section 3"),
    Metric("mape", "MAPE", "min", "percent", "mean of |y - answer| / |y|", "Shifts 2.0, Table 23"),
    Metric(
        "nll", "NLL", "min", "plain", "mean of -log p(y), the mixture's density or probability",
        "Gneiting & Raftery 2007", least=-math.inf, of_classes=(0.0, math.inf), sliced=True,
    ),
    Metric("crps", "CRPS", "min", "target", "mean of E|X - y| - E|X - X'| / 2", "Grimit et al. 2006"),
    *map(coverage_at, LEVELS),
    *map(width_at, LEVELS),
)  # fmt: skip


# --- point predictions ------------------------------------------------------------------------------------------------


def squared_error(targets: Any, answers: Any) -> Vector:
    """(y - answer)² of each record [N], in the square of the target's unit.

    Raises:
        ArrayError: unequal lengths, no records, NaN or infinity; likewise in all functions here.
    """
    differences = _differences(targets, answers)
    with np.errstate(over="ignore"):
        squares = np.asarray(np.square(differences))
    if np.isinf(squares.max()):
        raise ArrayError(f"squared errors: expected values below 1.8e308, found {differences.max():g}², {LARGER_UNIT}")
    return squares


def absolute_error(targets: Any, answers: Any) -> Vector:
    """|y - answer| of each record [N], in the target's unit."""
    return np.abs(_differences(targets, answers))


def rmse(targets: Any, answers: Any) -> float:
    """Root of the mean squared error, in the target's unit."""
    errors = absolute_error(targets, answers)
    if not check.SMALLEST <= (largest := errors.max()) <= check.LARGEST and largest:
        return float(largest * np.sqrt(np.square(errors / largest).mean()))
    return float(np.sqrt(np.square(errors).mean()))


def mae(targets: Any, answers: Any) -> float:
    """Mean absolute error, in the target's unit."""
    return _mean(absolute_error(targets, answers))


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
    with np.errstate(over="ignore"):  # infinite where the target is that small
        return _mean(np.abs(_differences(targets, answers) / targets))


def _differences(targets: Any, answers: Any) -> Vector:
    """Targets minus answers [N], all finite."""
    targets, answers = check.vectors(targets=targets, answers=answers)
    with np.errstate(over="ignore"):
        found = np.asarray(targets - answers)
    if (far := np.isinf(found)).any():
        place = int(far.argmax())
        raise ArrayError(
            f"errors: expected values below 1.8e308, found {targets[place]:g} - {answers[place]:g} at index {place}. "
            f"{LARGER_UNIT}"
        )
    return found


def _mean(values: Vector) -> float:
    """The mean of values >= 0 [N] whose sum may be too large for a float."""
    with np.errstate(over="ignore"):
        found = float(values.mean())
    largest = float(values.max())
    return found if not math.isinf(found) or math.isinf(largest) else largest * float((values / largest).mean())


# --- predictive distributions -----------------------------------------------------------------------------------------


def nll_per_record(targets: Any, ensemble: Gaussian) -> Vector:
    """-log mean_m N(y; mu_m, v_m) of each record [N], in nats: the mixture's, not the mean of the members'."""
    return _by_blocks(_nll, targets, ensemble)


def nll(targets: Any, ensemble: Gaussian) -> float:
    """Mean negative log-likelihood of the mixture, in nats."""
    with np.errstate(over="ignore"):
        return float(nll_per_record(targets, ensemble).mean())


def crps_per_record(targets: Any, ensemble: Gaussian) -> Vector:
    """Continuous ranked probability score of the mixture for each record [N], in the target's unit; exact.

    CRPS = integral of (F(x) - [x >= y])² dx = E|X - y| - E|X - X'| / 2; for a point forecast it is the absolute error.

    Source: Grimit, Gneiting, Berrocal & Johnson 2006, Q. J. R. Meteorol. Soc. 132, Section 3.
    """
    return _by_blocks(_crps, targets, ensemble)


def crps(targets: Any, ensemble: Gaussian) -> float:
    """Mean continuous ranked probability score of the mixture, in the target's unit."""
    return _mean(crps_per_record(targets, ensemble))


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
    levels = check.levels(levels)
    distance = np.sort(np.abs(2 * pit(targets, ensemble) - 1))
    return np.asarray(np.searchsorted(distance, levels, side="right") / len(distance))


def inside(pit: Vector, *, levels: Any = LEVELS) -> dict[str, Vector]:
    """Whether targets are inside the central interval at each level, 1 or 0 [N], by the name of the metric.

    pit: [N] probability integral transforms, see `pit`.
    """
    pit = check.vector("pit", pit, nonnegative=True)
    if (bad := pit > 1 + ROUNDING).any():
        raise ArrayError(f"pit: expected probabilities from 0 to 1, found {check.first(pit, bad)}.")
    distance = np.abs(2 * pit - 1)
    return {f"coverage_{100 * level:.3g}": (distance <= level).astype(np.float64) for level in check.levels(levels)}


def widths(ensemble: Gaussian, *, levels: Any = LEVELS) -> dict[str, Vector]:
    """Widths of the central intervals at each level [N], in the target's unit, by the name of the metric."""
    check.kind("ensemble", ensemble, Gaussian)
    levels = np.unique(check.levels(levels))
    found = {f"width_{100 * level:.3g}": np.empty(ensemble.records) for level in levels}
    for rows, block in ensemble.blocks(values=_BLOCK_VALUES):
        # Around 0, so that differences keep their digits where means are far larger than widths.
        centred = Gaussian(block.mean - block.mean.mean(axis=0), block.variance)
        for level in levels:
            low, high = (_quantile(float(end), centred) for end in ((1 - level) / 2, (1 + level) / 2))
            found[f"width_{100 * level:.3g}"][rows] = high - low
    return found


def quantiles(ensemble: Gaussian, *, levels: Any) -> Array:
    """Quantiles of the mixture [L, N] at each level, in the target's unit.

    Args:
        ensemble: [M, N].
        levels: [L], each strictly between 0 and 1.
    """
    check.kind("ensemble", ensemble, Gaussian)
    levels = check.levels(levels)
    found = np.empty((len(levels), ensemble.records))
    for rows, block in ensemble.blocks(values=_BLOCK_VALUES):
        for level, values in zip(levels, found, strict=True):
            values[rows] = _quantile(float(level), block)
    return found


# --- cores: y [N], mu and v [M, N] ------------------------------------------------------------------------------------


def _nll(y: Vector, ensemble: Gaussian) -> Vector:
    mu, v = ensemble.mean, ensemble.variance
    with np.errstate(over="ignore", divide="ignore"):  # densities of 0
        logs = -0.5 * (_log(2 * np.pi, v) + np.square(y - mu) / v)
        highest = np.maximum(logs.max(axis=0), -np.finfo(np.float64).max)
        return np.asarray(-highest - np.log(np.exp(logs - highest).mean(axis=0)))


def _log(factor: float, v: Array) -> Array:
    """The logarithm of a product that may be too large for a float."""
    return np.asarray(np.log(factor * v) if v.max() < check.LARGEST else np.log(factor) + np.log(v))


def _crps(y: Vector, ensemble: Gaussian) -> Vector:
    mu, y, scale = check.shrunk(ensemble.mean, y, np.sqrt(ensemble.variance))
    v = ensemble.variance if scale == 1 else np.maximum(ensemble.variance * scale * scale, np.finfo(np.float64).tiny)
    members = len(mu)
    to_target = _expected_distance(y - mu, v).mean(axis=0)
    # E|X - X'| over all pairs of members; a member paired with itself has distance 2 sqrt(v / pi).
    between = 2 * np.sqrt(v / np.pi).sum(axis=0)
    for m in range(1, members):
        between += 2 * _expected_distance(mu[:m] - mu[m], v[:m] + v[m]).sum(axis=0)
    with np.errstate(over="ignore"):
        return np.asarray((to_target - between / (2 * members**2)) / scale)


def _expected_distance(mean: Array, variance: Array) -> Array:
    """E|Z| of Z ~ N(mean, variance)."""
    sd = np.sqrt(variance)
    z = mean / sd
    return np.asarray(mean * (2 * normal.distribution(z) - 1) + 2 * sd * normal.density(z))


def _cdf(y: Vector, ensemble: Gaussian) -> Vector:
    with np.errstate(over="ignore"):
        z = (y - ensemble.mean) / np.sqrt(ensemble.variance)
    return np.asarray(normal.distribution(z).mean(axis=0))


def _quantile(level: float, ensemble: Gaussian) -> Vector:
    """Newton's method inside a bracket: the mixture's quantile lies between the least and largest of its members'."""
    mu, sd = ensemble.mean, np.sqrt(ensemble.variance)
    deviations = NormalDist().inv_cdf(level)
    own = mu + deviations * sd
    if len(mu) == 1:
        return np.asarray(own[0])
    low, high = own.min(axis=0), own.max(axis=0)
    found = np.clip(mu.mean(axis=0) + deviations * np.sqrt(ensemble.variance.mean(axis=0) + mu.var(axis=0)), low, high)
    left = np.flatnonzero(high > low)  # records whose quantile is still open
    for step in range(_STEPS):
        if not len(left):
            break
        at, mean, scale = found[left], mu[:, left], sd[:, left]
        z = (at - mean) / scale
        beyond = normal.distribution(z).mean(axis=0) - level
        high[left] = np.where(beyond >= 0, at, high[left])
        low[left] = np.where(beyond <= 0, at, low[left])
        slope = (normal.density(z) / scale).mean(axis=0)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            tail = np.abs((level > 0.5) - (beyond + level))  # its logarithm is nearly straight
            moved = at + np.log(min(level, 1 - level) / tail) * tail / slope * (1 if level <= 0.5 else -1)
        held = (moved >= low[left]) & (moved <= high[left]) & (step % _HALVING < _HALVING - 1)  # also false for NaN
        found[left] = np.where(held, moved, 0.5 * (low[left] + high[left]))
        near = held & (np.abs(found[left] - at) <= _LAST_STEP * scale.min(axis=0))
        left = left[~near]
    return np.asarray(found)


def _by_blocks(core: Any, targets: Any, ensemble: Gaussian) -> Vector:
    if not isinstance(ensemble, Gaussian):
        raise ArrayError(f"ensemble: expected Gaussian(mean, variance), found {type(ensemble).__name__}.")
    targets = check.aligned({"ensemble": ensemble, "targets": targets})["targets"]
    targets = check.vector("targets", targets, length=ensemble.records)
    values = np.empty(len(targets))
    for rows, block in ensemble.blocks(values=_BLOCK_VALUES):
        values[rows] = core(targets[rows], block)
    return values
