"""How far a distribution moved between two samples, from 0 (not at all) to 1 (no value in common).

Both distances are the largest difference of the probabilities that the two samples give to an event: to "at most x" for
numbers, to any set of categories for categories. So they need no scale, are not moved by outliers, and can stand in one
ranking, in which categories are a little ahead, since more events are open to them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shiftbench.check import Vector


def kolmogorov_smirnov(first: Vector, other: Vector) -> float:
    """The largest distance of two distribution functions; missing values (NaN) count as less than all others.

    Args:
        first: [n]. other: [m]; neither is empty.

    Source: Smirnov 1948; missing values as an atom of their own are ours.
    """
    samples = [np.sort(np.where(np.isnan(values), -np.inf, values)) for values in (first, other)]
    places = np.concatenate(samples)
    below = [np.searchsorted(sample, places, side="right") / len(sample) for sample in samples]
    return float(np.abs(below[0] - below[1]).max())


def total_variation(first: Mapping[str, float], other: Mapping[str, float]) -> float:
    """Half the sum of differences of the shares of each category; a category that one lacks has a share of 0."""
    names = sorted({*first, *other})
    return 0.5 * float(sum(abs(first.get(name, 0.0) - other.get(name, 0.0)) for name in names))
