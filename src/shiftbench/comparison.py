"""Paired comparison of systems on the same records, adjusted for how many there are, and the ranks that follow."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np

from shiftbench.assessed import Label
from shiftbench.errors import ShiftbenchWarning
from shiftbench.intervals import Bootstrap, holm, shared_ranks
from shiftbench.report.content import METRICS, Comparison, Rank

COMPARED = ("rmse", "accuracy", "mean_error", "r_auc", "f1_auc", "roc_auc")


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
        and the ranks by every metric, shared where no adjusted test separates systems at the level of the intervals.
    """
    metrics = {metric for what, _, metric in labels if what == "score"}
    wanted = [
        metric
        for metric in COMPARED
        if metric in metrics and (metric != "mean_error" or not metrics & {"rmse", "accuracy"})
    ]
    least = 0.0 if result.kind == "normal" else len(result.pairs) / (len(result.replicates) + 1)
    if least >= 1.0 - result.level:
        warnings.warn(
            ShiftbenchWarning(
                f"{split}: {len(result.replicates):,} replicates let no adjusted p of {len(result.pairs)} pair(s) "
                f"fall below {least:.2g}, so no test tells two systems apart, only intervals do; take at least "
                f"{math.ceil(2 * len(result.pairs) / (1.0 - result.level)):,} replicates"
            ),
            stacklevel=2,
        )
    differences = [result.difference(pair) for pair in range(len(result.pairs))]
    comparisons: list[Comparison] = []
    ranks: list[Rank] = []
    for s, (what, subset, metric) in enumerate(labels):
        if what != "score":
            continue
        adjusted = holm([p[s] for *_, p in differences])
        separated = np.zeros((len(names), len(names)), dtype=np.bool_)
        for (a, b), (value, low, high, p), p_adjusted in zip(result.pairs, differences, adjusted, strict=True):
            separated[a, b] = separated[b, a] = p_adjusted < 1.0 - result.level
            numbers = (float(number) for number in (value[s], low[s], high[s], p[s], p_adjusted))
            if metric in wanted:
                comparisons.append(Comparison(split, subset, metric, names[a], names[b], *numbers))
        order = shared_ranks(result.values[:, s], separated, better=METRICS[metric].better)
        ranks += [Rank(split, subset, metric, name, int(rank)) for name, rank in zip(names, order, strict=True)]
    return comparisons, ranks
