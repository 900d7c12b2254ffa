"""Output of the command line: results on stdout, progress, warnings and errors on stderr."""

from __future__ import annotations

import os
import shutil
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.errors import ShiftbenchError, ShiftbenchWarning
from shiftbench.io import aborts
from shiftbench.progress import Progress

if TYPE_CHECKING:
    from shiftbench.cli.options import Computing
    from shiftbench.report.content import Report
    from shiftbench.report.picture import Picture

INTERRUPTED = 130  # the exit code of Ctrl-C
SILENT_S = 30.0  # between lines of progress in a log
MOST_PROBLEMS = 40  # printed at most
LINES = 37  # of a first screen of 40 lines, without those that say how to see more and where records are


def say(text: str = "") -> None:
    """Print a line of the result."""
    print(text)  # noqa: T201


def note(text: str) -> None:
    """Print a line that is not part of the result."""
    print(text, file=sys.stderr)  # noqa: T201


def complain(error: ShiftbenchError) -> None:
    """Print the problems of an error, one per line, and how many more there are."""
    problems = error.problems or (str(error),)
    for problem in problems[:MOST_PROBLEMS]:
        note(f"error: {problem}")
    if (more := len(problems) - MOST_PROBLEMS) > 0:
        note(f"error: … and {more:,} more problems.")


def cores_or_all(cores: int) -> int:
    """The number of cores; 0 stands for all that this process may use."""
    return cores or len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else cores or os.cpu_count() or 1


@contextmanager
def computing(how: Computing, *folders: Path) -> Iterator[int]:
    """Run jobs in the chosen executor, whose workers must see these folders; yields the cores of this process.

    Raises:
        UnknownNameError, SettingsError, MissingExtraError: for an unknown or unavailable executor, and workers that
            lack a folder or this package; raised before any work.
    """
    from shiftbench.io import executor

    where = executor.Executor.of(how.executor, workers=how.workers, gpus=how.gpus)
    here = {"serial": 1, "processes": how.workers}.get(where.name)
    with executor.using(where):
        executor.require_shared(where, folders)
        yield here or cores_or_all(how.cores)


@aborts.left
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr, one line per stage. If stderr is not a terminal, a line every half minute shows in a
    log that work continues. Our warnings become lines above it; those of libraries are for developers, who can enable
    them with `python -W`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars, warnings.catch_warnings():
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", ShiftbenchWarning)
        warnings.showwarning = lambda message, *_args, **_named: console.print(f"warning: {message}", markup=False)
        rows: dict[str, TaskID] = {}

        last = time.monotonic()

        def progress(stage: str, done: int, total: int) -> None:
            nonlocal last
            if not console.is_terminal and time.monotonic() - last > SILENT_S:
                last = time.monotonic()
                note(f"{stage}: {done:,} of {total:,}")
            if stage not in rows:
                for row in rows.values():  # earlier stages are done
                    bars.update(row, completed=bars.tasks[row].total)
                rows[stage] = bars.add_task(stage, total=total)
            bars.update(rows[stage], completed=done, total=total)

        yield progress


def show(*reports: Report, full: bool = False, below: int = 1) -> None:
    """Print the first screen of one or more reports, or all of each; below: lines that follow, for paths."""
    from rich.console import Console

    from shiftbench.report import terminal

    console = Console(width=shutil.get_terminal_size((80, 24)).columns)
    if full:
        for report in reports:
            console.print(terminal.render(report))
    else:
        console.print(terminal.first_screen(reports, lines=LINES - below))
        warned = sum(len(report.warnings) for report in reports)
        noted = f"; {warned} warning{'s' * (warned > 1)} in the report" if warned else ""
        console.print(f"\nevery score: --full, or `shiftbench report FOLDER`{noted}", style="dim", highlight=False)


def tell_records(*reports: Report) -> None:
    """Say where the records behind the scores are."""
    if any(report.notable for report in reports):
        say("records: records.csv beside the report (worst, confidently wrong, least certain)")


def write(report: Report, folder: Path, pictures: Sequence[Picture] = ()) -> Path:
    """Write a report in every format, with pictures of a track's own; returns the page to open first."""
    from shiftbench import report as reports

    return reports.write(report, folder, pictures)["html"]
