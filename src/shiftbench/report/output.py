"""A report as files: every format, side by side in one folder."""

from __future__ import annotations

from pathlib import Path

from shiftbench import files, plots
from shiftbench.report import page, text
from shiftbench.report.content import Report


def write(report: Report, folder: str | Path) -> dict[str, Path]:
    """Write a report in every format; each file whole or not at all.

    Returns:
        The paths by what they hold: `html`, `markdown`, `latex`, `csv`, `json`, and `figures`, a folder.
    """
    target = Path(folder)
    drawn = plots.save(report, target / "figures")
    pictures = {path.stem: path.read_text(encoding="utf-8") for path in drawn if path.suffix == ".svg"}
    return {
        "html": files.write_text(target / "report.html", page.html(report, pictures=pictures)),
        "markdown": files.write_text(target / "report.md", text.markdown(report)),
        "latex": files.write_text(target / "report.tex", text.latex(report)),
        "csv": files.write_text(target / "report.csv", text.csv(report)),
        "json": report.save(target / "report.json"),
        "figures": target / "figures",
    }
