"""Find reports by path: of a run, of all tasks of a track's run, or a single file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import files
from shiftbench.report.content import Report

PLACES = ("report.json", "report/report.json", "*/report/report.json", "*/report.json")  # the last of assess --track


def load(paths: Sequence[str | Path]) -> list[Report]:
    """Load reports, each given by the folder of its run, the folder of the report, or the report's file.

    Raises:
        TableError: naming every path without a report.
    """
    reports: list[Report] = []
    problems: list[str] = []
    for path in paths:
        try:
            reports += [Report.load(file) for file in places(Path(path))]
        except ShiftbenchError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)
    return reports


def places(path: Path) -> list[Path]:
    """The files of the reports of a path: a run's folder may hold one for each of its tasks.

    Raises:
        TableError: if there is none.
    """
    if path.is_file() or files.irregular(path):  # `load` refuses the latter by name
        return [path]
    for place in PLACES:
        if found := sorted(path.glob(place)):
            return found
    raise TableError(
        f"{path}: expected the folder of a run, or its report.json, found {'none' if path.is_dir() else 'nothing'} "
        "there. Did the run finish?"
    )
