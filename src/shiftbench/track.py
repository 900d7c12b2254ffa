"""What a track of a benchmark is: one frozen value; all that knows its data lies in its own folder in `tracks/`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from shiftbench.report.content import Report
from shiftbench.settings import Settings

Progress = Callable[[str, int, int], None]
"""Called with a stage's name, how much of it is done, and how much it is in all."""


@dataclass(frozen=True)
class Task:
    """What is predicted: `name` is "regression" or "classification", `target` a column, `unit` its unit.

    threshold: the largest acceptable error, as in the papers.
    """

    name: str
    title: str
    target: str
    unit: str = ""
    threshold: float | None = None


@dataclass(frozen=True)
class Prepared:
    """A folder of partitions ready for a run; `origin` says whose data these are ("official", "made-up …", …).

    counts: records of each partition. unused: of none, by reason. notes: what to know about the data.
    """

    folder: Path
    origin: str
    counts: dict[str, int]
    notes: tuple[str, ...] = ()
    unused: dict[str, int] = field(default_factory=dict)


class Prepare(Protocol):
    """Turns what was downloaded or made into a prepared folder."""

    def __call__(
        self, source: Path, folder: Path, *, experiment: str, climate: Path | None, progress: Progress | None
    ) -> Prepared:
        """Read `source`, check it, and write its partitions to `folder`; raises ShiftbenchError for bad input."""


class RunSettings(Protocol):
    """Makes the settings of a run on a prepared folder."""

    def __call__(self, prepared: Prepared, task: Task, *, preset: str, seed: int) -> Settings:
        """The settings of one task with the methods of a preset."""


class Paper(Protocol):
    """Writes the paper's tables and figures with the results of runs beside what is printed."""

    def __call__(self, reports: Sequence[Report], folder: Path) -> Path:
        """Write everything to `folder` and return the file to read first."""


@dataclass(frozen=True)
class Track:
    """A track: its tasks, its presets of methods, and how its data are made, prepared, run and compared.

    experiments: names of the ways in which its data can be partitioned, the canonical one first.
    example: (path, rows, seed, progress) writes made-up data of the official form; all there are if rows is None.
    example_rows: how many rows these have if nobody says; None: all there are.
    example_name: the name of their file or folder if nobody says.
    open_prepared: what a prepared folder holds.
    shown: the paper's tables with some runs, for `rich.console.Console.print`.
    """

    name: str
    title: str
    tasks: tuple[Task, ...]
    presets: tuple[str, ...]
    experiments: tuple[str, ...]
    example: Callable[[Path, int | None, int, Progress | None], Path]
    prepare: Prepare
    open_prepared: Callable[[Path], Prepared]
    settings: RunSettings
    paper: Paper
    shown: Callable[[Sequence[Report]], Any]
    example_rows: int | None = None
    example_name: str = ""
