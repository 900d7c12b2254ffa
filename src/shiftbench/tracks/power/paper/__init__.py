"""The vessel power tables and figures of Shifts 2.0 from any runs, the printed values beside one's own.

Malinin et al. (2022, arXiv:2206.15407), Appendix D: Tables 16-18 and 23-26.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench.paper import output, text
from shiftbench.paper.table import Table as Table
from shiftbench.paper.text import csv as csv
from shiftbench.paper.text import render as render
from shiftbench.report.content import Report
from shiftbench.tracks.power.paper.figures import figures
from shiftbench.tracks.power.paper.systems import printed as printed
from shiftbench.tracks.power.paper.tables import tables

__all__ = ["Table", "csv", "figures", "markdown", "printed", "render", "tables", "write"]

TITLE = "The vessel power tables of Shifts 2.0"


def markdown(tables: Sequence[Table], *, pictures: Sequence[str] = ()) -> str:
    """All tables in GitHub-flavoured Markdown, then the pictures (paths relative to the document)."""
    return text.markdown(tables, title=TITLE, pictures=pictures)


def write(reports: Sequence[Report], folder: str | Path) -> dict[str, Path]:
    """Write every table and figure of the paper into `folder`; each file whole or not at all.

    Returns:
        The paths by what they hold: `markdown`, `csv`, and `figures`, a folder.

    Raises:
        TableError: if there is no report of a regression, or one of another track.
    """
    target = Path(folder)
    return output.write(tables(reports), figures(reports, target / "figures"), target, title=TITLE)
