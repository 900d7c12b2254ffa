"""Scores of a set in replicates, as functions of sums over its records: macro-F1, corpus BLEU, pooled Dice.

A replicate that draws record i w_i times has sums weighted by w_i. Under retention the k most certain records keep
their answers and the others get ideal ones, so the sums at all N + 1 retentions are one running sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import Index, Ranking
from shiftbench.scores.resampling.slopes import STRETCHES
from shiftbench.scores.resampling.statistic import product, summed
from shiftbench.scores.retention import Rule, error_area

STEP = 1e-6  # relative to a sum, for numerical derivatives
_BLOCK_VALUES = 1 << 18


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

    def cell(self) -> Index:
        """Positions [N] in the flattened table."""
        if not self.codes:
            return np.zeros(0 if self.amounts is None else len(self.amounts), dtype=np.intp)
        return np.ravel_multi_index(self.codes, self.shape).astype(np.intp, copy=False)


@dataclass(frozen=True)
class SetTerms:
    """Contributions of N records with their actual and with ideal answers; without the latter there is no retention."""

    found: Terms
    ideal: Terms | None = None

    def select(self, member: Any) -> SetTerms:
        """The records where `member` [N] holds, or those at positions `member`, in their order."""
        return SetTerms(self.found.select(member), self.ideal and self.ideal.select(member))


class _Table:
    """Sums [K] of terms by group and their derivatives by record, with the table of sums flattened."""

    def __init__(self, terms: Terms) -> None:
        self.cell, self.amounts, self.shape = terms.cell(), terms.amounts, terms.sums_shape
        self.cells = int(np.prod(terms.shape, dtype=np.intp))

    def sums(self, weights: Vector, group: Index | None = None, groups: int = 1, rows: slice = slice(None)) -> Vector:
        """[groups, K] over the records in `rows`. weights: [n] of these. group: [n] codes, or None for one group."""
        place = self.cell[rows] if group is None else group * self.cells + self.cell[rows]
        size = groups * self.cells
        if self.amounts is None:
            return summed(place, weights, size).reshape(groups, self.cells)
        columns = self.amounts[rows].T
        if size == 1:
            return np.array([[product(weights, column) for column in columns]])
        return np.stack([summed(place, weights * column, size) for column in columns], axis=1).reshape(groups, -1)

    def slopes(self, by_sum: Vector, row: Index | None = None) -> Vector:
        """[n], derivatives by the weight of each record, from those by the sums [K], or by its row of [R, K]."""
        table = by_sum.reshape(-1, self.cells, 1 if self.amounts is None else self.amounts.shape[1])
        of_record = table[0, self.cell] if row is None else table[row, self.cell]  # [n, J]
        return of_record[:, 0] if self.amounts is None else np.einsum("nj,nj->n", of_record, self.amounts)


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
        for k in range(sums.shape[1]):
            moved = sums.copy()
            moved[:, k] += steps[:, k]
            found[:, k] = (self(moved) - here) / (moved[:, k] - sums[:, k])
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
    """Scores [N + 1] of N records of which the k most certain keep their answers and the others get ideal ones."""
    n = len(ranking)
    whole = SetRetention(metric, terms, ranking, np.zeros(n, dtype=np.intp), 1, rule="exact")
    return np.concatenate([*whole.curve(np.ones(n))])


class SetRetention:
    """The area under the retention curve of a score of a set in replicates; tie groups enter with their mean terms.

    Influences are large-sample ones: they use the middles of 256 stretches of the ranks as the points of the curve.

    Args:
        metric: one with `of_sums` and `area`. terms: of the n records of a subset, with ideal answers.
        ranking: of the same. unit: [n] the unit of each. units: U. rule: of an R-AUC.
    """

    def __init__(
        self, metric: Metric, terms: SetTerms, ranking: Ranking, unit: Index, units: int, *, rule: Rule
    ) -> None:
        assert terms.ideal is not None
        n, order = len(unit), ranking.order
        self.names: tuple[str, ...] = (metric.area,)
        self.rule: Rule = rule
        self.unit, self.units = unit[order], units
        self.found, self.ideal = _Table(terms.found.select(order)), _Table(terms.ideal.select(order))
        self.score = _Function(metric, terms.found.sums_shape, self.found.sums(np.ones(n))[0])
        self.starts = np.arange(n) if ranking.starts is None else ranking.starts
        self.group = np.repeat(np.arange(len(self.starts)), np.diff(self.starts, append=n))
        self.stretch = np.unique(self.starts * STRETCHES // n, return_inverse=True)[1].reshape(-1)[self.group]
        self.block = max(1, _BLOCK_VALUES // max(1, self.score.whole.size))

    def values(self, counts: Vector) -> Vector:
        """[area]."""
        weights = counts[self.unit]
        if not weights.any():
            return np.array([np.nan])
        return np.array([error_area(np.concatenate([*self.curve(weights)]), self.rule)])

    def curve(self, weights: Vector) -> Iterator[Vector]:
        """The score with the k most certain copies unchanged and the others ideal, k = 0 … N, in blocks."""
        reached = self.ideal.sums(weights)
        yield self.score(reached)
        for first in range(0, len(self.starts), self.block):
            groups = min(self.block, len(self.starts) - first)
            ends = np.append(self.starts, len(self.unit))
            rows = slice(ends[first], ends[first + groups])
            here, group = weights[rows], self.group[rows] - first
            copies = summed(group, here, groups).astype(np.intp)
            gain = self.found.sums(here, group, groups, rows) - self.ideal.sums(here, group, groups, rows)
            gain /= np.maximum(copies, 1)[:, None]
            owner = np.repeat(np.arange(groups), copies)
            for start in range(0, len(owner), self.block):
                points = reached + np.cumsum(gain[owner[start : start + self.block]], axis=0)
                yield self.score(points)
                reached = points[-1:]

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[area] and its influence [1, U]."""
        # A copy adds its own terms to all later points, the ideal ones to all earlier points, and one point.
        weights, area = counts[self.unit], self.values(counts)
        stretches = int(self.stretch[-1]) + 1
        copies = summed(self.stretch, weights, stretches)[:, None]
        found = self.found.sums(weights, self.stretch, stretches)
        ideal = self.ideal.sums(weights, self.stretch, stretches)
        gain = found - ideal
        middles = ideal.sum(axis=0) + np.cumsum(gain, axis=0) - 0.5 * gain
        fall = copies * self.score.slopes(middles)
        before = np.cumsum(fall, axis=0) - 0.5 * fall
        after = fall.sum(axis=0) - before
        point = self.score(middles)
        n = copies.sum()
        level = (point * copies[:, 0]).sum() / n
        slope = self.found.slopes(after, self.stretch) + self.ideal.slopes(before, self.stretch)
        slope += (point - level)[self.stretch]
        return area, summed(self.unit, slope / n, self.units)[None]
