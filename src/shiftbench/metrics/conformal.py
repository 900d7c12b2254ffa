"""Conformal prediction: intervals and sets of classes whose size is calibrated on held-out records.

Every answer has a nonconformity score, the larger the worse it fits. A region holds all targets whose score is at most
a threshold, and a `Rule` finds thresholds from the scores of n calibration records. Other packages add rules with
`register`, or as entry points of the group `shiftbench.conformal`; every rule has the metrics of `metrics_of`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles import Array
from shiftbench.errors import ArrayError
from shiftbench.metrics.classification import Indices
from shiftbench.metrics.regression import LEVELS
from shiftbench.registry import Registry
from shiftbench.scores.metric import METRICS as ALL_METRICS
from shiftbench.scores.metric import Metric

ROUNDING = 1e-12  # relative: sums of weights that are this close to a share of the total have reached it


# --- what is calibrated -----------------------------------------------------------------------------------------------


class Regions(Protocol):
    """Regions around the answers to N records, one for each threshold."""

    @property
    def scores(self) -> Vector:
        """The nonconformity of the targets [N]."""

    def size(self, thresholds: Vector) -> Vector:
        """The size [N] of the regions with these thresholds [N]: a width, or a number of classes."""

    def select(self, member: Any) -> Regions:
        """The records selected by a mask or positions, in their order."""


@dataclass(frozen=True)
class Intervals:
    """Intervals around numbers: residual [N] = |target - answer|, spread [N] >= 0 as predicted.

    The score is residual / spread. Where the spread is the same for all records, as that of point forecasts, the
    intervals are those of absolute residuals. Where it is 0, only a right answer is inside a finite interval.

    Source: Lei, G'Sell, Rinaldo, Tibshirani & Wasserman 2018, Section 5.2.
    """

    residual: Vector
    spread: Vector

    @property
    def scores(self) -> Vector:
        """|target - answer| / spread [N]."""
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            return np.asarray(np.where(self.residual == 0, 0.0, self.residual / self.spread))

    def size(self, thresholds: Vector) -> Vector:
        """The widths [N], in the unit of the target."""
        with np.errstate(invalid="ignore"):
            return np.asarray(np.where(np.isinf(thresholds), np.inf, 2 * thresholds * self.spread))

    def select(self, member: Any) -> Intervals:
        """The records selected by a mask or positions, in their order."""
        return Intervals(self.residual[member], self.spread[member])


@dataclass(frozen=True)
class Sets:
    """Sets of classes: probabilities [N, C], targets [N] class indices.

    The score is 1 - the probability of the target, which gives the smallest sets on average; a set may be empty.

    Source: Sadinle, Lei & Wasserman 2019, Least ambiguous set-valued classifiers (LAC).
    """

    probabilities: Array
    targets: Indices

    @property
    def of_target(self) -> Vector:
        """The probability of the target [N]."""
        return np.asarray(self.probabilities[np.arange(len(self.targets)), self.targets])

    @property
    def scores(self) -> Vector:
        """1 - the probability of the target [N]."""
        return np.asarray(1.0 - self.of_target)

    def size(self, thresholds: Vector) -> Vector:
        """The number of classes in each set [N]."""
        return np.asarray((1.0 - self.probabilities <= thresholds[:, None]).sum(axis=1), dtype=np.float64)

    def select(self, member: Any) -> Sets:
        """The records selected by a mask or positions, in their order."""
        return Sets(self.probabilities[member], self.targets[member])


# --- rules ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """Scores [n] of calibration records, and what is known beside of these [n] and of N records to be covered.

    groups: codes. weights: density ratios, up to a common factor. Both are pairs of arrays ([n], [N]), or None if
    unknown.
    """

    scores: Vector
    records: int
    groups: tuple[Indices, Indices] | None = None
    weights: tuple[Vector, Vector] | None = None


@dataclass(frozen=True)
class Rule:
    """How thresholds are found: a function of a case and a level, the thresholds [N]; infinite if there are too few.

    needs: what of the case it needs beside the scores; without it the rule is left out.
    """

    name: str
    title: str
    source: str
    thresholds: Callable[[Case, float], Vector]
    needs: Literal["", "groups", "weights"] = ""


def quantile(scores: Vector, level: float) -> float:
    """The ⌈(n + 1) level⌉-th smallest of n scores, infinite if n is smaller: at most it, a further exchangeable score
    is with a probability of at least `level`.

    Raises:
        ArrayError: scores that are not numbers [n].
        SettingsError: a level that is not between 0 and 1.

    Source: Vovk, Gammerman & Shafer 2005; Lei et al. 2018, Algorithm 2.
    """
    scores, level = check.as_array("scores", scores), _checked_level(level)
    if scores.ndim != 1 or (scores.size and scores.dtype.kind not in "biuf"):
        raise ArrayError(f"scores: expected numbers [n], found {scores.dtype} of shape {scores.shape}.")
    rank = math.ceil(round(level * (len(scores) + 1), 9))
    return math.inf if rank > len(scores) else float(np.partition(scores, rank - 1)[rank - 1])


def fewest(level: float) -> int:
    """The fewest calibration records for a finite threshold at a level between 0 and 1."""
    level = _checked_level(level)
    return math.ceil(round(level / (1 - level), 9))


def _checked_level(level: Any) -> float:
    return argument.number("level", level, lambda found: 0 < found < 1, "a share between 0 and 1")


def _split(case: Case, level: float) -> Vector:
    return np.full(case.records, quantile(case.scores, level))


def _by_group(case: Case, level: float) -> Vector:
    assert case.groups is not None
    known, wanted = case.groups
    codes, place = np.unique(wanted, return_inverse=True)
    limits = np.array([quantile(case.scores[known == code], level) for code in codes])
    return np.asarray(limits[place.reshape(-1)])


def _weighted(case: Case, level: float) -> Vector:
    """Each record adds its own weight at infinity, so its threshold is its own (Tibshirani et al. 2019)."""
    assert case.weights is not None
    known, own = case.weights
    order = np.argsort(case.scores, kind="stable")
    reached = np.cumsum(known[order])
    wanted = level * (reached[-1] + own) if len(reached) else np.full(case.records, math.inf)
    place = np.searchsorted(reached, wanted * (1 - ROUNDING))
    return np.append(case.scores[order], math.inf)[place]


BUILT_IN = (
    Rule("split", "conformal", "Vovk et al. 2005; Lei et al. 2018", _split),
    Rule("group", "conformal, by group", "Vovk 2012", _by_group, "groups"),
    Rule("weighted", "conformal, weighted for the shift", "Tibshirani et al. 2019", _weighted, "weights"),
)
RULES = Registry("conformal rule", Rule, "shiftbench.conformal", homes=("shiftbench.metrics.conformal:BUILT_IN",))


# --- metrics ----------------------------------------------------------------------------------------------------------


def coverage_name(rule: str, level: float) -> str:
    """The metric of the share of targets inside the regions of a rule."""
    return f"conformal_{rule}_coverage_{100 * _checked_level(level):.3g}"


def size_name(rule: str, level: float) -> str:
    """The metric of the mean size of the regions of a rule."""
    return f"conformal_{rule}_size_{100 * _checked_level(level):.3g}"


def metrics_of(rule: Rule) -> tuple[Metric, ...]:
    """Coverage and mean size of the regions of a rule, at each level."""
    title = rule.title[:1].upper() + rule.title[1:]
    return (
        *(
            Metric(
                coverage_name(rule.name, level), f"{title}: coverage of {100 * level:.0f} %", "nominal", "percent",
                f"share of targets inside the {100 * level:.0f} % interval or set", rule.source,
                most=1.0, share=True, ranked=False, nominal=level, table="conformal", sliced=True,
            )
            for level in LEVELS
        ),
        *(
            Metric(
                size_name(rule.name, level), f"{title}: size at {100 * level:.0f} %", "min", "target",
                f"mean width of the {100 * level:.0f} % interval, or number of classes in the set", rule.source,
                ranked=False, table="conformal", sliced=True,
            )
            for level in LEVELS
        ),
    )  # fmt: skip


def register(rule: Rule) -> Rule:
    """Register a rule and its metrics.

    Raises:
        SettingsError: if the name is taken.
    """
    RULES.register(rule)
    for metric in metrics_of(rule):
        ALL_METRICS.register(metric)
    return rule


def means_of(regions: Regions, thresholds: Mapping[float, Vector], rule: str) -> dict[str, Vector]:
    """Whether targets are inside, 1 or 0 [N], and the sizes [N], of each level, by the name of the metric.

    thresholds: [N] of each level, found by this rule.
    """
    found, scores = {}, regions.scores
    for level, limit in thresholds.items():
        found[coverage_name(rule, level)] = (scores <= limit).astype(np.float64)
        found[size_name(rule, level)] = regions.size(limit)
    return found


METRICS = tuple(metric for rule in RULES.values() for metric in metrics_of(rule))
