"""Draws the first screen of a report as the picture of the README: first_screen.py report.json out.svg TITLE."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI

from shiftbench.io import files
from shiftbench.report.content import Report
from shiftbench.report.terminal import first_screen

FONTS = re.compile(r"@font-face\s*\{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)  # of another server, which a page would ask


def main(report: str, out: str, title: str) -> None:
    """Write the picture."""
    console = Console(record=True, width=82, file=io.StringIO(), force_terminal=True)
    console.print(first_screen([Report.load(report)]), "")  # the picture cuts the tails of its last line
    drawn = console.export_svg(title=title, theme=DIMMED_MONOKAI, unique_id="first-screen")
    files.write_text(Path(out), FONTS.sub("", drawn).replace("Fira Code, monospace", "monospace"))


if __name__ == "__main__":
    main(*sys.argv[1:])
