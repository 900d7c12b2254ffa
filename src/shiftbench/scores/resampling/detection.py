"""ROC-AUC and PR-AUC of shift detection in replicates."""

from __future__ import annotations

import math

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.ranking import Index, Ranking
from shiftbench.scores.resampling.statistic import product, summed


class _Sides:
    """Weights of shifted and of in-domain records in ascending order of uncertainty, summed over ties."""

    def __init__(self, shifted: Flags, ranking: Ranking, unit: Index, units: int) -> None:
        self.units = units
        self.starts = ranking.starts
        self.sizes = None if ranking.starts is None else ranking.sizes()
        self.unit = unit[ranking.order]
        self.shifted = shifted[ranking.order].astype(np.float64)

    def _sides(self, counts: Vector) -> tuple[Vector, Vector]:
        weights = counts[self.unit]
        found = weights * self.shifted
        inside = weights - found
        if self.starts is None:
            return found, inside
        return np.add.reduceat(found, self.starts), np.add.reduceat(inside, self.starts)


class Detection(_Sides):
    """ROC-AUC of shift detection in replicates: the weighted Mann-Whitney form, ties counting one half."""

    names: tuple[str, ...] = ("roc_auc",)

    def values(self, counts: Vector) -> Vector:
        """[ROC-AUC]; NaN if a side has no copies."""
        found, inside = self._sides(counts)
        return np.array([self._area(found, inside, np.cumsum(inside))])

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[ROC-AUC] and its influence [1, U]: the placement of each record among the other side."""
        found, inside = self._sides(counts)
        below = np.cumsum(inside)
        area = self._area(found, inside, below)
        shifted, within = float(found.sum()), float(below[-1])
        if not (shifted and within):
            return np.array([area]), np.zeros((1, self.units))
        above = shifted - np.cumsum(found) + 0.5 * found
        beaten = below - 0.5 * inside
        if self.sizes is not None:
            above, beaten = np.repeat(above, self.sizes), np.repeat(beaten, self.sizes)
        slope = np.where(self.shifted > 0, (beaten / within - area) / shifted, (above / shifted - area) / within)
        return np.array([area]), summed(self.unit, slope, self.units)[None]

    @staticmethod
    def _area(found: Vector, inside: Vector, below: Vector) -> float:
        pairs = float(found.sum()) * float(below[-1])
        return product(found, below - 0.5 * inside) / pairs if pairs else np.nan


class AveragePrecision(_Sides):
    """PR-AUC of shift detection in replicates: the mean over shifted records of the precision at their place."""

    names: tuple[str, ...] = ("pr_auc",)

    def values(self, counts: Vector) -> Vector:
        """[average precision]; NaN if a side has no copies."""
        found, inside = self._sides(counts)
        return np.array([self._average(found, *self._at_least(found, inside))])

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[average precision] and its influence [1, U]: a record adds its own precision if it is shifted, and changes
        that of all that are no more uncertain."""
        found, inside = self._sides(counts)
        true, false = self._at_least(found, inside)
        average = self._average(found, true, false)
        if not math.isfinite(average):
            return np.array([average]), np.zeros((1, self.units))
        both = true + false
        share = np.divide(found, both**2, out=np.zeros_like(both), where=both > 0)
        precision = np.divide(true, both, out=np.zeros_like(both), where=both > 0)
        gain, loss = np.cumsum(share * false), np.cumsum(share * true)
        if self.sizes is not None:
            precision, gain, loss = (np.repeat(each, self.sizes) for each in (precision, gain, loss))
        slope = np.where(self.shifted > 0, precision + gain - average, -loss) / true[0]
        return np.array([average]), summed(self.unit, slope, self.units)[None]

    @staticmethod
    def _at_least(found: Vector, inside: Vector) -> tuple[Vector, Vector]:
        """The weights of shifted and of in-domain records that are at least so uncertain."""
        return np.cumsum(found[::-1])[::-1], np.cumsum(inside[::-1])[::-1]

    @staticmethod
    def _average(found: Vector, true: Vector, false: Vector) -> float:
        if not (true[0] > 0 and false[0] > 0):
            return np.nan
        both = true + false
        return product(found, np.divide(true, both, out=np.zeros_like(both), where=both > 0)) / float(true[0])
