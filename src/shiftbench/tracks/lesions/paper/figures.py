"""Pictures of the lesion tables: loads of the parts (Figure 5), scores over loads (6), and retention (7, 9 to 11).

What a figure shows follows from the text of the paper, whose captions are not among our facts. Printed values are
hollow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from shiftbench.metrics.segmentation.correlation import KINDS, SCORES, correlation_name
from shiftbench.report import canvas, curve_figures
from shiftbench.report.content import Report
from shiftbench.report.curve_figures import span
from shiftbench.report.digits import MISSING
from shiftbench.report.drawing import Axis, Drawing, Entry, Label, Line, Panel
from shiftbench.report.style import COLOURS, GREY, Look, fitted, labels, looks
from shiftbench.report.view import clean, enough, finite, split_title
from shiftbench.scores.score import SUBSETS, Curve
from shiftbench.track.paper import drawing
from shiftbench.track.paper.drawing import Captioned
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.run import groups, merged
from shiftbench.tracks.lesions import schema
from shiftbench.tracks.lesions.paper.systems import Run, lesion_counts, number, of
from shiftbench.tracks.lesions.scoring import BY_LOAD, VOXELS

ROW = 42.0  # pixels of a part
PATIENT = Look(COLOURS[5], "", "^")
CONNECTIVITY = {"6": Look(COLOURS[0], "", "o"), "18": Look(COLOURS[1], "", "s"), "26": Look(COLOURS[2], "", "D")}
LOADS = (
    "Lesions of each part of the data",
    "A row for each part: at the left the volume of a patient's lesions (ml), triangles patients, dots the mean with "
    "its standard deviation; at the right how many lesions there are (logarithmic), by the connectivity of voxels. "
    "Hollow dots are printed: parts whose dots lie apart from them hold other data.",
)
LOADED = (
    "{} of each patient (0 to 1) over the volume of its lesions (ml, logarithmic): a marker for each system, a panel "
    "for each side of the shift. The legend has the correlations, in-domain / shifted: a score that depends on the "
    "volume rises to the right."
)
KEPT = (
    "nDSC (0 to 1, a mean over patients) over the share of the brain's voxels that keep the prediction, from the most "
    "certain on, while all others count as the truth; a line for each system, a panel for each side of the shift. "
    "Higher is better: a useful uncertainty finds wrong voxels first, so that the curve falls late."
)
LEAST_ML = 0.01  # a load of 0 has no place on a logarithmic axis


def figures(reports: Iterable[Report], folder: str | Path) -> list[PaperFigure]:
    """Write the pictures that the reports have data for, as PNG (150 dpi) and as SVG, into `folder`.

    `loads`: volume and number of lesions by part; `ndsc_by_load_…` and `dsc_by_load_…`: a point for each patient;
    `voxel_retention_…`: nDSC over the share of voxels kept; `error_retention_…`: over that of patients. Runs on other
    patients have a number behind. Runs that learn from other sites than usual are drawn where there are no others.

    Raises:
        TableError: if there is no report of this track, or one of another.
    """
    runs, made = of(reports), list[PaperFigure]()
    grouped = groups([run for run in runs if run.usual] or runs)
    with canvas.settings():
        for place, group in enumerate(grouped, 1):
            suffix = f"_{place}" if len(grouped) > 1 else ""
            for each in _drawn(group):
                titled = each._replace(title=each.title + (f", patients {place}" if suffix else ""))
                made.append(drawing.save(titled, folder, each.name + suffix))
    return made


def _drawn(runs: Sequence[Run]) -> Iterator[Captioned]:
    if (drawn := loads(runs[0])) is not None:
        yield Captioned("loads", *LOADS, drawn)
    report = _together(runs)
    for split in report.splits:
        title = f"{clean(report.title)}: {split_title(split)}"
        for score in SCORES:
            if (drawn := by_load(report, split, score)) is not None:
                words = (
                    f"{SCORES[score]} over the volume of lesions: {split_title(split)}",
                    LOADED.format(SCORES[score]),
                )
                yield Captioned(f"{BY_LOAD.format(score)}_{split}", *words, replace(drawn, title=title))
        if (drawn := voxels(report, split)) is not None:
            words = f"nDSC while voxels are kept: {split_title(split)}", KEPT
            yield Captioned(f"{VOXELS}_{split}", *words, replace(drawn, title=title))
    yield from drawing.retention(runs)


def _together(runs: Sequence[Run]) -> Report:
    """One report of all systems by their names in the paper, with their curves and scores."""
    scores = [
        replace(score, system=run.title(score.system) + (f", {run.name}" if len(runs) > 1 else ""))
        for run in runs
        for score in run.report.scores
    ]
    return replace(merged(runs), scores=tuple(scores))


# --- data ------------------------------------------------------------------------------------------------------------


def loads(run: Run) -> Drawing | None:
    """Volumes of lesions of each part, with the mean ± standard deviation, and their numbers; in print hollow."""
    found = {part: run.entry("lesions", part) for part in schema.PARTS}
    if not any(found.values()):
        return None
    volumes, numbers = list[Line](), list[Line]()
    for row, (part, own) in enumerate(found.items()):
        in_print = schema.TABLE_6[part]
        volumes += _spread(in_print["volume_ml"], in_print["volume_sd_ml"], row + 0.3, GREY, hollow=True)
        if (mean := number(own.get("volume_ml"))) is not None:
            volumes += _spread(mean, number(own.get("volume_sd_ml")) or 0.0, row + 0.12, COLOURS[0])
        numbers.append(_point(float(in_print["lesions"]), row + 0.3, Look(GREY, "", "o"), hollow=True))
        for name, count in lesion_counts(own).items():
            if count > 0 and name in CONNECTIVITY:
                numbers.append(_point(count, row + 0.12, CONNECTIVITY[name]))
    patients = _patients(run.report)
    volumes = [*(_points(xs, schema.PARTS.index(part)) for part, xs in patients.items()), *volumes]
    legend = (
        Entry("a patient", PATIENT), Entry("mean ± standard deviation", Look(COLOURS[0], "-", "o")),
        *(Entry(f"lesions, connectivity {name}", look) for name, look in CONNECTIVITY.items()),
        Entry("in print", Look(GREY, "-", "o"), hollow=True),
    )  # fmt: skip
    shown = (_parts("Volume of a patient's lesions (ml)", volumes, log=False), _parts("Lesions", numbers, log=True))
    return Drawing(shown, legend, across=2, title=clean(run.report.title))


def _patients(report: Report) -> dict[str, tuple[float, ...]]:
    """The loads of patients of each evaluated part."""
    subsets = {"in": "in", "shifted": "out"}
    return {
        f"{curve.split}_{subsets[curve.subset]}": curve.x
        for curve in report.curves
        if curve.kind == BY_LOAD.format("ndsc") and curve.subset in subsets and curve.split in ("dev", "eval")
    }


def _spread(mean: float, sd: float, row: float, color: str, *, hollow: bool = False) -> list[Line]:
    return [
        Line((max(mean - sd, 0.0), mean + sd), (row, row), Look(color, "-", width=1.8)),
        _point(mean, row, Look(color, "", "o"), hollow=hollow),
    ]


def _point(x: float, row: float, look: Look, *, hollow: bool = False) -> Line:
    return Line((x,), (row,), look, marks=None, hollow=hollow)


def _points(xs: Sequence[float], row: int) -> Line:
    return Line(xs, [row - 0.05] * len(xs), PATIENT, marks=None)


def _parts(title: str, lines: Sequence[Line], *, log: bool) -> Panel:
    low, high = span([x for line in lines for x in line.x], log=log)
    across = Axis(title, low if log else min(0.0, low), high, log=log)
    names = tuple(Label(part, 0.0, row - 0.28) for row, part in enumerate(schema.PARTS))
    up = Axis("", len(schema.PARTS) - 0.5, -0.5, ticked=False)
    return Panel("", across, up, tuple(lines), labels=names, height=ROW * len(schema.PARTS) + 60)


# --- scores over loads -----------------------------------------------------------------------------------------------


def by_load(report: Report, split: str, score: str) -> Drawing | None:
    """A score over the volume of lesions, a point for each patient; the legend has both correlations."""
    curves = [
        curve
        for curve in report.curves
        if (curve.split, curve.kind) == (split, BY_LOAD.format(score)) and curve.subset != "full"
    ]
    curves = curves or [each for each in report.curves if (each.split, each.kind) == (split, BY_LOAD.format(score))]
    names = list(dict.fromkeys(curve.system for curve in curves))
    if not names:
        return None
    low, high = span([max(x, LEAST_ML) for curve in curves for x in curve.x], log=True)
    shown = [
        _cloud(report, [curve for curve in curves if curve.subset == subset], Axis("Lesions (ml)", low, high, log=True),
               Axis(SCORES[score], -0.02, 1.02))
        for subset in SUBSETS
        if any(curve.subset == subset for curve in curves)
    ]  # fmt: skip
    every, texts = looks(report), labels(report)
    legend = tuple(
        Entry(f"{texts[name]}: {_correlations(report, name, split, score, [*dict.fromkeys(c.subset for c in curves)])}",
              Look(every[name].color, "", every[name].marker))
        for name in names
    )  # fmt: skip
    return Drawing(tuple(shown), legend)


def _cloud(report: Report, curves: Sequence[Curve], across: Axis, up: Axis) -> Panel:
    every, texts = looks(report), labels(report)
    lines = tuple(
        Line(
            [max(x, LEAST_ML) for x in curve.x], curve.y,
            Look(every[curve.system].color, "", every[curve.system].marker), texts[curve.system], marks=None,
        )
        for curve in curves
    )  # fmt: skip
    return Panel(SUBSETS[curves[0].subset], across, up, lines)


def _correlations(report: Report, system: str, split: str, score: str, subsets: Sequence[str]) -> str:
    """The correlations of a system, in-domain and shifted, such as "Spearman 0.31 / 0.20, Pearson 0.25 / 0.14"."""
    found = {
        (each.subset, each.metric): each.value
        for each in report.scores
        if (each.system, each.split) == (system, split) and enough(report, each)
    }
    captions = []
    for kind, title in KINDS.items():
        values = [found.get((subset, correlation_name(score, kind)), float("nan")) for subset in subsets]
        captions.append(
            f"{title} " + " / ".join(f"{value:.2f}".replace("-", "−") if finite(value) else MISSING for value in values)
        )
    return ", ".join(captions)


# --- retention of voxels ---------------------------------------------------------------------------------------------


def voxels(report: Report, split: str) -> Drawing | None:
    """nDSC over the share of the brain's voxels that keep the prediction, a mean over patients."""
    found = curve_figures.retention(report, split, kind=VOXELS)
    if found is None:
        return None
    panels = tuple(
        replace(panel, x=replace(panel.x, title="Voxels that keep the prediction"), y=_up(panel), guides=())
        for panel in found.panels
    )
    return replace(found, panels=panels)


def _up(panel: Panel) -> Axis:
    """The axis of nDSC, which falls from 1: from below the lowest of the curves."""
    values = [y for line in panel.lines for y in line.y if finite(y)]
    low, _ = span([*values, 1.0], log=False)
    return Axis(fitted("nDSC"), max(low, 0.0), 1.0 + 0.02 * (1.0 - low))
