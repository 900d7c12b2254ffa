"""Scores of segmented volumes by name: means over records of a number of each, and shares of the lesions of all.

Those that depend on a measure of voxels, on a rule for lesions or on a class of sizes are families: too many to list.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from shiftbench.check import Vector
from shiftbench.measures import MEASURES
from shiftbench.metrics.segmentation import correlation
from shiftbench.metrics.segmentation.matching import LesionCounts
from shiftbench.metrics.segmentation.rule import CONNECTIVITIES, MATCHES, MISSES, LesionRule
from shiftbench.metrics.segmentation.sizes import SizeClass
from shiftbench.scores.metric import OPTIMAL_ORDER, RANDOM_ORDER, Metric

_SHIFTS = "Shifts 2.0"

_NDSC = "2 TP / (2 TP + k FP + FN), k = (1 - r) G / (r (V - G))"

METRICS = (
    Metric("ndsc", "nDSC", "max", "percent", _NDSC, _SHIFTS, most=1.0, plain="the overlap with the true masks"),
    Metric("dsc", "DSC", "max", "percent", "2 TP / (2 TP + FP + FN)", "Dice 1945", most=1.0),
    Metric("lesion_f1", "Lesion F1", "max", "percent", "TP / (TP + (FP + FN) / 2) of lesions", _SHIFTS, most=1.0),
    Metric(
        "lesion_precision", "Lesion precision", "max", "percent", "share of predicted lesions that are right",
        "Shifts 2.0, code", most=1.0,
    ),
    Metric(
        "lesion_recall", "Lesion recall", "max", "percent", "share of true lesions that are not missed",
        "Shifts 2.0, code", most=1.0,
    ),
    Metric(
        "hausdorff_95", "HD95 (mm)", "min", "plain", "larger 95th percentile of the distances between surfaces, mm",
        "Maier-Hein et al. 2024",
    ),
    Metric(
        "surface_distance", "ASSD (mm)", "min", "plain", "mean distance between surfaces, both ways, mm",
        "Heimann et al. 2009",
    ),
    Metric(
        "lppv_gain", "LPPV gain", "max", "fraction",
        "mean over patients of the area under the lesion-wise positive predictive value (LPPV) by the uncertainty of "
        "lesions minus that of a random order",
        "Molchanova et al. 2023, arXiv 2311.08931", least=-1.0, most=1.0, ranked=False, table="joint", chance=0.0,
        plain="by the lesion-wise positive predictive value (LPPV) the uncertainty of predicted lesions tells false "
        "ones from true ones",
    ),
)  # fmt: skip

ORDERS = {"random": RANDOM_ORDER, "optimal": OPTIMAL_ORDER}
_AREAS = {"ndsc_raac_": "nDSC R-AAC", "dsc_raac_": "DSC R-AAC"}
_F1, _DETECTED = "lesion_f1_", "lesion_detected_"


def named(name: str) -> Metric | None:
    """The metric of a name of `ndsc_raac_…`, `f1_name`, `detected_name` or a correlation; None for other names."""
    return _area_metric(name) or _rule_metric(name) or _size_metric(name) or correlation.named(name)


# --- areas of retention over voxels -----------------------------------------------------------------------------------


def _area_metric(name: str) -> Metric | None:
    for stem, title in _AREAS.items():
        if name.startswith(stem) and (order := name.removeprefix(stem)):
            measure = MEASURES.get(order)
            words = ORDERS.get(order) or (measure.title if measure else order.replace("_", " "))
            score = title.split()[0]
            formula = f"mean over patients of 1 - area under the {score} retention curve, voxels by {words}"
            return Metric(
                name, title, "min", "fraction", formula, _SHIFTS, most=1.0, table="within", row=sentence(words),
                parts="voxels", plain=f"the area above {score} as the truth replaces the most uncertain voxels first",
            )  # fmt: skip
    return None


def sentence(words: str) -> str:
    """Words with a capital, as the title of a row."""
    return words[:1].upper() + words[1:]


# --- lesion F1 under other rules --------------------------------------------------------------------------------------


def f1_name(rule: LesionRule) -> str:
    """The name of the lesion F1 under a rule: `lesion_f1_06_25_published_below_iou` (connectivity, IoU in percent)."""
    return f"{_F1}{rule.connectivity:02}_{100 * rule.iou:.10g}_{rule.match}_{rule.missed}"


def f1_scores(table: Iterable[LesionCounts]) -> dict[str, float]:
    """The lesion F1 of one record under every rule of a `lesion_table`, by name."""
    return {f1_name(counts.rule): counts.f1 for counts in table}


def _rule_metric(name: str) -> Metric | None:
    rule = _rule(name)
    if rule is None or f1_name(rule) != name:  # each rule has one name
        return None
    formula = f"TP / (TP + (FP + FN) / 2) of lesions: {rule}"
    return Metric(
        name, "Lesion F1", "max", "percent", formula, _SHIFTS, most=1.0, table="variants", row=str(rule),
        parts="lesion F1 under other rules", plain="rules differ between papers and programs",
    )  # fmt: skip


def _rule(name: str) -> LesionRule | None:
    if not name.startswith(_F1):
        return None
    connectivity, _, rest = name.removeprefix(_F1).partition("_")
    percent, _, words = rest.partition("_")
    kinds = [(match, missed) for match in MATCHES for missed in MISSES if words == f"{match}_{missed}"]
    iou = float(percent) / 100 if percent.isascii() and percent.replace(".", "", 1).isdigit() else 0.0
    known = connectivity in {f"{each:02}" for each in CONNECTIVITIES}
    return LesionRule(iou, int(connectivity), *kinds[0]) if known and kinds and 0 < iou <= 1 else None


# --- lesions by size --------------------------------------------------------------------------------------------------


def detected_name(low: float, high: float) -> str:
    """The name of the share of lesions of a class of volumes (mm³) that are detected: `lesion_detected_10_100`."""
    return f"{_DETECTED}{low:.10g}_{high:.10g}"


def detected_amounts(classes: Iterable[SizeClass]) -> dict[str, Vector]:
    """What one record adds to each share by name: lesions detected and lesions there are, [2].

    Stacked over records these are the `Terms` of a score of a set, which pools the lesions of all records.
    """
    return {detected_name(*size[:2]): np.array([size.detected, size.true], dtype=np.float64) for size in classes}


def _size_metric(name: str) -> Metric | None:
    low, _, high = name.removeprefix(_DETECTED).partition("_")
    try:
        limits = float(low), float(high)
    except ValueError:
        return None
    if not 0 <= limits[0] < limits[1] or detected_name(*limits) != name:
        return None
    row = f"below {high} mm³" if not limits[0] else f"{low} to {high} mm³"
    row = f"above {low} mm³" if math.isinf(limits[1]) else row
    return Metric(
        name, "Lesions detected", "max", "percent", f"share of true lesions {row} that are not missed, of all records",
        "this package", most=1.0, of_sums=_share, table="variants", row=row,
        parts="lesions detected by their volume", plain="the share of all lesions of all records",
    )  # fmt: skip


def _share(sums: Any, whole: Any) -> Vector:
    detected, true = sums[..., 0], sums[..., 1]
    return np.asarray(np.divide(detected, true, out=np.full(true.shape, np.nan), where=true > 0))
