"""Pictures of scores: systems under shift, slices, and the parts of an R-AUC."""

from __future__ import annotations

import math
import statistics
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from shiftbench.report.content import Report
from shiftbench.report.curve_figures import bracketed, span, subset_entries, system_entries
from shiftbench.report.digits import Digits, count_text, metric_digits
from shiftbench.report.drawing import Axis, Bar, Drawing, Entry, Label, Line, Panel, text_width
from shiftbench.report.grids.cells import ROLES, heading
from shiftbench.report.grids.slices import part_digits, part_names, slice_digits, worst_first
from shiftbench.report.style import GREY, GRID, INK, SUBSET_LOOKS, Look, fitted, labels, looks
from shiftbench.report.view import answered, finite, headline_metric, headline_scores, lead, too_few, worded
from shiftbench.scores.metric import Metric
from shiftbench.scores.score import Score, Slice

WIDTH = 360.0  # pixels of a panel with a row for each system or group
TEXT, LANE, BELOW = 18.0, 7.5, 4.0  # pixels of a row: its name, each line of marks below it, and what is free then
WIDE_SPAN = 6  # ratio of the largest to the smallest value from which an axis is logarithmic
MOST_SLICES = 20
MOST_SLICE_SYSTEMS = 3
ADDED, SUBTRACTED = "#D55E00", "#0072B2"

Placed = dict[tuple[str, str], Score]  # (system, subset)


def summary(report: Report, split: str, *, only: Collection[str] = ()) -> Drawing | None:
    """The headline error of every system, in-domain and shifted, sorted by the latter; a line marks the leader
    among others.

    only: the systems to draw; all of them by default.
    """
    metric = headline_metric(report)
    if metric is None:
        return None
    scores: Placed = {
        (system, subset): score
        for (system, where, subset, name), score in headline_scores(report).items()
        if (where, name) == (split, metric.name) and finite(score.value) and (not only or system in only)
    }
    if not scores:
        return None
    subsets = [subset for subset in ("in", "shifted") if any(key[1] == subset for key in scores)] or ["full"]
    names = _sorted(report, scores, subsets, metric)
    digits, front, texts = metric_digits(report, metric, split), lead(report), labels(report)
    lines: list[Line] = []
    words: list[RowText] = []
    for row, name in enumerate(names):
        mine = [(subset, scores[name, subset]) for subset in subsets if (name, subset) in scores]
        for subset, score in mine:
            color, _, marker = SUBSET_LOOKS[subset]
            ends = [end * digits.factor for end in _ends(score.value, score.low, score.high, score.std)]
            height = row + _lane(subsets.index(subset), len(subsets))
            lines += _dot(ends, height, Look(color, "-", marker, 2.0), hollow=subset == "shifted")
        values = " → ".join(digits.cell(score.value)[0] for _, score in mine)
        words.append(RowText(*_row_name(report, name, split), values))
    legend = [
        Entry(entry.text, Look(entry.look.color, "-", entry.look.marker, 2.0), hollow=subset == "shifted")
        for entry, subset in zip(subset_entries(subsets, marker=True), subsets, strict=True)
    ]
    guides: tuple[tuple[float, str], ...] = ()
    if len(names) > 1 and front is not None and (mark := scores.get((front.name, subsets[-1]))) is not None:
        guides = ((mark.value * digits.factor, ""),)
        legend.append(Entry(f"{texts[front.name]}, {subsets[-1]}", Look(GREY, ":", width=1.2)))
    across = fitted(heading(metric, digits, report), 80)
    panel = _rows(across, lines, words, len(subsets), linear=finite(metric.most))
    return Drawing((replace(panel, guides=guides),), tuple(legend))


def slices(report: Report, split: str) -> Drawing | None:
    """Mean errors with intervals in the worst slices: of the leading system and of the two others best there."""
    order = [entry for entry in worst_first(report, split) if finite(entry.mean_error)]
    if not order:
        return None
    shown, digits, every = order[:MOST_SLICES], slice_digits(report, split), looks(report)
    found = {(entry.system, entry.column, entry.group): entry for entry in report.slices if entry.split == split}
    names = _slice_systems(found, shown)
    lines: list[Line] = []
    for row, entry in enumerate(shown):
        for place, name in enumerate(names):
            other = found.get((name, entry.column, entry.group))
            if other is not None and finite(other.mean_error):
                ends = [end * digits.factor for end in _ends(other.mean_error, other.low, other.high)]
                height = row + _lane(place, len(names))
                lines += _dot(ends, height, Look(every[name].color, "-", every[name].marker, 2.0))
    title = f"The {len(shown)} worst of {len(order)} groups" if len(order) > len(shown) else ""
    across = f"Mean {fitted(report.error_name)}{bracketed(digits.unit)}"
    legend = tuple(
        Entry(entry.text, Look(entry.look.color, "-", entry.look.marker, 2.0))
        for entry in system_entries(report, names, split)
    )
    words = [_slice_words(entry, report) for entry in shown]
    return Drawing((_rows(across, lines, words, len(names), panel=title),), legend)


def parts(report: Report, split: str) -> Drawing | None:
    """The R-AUC of each system as a waterfall of its parts, with a panel and a scale for each."""
    found = [part for part in report.parts if part.split == split and finite(part.value)]
    names = [system.name for system in report.systems if any(part.system == system.name for part in found)]
    names = [] if too_few(report, split) else names
    titles, digits = part_names(report, split), part_digits(report, split)
    shown = []
    for name in names:
        values = {part.name: part.value * digits.factor for part in found if part.system == name}
        shown.append(_waterfall(labels(report)[name], {titles[key]: values.get(key, 0.0) for key in titles}, digits))
    return Drawing(tuple(shown)) if shown else None


@dataclass(frozen=True)
class RowText:
    """The texts of a row: a name, which is shortened where room is short, what stands behind it, and at the right."""

    name: str
    role: str = ""
    values: str = ""
    group: str = ""  # of the column that is named

    @property
    def left(self) -> str:
        """The name and what stands behind it, in the room that the text at the right leaves."""
        role = f" ({self.role})" if self.role else ""
        room = max(int((WIDTH - 40 - text_width(self.values)) / 6.3), 12)
        if self.group:  # it tells rows apart: the column is shortened first
            return fitted(f"{fitted(self.name, max(room - len(self.group) - 3, 8))} = {self.group}", room)
        kept = room - len(role)
        return f"{fitted(self.name, kept)}{role}" if kept >= 12 else fitted(f"{self.name}{role}", room)


def _row_height(lanes: int) -> float:
    return TEXT + LANE * lanes + BELOW


def _lane(place: int, lanes: int) -> float:
    """How far down its row one of several lines of marks lies, as a share of the row: clear of the text above them."""
    return (TEXT + LANE * (place + 0.5)) / _row_height(lanes)


def _rows(
    title: str,
    lines: Sequence[Line],
    words: Sequence[RowText],
    lanes: int,
    *,
    panel: str = "",
    linear: bool = False,
) -> Panel:
    """A panel with a row for each name: the name and a text at the right, and below them lines (`lanes`) of marks.

    linear: never logarithmic, as for shares, which end at 1.
    """
    middle = TEXT / 2 / _row_height(lanes)
    labelled = [Label(text.left, 0.0, row + middle) for row, text in enumerate(words)]
    labelled += [Label(text.values, 1.0, row + middle, "end", GREY) for row, text in enumerate(words) if text.values]
    values = [x for line in lines for x in line.x]
    log = not linear and min(values) > 0 and max(values) > WIDE_SPAN * min(values)
    low, high = span(values, log=log)
    height = _row_height(lanes) * len(words) + 56 + 20 * bool(panel)
    return Panel(
        panel,
        Axis(title, low, high, log=log),
        Axis("", float(len(words)), 0.0, ticked=False),
        (*_between(len(words), low, high), *lines),
        labels=tuple(labelled),
        width=WIDTH,
        height=height,
    )


def _between(count: int, low: float, high: float) -> Iterator[Line]:
    """Thin lines between rows."""
    yield from (Line((low, high), (row, row), Look(GRID, "-", width=0.7)) for row in range(1, count))


def _sorted(report: Report, scores: Placed, subsets: list[str], metric: Metric) -> list[str]:
    """Systems by their score on the last of the subsets, best first; those without one last."""
    sign = 1 if metric.better == "min" else -1

    def place(name: str) -> float:
        score = scores.get((name, subsets[-1]))
        return math.inf if score is None else sign * score.value

    present = [system.name for system in report.systems if any((system.name, s) in scores for s in subsets)]
    return sorted(present, key=place)


def _row_name(report: Report, name: str, split: str) -> tuple[str, str]:
    """The name of a system, and what it is."""
    role = next(system.role for system in report.systems if system.name == name)
    title = labels(report)[name]
    title = title.removesuffix(" (single)") if role == "single" else title
    return title, f"{ROLES[role]}{answered(report, split, name)}"


def _ends(value: float, low: float | None, high: float | None, std: float | None = None) -> list[float]:
    """A value, and the ends of its interval (or value ± std), if any."""
    if finite(std):
        return [value, value - std, value + std]
    return [value, low, high] if finite(low) and finite(high) else [value]


def _dot(ends: list[float], height: float, look: Look, *, hollow: bool = False) -> Iterator[Line]:
    value, *interval = ends
    if interval:
        yield Line(interval, (height, height), look)
    yield Line((value,), (height,), look, marks=None, hollow=hollow)


def _slice_systems(found: dict[tuple[str, str, str], Slice], shown: list[Slice]) -> list[str]:
    """The leading system, then those with the lowest errors on the slices shown."""
    groups = [(entry.column, entry.group) for entry in shown]
    front = shown[0].system

    def level(name: str) -> float:
        errors = [found[name, *group].mean_error for group in groups if (name, *group) in found]
        return statistics.fmean(error for error in errors if finite(error)) if any(map(finite, errors)) else math.inf

    others = dict.fromkeys(name for name, *_ in found if name != front)
    return [front, *sorted(others, key=level)][:MOST_SLICE_SYSTEMS]


def _slice_words(entry: Slice, report: Report) -> RowText:
    share = f", {100 * entry.shifted_share:.0f} % shifted" if finite(entry.shifted_share) else ""
    size = worded(f"{count_text(entry.n)} records{share}", report)
    return RowText(entry.column, values=size, group=entry.group)


def _waterfall(title: str, values: dict[str, float], digits: Digits) -> Panel:
    """Bars that start where the previous one ended: full ones add, pale ones subtract, the last is the sum."""
    bars, labelled, lines = [], [], []
    start = 0.0
    for row, (name, value) in enumerate(values.items()):
        text = _amount(value, digits)
        if text.strip("0.,"):  # else there is nothing to see but a line
            bars.append(Bar((start, start + value), row + 0.68, ADDED if value >= 0 else SUBTRACTED, 0.4, value < 0))
        start += value
        lines.append(Line((start, start), (row + 0.68, row + 1.68), Look(GREY, "-", width=0.8)))
        labelled.append((name, f"+{text}" if value > 0 and row and text.strip("0.,") else text))
    bars.append(Bar((0.0, start), len(values) + 0.68, INK, 0.4))
    labelled.append(("R-AUC", _amount(start, digits)))
    ends = [end for bar in bars for end in bar.ends]
    low, high = min(*ends, 0.0), max(*ends, 0.0)
    rows = len(labelled)
    texts = [Label(name, 0.01, row + 0.24) for row, (name, _) in enumerate(labelled)]
    texts += [Label(text, 1.0, row + 0.24, "end") for row, (_, text) in enumerate(labelled)]
    return Panel(
        title,
        Axis(f"R-AUC{bracketed(digits.unit)}", low, high + 0.16 * (high - low or 1.0)),  # room for the numbers
        Axis("", float(rows), 0.0, ticked=False),
        tuple(lines),
        tuple(bars),
        tuple(texts),
        guides=((0.0, ""),) if low < 0 else (),
        height=32.0 * rows + 62,
    )


def _amount(value: float, digits: Digits) -> str:
    """A number in the unit of the axis already."""
    return Digits(1.0, digits.decimals).text(value)
