"""Adjustment of p-values of many comparisons that controls the probability of even one false difference."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shiftbench.check import Vector


def holm(p_values: npt.ArrayLike) -> Vector:
    """p-values [P] adjusted for their number by Holm's step-down (1979); NaN stays NaN and does not count."""
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return adjusted


def step_down(p_values: npt.ArrayLike, distances: Vector, replicates: Vector) -> Vector:
    """p-values [P] adjusted by the largest remaining distance in each replicate: the step-down of Romano & Wolf (2005).

    Unlike Holm's, they can be as small as 1 / (B + 1) for any number of comparisons, and they account for the
    dependence of comparisons of the same systems on the same records.

    Args:
        p_values: [P] unadjusted; NaN stays NaN and does not count.
        distances: [P] of the observed differences from zero, in standard errors.
        replicates: [P, B] of replicates from the observed difference, likewise; NaN where undefined.
    """
    p = np.asarray(p_values, dtype=np.float64)
    adjusted = np.full(p.shape, np.nan)
    tested = np.flatnonzero(np.isfinite(p))
    order = tested[np.argsort(-distances[tested], kind="stable")]
    largest = np.maximum.accumulate(np.nan_to_num(replicates[order][::-1], nan=0.0), axis=0)[::-1]
    beyond = (largest >= distances[order, None]).sum(axis=1)
    found = np.maximum((1 + beyond) / (1 + replicates.shape[1]), p[order])
    adjusted[order] = np.maximum.accumulate(found)
    return adjusted
