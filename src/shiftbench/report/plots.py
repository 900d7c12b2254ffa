"""The pictures of a report, and their captions. matplotlib is imported when the first PNG is written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from shiftbench.io import files
from shiftbench.report import curve_figures, score_figures, shift_figures
from shiftbench.report.content import Report
from shiftbench.report.drawing import Drawing
from shiftbench.report.svg import svg
from shiftbench.report.view import headline_metric, metric_title, set_retention, split_title
from shiftbench.scores.metric import METRICS, Metric

DRAWERS: dict[str, Callable[..., Drawing | None]] = {
    "summary": score_figures.summary,
    "error_retention": partial(curve_figures.retention, kind="error_retention"),
    "f1_retention": partial(curve_figures.retention, kind="f1_retention"),
    "density": curve_figures.density,
    "roc": curve_figures.roc,
    "coverage": partial(curve_figures.calibration, kind="coverage"),
    "reliability": partial(curve_figures.calibration, kind="reliability"),
    "error_by_uncertainty": curve_figures.error_by_uncertainty,
    "moved": shift_figures.moved,
    "slices": score_figures.slices,
    "parts": score_figures.parts,
}

# The title of each picture and how to read it.
CAPTIONS = {
    "summary": (
        "{score} of every system",
        "With intervals, if there are any: on in-domain records (filled circle) and on shifted ones (open diamond), or "
        "over all records (square) if no shift is known; systems are sorted by the shifted score, the best at the top. "
        "The dotted line marks the leading system: a mark on the better side of it is better.",
    ),
    "error_retention": (
        "Error retention",
        "Records are kept from the most certain to the least; those not kept count as error 0, as if an expert "
        "answered them. Lower is better; the area under the curve is the R-AUC. A useful uncertainty bends the "
        "curve below the dotted random line, towards the dashed optimal one. A curve that leaves its panel "
        "upwards is more than four times as high as the leading system's. Rings: 95 % kept.",
    ),
    "f1_retention": (
        "F1 retention",
        "F1 of finding the acceptable answers if the most certain share of the records is predicted to be acceptable. "
        "Higher is better; the area is the F1-AUC. Rings: 95 % kept (F1@95%).",
    ),
    "density": (
        "Uncertainty by partition",
        "How uncertainty is distributed in-domain (solid, filled) and on shifted records (dashed). "
        "An uncertainty that detects the shift lies further to the right on shifted records.",
    ),
    "roc": (
        "Finding shifted records",
        "True against false positive rate when the records of highest uncertainty are called shifted. The dotted "
        "diagonal is chance: a curve above it finds shifted records, one below it mistakes them for in-domain ones.",
    ),
    "coverage": (
        "Calibration of intervals",
        "Share of the targets inside the central predictive interval, against the nominal share. "
        "Below the dotted diagonal a system is overconfident, "
        "above it underconfident.",
    ),
    "reliability": (
        "Calibration of probabilities",
        "Accuracy against confidence, in bins. Below the dotted diagonal a system is overconfident, above it "
        "underconfident.",
    ),
    "error_by_uncertainty": (
        "Error by uncertainty",
        "Mean error of records of similar uncertainty. A rising line means that the uncertainty indicates where errors "
        "are large; a line of shifted records above the in-domain one means that the uncertainty is too low under "
        "shift.",
    ),
    "moved": (
        "What shifted",
        "The features whose distribution moved most from in-domain (filled, or upper bar) to shifted records (dashed, "
        "or lower bar), with the distance, 0 to 1; the outermost numbers are in the last bins.",
    ),
    "slices": (
        "Slices, worst first",
        "Mean error of groups of records, with intervals if there are any; the worst group of the leading system is on "
        "top. Of many systems only the leading one and the two with the lowest errors are drawn.",
    ),
    "parts": (
        "Where the R-AUC comes from",
        "From top to bottom: the level of a random order, then the effect of the order by uncertainty (a bar to the "
        "left: the ranking helps), then the sum, which is the R-AUC. Each system has its own scale.",
    ),
}


def figures(report: Report) -> dict[str, Drawing]:
    """All pictures for which the report has data, by name `<split>_<kind>`, in reading order."""
    return {
        f"{split}_{kind}": drawing
        for split in report.splits
        for kind, draw in _drawers(report).items()
        if (drawing := draw(report, split)) is not None
    }


def _drawers(report: Report) -> dict[str, Callable[..., Drawing | None]]:
    sets = [kind for kind in dict.fromkeys(curve.kind for curve in report.curves) if set_retention(kind)]
    return DRAWERS | {kind: partial(curve_figures.retention, kind=kind) for kind in sets}


def caption(name: str, report: Report) -> tuple[str, str]:
    """Title and explanation of a report's picture of that name."""
    known = CAPTIONS | {f"{metric.name}_retention": _of_set(metric) for metric in METRICS.values() if metric.area}
    kind = max((kind for kind in known if name.endswith(f"_{kind}")), key=len)
    split = name.removesuffix(f"_{kind}")  # names of test sets may contain underscores
    title, text = known[kind]
    if kind == "summary" and (metric := headline_metric(report)) is not None:
        title = title.format(score=metric_title(metric, report))
        title = title.removesuffix(" of every system") if len(report.systems) == 1 else title
    return f"{title} ({split_title(split)})", text


def _of_set(metric: Metric) -> tuple[str, str]:
    better = {"min": "Lower", "max": "Higher"}[metric.better]
    return f"{metric.title} retention", (
        "Records are kept from the most certain to the least; those not kept count with ideal answers. "
        f"{better} is better; the area under the curve is the score {METRICS[metric.area].title}. Rings: 95 % kept."
    )


def save(drawings: Mapping[str, Drawing], folder: str | Path) -> list[Path]:
    """Write drawings into `folder`, each as PNG (150 dpi) and as SVG; equal drawings give equal bytes."""
    from shiftbench.report import canvas  # with it comes matplotlib

    paths = []
    with canvas.settings():
        for name, drawing in drawings.items():
            target = Path(folder) / f"{name}.png"
            with files.replacing(target) as temporary:
                canvas.write_png(canvas.figure_of(drawing), temporary)
            paths += [target, files.write_text(target.with_suffix(".svg"), svg(drawing, name))]
    return paths
