"""Elements of pictures that compare with print: our values filled, printed values hollow, one row per system."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from shiftbench.io import files
from shiftbench.report import canvas, curve_figures, plots
from shiftbench.report.content import Report
from shiftbench.report.drawing import Drawing
from shiftbench.report.style import GREY, short
from shiftbench.report.view import clean, split_title
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.run import Run, groups, merged
from shiftbench.track.paper.table import Cell, Row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RETENTION = {
    "error_retention": (
        "Error retention",
        "{} over the retention fraction, the share of records that keep their answers, from the most certain on, while "
        "all others count as error 0; a line for each system, a panel for each side of the shift. Lower is better: a "
        "useful uncertainty lies below the dotted random order, near the dashed optimal one.",
    ),
    "f1_retention": (
        "F1 retention",
        "{} over the retention fraction, the share of records, from the most certain on, that are predicted to be "
        "acceptable; a line for each system, a panel for each side of the shift. Higher is better, towards the dashed "
        "optimal order.",
    ),
}  # title, and caption with a place for the score on the vertical axis
NOT_COMPARABLE = "Data other than the official ones: printed values are for orientation."


class Captioned(NamedTuple):
    """A figure that is drawn, not written yet: the name of its file, its title and caption."""

    name: str
    title: str
    caption: str
    figure: Figure | Drawing


def save(made: Captioned, folder: str | Path, name: str) -> PaperFigure:
    """Write a figure into a folder as PNG and as SVG under a name, each whole or not at all."""
    path = Path(folder) / f"{name}.png"
    found = PaperFigure(path, made.title, made.caption)
    if isinstance(made.figure, Drawing):
        plots.save({name: made.figure}, path.parent)
        return found
    with files.replacing(path) as temporary:
        canvas.write_png(made.figure, temporary)
    files.write_text(found.svg, canvas.svg(made.figure, name))
    return found


def dot(panel: Any, cell: Cell, row: float, color: str, marker: str, *, comparable: bool = True) -> None:
    """Draw our value filled with its interval, and the printed value hollow below it."""
    if comparable:
        for value in cell.printed:
            panel.plot(value.value, row, marker=marker, color=color, markerfacecolor="white", markersize=6, zorder=2)
    if cell.value is None:
        return
    if cell.low is not None and cell.high is not None:
        panel.plot((cell.low, cell.high), (row, row), color=color, linewidth=1.6, solid_capstyle="butt")
    elif cell.std is not None:
        ends = (cell.value - cell.std, cell.value + cell.std)
        panel.plot(ends, (row, row), color=color, linewidth=1.6, solid_capstyle="butt")
    panel.plot(cell.value, row, marker=marker, color=color, markersize=5, zorder=3)


def row_texts(rows: Sequence[Row]) -> list[str]:
    """Row labels at an axis: the system, and its run if there are several."""
    several = len({row.run for row in rows if row.run}) > 1
    return [short(row.system) + (f"\n{short(row.run)}" if several and row.run else "") for row in rows]


def name_rows(panel: Any, texts: Sequence[str]) -> None:
    """Label the rows of a panel, the first at the top, with thin lines between rows."""
    panel.set_yticks(range(len(texts)), texts, fontsize="small")
    panel.set_ylim(len(texts) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    for row in range(1, len(texts)):
        panel.axhline(row - 0.5, color="#e3e3e3", linewidth=0.6)


def retention(
    runs: Sequence[Run], task: str = "", *, shown: Callable[[Report], Report] = lambda report: report
) -> Iterator[Captioned]:
    """Retention curves of all systems on the same records.

    Runs on other records get their own pictures. task: what titles name beside the split. shown: selects the part of a
    report to draw.
    """
    grouped = groups(runs)
    for number, group in enumerate(grouped, 1):
        report = shown(merged(group))
        for split in report.splits:
            for kind, (title, caption) in RETENTION.items():
                drawing = curve_figures.retention(report, split, kind=kind)
                if drawing is not None:
                    titled = replace(drawing, title=f"{clean(report.title)}: {split_title(split)}")
                    what = ", ".join(filter(None, (split_title(split), task, f"data {number}" * (len(grouped) > 1))))
                    up = drawing.panels[0].y.title.partition(", ")[0]  # without "records kept"
                    yield Captioned(
                        f"{kind}_{split}" + (f"_{number}" if len(grouped) > 1 else ""),
                        f"{title}: {what}", caption.format(up), titled,
                    )  # fmt: skip


def printed_handle() -> Any:
    """The legend entry for printed values."""
    return canvas.handle("printed", color=GREY, marker="o", markerfacecolor="white", linestyle="")


def close(figure: Figure, handles: Sequence[Any], *, official: bool) -> None:
    """Add the legend, and a remark if the data are not the official ones, so that printed values are not comparable."""
    columns, _ = canvas.legend_grid([entry.get_label() for entry in handles], figure.get_size_inches()[0])
    canvas.legend(figure, list(handles), columns)
    if not official:
        figure.suptitle(NOT_COMPARABLE, fontsize="small", color=GREY)
