"""Measures of predicted trajectories: plans that all members score, and mixtures s_md with weights c_md."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import Array, Mixture, Trajectories
from shiftbench.measures import Measure

MOST_PLANS = 5  # of each record that count, as in the paper


def _plan_nll(ensemble: Trajectories) -> Vector:
    per_plan = ensemble.scores.mean(axis=0)
    best = -np.sort(-per_plan, axis=-1)[:, :MOST_PLANS]
    return np.asarray(-best.mean(axis=-1))


def _cross_entropy(mixture: Mixture) -> Vector:
    """The cross-entropy of the modes of one member under another [N], in nats; a single member is compared with itself.

    -log sum_e c_e exp(-||s_d - s_e||² / 2) of each mode d of member m under the modes e of member k, averaged by the
    weights of d and over all k other than m: the cNLL that each member expects of the others. It grows both where
    members disagree and where each predicts several ways, like the score of a plan under other members.
    """
    modes, weights = _modes(mixture)
    count, members, each = weights.shape
    exponent = -0.5 * _squared(modes.reshape(count, members * each, -1))
    with np.errstate(divide="ignore"):  # a mode of weight 0 adds nothing
        exponent += np.log(weights).reshape(count, 1, -1)
    by_member = exponent.reshape(count, members, each, members, each)
    highest = by_member.max(axis=-1)
    nll = -(highest + np.log(np.exp(by_member - highest[..., None]).sum(axis=-1)))  # [N, m, d, k]
    expected = np.einsum("nmd,nmdk->nmk", weights, nll)
    if members == 1:
        return np.asarray(expected[:, 0, 0])
    others = ~np.eye(members, dtype=np.bool_)
    return np.asarray(expected[:, others].mean(axis=1))


def _pairwise_ade(mixture: Mixture) -> Vector:
    modes, weights = _modes(mixture)
    count, members, each = weights.shape
    flat, shares = modes.reshape(count, members * each, *modes.shape[3:]), weights.reshape(count, -1) / members
    distance = np.linalg.norm(flat[:, :, None] - flat[:, None], axis=-1).mean(axis=-1)
    return np.asarray(np.einsum("na,nab,nb->n", shares, distance, shares))


def _weight_entropy(mixture: Mixture) -> Vector:
    weights = np.moveaxis(mixture.weights, 0, 1).mean(axis=1)
    logarithms = np.log(np.where(weights > 0, weights, 1.0))
    return np.asarray(-(weights * logarithms).sum(axis=1))


def _modes(mixture: Mixture) -> tuple[Array, Array]:
    """Modes [N, M, D, T, 2] and weights [N, M, D]."""
    modes = np.moveaxis(mixture.trajectories, 0, 1)
    return np.ascontiguousarray(modes, np.float64), np.ascontiguousarray(np.moveaxis(mixture.weights, 0, 1))


def _squared(flat: Array) -> Array:
    """Squared distances [N, G, G] of rows [N, G, V]."""
    centred = flat - flat.mean(axis=1, keepdims=True)  # avoids losing digits far from the origin
    own = np.einsum("ngv,ngv->ng", centred, centred)
    return np.asarray(np.maximum(own[:, :, None] + own[:, None] - 2 * (centred @ centred.swapaxes(1, 2)), 0.0))


_OURS = "Shiftbench"

MEASURES = (
    Measure(
        "plan_nll",
        "Plan NLL",
        "total",
        f"minus the mean over the {MOST_PLANS} best plans of mean(log p_m(plan))",
        "Filos et al. 2020; Malinin et al. 2021, Appendix E.4 (model average)",
        {Trajectories: _plan_nll},
    ),
    Measure(
        "cross_entropy",
        "Cross-entropy",
        "total",
        "mean over members m unlike k of E_{s ~ m}[cNLL_k(s)]",
        _OURS,
        {Mixture: _cross_entropy},
    ),
    Measure(
        "pairwise_ade",
        "Pairwise ADE",
        "total",
        "E[ADE(s, t)] for s, t drawn from the mixture of all members",
        _OURS,
        {Mixture: _pairwise_ade},
    ),
    Measure("weight_entropy", "Entropy of weights", "total", "H(mean(c_m))", _OURS, {Mixture: _weight_entropy}),
)
