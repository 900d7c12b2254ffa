"""Retention scores of replicates, in closed form over tie groups."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from shiftbench.check import Flags, Vector
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.resampling.slopes import Draw, Slopes
from shiftbench.scores.resampling.statistic import Copies, Ranked, SameOrder, product
from shiftbench.scores.retention import Rule, harmonic, normalised_f1_quiet, settled
from shiftbench.scores.selective import HALF, gain


class Retention:
    """R-AUC, F1-AUC, its normalised form, F1@95% and the rejection ratio of replicates, in closed form over tie groups.

    With groups of n_g copies, s_g copies before them, error sums E_g and a_g acceptable copies:

    - sum of the curve points c_0 … c_N = (1/N) sum_g E_g (N - s_g - (n_g - 1)/2);
    - sum of F_1 … F_N = 2 [A H(N+A) - sum_g (a_g/n_g) (P(s_g + n_g + A) - P(s_g + A))], with harmonic numbers H and
      P(m) = H(0) + … + H(m-1): an acceptable copy at position p counts in every F_k with k >= p;
    - AURC = (1/N) sum_g (E_g/n_g) (n_g H(N) - P(s_g + n_g) + P(s_g)): a copy at position p counts in the mean error of
      every k >= p, which divides by k. If only the mean errors of k > K count, H(max(p - 1, K)) replaces H(p - 1).

    Influences are those of `Slopes`; they only scale standard errors.

    Args:
        errors: [n] of the records of a subset. good: [n] acceptable flags, or None for no F1.
        ranked: the same n records in rank order, with their units.
        rejection: whether to include the rejection ratio (as a share), at the cost of a second pass in the order of the
            errors.
        selective: whether to include the areas of `scores.selective` as well, in the same two passes.
    """

    def __init__(
        self, errors: Vector, good: Flags | None, ranked: Ranked, *, rule: Rule, rejection: bool = False,
        selective: bool = False,
    ) -> None:  # fmt: skip
        order = ranked.ranking.order
        self.rule = rule
        self.ranked = ranked
        self.errors = errors[order]
        self.good = None if good is None else good[order].astype(np.float64)
        self.names: tuple[str, ...] = (
            ("r_auc",) if good is None else ("r_auc", "f1_auc", "f1_auc_normalised", "f1_at_95")
        )
        self._best: Retention | None = None
        self.selective: tuple[str, ...] = ()
        if rejection:
            self.names += ("rejection_ratio",)
            if selective:
                # NaN unless errors are 0 or 1, rather than absent: all systems and subsets have the same scores.
                self._accurate = 1.0 if bool(((errors == 0) | (errors == 1)).all()) else math.nan
                self.selective = ("aurc", "e_aurc", "augrc", "prr", "prr_50", "auarc")
                self.names += self.selective
            unit = np.empty_like(ranked.unit)
            unit[order] = ranked.unit
            self._best = Retention(errors, None, Ranked.of(Ranking.of(errors), unit, ranked.units), rule=rule)
        self._table = np.zeros(1)

    def values(self, counts: Vector) -> Vector:
        """The scores `names`."""
        return SameOrder(self).values(counts)

    def linearised(self, counts: Vector) -> tuple[Vector, Vector]:
        """The scores `names` and their influence [S, U]."""
        return SameOrder(self).linearised(counts)

    def values_of(self, copies: Copies, counts: Vector) -> Vector:
        """The same, given the copies."""
        draw = self._draw(copies)
        if draw is None:
            return np.full(len(self.names), np.nan)
        scores = self._scores(draw)
        if self._best is None:
            return scores
        return np.concatenate(
            (scores, self._against(self._best._areas(counts, risks=bool(self.selective)), draw, scores[0]))
        )

    def linearised_of(self, copies: Copies, counts: Vector) -> tuple[Vector, Sequence[Vector]]:
        """The same, given the copies."""
        draw = self._draw(copies)
        if draw is None:
            nothing = np.full(len(self.names), np.nan)
            return nothing, [np.full(self.ranked.units, np.nan) for _ in self.names]
        scores = self._scores(draw)
        slopes = self._slopes
        rough = slopes.draw(counts)
        influence = [slopes.r_auc(rough), *slopes.f1(rough)]
        if self._best is not None:
            own, best = self._best._slopes.draw(counts), self._best._areas(counts, risks=bool(self.selective))
            further = self._against(best, draw, scores[0])
            of_mean, of_best = slopes.mean(rough), self._best._slopes.r_auc(own)
            influence.append(_of_ratio(further[0], best[0] - 0.5 * draw.mean, influence[0], of_best, 0.5 * of_mean))
            if self.selective:
                spans = [each - draw.mean for each in best[1:]]
                influence += self._selective_influence(rough, own, further[1:], spans, influence[0], of_mean)
            scores = np.concatenate((scores, further))
        return scores, influence

    @cached_property
    def _slopes(self) -> Slopes:
        return Slopes(self.errors, self.good, self.ranked)

    def _draw(self, copies: Copies) -> Draw | None:
        if copies.n == 0:
            return None
        grouped = self.ranked.grouped
        good = None if self.good is None else grouped(copies.weights * self.good)
        return Draw(copies.groups, copies.ends, grouped(copies.weights * self.errors), good)

    # --- scores

    def _scores(self, draw: Draw) -> Vector:
        area = self._error_area(draw)
        return np.array([area] if draw.good is None else [area, *self._f1(draw, draw.good)])

    def _error_area(self, draw: Draw, rule: Rule | None = None) -> float:
        n, points = draw.n, draw.points
        return points / (n + 1.0) if (rule or self.rule) == "published" else (points - 0.5 * draw.total / n) / n

    def _areas(self, counts: Vector, *, risks: bool) -> tuple[float, float, float]:
        """R-AUC of a replicate with copies and, if wanted, the two areas of `_risk_areas`."""
        draw = self._draw(self.ranked.copies(counts))
        assert draw is not None
        return self._error_area(draw), *(self._risk_areas(draw) if risks else (math.nan, math.nan))

    def _against(self, best: tuple[float, float, float], draw: Draw, area: float) -> Vector:
        """The rejection ratio and the areas `selective`, given what the order of the errors reaches."""
        found = [_rejection(area, best[0], draw.mean)]
        if self.selective:
            aurc, half = self._risk_areas(draw)
            found += [aurc, settled(aurc - best[1]), self._error_area(draw, "exact")]
            found += [gain(draw.mean, aurc, best[1]), gain(draw.mean, half, best[2]), self._accurate - aurc]
        return np.array(found)

    def _risk_areas(self, draw: Draw) -> tuple[float, float]:
        """AURC, and the mean of the mean errors of k retained copies where at most half are rejected."""
        n, ends = draw.n, draw.ends
        table = self._harmonic_sums(n + 1)
        share = self.errors if self.ranked.ranking.starts is None else draw.sums / np.maximum(draw.copies, 1.0)
        reached = table[draw.places]
        rise = np.empty_like(reached)
        rise[0] = reached[0] - table[0]
        np.subtract(reached[1:], reached[:-1], out=rise[1:])
        total = harmonic(n) * draw.total
        # Where at most half are rejected, all copies before that have the weight of the last one of them.
        kept = max(int(HALF * n), 1)
        below = n - kept
        level, place = harmonic(below), int(np.searchsorted(ends, below, side="right"))
        start = ends[place] - draw.copies[place]
        early = level * float(draw.sums[:place].sum())
        across = share[place] * (level * (below - start) + table[int(ends[place])] - table[below])
        late = product(share[place + 1 :], rise[place + 1 :])
        return (total - product(share, rise)) / n, (total - early - float(across) - late) / kept

    def _selective_influence(
        self, rough: Draw, own: Draw, scores: Vector, spans: list[float], of_area: Vector, of_mean: Vector
    ) -> list[Vector]:
        """Influences on the areas `selective`; rough, own: a replicate by stretches, and so in the order of errors."""
        assert self._best is not None
        of_aurc, of_best = self._slopes.risk(rough), self._best._slopes.risk(own)
        of_half, of_best_half = self._slopes.risk(rough, HALF), self._best._slopes.risk(own, HALF)
        prr = _of_ratio(scores[3], spans[0], of_aurc, of_best, of_mean)
        prr_50 = _of_ratio(scores[4], spans[1], of_half, of_best_half, of_mean)
        return [of_aurc, of_aurc - of_best, of_area, prr, prr_50, -self._accurate * of_aurc]

    def _f1(self, draw: Draw, good: Vector) -> tuple[float, float, float]:
        n, acceptable = draw.n, round(float(good.sum()))
        if acceptable == 0:
            return 0.0, np.nan, 0.0
        prefix = self._harmonic_sums(n + acceptable + 1)[acceptable:]
        sums = prefix[draw.places]
        share = self.good if self.ranked.ranking.starts is None else good / np.maximum(draw.copies, 1.0)
        assert share is not None
        late = product(share[1:], np.diff(sums)) + share[0] * (sums[0] - prefix[0])
        total = 2.0 * (acceptable * harmonic(n + acceptable) - late)
        area = (total - acceptable / (n + acceptable)) / (n if self.rule == "exact" else n + 1)
        return area, normalised_f1_quiet(area, n, acceptable, self.rule), self._f1_at(0.95, draw, good, acceptable)

    def _f1_at(self, retention: float, draw: Draw, good: Vector, acceptable: int) -> float:
        def point(k: int) -> float:
            return 2.0 * (acceptable - self._beyond(k, draw, good)) / (k + acceptable) if k else 0.0

        n = draw.n
        if self.rule != "exact":
            return point(min(int(retention * (n + 1)), n))
        below = min(int(retention * n), n - 1)
        low, high = point(below), point(below + 1)
        return low + (retention * n - below) * (high - low)

    @staticmethod
    def _beyond(k: int, draw: Draw, good: Vector) -> float:
        """The number of acceptable copies that are not among the k most certain."""
        group = int(np.searchsorted(draw.ends, k))
        return float(good[group + 1 :].sum() + (draw.ends[group] - k) * good[group] / draw.copies[group])

    def _harmonic_sums(self, size: int) -> Vector:
        """P(0) … P(size - 1) or more; extended as replicates need it."""
        table = self._table  # a local reference, since other threads may replace the attribute
        if len(table) < size:
            length = size + size // 8
            numbers = np.concatenate(([0.0], np.cumsum(1.0 / np.arange(1, length))))
            table = self._table = np.concatenate(([0.0], np.cumsum(numbers[:-1])))
        return table


def _of_ratio(ratio: float, span: float, of_area: Vector, of_best: Vector, of_random: Vector) -> Vector:
    """The influence on (area - random) / (best - random), whose denominator is `span`."""
    slope = of_area - of_random - ratio * (of_best - of_random)
    return slope / span if span else np.zeros_like(slope)


def _rejection(area: float, best: float, mean: float) -> float:
    span = best - 0.5 * mean
    return np.nan if abs(span) <= 1e-12 * mean else settled((area - 0.5 * mean) / span)
