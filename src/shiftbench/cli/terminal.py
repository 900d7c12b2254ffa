"""Output of the command line: results on stdout, progress, warnings and errors on stderr."""

from __future__ import annotations

import datetime
import os
import re
import shlex
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.errors import ShiftbenchError, ShiftbenchWarning
from shiftbench.io import aborts
from shiftbench.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

    from shiftbench.cli.options import Computing
    from shiftbench.report.content import Report
    from shiftbench.report.picture import Picture

NARROWEST, BROADEST = 30, 1_000  # columns and lines that layouts are made for
INTERRUPTED = 130  # the exit code of Ctrl-C
SILENT_S = 30.0  # at least between lines of progress in a log
SILENT_SHARE = 0.03  # of the time since the start: the least between two lines
BEAT_S = 5.0  # between looks whether a line is due
MOST_BARS = 8  # stages that a terminal shows
SLOW_S = 30.0  # of resampling, after which a word on fewer replicates is due
FEW_REPLICATES = 200  # for a first look; auto intervals are studentised from here on
MOST_PROBLEMS = 40  # printed at most
RECORDS = "records.csv"
USUAL = 80  # columns
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


class _Log:
    """Progress in a log: a line after half a minute, then ever more rarely, some two hundred in a day."""

    def __init__(self) -> None:
        self.began = self.last = time.monotonic()
        self.now = ("", 0, 0)
        self._one_at_a_time = threading.Lock()

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Note how far a stage is."""
        self.now = stage, done, total
        self.tell()

    def tell(self) -> None:
        """Print how far the work is, if it is time for that."""
        with self._one_at_a_time:
            now, (stage, done, total) = time.monotonic(), self.now
            if not stage or now - self.last < max(SILENT_S, SILENT_SHARE * (now - self.began)):
                return
            self.last = now
            amount = f": {done:,} of {total:,}" if total > 1 else f": {done:,}" if not total else ""
            note(f"{datetime.timedelta(seconds=int(now - self.began))} {stage}{amount}")

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Also show the stage of work that reports nothing for a long time."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(BEAT_S):
                self.tell()

        threading.Thread(target=beat, daemon=True).start()
        try:
            yield
        finally:
            done.set()


@aborts.left
def progress_bar() -> Iterator[Progress]:
    """A progress bar on stderr, a line for each of the last stages; in a log or without a cursor a line now and then.

    Our warnings become lines above it; those of libraries are for developers, who can enable them with `python -W`.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    console, log = Console(stderr=True), _Log()
    live = console.is_terminal and not console.is_dumb_terminal and console.file.isatty()  # FORCE_COLOR is no terminal
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with (
        Progress(*columns, console=console, disable=not live) as bars,
        nullcontext() if live else log.beating(),
        warnings.catch_warnings(),
    ):
        if not sys.warnoptions:
            warnings.simplefilter("ignore")
            warnings.simplefilter("default", ShiftbenchWarning)
        warnings.showwarning = lambda message, *_args, **_named: console.print(f"warning: {message}", markup=False)
        rows: dict[str, TaskID] = {}

        def progress(stage: str, done: int, total: int) -> None:
            if stage not in rows:
                for row in rows.values():  # earlier stages are done
                    bars.update(row, completed=bars.tasks[row].total)
                for row in [*rows.values()][: -MOST_BARS + 1]:  # more than fit would push the current one out of sight
                    bars.update(row, visible=False)
                rows[stage] = bars.add_task(stage, total=total or None)
            bars.update(rows[stage], completed=done, total=total or None)

        chosen = progress if live else log
        yield _hinting(chosen, lambda text: console.print(text, markup=False, highlight=False))


def _hinting(progress: Progress, tell: Callable[[str], None]) -> Progress:
    """The same progress, which tells once how to resample less, if that takes long and is not nearly over."""
    began: dict[str, float] = {}
    told = False

    def hinting(stage: str, done: int, total: int) -> None:
        nonlocal told
        progress(stage, done, total)
        if told or not stage.startswith("assess") or total <= 2 * FEW_REPLICATES:
            return
        if time.monotonic() - began.setdefault(stage, time.monotonic()) > SLOW_S and done < 0.8 * total:
            told = True
            tell(f"intervals take long: for a first look --replicates {FEW_REPLICATES} is faster, and less exact")

    return hinting


def bound_size() -> None:
    """Bound the size of the terminal in the environment, where any text may stand: libraries trust it.

    rich fails on some of them, prints nothing in 0 columns, and a character a line in 1.
    """
    for name in ("COLUMNS", "LINES"):
        value = os.environ.get(name, "")
        if re.fullmatch("[0-9]{1,9}", value) and int(value):
            os.environ[name] = str(_bounded(int(value)))
        else:
            os.environ.pop(name, None)


def _bounded(size: int) -> int:
    return min(max(size, NARROWEST), BROADEST)


def screen(*, usual: int = 80, least: int = 0) -> Console:
    """Where results are printed: as wide as the terminal, or `usual` columns without one, in bounds and `least`."""
    from rich.console import Console

    class Screen(Console):
        def on_broken_pipe(self) -> None:
            raise BrokenPipeError  # rich would end with 1; `_run` ends with what shells expect

    return Screen(width=max(_bounded(shutil.get_terminal_size((usual, 24)).columns), least))


def show(*reports: Report, folder: Path, full: bool = False, below: int = 1) -> None:
    """Print the first screen of one or more reports, or all of each.

    folder: where they are, for the command that prints every score. below: lines that follow, for paths.
    """
    from shiftbench.report import terminal
    from shiftbench.report.view import cautions

    console = screen()
    if full:
        for report in reports:
            console.print(terminal.render(report))
    else:
        console.print(terminal.first_screen(reports, lines=LINES - below))
        warned = sum(len(cautions(report)) for report in reports)
        noted = f"; {warned} warning{'s' * (warned > 1)} in the report" if warned else ""
        command = f"shiftbench report {shlex.quote(str(folder))} --full"
        # Whatever its length, a command stays on one line: it is copied.
        console.print(f"\nevery score: `{command}`{noted}", style="dim", highlight=False, markup=False, soft_wrap=True)


def tell_records(reports: Sequence[Report], pages: Sequence[Path]) -> None:
    """Say where the records behind the scores are: beside the pages of reports."""
    found = [page.parent / RECORDS for report, page in zip(reports, pages, strict=False) if report.notable]
    if found:
        where = found[0] if len(pages) == 1 else f"{RECORDS} beside each"
        line = f"records: {where} (worst, confidently wrong, least certain)"
        say(line if len(line) <= USUAL else f"records: {where}")


def write(report: Report, folder: Path, pictures: Sequence[Picture] = ()) -> Path:
    """Write a report in every format, with pictures of a track's own; returns the page to open first."""
    from shiftbench import report as reports

    return reports.write(report, folder, pictures)["html"]
