"""Paired comparisons of systems on the same records, adjusted for multiple testing, and the resulting ranks."""

from __future__ import annotations

import math
import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shiftbench.assessment.assessed import Label
from shiftbench.check import Flags, Vector
from shiftbench.errors import ShiftbenchWarning
from shiftbench.scores.intervals import Bootstrap
from shiftbench.scores.metric import METRICS
from shiftbench.scores.multiplicity import holm, step_down
from shiftbench.scores.score import Comparison, Rank

Numbers = tuple[float, float, float, float]  # difference, low, high, p


def ranks(better: Flags) -> list[int]:
    """Ranks [K] from 1: one more than the number of systems that a test finds better.

    So several systems can have rank 1, and rank 1 means that no system is found better. Being indistinguishable from a
    better-ranked system does not improve a rank: if A and B, and B and C cannot be told apart, but A is found better
    than C, then C has rank 2.

    Args:
        better: [K, K], True at [a, b] where an adjusted paired test finds a better than b.

    Source: the ranks of Chatbot Arena's leaderboard (Chiang et al. 2024, arXiv 2403.04132).
    """
    return [1 + int(count) for count in np.count_nonzero(better, axis=0)]


@dataclass(frozen=True)
class Tested:
    """Systems resampled on their common records.

    result: their replicates. labels: of its S scores, see `assessed.Label`. pairs: number of a pair in the result →
    the indices (a, b) of its systems among all K. n: subset → number of records.
    """

    result: Bootstrap
    labels: Sequence[Label]
    pairs: Mapping[int, tuple[int, int]]
    n: Mapping[str, int]

    def differences(self) -> dict[Label, dict[tuple[int, int], tuple[Numbers, str, int]]]:
        """For each score and pair: the numbers, the reason for a missing interval, and the number of records."""
        found: dict[Label, dict[tuple[int, int], tuple[Numbers, str, int]]] = {}
        for pair, places in self.pairs.items():
            numbers = np.array(self.result.difference(pair)).T.tolist()
            for label, four, reason in zip(self.labels, numbers, self.result.no_interval, strict=True):
                if label[0] == "score" and METRICS[label[2]].ranked:
                    found.setdefault(label, {})[places] = (tuple(four), reason, self.n[label[1]])
        return found


def compare(
    split: str, names: Sequence[str], tested: Sequence[Tested], *, without: Collection[int] = ()
) -> tuple[list[Comparison], list[Rank]]:
    """All pairs of systems by each headline metric and subset.

    Args:
        split: of the records.
        names: of the K systems.
        tested: each pair once for a score, on the records that both of its systems answer.
        without: systems that have no uncertainty, so that they have no part in scores that use it.

    Returns:
        Differences a - b of the headline metrics with interval and p-value, adjusted within a metric and subset by
        Holm's method or, if its p-values could not fall below the level for any difference, by the step-down of
        Romano & Wolf; and the ranks by every metric, of the systems that have a test, if there are enough replicates
        for a test to be significant at the level of the intervals.
    """
    differences: dict[Label, dict[tuple[int, int], tuple[Numbers, str, int]]] = {}
    for each in tested:
        for label, pairs in each.differences().items():
            lacking = {*without} if METRICS[label[2]].uses_uncertainty else set()
            if kept := {pair: found for pair, found in pairs.items() if not lacking & {*pair}}:
                differences.setdefault(label, {}).update(kept)
    metrics = {metric for _, _, metric in differences}
    better_said = metrics & {"rmse", "accuracy"}  # the usual forms of the mean error in these tasks
    wanted = {name for name in metrics if METRICS[name].compared and not (name == "mean_error" and better_said)}
    level, replicates = tested[0].result.level, _replicates(tested)
    enough = _enough(split, replicates, level)
    count = len({pair for each in tested for pair in each.pairs.values()})
    by_holm = replicates is None or count / (replicates + 1) < 1.0 - level
    comparisons: list[Comparison] = []
    found: list[Rank] = []
    for label in differences:
        _, subset, metric = label
        decides = _decides(label, differences)
        pairs = dict(sorted(differences[decides].items()))
        p_values = [p for (*_, p), _, _ in pairs.values()]
        adjusted = holm(p_values) if by_holm else step_down(p_values, *_distances(tested, decides, list(pairs)))
        better = np.zeros((len(names), len(names)), dtype=np.bool_)
        for ((a, b), (numbers, reason, n)), p_adjusted in zip(pairs.items(), adjusted, strict=True):
            if p_adjusted < 1.0 - level:
                better[(a, b) if (numbers[0] < 0) == (METRICS[metric].better == "min") else (b, a)] = True
            if metric in wanted:
                place = (split, subset, metric, names[a], names[b])
                comparisons.append(
                    Comparison(*place, *numbers, float(p_adjusted), reason, n, "Holm" if by_holm else "Romano-Wolf")
                )
        tests = {place for pair, ((*_, p), _, _) in pairs.items() for place in pair if math.isfinite(p)}
        placed = ranks(better)
        found += [Rank(split, subset, metric, names[k], placed[k]) for k in sorted(tests) if enough]
    return comparisons, found


def _decides(label: Label, differences: Mapping[Label, Mapping[tuple[int, int], Any]]) -> Label:
    """The score whose tests rank systems by this one: RMSE where this is the mean squared error of the same pairs.

    Both order systems alike, but the p-values of their differences differ, so that the ranks would, too.
    """
    kind, subset, metric = label
    root = (kind, subset, "rmse")
    same = metric == "mean_error" and differences.get(root, {}).keys() == differences[label].keys()
    return root if same else label


def _distances(tested: Sequence[Tested], label: Label, pairs: Sequence[tuple[int, int]]) -> tuple[Vector, Vector]:
    """Distances of the differences of pairs [P] from zero, and of their replicates [P, B], in standard errors.

    Pairs on other records have their own replicates, drawn separately if records are not clustered. Treating them as
    independent makes their maximum larger, which is conservative (Sidak 1967).
    """
    found = {}
    for each in tested:
        if label in each.labels and len(each.result.replicates):
            s = each.labels.index(label)
            found.update({places: each.result.distances(pair, s) for pair, places in each.pairs.items()})
    undefined = np.nan, np.full(max((len(drawn) for _, drawn in found.values()), default=0), np.nan)
    observed, drawn = zip(*(found.get(places, undefined) for places in pairs), strict=True)
    return np.array(observed), np.array(drawn)


def _replicates(tested: Sequence[Tested]) -> int | None:
    """The number of replicates behind the tests; None if they need none; 0 if there are no tests."""
    results = [each.result for each in tested if not all(each.result.no_interval)]
    if not results:
        return 0
    return None if results[0].kind == "normal" else len(results[0].replicates)


def _enough(split: str, replicates: int | None, level: float) -> bool:
    """Whether the number of replicates lets an adjusted p fall below the level; warns if not."""
    if replicates is None or 1.0 / (replicates + 1) < 1.0 - level:
        return True
    if replicates:  # otherwise there are too few clusters, which was already warned of
        warnings.warn(
            ShiftbenchWarning(
                f"{split}: {replicates:,} replicates let no p fall below {1.0 / (replicates + 1):.2g}, so no test can "
                f"tell two systems apart and none is ranked; use at least {math.ceil(2.0 / (1.0 - level))} replicates"
            ),
            stacklevel=2,
        )
    return False
