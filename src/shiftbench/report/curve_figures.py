"""Pictures of curves: retention, densities, ROC, calibration, error by uncertainty."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench.report import canvas
from shiftbench.report.canvas import unit_text
from shiftbench.report.content import Report
from shiftbench.report.digits import metric_digits
from shiftbench.report.style import GREY, SUBSET_LOOKS, Look, labels, looks, sentence, short
from shiftbench.report.view import answered, finite, headline_scores, lead, measure_title, metric_unit, set_retention
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import SUBSETS, Curve

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OPERATING_POINT = 0.95
PANEL = 3.2  # inches
MOST_TOGETHER = 3  # systems whose calibration curves are still distinguishable in one panel
CALIBRATION = {"coverage": ("Nominal coverage", "Observed coverage"), "reliability": ("Confidence", "Accuracy")}
ORDERS = {"random": ":", "optimal": (0, (4, 1.5))}


def retention(report: Report, split: str, *, kind: str) -> Figure | None:
    """Retention curves of all systems for errors, F1 or a score of a set, one panel per subset.

    The random and optimal orders drawn beside them are those of the leading system's errors.
    """
    curves = _curves(report, split, kind)
    names = _systems([curve for curve in curves if curve.order == "uncertainty"])
    if not names:
        return None
    subsets, front, texts = _subsets(curves), lead(report), labels(report)
    reference = front.name if front is not None and front.name in names else names[0]
    orders = [order for order in ORDERS if any(curve.order == order for curve in curves)]
    of = f" ({texts[reference]})" if len(names) > 1 else ""
    handles = canvas.system_handles(report, names, split)
    handles += [
        canvas.handle(f"{order.capitalize()} order{of}", color=GREY, linestyle=ORDERS[order]) for order in orders
    ]
    columns, below = canvas.legend_grid([entry.get_label() for entry in handles], PANEL * len(subsets))
    figure, axes = canvas.panels(len(subsets), width=PANEL, height=2.9, below=below)
    for panel, subset in zip(axes, subsets, strict=True):
        here = [curve for curve in curves if curve.subset == subset]
        for curve in here:
            if curve.system == reference and curve.order in orders:
                panel.plot(curve.x, curve.y, color=GREY, linestyle=ORDERS[curve.order], linewidth=1.2)
        _retention_lines(report, panel, [curve for curve in here if curve.order == "uncertainty"], names)
        panel.set(title=SUBSETS[subset], xlabel="Retention fraction", xlim=(0, 1.01), ylim=(0, _top(here, reference)))
    error = f"{sentence(short(report.error_name))}{unit_text(report.error_unit)}\nof the kept, over all records"
    if (metric := set_retention(kind)) is not None:
        unit = "" if metric.scale == "percent" else metric_unit(metric, report)  # curves hold shares as fractions
        axes[0].set_ylabel(f"{short(metric.title)}{unit_text(unit)}")
    else:
        axes[0].set_ylabel(error if kind == "error_retention" else "F1 of acceptable answers")
    canvas.legend(figure, handles, columns)
    return figure


def _top(curves: list[Curve], reference: str) -> float | None:
    """The upper limit of a panel, chosen for the leading system; curves of far worse systems are cut off."""
    ends = {curve.system: max(curve.y) for curve in curves if curve.order == "uncertainty" and curve.y}
    near = [end for end in ends.values() if end <= 4.0 * ends.get(reference, 0.0)]
    return 1.08 * max(near) if near and max(near) > 0 and len(near) < len(ends) else None


def density(report: Report, split: str) -> Figure | None:
    """The distribution of each system's headline uncertainty, in-domain and shifted; one panel per system."""
    curves = [curve for curve in _curves(report, split, "density") if curve.subset != "full"]
    names = _systems(curves)
    if not names:
        return None
    figure, axes = canvas.panels(len(names), width=PANEL, height=2.4, below=0.35)
    for panel, name in zip(axes, names, strict=True):
        mine = [curve for curve in curves if curve.system == name]
        for curve in mine:
            _filled(panel, curve)
        panel.set(title=labels(report)[name], xlabel=_measure(report, mine[0]), ylim=(0, None), yticks=[])
        _scale(panel, mine)
    figure.supylabel("Density", fontsize="medium")
    canvas.legend(figure, canvas.subset_handles(_subsets(curves), marker=False), 2)
    return figure


def roc(report: Report, split: str) -> Figure | None:
    """Receiver operating characteristic of the headline uncertainties as detectors of shifted records."""
    curves = _curves(report, split, "roc")
    if not curves:
        return None
    names, scores = _systems(curves), headline_scores(report)
    digits = metric_digits(report, METRICS["roc_auc"], split)
    handles = canvas.system_handles(report, names, split)
    for entry, name in zip(handles, names, strict=True):
        if (score := scores.get((name, split, "full", "roc_auc"))) is not None:
            entry.set_label(f"{entry.get_label()}: {digits.cell(score.value)[0]} %")
    longest = max(len(entry.get_label()) for entry in handles)
    figure, (panel,) = canvas.panels(1, width=4.9 + 0.075 * longest, height=4.1, below=0, square=True)
    for place, curve in enumerate(curves):
        _line(panel, curve, looks(report)[curve.system], place)
    _diagonal(panel)
    panel.set(xlabel="False positive rate (in-domain)", ylabel="True positive rate (shifted)")
    figure.legend(handles=handles, loc="outside right center", title="ROC-AUC", alignment="left")
    return figure


def calibration(report: Report, split: str, *, kind: str) -> Figure | None:
    """Observed against nominal coverage of predictive intervals, or accuracy against confidence."""
    curves = _curves(report, split, kind)
    names, subsets = _systems(curves), _subsets(curves)
    if not names:
        return None
    if len(names) > MOST_TOGETHER:
        return _calibration_apart(report, split, curves, kind=kind)
    handles = canvas.system_handles(report, names, split)
    columns, below = canvas.legend_grid([entry.get_label() for entry in handles], PANEL * len(subsets))
    figure, axes = canvas.panels(len(subsets), width=PANEL, height=3.3, below=below, square=True)
    for panel, subset in zip(axes, subsets, strict=True):
        _diagonal(panel)
        for curve in curves:
            if curve.subset == subset:
                _line(panel, curve, looks(report)[curve.system], names.index(curve.system))
        panel.set(title=SUBSETS[subset], xlabel=CALIBRATION[kind][0])
    axes[0].set_ylabel(CALIBRATION[kind][1])
    canvas.legend(figure, handles, columns)
    return figure


def _calibration_apart(report: Report, split: str, curves: list[Curve], *, kind: str) -> Figure:
    """Calibration of many systems, whose lines would overlap: one panel per system, in-domain and shifted."""
    curves = [curve for curve in curves if curve.subset != "full"] or curves
    names, xlabel = _systems(curves), CALIBRATION[kind][0]
    figure, axes = canvas.panels(len(names), width=PANEL, height=3.2, below=0.35, square=True)
    for place, (panel, name) in enumerate(zip(axes, names, strict=True)):
        _diagonal(panel)
        for curve in curves:
            if curve.system == name:
                color, dash, shape = SUBSET_LOOKS[curve.subset]
                _line(panel, curve, Look(color, dash, shape), list(SUBSETS).index(curve.subset))
        title = labels(report)[name] + answered(report, split, name)
        panel.set(title=title, xlabel=xlabel if place + canvas.MOST_ACROSS >= len(names) else "")
    figure.supylabel(CALIBRATION[kind][1], fontsize="medium")
    canvas.legend(figure, canvas.subset_handles(_subsets(curves), marker=True), 3)
    return figure


def error_by_uncertainty(report: Report, split: str) -> Figure | None:
    """Mean error of records of similar uncertainty, in-domain and shifted; one panel per system."""
    every = _curves(report, split, "error_by_uncertainty")
    curves = [curve for curve in every if curve.subset != "full"] or every
    names = _systems(curves)
    if not names:
        return None
    figure, axes = canvas.panels(len(names), width=PANEL, height=2.6, below=0.35)
    for panel, name in zip(axes, names, strict=True):
        mine = [curve for curve in curves if curve.system == name]
        for curve in mine:
            color, dash, shape = SUBSET_LOOKS[curve.subset]
            panel.plot(curve.x, curve.y, color=color, linestyle=dash, marker=shape)
        xlabel = f"{_measure(report, mine[0])}, mean of a bin"
        panel.set(title=labels(report)[name], xlabel=xlabel, ylim=(0, None))
        _scale(panel, mine)
    figure.supylabel(f"Mean {short(report.error_name)}{unit_text(report.error_unit)}", fontsize="medium")
    canvas.legend(figure, canvas.subset_handles(_subsets(curves), marker=True), 3)
    return figure


def _curves(report: Report, split: str, kind: str) -> list[Curve]:
    """The curves of each system's own measure that have any point, in the order of the systems."""
    order = [system.name for system in report.systems]
    found = [
        curve
        for curve in report.curves
        if (curve.split, curve.kind) == (split, kind)
        and curve.measure in ("", report.measure_of(curve.system))
        and curve.system in order
        and any(finite(x) and finite(y) for x, y in zip(curve.x, curve.y, strict=True))
    ]
    return sorted(found, key=lambda curve: order.index(curve.system))


def _systems(curves: list[Curve]) -> list[str]:
    return list(dict.fromkeys(curve.system for curve in curves))


def _subsets(curves: list[Curve]) -> list[str]:
    return [subset for subset in SUBSETS if any(curve.subset == subset for curve in curves)]


def _measure(report: Report, curve: Curve) -> str:
    name = curve.measure or report.measure_of(curve.system) or "uncertainty"
    unit = unit_text(report.error_unit) if name.endswith("_variance") else ""  # the unit of the target, squared
    return f"{short(measure_title(name))}{unit}"


def _line(panel: Any, curve: Curve, look: Look, place: int) -> None:
    # Markers are at different positions on each line, so that coinciding lines remain visible.
    spacing = ((0.03 * place) % 0.2, 0.2) if len(curve.x) > 12 else None
    style = {"color": look.color, "linestyle": look.linestyle, "marker": look.marker, "linewidth": look.width}
    panel.plot(curve.x, curve.y, markevery=spacing, **style)


def _diagonal(panel: Any) -> None:
    panel.plot((0, 1), (0, 1), color=GREY, linewidth=1, linestyle=":")


def _retention_lines(report: Report, panel: Any, curves: list[Curve], names: list[str]) -> None:
    every = looks(report)
    panel.axvline(OPERATING_POINT, color=GREY, linewidth=0.8)
    above = ("data", "axes fraction")
    panel.annotate("95 %", (OPERATING_POINT, 1.01), xycoords=above, ha="center", fontsize="x-small", color=GREY)
    for curve in curves:
        look = every[curve.system]
        _line(panel, curve, look, names.index(curve.system))
        height = float(np.interp(OPERATING_POINT, curve.x, curve.y))
        panel.plot(OPERATING_POINT, height, marker="o", markersize=7, color=look.color, markerfacecolor="none")


def _filled(panel: Any, curve: Curve) -> None:
    color, dash, _ = SUBSET_LOOKS[curve.subset]
    panel.plot(curve.x, curve.y, color=color, linestyle=dash)
    shifted = curve.subset == "shifted"
    look = {"facecolor": "none", "hatch": "///"} if shifted else {"facecolor": color}
    panel.fill_between(curve.x, curve.y, edgecolor=color, alpha=0.25, linewidth=0, **look)


def _scale(panel: Any, curves: list[Curve]) -> None:
    """Make the x axis logarithmic if a curve requests it and all values allow it."""
    values = [x for curve in curves for x in curve.x if finite(x)]
    if any(curve.log_x for curve in curves) and min(values) > 0:
        canvas.log_axis(panel.xaxis, values)
    else:
        panel.xaxis.get_major_locator().set_params(nbins=5)
