"""Does an uncertainty rank records, or their lengths? Correlations with length, and what is left without it.

A sum over the tokens of a text grows with their number, whatever the model knows, while short texts may be the worse
ones. Its residual is the uncertainty minus what is usual at that length in-domain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.errors import ArrayError
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import rank_correlation

Fit = Literal["linear", "isotonic"]
FITS: tuple[Fit, ...] = get_args(Fit)
RESIDUAL = "_length_residual"  # the end of the name of a measure without what its record's length tells

METRICS = (
    Metric(
        "error_length_correlation", "Correlation with length, of errors", "nominal", "plain",
        "Spearman correlation of the errors with the lengths", "this package", least=-1.0, most=1.0, nominal=0.0,
        ranked=False, table="length",
    ),
    Metric(
        "length_correlation", "Correlation with length", "nominal", "plain",
        "Spearman correlation of the uncertainty with the lengths", "this package", uses_uncertainty=True,
        least=-1.0, most=1.0, nominal=0.0, ranked=False, table="length",
    ),
    Metric(
        "error_correlation", "Correlation with the error", "max", "plain",
        "Spearman correlation of the uncertainty with the errors", "this package", uses_uncertainty=True,
        least=-1.0, most=1.0, ranked=False, table="length",
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Trend:
    """The expected value at a length: linear between knots, with slope `slope` beyond the last ones.

    lengths: [K], ascending. values: [K]. slope: beyond the knots; 0 for a constant.
    """

    lengths: Vector
    values: Vector
    slope: float = 0.0

    @classmethod
    def of(cls, uncertainty: Vector, lengths: Vector, fit: Fit) -> Trend:
        """Fitted to checked values [N] by least squares: a line, or a monotone step function.

        A monotone one rises or falls, as the rank correlation with length does.

        Source: Barlow et al. 1972, pool adjacent violators.
        """
        if fit == "linear":
            return cls._line(uncertainty, lengths)
        known, places, counts = np.unique(lengths, return_inverse=True, return_counts=True)
        means = np.bincount(places.reshape(-1), weights=uncertainty) / counts
        sign = -1.0 if rank_correlation(uncertainty, lengths) < 0 else 1.0
        return cls(known, sign * rising(sign * means, counts.astype(np.float64)))

    @classmethod
    def _line(cls, uncertainty: Vector, lengths: Vector) -> Trend:
        middle, mean = float(lengths.mean()), float(uncertainty.mean())
        away = lengths - middle
        square = float(away @ away)
        return cls(np.array([middle]), np.array([mean]), float(away @ (uncertainty - mean)) / square if square else 0.0)

    def at(self, lengths: Vector) -> Vector:
        """The expected values at these lengths [N]."""
        inside = np.clip(lengths, self.lengths[0], self.lengths[-1])
        return np.asarray(np.interp(inside, self.lengths, self.values) + self.slope * (lengths - inside))


def rising(values: Vector, weights: Vector) -> Vector:
    """The non-decreasing values [K] closest to these by weighted squares."""
    means, sums, sizes = list[float](), list[float](), list[int]()
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        size = 1
        while means and means[-1] >= value:  # pooled with the blocks before that are higher
            below = sums.pop()
            value = (means.pop() * below + value * weight) / (below + weight)
            weight, size = weight + below, size + sizes.pop()
        means.append(value)
        sums.append(weight)
        sizes.append(size)
    return np.repeat(means, sizes)


def residual(uncertainty: Any, lengths: Any, *, fitted_on: Any = None, fit: Fit = "linear") -> Vector:
    """An uncertainty minus what is usual for the length of a record: [N], higher is less certain.

    Args:
        uncertainty: [N], higher means less certain.
        lengths: [N], at least 0: tokens, words, samples.
        fitted_on: [N] booleans or 0/1: the in-domain records, on which what is usual is fitted; None: all.
        fit: "linear", or "isotonic" (monotone, constant beyond the lengths that were seen).

    Raises:
        ArrayError: unequal lengths, no records, NaN, infinity, a length below 0, no record to fit on.
        UnknownNameError: another fit.
    """
    argument.choice("fit", fit, FITS)
    uncertainty, lengths = check.vectors(nonnegative=("lengths",), uncertainty=uncertainty, lengths=lengths)
    member = np.ones(len(lengths), np.bool_)
    if fitted_on is not None:
        member = check.flags("fitted_on", fitted_on, length=len(lengths))
    if not member.any():
        raise ArrayError("fitted_on: expected at least one in-domain record to fit on, found none.")
    return np.asarray(uncertainty - Trend.of(uncertainty[member], lengths[member], fit).at(lengths))
