"""Measures of uncertainty: an ensemble becomes one number a record, and higher always means less certain."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import LOG_EPSILON, Array, Categorical, Ensemble, Gaussian
from shiftbench.errors import ArrayError
from shiftbench.registry import Registry


@dataclass(frozen=True)
class Measure:
    """A definition of uncertainty, with one function for each kind of ensemble that it is defined for.

    kind: "total", "data" (noise that more data cannot remove) or "knowledge" (disagreement of the members).
    functions: by kind of ensemble, a function of it that gives one number a record [N]. It must look at each record
    alone, because it is called on blocks of records.
    """

    name: str
    title: str
    kind: Literal["total", "data", "knowledge"]
    formula: str
    source: str
    functions: Mapping[type[Any], Callable[[Any], Vector]]

    def fits(self, ensemble: Ensemble) -> bool:
        """Whether the measure is defined for this kind of ensemble."""
        return type(ensemble) in self.functions


MEASURES = Registry("measure", Measure, "shiftbench.measures", homes=("shiftbench.measures:_OWN",))
register = MEASURES.register


def uncertainty(ensemble: Ensemble, name: str) -> Vector:
    """The uncertainty of each record [N] by a measure of `MEASURES`; higher always means less certain.

    Raises:
        UnknownNameError: no measure of this name; the message names the nearest.
        ArrayError: the measure is not defined for this kind of ensemble, or did not give N finite numbers.
    """
    measure = MEASURES[name]
    if not measure.fits(ensemble):
        fitting = ", ".join(entry.name for entry in MEASURES.values() if entry.fits(ensemble))
        kind = type(ensemble).__name__
        raise ArrayError(f"{name}: not defined for {kind} ensembles. Those that are: {fitting or 'none'}.")
    function = measure.functions[type(ensemble)]
    values = np.empty(ensemble.records)
    for rows, block in ensemble.blocks():
        found = np.asarray(function(block))
        if found.shape != (block.records,):
            raise ArrayError(f"{name}: expected one number a record, shape ({block.records},), found {found.shape}.")
        values[rows] = found
    return check.vector(name, values)


def measures_for(ensemble: Ensemble) -> tuple[str, ...]:
    """Names of the measures that say something about this ensemble: knowledge needs at least two members."""
    return tuple(
        measure.name
        for measure in MEASURES.values()
        if measure.fits(ensemble) and (ensemble.members > 1 or measure.kind != "knowledge")
    )


def headline(ensemble: Gaussian | Categorical) -> str:
    """The measure behind the headline scores, as in the papers.

    Gaussian: total variance. Categorical: negated confidence, or the entropy for a single model.

    Source: Shifts 1.0 (Malinin et al. 2021), Section 3.
    """
    if isinstance(ensemble, Gaussian):
        return "total_variance"
    return "negated_confidence" if ensemble.members > 1 else "entropy_of_expected"


# --- regression: members N(mu_m, v_m) ------------------------------------------------------------------------


def _data_variance(ensemble: Gaussian) -> Vector:
    return _mean(ensemble.variance)


def _knowledge_variance(ensemble: Gaussian) -> Vector:
    return _mean(np.square(_deviations(ensemble.mean)))


def _total_variance(ensemble: Gaussian) -> Vector:
    return _data_variance(ensemble) + _knowledge_variance(ensemble)


def _epkl_gaussian(ensemble: Gaussian) -> Vector:
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
    # Taking the first member away first keeps the digits of large values, and gives exact zeros for equal ones.
    shifted = values - values[:1]
    return shifted - _mean(shifted)


def _mean(values: Array) -> Array:
    return np.asarray(values.mean(axis=0))


# --- classification: members p_m over C classes --------------------------------------------------------------


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


def _epkl_categorical(ensemble: Categorical) -> Vector:
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


_SHIFTS = "Malinin et al. 2021, Section 3.3, and the published weather code"
_GALES = "Malinin & Gales 2021"

_OWN = (
    Measure("total_variance", "Total variance", "total", "mean(v_m) + var(mu_m)", _SHIFTS, {Gaussian: _total_variance}),
    Measure("data_variance", "Data variance", "data", "mean(v_m)", _SHIFTS, {Gaussian: _data_variance}),
    Measure(
        "knowledge_variance", "Knowledge variance", "knowledge", "var(mu_m)", _SHIFTS, {Gaussian: _knowledge_variance}
    ),
    Measure(
        "expected_pairwise_cross_entropy",
        "EPKL (published)",
        "total",
        "mean over pairs i, j of E_{y ~ p_i}[-log p_j(y)]",
        "the published weather code, which calls it epkl",
        {Gaussian: _expected_pairwise_cross_entropy},
    ),
    Measure(
        "epkl",
        "EPKL",
        "knowledge",
        "mean over pairs i, j of KL(p_i || p_j)",
        _GALES,
        {Gaussian: _epkl_gaussian, Categorical: _epkl_categorical},
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
