"""Scales on which scores are nearer to normal than as they stand: logarithms of what is positive, logits of shares."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from shiftbench.check import Vector


@dataclass(frozen=True)
class Scale:
    """A rising function of a score, its slope, and its inverse; NaN or infinite outside the open range of the score."""

    name: str
    to: Callable[[Vector], Vector]
    slope: Callable[[Vector], Vector]
    back: Callable[[Vector], Vector]


def _itself(values: Vector) -> Vector:
    return values


def _logit(shares: Vector) -> Vector:
    return np.log(shares) - np.log1p(-shares)


def _share(logits: Vector) -> Vector:
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * logits)))


PLAIN = Scale("plain", _itself, np.ones_like, _itself)
LOG = Scale("log", np.log, np.reciprocal, np.exp)
LOGIT = Scale("logit", _logit, lambda shares: 1.0 / (shares * (1.0 - shares)), _share)


def scale_between(least: float, most: float) -> Scale:
    """The scale of a score from its range: logarithms from 0 to infinity, logits from 0 to 1, else the score itself.

    A rejection ratio, from -1 to 1, stays as it is: on the scale of Fisher's z its intervals were shorter at the end
    where the truth is missed (`python -m benchmarks.coverage`).
    """
    if least != 0.0:
        return PLAIN
    return LOGIT if most == 1.0 else LOG if math.isinf(most) else PLAIN
