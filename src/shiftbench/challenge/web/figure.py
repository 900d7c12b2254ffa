"""Pictures of leaderboards, as SVG made on the server: a strip in each row of a table, and in-domain beside shifted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from markupsafe import Markup

from shiftbench.challenge.web import numbers
from shiftbench.report.curve_figures import span
from shiftbench.report.digits import Digits
from shiftbench.report.drawing import Axis, Drawing, Entry, Label, Line, Panel
from shiftbench.report.style import GRID, SUBSET_LOOKS, Look, fitted
from shiftbench.report.svg import svg
from shiftbench.report.ticks import ticks
from shiftbench.report.view import finite
from shiftbench.scores.metric import Metric
from shiftbench.scores.score import Score

MOST = 14  # entries
MOST_WIDER = 2.0  # than the teams alone, for an axis that has the references, too
ROW, WIDTH = 34.0, 420.0  # pixels


class Drawn(numbers.Scored, Protocol):
    """A row of a table: a score, perhaps its interval, and whether it is a reference."""

    @property
    def reference(self) -> bool:
        """Whether it is of a reference."""


class Strips(NamedTuple):
    """One axis for all rows of a table, and each row's score and interval on it; "" without anything to draw."""

    axis: Markup
    rows: list[Markup]


class Dot(NamedTuple):
    """A score of the picture of two sides."""

    score: float
    low: float | None
    high: float | None
    hollow: bool


def strips(metric: Metric, rows: Sequence[Drawn], *, whole: bool = False) -> Strips:
    """Scores and intervals of a leaderboard; every place is a share of the width, so that any width will do.

    whole: every interval fits on the axis; else arrows stand for references that would press the teams together.
    """
    factor = numbers.of(metric, rows).factor
    low, high = _around(rows, factor, math.inf if whole else MOST_WIDER)
    if not math.isfinite(high - low):
        return Strips(Markup(), [Markup()] * len(rows))

    def place(value: float) -> str:
        return f"{100 * (value - low) / (high - low):.1f}%"

    marked = [(place(at), text) for at, text in ticks(low, high)]
    axis = "".join(f'<text x="{at}" y="1em">{text}</text>' for at, text in marked)
    guides = "".join(f'<line class="guide" x1="{at}" x2="{at}" y1="0" y2="100%"/>' for at, _ in marked)
    found = []
    for row in rows:
        inner = ""
        if finite(row.score) and not low <= row.score * factor <= high:
            inner = '<text x="98%" y="50%">→</text>' if row.score * factor > high else '<text x="6%" y="50%">←</text>'
        elif finite(row.score):
            if finite(row.low) and finite(row.high):
                x1, x2 = (place(min(max(end * factor, low), high)) for end in (row.low, row.high))
                inner = f'<line class="range" x1="{x1}" x2="{x2}" y1="50%" y2="50%"/>'
            inner += f'<circle cx="{place(row.score * factor)}" cy="50%" r="5"/>'
        found.append(Markup(f'<svg class="strip" aria-hidden="true">{guides}{inner}</svg>'))
    return Strips(Markup(f'<svg class="axis" aria-hidden="true">{axis}</svg>'), found)


def _around(rows: Sequence[Drawn], factor: float, wider: float) -> tuple[float, float]:
    """The ends of an axis: of all teams, and of references unless it were wider by more than that factor."""
    found = [_ends(factor, (row for row in rows if row.reference == reference)) for reference in (False, True)]
    if not any(found):
        return math.nan, math.nan
    low, high = span(found[0] or found[1], log=False)
    wide_low, wide_high = span([*found[0], *found[1]], log=False)
    return (wide_low, wide_high) if wide_high - wide_low <= wider * (high - low) else (low, high)


def _ends(factor: float, rows: Iterable[Drawn]) -> list[float]:
    return [end * factor for row in rows for end in (row.score, row.low, row.high) if finite(end)]


def sides(metric: Metric, found: Mapping[str, Mapping[str, Score]]) -> str:
    """Scores in-domain and on shifted records by entry, the one above the other; "" without any."""
    known = {name: each for name, each in found.items() if len(each) == 2}
    if not known:
        return ""
    dots = {
        (row, side): Dot(score.value, score.low, score.high, side == "shifted")
        for row, each in enumerate(known.values())
        for side, score in sorted(each.items())
    }
    digits = numbers.of(metric, dots.values())
    ends = [end * digits.factor for dot in dots.values() for end in dot[:3] if finite(end)]
    low, high = span(ends, log=False)
    lines = [Line((low, high), (row, row), Look(GRID, "-", width=0.7)) for row in range(1, len(known))]
    labels = []
    for (row, side), dot in dots.items():
        color, _, marker = SUBSET_LOOKS[side]
        lines += _dot(dot, digits, Look(color, "-", marker, 2.0), row + (0.64 if side == "in" else 0.84))
    for row, (name, each) in enumerate(known.items()):
        labels.append(Label(fitted(name, 34), 0.01, row + 0.26))
        labels.append(
            Label(" → ".join(digits.text(each[side].value) for side in ("in", "shifted")), 0.99, row + 0.26, "end")
        )
    legend = [Entry(text, Look(SUBSET_LOOKS[side][0], "-", SUBSET_LOOKS[side][2], 2.0), hollow=side == "shifted")
              for side, text in (("in", "in-domain"), ("shifted", "shifted"))]  # fmt: skip
    return svg(Drawing((_panel(metric, digits, (low, high), lines, labels, len(known)),), tuple(legend)), "sides")


def _dot(dot: Dot, digits: Digits, look: Look, height: float) -> Iterator[Line]:
    if finite(dot.low) and finite(dot.high):
        yield Line((dot.low * digits.factor, dot.high * digits.factor), (height, height), look)
    yield Line((dot.score * digits.factor,), (height,), look, marks=None, hollow=dot.hollow)


def _panel(
    metric: Metric, digits: Digits, ends: tuple[float, float], lines: list[Line], labels: list[Label], rows: int
) -> Panel:  # fmt: skip
    better = "lower" if metric.better == "min" else "higher"
    title = f"{metric.title}{f' ({digits.unit})' if digits.unit else ''}, {better} is better"
    return Panel(
        "", Axis(title, *ends), Axis("", float(rows), 0.0, ticked=False), tuple(lines),
        labels=tuple(labels), width=WIDTH, height=ROW * rows + 52,
    )  # fmt: skip
