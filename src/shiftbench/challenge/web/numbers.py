"""Scores as people read them: as many decimals as their intervals allow, percentages as such."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from shiftbench.report.digits import SHARES, SUPERSCRIPTS, Digits, digits_of, half_width
from shiftbench.scores.metric import Metric

HUGE = 1e6


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


@dataclass(frozen=True)
class Scores(Digits):
    """The format of a board, whose last rows may be beyond all others: each huge number has its own power of ten.

    rounded: numbers are without intervals, such as the Ladder's, which end where chance begins: no zeros are added.
    """

    rounded: bool = False

    def text(self, value: float | None) -> str:
        """One number; a dash for NaN, infinity and None."""
        if value is None or not math.isfinite(value) or abs(value * self.factor) < HUGE:
            shown = super().text(value)
            return shown.rstrip("0").rstrip(".") if self.rounded and "." in shown else shown
        mantissa, power = f"{value * self.factor:.2e}".replace("-", "−").split("e")
        return f"{mantissa}×10{str(int(power)).translate(SUPERSCRIPTS)}"


def of(metric: Metric, scored: Iterable[Scored]) -> Digits:
    """The format of the scores of a board, whose better half decides on the decimals."""
    found = [each for each in scored if each.score is not None]
    best = found[: (len(found) + 1) // 2]
    factor, most = SHARES.get(metric.scale, (None, 5))
    values = [each.score for each in best if each.score is not None]
    if factor is None and values and statistics.median(map(abs, values)) >= 1:
        factor = 1.0  # no power of ten beside the title, which is read as part of the number
    widths = [half_width(each.low, each.high) for each in best]
    chosen = digits_of(values, widths, unit=unit(metric), factor=factor, most=most)
    rounded = all(width is None for width in widths)
    return Scores(chosen.factor, chosen.decimals, chosen.unit, rounded)


def unit(metric: Metric) -> str:
    """What stands behind the title of a score."""
    return {"percent": "%", "points": "points"}.get(metric.scale, "")
