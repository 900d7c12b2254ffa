"""ROC-AUC and PR-AUC of shift detection in replicates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.ranking import Index
from shiftbench.scores.resampling.statistic import Copies, Ranked, SameOrder, product, summed


@dataclass(frozen=True)
class _Sides:
    """Copies of shifted and of in-domain records by tie groups [G], and those of it and all groups before it."""

    found: Vector
    inside: Vector
    found_ends: Vector
    inside_ends: Vector

    @cached_property
    def true(self) -> Vector:
        """The copies of shifted records that are at least so uncertain."""
        return _at_least(self.found, self.found_ends)

    @cached_property
    def false(self) -> Vector:
        """The copies of in-domain records that are at least so uncertain."""
        return _at_least(self.inside, self.inside_ends)

    @cached_property
    def both(self) -> Vector:
        """All copies that are at least so uncertain, of the groups that have any: they come first."""
        both = self.true + self.false
        return both[: len(both) - int(np.searchsorted(both[::-1], 0.0, side="right"))]

    @cached_property
    def precision(self) -> Vector:
        """The share of shifted copies among those that are at least so uncertain; 0 where there are none."""
        return _quotient(self.true, self.both)


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
            scores.append(_average(sides))
        return np.array(scores)

    def linearised_of(self, copies: Copies, counts: Vector) -> tuple[Vector, Sequence[Vector]]:
        """The same, given the copies."""
        sides = self._sides(copies)
        found = [self._area_influence(sides)]
        if len(self.names) > 1:
            found.append(self._average_influence(sides))
        scores, slopes = zip(*found, strict=True)
        nothing = np.zeros(self.ranked.units)
        return np.array(scores), [
            nothing if slope is None else summed(self.ranked.unit, slope, self.ranked.units) for slope in slopes
        ]

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
        slopes = np.empty((2, len(sides.found)))
        of_found, of_inside = slopes
        np.multiply(sides.inside, -0.5, out=of_found)
        of_found += sides.inside_ends
        np.multiply(sides.found, 0.5, out=of_inside)
        of_inside += shifted
        of_inside -= sides.found_ends
        for slope, own, other in ((of_found, shifted, within), (of_inside, within, shifted)):
            slope /= other
            slope -= area
            slope /= own
        return area, self._of_records(slopes)

    def _average_influence(self, sides: _Sides) -> tuple[float, Vector | None]:
        """PR-AUC and its slope [n]: a record adds its own precision if it is shifted, and changes that of all that are
        no more uncertain."""
        average = _average(sides)
        if not math.isfinite(average):
            return average, None
        shifted = float(sides.true[0])
        share = _quotient(sides.found, sides.both**2)
        pair = np.empty((len(share), 2))
        np.multiply(share, sides.false, out=pair[:, 0])
        np.multiply(share, sides.true, out=pair[:, 1])
        both = pair.view(np.complex128)[:, 0]
        np.cumsum(both, out=both)  # two sums that do not wait for each other, in less time than one
        slopes = np.empty((2, len(share)))
        gain, loss = slopes
        np.add(both.real, sides.precision, out=gain)
        gain -= average
        gain /= shifted
        np.divide(both.imag, -shifted, out=loss)
        return average, self._of_records(slopes)

    def _of_records(self, slopes: Vector) -> Vector:
        """The slopes [n] of records, given those of shifted and of in-domain records of each tie group [2, G]."""
        # By places: a choice by flags is ten times slower, since they come as if by chance.
        return slopes.reshape(-1)[self._places]

    @cached_property
    def _places(self) -> Index:
        """The places [n] of records in an array [2, G] of tie groups for shifted and for in-domain records."""
        starts, n = self.ranked.ranking.starts, len(self.shifted)
        groups = n if starts is None else len(starts)
        group = np.arange(n) if starts is None else np.repeat(np.arange(groups), self.ranked.ranking.sizes())
        places: Index = group + groups * (self.shifted == 0)
        return places


def _at_least(copies: Vector, ends: Vector) -> Vector:
    """Copies [G] of a group and of all after it, given those of it and of all before it."""
    found: Vector = ends[-1] - ends
    found += copies
    return found


def _quotient(above: Vector, below: Vector) -> Vector:
    """[G] over the first groups [B]; 0 for the others."""
    found = np.zeros_like(above)
    np.divide(above[: len(below)], below, out=found[: len(below)])
    return found


def _area(sides: _Sides) -> float:
    pairs = float(sides.found_ends[-1]) * float(sides.inside_ends[-1])
    return product(sides.found, sides.inside_ends - 0.5 * sides.inside) / pairs if pairs else np.nan


def _average(sides: _Sides) -> float:
    if not (sides.true[0] > 0 and sides.false[0] > 0):
        return np.nan
    return product(sides.found, sides.precision) / float(sides.true[0])
