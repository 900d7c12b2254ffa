"""The weather tables and figures of Shifts 1.0 from any runs, the printed values beside one's own.

Malinin et al. (2021, arXiv:2107.07455): Tables 2-4 of the first version; Tables 1-3 and 9-13 of the full paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench import files
from shiftbench.report.content import Report
from shiftbench.tracks.weather.paper.figures import figures
from shiftbench.tracks.weather.paper.rows import printed as printed
from shiftbench.tracks.weather.paper.table import Table as Table
from shiftbench.tracks.weather.paper.tables import tables
from shiftbench.tracks.weather.paper.text import csv, markdown
from shiftbench.tracks.weather.paper.text import render as render

__all__ = ["Table", "csv", "figures", "markdown", "printed", "render", "tables", "write"]


def write(reports: Sequence[Report], folder: str | Path) -> dict[str, Path]:
    """Write every table and figure of the paper into `folder`; each file whole or not at all.

    Returns:
        The paths by what they hold: `markdown`, `csv`, and `figures`, a folder.

    Raises:
        TableError: if no report is of regression or classification.
    """
    made, target = tables(reports), Path(folder)
    drawn = figures(reports, target / "figures")
    pictures = [path.relative_to(target).as_posix() for path in drawn if path.suffix == ".png"]
    return {
        "markdown": files.write_text(target / "tables.md", markdown(made, pictures=pictures)),
        "csv": files.write_text(target / "tables.csv", csv(made)),
        "figures": target / "figures",
    }
