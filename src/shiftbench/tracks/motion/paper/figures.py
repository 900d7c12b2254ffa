"""Pictures of the motion tables: retention curves by backbone, scores by K and aggregation, and what the data have.

Printed values are hollow and grey. matplotlib is imported when the first picture is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.report import canvas
from shiftbench.report.content import Report
from shiftbench.report.grid import ARROWS
from shiftbench.report.style import COLOURS, GREY, MARKERS, short
from shiftbench.report.view import finite, split_title
from shiftbench.scores.metric import METRICS
from shiftbench.track.paper import drawing
from shiftbench.track.paper.drawing import Captioned
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.table import UNITS
from shiftbench.tracks.motion.paper import facets
from shiftbench.tracks.motion.paper.systems import (
    BACKBONES,
    MC_DROPOUT,
    Bundle,
    PaperSystem,
    error_of,
    of,
    printed,
)
from shiftbench.tracks.motion.schema import COUNTS, PARTITIONS, PARTS
from shiftbench.tracks.motion.submissions.scoring import ERRORS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

AGGREGATIONS = ("MA", "LQ", "UQ", "WCM", "BCM")
OTHERS = "others"
SHOWN = ("weighted_ade", "cnll", "r_auc_cnll", "f1_auc_cnll", "roc_auc")  # by K and aggregation, as print names them
TABLES = {"weighted_ade": "Table 20", "cnll": "Table 20"}  # all others: Table 21
BY_MEMBERS = (
    "A panel for each score, with its unit, over the number of members K: colours are ways to aggregate, dashes kinds "
    "of ensembles; printed values are hollow and grey if the data are the official ones. More members help where lines "
    "go in the direction of the arrow."
)
SCENES = (
    "Cities and precipitation of the scenes",
    "The share of the scenes (%) in each city and with each kind of precipitation: a bar for each partition, with its "
    "number of scenes, and paler bars for the parts in print. Where bars differ, the data have shifted.",
)
STEP = 0.09  # between two aggregations at one K
STYLES = {
    "deep_ensemble": ("deep ensemble", "-"),
    "dropout_ensemble": ("dropout ensemble", "--"),
    MC_DROPOUT: ("MC dropout (one network)", ":"),
}
PALE, FAINT = 0.45, 0.8  # of printed bars, and of printed lines, whose grey is faint enough


@dataclass(frozen=True)
class Point:
    """A score of a system of the paper, ours or in print, in the unit of print."""

    paper_system: PaperSystem
    value: float
    unit: str


def figures(reports: Iterable[Report], folder: str | Path) -> list[PaperFigure]:
    """Write the pictures that the reports have data for, as PNG (150 dpi) and as SVG, into `folder`.

    `error_retention_…` and `f1_retention_…` by error, backbone and split; `by_members_…` by split and backbone:
    scores over K and aggregation; `tags`: shares of cities and precipitation. Further runs have numbers behind.

    Raises:
        TableError: if there is no report by cNLL or weightedADE, or one of another track.
    """
    bundles, made = of(reports), list[PaperFigure]()
    with canvas.settings():
        for number, bundle in enumerate(bundles, 1):
            for each in _drawn(bundle):
                suffix, run = (f"_{number}", f", {short(bundle.name, 60)}") if len(bundles) > 1 else ("", "")
                made.append(drawing.save(each._replace(title=each.title + run), folder, each.name + suffix))
    return made


def _drawn(bundle: Bundle) -> Iterator[Captioned]:
    entries = {task: entry for task in ERRORS if (entry := bundle.report(task))}
    for task, entry in entries.items():
        titled = replace(entry, name=f"{bundle.name}, {ERRORS[task].title}")
        for backbone in (*BACKBONES, OTHERS):
            systems = "systems without a backbone of the paper" if backbone == OTHERS else backbone
            what = f"{ERRORS[task].title}, {systems}"
            for each in drawing.retention([titled], what, shown=partial(_of, backbone=backbone)):
                yield each._replace(name=f"{each.name}_{task}_{backbone}")
    for split in dict.fromkeys(split for entry in bundle.runs for split in entry.report.splits):
        for backbone in BACKBONES:
            drawn = _by_members(bundle, split, backbone)
            if drawn is not None:
                title = f"Scores by the number of members: {split_title(split)}, {backbone}"
                yield Captioned(f"by_members_{split}_{backbone}", title, BY_MEMBERS, drawn)
    if found := facets.tags(bundle):
        yield Captioned("tags", *SCENES, _tags(bundle, found))


# --- retention ------------------------------------------------------------------------------------------------------


def _of(report: Report, backbone: str) -> Report:
    """The systems of a backbone, whose titles begin with it; or those without a backbone."""

    def belongs(name: str) -> bool:
        return next((each for each in BACKBONES if name.startswith(f"{each} ")), OTHERS) == backbone

    return replace(
        report,
        systems=tuple(system for system in report.systems if belongs(system.name)),
        curves=tuple(curve for curve in report.curves if belongs(curve.system)),
    )


# --- by number of members -------------------------------------------------------------------------------------------


def _by_members(bundle: Bundle, split: str, backbone: str) -> Figure | None:
    """A panel a score; over K, a line an aggregation: ours filled, print hollow. None where only one K is known."""
    ours = {name: points for name in SHOWN if (points := _ours(bundle, split, name, backbone))}
    every = [point for points in ours.values() for point in points]
    if len({point.paper_system.k for point in every}) < 2:
        return None
    official = bundle.runs[0].official
    figure, axes = canvas.panels(len(ours), width=2.9, height=2.4, below=0.6)
    for panel, (name, points) in zip(axes, ours.items(), strict=False):
        _lines(panel, points, _theirs(split, name, backbone) if official else [])
        panel.set_ylabel(_axis(name, points))
    figure.suptitle(f"{short(bundle.name, 60)}, {backbone}: {split_title(split)}", fontsize="medium")
    handles = _handles(every, official)
    columns, _ = canvas.legend_grid([entry.get_label() for entry in handles], figure.get_size_inches()[0])
    canvas.legend(figure, handles, columns)
    return figure


def _ours(bundle: Bundle, split: str, name: str, backbone: str) -> list[Point]:
    metric, task = error_of(name)
    unit = "%" if METRICS[metric].better == "max" else "nats" if "cnll" in name else "m"
    found = []
    for line in bundle.lines():
        if line.paper_system is None or line.paper_system.model != backbone:
            continue
        entry = bundle.score(line, (split, "full", metric), task)
        if entry is not None and finite(entry[1].value):
            found.append(Point(line.paper_system, entry[1].value * UNITS[unit][1], unit))
    return found


def _theirs(split: str, name: str, backbone: str) -> list[Point]:
    frame = printed(TABLES.get(name, "Table 21"))
    rows = frame.filter(pl.col("dataset") == split, subset="full", metric=name, model=backbone)
    return [
        Point(PaperSystem(row["model"], row["ensemble"], row["aggregation"], int(row["k"])), row["value"], row["unit"])
        for row in rows.iter_rows(named=True)
    ]


def _lines(panel: Any, ours: Sequence[Point], theirs: Sequence[Point]) -> None:
    """Lines over K, side by side at each; dashed by the kind of ensemble."""
    counts = sorted({point.paper_system.k for point in (*ours, *theirs)})
    for points, hollow in ((theirs, True), (ours, False)):
        for ensemble, (_, dash) in STYLES.items():
            for place, aggregation in enumerate(AGGREGATIONS):
                mine = [
                    p
                    for p in points
                    if (p.paper_system.ensemble, p.paper_system.aggregation) == (ensemble, aggregation)
                ]
                mine.sort(key=lambda point: point.paper_system.k)
                x = [counts.index(point.paper_system.k) + STEP * (place - len(AGGREGATIONS) // 2) for point in mine]
                panel.plot(
                    x, [point.value for point in mine], marker=MARKERS[place], markersize=5,
                    color=GREY if hollow else COLOURS[place], markerfacecolor="white" if hollow else COLOURS[place],
                    linestyle=dash, linewidth=0.7 if hollow else 1.2,
                    alpha=FAINT if hollow else 1.0, zorder=2 if hollow else 3,
                )  # fmt: skip
    panel.set_xticks(range(len(counts)), [str(count) for count in counts])
    panel.set(xlabel="members K", xlim=(-0.5, len(counts) - 0.5))


def _axis(name: str, points: Sequence[Point]) -> str:
    metric, task = error_of(name)
    title = METRICS[metric].title + (f", {ERRORS[task].title}" if task else "")
    unit = canvas.unit_text(UNITS[points[0].unit][0]) if points else ""
    return f"{title} {ARROWS[METRICS[metric].better]}{unit}"


def _handles(points: Sequence[Point], official: bool) -> list[Any]:
    shown = [each for each in AGGREGATIONS if any(point.paper_system.aggregation == each for point in points)]
    handles = [
        canvas.handle(each, color=COLOURS[place], marker=MARKERS[place], linestyle="")
        for place, each in enumerate(AGGREGATIONS)
        if each in shown
    ]
    handles += [
        canvas.handle(text, color=GREY, linestyle=dash)
        for ensemble, (text, dash) in STYLES.items()
        if any(point.paper_system.ensemble == ensemble for point in points)
    ]
    return [*handles, drawing.printed_handle()] if official else handles


# --- tags -----------------------------------------------------------------------------------------------------------


def _tags(bundle: Bundle, found: facets.Tags) -> Figure:
    """Shares of cities and of precipitation: a bar a partition of ours, then a bar a part of print."""
    groups = ("location", "precipitation")
    bars = [name for name in PARTITIONS if found.get(name, {}).get("location")]
    names = [*bars, *(f"{part}, printed" for part in PARTS)]
    figure, axes = canvas.panels(len(groups), width=5.0, height=0.28 * len(names) + 1.4, below=0.3)
    for panel, group in zip(axes, groups, strict=True):
        rows = [found[name].get(group, {}) for name in bars] + [COUNTS[part][group] for part in PARTS]
        labels = list(dict.fromkeys(label for row in reversed(rows) for label in row))  # in the order of print
        _bars(panel, rows, labels, own=len(bars))
        totals = [sum(row.values()) for row in rows]
        drawing.name_rows(panel, [f"{name}  ({total:,})" for name, total in zip(names, totals, strict=True)])
        panel.set(xlabel="share of the scenes (%)", xlim=(0, 100), title=facets.TITLES[group])
        panel.grid(visible=False)
        panel.legend(loc="upper center", bbox_to_anchor=(0.45, -0.16), ncols=3, fontsize="small", handlelength=1.2)
    figure.suptitle(short(bundle.name, 60), fontsize="medium")
    return figure


def _bars(panel: Any, rows: Sequence[dict[str, int] | Any], labels: Sequence[str], *, own: int) -> None:
    left = [0.0] * len(rows)
    for place, label in enumerate(labels):
        widths = [100 * row.get(label, 0) / max(sum(row.values()), 1) for row in rows]
        drawn = panel.barh(
            range(len(rows)), widths, left=left, height=0.7, color=COLOURS[place % len(COLOURS)], label=label
        )
        for bar in drawn[own:]:
            bar.set_alpha(PALE)
        left = [start + width for start, width in zip(left, widths, strict=True)]
