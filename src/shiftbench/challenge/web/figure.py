"""The picture of a leaderboard: scores with their intervals, one row an entry, as SVG made on the server."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from shiftbench.challenge.store.records import Row
from shiftbench.challenge.web import numbers
from shiftbench.challenge.web.seen import Compared, FinalRow
from shiftbench.report.curve_figures import span
from shiftbench.report.digits import Digits
from shiftbench.report.drawing import Axis, Drawing, Entry, Label, Line, Panel
from shiftbench.report.style import GREY, GRID, SUBSET_LOOKS, Look, fitted
from shiftbench.report.svg import svg
from shiftbench.report.view import finite
from shiftbench.scores.metric import Metric
from shiftbench.scores.score import Score

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


def sides(metric: Metric, found: Mapping[str, Mapping[str, Score]]) -> str:
    """Scores in-domain and on shifted records by entry, the one above the other; "" without any."""
    known = {name: each for name, each in found.items() if len(each) == 2}
    if not known:
        return ""
    dots = {
        (row, side): Dot(name, score.value, score.low, score.high, side == "shifted")
        for row, (name, each) in enumerate(known.items())
        for side, score in sorted(each.items())
    }
    digits = numbers.of(metric, dots.values())
    low, high = span([x * digits.factor for x in _ends([*dots.values()])], log=False)
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
    panel = _rows(metric, shown, numbers.of(metric, shown))
    legend = [Entry("teams", TEAM)] * bool(teams) + [Entry("reference", REFERENCE, hollow=True)] * bool(references)
    return svg(Drawing((panel,), tuple(legend) if len(legend) > 1 else ()), "board")


def _ends(dots: Sequence[Dot]) -> list[float]:
    return [end for dot in dots for end in (dot.score, dot.low, dot.high) if finite(end)]


def _dot(dot: Dot, digits: Digits, look: Look, height: float) -> Iterator[Line]:
    if finite(dot.low) and finite(dot.high):
        yield Line((dot.low * digits.factor, dot.high * digits.factor), (height, height), look)
    yield Line((dot.score * digits.factor,), (height,), look, marks=None, hollow=dot.reference)


def _rows(metric: Metric, dots: Sequence[Dot], digits: Digits) -> Panel:
    low, high = span([end * digits.factor for end in _ends(dots)], log=False)
    lines = [Line((low, high), (row, row), Look(GRID, "-", width=0.7)) for row in range(1, len(dots))]
    labels = []
    for row, dot in enumerate(dots):
        lines += _dot(dot, digits, REFERENCE if dot.reference else TEAM, row + 0.72)
        labels.append(Label(fitted(dot.name, 34), 0.01, row + 0.3))
        labels.append(Label(digits.text(dot.score), 0.99, row + 0.3, "end"))
    return _panel(metric, digits, (low, high), lines, labels, len(dots))


def _panel(
    metric: Metric, digits: Digits, ends: tuple[float, float], lines: list[Line], labels: list[Label], rows: int
) -> Panel:  # fmt: skip
    better = "lower" if metric.better == "min" else "higher"
    title = f"{metric.title}{f' ({digits.unit})' if digits.unit else ''}, {better} is better"
    return Panel(
        "", Axis(title, *ends), Axis("", float(rows), 0.0, ticked=False), tuple(lines),
        labels=tuple(labels), width=WIDTH, height=ROW * rows + 52,
    )  # fmt: skip
