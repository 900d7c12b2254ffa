"""Records in order of certainty, ties kept together: sorted once, then used by every curve and score."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.check import Flags, Vector

Index = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Ranking:
    """The order of N records from most to least certain, and the starts of its tie groups.

    order: [N] positions into the records, uncertainty ascending. The order inside a tie group is arbitrary, so
    nothing may depend on it: use `averaged`, or sums over whole groups.
    starts: [G] first rank of each tie group, or None if all uncertainties differ.
    """

    order: Index
    starts: Index | None

    @classmethod
    def of(cls, uncertainty: Vector) -> Ranking:
        """Rank records by `uncertainty` [N], already checked to be finite."""
        order = np.argsort(uncertainty)
        ascending = uncertainty[order]
        return cls._grouped(order, ascending[1:] != ascending[:-1])

    @classmethod
    def _grouped(cls, order: Index, new: Flags) -> Ranking:
        if new.all():
            return cls(order, None)
        return cls(order, np.concatenate(([0], np.flatnonzero(new) + 1)))

    def __len__(self) -> int:
        return len(self.order)

    def averaged(self, values: Vector) -> Vector:
        """`values` [N] (record order) in rank order, every member of a tie group replaced by the group's mean."""
        ranked = values[self.order]
        if self.starts is None:
            return ranked
        return np.repeat(np.add.reduceat(ranked, self.starts) / self.sizes(), self.sizes())

    def sizes(self) -> Index:
        """The number of records of each tie group, [G]."""
        assert self.starts is not None
        return np.diff(self.starts, append=len(self.order))

    def subset(self, member: Flags) -> Ranking:
        """The ranking of the records selected by `member` [N], as positions in that subset, without sorting again."""
        kept = member[self.order]
        position = np.cumsum(member) - 1
        order = position[self.order[kept]]
        if self.starts is None:
            return Ranking(order, None)
        group = np.repeat(np.arange(len(self.starts)), self.sizes())[kept]
        return self._grouped(order, group[1:] != group[:-1])

    def ranks(self) -> Vector:
        """The rank of each record [N], ties at their mean, from 0."""
        found = np.empty(len(self))
        found[self.order] = np.arange(len(self), dtype=np.float64)
        if self.starts is not None:
            found[self.order] = self.averaged(found)
        return found


def correlation(first: Ranking, second: Ranking) -> float:
    """Spearman's rank correlation of two rankings of the same records; NaN if all records tie in one."""
    a, b = (ranking.ranks() - 0.5 * (len(ranking) - 1) for ranking in (first, second))
    norm = float(np.sqrt(np.dot(a, a) * np.dot(b, b)))
    return float(np.dot(a, b)) / norm if norm else float("nan")


def rank_correlation(a: Vector, b: Vector) -> float:
    """Spearman's rank correlation of two vectors [N], ties at their mean rank; NaN if one is constant."""
    return correlation(Ranking.of(a), Ranking.of(b))
