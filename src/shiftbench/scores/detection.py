"""Shift detection: whether the uncertainty distinguishes shifted from in-domain records."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.errors import DegenerateScoreWarning
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.retention import checked_rule

METRICS = (
    Metric(
        # The mean over one side of the share of the other side that a record beats.
        "roc_auc", "ROC-AUC (shift)", "max", "percent", "P(u_shifted > u_in) + P(u_shifted = u_in) / 2",
        "Hendrycks & Gimpel 2017", uses_uncertainty=True, most=1.0, share=True, compared=True, needs="sides",
    ),
    Metric(
        "pr_auc", "PR-AUC (shift)", "max", "percent", "average precision of finding shifted records",
        "Davis & Goadrich 2006", uses_uncertainty=True, most=1.0, needs="sides",
    ),
)  # fmt: skip


def roc_auc(uncertainty: Any, shifted: Any) -> float:
    """The probability that a shifted record is less certain than an in-domain one, ties counting one half.

    Args:
        uncertainty: [N], higher means less certain.
        shifted: [N], booleans or 0 and 1.

    Returns:
        In [0, 1]: 0.5 is chance, below 0.5 the uncertainty is lower on shifted records. NaN, with a
        DegenerateScoreWarning, if all records are shifted or none is.

    Raises:
        ArrayError: unequal lengths, NaN, infinity, flags other than 0 and 1.

    Source: Hendrycks & Gimpel (2017); Shifts 1.0, Section 2.
    """
    uncertainty, shifted = _checked(uncertainty, shifted)
    return roc_area(shifted, Ranking.of(uncertainty))


def roc_area(shifted: Flags, ranking: Ranking) -> float:
    """Core of `roc_auc`: the rank sum of Mann and Whitney, records of a tie group at its middle rank."""
    if not _both(shifted, "ROC-AUC"):
        return math.nan
    found = shifted[ranking.order]
    count = int(np.count_nonzero(found))
    if ranking.starts is None:
        ranks = float(np.flatnonzero(found).sum()) + count
    else:
        middles = ranking.starts + 0.5 * (ranking.sizes() + 1)
        ranks = float(np.dot(np.add.reduceat(found, ranking.starts, dtype=np.int64), middles))
    return (ranks - 0.5 * count * (count + 1)) / (count * (len(found) - count))


def roc_curve(uncertainty: Any, shifted: Any) -> tuple[Vector, Vector]:
    """False and true positive rates, each [G+1], at every distinct uncertainty from the highest down."""
    uncertainty, shifted = _checked(uncertainty, shifted)
    return roc_points(shifted, Ranking.of(uncertainty))


def roc_points(shifted: Flags, ranking: Ranking) -> tuple[Vector, Vector]:
    """Core of `roc_curve`; rates of a class without records are NaN."""
    false, true = _roc_counts(shifted, ranking)
    with np.errstate(invalid="ignore"):
        return false / false[-1], true / true[-1]


def pr_auc(uncertainty: Any, shifted: Any, *, rule: str = "published") -> float:
    """Area under the precision-recall curve of finding shifted records by their uncertainty; its chance level is the
    share of shifted records.

    `published`: the trapezoid over recall, as in the published code, which interpolates too optimistically.
    `exact`: average precision, the sum of precision times the step in recall (Davis & Goadrich 2006 show why).
    Arguments, NaN and errors as `roc_auc`.
    """
    uncertainty, shifted = _checked(uncertainty, shifted)
    rule = checked_rule(rule)
    if not _both(shifted, "PR-AUC"):
        return math.nan
    false, true = _roc_counts(shifted, Ranking.of(uncertainty))
    recall = true / true[-1]
    precision = np.ones_like(recall)  # by convention 1 before anything is found
    np.divide(true[1:], true[1:] + false[1:], out=precision[1:])
    if rule == "exact":
        return float(np.dot(np.diff(recall), precision[1:]))
    return float(np.trapezoid(precision, recall))


def _checked(uncertainty: Any, shifted: Any) -> tuple[Vector, Flags]:
    named = check.aligned({"uncertainty": uncertainty, "shifted": shifted})
    uncertainty = check.vector("uncertainty", named["uncertainty"])
    return uncertainty, check.flags("shifted", named["shifted"], length=len(uncertainty))


def _both(shifted: Flags, score: str) -> bool:
    count = int(np.count_nonzero(shifted))
    if 0 < count < len(shifted):
        return True
    which = "every record is" if count else "no record is"
    warnings.warn(DegenerateScoreWarning(f"{score} is undefined: {which} shifted; it is set to NaN"), stacklevel=3)
    return False


def _roc_counts(shifted: Flags, ranking: Ranking) -> tuple[Vector, Vector]:
    """Cumulative counts of in-domain and shifted records, [G+1], from the highest uncertainty down by tie groups."""
    found = shifted[ranking.order][::-1]
    true = np.cumsum(found, dtype=np.float64)
    ends = np.arange(1, len(found) + 1)
    if ranking.starts is not None:
        ends = np.cumsum(ranking.sizes()[::-1])
        true = true[ends - 1]
    false = ends - true
    return np.concatenate(([0.0], false)), np.concatenate(([0.0], true))
