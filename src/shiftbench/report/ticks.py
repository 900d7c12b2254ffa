"""Positions and labels of the ticks of an axis."""

from __future__ import annotations

import math

from shiftbench.report.digits import SUPERSCRIPTS

MOST = 6  # ticks of an axis, about
LONG = 100_000  # numbers of this size and above are written with a power of ten
SHORT = 1e-4  # and those below this one
SMALLEST_POWER = 1_000  # beside a number with a power of ten, those of this size and above have one, too
YEARS = (1500, 2200)  # whole numbers between these may be years, which have no separator
TINIEST = 1e-300  # numbers far below it lose digits


def ticks(low: float, high: float) -> list[tuple[float, str]]:
    """Round numbers between two ends, and their texts."""
    low, high = min(low, high), max(low, high)
    if not TINIEST <= high - low < math.inf:  # steps between them have no digits, or none that are finite
        return [(value, tick_text(value)) for value in dict.fromkeys((low, high))]
    step = _step((high - low) / MOST)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [place * step for place in range(first, last + 1)]
    finest = math.floor(math.log10(step) + 1e-9)  # the power of ten of the last digit that differs between ticks
    if round(step / 10.0**finest, 9) % 1:  # 2.5, 0.25
        finest -= 1
    largest = max(map(abs, values), default=0.0)
    if largest >= LONG or largest < SHORT:
        return [(value, _power(value, finest) if value else "0") for value in values]
    if finest >= 0 and values and YEARS[0] <= values[0] <= values[-1] <= YEARS[1]:
        return [(value, f"{value:.0f}") for value in values]
    return [(value, _plain(value, finest) if value or finest > -3 else "0") for value in values]


def log_ticks(low: float, high: float) -> list[tuple[float, str]]:
    """As many plain numbers as the range needs on a logarithmic axis."""
    decades = range(math.floor(math.log10(low)), min(math.ceil(math.log10(high)), 307) + 1)
    thinned = [power for power in decades if power % max(1, math.ceil(len(decades) / MOST)) == 0]
    between: tuple[int, ...] = (1, 2, 5) if high < LONG or high < 10 * low else (1, 3)
    found = [part * 10.0**power for power in decades for part in between]
    if high > 300 * low:
        found = [10.0**power for power in thinned]
    inside = [value for value in found if low * (1 - 1e-9) <= value <= high * (1 + 1e-9)]
    if len(inside) < 2:
        return ticks(low, high)
    powers = inside[-1] >= LONG  # then all large numbers have one form
    return [(value, _power(value) if powers and value >= SMALLEST_POWER else tick_text(value)) for value in inside]


def tick_text(value: float, finest: int | None = None) -> str:
    """A tick label: a plain number, or from 100,000 on (and below 0.0001) a form such as 3×10⁶.

    finest: the power of ten of the last digit that is needed; by default there are few digits.
    """
    size = abs(value)
    if size == 0 or SHORT <= size < LONG:
        return f"{value:,g}".replace("-", "−") if finest is None or size == 0 else _plain(value, finest)
    return _power(value, finest)


def _power(value: float, finest: int | None = None) -> str:
    """A number that is not 0 with a power of ten: 3×10⁶, 10⁵."""
    size = abs(value)
    power = math.floor(math.log10(size) + 1e-9)
    shift = 300 if size < TINIEST else 0  # 10 ** -324 is 0
    factor = f"{size * 10.0**shift / 10.0 ** (power + shift):.{2 if finest is None else max(power - finest, 0)}f}"
    factor = factor.rstrip("0").rstrip(".") if "." in factor else factor
    sign = "−" if value < 0 else ""
    return f"{sign}{'' if factor == '1' else f'{factor}×'}10{str(power).translate(SUPERSCRIPTS)}"


def _plain(value: float, finest: int) -> str:
    """A number without an exponent, to the digit of 10 ** finest."""
    return f"{value:,.{max(-finest, 0)}f}".replace("-", "−")


def _step(rough: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    power = 10.0 ** math.floor(math.log10(rough))
    return next((part * power for part in (1, 2, 2.5, 5) if part * power >= rough * (1 - 1e-9)), 10 * power)
