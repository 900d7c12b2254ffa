"""The report: what it holds (`content`) and how it looks (terminal, page, text)."""

from __future__ import annotations

from pathlib import Path

from shiftbench.report.content import Report


def write(report: Report, folder: str | Path) -> dict[str, Path]:
    """Write a report as HTML, Markdown, LaTeX, CSV and JSON with its pictures; returns the paths by what they hold."""
    from shiftbench.report import output  # with it comes matplotlib

    return output.write(report, folder)


__all__ = ["Report", "write"]
