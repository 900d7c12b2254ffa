"""Scales on which scores are closer to normal, and the ranges that bound their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from shiftbench.check import Vector


@dataclass(frozen=True)
class Scale:
    """An increasing function of a score, its slope and its inverse; NaN or infinite outside the score's open range.

    least, most: the closed range of the score. limited: whether its interval is bounded by that of Student's t with
    few degrees of freedom; intervals of differences are not, since they agree with their p-values.
    """

    name: str
    to: Callable[[Vector], Vector]
    slope: Callable[[Vector], Vector]
    back: Callable[[Vector], Vector]
    least: float = -math.inf
    most: float = math.inf
    limited: bool = True


PLAIN = Scale("plain", lambda values: values, np.ones_like, lambda values: values)
DIFFERENCE = replace(PLAIN, name="difference", limited=False)
LOG = Scale("log", np.log, np.reciprocal, np.exp, least=0.0)


def _logit(most: float) -> Scale:
    """Log-odds of a score between 0 and `most`."""
    return Scale(
        "logit",
        lambda values: np.log(values) - np.log(most - values),
        lambda values: most / (values * (most - values)),
        lambda logits: np.asarray(most * 0.5 * (1.0 + np.tanh(0.5 * logits))),
        0.0,
        most,
    )


def scale_between(least: float, most: float) -> Scale:
    """The scale of a score by its range: logarithm from 0 to infinity, logit from 0 to a limit, else the identity.

    A rejection ratio, from -1 to 1, is not transformed: on the scale of Fisher's z its intervals were shorter at the
    end where they miss the truth (`python -m benchmarks.coverage`).
    """
    if least != 0.0:
        return replace(PLAIN, least=least, most=most)
    return LOG if math.isinf(most) else _logit(most)
