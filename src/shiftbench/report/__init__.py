"""The report: what it holds (`content`) and how it looks (terminal, page, text)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench.report.content import Report
from shiftbench.report.picture import Picture


def write(report: Report, folder: str | Path, pictures: Sequence[Picture] = ()) -> dict[str, Path]:
    """Write a report as HTML, Markdown, LaTeX, CSV and JSON with its pictures; returns the paths by what they hold.

    `pictures` are additional ones to include; without any, those already stored with this same report are kept.
    """
    from shiftbench.report import output  # with it comes matplotlib

    return output.write(report, folder, pictures)


__all__ = ["Picture", "Report", "write"]
