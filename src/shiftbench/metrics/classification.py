"""Metrics of classification: right or wrong, the whole probability vector, and calibration.

Targets are class indices [N], 0 … C-1. Answers are class indices [N], or probabilities [N, C], of which the most
probable class counts (the first of ties). Functions `..._per_record` and `zero_one_error` return [N], so that
statistics can be resampled.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles import LOG_EPSILON, Array, class_probabilities
from shiftbench.ensembles.categorical import SUM_TOLERANCE
from shiftbench.errors import ArrayError
from shiftbench.scores.metric import Metric

Indices = npt.NDArray[np.int64]

MOST_BINS = 1_000_000
# A larger index is a code or an id, not a class number.
MOST_CLASSES = 10_000


def _f1_of_confusion(confusion: Vector, _whole: Vector | None = None) -> Vector:
    """Macro-F1 [P] of confusion matrices [P, C, C], each over the classes that occur in it; NaN if none does."""
    named = confusion.sum(axis=-2) + confusion.sum(axis=-1)
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    f1 = np.divide(2.0 * right, named, out=np.zeros(named.shape), where=named > 0)
    return np.asarray(f1.sum(axis=-1) / (named > 0).sum(axis=-1))


def _f1_slopes(confusion: Vector, _whole: Vector) -> Vector:
    """The derivatives [P, C, C] of `_f1_of_confusion`, for the same classes."""
    named = confusion.sum(axis=-2) + confusion.sum(axis=-1)
    weight = 2.0 / (named > 0).sum(axis=-1, keepdims=True)
    named[named == 0] = np.inf
    fall = weight * np.diagonal(confusion, axis1=-2, axis2=-1) / named**2
    slopes = -(fall[..., :, None] + fall[..., None, :])
    classes = np.arange(confusion.shape[-1])
    slopes[..., classes, classes] += weight / named
    return np.asarray(slopes)


METRICS = (
    Metric(
        "accuracy", "Accuracy", "max", "percent", "share of records whose most probable class is the target",
        "Shifts 1.0, Section 3", most=1.0, share=True, compared=True,
    ),
    Metric(
        "macro_f1", "Macro-F1", "max", "percent", "mean over classes of 2 TP / (2 TP + FP + FN)",
        "Shifts 1.0, Appendix C.3", most=1.0, of_sums=_f1_of_confusion, slopes=_f1_slopes, area="macro_f1_area",
    ),
    Metric(
        "macro_f1_area", "Macro-F1, area", "max", "percent", "area under its retention curve", "this package",
        uses_uncertainty=True, most=1.0,
    ),
    Metric("brier", "Brier score", "min", "plain", "mean of sum_c (p_c - [c = y])²", "Brier 1950", most=2.0),
    Metric(
        "ece", "Calibration error (ECE)", "min", "points", "mean of |accuracy - confidence| of a record's bin",
        "Guo et al. 2017", most=1.0, table="calibration", sliced=True,
    ),
    Metric(
        "overconfidence", "Confidence − accuracy", "nominal", "points", "mean of confidence - [the answer is right]",
        "Lichtenstein & Fischhoff 1977", least=-1.0, most=1.0, ranked=False, nominal=0.0, table="calibration",
        sliced=True,
    ),
)  # fmt: skip


class Reliability(NamedTuple):
    """Nonempty bins of confidence in ascending order: their means [B] and sizes [B]."""

    confidence: Vector
    accuracy: Vector
    records: Indices


# --- right or wrong ---------------------------------------------------------------------------------------------------


def zero_one_error(targets: Any, answers: Any) -> Vector:
    """1.0 where the answer is wrong, 0.0 where it is right [N].

    Raises:
        ArrayError: unequal lengths, no records, classes that are not indices >= 0, invalid probabilities; likewise in
            all functions here.
    """
    targets, answers, _ = _targets_and_answers(targets, answers)
    return np.asarray(targets != answers, dtype=np.float64)


def accuracy(targets: Any, answers: Any) -> float:
    """The share of right answers; higher is better."""
    targets, answers, _ = _targets_and_answers(targets, answers)
    return float((targets == answers).mean())


def confusion(targets: Any, answers: Any) -> Indices:
    """The number of records [C, C] with this target (row) and this answer (column).

    C is the number of columns of the probabilities, or else the highest index found plus 1.
    """
    targets, answers, classes = _targets_and_answers(targets, answers)
    return np.bincount(targets * classes + answers, minlength=classes**2).reshape(classes, classes)


def macro_f1(targets: Any, answers: Any) -> float:
    """The unweighted mean over classes of the one-vs-all F1 = 2 TP / (2 TP + FP + FN); higher is better.

    A class counts if it occurs among targets or answers, because its F1 is 0/0 otherwise. A class that is answered but
    never the target counts with F1 = 0. (scikit-learn does the same.)

    Source: Malinin et al. 2021, Shifts 1.0, Appendix C.3 ("one-vs-all", no weighting).
    """
    return float(_f1_of_confusion(confusion(targets, answers).astype(np.float64)))


# --- probabilities ----------------------------------------------------------------------------------------------------


def brier_per_record(targets: Any, probabilities: Any) -> Vector:
    """Sum over the classes of (p_c - [c = target])² for each record [N], from 0 to 2.

    Source: Brier 1950, Monthly Weather Review 78. For two classes it is twice the score of the second class alone.
    """
    targets, probabilities = _targets_and_probabilities(targets, probabilities)
    away = np.array(probabilities, dtype=np.float64)
    away[np.arange(len(targets)), targets] -= 1  # before squaring: what is exact stays so
    return np.asarray(np.square(away).sum(axis=1))


def brier(targets: Any, probabilities: Any) -> float:
    """Mean Brier score, from 0 to 2; lower is better."""
    return float(brier_per_record(targets, probabilities).mean())


def nll_per_record(targets: Any, probabilities: Any) -> Vector:
    """-log(p_target + 1e-10) of each record [N], in nats: at most 23.03, as in the published code."""
    targets, probabilities = _targets_and_probabilities(targets, probabilities)
    of_target = probabilities[np.arange(len(targets)), targets]
    return np.asarray(-np.log(of_target + LOG_EPSILON))


def nll(targets: Any, probabilities: Any) -> float:
    """Mean negative log-likelihood, in nats; lower is better."""
    return float(nll_per_record(targets, probabilities).mean())


# --- calibration ------------------------------------------------------------------------------------------------------


def reliability(targets: Any, probabilities: Any, *, bins: int = 15) -> Reliability:
    """Mean confidence and accuracy of the most probable class, in bins of confidence of equal width.

    Bin b of B holds confidences in ((b-1)/B, b/B]. Empty bins are left out.

    Raises:
        SettingsError: bins that are no whole number from 1 to 1,000,000; likewise in all functions below.

    Source: Guo et al. 2017, On calibration of modern neural networks, Section 2.
    """
    return _binned(*_confidence_and_right(targets, probabilities), bins)


def expected_calibration_error(targets: Any, probabilities: Any, *, bins: int = 15) -> float:
    """Mean over the records of |accuracy - confidence| of their bin, see `reliability`; lower is better.

    Source: Naeini, Cooper & Hauskrecht 2015; Guo et al. 2017, Eq. 3.
    """
    return calibration_error(*_confidence_and_right(targets, probabilities), bins=bins)


def calibration_error(confidence: Any, right: Any, *, bins: int = 15) -> float:
    """The expected calibration error of answers given with a confidence [N], where `right` [N] is 1 if correct.

    Raises:
        ArrayError: unequal lengths, no records, NaN, infinity, values outside [0, 1].
        SettingsError: as `reliability`.
    """
    confidence, right = check.vectors(confidence=confidence, right=right)
    problems = [*_share_problems("confidence", confidence, SUM_TOLERANCE), *_share_problems("right", right)]
    if problems:
        raise ArrayError(*problems)
    found = _binned(confidence, right, bins)
    return float(np.abs(found.accuracy - found.confidence) @ found.records / len(right))


def _confidence_and_right(targets: Any, probabilities: Any) -> tuple[Vector, Vector]:
    targets, probabilities = _targets_and_probabilities(targets, probabilities)
    return probabilities.max(axis=1), (probabilities.argmax(axis=1) == targets).astype(np.float64)


def _binned(confidence: Vector, right: Vector, bins: int) -> Reliability:
    bins = argument.whole("bins", bins, 1, MOST_BINS)
    # Rounding may lift a confidence slightly above 1: it belongs to the last bin.
    places = np.minimum(np.searchsorted(np.arange(1, bins + 1) / bins, confidence), bins - 1)
    records = np.bincount(places, minlength=bins)
    held = records > 0
    sums = [np.bincount(places, values, minlength=bins)[held] for values in (confidence, right)]
    return Reliability(sums[0] / records[held], sums[1] / records[held], records[held])


# --- checks -----------------------------------------------------------------------------------------------------------


def _targets_and_answers(targets: Any, answers: Any) -> tuple[Indices, Indices, int]:
    """Both as class indices [N], and the number of classes C."""
    if _is_matrix(answers):
        targets, probabilities = _targets_and_probabilities(targets, answers)
        return targets, probabilities.argmax(axis=1), probabilities.shape[1]
    targets, answers = check.vectors(targets=targets, answers=answers)
    problems = _index_problems("targets", targets, MOST_CLASSES) + _index_problems("answers", answers, MOST_CLASSES)
    if problems:
        raise ArrayError(*problems)
    return targets.astype(np.int64), answers.astype(np.int64), int(max(targets.max(), answers.max())) + 1


def _targets_and_probabilities(targets: Any, probabilities: Any) -> tuple[Indices, Array]:
    named = check.aligned({"probabilities": probabilities, "targets": targets})
    targets = named["targets"]
    array, problems = class_probabilities(
        named["probabilities"], "[N, C]", hint="Two classes? Use np.stack([1 - p, p], axis=-1)."
    )
    try:
        targets = check.vector("targets", targets, length=len(array) or None)
        problems += _index_problems("targets", targets, array.shape[-1] or MOST_CLASSES)
    except ArrayError as error:
        problems = [*error.problems, *problems]
    if problems:
        raise ArrayError(*problems)
    return targets.astype(np.int64), array


def _share_problems(name: str, values: Vector, tolerance: float = 0.0) -> list[str]:
    bad = (values < 0) | (values > 1 + tolerance)
    return [f"{name}: expected values from 0 to 1, found {check.first(values, bad)}."] if bad.any() else []


def _is_matrix(answers: Any) -> bool:
    try:
        return check.as_array("answers", answers).ndim == 2
    except ArrayError:  # reported by the check of vectors
        return False


def _index_problems(name: str, values: Vector, classes: int) -> list[str]:
    bad = (values != np.floor(values)) | (values < 0) | (values >= classes)
    if not bad.any():
        return []
    found = f"found {values[bad][0]:g} ({np.count_nonzero(bad):,} of {len(bad):,}, first at index {bad.argmax()})"
    return [f"{name}: expected class indices from 0 to {classes - 1:,}, {found}. Number the classes 0 … C-1."]
