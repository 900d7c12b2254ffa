"""Rank correlations in replicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.ranking import Index, Ranking
from shiftbench.scores.resampling.statistic import product, summed


class RankCorrelations:
    """Spearman's correlations of pairs of columns, each given by its ranking; a tie has the mean rank.

    Args:
        pairs: name → the places of two columns in `rankings`.
        rankings: of the same n records.
        unit: [n] the unit of each record; units: their number.
    """

    def __init__(
        self, pairs: Mapping[str, tuple[int, int]], rankings: Sequence[Ranking], unit: Index, units: int
    ) -> None:
        self.names = tuple(pairs)
        self.pairs = [*pairs.values()]
        self.rankings, self.unit, self.units = rankings, unit, units

    def values(self, counts: Vector) -> Vector:
        """The correlations [S]; NaN where a column is constant."""
        weights = counts[self.unit]
        ranks = [_ranks(ranking, weights) for ranking in self.rankings]
        return np.array([_correlation(weights, ranks[a], ranks[b]) for a, b in self.pairs])

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The correlations [S] and their influence [S, U]: a record counts, and moves the ranks of all others."""
        weights = counts[self.unit]
        ranks = [_ranks(ranking, weights) for ranking in self.rankings]
        found = np.array([_correlation(weights, ranks[a], ranks[b]) for a, b in self.pairs])
        slopes = [self._slope(weights, ranks, pair, rho) for pair, rho in zip(self.pairs, found, strict=True)]
        return found, np.array([summed(self.unit, slope, self.units) for slope in slopes])

    def _slope(self, weights: Vector, ranks: Sequence[Vector], pair: tuple[int, int], rho: float) -> Vector:
        """The derivative [n] of a correlation by the weights."""
        if not np.isfinite(rho):
            return np.zeros(len(weights))
        (one, other), (first, second) = ((ranks[k] for k in pair), (self.rankings[k] for k in pair))
        joint = one * other + _above(first, weights * other) + _above(second, weights * one)
        own, own_slope = product(weights * one, one), one**2 + 2.0 * _above(first, weights * one)
        its, its_slope = product(weights * other, other), other**2 + 2.0 * _above(second, weights * other)
        return np.asarray(joint / np.sqrt(own * its) - 0.5 * rho * (own_slope / own + its_slope / its))


def _correlation(weights: Vector, one: Vector, other: Vector) -> float:
    weighted = weights * one
    square = product(weighted, one) * product(weights * other, other)
    return product(weighted, other) / float(np.sqrt(square)) if square > 0 else np.nan


def _ranks(ranking: Ranking, weights: Vector) -> Vector:
    """Mid-ranks [n] of records that count by their weights, from their mean."""
    return 0.5 * float(weights.sum()) - _above(ranking, weights)


def _above(ranking: Ranking, values: Vector) -> Vector:
    """The sum [n] of the values of the records that rank above each, and half of those that tie with it."""
    ranked = values[ranking.order]
    groups = ranked if ranking.starts is None else np.add.reduceat(ranked, ranking.starts)
    above = groups.sum() - np.cumsum(groups) + 0.5 * groups
    found = np.empty(len(values))
    found[ranking.order] = above if ranking.starts is None else np.repeat(above, ranking.sizes())
    return found
