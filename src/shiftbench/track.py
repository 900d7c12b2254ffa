"""What a track of a benchmark is: one frozen value; all that knows its data lies in its own folder in `tracks/`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from shiftbench.paper.output import Paper
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

    def __call__(self, source: Path, folder: Path, *, experiment: str, progress: Progress | None) -> Prepared:
        """Read `source`, check it, and write its partitions to `folder`; raises ShiftbenchError for bad input."""


class RunSettings(Protocol):
    """Makes the settings of a run on a prepared folder."""

    def __call__(self, prepared: Prepared, task: Task, *, preset: str, seed: int) -> Settings:
        """The settings of one task with the methods of a preset."""


@dataclass(frozen=True)
class Track:
    """A track: its tasks, its presets of methods, and how its data are made, prepared, run and compared.

    experiments: names of the ways in which its data can be partitioned, the canonical one first.
    example: (path, rows, seed, progress) writes made-up data of the official form; rows is None if nobody says.
    example_name: the name of their file or folder if nobody says.
    open_prepared: what a prepared folder holds.
    with_climates: `prepare` that takes climates from a table, where records can lack them; None: they have none.
    """

    name: str
    tasks: tuple[Task, ...]
    presets: tuple[str, ...]
    experiments: tuple[str, ...]
    example: Callable[[Path, int | None, int, Progress | None], Path]
    example_name: str
    prepare: Prepare
    open_prepared: Callable[[Path], Prepared]
    settings: RunSettings
    paper: Paper
    with_climates: Callable[[Path], Prepare] | None = None
