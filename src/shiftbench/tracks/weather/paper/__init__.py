"""The weather tables and figures of Shifts 1.0 from any runs, the printed values beside one's own.

Malinin et al. (2021, arXiv:2107.07455): Tables 2-4 of the first version; Tables 1-3 and 9-13 of the full paper.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench.paper import output, text
from shiftbench.paper.table import Table as Table
from shiftbench.paper.text import csv as csv
from shiftbench.paper.text import render as render
from shiftbench.report.content import Report
from shiftbench.tracks.weather.paper.figures import figures
from shiftbench.tracks.weather.paper.rows import printed as printed
from shiftbench.tracks.weather.paper.tables import tables

__all__ = ["Table", "csv", "figures", "markdown", "printed", "render", "tables", "write"]

TITLE = "The weather tables of Shifts 1.0"


def markdown(tables: Sequence[Table], *, pictures: Sequence[str] = ()) -> str:
    """All tables in GitHub-flavoured Markdown, then the pictures (paths relative to the document)."""
    return text.markdown(tables, title=TITLE, pictures=pictures)


def write(reports: Sequence[Report], folder: str | Path) -> dict[str, Path]:
    """Write every table and figure of the paper into `folder`; each file whole or not at all.

    Returns:
        The paths by what they hold: `markdown`, `csv`, and `figures`, a folder.

    Raises:
        TableError: if no report is of regression or classification.
    """
    target = Path(folder)
    return output.write(tables(reports), figures(reports, target / "figures"), target, title=TITLE)
