"""Modes of mixtures: distances to the targets, and scores over the modes of a request. Inputs are already validated.

The modes of all requests are in one array of M, those of a request consecutive, so that requests may have different
numbers of modes. The checks on this form are here as well; `shiftbench.metrics` has the public scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles.trajectories import MOST_MODES, WEIGHT_ROUNDING, WEIGHT_TOLERANCE
from shiftbench.scores.metric import Metric

Floats = npt.NDArray[np.floating[Any]]
Index = npt.NDArray[np.intp]

# Exceeds all distances on Earth; squares of larger numbers would overflow.
FARTHEST_M = 1e8
# Numbers in a block of modes: temporaries of this size stay in the cache.
_BLOCK_VALUES = 1 << 16
_MOST_LISTED = 3

_EQUATIONS = "Shifts 1.0, Equations 7 and 8"
_OVER_MODES = {
    "min": "least {} of the modes",
    "avg": "plain mean of the {} of the modes",
    "top1": "{} of the mode with the highest weight",
    "weighted": "mean of the {} of the modes by their weights",
}

METRICS = (
    Metric("cnll", "cNLL", "min", "plain", "-log sum_d c_d exp(-sum_t |s_t - s_dt|² / 2)", "Shifts 1.0, Equation 15"),
    *(
        Metric(f"{over}_{what.lower()}", f"{over}{what}", "min", "target", formula.format(what), _EQUATIONS)
        for what in ("ADE", "FDE")
        for over, formula in _OVER_MODES.items()
    ),
)


class Displacements(NamedTuple):
    """For each mode [M]: mean and final distance to the target in metres, and the sum of squared distances in m²."""

    ade: Vector
    fde: Vector
    squared: Vector


class Modes(NamedTuple):
    """The assignment of M modes to N requests: those of a request are consecutive.

    counts: [N], at least 1. starts: [N], the first mode of each. owner: [M], the request of each mode.
    """

    counts: Index
    starts: Index
    owner: Index

    @classmethod
    def of(cls, counts: Any) -> Modes:
        """From the number of modes of each request [N]."""
        counts = np.asarray(counts, dtype=np.intp)
        return cls(counts, np.cumsum(counts) - counts, np.repeat(np.arange(len(counts)), counts))


def displacements(trajectories: Floats, targets: Floats) -> Displacements:
    """ADE, FDE and sum of squares of modes [M, T, 2], given the target of each [M, T, 2]."""
    parts = np.square(trajectories - targets)
    squared = parts[..., 0] + parts[..., 1]
    distance = np.sqrt(squared)
    return Displacements(_over_steps(distance) / distance.shape[1], distance[:, -1], _over_steps(squared))


def _over_steps(values: Vector) -> Vector:
    """Sums [M] of values [M, T]: for few steps several times faster than `sum`; a product with ones would be faster
    still, but the rounding of a row would depend on its position."""
    return np.asarray(np.einsum("mt->m", values))


def mixture_nll(squared: Vector, weights: Vector, modes: Modes, sigma_m: float = 1.0) -> Vector:
    """-log sum_d c_d exp(-||s - s_d||² / (2 sigma²)) of each request [N], by log-sum-exp: never infinite."""
    with np.errstate(divide="ignore"):  # a mode of weight 0 adds nothing
        exponent = np.log(weights) - squared / (2 * sigma_m**2)
    highest = np.maximum.reduceat(exponent, modes.starts)
    total = np.add.reduceat(np.exp(exponent - highest[modes.owner]), modes.starts)
    return np.asarray(-(highest + np.log(total)))


def mixture_scores(
    trajectories: Floats, weights: Vector, modes: Modes, targets: Floats, *, most: int = MOST_MODES
) -> dict[str, Vector]:
    """Core of `scores` and `ragged_scores`: trajectories [M, T, 2] and weights [M] of the modes, targets [N, T, 2]."""
    kept, weights, modes = likeliest(weights, modes, most)
    found = all_displacements(trajectories if kept is None else trajectories[kept], targets, modes.owner)
    top = _first_highest(weights, modes)
    by_name: dict[str, Vector] = {}
    for name, values in (("ade", found.ade), ("fde", found.fde)):
        by_name[f"min_{name}"] = np.minimum.reduceat(values, modes.starts)
        by_name[f"avg_{name}"] = np.add.reduceat(values, modes.starts) / modes.counts
        by_name[f"top1_{name}"] = values[top]
        by_name[f"weighted_{name}"] = np.add.reduceat(weights * values, modes.starts)
    return by_name | {"cnll": mixture_nll(found.squared, weights, modes)}


def all_displacements(trajectories: Floats, targets: Floats, owner: Index) -> Displacements:
    """`displacements` of modes [M, T, 2] from the targets [N, T, 2] of their owners [M], block by block in float64."""
    found = Displacements(*(np.empty(len(trajectories)) for _ in Displacements._fields))
    targets = targets.astype(np.float64, copy=False)
    for rows in _blocks(len(trajectories), trajectories[0].size):
        for whole, part in zip(found, displacements(trajectories[rows], targets[owner[rows]]), strict=True):
            whole[rows] = part
    return found


def normalised(weights: Vector, modes: Modes) -> Vector:
    """The weights [M], divided by their sum in each request if it differs from 1 by more than rounding."""
    sums = np.add.reduceat(weights, modes.starts)
    off = np.abs(sums - 1) > WEIGHT_ROUNDING
    return weights / np.where(off, sums, 1.0)[modes.owner] if off.any() else weights


def likeliest(weights: Vector, modes: Modes, most: int) -> tuple[Index | None, Vector, Modes]:
    """The `most` heaviest modes of each request (the first of ties), in their order, with weights that sum to 1.

    Returns:
        Positions of the kept modes [M'] (None for all), their weights [M'], and their requests.
    """
    most = argument.whole("most", most, 1, wanted="a whole number of modes >= 1")
    weights = normalised(weights, modes)
    if modes.counts.max() <= most:
        return None, weights, modes
    order = np.lexsort((-weights, modes.owner))  # stable; the order of requests is unchanged
    rank = np.arange(len(order)) - modes.starts[modes.owner]
    kept = np.sort(order[rank < most])
    fewer = Modes.of(np.minimum(modes.counts, most))
    cut = np.where(modes.counts > most, np.add.reduceat(weights[kept], fewer.starts), 1.0)
    return kept, weights[kept] / cut[fewer.owner], fewer


def weight_problems(weights: Floats, modes: Modes, name: Callable[[int], str]) -> list[str]:
    """Problems of the weights [M] of requests: negative, not finite, not summing to 1; `name` gives request names."""
    shares = weights.astype(np.float64, copy=False)
    usable = np.isfinite(shares) & (shares >= 0)
    bad = ~np.logical_and.reduceat(usable, modes.starts)
    sums = np.add.reduceat(np.where(usable, shares, 0.0), modes.starts)
    off = ~bad & (np.abs(sums - 1) > WEIGHT_TOLERANCE)
    problems = []
    if bad.any():
        where = named(np.flatnonzero(bad), name)
        problems.append(f"weights: expected numbers >= 0, found {shares[~usable][0]:g} in {where}. Correct them.")
    if off.any():
        where = named(np.flatnonzero(off), name)
        wanted = f"weights: expected a sum of 1 (within {WEIGHT_TOLERANCE:g}) over the modes of a request"
        problems.append(f"{wanted}, found {sums[off][0]:g} in {where}. Divide them by their sum.")
    return problems


def named(places: Index, name: Callable[[int], str]) -> str:
    """The names of the first requests at these positions, and the number of further ones."""
    shown = ", ".join(name(int(place)) for place in places[:_MOST_LISTED])
    rest = len(places) - _MOST_LISTED
    return shown + (f" and {rest:,} more" if rest > 0 else "")


def by_place(place: int) -> str:
    """The description of a request without a name."""
    return f"request {place}"


def _first_highest(weights: Vector, modes: Modes) -> Index:
    """The position of the first mode of highest weight of each request [N]."""
    highest = np.flatnonzero(weights == np.maximum.reduceat(weights, modes.starts)[modes.owner])
    return highest[np.searchsorted(highest, modes.starts)]


def _blocks(modes: int, values_each: int) -> Iterator[slice]:
    step = max(1, _BLOCK_VALUES // values_each)
    return (slice(start, start + step) for start in range(0, modes, step))


def position_problems(name: str, positions: Floats) -> list[str]:
    """Problems of positions in metres: NaN, infinity, or larger than any distance on Earth."""
    far = max(float(positions.max()), -float(positions.min()))  # one pass decides the common, clean case
    if far <= FARTHEST_M:
        return []
    return check.value_problems(name, positions) or [
        f"{name}: expected positions within {FARTHEST_M:g} m, found {far:g} m. Are they in metres?"
    ]
