"""The protocol of statistics of a replicate, sums that they share, and statistics composed of others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.ranking import Index, Ranking


def summed(index: Index, values: Vector, size: int) -> Vector:
    """Sums [size] of `values` [n] by `index` [n]."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def product(a: Vector, b: Vector) -> float:
    """The scalar product of two vectors in this thread only; BLAS would start its own threads in every replicate."""
    return float(np.einsum("i,i->", a, b))


class Statistic(Protocol):
    """Scores of replicates; the package's docstring defines the shapes."""

    names: tuple[str, ...]

    def values(self, counts: Vector) -> Vector:
        """The scores [S] under the counts [U]; NaN where undefined."""
        ...

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores [S] and their influence [S, U]."""
        ...


@dataclass(frozen=True)
class Copies:
    """The copies in a replicate of records in rank order: of each record [n], of each tie group [G], and of it and all
    groups before it [G]."""

    weights: Vector
    groups: Vector
    ends: Vector

    @property
    def n(self) -> int:
        """The number of copies."""
        return round(float(self.ends[-1]))


@dataclass(frozen=True)
class Ranked:
    """Records in rank order with their units, which statistics of the same order share.

    ranking: of n records. unit: [n] the unit of each, in rank order. units: U.
    """

    ranking: Ranking
    unit: Index
    units: int

    @classmethod
    def of(cls, ranking: Ranking, unit: Index, units: int) -> Ranked:
        """unit: [n] of each record, in the order of the records."""
        return cls(ranking, unit[ranking.order], units)

    def copies(self, counts: Vector) -> Copies:
        """The copies of a replicate."""
        weights = counts[self.unit]
        groups = self.grouped(weights)
        return Copies(weights, groups, np.cumsum(groups))

    def grouped(self, values: Vector) -> Vector:
        """Sums [G] over tie groups of values [n] in rank order."""
        return values if self.ranking.starts is None else np.add.reduceat(values, self.ranking.starts)

    def spread(self, values: Vector) -> Vector:
        """Values [G] of tie groups, repeated for each of their records [n]."""
        return values if self.ranking.starts is None else np.repeat(values, self.ranking.sizes())


class OfOrder(Protocol):
    """Scores of replicates that need the copies in one order, whoever made these."""

    names: tuple[str, ...]
    ranked: Ranked

    def values_of(self, copies: Copies, counts: Vector) -> Vector:
        """The scores [S]."""
        ...

    def linearised_of(self, copies: Copies, counts: Vector) -> tuple[Vector, Sequence[Vector]]:
        """The scores [S] and the influence [U] of each."""
        ...


class SameOrder:
    """Statistics of one order as one: the copies of a replicate are made once for all."""

    def __init__(self, *parts: OfOrder) -> None:
        self.parts = parts
        self.names = tuple(name for part in parts for name in part.names)

    def values(self, counts: Vector) -> Vector:
        """The scores of all parts, [S]."""
        copies = self.parts[0].ranked.copies(counts)
        return np.concatenate([part.values_of(copies, counts) for part in self.parts])

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores of all parts, [S], and their influence [S, U]."""
        copies = self.parts[0].ranked.copies(counts)
        values, influence = zip(*(part.linearised_of(copies, counts) for part in self.parts), strict=True)
        return np.concatenate(values), np.array([row for rows in influence for row in rows])


class Root:
    """The square root of another statistic's scores under new names: RMSE from mean squared error."""

    def __init__(self, names: Sequence[str], inner: Statistic) -> None:
        self.names = tuple(names)
        self.inner = inner

    def values(self, counts: Vector) -> Vector:
        """The square roots [S]."""
        return np.sqrt(self.inner.values(counts))

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The square roots [S] and their influence [S, U]."""
        values, influence = self.inner.linearised(counts)
        roots = np.sqrt(values)
        return roots, influence / np.where(roots > 0, 2.0 * roots, np.inf)[:, None]


class Joined:
    """Several statistics as one."""

    def __init__(self, parts: Sequence[Statistic]) -> None:
        self.parts = tuple(parts)
        self.names = tuple(name for part in self.parts for name in part.names)

    def values(self, counts: Vector) -> Vector:
        """The scores of all parts, [S]."""
        return np.concatenate([part.values(counts) for part in self.parts])

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores of all parts, [S], and their influence [S, U]."""
        values, influence = zip(*(part.linearised(counts) for part in self.parts), strict=True)
        return np.concatenate(values), np.concatenate(influence)


def parts_of(statistic: Statistic, wanted: Flags) -> tuple[Statistic, Flags]:
    """The parts of a statistic that have any of the wanted scores [S], and which scores these are [S]."""
    if not isinstance(statistic, Joined):
        return statistic, np.ones_like(wanted)
    of_part = np.repeat(np.arange(len(statistic.parts)), [len(part.names) for part in statistic.parts])
    kept = np.unique(of_part[wanted])
    return Joined([statistic.parts[place] for place in kept]), np.isin(of_part, kept)


class Ratio:
    """The first score of one statistic over the first of another: shifted over in-domain error, say."""

    def __init__(self, name: str, above: Statistic, below: Statistic) -> None:
        self.names: tuple[str, ...] = (name,)
        self.above, self.below = above, below

    def values(self, counts: Vector) -> Vector:
        """[ratio]; NaN unless both scores are positive."""
        return self._ratio(self.above.values(counts), self.below.values(counts))

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[ratio] and its influence [1, U]."""
        above, of_above = self.above.linearised(counts)
        below, of_below = self.below.linearised(counts)
        ratio = self._ratio(above, below)
        return ratio, ratio[0] * (of_above[:1] / above[0] - of_below[:1] / below[0])

    @staticmethod
    def _ratio(above: Vector, below: Vector) -> Vector:
        return np.array([above[0] / below[0] if above[0] > 0 and below[0] > 0 else np.nan])
