"""The correlation of a score with the volume of lesions over records: is a score that should not depend on it free of
it? nDSC was made to be (Raina et al. 2023); DSC is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from shiftbench.check import Vector
from shiftbench.scores.metric import Metric
from shiftbench.scores.resampling import SetTerms, Terms

SCORES = {"ndsc": "nDSC", "dsc": "DSC"}
KINDS = {"spearman": "Spearman", "pearson": "Pearson"}


def correlation_name(score: str, kind: str) -> str:
    """The name of a correlation with the volume of lesions: `ndsc_load_spearman`."""
    return f"{score}_load_{kind}"


def all_terms(volumes: Vector, scores: Mapping[str, Vector]) -> dict[str, SetTerms]:
    """The terms of N records in each correlation, by name.

    Args:
        volumes: [N], of the lesions of each. scores: by name [N]; those without a correlation are left out.
    """
    terms = {name: _terms(volumes, values) for name, values in scores.items() if name in SCORES}
    return {correlation_name(name, kind): each for name, each in terms.items() for kind in KINDS}


def _terms(volumes: Vector, values: Vector) -> SetTerms:
    """Of each record 1 and its two values, in a place of its own: ranks need to know all others."""
    amounts = np.stack([np.ones(len(values)), volumes, values], axis=1)
    return SetTerms(Terms((np.arange(len(values)),), (len(values),), amounts))


def named(name: str) -> Metric | None:
    """The metric of a name of `correlation_name`; None for other names."""
    score, _, kind = name.partition("_load_")
    if score not in SCORES or kind not in KINDS:
        return None
    ranked = kind == "spearman"
    return Metric(
        name, "Correlation with lesion volume", "nominal", "plain",
        f"{KINDS[kind]} correlation of {SCORES[score]} with the volume of lesions, over patients",
        "Shifts 2.0, Table 8", least=-1.0, most=1.0, nominal=0.0, ranked=False, needs="records", table="variants",
        row=f"{SCORES[score]}, {KINDS[kind]}", parts="scores and the volume of lesions",
        of_sums=lambda sums, whole: _correlations(sums, whole, ranked=ranked)[0],
        slopes=lambda sums, whole: _correlations(sums, whole, ranked=ranked)[1],
    )  # fmt: skip


def _correlations(sums: Any, whole: Any, *, ranked: bool) -> tuple[Vector, Vector]:
    """Correlations [P] of weighted records, and their derivatives [P, N, 3] by the sums; NaN where one is constant.

    sums: [P, N, 3], whole: [N, 3]: of each record its weight, and its two values times the weight.
    """
    weights, pairs = sums[..., 0], whole[:, 1:].T / np.maximum(whole[:, 0], 1.0)
    below = [_below(each) if ranked else None for each in pairs]
    first, second = (
        _standard(np.broadcast_to(each, weights.shape) if order is None else weights @ order.T, weights)
        for each, order in zip(pairs, below, strict=True)
    )
    share = weights / weights.sum(axis=1, keepdims=True)
    found = (share * first[0] * second[0]).sum(axis=1)
    by_weight = first[0] * second[0] - found[:, None] * (first[0] ** 2 + second[0] ** 2) / 2
    by_weight = by_weight / weights.sum(axis=1, keepdims=True)
    for (own, spread), other, order in ((first, second[0], below[0]), (second, first[0], below[1])):
        if order is not None:  # a record moves the ranks of the others
            by_weight = by_weight + (share * (other - found[:, None] * own) / spread) @ order
    slopes = np.zeros(np.shape(sums))
    slopes[..., 0] = by_weight
    return np.clip(found, -1.0, 1.0), slopes


def _below(values: Vector) -> Vector:
    """[N, N]: 1 where the second value is smaller than the first, 1/2 where both are equal: ranks, summed by weight."""
    difference = values[:, None] - values[None]
    return np.asarray((np.sign(difference) + 1) / 2)


def _standard(values: Vector, weights: Vector) -> tuple[Vector, Vector]:
    """Values [P, N] in standard deviations [P, 1] from their weighted mean, and these; NaN where all are equal."""
    total = weights.sum(axis=1, keepdims=True)
    away = values - (weights * values).sum(axis=1, keepdims=True) / total
    spread = np.sqrt((weights * away**2).sum(axis=1, keepdims=True) / total)
    scale = 1e-12 * np.abs(values).max(axis=1, keepdims=True)  # what rounding leaves of equal values
    spread = np.where(spread > scale, spread, np.nan)
    return away / spread, spread
