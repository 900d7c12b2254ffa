"""Metrics of predicted trajectories: displacements of each mode, and scores over the modes of a request.

Trajectories [N, D, T, 2] hold D modes of T positions for each of N requests, weights [N, D] are >= 0 and sum to 1, and
targets [N, T, 2] are the actual positions, all in metres in one frame. Functions return [N] (`ade` and `fde`: [N, D]),
so that statistics can be resampled. `ragged_scores` takes requests with different numbers of modes.

Source: Malinin et al. 2021, Shifts 1.0, Equations 7, 8 and 15.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles.trajectories import MOST_MODES
from shiftbench.errors import ArrayError
from shiftbench.metrics.modes import (
    Displacements,
    Floats,
    Modes,
    all_displacements,
    by_place,
    likeliest,
    mixture_nll,
    mixture_scores,
    named,
    position_problems,
    weight_problems,
)

LEAST_SIGMA_M = 1e-100  # squares of smaller deviations, and of the inverse of larger ones, would be 0

# --- per mode ---------------------------------------------------------------------------------------------------------


def ade(trajectories: Any, targets: Any) -> Vector:
    """Average displacement error of each mode [N, D]: the mean over the steps of the distance to the target, metres.

    Raises:
        ArrayError: naming every problem: wrong shapes, no request, mode or step, NaN, infinity; likewise in all here.
    """
    return _per_mode(trajectories, targets).ade


def fde(trajectories: Any, targets: Any) -> Vector:
    """Final displacement error of each mode [N, D]: the distance to the target at the last step, metres."""
    return _per_mode(trajectories, targets).fde


# --- over the modes of a request --------------------------------------------------------------------------------------


def min_ade(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The least ADE of a request's modes [N], regardless of their weights.

    Only the `most` modes with the highest weights count, with renormalised weights; likewise in all functions below.

    Raises:
        ArrayError: as `ade`; also for weights that are negative or do not sum to 1, naming the requests. Sums within
            0.001 of 1 are accepted, and the weights divided by them.
    """
    return scores(trajectories, weights, targets, most=most)["min_ade"]


def min_fde(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The least FDE of a request's modes [N], regardless of their weights."""
    return scores(trajectories, weights, targets, most=most)["min_fde"]


def avg_ade(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The plain mean of the ADE of a request's modes [N]."""
    return scores(trajectories, weights, targets, most=most)["avg_ade"]


def avg_fde(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The plain mean of the FDE of a request's modes [N]."""
    return scores(trajectories, weights, targets, most=most)["avg_fde"]


def top1_ade(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The ADE of the mode with the highest weight [N], the first of ties."""
    return scores(trajectories, weights, targets, most=most)["top1_ade"]


def top1_fde(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The FDE of the mode with the highest weight [N], the first of ties."""
    return scores(trajectories, weights, targets, most=most)["top1_fde"]


def weighted_ade(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The mean of the ADE of a request's modes by their weights [N]."""
    return scores(trajectories, weights, targets, most=most)["weighted_ade"]


def weighted_fde(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> Vector:
    """The mean of the FDE of a request's modes by their weights [N]."""
    return scores(trajectories, weights, targets, most=most)["weighted_fde"]


def cnll(trajectories: Any, weights: Any, targets: Any, *, sigma_m: float = 1.0, most: int = MOST_MODES) -> Vector:
    """Corrected negative log-likelihood [N], nats: that of a mixture of Gaussians around the modes, at least 0.

    "Corrected" means without the constant T log(2 pi sigma²), so that one mode without error gets 0.

    Raises:
        SettingsError: a standard deviation `sigma_m` that is not above 0; the papers use 1 m.
    """
    squared, weights, modes = _likelihood_parts(trajectories, weights, targets, sigma_m, most)
    return mixture_nll(squared, weights, modes, sigma_m)


def log_likelihood(
    trajectories: Any, weights: Any, targets: Any, *, sigma_m: float = 1.0, most: int = MOST_MODES
) -> Vector:
    """Log-density of the target under the mixture of Gaussians [N], nats: -cNLL - T log(2 pi sigma²)."""
    corrected = cnll(trajectories, weights, targets, sigma_m=sigma_m, most=most)
    steps = check.as_array("targets", targets).shape[1]
    return np.asarray(-corrected - steps * math.log(2 * math.pi * sigma_m**2))


def scores(trajectories: Any, weights: Any, targets: Any, *, most: int = MOST_MODES) -> dict[str, Vector]:
    """Every score of this module by its name, each [N], from one pass over the trajectories."""
    trajectories, weights, targets = _checked(trajectories, weights, targets)
    n, modes_each = weights.shape
    flat = trajectories.reshape(n * modes_each, *trajectories.shape[2:])
    return mixture_scores(flat, weights.reshape(-1), Modes.of(np.full(n, modes_each)), targets, most=most)


def ragged_scores(
    trajectories: Any, weights: Any, counts: Any, targets: Any, *, most: int = MOST_MODES
) -> dict[str, Vector]:
    """`scores` of requests with different numbers of modes.

    Args:
        trajectories: [M, T, 2], the modes of the first request, then those of the second, …
        weights: [M], summing to 1 within each request.
        counts: [N] integers >= 1, the number of modes of each request; their sum is M.
        targets: [N, T, 2].
        most: only so many modes count, those with the highest weights, with renormalised weights.

    Raises:
        ArrayError: as `cnll`, and for a request without modes.
    """
    flat, problems = _floats("trajectories", trajectories, "[M, T, 2]")
    truth, more = _floats("targets", targets, "[N, T, 2]")
    shares, most_more = _floats("weights", weights, "[M]")
    numbers = check.as_array("counts", counts, "integers")
    problems += more + most_more + _count_problems(numbers, truth, flat, shares)
    if problems:
        raise ArrayError(*problems)
    modes = Modes.of(numbers)
    if problems := weight_problems(shares, modes, by_place):
        raise ArrayError(*problems)
    return mixture_scores(flat, shares.astype(np.float64), modes, truth, most=most)


def softmax_weights(logits: Any) -> Vector:
    """Weights [N, D] from their logarithms up to a constant [N, D] (also [D]); rows sum to 1."""
    array = check.as_array("logits", logits)
    if array.dtype.kind not in "biuf" or not array.ndim or not array.size:
        raise ArrayError(f"logits: expected numbers [N, D], found {array.dtype} of shape {array.shape}.")
    if problems := check.value_problems("logits", array):
        raise ArrayError(*problems)
    array = array.astype(np.float64, copy=False)
    with np.errstate(over="ignore", under="ignore"):  # weights of 0
        powers = np.exp(array - array.max(axis=-1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=-1, keepdims=True))


# --- checks -----------------------------------------------------------------------------------------------------------


def _per_mode(trajectories: Any, targets: Any) -> Displacements:
    trajectories, problems = _floats("trajectories", trajectories, "[N, D, T, 2]")
    targets, more = _floats("targets", targets, "[N, T, 2]")
    problems += more or _shape_problems(trajectories, targets)
    if problems:
        raise ArrayError(*problems)
    n, modes_each = trajectories.shape[:2]
    flat = trajectories.reshape(n * modes_each, *trajectories.shape[2:])
    found = all_displacements(flat, targets, np.repeat(np.arange(n), modes_each))
    return Displacements(*(values.reshape(n, modes_each) for values in found))


def _likelihood_parts(
    trajectories: Any, weights: Any, targets: Any, sigma_m: float, most: int
) -> tuple[Vector, Vector, Modes]:
    """Sums of squares [M] and weights [M] of the modes that count, and their assignment to requests."""
    argument.number("sigma_m", sigma_m, _is_deviation, "a standard deviation above 0 in metres")
    trajectories, weights, targets = _checked(trajectories, weights, targets)
    n, modes_each = weights.shape
    kept, shares, modes = likeliest(weights.reshape(-1), Modes.of(np.full(n, modes_each)), most)
    flat = trajectories.reshape(n * modes_each, *trajectories.shape[2:])
    found = all_displacements(flat if kept is None else flat[kept], targets, modes.owner)
    return found.squared, shares, modes


def _is_deviation(sigma_m: float) -> bool:
    return LEAST_SIGMA_M <= sigma_m <= 1 / LEAST_SIGMA_M


def _checked(trajectories: Any, weights: Any, targets: Any) -> tuple[Floats, Vector, Floats]:
    trajectories, problems = _floats("trajectories", trajectories, "[N, D, T, 2]")
    targets, more = _floats("targets", targets, "[N, T, 2]")
    weights, of_weights = _floats("weights", weights, "[N, D]")
    if not problems and not more:
        problems += _shape_problems(trajectories, targets)
        if not of_weights and weights.shape != trajectories.shape[:2]:
            of_weights = [f"weights: expected shape {trajectories.shape[:2]}, found {weights.shape}."]
    if not of_weights:
        of_weights = weight_problems(weights.reshape(-1), Modes.of(np.full(len(weights), weights.shape[1])), by_place)
    if problems := problems + more + of_weights:
        raise ArrayError(*problems)
    return trajectories, weights.astype(np.float64, copy=False), targets


def _floats(name: str, values: Any, axes: str) -> tuple[Floats, list[str]]:
    """An array with these axes as float32 or float64, and its problems."""
    nothing = np.empty((0,) * (axes.count(",") + 1))
    try:
        array = check.as_array(name, values)
    except ArrayError as error:
        ragged = "ragged" in str(error)
        return nothing, [f"{problem} Use ragged_scores." if ragged else problem for problem in error.problems]
    if array.dtype.kind not in "biuf":
        return nothing, [f"{name}: expected numbers, found dtype {array.dtype}. Convert to float first."]
    if array.ndim != nothing.ndim or ("2" in axes and array.shape[-1] != 2):
        return nothing, [f"{name}: expected {axes}, found shape {array.shape}."]
    if not array.size:
        return nothing, [f"{name}: expected at least one of each of {axes}, found shape {array.shape}."]
    if array.dtype not in (np.float32, np.float64):
        array = array.astype(np.float64)
    return array, position_problems(name, array) if "2" in axes else check.value_problems(name, array)


def _shape_problems(trajectories: Floats, targets: Floats) -> list[str]:
    """Problems of unequal numbers of requests [N, …] and steps [T]."""
    wanted = (trajectories.shape[0], *trajectories.shape[-2:])
    if trajectories.size and targets.shape != wanted:
        return [f"targets: expected shape {wanted} like the trajectories, found {targets.shape}."]
    return []


def _count_problems(counts: npt.NDArray[Any], targets: Floats, trajectories: Floats, weights: Floats) -> list[str]:
    if counts.ndim != 1 or counts.dtype.kind not in "iu":
        return [f"counts: expected integers [N], found dtype {counts.dtype} and shape {counts.shape}."]
    problems = []
    if targets.size and len(counts) != len(targets):
        problems.append(f"counts: expected {len(targets):,}, one for each target, found {len(counts):,}.")
    if (none := np.flatnonzero(counts < 1)).size:
        where = named(none, by_place)
        problems.append(f"counts: expected at least one mode in each request, found {counts[none[0]]} in {where}.")
    for name, array in (("trajectories", trajectories), ("weights", weights)):
        if array.size and len(array) != counts.sum():
            problems.append(f"{name}: expected {counts.sum():,} modes as counted, found {len(array):,}.")
    if trajectories.size and targets.size and trajectories.shape[1] != targets.shape[1]:
        problems.append(f"targets: expected {trajectories.shape[1]} steps, found {targets.shape[1]}.")
    return problems
