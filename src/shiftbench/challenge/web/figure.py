"""The picture of a leaderboard: scores with their intervals, one row an entry, as SVG made on the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from shiftbench.challenge.store.records import Row
from shiftbench.challenge.web import numbers
from shiftbench.challenge.web.seen import Compared, FinalRow
from shiftbench.report.curve_figures import span
from shiftbench.report.digits import Digits
from shiftbench.report.drawing import Axis, Drawing, Entry, Label, Line, Panel
from shiftbench.report.style import GREY, GRID, Look, fitted
from shiftbench.report.svg import svg
from shiftbench.report.view import finite
from shiftbench.scores.metric import Metric

MOST = 14  # entries
ROW, WIDTH = 34.0, 420.0  # pixels
TEAM, REFERENCE = Look("#0072B2", "-", "o", 2.0), Look(GREY, "-", "D", 2.0)


class Dot(NamedTuple):
    """One entry of the picture."""

    name: str
    score: float
    low: float | None
    high: float | None
    reference: bool


def board(metric: Metric, rows: Sequence[Row]) -> str:
    """The best entries of a leaderboard and all of its references that fit beside them; "" without any."""
    return _drawn(metric, [Dot(row.team, row.score, row.low, row.high, row.reference) for row in rows])


def final(metric: Metric, rows: Sequence[FinalRow]) -> str:
    """The entries of a final ranking."""
    scored = [(row, row.score) for row in rows if row.score is not None]
    return _drawn(metric, [Dot(row.team, score, row.low, row.high, row.reference) for row, score in scored])


def entries(metric: Metric, found: Sequence[Compared]) -> str:
    """Entries that are compared."""
    return _drawn(metric, [Dot(each.team, each.score, each.low, each.high, each.reference) for each in found])


def _drawn(metric: Metric, dots: Sequence[Dot]) -> str:
    known = [dot for dot in dots if finite(dot.score)]
    references = [dot for dot in known if dot.reference][: MOST // 2]
    teams = [dot for dot in known if not dot.reference][: MOST - len(references)]
    shown = [dot for dot in known if dot in teams or dot in references]
    if not shown:
        return ""
    panel = _panel(metric, shown, numbers.of(metric, shown))
    legend = [Entry("teams", TEAM)] * bool(teams) + [Entry("reference", REFERENCE, hollow=True)] * bool(references)
    return svg(Drawing((panel,), tuple(legend) if len(legend) > 1 else ()), "board")


def _panel(metric: Metric, dots: Sequence[Dot], digits: Digits) -> Panel:
    ends = [end for dot in dots for end in (dot.score, dot.low, dot.high) if finite(end)]
    low, high = span([end * digits.factor for end in ends], log=False)
    lines = [Line((low, high), (row, row), Look(GRID, "-", width=0.7)) for row in range(1, len(dots))]
    labels = []
    for row, dot in enumerate(dots):
        look, height = REFERENCE if dot.reference else TEAM, row + 0.72
        if finite(dot.low) and finite(dot.high):
            lines.append(Line((dot.low * digits.factor, dot.high * digits.factor), (height, height), look))
        lines.append(Line((dot.score * digits.factor,), (height,), look, marks=None, hollow=dot.reference))
        labels.append(Label(fitted(dot.name, 34), 0.01, row + 0.3))
        labels.append(Label(digits.text(dot.score), 0.99, row + 0.3, "end"))
    better = "lower" if metric.better == "min" else "higher"
    title = f"{metric.title}{f' ({digits.unit})' if digits.unit else ''}, {better} is better"
    return Panel(
        "", Axis(title, low, high), Axis("", float(len(dots)), 0.0, ticked=False), tuple(lines),
        labels=tuple(labels), width=WIDTH, height=ROW * len(dots) + 52,
    )  # fmt: skip
