"""Measures of class probabilities: members p_m over C classes."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import LOG_EPSILON, Array, Categorical, Gaussian
from shiftbench.measures import Measure, gaussian


def _negated_confidence(ensemble: Categorical) -> Vector:
    return -np.asarray(_mean(ensemble.probabilities).max(axis=-1))


def _entropy_of_expected(ensemble: Categorical) -> Vector:
    expected = _mean(ensemble.probabilities)
    return _nonnegative(-_over_classes(expected * _log(expected)))


def _expected_entropy(ensemble: Categorical) -> Vector:
    return _nonnegative(-_over_classes(_mean_plogp(ensemble.probabilities)))


def _mutual_information(ensemble: Categorical) -> Vector:
    expected = _mean(ensemble.probabilities)
    difference = _mean_plogp(ensemble.probabilities) - expected * _log(expected)
    return _nonnegative(_over_classes(difference))


def _epkl(ensemble: Categorical) -> Vector:
    logs = _log(ensemble.probabilities)
    cross = _mean(ensemble.probabilities) * _mean(logs)
    logs *= ensemble.probabilities
    return _nonnegative(_over_classes(_mean(logs) - cross))


def _reverse_mutual_information(ensemble: Categorical) -> Vector:
    # As epkl - mutual information, in which the expected entropy cancels.
    expected = _mean(ensemble.probabilities)
    logs = _log(expected) - _mean(_log(ensemble.probabilities))
    return _nonnegative(_over_classes(expected * logs))


def _log(probabilities: Array) -> Array:
    shifted = probabilities + LOG_EPSILON
    return np.log(shifted, out=shifted)


def _mean_plogp(probabilities: Array) -> Array:
    terms = _log(probabilities)
    terms *= probabilities
    return _mean(terms)


def _over_classes(values: Array) -> Vector:
    return np.asarray(values.sum(axis=-1))


def _nonnegative(values: Vector) -> Vector:
    # >= 0 by mathematics; rounding, and the epsilon inside the log of a 1, reach some -1e-10.
    return np.asarray(np.maximum(values, 0.0))


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=0))


_GALES = "Malinin & Gales 2021"

MEASURES = (
    Measure(
        "epkl",
        "EPKL",
        "knowledge",
        "mean over pairs i, j of KL(p_i || p_j)",
        _GALES,
        {Gaussian: gaussian.epkl, Categorical: _epkl},
    ),
    Measure(
        "negated_confidence",
        "Negated confidence",
        "total",
        "-max_c mean(p_m)_c",
        "Malinin et al. 2021, Section 3; the published weather code returns it with the other sign",
        {Categorical: _negated_confidence},
    ),
    Measure(
        "entropy_of_expected",
        "Entropy of expected",
        "total",
        "H(mean(p_m))",
        _GALES,
        {Categorical: _entropy_of_expected},
    ),
    Measure("expected_entropy", "Expected entropy", "data", "mean(H(p_m))", _GALES, {Categorical: _expected_entropy}),
    Measure(
        "mutual_information",
        "Mutual information",
        "knowledge",
        "H(mean(p_m)) - mean(H(p_m))",
        "Depeweg et al. 2018, " + _GALES,
        {Categorical: _mutual_information},
    ),
    Measure(
        "reverse_mutual_information",
        "Reverse mutual information",
        "knowledge",
        "mean over m of KL(mean(p_j) || p_m)",
        _GALES,
        {Categorical: _reverse_mutual_information},
    ),
)
