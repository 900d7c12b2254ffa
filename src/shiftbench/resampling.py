"""Scores of resampled records without resampling them: a replicate is a count per record (or per cluster).

A replicate in which record i was drawn w_i times has exactly the score of the table in which row i stands w_i times:
the copies share one uncertainty, so they are a tie group. Sorting once and summing over groups in closed form makes a
replicate a few passes over the data instead of a sort.

Each statistic has two methods. `values(counts)` gives its scores [S] under the counts [U] of the units (records or
clusters). `linearised(counts)` gives the scores and their influence [S, U], the derivative of each score by each count:
what a standard error within a replicate needs (the infinitesimal jackknife; Efron & Tibshirani 1993, Chapter 21).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.ranking import Index, Ranking
from shiftbench.retention import Rule, harmonic, normalised_f1_quiet, settled


def summed(index: Index, values: Vector, size: int) -> Vector:
    """Sums [size] of `values` [n] by `index` [n]."""
    return np.bincount(index, weights=values, minlength=size).astype(np.float64, copy=False)


def product(a: Vector, b: Vector) -> float:
    """The scalar product of two vectors on this thread alone; BLAS would start its own threads in every replicate."""
    return float(np.einsum("i,i->", a, b))


class Statistic(Protocol):
    """Scores of replicates; see the module's text for the shapes."""

    names: tuple[str, ...]

    def values(self, counts: Vector) -> Vector:
        """The scores [S] under the counts [U]; NaN where undefined."""
        ...

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores [S] and their influence [S, U]."""
        ...


class Resampler:
    """Draws replicates: units (records, or clusters of them) with replacement, within each stratum separately.

    Clusters are drawn whole. Where one lies in two strata (a day with shifted and in-domain records), its records
    resemble each other across them, and drawing the strata apart would make them seem independent (intervals of the
    mean error too short, of the ROC-AUC too long): then all clusters are drawn together, without strata.

    Args:
        records: N.
        clusters: [N] cluster codes, or None to draw single records.
        strata: [N] codes; each stratum keeps its number of units, unless clusters lie in several.

    Attributes:
        unit: [N] the unit of each record. stratum: [U] the stratum of each unit. units: U.
        fewest: units with records in the smallest stratum: what the quality of an interval hangs on.
    """

    def __init__(self, records: int, *, clusters: Index | None = None, strata: Index | None = None) -> None:
        groups = np.zeros(records, dtype=np.int64) if strata is None else strata.astype(np.int64)
        if clusters is None:
            self.unit: Index = np.arange(records)
            self.stratum: Index = groups
        else:
            _, first, unit = np.unique(clusters, return_index=True, return_inverse=True)
            self.unit = unit.reshape(-1)
            self.stratum = groups[first]
            if (self.stratum[self.unit] != groups).any():
                self.stratum = np.zeros_like(self.stratum)
        self.units = len(self.stratum)
        self.members = [np.flatnonzero(self.stratum == code) for code in np.unique(self.stratum)]
        self.fewest = min(np.count_nonzero(np.bincount(self.unit[groups == code])) for code in np.unique(groups))

    def draw(self, seed: int, replicate: int) -> Vector:
        """How often each unit is drawn in a replicate, [U]; depends on the seed and the replicate's number only."""
        rng = np.random.default_rng([seed, replicate])
        counts = np.empty(self.units)
        for members in self.members:
            size = len(members)
            counts[members] = np.bincount(rng.integers(0, size, size), minlength=size)
        return counts

    def standard_errors(self, influence: Vector, counts: Vector) -> Vector:
        """Standard errors [S] from influences [S, U]: the stratified sum of squares about each stratum's mean."""
        variance = np.zeros(len(influence))
        for members in self.members:
            size = len(members)
            part, drawn = influence[:, members], counts[members]
            centred = part - (part @ drawn / size)[:, None]
            variance += (centred**2 @ drawn) * (size / max(size - 1, 1))
        return np.sqrt(variance)


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


@dataclass(frozen=True)
class _Draw:
    """One replicate, seen by tie groups in rank order: copies, copies up to and including, and what they carry."""

    copies: Vector
    ends: Vector
    sums: Vector  # of errors
    good: Vector | None  # acceptable copies

    @property
    def n(self) -> int:
        return round(float(self.ends[-1]))

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.n)


class Retention:
    """R-AUC, F1-AUC, its normalised form, F1@95% and the rejection ratio of replicates, in closed form over tie groups.

    With groups of n_g copies, s_g copies before them, error sums E_g and a_g acceptable copies:

    - sum of the curve points c_0 … c_N = (1/N) sum_g E_g (N - s_g - (n_g - 1)/2);
    - sum of F_1 … F_N = 2 [A H(N+A) - sum_g (a_g/n_g) (P(s_g + n_g + A) - P(s_g + A))], with harmonic numbers H and
      P(m) = H(0) + … + H(m-1): an acceptable copy at position p counts in every F_k with k >= p.

    Influences are those of `_Slopes`; they only scale standard errors.

    Args:
        errors: [n] of the records of a subset. good: [n] acceptable flags, or None for no F1.
        ranking: of the same n records. unit: [n] the unit of each. units: U of the whole data. rejection: its
            ratio too (as a share), at the price of a second pass in the order of the errors.
    """

    def __init__(
        self, errors: Vector, good: Flags | None, ranking: Ranking, unit: Index, units: int, *, rule: Rule,
        rejection: bool = False,
    ) -> None:  # fmt: skip
        self.rule = rule
        self.units = units
        self.starts = ranking.starts
        self.unit = unit[ranking.order]
        self.errors = errors[ranking.order]
        self.good = None if good is None else good[ranking.order].astype(np.float64)
        self.names: tuple[str, ...] = (
            ("r_auc",) if good is None else ("r_auc", "f1_auc", "f1_auc_normalised", "f1_at_95")
        )
        self._best: Retention | None = None
        if rejection:
            self.names += ("rejection_ratio",)
            self._best = Retention(errors, None, Ranking.of(errors), unit, units, rule=rule)
        self._table = np.zeros(1)

    def values(self, counts: Vector) -> Vector:
        """The scores `names`."""
        draw = self._draw(counts)
        if draw is None:
            return np.full(len(self.names), np.nan)
        scores = self._scores(draw)
        if self._best is None:
            return scores
        return np.append(scores, _rejection(scores[0], self._best.values(counts)[0], draw.mean))

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores `names` and their influence [S, U]."""
        draw = self._draw(counts)
        if draw is None:
            nothing = np.full(len(self.names), np.nan)
            return nothing, np.full((len(self.names), self.units), np.nan)
        scores = self._scores(draw)
        slopes = self._slopes
        rough = slopes.draw(counts)
        influence = [slopes.r_auc(rough), *slopes.f1(rough)]
        if self._best is not None:
            best, of_best = self._best.linearised(counts)
            ratio = _rejection(scores[0], best[0], draw.mean)
            of_half_mean = 0.5 * slopes.mean(rough)
            span = best[0] - 0.5 * draw.mean
            slope = influence[0] - of_half_mean - ratio * (of_best[0] - of_half_mean)
            influence.append(slope / span if span else np.zeros(self.units))
            scores = np.append(scores, ratio)
        return scores, np.array(influence)

    @cached_property
    def _slopes(self) -> _Slopes:
        return _Slopes(self.errors, self.good, self.starts, self.unit, self.units)

    def _draw(self, counts: Vector) -> _Draw | None:
        weights = counts[self.unit]
        copies = self._grouped(weights)
        ends = np.cumsum(copies)
        if ends[-1] == 0:
            return None
        good = None if self.good is None else self._grouped(weights * self.good)
        return _Draw(copies, ends, self._grouped(weights * self.errors), good)

    def _grouped(self, values: Vector) -> Vector:
        return values if self.starts is None else np.add.reduceat(values, self.starts)

    # --- scores

    def _scores(self, draw: _Draw) -> Vector:
        area = self._error_area(draw)
        return np.array([area] if draw.good is None else [area, *self._f1(draw, draw.good)])

    def _error_area(self, draw: _Draw) -> float:
        n = draw.n
        total = float(draw.sums.sum())
        # N - s - (n_g - 1)/2 = (N + 1/2) - (end - n_g/2)
        middles = product(draw.sums, draw.ends) - 0.5 * product(draw.sums, draw.copies)
        points = ((n + 0.5) * total - middles) / n
        return points / (n + 1.0) if self.rule == "published" else (points - 0.5 * total / n) / n

    def _f1(self, draw: _Draw, good: Vector) -> tuple[float, float, float]:
        n, acceptable = draw.n, round(float(good.sum()))
        if acceptable == 0:
            return 0.0, np.nan, 0.0
        prefix = self._harmonic_sums(n + acceptable + 1)[acceptable:]
        sums = prefix[draw.ends.astype(np.intp)]
        share = self.good if self.starts is None else good / np.maximum(draw.copies, 1.0)
        assert share is not None
        late = product(share[1:], np.diff(sums)) + share[0] * (sums[0] - prefix[0])
        total = 2.0 * (acceptable * harmonic(n + acceptable) - late)
        area = (total - acceptable / (n + acceptable)) / (n + 1 if self.rule == "published" else n)
        return area, normalised_f1_quiet(area, n, acceptable, self.rule), self._f1_at(0.95, draw, good, acceptable)

    def _f1_at(self, retention: float, draw: _Draw, good: Vector, acceptable: int) -> float:
        def point(k: int) -> float:
            return 2.0 * (acceptable - self._beyond(k, draw, good)) / (k + acceptable) if k else 0.0

        n = draw.n
        if self.rule == "published":
            return point(min(int(retention * (n + 1)), n))
        below = min(int(retention * n), n - 1)
        low, high = point(below), point(below + 1)
        return low + (retention * n - below) * (high - low)

    @staticmethod
    def _beyond(k: int, draw: _Draw, good: Vector) -> float:
        """Acceptable copies that are not among the k most certain."""
        group = int(np.searchsorted(draw.ends, k))
        return float(good[group + 1 :].sum() + (draw.ends[group] - k) * good[group] / draw.copies[group])

    def _harmonic_sums(self, size: int) -> Vector:
        """P(0) … P(size - 1) or more; grown as replicates need it."""
        table = self._table  # a local name: other threads may replace the attribute
        if len(table) < size:
            length = size + size // 8
            numbers = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, length))))
            table = self._table = np.concatenate(([0.0], np.cumsum(numbers[:-1])))
        return table


STRETCHES = 256


class _Slopes:
    """Influences [U] of the retention scores, in their large-sample form.

    Influences change slowly with the rank, so records are merged by unit and by stretch: a 256th of the records that
    neighbour each other in rank, or a whole tie group where that is longer. What is left are few cells, and a standard
    error costs little beside its score.

    Args:
        errors, good, unit: [n] in rank order. starts: [G] of the tie groups, or None. units: U.
    """

    def __init__(self, errors: Vector, good: Vector | None, starts: Index | None, unit: Index, units: int) -> None:
        n = len(errors)
        first = np.arange(n) if starts is None else np.repeat(starts, np.diff(starts, append=n))
        cells, cell = np.unique(first * STRETCHES // n * units + unit, return_inverse=True)
        cell = cell.reshape(-1)
        stretch, self.unit = np.divmod(cells, units)
        self.starts = np.flatnonzero(np.diff(stretch, prepend=-1))
        self.lengths = np.diff(self.starts, append=len(cells))
        self.units = units
        self.sizes = np.bincount(cell).astype(np.float64)
        self.errors = summed(cell, errors, len(cells))
        self.good = None if good is None else summed(cell, good, len(cells))
        self.unit_sizes = self._by_unit(self.sizes)

    def draw(self, counts: Vector) -> _Draw:
        """A replicate, seen by stretches."""
        weights = counts[self.unit]
        copies = np.add.reduceat(weights * self.sizes, self.starts)
        sums = np.add.reduceat(weights * self.errors, self.starts)
        good = None if self.good is None else np.add.reduceat(weights * self.good, self.starts)
        return _Draw(copies, np.cumsum(copies), sums, good)

    def _spread(self, values: Vector) -> Vector:
        """A value per stretch given to each of its cells."""
        return np.repeat(values, self.lengths)

    def _by_unit(self, values: Vector) -> Vector:
        return summed(self.unit, values, self.units)

    def mean(self, draw: _Draw) -> Vector:
        """Of the mean error."""
        return (self._by_unit(self.errors) - draw.mean * self.unit_sizes) / draw.n

    def r_auc(self, draw: _Draw) -> Vector:
        """Of R = (1/N^2) sum_g E_g (N - m_g), m_g the middle of stretch g."""
        # A copy of record i adds e_i to the sum of its own stretch and one record to retain after every one before it.
        n = float(draw.n)
        after = n - (draw.ends - 0.5 * draw.copies)
        heads = np.cumsum(draw.sums) - 0.5 * draw.sums
        area = product(draw.sums, after) / n**2
        slope: Vector = self._by_unit(self.errors * self._spread(after) + self.sizes * self._spread(heads))
        return slope / n**2 - 2.0 * area / n * self.unit_sizes

    def f1(self, draw: _Draw) -> list[Vector]:
        """Of F1-AUC, its normalised form and F1@95%, if there are acceptable flags."""
        if self.good is None or draw.good is None:
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
        of_share = (self._by_unit(self.good) - acceptable / n * self.unit_sizes) / n
        return [
            of_area,
            _normalised_influence(area, acceptable / n, of_area, of_share),
            self._f1_at(0.95, draw, self.good, draw.good),
        ]

    def _f1_at(self, retention: float, draw: _Draw, good: Vector, drawn: Vector) -> Vector:
        # A copy before the cut k = rN adds itself and pushes the record at the cut out; every copy moves the cut by r.
        n, acceptable = float(draw.n), float(drawn.sum())
        k = retention * n
        width = max(0.02 * n, 5.0)
        near = np.clip([k - width, k, k + width], 0.0, n)
        low, found, high = np.interp(near, np.append(0.0, draw.ends), np.append(0.0, np.cumsum(drawn)))
        density = (high - low) / (near[2] - near[0])
        inside = np.clip((k - draw.ends + draw.copies) / np.maximum(draw.copies, 1.0), 0.0, 1.0)
        before = self._by_unit((good - density * self.sizes) * self._spread(inside))
        rise = before + retention * density * self.unit_sizes
        fall = found * (retention * self.unit_sizes + self._by_unit(good)) / (k + acceptable)
        result: Vector = 2.0 * (rise - fall) / (k + acceptable)
        return result


def _rejection(area: float, best: float, mean: float) -> float:
    span = best - 0.5 * mean
    return np.nan if abs(span) <= 1e-12 * mean else settled((area - 0.5 * mean) / span)


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


class Detection:
    """ROC-AUC of shift detection of replicates: the Mann-Whitney form with weights, ties counting one half."""

    names: tuple[str, ...] = ("roc_auc",)

    def __init__(self, shifted: Flags, ranking: Ranking, unit: Index, units: int) -> None:
        self.units = units
        self.starts = ranking.starts
        self.sizes = None if ranking.starts is None else ranking.sizes()
        self.unit = unit[ranking.order]
        self.shifted = shifted[ranking.order].astype(np.float64)

    def values(self, counts: Vector) -> Vector:
        """[ROC-AUC]; NaN where a side has no copies."""
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


class Root:
    """The square root of another statistic's scores under other names: RMSE from mean squared error."""

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
