"""Influences of records on retention scores: the derivatives behind standard errors within a replicate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.grouping import distinct
from shiftbench.scores.ranking import Index
from shiftbench.scores.resampling.statistic import Ranked, product, summed

STRETCHES = 256  # of the ranks, at whose middles derivatives are taken
FEWEST_DENSE = 32
LEAST_DENSE = 0.5  # the share of cells with records from which a table of all cells is faster


@dataclass(frozen=True)
class Draw:
    """One replicate by tie groups in rank order: copies, cumulative copies, and sums over them."""

    copies: Vector
    ends: Vector
    sums: Vector  # of errors
    good: Vector | None  # acceptable copies

    @property
    def n(self) -> int:
        """The number of copies."""
        return round(float(self.ends[-1]))

    @cached_property
    def total(self) -> float:
        """The sum of errors."""
        return float(self.sums.sum())

    @property
    def mean(self) -> float:
        """The mean error."""
        return self.total / self.n

    @cached_property
    def places(self) -> Index:
        """The cumulative copies as places in a table."""
        return self.ends.astype(np.intp)

    @cached_property
    def points(self) -> float:
        """The sum of the points c_0 … c_N of the error-retention curve."""
        # N - s - (n_g - 1)/2 = (N + 1/2) - (end - n_g/2)
        middles = product(self.sums, self.ends) - 0.5 * product(self.sums, self.copies)
        return ((self.n + 0.5) * self.total - middles) / self.n


class Slopes:
    """Influences [U] on the retention scores, in their large-sample form.

    Influences change slowly with the rank, so records are merged by unit and by stretch: a 256th of the records,
    consecutive in rank, or a whole tie group if that is longer. Few cells remain, so a standard error costs little
    compared with its score. Where most units have records in most stretches, cells are kept as a table [stretches, U]
    with zeros, whose sums are the same to the bit and take half of the time.

    Args:
        errors, good: [n] in rank order. ranked: of the same records.
    """

    def __init__(self, errors: Vector, good: Vector | None, ranked: Ranked) -> None:
        n, starts, units, unit = len(errors), ranked.ranking.starts, ranked.units, ranked.unit
        first = np.arange(n) if starts is None else np.repeat(starts, np.diff(starts, append=n))
        cells, cell = distinct(first * STRETCHES // n * units + unit)
        stretch, self.unit = np.divmod(cells, units)
        self.starts = np.flatnonzero(np.diff(stretch, prepend=-1))
        self.lengths = np.diff(self.starts, append=len(cells))
        self.units = units
        self._cells = [np.bincount(cell).astype(np.float64), summed(cell, errors, len(cells))]
        if good is not None:
            self._cells.append(summed(cell, good, len(cells)))
        shape = (len(self.starts), units)
        # Sums over few units would be pairwise.
        self.dense = units >= FEWEST_DENSE and len(cells) >= LEAST_DENSE * math.prod(shape)
        tables = self._cells
        if self.dense:
            tables = [np.zeros(shape) for _ in self._cells]
            for table, values in zip(tables, self._cells, strict=True):
                table[np.repeat(np.arange(len(self.starts)), self.lengths), self.unit] = values
        self.sizes, self.errors, *goods = tables
        self.good = goods[0] if goods else None
        self.unit_sizes = self._by_unit(self.sizes)
        self.unit_errors = self._by_unit(self.errors)
        self.unit_good = None if self.good is None else self._by_unit(self.good)

    def draw(self, counts: Vector) -> Draw:
        """A replicate by stretches."""
        weights = counts[self.unit]
        copies, sums, *goods = (np.add.reduceat(weights * values, self.starts) for values in self._cells)
        return Draw(copies, np.cumsum(copies), sums, goods[0] if goods else None)

    def _spread(self, values: Vector) -> Vector:
        """A value per stretch repeated for each of its cells."""
        return values[:, None] if self.dense else np.repeat(values, self.lengths)

    def _by_unit(self, values: Vector) -> Vector:
        """Sums of the cells of a unit; in both forms from the first stretch on."""
        return values.sum(axis=0) if self.dense else summed(self.unit, values, self.units)

    def mean(self, draw: Draw) -> Vector:
        """The slope of the mean error."""
        return (self.unit_errors - draw.mean * self.unit_sizes) / draw.n

    def r_auc(self, draw: Draw) -> Vector:
        """Of R = (1/N^2) sum_g E_g (N - m_g), m_g the middle of stretch g."""
        # A copy of record i adds e_i to the sum of its own stretch and one record to retain after every one before it.
        n = float(draw.n)
        after = n - (draw.ends - 0.5 * draw.copies)
        heads = np.cumsum(draw.sums) - 0.5 * draw.sums
        area = product(draw.sums, after) / n**2
        slope: Vector = self._by_unit(self.errors * self._spread(after) + self.sizes * self._spread(heads))
        return slope / n**2 - 2.0 * area / n * self.unit_sizes

    def risk(self, draw: Draw, least: float = 0.0) -> Vector:
        """Of AURC; or of the mean risk where at least this share is retained."""
        # A = sum_g E_g (log N - log max(m_g, K)) / (N - K), m_g the middle of stretch g, K = least N: a copy of one
        # adds its own term, moves N, and moves the middles of all stretches after it.
        n, floor = float(draw.n), least * draw.n
        ends = np.concatenate(([0.0], draw.ends))
        middle = np.maximum(draw.ends - 0.5 * draw.copies, 0.5)
        weight = np.diff(_log_area(ends, n, floor)) / np.maximum(draw.copies, 1.0)
        counted = draw.sums * (middle >= floor)
        moved = counted / middle
        later = moved.sum() - np.cumsum(moved) + 0.5 * moved
        area = product(draw.sums, weight) / (n - floor)
        rise = float(counted.sum()) / n - later
        slope = self._by_unit(self.errors * self._spread(weight) + self.sizes * self._spread(rise))
        return slope / (n - floor) - area / n * self.unit_sizes

    def f1(self, draw: Draw) -> list[Vector]:
        """Of F1-AUC, its normalised form and F1@95%, if there are acceptable flags."""
        if self.good is None or self.unit_good is None or draw.good is None:
            return []
        n, acceptable = float(draw.n), float(draw.good.sum())
        if acceptable == 0:
            return [np.zeros(self.units) for _ in range(3)]
        # F = (2/N) sum_g n_g T_g / (m_g + A), T_g and m_g the middles of stretch g in acceptable copies and in copies.
        reach = draw.ends - 0.5 * draw.copies + acceptable
        share = (np.cumsum(draw.good) - 0.5 * draw.good) / reach
        fall = draw.copies * share / reach
        later = fall.sum() - np.cumsum(fall) + 0.5 * fall
        area = 2.0 / n * product(draw.copies, share)
        gain = np.log((n + acceptable) / reach) - fall.sum()
        slope = self._by_unit(self.sizes * self._spread(share - later) + self.good * self._spread(gain))
        of_area = 2.0 / n * slope - area / n * self.unit_sizes
        of_share = (self.unit_good - acceptable / n * self.unit_sizes) / n
        return [
            of_area,
            _normalised_influence(area, acceptable / n, of_area, of_share),
            self._f1_at(0.95, draw, self.good, self.unit_good),
        ]

    def _f1_at(self, retention: float, draw: Draw, good: Vector, unit_good: Vector) -> Vector:
        # A copy before the cut k = rN adds itself and displaces the record at the cut; every copy moves the cut by r.
        assert draw.good is not None
        n, acceptable = float(draw.n), float(draw.good.sum())
        k = retention * n
        width = max(0.02 * n, 5.0)
        near = [max(k - width, 0.0), k, min(k + width, n)]
        ends, drawn = np.zeros((2, len(draw.ends) + 1))
        ends[1:] = draw.ends
        np.cumsum(draw.good, out=drawn[1:])
        low, found, high = np.interp(near, ends, drawn).tolist()
        density = (high - low) / (near[2] - near[0])
        inside = np.minimum(np.maximum((k - draw.ends + draw.copies) / np.maximum(draw.copies, 1.0), 0.0), 1.0)
        before = self._by_unit((good - density * self.sizes) * self._spread(inside))
        rise = before + retention * density * self.unit_sizes
        fall = found * (retention * self.unit_sizes + unit_good) / (k + acceptable)
        result: Vector = 2.0 * (rise - fall) / (k + acceptable)
        return result


def _log_area(places: Vector, n: float, floor: float) -> Vector:
    """The integral of log n - log max(t, floor) from 0 to each place."""
    above = np.maximum(places, max(floor, np.finfo(float).tiny))
    found = above * (1.0 - np.log(above / n)) - floor
    return np.asarray(np.where(places < floor, places * math.log(n / floor), found) if floor else found)


def _limit_areas(share: float) -> tuple[float, float]:
    """Random and optimal F1-AUC for large N at an acceptable share."""
    log = np.log((1.0 + share) / share)
    return 2.0 * share * (1.0 - share * log), 2.0 * share * (1.0 - 2.0 * np.log(2.0) + log)


def _normalised_influence(area: float, share: float, of_area: Vector, of_share: Vector) -> Vector:
    if share >= 1.0:
        return np.zeros_like(of_area)
    step = 1e-5 * min(share, 1.0 - share)
    low, high = _limit_areas(share - step), _limit_areas(share + step)
    random, best = _limit_areas(share)
    slopes = [(high[side] - low[side]) / (2.0 * step) for side in (0, 1)]
    span = best - random
    by_share = (-slopes[0] * span - (area - random) * (slopes[1] - slopes[0])) / span**2
    return of_area / span + by_share * of_share
