"""Means over records and over groups of them, and macro-F1 from confusion counts, of replicates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shiftbench.check import Vector
from shiftbench.ranking import Index
from shiftbench.resampling.statistic import product, summed


class Means:
    """Weighted means of values known per record: errors, acceptable flags, log-likelihoods.

    Args:
        names: one a row of `values`.
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
        names: one a group. values: [n]. group: [n] codes, 0 … S - 1. unit: [n] the unit of each record; units: U.
    """

    def __init__(self, names: Sequence[str], values: Vector, group: Index, unit: Index, units: int) -> None:
        self.names = tuple(names)
        self.units = units
        # Only the pairs of group and unit that occur are kept: few where units are clusters, N where they are records.
        cells, cell = np.unique(group * units + unit, return_inverse=True)
        self.group, self.unit = np.divmod(cells, units)
        self.sizes = np.bincount(cell.reshape(-1)).astype(np.float64)
        self.sums = summed(cell.reshape(-1), values, len(cells))

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


class Confusion:
    """Macro-F1 of replicates from weighted confusion counts; the mean over the classes present in the whole data."""

    names: tuple[str, ...] = ("macro_f1",)

    def __init__(self, targets: Index, labels: Index, classes: int, unit: Index, units: int) -> None:
        self.classes = classes
        self.present = np.bincount(targets, minlength=classes) > 0
        self.cell = targets * classes + labels
        self.unit, self.units = unit, units

    def values(self, counts: Vector) -> Vector:
        """[macro-F1]."""
        return self._score(self._matrix(counts))

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """[macro-F1] and its influence [1, U]."""
        matrix = self._matrix(counts)
        sides = matrix.sum(axis=0) + matrix.sum(axis=1)
        sides[sides == 0] = np.inf
        weight = self.present / self.present.sum()
        fall = 2.0 * weight * np.diag(matrix) / sides**2
        slope = -(fall[:, None] + fall[None, :])
        slope[np.diag_indices(self.classes)] += 2.0 * weight / sides
        by_unit = summed(self.unit, slope.reshape(-1)[self.cell], self.units)
        return self._score(matrix), by_unit[None]

    def _matrix(self, counts: Vector) -> Vector:
        cells = summed(self.cell, counts[self.unit], self.classes**2)
        return cells.reshape(self.classes, self.classes)

    def _score(self, matrix: Vector) -> Vector:
        sides = matrix.sum(axis=0) + matrix.sum(axis=1)
        f1 = np.divide(2.0 * np.diag(matrix), sides, out=np.zeros(self.classes), where=sides > 0)
        return np.array([f1[self.present].mean()])
