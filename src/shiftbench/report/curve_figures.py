"""Pictures of curves: retention, densities, ROC, calibration, error by uncertainty."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from shiftbench.report.content import Report
from shiftbench.report.digits import metric_digits
from shiftbench.report.drawing import Axis, Drawing, Entry, Line, Panel
from shiftbench.report.style import GREY, SUBSET_LOOKS, Dash, Look, fitted, labels, looks, sentence
from shiftbench.report.view import (
    answered,
    finite,
    headline_scores,
    lead,
    measure_title,
    metric_unit,
    set_retention,
    too_few,
    worded,
)
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import SUBSETS, Curve

OPERATING_POINT, RING = 0.95, 0.05  # where a ring marks a retention curve, and the share around it
MOST_TOGETHER = 3  # systems whose calibration curves are still distinguishable in one panel
CALIBRATION = {"coverage": ("Nominal coverage", "Observed coverage"), "reliability": ("Confidence", "Accuracy")}
ORDERS: dict[str, Dash] = {"random": ":", "optimal": (0, (4, 1.5))}
# Kinds of curves over records; others show the parts of each record, such as voxels.
OF_RECORDS = (
    "error_retention", "f1_retention", "density", "roc", "coverage", "reliability", "error_by_uncertainty",
)  # fmt: skip
CHANCE = Line((0, 1), (0, 1), Look(GREY, ":", width=1.0))
MARGIN = 0.04  # of the range of an axis, around its values


def retention(report: Report, split: str, *, kind: str, only: Collection[str] = ()) -> Drawing | None:
    """Retention curves of all systems (or `only` some) for errors, F1 or a score of a set, one panel per subset.

    The random and optimal orders drawn beside them are those of the leading system's errors.
    """
    curves = [curve for curve in _curves(report, split, kind) if not only or curve.system in only]
    names = _systems([curve for curve in curves if curve.order == "uncertainty"])
    if not names:
        return None
    subsets, front, texts = _subsets(curves), lead(report), labels(report)
    reference = front.name if front is not None and front.name in names else names[0]
    orders = [order for order in ORDERS if any(curve.order == order for curve in curves)]
    # Each system's errors have orders of their own; the legend tells whose are drawn.
    of = f" of the errors of {texts[reference]}" if len(names) > 1 else ""
    titles = {order: f"{order.capitalize()} order{of}" for order in orders}
    shown = []
    for subset in subsets:
        here = [curve for curve in curves if curve.subset == subset]
        lines = [
            Line(curve.x, curve.y, Look(GREY, ORDERS[curve.order], width=1.2), titles[curve.order])
            for curve in here
            if curve.system == reference and curve.order in orders
        ]
        own = [curve for curve in here if curve.order == "uncertainty"]
        lines += [line for curve in own for line in _retained(report, curve, names)]
        up = Axis(_retention_title(report, kind), 0.0, _top(here, reference))
        across = Axis("Retention fraction", 0.0, 1.01)
        shown.append(Panel(SUBSETS[subset], across, up, tuple(lines), guides=((OPERATING_POINT, "95 %"),)))
    legend = [*system_entries(report, names, split)]
    legend += [Entry(title, Look(GREY, ORDERS[order], width=1.2)) for order, title in titles.items()]
    return Drawing(tuple(shown), tuple(legend))


def _retention_title(report: Report, kind: str) -> str:
    if (metric := set_retention(kind)) is not None:
        unit = "" if metric.scale == "percent" else metric_unit(metric, report)  # curves hold shares as fractions
        return f"{fitted(metric.title)}{bracketed(unit)}"
    if kind != "error_retention":
        return "F1 of acceptable answers"
    return f"{sentence(fitted(report.error_name))}{bracketed(report.error_unit)}{worded(', records kept', report)}"


def _top(curves: list[Curve], reference: str) -> float:
    """The upper limit of a panel, chosen for the leading system; curves of far worse systems are cut off."""
    ends = {curve.system: max(curve.y) for curve in curves if curve.order == "uncertainty" and curve.y}
    near = [end for end in ends.values() if end <= 4.0 * ends.get(reference, 0.0)]
    cut = near and max(near) > 0 and len(near) < len(ends)
    return 1.08 * max(near) if cut else _above(curves)


def _retained(report: Report, curve: Curve, names: list[str]) -> list[Line]:
    """A retention curve, and a ring where 95 % are kept."""
    line = _line(report, curve, names)
    if line.marks:  # none on the ring, or beside it
        line = replace(line, marks=[place for place in line.marks if abs(curve.x[place] - OPERATING_POINT) > RING])
    height = float(np.interp(OPERATING_POINT, curve.x, curve.y))
    return [line, Line((OPERATING_POINT,), (height,), Look(line.look.color, "", "o"), marks=None, hollow=True)]


def density(report: Report, split: str) -> Drawing | None:
    """The distribution of each system's headline uncertainty, in-domain and shifted; one panel per system."""
    curves = [curve for curve in _curves(report, split, "density") if curve.subset != "full"]
    shown = []
    for name in _systems(curves):
        mine = [curve for curve in curves if curve.system == name]
        lines = tuple(
            Line(curve.x, curve.y, Look(color, dash), SUBSETS[curve.subset], area=0.2 * (curve.subset == "in"))
            for curve in mine
            for color, dash, _ in [SUBSET_LOOKS[curve.subset]]
        )
        up = Axis("Density", 0.0, _above(mine), ticked=False)
        shown.append(Panel(labels(report)[name], _across(_measure(report, mine[0]), mine), up, lines, height=220))
    return Drawing(tuple(shown), subset_entries(_subsets(curves), marker=False)) if shown else None


def roc(report: Report, split: str) -> Drawing | None:
    """Receiver operating characteristic of the headline uncertainties as detectors of shifted records."""
    curves = _curves(report, split, "roc")
    if not curves:
        return None
    names, scores = _systems(curves), headline_scores(report)
    digits = metric_digits(report, METRICS["roc_auc"], split)
    # On top, so that it is seen where a constant uncertainty lies on it.
    lines = (*(_line(report, curve, names) for curve in curves), CHANCE)
    axes = Axis("False positive rate (in-domain)", 0.0, 1.0), Axis("True positive rate (shifted)", 0.0, 1.0)
    found = [scores.get((name, split, "full", "roc_auc")) for name in names]
    legend = tuple(
        replace(entry, text=f"{entry.text}: {digits.cell(score.value)[0]} %") if score is not None else entry
        for entry, score in zip(system_entries(report, names, split), found, strict=True)
    )
    return Drawing((Panel("", *axes, lines, height=340, width=380),), legend)


def calibration(report: Report, split: str, *, kind: str) -> Drawing | None:
    """Observed against nominal coverage of predictive intervals, or accuracy against confidence."""
    curves = _curves(report, split, kind)
    names, subsets = _systems(curves), _subsets(curves)
    if not names:
        return None
    if len(names) > MOST_TOGETHER:
        return _calibration_apart(report, split, curves, kind=kind)
    shown = [
        _square(SUBSETS[subset], kind, [_line(report, curve, names) for curve in curves if curve.subset == subset])
        for subset in subsets
    ]
    return Drawing(tuple(shown), system_entries(report, names, split))


def _calibration_apart(report: Report, split: str, curves: list[Curve], *, kind: str) -> Drawing:
    """Calibration of many systems, whose lines would overlap: one panel per system, in-domain and shifted."""
    curves = [curve for curve in curves if curve.subset != "full"] or curves
    shown = []
    for name in _systems(curves):
        lines = [_subset_line(curve) for curve in curves if curve.system == name]
        shown.append(_square(labels(report)[name] + answered(report, split, name), kind, lines))
    return Drawing(tuple(shown), subset_entries(_subsets(curves), marker=True))


def _square(title: str, kind: str, lines: Sequence[Line]) -> Panel:
    across, up = (Axis(name, 0.0, 1.0) for name in CALIBRATION[kind])
    return Panel(title, across, up, (CHANCE, *lines), width=330, height=330)


def error_by_uncertainty(report: Report, split: str) -> Drawing | None:
    """Mean error of records of similar uncertainty, in-domain and shifted; one panel per system."""
    every = _curves(report, split, "error_by_uncertainty")
    curves = [curve for curve in every if curve.subset != "full"] or every
    title = f"Mean {fitted(report.error_name)}{bracketed(report.error_unit)}"
    shown = []
    for name in _systems(curves):
        mine = [curve for curve in curves if curve.system == name]
        lines = tuple(replace(_subset_line(curve), marks=None) for curve in mine)
        across = _across(f"{_measure(report, mine[0])}, mean of a bin", mine)
        shown.append(Panel(labels(report)[name], across, Axis(title, 0.0, _above(mine)), lines, height=230))
    return Drawing(tuple(shown), subset_entries(_subsets(curves), marker=True)) if shown else None


def system_entries(report: Report, names: Sequence[str], split: str) -> tuple[Entry, ...]:
    """Legend entries of systems; a system with gaps has its number of records in the split."""
    texts, every = labels(report), looks(report)
    return tuple(Entry(texts[name] + answered(report, split, name), every[name]) for name in names)


def subset_entries(subsets: Sequence[str], *, marker: bool) -> tuple[Entry, ...]:
    """Legend entries of subsets."""
    return tuple(
        Entry(SUBSETS[subset], Look(color, dash, shape if marker else ""))
        for subset in subsets
        for color, dash, shape in [SUBSET_LOOKS[subset]]
    )


def bracketed(unit: str) -> str:
    """A unit in brackets, or nothing."""
    return f" ({fitted(unit)})" if unit else ""


def span(values: Iterable[float], *, log: bool) -> tuple[float, float]:
    """The ends of an axis around values, with a margin; they differ."""
    found = [value for value in values if finite(value)]
    low, high = min(found), max(found)
    if log:
        margin = (high / low) ** MARGIN if high > low else 1.5
        return low / margin, high * margin
    margin = MARGIN * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def _across(title: str, curves: list[Curve]) -> Axis:
    """An axis for the x of curves: logarithmic if one requests it and all values allow it."""
    values = [x for curve in curves for x in curve.x if finite(x)]
    log = any(curve.log_x for curve in curves) and min(values) > 0
    return Axis(title, *span(values, log=log), log=log)


def _above(curves: Sequence[Curve]) -> float:
    """The upper end of an axis that begins at 0."""
    return (1 + MARGIN) * max(y for curve in curves for y in curve.y if finite(y)) or 1.0


def _curves(report: Report, split: str, kind: str) -> list[Curve]:
    """The curves of each system's own measure that have any point, in the order of the systems; none of too few
    records."""
    order = [system.name for system in report.systems]
    few = {*too_few(report, split)} if kind in OF_RECORDS or set_retention(kind) else set()
    if kind in ("roc", "density") and few:  # they compare both sides
        return []
    found = [
        curve
        for curve in report.curves
        if (curve.split, curve.kind) == (split, kind)
        and curve.measure in ("", report.measure_of(curve.system))
        and curve.system in order
        and curve.subset not in few
        and any(finite(x) and finite(y) for x, y in zip(curve.x, curve.y, strict=True))
    ]
    return sorted(found, key=lambda curve: order.index(curve.system))


def _systems(curves: list[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.system for curve in curves))


def _subsets(curves: list[Curve]) -> list[str]:
    return [subset for subset in SUBSETS if any(curve.subset == subset for curve in curves)]


def _measure(report: Report, curve: Curve) -> str:
    name = curve.measure or report.measure_of(curve.system) or "uncertainty"
    square, plain = name.endswith("_variance"), name == "interval_width"  # in the unit of the target, squared or not
    unit = bracketed(report.error_unit if square else report.target_unit if plain else "")
    return f"{sentence(fitted(measure_title(name)))}{unit}"


def _line(report: Report, curve: Curve, names: list[str]) -> Line:
    look, place = looks(report)[curve.system], names.index(curve.system)
    return Line(curve.x, curve.y, look, labels(report)[curve.system], _marked(len(curve.x), place))


def _subset_line(curve: Curve) -> Line:
    color, dash, shape = SUBSET_LOOKS[curve.subset]
    marks = _marked(len(curve.x), list(SUBSETS).index(curve.subset))
    return Line(curve.x, curve.y, Look(color, dash, shape), SUBSETS[curve.subset], marks)


def _marked(count: int, place: int) -> Sequence[int] | None:
    """Which points of a line have a marker: at other places on each line, so that coinciding lines remain visible."""
    if count < 25:
        return None
    gap = math.ceil(count / 5)
    return range(gap // 2 + (gap * place // 7) % gap, count, gap)
