"""Scores of a set in replicates, as functions of sums over its records: macro-F1, corpus BLEU, pooled Dice.

A replicate that draws record i w_i times has sums weighted by w_i. Under retention the k most certain records keep
their answers and the others get ideal ones, so the sums at all retentions are one running sum.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import Index, Ranking
from shiftbench.scores.resampling.statistic import product, summed
from shiftbench.scores.retention import Rule, error_area

STEP = 1e-6  # relative to a sum, for numerical derivatives
MOST_POINTS, FEWEST_POINTS = 256, 32  # of a retention curve
REPLICATE_POINTS = 128  # where a thousand areas are wanted
MOST_MOVED = 1 << 16  # sums whose scores are found in one call for numerical derivatives
MOST_VALUES = 1 << 20  # sums at all points of a retention curve, if these are not the fewest


@dataclass(frozen=True)
class Terms:
    """The contributions of N records to the sums that a score of a set is a function of.

    codes: [N] each: the cell of the table of sums that a record adds to, by the axes of `shape`; empty for one cell.
    amounts: [N, J], what a record adds to the J sums of its cell; None if records are counted.
    The sums have `shape`, with amounts plus an axis of J. Examples: codes (targets, answers) give a confusion matrix
    [C, C]; a group code with the amounts (1, error) gives counts and summed errors of groups [G, 2].
    """

    codes: tuple[Index, ...] = ()
    shape: tuple[int, ...] = ()
    amounts: Vector | None = None

    @property
    def columns(self) -> list[Vector | Index]:
        """All columns that distinguish records, [N] each."""
        return [*self.codes, *(() if self.amounts is None else self.amounts.T)]

    @property
    def sums_shape(self) -> tuple[int, ...]:
        """The shape of the sums."""
        return self.shape if self.amounts is None else (*self.shape, self.amounts.shape[1])

    def select(self, member: Any) -> Terms:
        """The records where `member` [N] holds, or those at positions `member`, in their order."""
        amounts = None if self.amounts is None else self.amounts[member]
        return Terms(tuple(code[member] for code in self.codes), self.shape, amounts)

    def problems(self, n: int, where: str = "terms") -> list[str]:
        """Why these cannot be the terms of n records, `where` in messages."""
        found = []
        if len(self.codes) != len(self.shape):
            found.append(
                f"{where}: expected codes for each axis of the shape {self.shape}, found {len(self.codes)} arrays of "
                "codes. Give them, or an empty shape for one cell."
            )
        for axis, (code, size) in enumerate(zip(self.codes, self.shape, strict=False)):
            array = np.asarray(code)
            if array.shape != (n,) or array.dtype.kind not in "iu":
                found.append(f"{where}: codes {axis}: expected whole numbers [{n}], found {_described(array)}.")
            elif n and not 0 <= array.min() <= array.max() < size:
                ends = f"{array.min()} … {array.max()}"
                found.append(f"{where}: codes {axis}: expected 0 … {size - 1} by the shape, found {ends}.")
        if self.amounts is not None and (np.ndim(self.amounts) != 2 or len(self.amounts) != n):
            found.append(f"{where}: amounts: expected [{n}, J], found {_described(np.asarray(self.amounts))}.")
        if self.amounts is None and not self.codes:
            found.append(f"{where}: expected codes, amounts or both, found neither.")
        return found

    def cell(self) -> Index:
        """Positions [N] in the flattened table."""
        if not self.codes:
            return np.zeros(0 if self.amounts is None else len(self.amounts), dtype=np.intp)
        return np.ravel_multi_index(self.codes, self.shape).astype(np.intp, copy=False)


def _described(array: Any) -> str:
    return f"{array.dtype} {list(array.shape)}"


@dataclass(frozen=True)
class SetTerms:
    """Contributions of N records with their actual and with ideal answers; without the latter there is no retention."""

    found: Terms
    ideal: Terms | None = None

    def select(self, member: Any) -> SetTerms:
        """The records where `member` [N] holds, or those at positions `member`, in their order."""
        return SetTerms(self.found.select(member), self.ideal and self.ideal.select(member))


class _Table:
    """Sums [G, K] of terms by group and their derivatives by record, with the table of sums flattened.

    group: [n] codes of the terms' records, by default one group. groups: G.
    """

    def __init__(self, terms: Terms, group: Index | None = None, groups: int = 1) -> None:
        self.amounts, self.groups = terms.amounts, groups
        self.cells = int(np.prod(terms.shape, dtype=np.intp))
        self.place = terms.cell() if group is None else group * self.cells + terms.cell()

    def sums(self, weights: Vector) -> Vector:
        """[G, K]. weights: [n]."""
        size = self.groups * self.cells
        if self.amounts is None:
            return summed(self.place, weights, size).reshape(self.groups, -1)
        columns = self.amounts.T
        if size == 1:
            return np.array([[product(weights, column) for column in columns]])
        return np.stack([summed(self.place, weights * each, size) for each in columns], axis=1).reshape(self.groups, -1)

    def slopes(self, by_sum: Vector) -> Vector:
        """[n], derivatives by the weight of each record, from those by the sums [G, K]."""
        if self.amounts is None:
            return np.asarray(by_sum.ravel()[self.place])
        of_record = by_sum.reshape(self.groups * self.cells, -1)[self.place]  # [n, J]
        return np.asarray(np.einsum("nj,nj->n", of_record, self.amounts))


class _Function:
    """A metric's function of flattened sums and its derivatives; `whole`: the sums [K] of all records."""

    def __init__(self, metric: Metric, shape: tuple[int, ...], whole: Vector) -> None:
        assert metric.of_sums is not None
        self.of_sums, self.derivatives, self.shape = metric.of_sums, metric.slopes, shape
        self.whole = whole.reshape(shape)

    def __call__(self, sums: Vector) -> Vector:
        """Scores [P] of sums [P, K]."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.of_sums(sums.reshape(-1, *self.shape), self.whole), dtype=np.float64)

    def slopes(self, sums: Vector) -> Vector:
        """Derivatives [P, K] by the sums [P, K]: the metric's own, or else difference quotients."""
        if self.derivatives is not None:
            return np.asarray(self.derivatives(sums.reshape(-1, *self.shape), self.whole)).reshape(sums.shape)
        here, found = self(sums), np.empty_like(sums)
        size = np.abs(sums)
        steps = STEP * np.maximum(size, size.mean(axis=1, keepdims=True))
        together = max(1, MOST_MOVED // max(1, sums.size))
        for sums_moved in np.split(np.arange(sums.shape[1]), range(together, sums.shape[1], together)):
            own = np.arange(len(sums_moved))
            moved = np.repeat(sums[None], len(own), axis=0)  # [B, P, K], each with another sum moved
            moved[own, :, sums_moved] += steps.T[sums_moved]
            rise = self(moved.reshape(-1, sums.shape[1])).reshape(len(own), -1) - here
            found[:, sums_moved] = (rise / (moved[own, :, sums_moved] - sums.T[sums_moved])).T
        return found


class SetScore:
    """A score of a set in replicates.

    Args:
        metric: one with `of_sums`. terms: of the n records of a subset. unit: [n] the unit of each. units: U.
    """

    def __init__(self, metric: Metric, terms: Terms, unit: Index, units: int) -> None:
        self.names: tuple[str, ...] = (metric.name,)
        self.table, self.unit, self.units = _Table(terms), unit, units
        self.score = _Function(metric, terms.sums_shape, self.table.sums(np.ones(len(unit)))[0])

    def values(self, counts: Vector) -> Vector:
        """[score]."""
        return self.score(self.table.sums(counts[self.unit]))

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[score] and its influence [1, U]."""
        sums = self.table.sums(counts[self.unit])
        return self.score(sums), summed(self.unit, self.table.slopes(self.score.slopes(sums)), self.units)[None]


def set_curve(metric: Metric, terms: SetTerms, ranking: Ranking) -> Vector:
    """Scores of N records of which the most certain keep their answers and the others get ideal ones.

    Returns:
        [P + 1], at evenly spaced retentions from 0 to 1; see `SetRetention`.
    """
    return _retention_of_all(metric, terms, ranking, "exact").curve(np.ones(len(ranking)))


def set_area(metric: Metric, terms: SetTerms, ranking: Ranking, rule: Rule, *, points: int = MOST_POINTS) -> float:
    """The area under `set_curve` by the rule's definition of R-AUC, from a curve of at most `points` + 1 points."""
    return float(_retention_of_all(metric, terms, ranking, rule, points).values(np.ones(1))[0])


def _retention_of_all(
    metric: Metric, terms: SetTerms, ranking: Ranking, rule: Rule, points: int = MOST_POINTS
) -> SetRetention:
    return SetRetention(metric, terms, ranking, np.zeros(len(ranking), dtype=np.intp), 1, rule=rule, points=points)


class SetRetention:
    """The area under the retention curve of a score of a set in replicates; tie groups enter with their mean terms.

    The curve has at most `points` + 1 points, fewer if there are thousands of sums: with no more records than that it
    is exact, otherwise sums are interpolated between the ends of as many stretches of the ranks. Influences are
    large-sample ones: they use the middles of these stretches.

    Args:
        metric: one with `of_sums` and `area`. terms: of the n records of a subset, with ideal answers.
        ranking: of the same. unit: [n] the unit of each. units: U. rule: of an R-AUC.
        points: of the curve; REPLICATE_POINTS give an area within about 1e-3 of that of the default, mostly 1e-5.
    """

    def __init__(
        self,
        metric: Metric,
        terms: SetTerms,
        ranking: Ranking,
        unit: Index,
        units: int,
        *,
        rule: Rule,
        points: int = MOST_POINTS,
    ) -> None:
        assert terms.ideal is not None
        n, order = len(unit), ranking.order
        self.names: tuple[str, ...] = (metric.area,)
        self.rule: Rule = rule
        self.unit, self.units = unit[order], units
        self.points = min(points, max(FEWEST_POINTS, MOST_VALUES // max(1, math.prod(terms.found.sums_shape))))
        starts = np.arange(n) if ranking.starts is None else ranking.starts
        stretch = np.unique(starts * min(self.points, n) // n, return_inverse=True)[1].reshape(-1)
        self.stretch, self.stretches = np.repeat(stretch, np.diff(starts, append=n)), int(stretch[-1]) + 1
        self.found, self.ideal = (
            _Table(each.select(order), self.stretch, self.stretches) for each in (terms.found, terms.ideal)
        )
        self.score = _Function(metric, terms.found.sums_shape, self.found.sums(np.ones(n)).sum(axis=0))

    def values(self, counts: Vector) -> Vector:
        """[area]."""
        return self._area(*self._by_stretch(counts[self.unit]))

    def curve(self, weights: Vector) -> Vector:
        """Scores [P + 1] at evenly spaced retentions of copies from the most to the least certain, the others ideal."""
        return self._curve(*self._by_stretch(weights))

    def _area(self, copies: Vector, ideal: Vector, gain: Vector) -> Vector:
        n = copies.sum()
        return np.array([error_area(self._curve(copies, ideal, gain), self.rule, n) if n else np.nan])

    def _curve(self, copies: Vector, ideal: Vector, gain: Vector) -> Vector:
        drawn = copies > 0
        ends = np.concatenate(([0.0], np.cumsum(copies[drawn])))
        sums = ideal.sum(axis=0) + np.concatenate((np.zeros_like(gain[:1]), np.cumsum(gain[drawn], axis=0)))
        kept = np.linspace(0.0, ends[-1], min(self.points, round(ends[-1])) + 1)
        place = np.maximum(np.searchsorted(ends, kept), 1)
        share = (kept - ends[place - 1]) / (ends[place] - ends[place - 1])
        return self.score(sums[place - 1] + share[:, None] * (sums[place] - sums[place - 1]))

    def _by_stretch(self, weights: Vector) -> tuple[Vector, Vector, Vector]:
        """Of each stretch: its copies [Q], ideal sums, and what its own answers add to these, both [Q, K]."""
        ideal = self.ideal.sums(weights)
        return summed(self.stretch, weights, self.stretches), ideal, self.found.sums(weights) - ideal

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[area] and its influence [1, U]."""
        # A copy adds its own terms to all later points, the ideal ones to all earlier points, and one point.
        copies, ideal, gain = self._by_stretch(counts[self.unit])
        middles = ideal.sum(axis=0) + np.cumsum(gain, axis=0) - 0.5 * gain
        fall = copies[:, None] * self.score.slopes(middles)
        before = np.cumsum(fall, axis=0) - 0.5 * fall
        after = fall.sum(axis=0) - before
        point = self.score(middles)
        n = copies.sum()
        level = (point * copies).sum() / n
        slope = self.found.slopes(after) + self.ideal.slopes(before)
        slope += (point - level)[self.stretch]
        return self._area(copies, ideal, gain), summed(self.unit, slope / n, self.units)[None]
