"""Uncertainty of whole lesions: overlaps with the members' segmentations, and retention curves over lesions.

Of the L lesions that a model predicts for a patient, some are true (TP) and the others false (FP); FN true ones are
missed, which no uncertainty of a predicted lesion can mend. The k most certain lesions are retained: a rejected false
one is corrected, a rejected true one stays (Molchanova et al. 2023, arXiv 2311.08931). Inside a group of equal
uncertainties, a point of a curve is the mean over all orders of the group. So equal uncertainties (`np.zeros(L)`) are a
random order; `~true` is the best one.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.check import Flags, Vector
from shiftbench.ensembles import LOG_EPSILON, Lesions
from shiftbench.ensembles.structure import lesion_overlaps, patient_overlaps
from shiftbench.errors import ArrayError
from shiftbench.measures import MEASURES
from shiftbench.metrics.segmentation.scores import ORDERS, sentence
from shiftbench.scores.metric import Metric
from shiftbench.scores.ranking import Ranking
from shiftbench.scores.retention import error_area

__all__ = [
    "lesion_log_sums",
    "lesion_means",
    "lesion_overlaps",
    "lf1_gain",
    "lf1_retention",
    "lf1_retention_area",
    "lppv_gain",
    "lppv_retention",
    "lppv_retention_area",
    "patient_overlaps",
    "retention_metric",
    "summed_labels",
]

ROUNDING = 1e-6  # of a map in single precision: how far below 0 an uncertainty comes out


def lesion_means(labels: Any, values: Any) -> Vector:
    """The mean of a map [X, Y, Z] over the voxels of each lesion [L]: `lesion_mean_…` from a stored map.

    labels: integers in the shape of the map, lesions 1 … L, 0 elsewhere.

    Raises:
        ArrayError: a map of another shape, NaN, infinity.
    """
    owners, inside = _inside(labels, values)
    return np.asarray(np.bincount(owners, inside)[1:] / np.bincount(owners)[1:])


def lesion_log_sums(labels: Any, values: Any) -> Vector:
    """The sum of log(u + 1e-10) over the voxels of each lesion [L]: `lesion_log_sum_…` from a stored map u >= 0.

    Arguments and errors as `lesion_means`; ArrayError also for negative uncertainties, which have no logarithm, beyond
    the rounding of maps in single precision, which counts as 0.

    Source: the published code of Molchanova et al. 2023, after Nair et al. 2020; the epsilon is that of later code.
    """
    owners, inside = _inside(labels, values)
    if inside.min(initial=0) < -ROUNDING:
        raise ArrayError(f"values: expected uncertainties >= 0, which have a logarithm, found {inside.min():g}.")
    return np.asarray(np.bincount(owners, np.log(np.maximum(inside, 0) + LOG_EPSILON))[1:], np.float64)


def _inside(labels: Any, values: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The lesion and the value of each voxel inside one."""
    names, array = check.as_array("labels", labels, "integers"), check.as_array("values", values)
    wrong = {"labels": names} if names.dtype.kind not in "iu" else {}
    wrong |= {"values": array} if array.dtype.kind not in "biuf" else {}
    if wrong:
        raise ArrayError(
            *(
                f"{name}: expected {'integers' if name == 'labels' else 'numbers'}, found dtype {each.dtype}."
                for name, each in wrong.items()
            )
        )
    if names.shape != array.shape:
        raise ArrayError(f"values: expected the shape of the labels, {names.shape}, found {array.shape}.")
    inside = names > 0
    problems = check.value_problems("values", array[inside])
    if (inside.any() and names.max() > names.size) or not np.bincount(names[inside].astype(np.int64))[1:].all():
        problems.append(
            f"labels: expected each of 1 … L, found {len(np.unique(names[inside])):,} up to {names.max():,}."
        )
    if problems:
        raise ArrayError(*problems)
    owners, values_inside = names[inside], array[inside]
    order = np.lexsort((values_inside, owners))  # so that lesions of the same values have the same sum, and are ties
    return owners[order], values_inside[order]


def lppv_retention(true: Any, uncertainty: Any, *, undefined: float = 0.0) -> Vector:
    """The retention curve of the positive predictive value of the lesions of one patient.

    Args:
        true: [L] flags, whether each predicted lesion is a true one. L may be 0.
        uncertainty: [L], higher means less certain.
        undefined: the value of 0/0, where no lesion is left, neither true nor false: 0 as in the earliest published
            code, or 1 as in a later one. Without any true lesion the curve is 0 as long as a false one is retained.

    Returns:
        [L+1], retention 0, 1/L, …, 1: TP / (TP + FP retained).

    Raises:
        ArrayError: unequal lengths, flags other than 0 and 1, NaN, infinity, another value of 0/0 than 0 or 1.

    Source: Molchanova et al. 2023 (arXiv 2311.08931), Section 2.4; ties by expectation are ours.
    """
    true, uncertainty = _checked(true, uncertainty)
    return _curve(true, uncertainty, missed=0.0, weight=1.0, undefined=undefined)


def lf1_retention(true: Any, uncertainty: Any, *, missed: float, undefined: float = 0.0) -> Vector:
    """The retention curve of the lesion F1 of one patient [L+1]: TP / (TP + (FP retained + FN) / 2).

    missed: FN, the number of true lesions that are missed; whatever is retained, they stay. undefined: as in
    `lppv_retention`; 0/0 is where there is no true lesion, and no predicted one is left. The rest as there.

    Raises:
        ArrayError: as `lppv_retention`; a negative number of missed lesions.
    """
    missed = argument.number(
        "missed", missed, lambda found: 0 <= found < math.inf, "a number of lesions >= 0", error=ArrayError
    )
    true, uncertainty = _checked(true, uncertainty)
    return _curve(true, uncertainty, missed=missed, weight=0.5, undefined=undefined)


def lppv_retention_area(true: Any, uncertainty: Any, *, undefined: float = 0.0) -> float:
    """1 - area under `lppv_retention`, in [0, 1]: lower is better; linear between the points. Arguments as there."""
    return _area_above(lppv_retention(true, uncertainty, undefined=undefined))


def lf1_retention_area(true: Any, uncertainty: Any, *, missed: float, undefined: float = 0.0) -> float:
    """1 - area under `lf1_retention`, in [0, 1]: lower is better; linear between the points. Arguments as there."""
    return _area_above(lf1_retention(true, uncertainty, missed=missed, undefined=undefined))


def lppv_gain(true: Any, uncertainty: Any) -> float:
    """How much smaller `lppv_retention_area` is than that of a random order: 0 if lesions are all true or all false."""
    flags, uncertainty = _checked(true, uncertainty)
    return lppv_retention_area(flags, np.zeros(len(flags))) - lppv_retention_area(flags, uncertainty)


def lf1_gain(true: Any, uncertainty: Any, *, missed: float) -> float:
    """How much smaller `lf1_retention_area` is than that of a random order: 0 if lesions are all true or all false."""
    flags, uncertainty = _checked(true, uncertainty)
    random = lf1_retention_area(flags, np.zeros(len(flags)), missed=missed)
    return random - lf1_retention_area(flags, uncertainty, missed=missed)


def summed_labels(detected: Any) -> int:
    """What follow-up code takes for the number of missed lesions: the sum of their labels, not how many they are.

    detected: [T] flags, whether each true lesion is not missed, as in `LesionCounts`; lesions are labelled 1 … T. The
    last of a hundred lesions, if it alone is missed, counts as a hundred, so that lesion F1 comes out far too low, and
    differs when the volume is turned. The right number is `LesionCounts.missed`.
    """
    return int((np.flatnonzero(~_flags("detected", detected)) + 1).sum())


def _flags(name: str, values: Any) -> Flags:
    """Flags of lesions; a patient may have none."""
    array = check.as_array(name, values, "booleans")
    return check.flags(name, array) if array.size else np.zeros(0, np.bool_)


def _checked(true: Any, uncertainty: Any) -> tuple[Flags, Vector]:
    flags = _flags("true", true)
    array = check.as_array("uncertainty", uncertainty)
    if not len(flags) and not array.size:
        return flags, np.zeros(0)
    return flags, check.vector("uncertainty", array, length=len(flags))


def _curve(true: Flags, uncertainty: Vector, *, missed: float, weight: float, undefined: float) -> Vector:
    """TP / (TP + weight · (FP retained + missed)) for k = 0 … L retained lesions, in expectation inside tie groups."""
    undefined = argument.number(
        "undefined", undefined, lambda found: found in (0, 1), "0 or 1, the value of 0/0", error=ArrayError
    )
    found, false = int(np.count_nonzero(true)), int(np.count_nonzero(~true))
    below = found + weight * (np.arange(false + 1) + missed)
    scores = np.divide(found, below, out=np.full(false + 1, undefined), where=below > 0)  # by FP retained
    ranking = Ranking.of(uncertainty)
    retained = np.concatenate(([0], np.cumsum(~true[ranking.order])))
    curve = np.asarray(scores[retained])
    if ranking.starts is not None:
        for start, size in zip(ranking.starts, ranking.sizes(), strict=True):
            before, after = retained[start], retained[start + size]
            if 0 < after - before < size:
                curve[start : start + size + 1] = _over_orders(scores[before : after + 1], int(size))
    return curve


def _over_orders(scores: Vector, size: int) -> Vector:
    """Mean scores [size+1] of the first 0 … size lesions of a tie group over its orders; scores[f]: if f are false."""
    chances = np.zeros(len(scores))  # of 0, 1, … false lesions among those drawn so far
    chances[0] = 1.0
    left = np.arange(len(scores))[::-1]  # false lesions not drawn yet
    means = [scores[0]]
    for rest in range(size, 0, -1):
        drawn = chances * np.minimum(left / rest, 1.0)  # above 1 it is impossible, but rounding would grow
        chances = chances - drawn
        chances[1:] += drawn[:-1]
        means.append(float(chances @ scores))
    return np.asarray(means)


def _area_above(curve: Vector) -> float:
    return 1.0 - (error_area(curve, "exact") if len(curve) > 1 else float(curve[0]))


# --- metrics ----------------------------------------------------------------------------------------------------------

_SOURCE = "Molchanova et al. 2023, arXiv 2311.08931"
_AREAS = {
    "lppv": (
        "LPPV",
        "TP / (TP + FP retained)",
        "the lesion-wise positive predictive value (LPPV), the share of predicted lesions that are true,",
    ),
    "lf1": ("lesion F1", "TP / (TP + (FP retained + FN) / 2)", "lesion F1"),
}


def retention_metric(name: str) -> Metric | None:
    """The metric of a name such as `lppv_aac_lesion_structural`, `lf1_aac_random` or `lppv_gain_lesion_structural`.

    Each is a mean over patients of an area over the lesions of one: `…_aac_…`, 1 - area under the retention curve by a
    measure of lesions (or in a random or optimal order), or `…_gain_…`, by how much that of a random order is larger.
    None for other names.
    """
    stem, _, rest = name.partition("_")
    kind, _, order = rest.partition("_")
    words = ORDERS.get(order) or _title(order)
    if stem not in _AREAS or kind not in {"aac", "gain"} or words is None:
        return None
    title, ratio, plain = _AREAS[stem]
    formula = f"mean over patients of 1 - area under {ratio}, lesions by {words}"
    area = Metric(
        name, sentence(f"{title} R-AAC"), "min", "fraction", formula, _SOURCE, most=1.0, table="within",
        row=sentence(words), parts="predicted lesions",
        plain=f"the area above {plain} as false lesions are removed, the most uncertain first",
    )  # fmt: skip
    if kind == "aac":
        return area
    return replace(
        area, title=sentence(f"{title} gain"), better="max", formula=f"that of a random order minus {formula}",
        least=-1.0, plain=f"how much smaller the {title} R-AAC is than that of a random order",
    )  # fmt: skip


def _title(measure: str) -> str | None:
    """The title of a measure of lesions; None for other names."""
    found = MEASURES.get(measure)
    return found.title if found is not None and Lesions in found.functions else None
