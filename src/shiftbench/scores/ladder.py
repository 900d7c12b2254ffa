"""The Ladder: what a board may show of a hidden set, so that nobody fits the set by looking at the board.

A team sees a new number only where its submission improves on its best one by more than chance; otherwise the board
answers with the number that it showed before.

Source: Blum & Hardt 2015, The Ladder: A Reliable Leaderboard for Machine Learning Competitions (arXiv 1502.04585).
"""

from __future__ import annotations

import math
from typing import Any, Literal, NamedTuple

import numpy as np

from shiftbench import argument, check
from shiftbench.errors import ArrayError

Better = Literal["min", "max"]


class Rung(NamedTuple):
    """The number that a team sees after a submission, and whether that submission is now its best.

    The next submission is compared with the best one. shown: NaN until the first submission with a score.
    """

    shown: float
    climbed: bool


START = Rung(math.nan, climbed=False)


def climb(shown: float, score: float, noise: float, *, better: Better = "min") -> Rung:
    """Answer a submission by the parameter-free Ladder (Blum & Hardt 2015, Algorithm 2).

    Args:
        shown: the number that the team sees now, NaN if none.
        score: of the submission on the hidden set; NaN (an undefined score) never climbs.
        noise: standard error of the difference from the team's best submission on the same records: for a mean of
            errors `paired_standard_error`, for other scores that of a paired bootstrap; for a team's first submission,
            the standard error of its score.
        better: whether smaller ("min") or larger scores are better.

    Returns:
        The number to show, and whether the submission climbed. Numbers are rounded to the power of ten at or below the
        noise; the paper rounds losses between 0 and 1 to multiples of 1/N.

    Raises:
        SettingsError: if `noise` is negative or not finite.
    """
    noise = argument.number("noise", noise, lambda x: 0 <= x < math.inf, "a finite number from 0")
    unit = 10.0 ** math.floor(math.log10(noise)) if noise else 0.0
    return _answer(shown, score, noise, unit, better)


def climb_by_steps(shown: float, score: float, step: float, *, better: Better = "min") -> Rung:
    """Answer a submission by the Ladder of a fixed step η (Blum & Hardt 2015, Algorithm 1).

    Args:
        shown: the number that the team sees now, NaN if none.
        score: of the submission on the hidden set; NaN (an undefined score) never climbs.
        step: η, the smallest improvement that is answered; shown numbers are multiples of it.
        better: whether smaller ("min") or larger scores are better.

    Raises:
        SettingsError: if `step` is not a positive finite number.
    """
    step = argument.number("step", step, lambda x: 0 < x < math.inf, "a finite number above 0")
    return _answer(shown, score, step, step, better)


def _answer(shown: float, score: float, margin: float, unit: float, better: Better) -> Rung:
    sign = {"min": 1.0, "max": -1.0}[argument.choice("direction", better, ("min", "max"))]
    shown = argument.number("shown", shown, lambda x: not math.isinf(x), "a finite number, or NaN")
    score = argument.number("score", score, lambda x: not math.isinf(x), "a finite number, or NaN")
    if math.isnan(score) or sign * score >= sign * shown - margin:
        return Rung(shown, climbed=False)
    rounded = float(f"{round(score / unit) * unit:.15g}") if unit else score  # 12 × 0.1 is 1.2
    return Rung(rounded, climbed=True)


def paired_standard_error(errors: Any, best: Any) -> float:
    """Standard error of the difference of the mean errors of two submissions, [N] each, on the same records.

    Raises:
        ArrayError: unless both are vectors of finite numbers of one length, at least 2.
    """
    one, other = check.vectors(errors=errors, best=best)
    if len(one) < 2:
        raise ArrayError(f"errors: expected at least 2 records, found {len(one)}.")
    scale = max(1.0, float(np.abs([one, other]).max()))  # squares of large errors overflow
    spread = float(np.std(one / scale - other / scale, ddof=1)) / math.sqrt(len(one))
    return spread * scale
