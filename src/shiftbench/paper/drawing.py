"""Parts of pictures that stand beside print: ours filled, printed values hollow, a row a system."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench import files, plots
from shiftbench.paper.table import Cell, Row
from shiftbench.report import canvas
from shiftbench.report.style import DPI, GREY, short

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NOT_COMPARABLE = "Data other than the official ones: printed values are for orientation."


def save(figure: Figure, path: Path) -> list[Path]:
    """Write a figure as PNG and as SVG, each whole or not at all."""
    with files.replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})
    return [path, files.write_text(path.with_suffix(".svg"), plots.svg(figure, path.stem))]


def dot(panel: Any, cell: Cell, row: float, color: str, marker: str, *, comparable: bool = True) -> None:
    """Ours filled with its interval, print hollow below it."""
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
    """What rows are called at an axis: the system, and its run where there are several."""
    several = len({row.run for row in rows if row.run}) > 1
    return [short(row.system) + (f"\n{short(row.run)}" if several and row.run else "") for row in rows]


def name_rows(panel: Any, texts: Sequence[str]) -> None:
    """Name the rows of a panel, the first on top, with a thin line between two."""
    panel.set_yticks(range(len(texts)), texts, fontsize="small")
    panel.set_ylim(len(texts) - 0.5, -0.5)
    panel.tick_params(axis="y", length=0)
    panel.grid(visible=False, axis="y")
    for row in range(1, len(texts)):
        panel.axhline(row - 0.5, color="#e3e3e3", linewidth=0.6)


def close(figure: Figure, handles: list[Any], *, comparable: bool, official: bool) -> None:
    """The legend, with a word on hollow markers and on data that do not compare."""
    if comparable:
        handles = [*handles, canvas.handle("printed", color=GREY, marker="o", markerfacecolor="white", linestyle="")]
    columns, _ = canvas.legend_grid([entry.get_label() for entry in handles], figure.get_size_inches()[0])
    canvas.legend(figure, handles, columns)
    if comparable and not official:
        figure.suptitle(NOT_COMPARABLE, fontsize="small", color=GREY)
