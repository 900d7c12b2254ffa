"""Small pictures of the features that moved most, in-domain beside shifted."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from itertools import pairwise

from shiftbench.report.content import Report
from shiftbench.report.curve_figures import subset_entries
from shiftbench.report.digits import Digits
from shiftbench.report.drawing import Axis, Bar, Drawing, Label, Line, Panel
from shiftbench.report.style import SUBSET_LOOKS, Look, fitted
from shiftbench.report.view import worded
from shiftbench.scores.score import SUBSETS, FeatureShift

WIDTH, HEIGHT = 260.0, 150.0  # pixels of a panel
ROW = 30.0  # of a category: its name, and two bars below it
DAY = 86_400


def moved(report: Report, split: str) -> Drawing | None:
    """A panel for each feature: numbers in the order of their distance, then categories, the tallest last, so that few
    leave a hole below them."""
    found = [each for each in report.shifts if each.split == split and _drawable(each)]
    numbers = [_numbers(each, report) for each in found if not each.labels]
    categories = [_categories(each, report) for each in found if each.labels]
    panels = (*numbers, *sorted(categories, key=lambda panel: panel.height))
    return Drawing(panels, subset_entries(["in", "shifted"], marker=False)) if panels else None


def _drawable(each: FeatureShift) -> bool:
    """Whether the bins fit together and are finite, whoever wrote the report."""
    bins = len(each.labels) or len(each.edges) - 1
    fits = bins > 0 and len(each.shares_in) == len(each.shares_shifted) == bins
    finite = all(map(math.isfinite, (*each.shares_in, *each.shares_shifted, *each.edges)))
    return fits and finite and all(low < high for low, high in pairwise(each.edges))


def _title(each: FeatureShift) -> str:
    return f"{fitted(each.feature, 28)}: {Digits(1.0, 2).text(each.distance)}"


def _numbers(each: FeatureShift, report: Report) -> Panel:
    """Outlines of two histograms."""
    lines = tuple(_outline(each, subset) for subset in ("in", "shifted"))
    top = 1.1 * max(*each.shares_in, *each.shares_shifted, 1e-9)
    low, high = each.edges[0], each.edges[-1]
    across = Axis("Value", low, high)
    if each.kind == "date":
        across = Axis(f"{_day(low)} to {_day(high)}", low, high, ticked=False)
    up = Axis(worded("Records", report), 0.0, top, ticked=False)
    return Panel(_title(each), across, up, lines, width=WIDTH, height=HEIGHT)


def _outline(each: FeatureShift, subset: str) -> Line:
    shares = each.shares_in if subset == "in" else each.shares_shifted
    color, dash, _ = SUBSET_LOOKS[subset]
    x = [edge for edge in each.edges for _ in range(2)]
    y = [0.0, *(share for share in shares for _ in range(2)), 0.0]
    return Line(x, y, Look(color, dash), SUBSETS[subset], area=0.2 * (subset == "in"))


def _day(value: float) -> str:
    try:
        return f"{datetime.fromtimestamp(value * DAY, tz=UTC):%Y-%m-%d}"
    except (OverflowError, OSError, ValueError):  # no date that a calendar has
        return f"day {value:g}"


def _categories(each: FeatureShift, report: Report) -> Panel:
    """Two bars for each category, below its name."""
    bars, labels = [], []
    for row, name in enumerate(each.labels):
        labels.append(Label(fitted(name, 30), 0.0, row + 0.28))
        for place, (subset, shares) in enumerate((("in", each.shares_in), ("shifted", each.shares_shifted))):
            if shares[row] > 0:  # no mark for none
                bars.append(Bar((0.0, shares[row]), row + 0.64 + 0.18 * place, SUBSET_LOOKS[subset][0], 0.14))
    top = 1.05 * max(*each.shares_in, *each.shares_shifted, 1e-9)
    rows = Axis("", float(len(each.labels)), 0.0, ticked=False)
    height = ROW * len(each.labels) + 50
    return Panel(
        _title(each),
        Axis(worded("Share of records", report), 0.0, top),
        rows,
        bars=tuple(bars),
        labels=tuple(labels),
        width=WIDTH,
        height=height,
    )
