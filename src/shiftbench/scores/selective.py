"""Other areas of selective prediction beside R-AUC, each under the name by which its authors know it.

Records are kept from the most certain to the least. The selective risk of k kept records is *their* mean error, where
retention divides by all N (the others count as perfect). Ties count by their expectation over the orders of the group.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.errors import ArrayError
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.retention import error_area, error_curve, settled

_SHARES = (0.0, 1.0)
HALF = 0.5  # of the records: what the script of LM-Polygraph rejects at most
NOISE = 1e-12  # relative rounding error of an area, at most

METRICS = (
    Metric(
        "aurc", "AURC", "min", "error", "mean over k of the mean error of the k most certain records",
        "Geifman & El-Yaniv 2017", uses_uncertainty=True, of_classes=_SHARES, ranked=False, table="selective",
    ),
    Metric(
        "e_aurc", "E-AURC", "min", "error", "AURC - AURC of the best order", "Geifman et al. 2019",
        uses_uncertainty=True, of_classes=_SHARES, ranked=False, table="selective",
    ),
    Metric(
        "augrc", "AUGRC", "min", "error", "R-AUC by the exact rule", "Traub et al. 2024",
        uses_uncertainty=True, of_classes=_SHARES, ranked=False, table="selective",
    ),
    Metric(
        "auarc", "AUARC", "max", "fraction", "mean over k of the accuracy of the k most certain records",
        "Nadeem et al. 2009", uses_uncertainty=True, most=1.0, ranked=False, table="selective",
    ),
    Metric(
        "prr", "PRR", "max", "fraction", "(mean error - AURC) / (mean error - AURC of the best order)",
        "LM-Polygraph (Vashurin et al. 2025)", uses_uncertainty=True, least=-math.inf, most=1.0, ranked=False,
        table="selective", needs="records",
    ),
    Metric(
        "prr_50", "PRR, at most 50 % rejected", "max", "fraction", "PRR of the upper half of retention",
        "LM-Polygraph (Vashurin et al. 2025)", uses_uncertainty=True, least=-math.inf, most=1.0, ranked=False,
        table="selective", needs="records",
    ),
)  # fmt: skip


class Best(NamedTuple):
    """What the order of the errors themselves reaches on a set of records: needed for each of its rankings."""

    aurc: float
    half: float

    @classmethod
    def of(cls, errors: Vector) -> Best:
        """The areas of errors [N] in the best order."""
        risks = _risks(np.sort(errors))
        return cls(float(risks.mean()), _last(risks, HALF))


def scores(errors: Vector, ranking: Ranking, best: Best) -> dict[str, float]:
    """All areas of checked errors [N], by name; AUARC only where errors are 0 or 1.

    A PRR is NaN where all errors are equal.
    """
    curve, n = error_curve(errors, ranking), len(errors)
    risks, mean = curve[1:] * (n / np.arange(1.0, n + 1.0)), float(errors.mean())
    aurc = float(risks.mean())
    found = {
        "aurc": aurc,
        "e_aurc": aurc - best.aurc if aurc - best.aurc > NOISE * aurc else 0.0,
        "augrc": error_area(curve, "exact"),
        "prr": gain(mean, aurc, best.aurc),
        "prr_50": gain(mean, _last(risks, HALF), best.half),
    }
    return found | ({"auarc": 1.0 - aurc} if bool(((errors == 0) | (errors == 1)).all()) else {})


def aurc(errors: Any, uncertainty: Any) -> float:
    """Area under the risk-coverage curve, in the unit of the errors; lower is better.

    The mean over k = 1 … N of the mean error of the k most certain records. The same as the errors weighted by
    H_N - H_(i-1) at rank i, divided by N: the finite-sample estimator with harmonic weights (arXiv 2410.15361).

    Args:
        errors: [N], >= 0.
        uncertainty: [N], higher means less certain.

    Raises:
        ArrayError: unequal lengths, no records, NaN, infinity, or a negative error; likewise in all functions here.

    Source: Geifman & El-Yaniv 2017, Selective classification for deep neural networks.
    """
    return _of("aurc", errors, uncertainty)


def e_aurc(errors: Any, uncertainty: Any) -> float:
    """AURC minus that of the best order, in the unit of the errors; lower is better.

    Source: Geifman, Uziel & El-Yaniv 2019, Bias-reduced uncertainty estimation for deep neural classifiers.
    """
    return _of("e_aurc", errors, uncertainty)


def augrc(errors: Any, uncertainty: Any) -> float:
    """Area under the generalised risk-coverage curve; lower is better: the R-AUC of the exact rule.

    Source: Traub et al. 2024, arXiv 2407.01032, where errors are 0 or 1.
    """
    return _of("augrc", errors, uncertainty)


def auarc(errors: Any, uncertainty: Any) -> float:
    """Area under the accuracy-rejection curve: the mean accuracy of the k most certain records; higher is better.

    Raises:
        ArrayError: errors other than 0 and 1, too.

    Source: Nadeem, Zucker & Hanczar 2009, Accuracy-rejection curves.
    """
    found = check.vector("errors", errors)
    if not ((found == 0) | (found == 1)).all():
        raise ArrayError("errors: expected 0 (right) or 1 (wrong), found other numbers. Use aurc instead.")
    return _of("auarc", errors, uncertainty)


def prr(errors: Any, uncertainty: Any, *, max_rejection: float = 1.0) -> float:
    """Prediction rejection ratio: the gain over a random order relative to that of the best order, 1 at most.

    Of mean errors of the records that are kept; `rejection_ratio`, the PRR of Malinin et al. 2020, divides by all
    records instead. NaN if all errors are equal.

    Args:
        errors: [N], >= 0. A quality gives the same, negated and shifted, whatever its scale.
        uncertainty: [N], higher means less certain.
        max_rejection: the share of the records that is rejected at most, in (0, 1]; the script of LM-Polygraph
            takes 0.5.

    Source: LM-Polygraph (Vashurin et al. 2025), PredictionRejectionArea.
    """
    max_rejection = argument.number(
        "max_rejection", max_rejection, lambda found: 0 < found <= 1, "a share above 0 and up to 1", error=ArrayError
    )
    errors, uncertainty = _checked(errors, uncertainty)
    risks = _risks(Ranking.of(uncertainty).averaged(errors))
    best = _risks(np.sort(errors))
    return gain(float(errors.mean()), _last(risks, max_rejection), _last(best, max_rejection))


def _of(name: str, errors: Any, uncertainty: Any) -> float:
    errors, uncertainty = _checked(errors, uncertainty)
    return scores(errors, Ranking.of(uncertainty), Best.of(errors))[name]


def _checked(errors: Any, uncertainty: Any) -> tuple[Vector, Vector]:
    errors, uncertainty = check.vectors(
        nonnegative=("errors",), advice=check.LOSSES, errors=errors, uncertainty=uncertainty
    )
    return errors, uncertainty


def _risks(ranked: Vector) -> Vector:
    """The mean error of the k first of errors [N], for k = 1 … N."""
    return np.asarray(np.cumsum(ranked) / np.arange(1.0, len(ranked) + 1.0))


def _last(risks: Vector, share: float) -> float:
    """The mean risk while at most this share is rejected."""
    return float(risks[-max(int(share * len(risks)), 1) :].mean())


def gain(random: float, area: float, best: float) -> float:
    """The gain of an area over a random order relative to that of the best order; NaN if that gains nothing."""
    span = random - best
    return settled((random - area) / span) if span > 1e-12 * random else math.nan
