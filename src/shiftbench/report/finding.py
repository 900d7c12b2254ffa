"""The reports that paths lead to: of a run, of all tasks of a track's run, or alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench import files
from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.report.content import Report

PLACES = ("report.json", "report/report.json", "*/report/report.json")


def load(paths: Sequence[str | Path]) -> list[Report]:
    """The reports of runs, each named by its folder, the folder of its report, or the report's file.

    Raises:
        TableError: naming every path that holds no report.
    """
    reports: list[Report] = []
    problems: list[str] = []
    for path in paths:
        try:
            reports += [Report.load(file) for file in _files(Path(path))]
        except ShiftbenchError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)
    return reports


def _files(path: Path) -> list[Path]:
    if path.is_file() or files.irregular(path):  # which `load` refuses by name
        return [path]
    for place in PLACES:
        if found := sorted(path.glob(place)):
            return found
    raise TableError(
        f"{path}: expected the folder of a run, or its report.json, found {'none' if path.is_dir() else 'nothing'} "
        "there. Did the run end?"
    )
