"""The report: what it contains (`content`), how it looks (terminal, page, text), and all of it as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shiftbench import argument, check
from shiftbench.errors import ShiftbenchError
from shiftbench.io import files
from shiftbench.report import content, picture
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture

__all__ = ["Picture", "Report", "write"]


def write(report: Report, folder: str | Path, pictures: Sequence[Picture] = ()) -> dict[str, Path]:
    """Write a report in every format; each file whole or not at all.

    Args:
        report: the report.
        folder: the output folder; files of an earlier report in it are replaced.
        pictures: additional pictures. Without any, those in the folder are kept if they belong to this same report,
            for example when it is written again after an upgrade; those of another report are removed.

    Returns:
        The paths by content: `html`, `markdown`, `latex`, `csv`, `json`, and `figures`, a folder; with additional
        pictures also `pictures`, another folder, and with records behind the scores `records`, with slices
        `slices`, with costs `cost`.

    Raises:
        ShiftbenchError: if two additional pictures have the same name, or one is not a PNG.
    """
    from shiftbench.report import notable, page, plots, text

    check.kind("report", report, Report)
    target = argument.path(folder)
    carried = argument.several("pictures", pictures, Picture) or _kept(report, target)
    picture.write(carried, target)
    drawn = plots.figures(report)
    plots.save(drawn, target / "figures")
    paths = {
        "html": files.write_text(target / "report.html", page.html(report, pictures=drawn, further=carried)),
        "markdown": files.write_text(target / "report.md", text.markdown(report, further=carried)),
        "latex": files.write_text(target / "report.tex", text.latex(report, further=carried)),
        "csv": files.write_text(target / "report.csv", text.csv(report)),
        "json": report.save(target / "report.json"),
        "figures": target / "figures",
    }
    if report.notable:
        paths["records"] = files.write_text(target / notable.FILE, notable.csv(report))
    if report.slices:
        paths["slices"] = files.write_text(target / "slices.csv", text.slices_csv(report))
    if report.costs:
        paths["cost"] = files.write_text(target / "cost.csv", text.costs_csv(report))
    return paths | ({"pictures": target / picture.FOLDER} if carried else {})


def _kept(report: Report, folder: Path) -> list[Picture]:
    """The pictures in a folder, if the report in it is this one."""
    try:
        same = Report.load(folder / "report.json").to_json() == report.to_json()
    except ShiftbenchError:  # no report, or one of another format
        return []
    # Read now, since the files are about to be replaced.
    return [Picture(each.name, each.title, each.caption, each.png) for each in picture.beside(folder)] if same else []


# Imported when first used: a report can be read without a template engine and without matplotlib.


def _text(report: Report) -> str:
    from shiftbench.report import terminal

    return terminal.as_text(report)


def _first_screen(report: Report) -> str:
    from shiftbench.report import page

    return page.first_screen(report)


def _html(report: Report) -> str:
    from shiftbench.report import page

    return page.html(report)


def _rows(report: Report) -> list[dict[str, Any]]:
    from shiftbench.report import text

    return text.rows(report)


content.RENDERERS.update(text=_text, first_screen=_first_screen, html=_html, rows=_rows)
