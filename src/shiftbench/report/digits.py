"""Number formatting: a value and its interval have the same number of decimals, chosen by the interval."""

from __future__ import annotations

import math
import statistics
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from shiftbench.report.content import Report
from shiftbench.report.view import finite, metric_unit, once
from shiftbench.scores.metric import Metric
from shiftbench.scores.score import Score, SliceScore

MISSING = "–"
MOST_DECIMALS = 8
MOST_POWER = 300  # of ten: the factor and its reciprocal still fit into a float
NOTHING = 1e-7  # relative to the value: narrower intervals are rounding errors
SHARES = {
    "percent": (100.0, 1),
    "points": (100.0, 1),
    "fraction": (1.0, 5),
}  # scale → factor, and most decimals of a score without interval
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Digits:
    """The number format of one metric: multiplied by `factor`, with `decimals`, in `unit`."""

    factor: float = 1.0
    decimals: int = 2
    unit: str = ""

    def text(self, value: float | None) -> str:
        """One number; a dash for NaN, infinity and None."""
        if not finite(value):
            return MISSING
        scaled = value * self.factor
        unseen = self.decimals == MOST_DECIMALS and 0 < abs(scaled) < 0.5 * 10.0**-MOST_DECIMALS
        if abs(scaled) >= 1e9 or unseen:
            return f"{scaled:.3g}".replace("-", "−")
        text = f"{scaled:,.{self.decimals}f}"
        negative = text.startswith("-") and any(digit in "123456789" for digit in text)
        return "−" * negative + text.lstrip("-")

    def cell(
        self, value: float, *, low: float | None = None, high: float | None = None, std: float | None = None
    ) -> tuple[str, str]:
        """A number and its note: "± std" of single models, "[low, high]", or nothing."""
        width = half_width(low, high, std)
        if finite(width) and finite(value) and width < abs(value) * NOTHING:  # all replicates are equal
            width = None
            low = high = None if std is None else low
        decimals = self.decimals if self._shows(value, width) else self._own(value, width)
        if finite(std):  # the deviation of a few members can be small by chance: one decimal more has to do
            decimals = min(decimals, self.decimals + 1)
        digits = replace(self, decimals=decimals)
        note = ""
        if finite(value) and finite(std):
            text = digits.text(std)
            hidden = std > 0 and not any(digit in "123456789" for digit in text)
            note = f"± < {10.0**-decimals:.{decimals}f}" if hidden else f"± {text}"
        elif finite(value) and finite(low) and finite(high):
            note = f"[{digits.text(low)}, {digits.text(high)}]"
        return digits.text(value), note

    def _shows(self, value: float, width: float | None) -> bool:
        seen = width if width else value
        return not finite(seen) or seen == 0 or abs(seen) * self.factor >= 0.5 * 10.0**-self.decimals

    def _own(self, value: float, width: float | None) -> int:
        return _decimals(width * self.factor, 2) if width else _decimals(value * self.factor, 3)


def half_width(low: float | None, high: float | None, std: float | None = None) -> float | None:
    """The uncertainty of a number: the standard deviation if given, else half the width of the interval."""
    if finite(std):
        return std
    return (high - low) / 2 if finite(low) and finite(high) else None


def digits_of(
    values: Iterable[float],
    widths: Iterable[float | None] = (),
    *,
    unit: str = "",
    factor: float | None = None,
    among: Iterable[float] = (),
    most: int = MOST_DECIMALS,
) -> Digits:
    """A format with two significant digits of the median half-width; without any, three of the median value, but at
    `most` so many decimals.

    Numbers of 100,000 and more, or below 0.001, get a power of ten in their unit, unless `factor` is set; the power
    is chosen `among` these values and those they are compared with, if given.
    """
    middle = _middle(values)
    typical = _middle(among) or middle
    if typical is None:
        return Digits(factor or 1.0, 2, unit)
    if factor is None and not 1e-3 <= typical < 1e5:
        power = min(max(3 * math.floor(math.log10(typical) / 3), -MOST_POWER), MOST_POWER)
        factor = 10.0**-power
        unit = f"×10{str(power).translate(SUPERSCRIPTS)} {unit}".rstrip()
    factor = factor or 1.0
    known = [width * factor for width in widths if finite(width) and width > typical * NOTHING]
    rough = min(_decimals((middle or typical) * factor, 3), most)
    return Digits(factor, _decimals(statistics.median(known), 2) if known else rough, unit)


def _middle(values: Iterable[float]) -> float | None:
    """The median absolute value of the nonzero numbers, if any."""
    sizes = [abs(value) for value in values if finite(value) and value != 0]
    return min(statistics.median(sizes), sys.float_info.max) if sizes else None  # the mean of two may be infinite


@once
def metric_digits(report: Report, metric: Metric, split: str) -> Digits:
    """The format of the scores of one metric and split: the same in every table, sentence and picture.

    All splits share the power of ten, so that their numbers can be compared; each has its own decimals.
    """
    every = [score for score in report.scores if score.metric == metric.name]
    scores = [score for score in every if score.split == split]
    return scale_digits(metric, scores, unit=metric_unit(metric, report), among=[score.value for score in every])


def of_difference(digits: Digits) -> Digits:
    """The format of a difference of scores: that of percentages is in points."""
    return replace(digits, unit="points") if digits.unit == "%" else digits


def scale_digits(
    metric: Metric, scores: Sequence[Score | SliceScore], *, unit: str = "", among: Iterable[float] = ()
) -> Digits:
    """The format of scores of one scale. Shares have one unit everywhere: percent or 1, never a power of ten."""
    widths = [half_width(score.low, score.high, getattr(score, "std", None)) for score in scores]
    factor, most = SHARES.get(metric.scale, (None, MOST_DECIMALS))
    return digits_of([score.value for score in scores], widths, unit=unit, factor=factor, among=among, most=most)


def _decimals(size: float, significant: int) -> int:
    """The number of decimals that shows `significant` digits of a number of this size."""
    return min(max(significant - 1 - math.floor(math.log10(abs(size))), 0), MOST_DECIMALS)


def p_text(p: float) -> str:
    """A p-value with three decimals; a NaN is a dash."""
    if not finite(p):
        return MISSING
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_in_sentence(p: float, *, known: bool = True) -> str:
    """A p-value as it stands in a sentence: `p = 0.012`, `p < 0.001`; `p ≤ 0.012` if it is an upper bound."""
    text = p_text(p)
    return f"p {text}" if text.startswith("<") else f"p {'=' if known else '≤'} {text}"


def count_text(count: int | None) -> str:
    """A count with separators between thousands."""
    return MISSING if count is None else f"{count:,}"
