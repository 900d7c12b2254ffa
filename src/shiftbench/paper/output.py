"""Writing the tables and pictures of a paper into one folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench import files
from shiftbench.paper.table import Table
from shiftbench.paper.text import csv, markdown


def write(tables: Sequence[Table], pictures: Sequence[Path], folder: Path, *, title: str) -> dict[str, Path]:
    """Write `tables.md`, which shows the pictures in `folder`/figures, and `tables.csv`; each whole or not at all.

    Returns:
        The paths by what they hold: `markdown`, `csv`, and `figures`, a folder.
    """
    shown = [path.relative_to(folder).as_posix() for path in pictures if path.suffix == ".png"]
    return {
        "markdown": files.write_text(folder / "tables.md", markdown(tables, title=title, pictures=shown)),
        "csv": files.write_text(folder / "tables.csv", csv(tables)),
        "figures": folder / "figures",
    }
