"""Metrics by name: what a score is called, which direction is better, its unit, its range and where it is defined.

Each is described beside its function, in one of `HOMES`. Other packages add theirs with `register`, or as an entry
point of the group `shiftbench.metrics`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from shiftbench.check import Vector
from shiftbench.registry import Registry

Better = Literal["min", "max"]
# fraction: 0…1, shown so; percent: held as 0…1, shown × 100; target, error: in the units of the target, of the error.
Scale = Literal["percent", "fraction", "target", "error", "plain"]


@dataclass(frozen=True)
class Metric:
    """A score: a mean over records, or a function of sums over a set of them.

    name: in files and in Python. title: in tables and pictures. formula, source: for the documentation.
    uses_uncertainty: whether it depends on the uncertainty, so that there is one for each measure.
    least, most: its range, which intervals keep; of_classes: its range where errors are 0 or 1, if another.
    share: whether it is a share of records, whose intervals have a width at 0 and 1, too.
    ranked: whether systems are ranked by it: to be as bad on both sides of a shift is no merit.
    compared: whether reports show differences between systems.
    of_sums: of a score of a set, from sums [P, …] over P sets of records and the sums […] over all of them, of which
        the sets are replicates or parts, to the scores [P]; NaN where undefined. What a record adds is said by
        `resampling.SetTerms`. The P sets must not touch each other.
    slopes: its derivatives [P, …] by the sums, for standard errors; by default quotients of small differences.
    area: the metric that is the area under its retention curve, on which the records left out have ideal answers;
        "" for none.
    """

    name: str
    title: str
    better: Better
    scale: Scale
    formula: str
    source: str
    uses_uncertainty: bool = False
    least: float = 0.0
    most: float = math.inf
    of_classes: tuple[float, float] | None = None
    share: bool = False
    ranked: bool = True
    compared: bool = False
    of_sums: Callable[[Vector, Vector], Vector] | None = None
    slopes: Callable[[Vector, Vector], Vector] | None = None
    area: str = ""

    def range(self, *, classes: bool = False) -> tuple[float, float]:
        """The least and the most it can be; `classes`: where errors are 0 or 1."""
        return self.of_classes if classes and self.of_classes else (self.least, self.most)


HOMES = (  # in the order in which reports show metrics
    "shiftbench.retention:MEAN_ERROR",
    "shiftbench.metrics.regression:METRICS",
    "shiftbench.metrics.classification:METRICS",
    "shiftbench.retention:ACCEPTABLE",
    "shiftbench.metrics.modes:METRICS",
    "shiftbench.retention:SHIFT_RATIO",
    "shiftbench.retention:METRICS",
    "shiftbench.detection:METRICS",
)
METRICS = Registry("metric", Metric, "shiftbench.metrics", homes=HOMES)
register = METRICS.register
