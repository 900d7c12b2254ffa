"""Pictures of scores: systems under shift, slices, and the parts of an R-AUC."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, Any

from shiftbench.report import canvas
from shiftbench.report.canvas import unit_text
from shiftbench.report.content import Report
from shiftbench.report.digits import count_text, metric_digits
from shiftbench.report.grid import ROLES, heading, part_digits, part_names, slice_digits, worst_first
from shiftbench.report.style import GREY, SUBSET_LOOKS, labels, looks, short
from shiftbench.report.view import answered, finite, headline_metric, headline_scores, lead
from shiftbench.scores.metric import Metric
from shiftbench.scores.score import Score, Slice

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WIDTH = 8.4  # inches
WIDE_SPAN = 6  # ratio of the largest to the smallest value from which an axis is logarithmic
MOST_SLICES = 20
MOST_SLICE_SYSTEMS = 3

Placed = dict[tuple[str, str], Score]  # (system, subset)


def summary(report: Report, split: str) -> Figure | None:
    """The headline error of every system, in-domain and shifted, sorted by the latter; a line marks the leader."""
    metric = headline_metric(report)
    if metric is None:
        return None
    scores: Placed = {
        (system, subset): score
        for (system, where, subset, name), score in headline_scores(report).items()
        if (where, name) == (split, metric.name) and finite(score.value)
    }
    if not scores:
        return None
    subsets = [subset for subset in ("in", "shifted") if any(key[1] == subset for key in scores)] or ["full"]
    names = _sorted(report, scores, subsets, metric)
    digits, front, texts = metric_digits(report, metric, split), lead(report), labels(report)
    figure, (panel,) = canvas.panels(1, width=WIDTH, height=0.42 * len(names) + 0.8, below=0.35)
    for row, name in enumerate(names):
        mine = [(subset, scores[name, subset]) for subset in subsets if (name, subset) in scores]
        for subset, score in mine:
            color, _, marker = SUBSET_LOOKS[subset]
            offset = 0.24 * (subsets.index(subset) - (len(subsets) - 1) / 2)
            ends = _ends(score.value, score.low, score.high, score.std)
            _dot(panel, [end * digits.factor for end in ends], row + offset, color, marker, subset == "shifted")
        written = " → ".join(digits.cell(score.value)[0] for _, score in mine)
        panel.annotate(written, (1.02, row), xycoords=("axes fraction", "data"), va="center", fontsize="small")
    handles = canvas.subset_handles(subsets, marker=True)
    for entry, subset in zip(handles, subsets, strict=True):
        entry.set(linestyle="-", markerfacecolor="white" if subset == "shifted" else entry.get_color())
    if front is not None and (mark := scores.get((front.name, subsets[-1]))) is not None:
        panel.axvline(mark.value * digits.factor, color=GREY, linestyle=":", linewidth=1.2)
        handles.append(canvas.handle(f"{texts[front.name]}, {subsets[-1]}", color=GREY, linestyle=":"))
    _name_rows(report, panel, names, split)
    panel.set(xlabel=short(heading(metric, digits, report), 80))
    values = [score.value * digits.factor for score in scores.values()]
    if min(values) > 0 and max(values) > WIDE_SPAN * min(values):
        canvas.log_axis(panel.xaxis, values)
    canvas.legend(figure, handles, 3)
    return figure


def slices(report: Report, split: str) -> Figure | None:
    """Mean errors with intervals in the worst slices: of the leading system and of the two others best there."""
    order = [entry for entry in worst_first(report, split) if finite(entry.mean_error)]
    if not order:
        return None
    shown, digits, every = order[:MOST_SLICES], slice_digits(report, split), looks(report)
    found = {(entry.system, entry.column, entry.group): entry for entry in report.slices if entry.split == split}
    names = _slice_systems(found, shown)
    handles = canvas.system_handles(report, names, split)
    for entry in handles:
        entry.set_linestyle("-")
    columns, below = canvas.legend_grid([entry.get_label() for entry in handles], WIDTH)
    figure, (panel,) = canvas.panels(1, width=WIDTH, height=0.4 * len(shown) + 0.8, below=below)
    for row, entry in enumerate(shown):
        for place, name in enumerate(names):
            other = found.get((name, entry.column, entry.group))
            if other is not None and finite(other.mean_error):
                ends = [end * digits.factor for end in _ends(other.mean_error, other.low, other.high)]
                offset = 0.24 * (place - (len(names) - 1) / 2)
                _dot(panel, ends, row + offset, every[name].color, every[name].marker, False)
    panel.set_yticks(range(len(shown)), [_slice_label(entry) for entry in shown], fontsize="small")
    panel.set(ylim=(len(shown) - 0.5, -0.5), xlabel=f"Mean {short(report.error_name)}{unit_text(digits.unit)}")
    if len(order) > len(shown):
        panel.set_title(f"The {len(shown)} worst of {len(order)} groups", loc="left")
    canvas.legend(figure, handles, columns)
    return figure


def parts(report: Report, split: str) -> Figure | None:
    """The R-AUC of each system as a waterfall of its parts; one panel each, on a common scale if all stay visible."""
    found = [part for part in report.parts if part.split == split and finite(part.value)]
    names = [system.name for system in report.systems if any(part.system == system.name for part in found)]
    if not names:
        return None
    titles, digits = part_names(report, split), part_digits(report, split)
    figure, axes = canvas.panels(len(names), width=3.4, height=0.27 * len(titles) + 1.0, below=0)
    for place, (panel, name) in enumerate(zip(axes, names, strict=True)):
        values = {part.name: part.value * digits.factor for part in found if part.system == name}
        _waterfall(panel, [values.get(key, 0.0) for key in titles])
        first = place % canvas.MOST_ACROSS == 0
        ticks = [*titles.values(), "R-AUC"] if first else [""] * (len(titles) + 1)
        panel.set_yticks(range(len(ticks)), ticks, fontsize="small")
        panel.tick_params(axis="y", length=0)
        panel.locator_params(axis="x", nbins=5)
        panel.grid(visible=False, axis="y")
        panel.set(title=labels(report)[name], xlabel=f"R-AUC{unit_text(digits.unit)}")
    limits = [panel.get_xlim() for panel in axes]
    if max(high for _, high in limits) <= 8.0 * min(high for _, high in limits):  # else one flattens the others
        for panel in axes:
            panel.set_xlim(min(low for low, _ in limits), max(high for _, high in limits))
    return figure


def _sorted(report: Report, scores: Placed, subsets: list[str], metric: Metric) -> list[str]:
    """Systems by their score on the last of the subsets, best first; those without one last."""
    sign = 1 if metric.better == "min" else -1

    def place(name: str) -> float:
        score = scores.get((name, subsets[-1]))
        return math.inf if score is None else sign * score.value

    present = [system.name for system in report.systems if any((system.name, s) in scores for s in subsets)]
    return sorted(present, key=place)


def _name_rows(report: Report, panel: Any, names: list[str], split: str) -> None:
    texts, roles = labels(report), {system.name: system.role for system in report.systems}
    ticks = []
    for name in names:
        title = texts[name].removesuffix(" (single)") if roles[name] == "single" else texts[name]
        ticks.append(f"{title}\n({ROLES[roles[name]]}{answered(report, split, name)})")
    panel.set_yticks(range(len(names)), ticks, fontsize="small")
    panel.set_ylim(len(names) - 0.5, -0.5)


def _ends(value: float, low: float | None, high: float | None, std: float | None = None) -> list[float]:
    """A value, and the ends of its interval (or value ± std), if any."""
    if finite(std):
        return [value, value - std, value + std]
    return [value, low, high] if finite(low) and finite(high) else [value]


def _dot(panel: Any, ends: list[float], row: float, color: str, marker: str, hollow: bool) -> None:
    value, *interval = ends
    if interval:
        panel.plot(interval, (row, row), color=color, linewidth=1.8, solid_capstyle="butt")
    panel.plot(value, row, marker=marker, color=color, markerfacecolor="white" if hollow else color, markersize=6)


def _slice_systems(found: dict[tuple[str, str, str], Slice], shown: list[Slice]) -> list[str]:
    """The leading system, then those with the lowest errors on the slices shown."""
    groups = [(entry.column, entry.group) for entry in shown]
    front = shown[0].system

    def level(name: str) -> float:
        errors = [found[name, *group].mean_error for group in groups if (name, *group) in found]
        return statistics.fmean(error for error in errors if finite(error)) if any(map(finite, errors)) else math.inf

    others = dict.fromkeys(name for name, *_ in found if name != front)
    return [front, *sorted(others, key=level)][:MOST_SLICE_SYSTEMS]


def _slice_label(entry: Slice) -> str:
    share = f", {100 * entry.shifted_share:.0f} % shifted" if finite(entry.shifted_share) else ""
    return f"{short(entry.column, 20)} = {short(entry.group, 26)}\n{count_text(entry.n)} records{share}"


def _waterfall(panel: Any, values: list[float]) -> None:
    """Bars that start where the previous one ended: plain ones add, hatched ones subtract, the last is the sum."""
    start = 0.0
    for row, value in enumerate(values):
        look = {"color": "#D55E00"} if value >= 0 else {"color": "#56B4E9", "hatch": "///", "edgecolor": "white"}
        panel.barh(row, value, left=start, height=0.6, **look)
        panel.plot((start + value,) * 2, (row - 0.3, row + 1.3), color=GREY, linewidth=0.8)
        start += value
    panel.barh(len(values), start, height=0.6, color="#333333")
    panel.axvline(0, color="black", linewidth=0.8)
    panel.use_sticky_edges = False
    panel.margins(x=0.05)
    panel.set_ylim(len(values) + 0.5, -0.5)
