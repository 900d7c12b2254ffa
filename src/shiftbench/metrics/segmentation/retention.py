"""What an uncertainty per voxel is worth: Dice while the most uncertain voxels are replaced by the truth.

All V voxels of a region are ranked; the k most certain keep the prediction and the others take the truth. The curve of
scores over the share k/V ends at the score of the prediction; the area above it (R-AAC) is small if wrong voxels are
the uncertain ones.

Source: Malinin et al. 2022, Shifts 2.0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from shiftbench import argument, check, components
from shiftbench.check import Flags, Vector
from shiftbench.components import Index
from shiftbench.metrics.segmentation.overlap import R, dice, false_weight
from shiftbench.scores.ranking import Ranking

# Shares of retained voxels; the exact rule takes all V + 1.
GRIDS: dict[str, Callable[[], Vector]] = {
    "published": lambda: np.log(np.arange(1, 201)) / np.log(200),
    "linear400": lambda: np.linspace(0.0, 1.0, 400),
}
RULES = (*GRIDS, "exact")
SCORES = ("ndsc", "dsc")
ORDERS = ("random", "optimal")


class Curve(NamedTuple):
    """Scores [P] where the shares `retained` [P] of the voxels keep the prediction, ascending from 0 to 1."""

    retained: Vector
    scores: Vector

    @property
    def area(self) -> float:
        """The area above the curve, 0 … 1: lower is better."""
        return float(1.0 - np.trapezoid(self.scores, self.retained))


def ndsc_retention_curve(
    targets: Any, answers: Any, uncertainty: Any, *, rule: str = "published", score: str = "ndsc"
) -> Curve:
    """nDSC (or DSC) of two masks over the share of voxels that keep the prediction.

    Args:
        targets, answers: masks of one shape; for the brain alone, its voxels: `targets[brain]`, …
        uncertainty: of each voxel, higher means less certain, in the same shape; or the name of an order, "random":
            expected counts at every share, or "optimal": that with the smallest exact area, right voxels first.
        rule: "published": 200 points, log 1 … log 200 over log 200, at each the first floor(share V) voxels; ties in
            the order of the arrays (published: in that of an unstable sort, so that it differs between computers).
            "linear400": as it, at 400 even shares from 0 to 1 (follow-up work). "exact": all V + 1 points; voxels of
            equal uncertainty enter with their expected counts; if there is nothing to find, with the probability that
            none of those retained is a false alarm.
        score: "ndsc" or "dsc".

    Raises:
        ArrayError: naming every problem: shapes that differ, no voxel, NaN, masks of other numbers than 0 and 1.
        UnknownNameError: another rule, score or order.
        MissingExtraError: for "optimal", if scipy is not installed.
    """
    order = uncertainty if isinstance(uncertainty, str) else ""
    if order:
        argument.choice("order", order, ORDERS)
    truth, found, ranked = _checked(targets, answers, None if order else uncertainty, rule, score)
    if not order:
        return _curve(truth, found, ranked, rule, score)
    by = best_order(truth, found, _weight(truth, score)) if order == "optimal" else ranked
    return _on_grid(_exact(truth, found, by, score), rule)


def ndsc_retention_area(
    targets: Any, answers: Any, uncertainty: Any, *, rule: str = "published", score: str = "ndsc"
) -> float:
    """R-AAC: 1 - the area under `ndsc_retention_curve` (trapezoid), 0 … 1, lower is better; arguments as there."""
    return ndsc_retention_curve(targets, answers, uncertainty, rule=rule, score=score).area


def ndsc_retention_random(targets: Any, answers: Any, *, rule: str = "published", score: str = "ndsc") -> float:
    """R-AAC of the order "random" of `ndsc_retention_curve`."""
    return ndsc_retention_curve(targets, answers, "random", rule=rule, score=score).area


def ndsc_retention_optimal(targets: Any, answers: Any, *, rule: str = "published", score: str = "ndsc") -> float:
    """R-AAC of the order "optimal" of `ndsc_retention_curve`: right voxels, then wrong ones."""
    return ndsc_retention_curve(targets, answers, "optimal", rule=rule, score=score).area


def best_order(truth: Flags, found: Flags, weight: float) -> Vector:
    """An uncertainty [V] of the best order: right voxels, some missed ones, all false ones, the other missed ones.

    With k wrong voxels retained, the score falls with the number of false ones among them as long as k < G (1 - 1 /
    weight), and rises beyond. So false ones come as late as possible before that k, and as early as possible after it:
    in one block. Where it begins is found by trying all places.
    """
    positives, places = int(np.count_nonzero(truth)), np.flatnonzero(truth & ~found)
    false, before = int(np.count_nonzero(found & ~truth)), np.arange(len(places) + 1.0)
    digamma = components.scipy("special").digamma  # sums of 1 / (start + i), i = 1 … false
    start = (2 * positives - before) / weight
    block = 2 * (positives - before) / weight * (digamma(start + false + 1) - digamma(start + 1))
    first, last = (np.cumsum(dice(count, before, positives, weight)) for count in (0, false))
    missed = int(np.argmax(first + block + last[-1] - last))
    order = 2.0 * (found & ~truth)
    order[places[:missed]], order[places[missed:]] = 1.0, 3.0
    return np.asarray(order)


def _checked(targets: Any, answers: Any, uncertainty: Any, rule: str, score: str) -> tuple[Flags, Flags, Vector]:
    for kind, name, known in (("rule", rule, RULES), ("score", score, SCORES)):
        argument.choice(kind, name, known)
    truth, found = check.masks(targets=targets, answers=answers)
    if uncertainty is None:
        return truth.ravel(), found.ravel(), np.zeros(truth.size)
    return truth.ravel(), found.ravel(), check.voxels("uncertainty", uncertainty, shape=truth.shape).ravel()


def _curve(truth: Flags, found: Flags, uncertainty: Vector, rule: str, score: str) -> Curve:
    if rule == "exact":
        return _exact(truth, found, uncertainty, score)
    retained = GRIDS[rule]()
    wrong = np.flatnonzero(truth != found)
    since = _retained_since(wrong, uncertainty, _places(retained, len(truth)))
    false, missed = (
        np.cumsum(np.bincount(since[kind], minlength=len(retained) + 1)[:-1]) for kind in (found[wrong], truth[wrong])
    )
    return Curve(retained, _scores(truth, false, missed, score))


def _retained_since(wrong: Index, uncertainty: Vector, kept: Index) -> Index:
    """The first of the points [P] at which each wrong voxel is among the `kept` [P] most certain ones; P for none.

    Ties are in the order of the array. Only wrong voxels need a rank, and of ties only those that a point splits: to
    sort values is much faster than to order all voxels by them. wrong: ascending positions.
    """
    ascending, mine = np.sort(uncertainty), uncertainty[wrong]
    first, last = np.searchsorted(ascending, mine), np.searchsorted(ascending, mine, side="right") - 1
    since, latest = (np.searchsorted(kept, ranks, side="right") for ranks in (first, last))
    for value in np.unique(mine[since < latest]):
        tied = mine == value
        ranks = first[tied] + np.searchsorted(np.flatnonzero(uncertainty == value), wrong[tied])
        since[tied] = np.searchsorted(kept, ranks, side="right")
    return since


def _exact(truth: Flags, found: Flags, uncertainty: Vector, score: str) -> Curve:
    ranking, voxels = Ranking.of(uncertainty), len(truth)
    false, missed = (
        np.concatenate(([0.0], np.cumsum(ranking.averaged(wrong.astype(np.float64)))))
        for wrong in (found & ~truth, truth & ~found)
    )
    scores = _scores(truth, false, missed, score) if truth.any() else _no_false_alarm(ranking, found)
    return Curve(np.arange(voxels + 1) / voxels, scores)


def _scores(truth: Flags, false: Any, missed: Any, score: str) -> Vector:
    """Scores from the FP and FN [...] among the voxels that keep the prediction."""
    return dice(false, missed, int(np.count_nonzero(truth)), _weight(truth, score))


def _weight(truth: Flags, score: str) -> float:
    return false_weight(int(np.count_nonzero(truth)), truth.size, R if score == "ndsc" else None)


def _no_false_alarm(ranking: Ranking, false: Flags) -> Vector:
    """The probability that none of the k most certain voxels [V + 1] is false, with ties in random order."""
    curve, ranked = np.ones(len(false) + 1), ranking.averaged(false.astype(np.float64))
    if not false.any():
        return curve
    start = int(np.argmax(ranked > 0))  # the first group of ties that has false voxels
    size = 1 if ranking.starts is None else int(ranking.sizes()[np.searchsorted(ranking.starts, start)])
    right = size - round(float(ranked[start]) * size)
    drawn = np.arange(size)
    curve[start + 1 :] = 0.0
    curve[start + 1 : start + 1 + size] = np.cumprod(np.maximum(right - drawn, 0) / (size - drawn))
    return curve


def _on_grid(curve: Curve, rule: str) -> Curve:
    """The points of an exact curve that another rule looks at."""
    if rule == "exact":
        return curve
    retained = GRIDS[rule]()
    return Curve(retained, curve.scores[_places(retained, len(curve.scores) - 1)])


def _places(retained: Vector, voxels: int) -> Index:
    """How many voxels keep the prediction at each share."""
    return (retained * voxels).astype(np.int64)
