"""Retention curves (Figures 4 and 15), scores beside print, and anomalies that occur together (Figures 7 and 14).

What a figure shows follows from the text of the paper, whose captions are not among our facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.report import canvas
from shiftbench.report.content import Report
from shiftbench.report.curve_figures import span
from shiftbench.report.drawing import Axis, Drawing, Entry, Label, Line, Panel
from shiftbench.report.style import COLOURS, GREY, Look, short
from shiftbench.report.view import clean, split_title
from shiftbench.scores.metric import METRICS
from shiftbench.track.paper import drawing
from shiftbench.track.paper.drawing import Captioned
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.run import groups
from shiftbench.track.paper.table import Table
from shiftbench.tracks.translation.paper.systems import Run, of
from shiftbench.tracks.translation.paper.tables import LAYOUTS, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROW = 46.0  # pixels of a system
OURS, PRINTED = Look(COLOURS[0], "-", "o"), Look(GREY, "", "o")
FULL = "full"
SCORES = (
    "A panel for each score, with its unit, and a row for each system: our value is filled, with its interval, printed "
    "ones are hollow below it. The arrow tells which side is better."
)
TOGETHER = (
    "Of the sentences with the anomaly of the row, the share (%) that have the one of the column, too, and how many "
    "they are; on the diagonal, how many sentences have the anomaly. Dark cells beside it are anomalies that come "
    "together."
)


def figures(reports: Iterable[Report], folder: str | Path) -> list[PaperFigure]:
    """Write the pictures that the reports have data for, as PNG (150 dpi) and as SVG, into `folder`.

    `error_retention_…` and `f1_retention_…`: curves by split; `scores_…`: ours beside print; `anomalies`: how often
    anomalies are together. Runs on other sentences have a number behind.

    Raises:
        TableError: if there is no report by the eGLEU error, or one of another track.
    """
    every = [*reports]
    runs, made = of(every), list[PaperFigure]()
    with canvas.settings():
        for each in _drawn(runs, tables(every)):
            made.append(drawing.save(each, folder, each.name))
    return made


def _drawn(runs: Sequence[Run], made: Sequence[Table]) -> Iterator[Captioned]:
    yield from drawing.retention(runs)
    first = [layout.number for layout in LAYOUTS[:2]]
    for split in dict.fromkeys(table.columns[0].dataset for table in made if table.columns):
        own = [table for table in made if table.number in first and table.columns[0].dataset == split]
        if (drawn := scores(own, split)) is not None:
            yield Captioned(f"scores_{split}", f"Scores of all sentences: {split_title(split)}", SCORES, drawn)
    grouped = groups(runs)
    for place, group in enumerate(grouped, 1):
        entry = group[0].entry("anomalies")
        counts, sentences = entry.get("together"), entry.get("sentences")
        if isinstance(counts, dict) and counts and isinstance(sentences, int):
            suffix, number = (f"_{place}", f", data {place}") if len(grouped) > 1 else ("", "")
            drawn_together = together(counts, sentences)
            yield Captioned(f"anomalies{suffix}", f"Anomalies that occur together{number}", TOGETHER, drawn_together)


def scores(made: Sequence[Table], split: str) -> Drawing | None:
    """The scores of all sentences of a split: a panel each, ours filled with intervals, printed ones hollow."""
    panels = [
        panel
        for table in made
        for place, column in enumerate(table.columns)
        if column.subset == FULL and (panel := _panel(table, place)) is not None
    ]
    if not panels:
        return None
    legend = (Entry("ours", OURS), Entry("in print", PRINTED, hollow=True))
    return Drawing(tuple(panels), legend, across=3, title=f"Scores of all sentences: {split_title(split)}")


def _panel(table: Table, place: int) -> Panel | None:
    column = table.columns[place]
    cells = [row[place] for row in table.cells]
    lines, labels = list[Line](), list[Label]()
    for row, cell in enumerate(cells):
        labels.append(Label(short(table.rows[row].own or table.rows[row].system), 0.0, row - 0.28))
        for value in cell.printed:
            lines.append(Line((value.value,), (row + 0.25,), PRINTED, marks=None, hollow=True))
        if cell.value is None:
            continue
        ends = (
            (cell.low, cell.high)
            if cell.low is not None
            else (cell.value - (cell.std or 0), cell.value + (cell.std or 0))
        )
        lines.append(Line([float(end or 0) for end in ends], (row, row), replace(OURS, marker="")))
        lines.append(Line((cell.value,), (row,), OURS, marks=None))
    if not any(cell.value is not None for cell in cells):
        return None
    low, high = span([x for line in lines for x in line.x], log=False)
    metric, unit = METRICS[column.metric], column.unit_shown
    title = f"{metric.title} {'↓' if metric.better == 'min' else '↑'}" + (f" ({unit})" if unit else "")
    up = Axis("", len(cells) - 0.5, -0.6, ticked=False)
    return Panel("", Axis(title, low, high), up, tuple(lines), labels=tuple(labels), height=ROW * len(cells) + 50)


def together(counts: Mapping[str, Any], sentences: int) -> Figure:
    """The share of sentences with one anomaly that have another one, too: rows of one, columns of the other."""
    names = [name for name, own in counts.items() if isinstance(own, dict)]
    found = [[int(counts[name].get(other, 0)) for other in names] for name in names]
    figure, (panel,) = canvas.panels(1, width=1.0 + 0.8 * len(names), height=1.2 + 0.55 * len(names), below=0.0)
    shares = [[value / max(own[row], 1) for value in own] for row, own in enumerate(found)]
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    panel.grid(visible=False)
    for row, own in enumerate(shares):
        for column, share in enumerate(own):
            text = f"{found[row][column]:,}" if row == column else f"{100 * share:.0f} %\n({found[row][column]:,})"
            panel.text(
                column, row, text, ha="center", va="center", fontsize=7.5, color="white" if share > 0.55 else "black"
            )
    labels = [clean(name) for name in names]
    panel.set_xticks(range(len(names)), labels, rotation=30, ha="right")
    panel.set_yticks(range(len(names)), labels)
    # On two lines, since the names at the left, and how many they are, leave little room for one.
    panel.set_title(
        f"Anomalies of {sentences:,} sentences:\nof those with the row’s, how many have the column’s, too", fontsize=9
    )
    return figure
