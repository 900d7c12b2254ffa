"""Logistic regression with a ridge penalty: the classifier behind ratios of densities."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector

STEPS = 30  # of Newton's method; nearly all need fewer than ten
ENOUGH = 1e-4  # a step of the coefficients that ends it: far below what samples of records tell


def fit(x: Vector, label: Vector, weight: Vector, *, ridge: float, start: Vector | None = None) -> Vector:
    """Coefficients [D + 1], the intercept first, of P(label = 1) from inputs [n, D].

    They minimise sum_i weight_i * loss_i + ridge / 2 * |coefficients without the intercept|², by Newton's method, with
    steps that are halved while they would raise it.

    Args:
        x: [n, D]. label: [n] 0 or 1. weight: [n] > 0. start: coefficients [D + 1] close to those found, if known.
    """
    inputs = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    penalty = np.full(inputs.shape[1], ridge)
    penalty[0] = 1e-9  # keeps the system solvable if all labels are equal
    found = np.zeros(inputs.shape[1]) if start is None else start
    value = _objective(inputs @ found, label, weight, found, penalty)
    for _ in range(STEPS):
        p = _sigmoid(inputs @ found)
        slope = inputs.T @ (weight * (p - label)) + penalty * found
        curvature = (inputs * (weight * p * (1 - p))[:, None]).T @ inputs
        step = np.linalg.solve(curvature + np.diag(penalty), slope)
        size = 1.0
        while size > ENOUGH:
            moved = found - size * step
            lower = _objective(inputs @ moved, label, weight, moved, penalty)
            if lower <= value:
                break
            size /= 2
        else:
            break
        found, value = moved, lower
        if np.abs(size * step).max() < ENOUGH:
            break
    return found


def _objective(margin: Vector, label: Vector, weight: Vector, coefficients: Vector, penalty: Vector) -> float:
    loss = np.logaddexp(0.0, margin) - label * margin
    return float(weight @ loss + 0.5 * penalty @ coefficients**2)


def _sigmoid(margin: Vector) -> Vector:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * margin)))
