"""Bootstrap replicates of R-AUC and F1-AUC at N = 1,137,731: seconds for 1,000 on one core, and beside the obvious way.

The obvious way repeats the rows of a replicate and calls the public functions; ours must give the same numbers.
CPU seconds, alternating, medians: others may use the machine at the same time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median
from typing import TypeVar

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.resampling import Ranked, Resampler, Retention
from shiftbench.scores.retention import f1_auc, r_auc

RECORDS = 1_137_731
CLUSTERS = 1_000
REPLICATES = 1_000
MEASURED = 40  # replicates timed; the seconds of all follow from their median
OBVIOUS = 4  # replicates made the obvious way
THRESHOLD = 1.0

T = TypeVar("T")


class Case:
    """Errors and uncertainty of clusters, resampled by cluster or by record."""

    def __init__(self, *, by_cluster: bool) -> None:
        rng = np.random.default_rng(0)
        clusters = rng.integers(0, CLUSTERS, RECORDS)
        self.uncertainty = rng.normal(size=RECORDS) + rng.normal(size=CLUSTERS)[clusters]
        self.errors = np.exp(self.uncertainty) * rng.chisquare(1, RECORDS)
        self.resampler = Resampler(RECORDS, clusters=clusters if by_cluster else None)
        ranked = Ranked.of(Ranking.of(self.uncertainty), self.resampler.unit, self.resampler.units)
        self.statistic = Retention(self.errors, self.errors <= THRESHOLD, ranked, rule="published")

    def values(self, replicate: int) -> Vector:
        """The scores of a replicate."""
        return self.statistic.values(self.resampler.draw(0, replicate))

    def linearised(self, replicate: int) -> Vector:
        """The scores of a replicate, made together with their standard errors."""
        counts = self.resampler.draw(0, replicate)
        values, influence = self.statistic.linearised(counts)
        self.resampler.standard_errors(influence, counts)
        return values

    def obvious(self, replicate: int) -> Vector:
        """R-AUC and F1-AUC of the rows really repeated."""
        counts = self.resampler.draw(0, replicate)[self.resampler.unit].astype(np.intp)
        errors, uncertainty = np.repeat(self.errors, counts), np.repeat(self.uncertainty, counts)
        return np.array([r_auc(errors, uncertainty), f1_auc(errors, uncertainty, threshold=THRESHOLD)])


def timed(act: Callable[[int], T], replicate: int) -> tuple[float, T]:
    """CPU seconds of one replicate, and its result."""
    start = time.process_time()
    result = act(replicate)
    return time.process_time() - start, result


def measured(case: Case, act: Callable[[int], Vector]) -> tuple[float, float]:
    """Seconds for all replicates, and the ratio of a replicate to the obvious one; both give the same scores."""
    act(MEASURED)  # tables that later replicates share
    ours, obvious = [], []
    for replicate in range(MEASURED):
        seconds, scores = timed(act, replicate)
        ours.append(seconds)
        if replicate < OBVIOUS:
            seconds, expected = timed(case.obvious, replicate)
            obvious.append(seconds)
            np.testing.assert_allclose(scores[:2], expected, rtol=1e-9)
    return REPLICATES * median(ours), median(ours) / median(obvious)


def ratios() -> list[tuple[str, float, float | None]]:
    """Seconds for 1,000 replicates, with their bound, and a replicate over the obvious one."""
    by_cluster, by_record = Case(by_cluster=True), Case(by_cluster=False)
    found: list[tuple[str, float, float | None]] = []
    for name, bound, case, act in (
        ("cluster replicates", 50.0, by_cluster, by_cluster.values),
        ("cluster replicates with standard errors", 50.0, by_cluster, by_cluster.linearised),
        ("record replicates", 80.0, by_record, by_record.values),
    ):
        seconds, ratio = measured(case, act)
        found += [(f"1,000 {name}, seconds", seconds, bound), (f"{name} / repeating the rows", ratio, None)]
    return found
