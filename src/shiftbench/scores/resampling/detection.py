"""ROC-AUC of shift detection in replicates."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.ranking import Index, Ranking
from shiftbench.scores.resampling.statistic import product, summed


class Detection:
    """ROC-AUC of shift detection in replicates: the weighted Mann-Whitney form, ties counting one half."""

    names: tuple[str, ...] = ("roc_auc",)

    def __init__(self, shifted: Flags, ranking: Ranking, unit: Index, units: int) -> None:
        self.units = units
        self.starts = ranking.starts
        self.sizes = None if ranking.starts is None else ranking.sizes()
        self.unit = unit[ranking.order]
        self.shifted = shifted[ranking.order].astype(np.float64)

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

    def _sides(self, counts: Vector) -> tuple[Vector, Vector]:
        weights = counts[self.unit]
        found = weights * self.shifted
        inside = weights - found
        if self.starts is None:
            return found, inside
        return np.add.reduceat(found, self.starts), np.add.reduceat(inside, self.starts)

    @staticmethod
    def _area(found: Vector, inside: Vector, below: Vector) -> float:
        pairs = float(found.sum()) * float(below[-1])
        return product(found, below - 0.5 * inside) / pairs if pairs else np.nan
