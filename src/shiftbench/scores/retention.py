"""Error- and F1-retention curves and the areas under them: robustness and uncertainty in one number.

Records are retained from the most to the least certain. Of N records, k retained ones keep their error and the others
count as perfect. A good ranking retains large errors last, so the curve stays low until the end (Malinin et al. 2021,
Shifts, Appendix A).

Three rule sets, all independent of the order of the records:

- `published` reproduces the numbers printed in the papers, which were made with the published code;
- `exact` is the mathematically clean form: trapezoid over k/N, acceptable strictly below the threshold, as the papers
  write it;
- `mixed` is `exact` for R-AUC and `published` for all else, as in the published scores of vessel power (Malinin et al.
  2022, Shifts 2.0).
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError, DegenerateScoreWarning
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import Ranking

Rule = Literal["published", "exact", "mixed"]
RULES: tuple[Rule, ...] = ("published", "exact", "mixed")

_APPENDIX = "Shifts 1.0, Appendix A"
_SHARES = (0.0, 1.0)

MEAN_ERROR = Metric(
    "mean_error", "Mean error", "min", "error", "mean of the errors: the end of the error-retention curve", _APPENDIX,
    of_classes=_SHARES, compared=True,
)  # fmt: skip
ACCEPTABLE = Metric(
    "acceptable", "Acceptable", "max", "percent", "share of errors up to the threshold", _APPENDIX, most=1.0, share=True
)
SHIFT_RATIO = Metric(
    "shift_ratio", "Error, shifted / in-domain", "min", "plain", "ratio of the RMSE, or mean errors, of both sides",
    "this package", ranked=False, needs="sides",
)  # fmt: skip
METRICS = (
    Metric(
        "r_auc", "R-AUC", "min", "error", "area under the error-retention curve", _APPENDIX,
        uses_uncertainty=True, of_classes=_SHARES, compared=True,
    ),
    Metric(
        "f1_auc", "F1-AUC", "max", "fraction", "area under the F1-retention curve", _APPENDIX,
        uses_uncertainty=True, most=1.0, compared=True,
    ),
    Metric(
        "f1_auc_normalised", "F1-AUC (normalised)", "max", "fraction", "(F1-AUC - random) / (optimal - random)",
        "this package", uses_uncertainty=True, least=-math.inf, most=1.0, needs="records",
    ),
    Metric(
        "f1_at_95", "F1@95%", "max", "percent", "F1-retention curve where 95 % are retained", _APPENDIX,
        uses_uncertainty=True, most=1.0,
    ),
    Metric(  # the opposite of the best order loses as much as that gains
        "rejection_ratio", "Rejection ratio", "max", "percent", "(R-AUC - random) / (optimal - random)",
        "Malinin 2019, Section 5", uses_uncertainty=True, least=-1.0, most=1.0, needs="records",
    ),
)  # fmt: skip


def checked_rule(rule: str) -> Rule:
    """`rule` if it is one of `RULES`; raises UnknownNameError if not."""
    return argument.choice("rule", rule, RULES)


def _checked(errors: Any, uncertainty: Any) -> tuple[Vector, Vector]:
    errors, uncertainty = check.vectors(
        nonnegative=("errors",), advice=check.LOSSES, errors=errors, uncertainty=uncertainty
    )
    return errors, uncertainty


# --- the curves -----------------------------------------------------------------------------------------------------


def error_retention(errors: Any, uncertainty: Any) -> Vector:
    """The error-retention curve.

    Args:
        errors: [N], >= 0.
        uncertainty: [N], higher means less certain. Records of equal uncertainty enter with their mean error.

    Returns:
        [N+1], retention 0, 1/N, …, 1 ascending: c_k = (sum of the k most certain errors) / N, so c_0 = 0 and c_N is the
        mean error.

    Raises:
        ArrayError: unequal lengths, no records, NaN, infinity, or a negative error.

    Source: Shifts 1.0 (Malinin et al. 2021), Section 2 and Appendix A; tie groups as in the published code.
    """
    errors, uncertainty = _checked(errors, uncertainty)
    return error_curve(errors, Ranking.of(uncertainty))


def f1_retention(errors: Any, uncertainty: Any, *, threshold: float, rule: str = "published") -> Vector:
    """The F1-retention curve of acceptable records.

    Retaining k records is a prediction that these are acceptable: precision is the acceptable share of the retained,
    recall the retained share of the acceptable. With TP_k acceptable records among the k most certain and A in total,
    F_k = 2 TP_k / (k + A). Inside a tie group TP_k is its expectation over the orders of the group.

    Args:
        errors: [N], >= 0.
        uncertainty: [N], higher means less certain.
        threshold: largest acceptable error (in the unit of the errors); itself acceptable under `published` only.
        rule: "published" and "mixed" (error <= threshold) or "exact" (error < threshold).

    Returns:
        [N+1], retention ascending, F_0 = 0. All zero if no record is acceptable (the published code gives NaN).

    Raises:
        ArrayError: unequal lengths, no records, NaN, infinity, a negative error or threshold.
        UnknownNameError: an unknown rule.

    Source: Shifts 1.0, Appendix A, Eq. 3. The published code adds 1e-10 to the denominator: a difference of 5e-11.
    """
    errors, uncertainty = _checked(errors, uncertainty)
    return f1_curve(acceptable(errors, threshold, rule), Ranking.of(uncertainty))


def acceptable(errors: Vector, threshold: float, rule: str) -> Flags:
    """A mask of acceptable errors [N]: <= threshold (`published`, the code) or < threshold (`exact`, the papers)."""
    limit = check.threshold(threshold)
    return errors < limit if checked_rule(rule) == "exact" else errors <= limit


def error_curve(errors: Vector, ranking: Ranking) -> Vector:
    """Core of `error_retention` on checked errors [N] and their ranking."""
    curve = np.empty(len(errors) + 1)
    curve[0] = 0.0
    np.cumsum(ranking.averaged(errors), out=curve[1:])
    curve /= len(errors)
    return curve


def f1_curve(good: Flags, ranking: Ranking) -> Vector:
    """Core of `f1_retention` on acceptable flags [N] and their ranking."""
    total = int(np.count_nonzero(good))
    curve = np.zeros(len(good) + 1)
    if total:
        np.cumsum(ranking.averaged(good.astype(np.float64)), out=curve[1:])
        curve *= 2.0
        curve /= np.arange(total, total + len(curve), dtype=np.float64)
    return curve


# --- areas and points -----------------------------------------------------------------------------------------------


def r_auc(errors: Any, uncertainty: Any, *, rule: str = "published") -> float:
    """Area under the error-retention curve, in the unit of the errors; lower is better.

    `published`: the mean of the N+1 points. `exact`: the trapezoid over k/N. Arguments and errors as `error_retention`.

    Source: Shifts 1.0, Section 2 and Appendix A.
    """
    return error_area(error_retention(errors, uncertainty), checked_rule(rule))


def f1_auc(errors: Any, uncertainty: Any, *, threshold: float, rule: str = "published") -> float:
    """Area under the F1-retention curve, in [0, 1]; higher is better, but it is not monotone in quality.

    A perfect ranking of a share a of acceptable records reaches 2a(1 - 2 ln 2 + ln((1+a)/a)) for large N: 0.614 for a
    model without unacceptable errors, at most 0.715 at a = 0.556. Read `f1_auc_normalised` beside it.

    `published`: trapezoid over x = k/(N+1). `exact`: trapezoid over k/N. Arguments and errors as `f1_retention`.

    Source: Shifts 1.0, Appendix A.
    """
    return _f1_area(f1_retention(errors, uncertainty, threshold=threshold, rule=rule), checked_rule(rule))


def f1_at(
    errors: Any, uncertainty: Any, *, threshold: float, retention: float = 0.95, rule: str = "published"
) -> float:
    """The F1-retention curve at one retention (0.95: F1@95%), in [0, 1]; higher is better.

    `published`: the point at index floor(retention * (N+1)), at most N. `exact`: linear interpolation at `retention`.
    Arguments and errors as `f1_retention`.

    Source: Shifts 1.0, Appendix A: at most 5 % of the inputs may be rejected.
    """
    retention = argument.number(
        "retention", retention, lambda found: 0.0 <= found <= 1.0, "a share from 0 to 1", error=ArrayError
    )
    return _f1_point(f1_retention(errors, uncertainty, threshold=threshold, rule=rule), retention, checked_rule(rule))


def rejection_ratio(errors: Any, uncertainty: Any) -> float:
    """The gain over a random order relative to that of the optimal order, in percent.

    100 (R-AUC - random) / (optimal - random): 100 for the order of the errors themselves, 0 for a random order,
    negative for a worse one; the same under both rules. NaN, with a DegenerateScoreWarning, if all errors are equal.

    Args:
        errors: [N], >= 0.
        uncertainty: [N], higher means less certain.

    Source: Malinin (2019), thesis, Section 5; Malinin et al. (2020); Shifts 1.0, Appendix A.
    """
    errors, uncertainty = _checked(errors, uncertainty)
    return 100.0 * _rejection(errors, error_area(error_curve(errors, Ranking.of(uncertainty)), "published"))


def f1_auc_normalised(errors: Any, uncertainty: Any, *, threshold: float, rule: str = "published") -> float:
    """(F1-AUC - random) / (optimal - random): 1 for a perfect ranking, 0 for a random one, at any share of acceptable.

    NaN, with a DegenerateScoreWarning, if all records are acceptable or none is. Arguments as `f1_retention`.
    """
    errors, uncertainty = _checked(errors, uncertainty)
    good = acceptable(errors, threshold, rule)
    area = _f1_area(f1_curve(good, Ranking.of(uncertainty)), checked_rule(rule))
    return normalised_f1(area, len(good), int(np.count_nonzero(good)), checked_rule(rule))


def error_area(curve: Vector, rule: Rule, records: float | None = None) -> float:
    """The area under a curve over retention, by the rule's definition of R-AUC.

    curve: evenly spaced points. records: their number N, if there are not N + 1 points.
    """
    ends, intervals = 0.5 * (curve[0] + curve[-1]), len(curve) - 1
    if rule == "published" and records in (None, intervals):
        return float(curve.mean())
    area = float((curve.sum() - ends) / intervals)
    return float((records * area + ends) / (records + 1)) if rule == "published" and records else area


def _f1_area(curve: Vector, rule: Rule) -> float:
    intervals = len(curve) - 1 if rule == "exact" else len(curve)
    return float((curve.sum() - 0.5 * curve[-1]) / intervals)


def _f1_point(curve: Vector, retention: float, rule: Rule) -> float:
    n = len(curve) - 1
    if rule != "exact":
        return float(curve[min(int(retention * (n + 1)), n)])
    below = min(int(retention * n), n - 1)
    return float(curve[below] + (retention * n - below) * (curve[below + 1] - curve[below]))


# --- random and optimal orders: exact expectations ------------------------------------------------------------------


def random_f1_auc(n: int, good: int, rule: Rule) -> float:
    """Expected F1-AUC of a random order of n records, `good` of them acceptable: TP_k = good k / n."""
    if good == 0:
        return 0.0
    area = 2.0 * good / n * (n - good * (harmonic(n + good) - harmonic(good)))
    return _closed_f1_area(area, n, good, rule)


def optimal_f1_auc(n: int, good: int, rule: Rule) -> float:
    """F1-AUC of the order of the errors: all acceptable records first."""
    if good == 0:
        return 0.0
    rising = 2.0 * (good - good * (harmonic(2 * good) - harmonic(good)))
    return _closed_f1_area(rising + 2.0 * good * (harmonic(n + good) - harmonic(2 * good)), n, good, rule)


def _closed_f1_area(total: float, n: int, good: int, rule: Rule) -> float:
    # total: the sum of F_1 … F_n; every order ends at the same F_n.
    return (total - good / (n + good)) / (n if rule == "exact" else n + 1)


def normalised_f1(area: float, n: int, good: int, rule: Rule) -> float:
    """The normalised F1-AUC from an area; NaN with a warning if random and optimal coincide."""
    if good in (0, n):
        which = "every record is" if good else "no record is"
        _degenerate(f"normalised F1-AUC is undefined: {which} acceptable, so every order is optimal")
    return normalised_f1_quiet(area, n, good, rule)


def normalised_f1_quiet(area: float, n: int, good: int, rule: Rule) -> float:
    """Core of `normalised_f1`: NaN, without a warning, if random and optimal coincide."""
    if good in (0, n):
        return math.nan
    random = random_f1_auc(n, good, rule)
    return settled((area - random) / (optimal_f1_auc(n, good, rule) - random))


def settled(share: float) -> float:
    """A relative gain, with rounding noise around zero set to zero."""
    return 0.0 if abs(share) < 1e-9 else share


def optimal_r_auc(errors: Vector, rule: Rule) -> float:
    """R-AUC of the order of the errors themselves, on the grid of the rule."""
    return _area_without_curve(np.sort(errors), rule)


def _area_without_curve(ranked: Vector, rule: Rule) -> float:
    """R-AUC of errors [N] in rank order: the error at rank i is in N - i of the N + 1 points."""
    n = len(ranked)
    total = float(np.dot(ranked, np.arange(n, 0, -1, dtype=np.float64))) / n
    return total / (n + 1) if rule == "published" else (total - 0.5 * float(ranked.mean())) / n


def _rejection(errors: Vector, area: float) -> float:
    """Rejection ratio as a share, from a published R-AUC."""
    random = 0.5 * float(errors.mean())
    span = optimal_r_auc(errors, "published") - random
    if abs(span) <= 1e-12 * random or span == 0.0:
        _degenerate("rejection ratio is undefined: all errors are equal, so every order is optimal")
        return math.nan
    return settled((area - random) / span)


def shift_ratio(shifted: float, inside: float, *, root: bool = False) -> float:
    """The mean error on shifted over that on in-domain records, or of their roots; NaN unless both are > 0."""
    if not (shifted > 0 and inside > 0):
        return math.nan
    return float(np.sqrt(shifted) / np.sqrt(inside)) if root else shifted / inside


def _degenerate(message: str) -> None:
    warnings.warn(DegenerateScoreWarning(message + "; it is set to NaN"), stacklevel=4)


@lru_cache(maxsize=4096)  # replicates of few records need the same few thousands of times
def harmonic(n: int) -> float:
    """The n-th harmonic number, 1 + 1/2 + … + 1/n, to double precision."""
    if n < 256:
        return math.fsum(1.0 / k for k in range(1, n + 1))
    square = float(n) * n
    return math.log(n) + 0.5772156649015329 + 0.5 / n - 1.0 / (12.0 * square) + 1.0 / (120.0 * square * square)


# --- everything at once ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RetentionScores:
    """All retention scores of one set of records. The F1 fields are None without a threshold.

    rejection_ratio and f1_auc_normalised are shares here (1 = optimal).
    """

    n: int
    mean_error: float
    r_auc: float
    r_auc_random: float
    r_auc_optimal: float
    rejection_ratio: float
    acceptable: float | None = None
    f1_auc: float | None = None
    f1_auc_random: float | None = None
    f1_auc_optimal: float | None = None
    f1_auc_normalised: float | None = None
    f1_at_95: float | None = None


def scores(
    errors: Any, uncertainty: Any, *, threshold: float | None = None, rule: str = "published"
) -> RetentionScores:
    """Every retention score from one sort; arguments as `f1_retention`, the F1 scores only with a threshold."""
    errors, uncertainty = _checked(errors, uncertainty)
    return ranked_scores(errors, Ranking.of(uncertainty), threshold=threshold, rule=checked_rule(rule))


def ranked_scores(errors: Vector, ranking: Ranking, *, threshold: float | None, rule: Rule) -> RetentionScores:
    """Core of `scores` on checked errors [N] and their ranking."""
    n = len(errors)
    mean, area = float(errors.mean()), _area_without_curve(ranking.averaged(errors), rule)
    optimal = optimal_r_auc(errors, rule)
    span = optimal - 0.5 * mean
    flat = span == 0.0 or abs(span) <= 1e-12 * mean
    common = {
        "n": n,
        "mean_error": mean,
        "r_auc": area,
        "r_auc_random": 0.5 * mean,
        "r_auc_optimal": optimal,
        "rejection_ratio": math.nan if flat else settled((area - 0.5 * mean) / span),
    }
    if threshold is None:
        return RetentionScores(**common)  # type: ignore[arg-type]
    good = acceptable(errors, threshold, rule)
    total = int(np.count_nonzero(good))
    f1 = f1_curve(good, ranking)
    f1_area = _f1_area(f1, rule)
    random, best = random_f1_auc(n, total, rule), optimal_f1_auc(n, total, rule)
    return RetentionScores(
        **common,  # type: ignore[arg-type]
        acceptable=total / n,
        f1_auc=f1_area,
        f1_auc_random=random,
        f1_auc_optimal=best,
        f1_auc_normalised=normalised_f1_quiet(f1_area, n, total, rule),
        f1_at_95=_f1_point(f1, 0.95, rule),
    )
