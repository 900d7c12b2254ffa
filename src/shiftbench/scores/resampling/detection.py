"""ROC-AUC and PR-AUC of shift detection in replicates."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.resampling.statistic import Copies, Ranked, SameOrder, product, summed


@dataclass(frozen=True)
class _Sides:
    """Copies of shifted and of in-domain records by tie groups [G], and those of it and all groups before it."""

    found: Vector
    inside: Vector
    found_ends: Vector
    inside_ends: Vector

    @property
    def at_least(self) -> tuple[Vector, Vector]:
        """The copies of shifted and of in-domain records that are at least so uncertain."""
        return self.found_ends[-1] - self.found_ends + self.found, self.inside_ends[-1] - self.inside_ends + self.inside


class Detection:
    """Scores of shift detection in replicates.

    - ROC-AUC: the weighted Mann-Whitney form, ties counting one half.
    - PR-AUC, if wanted: average precision, the mean over shifted records of the precision at their place.

    Args:
        shifted: [n] flags of the records. ranked: of the same. average_precision: whether to include PR-AUC.
    """

    def __init__(self, shifted: Flags, ranked: Ranked, *, average_precision: bool = False) -> None:
        self.names: tuple[str, ...] = ("roc_auc", "pr_auc") if average_precision else ("roc_auc",)
        self.ranked = ranked
        self.shifted = shifted[ranked.ranking.order].astype(np.float64)

    def values(self, counts: Vector) -> Vector:
        """The scores `names`; NaN if a side has no copies."""
        return SameOrder(self).values(counts)

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores `names` and their influence [S, U]."""
        return SameOrder(self).linearised(counts)

    def values_of(self, copies: Copies, counts: Vector) -> Vector:
        """The same, given the copies."""
        sides = self._sides(copies)
        scores = [_area(sides)]
        if len(self.names) > 1:
            scores.append(_average(sides.found, *sides.at_least))
        return np.array(scores)

    def linearised_of(self, copies: Copies, counts: Vector) -> tuple[Vector, Vector]:
        """The same, given the copies."""
        sides = self._sides(copies)
        found = [self._area_influence(sides)]
        if len(self.names) > 1:
            found.append(self._average_influence(sides))
        scores, slopes = zip(*found, strict=True)
        nothing = np.zeros(self.ranked.units)
        influence = [
            nothing if slope is None else summed(self.ranked.unit, slope, self.ranked.units) for slope in slopes
        ]
        return np.array(scores), np.array(influence)

    def _sides(self, copies: Copies) -> _Sides:
        found = self.ranked.grouped(copies.weights * self.shifted)
        found_ends = np.cumsum(found)
        return _Sides(found, copies.groups - found, found_ends, copies.ends - found_ends)

    def _area_influence(self, sides: _Sides) -> tuple[float, Vector | None]:
        """ROC-AUC and its slope [n]: the placement of each record among the other side."""
        area = _area(sides)
        shifted, within = float(sides.found_ends[-1]), float(sides.inside_ends[-1])
        if not (shifted and within):
            return area, None
        above = self.ranked.spread(shifted - sides.found_ends + 0.5 * sides.found)
        beaten = self.ranked.spread(sides.inside_ends - 0.5 * sides.inside)
        return area, np.where(self.shifted > 0, (beaten / within - area) / shifted, (above / shifted - area) / within)

    def _average_influence(self, sides: _Sides) -> tuple[float, Vector | None]:
        """PR-AUC and its slope [n]: a record adds its own precision if it is shifted, and changes that of all that are
        no more uncertain."""
        true, false = sides.at_least
        average = _average(sides.found, true, false)
        if not math.isfinite(average):
            return average, None
        both = true + false
        share = np.divide(sides.found, both**2, out=np.zeros_like(both), where=both > 0)
        precision = self.ranked.spread(np.divide(true, both, out=np.zeros_like(both), where=both > 0))
        gain, loss = (self.ranked.spread(np.cumsum(share * side)) for side in (false, true))
        return average, np.where(self.shifted > 0, precision + gain - average, -loss) / true[0]


def _area(sides: _Sides) -> float:
    pairs = float(sides.found_ends[-1]) * float(sides.inside_ends[-1])
    return product(sides.found, sides.inside_ends - 0.5 * sides.inside) / pairs if pairs else np.nan


def _average(found: Vector, true: Vector, false: Vector) -> float:
    if not (true[0] > 0 and false[0] > 0):
        return np.nan
    both = true + false
    return product(found, np.divide(true, both, out=np.zeros_like(both), where=both > 0)) / float(true[0])
