"""Means over records and over groups of records in replicates."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.grouping import distinct
from shiftbench.scores.ranking import Index
from shiftbench.scores.resampling.statistic import product, summed


class Means:
    """Weighted means of values per record: errors, acceptable flags, log-likelihoods.

    Args:
        names: one per row of `values`.
        values: [S, n] of the records of a subset.
        unit: [n] the unit of each record; units: U.
    """

    def __init__(self, names: Sequence[str], values: Vector, unit: Index, units: int) -> None:
        self.names = tuple(names)
        self.sizes = np.bincount(unit, minlength=units).astype(np.float64)
        self.sums = np.array([summed(unit, row, units) for row in values])

    def values(self, counts: Vector) -> Vector:
        """The means [S]."""
        total = product(counts, self.sizes)
        return (
            np.array([product(row, counts) for row in self.sums]) / total if total else np.full(len(self.sums), np.nan)
        )

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The means [S] and their influence [S, U]."""
        means = self.values(counts)
        return means, (self.sums - means[:, None] * self.sizes) / product(counts, self.sizes)


class GroupMeans:
    """Weighted means of one value within each group of records: the slices of a report.

    Args:
        names: one per group. values: [n]. group: [n] codes, 0 … S - 1. unit: [n] the unit of each record; units: U.
    """

    def __init__(self, names: Sequence[str], values: Vector, group: Index, unit: Index, units: int) -> None:
        self.names = tuple(names)
        self.units = units
        # Only pairs of group and unit that occur are kept: few if units are clusters, N if they are records.
        cells, self.cell = distinct(group * units + unit)
        self.group, self.unit = np.divmod(cells, units)
        self.sizes = np.bincount(self.cell).astype(np.float64)
        self.sums = summed(self.cell, values, len(cells))

    def of(self, values: Vector) -> GroupMeans:
        """The means of other values [n] in the same groups, without sorting these again."""
        other = copy(self)
        other.sums = summed(self.cell, values, len(self.sums))
        return other

    def values(self, counts: Vector) -> Vector:
        """The means [S]; NaN for a group without copies."""
        return self._means(counts)[0]

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The means [S] and their influence [S, U]."""
        means, totals = self._means(counts)
        influence = np.zeros((len(self.names), self.units))
        with np.errstate(divide="ignore", invalid="ignore"):
            influence[self.group, self.unit] = (self.sums - means[self.group] * self.sizes) / totals[self.group]
        return means, influence

    def _means(self, counts: Vector) -> tuple[Vector, Vector]:
        weights = counts[self.unit]
        totals = summed(self.group, weights * self.sizes, len(self.names))
        sums = summed(self.group, weights * self.sums, len(self.names))
        with np.errstate(divide="ignore", invalid="ignore"):
            return sums / totals, totals
