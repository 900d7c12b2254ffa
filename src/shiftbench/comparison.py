"""Paired comparison of systems on the same records, adjusted for how many there are, and the ranks that follow."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from shiftbench.assessed import Label
from shiftbench.check import Flags
from shiftbench.errors import ShiftbenchWarning
from shiftbench.intervals import Bootstrap, holm
from shiftbench.report.content import METRICS, Comparison, Rank

COMPARED = ("rmse", "accuracy", "mean_error", "r_auc", "f1_auc", "roc_auc")


def ranks(better: Flags) -> list[int]:
    """Ranks [K] from 1: one more than the number of systems that a test finds better.

    So several systems can have rank 1, and rank 1 means that no system is found better. A system is not lifted by
    another that it cannot be told apart from: of three in a row, each like its neighbour, the last has rank 2 if the
    first is better than it.

    Args:
        better: [K, K], True at [a, b] where an adjusted paired test finds a better than b.

    Source: the ranks of Chatbot Arena's leaderboard (Chiang et al. 2024, arXiv 2403.04132).
    """
    return [1 + int(count) for count in np.count_nonzero(better, axis=0)]


def compare(
    split: str, names: Sequence[str], result: Bootstrap, labels: Sequence[Label]
) -> tuple[list[Comparison], list[Rank]]:
    """All pairs of systems by each headline metric and subset.

    Args:
        split: of the records.
        names: of the K systems.
        result: their replicates. labels: what each of its S scores is, see `assessed.Label`.

    Returns:
        Differences a - b of the headline metrics with interval and p-value, Holm-adjusted within a metric and subset;
        and the ranks by every metric: of the systems that have a test, if there are replicates enough for one to find
        anything at the level of the intervals.
    """
    metrics = {metric for what, _, metric in labels if what == "score"}
    wanted = [
        metric
        for metric in COMPARED
        if metric in metrics and (metric != "mean_error" or not metrics & {"rmse", "accuracy"})
    ]
    enough = _enough(split, result)
    differences = [result.difference(pair) for pair in range(len(result.pairs))]
    comparisons: list[Comparison] = []
    found: list[Rank] = []
    for s, (what, subset, metric) in enumerate(labels):
        if what != "score" or not METRICS[metric].ranked:
            continue
        adjusted = holm([p[s] for *_, p in differences])
        better = np.zeros((len(names), len(names)), dtype=np.bool_)
        tested: set[int] = set()
        for (a, b), (value, low, high, p), p_adjusted in zip(result.pairs, differences, adjusted, strict=True):
            if np.isfinite(p_adjusted):
                tested |= {a, b}
            if p_adjusted < 1.0 - result.level:
                first = (value[s] < 0) == (METRICS[metric].better == "min")
                better[(a, b) if first else (b, a)] = True
            numbers = (float(value[s]), float(low[s]), float(high[s]), float(p[s]), float(p_adjusted))
            if metric in wanted:
                place = (split, subset, metric, names[a], names[b])
                comparisons.append(Comparison(*place, *numbers, result.no_interval[s]))
        placed = ranks(better)
        found += [Rank(split, subset, metric, names[k], placed[k]) for k in sorted(tested) if enough]
    return comparisons, found


def _enough(split: str, result: Bootstrap) -> bool:
    """Whether so many replicates let an adjusted p fall below the level at all; a warning says so if not."""
    if all(result.no_interval):  # too few clusters, of which there is a warning already
        return False
    least = 0.0 if result.kind == "normal" else len(result.pairs) / (len(result.replicates) + 1)
    if least < 1.0 - result.level:
        return True
    warnings.warn(
        ShiftbenchWarning(
            f"{split}: {len(result.replicates):,} replicates let no adjusted p of {len(result.pairs)} pair(s) "
            f"fall below {least:.2g}, so no test can tell two systems apart and none is ranked; take at least "
            f"{math.ceil(2 * len(result.pairs) / (1.0 - result.level)):,} replicates"
        ),
        stacklevel=2,
    )
    return False
