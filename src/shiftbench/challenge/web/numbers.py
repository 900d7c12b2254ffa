"""Scores as people read them: as many decimals as their intervals allow, percentages as such."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from shiftbench.report.digits import SHARES, Digits, digits_of, half_width
from shiftbench.scores.metric import Metric


class Scored(Protocol):
    """Anything with a score and perhaps an interval."""

    @property
    def score(self) -> float | None:
        """The score."""

    @property
    def low(self) -> float | None:
        """The lower end of its interval."""

    @property
    def high(self) -> float | None:
        """The upper end."""


def of(metric: Metric, scored: Iterable[Scored]) -> Digits:
    """The format of the scores of a board."""
    found = [each for each in scored if each.score is not None]
    factor, most = SHARES.get(metric.scale, (None, 5))
    widths = [half_width(each.low, each.high) for each in found]
    values = [each.score for each in found if each.score is not None]
    return digits_of(values, widths, unit=unit(metric), factor=factor, most=most)


def unit(metric: Metric) -> str:
    """What stands behind the title of a score."""
    return {"percent": "%", "points": "points"}.get(metric.scale, "")
