"""Measures of normal distributions: members N(mu_m, v_m); or mu_m alone, without variances."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import LOG_EPSILON, Array, Gaussian, Means
from shiftbench.measures import Measure


def _data_variance(ensemble: Gaussian) -> Vector:
    return _mean(ensemble.variance)


def _knowledge_variance(ensemble: Gaussian | Means) -> Vector:
    return _mean(np.square(_deviations(ensemble.mean)))


def _total_variance(ensemble: Gaussian) -> Vector:
    return _data_variance(ensemble) + _knowledge_variance(ensemble)


def epkl(ensemble: Gaussian) -> Vector:
    """The mean KL divergence of all ordered pairs of members [N], those of a member with itself included."""
    return _pairwise_kl(ensemble.mean, ensemble.variance)


def _expected_pairwise_cross_entropy(ensemble: Gaussian) -> Vector:
    variance = ensemble.variance + LOG_EPSILON
    entropy = 0.5 * _mean(np.log(2 * np.pi * np.e * variance))
    return entropy + _pairwise_kl(ensemble.mean, variance)


def _pairwise_kl(mean: Array, variance: Array) -> Vector:
    # Over all pairs i, j the log terms cancel, and with m and v the averages of mu_j and v_j
    #   E_ij[(v_i + (mu_i - mu_j)^2) / v_j] - 1 = E_j[((v_j - v)^2 / v + (mu_j - m)^2 + var(mu)) / v_j].
    # All terms are >= 0, so nothing cancels: no digits are lost, and identical members give exactly 0.
    squares = np.square(_deviations(mean))
    spread = _deviations(variance)
    scale = spread / _mean(variance) * spread
    return _mean((scale + squares + _mean(squares)) / (2 * variance))


def _deviations(values: Array) -> Array:
    # Subtracting the first member keeps the digits of large values, and gives exact zeros for equal ones.
    shifted = values - values[:1]
    return shifted - _mean(shifted)


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=0))


_SOURCE = "Malinin et al. 2021, Section 3.3, and the published weather code"

MEASURES = (
    Measure(
        "total_variance",
        "Total variance",
        "total",
        "mean(v_m) + var(mu_m), v_m = 0 where members have no variance",
        _SOURCE,
        {Gaussian: _total_variance, Means: _knowledge_variance},
    ),
    Measure("data_variance", "Data variance", "data", "mean(v_m)", _SOURCE, {Gaussian: _data_variance}),
    Measure(
        "knowledge_variance", "Knowledge variance", "knowledge", "var(mu_m)", _SOURCE, {Gaussian: _knowledge_variance}
    ),
    Measure(
        "expected_pairwise_cross_entropy",
        "EPKL (published)",
        "total",
        "mean over pairs i, j of E_{y ~ p_i}[-log p_j(y)]",
        "the published weather code, which calls it epkl",
        {Gaussian: _expected_pairwise_cross_entropy},
    ),
)
