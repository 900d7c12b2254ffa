"""Runs of a track whose records are rows of a table: its settings, adapted to the user's options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Protocol

import polars as pl

from shiftbench import pipeline
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.pipeline.settings import Settings
from shiftbench.pipeline.study import Result
from shiftbench.progress import Progress
from shiftbench.track import Prepared, Run, RunOptions, Task


class RunSettings(Protocol):
    """Makes the settings of a run on a prepared folder."""

    def __call__(self, prepared: Prepared, task: Task, *, preset: str, seed: int) -> Settings:
        """The settings of one task with the methods of a preset."""


class CheckTestSet(Protocol):
    """Checks a test set given by the user."""

    def __call__(self, frame: pl.DataFrame, *, label: str) -> Sequence[str]:
        """Notes on a table [N], called `label` in messages; raises TableError listing all problems."""


def run_of(settings: RunSettings, check: CheckTestSet | None = None) -> Run:
    """The function that runs the tasks of a track from its settings; each task has one report, in a folder of its name.

    check: run on each test set given by the user before training; None: the checks of `run` suffice.
    """

    def run(
        prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
        progress: Progress | None,
    ) -> list[Result]:  # fmt: skip
        results, opened = [], pipeline.Opened()
        notes = checked(options.test_sets, check, opened) if check else []
        chosen = {  # of all tasks, before any is fitted
            task: with_options(settings(prepared, task, preset=options.preset, seed=options.seed), options)
            for task in tasks
        }
        for task, own in chosen.items():
            place = folder / task.name
            report = pipeline.run(own, place, cores=cores, progress=progress, opened=opened).report
            results.append(Result(task.name, replace(report, warnings=(*report.warnings, *notes))))
        return results

    return run


def checked(test_sets: Mapping[str, str], check: CheckTestSet, opened: pipeline.Opened) -> list[str]:
    """Notes on the tables given by the user, by name → path.

    Raises:
        TableError: listing the problems of all of them.
    """
    notes: list[str] = []
    problems: list[str] = []
    for name, path in test_sets.items():
        try:
            found = check(opened.table(Path(path))[0], label=Path(path).name)
        except TableError as error:
            problems += [f"test set {name}: {text}" for text in error.problems]
        else:
            notes += [f"test set {name}: {text}" for text in found]
    if problems:
        raise TableError(*problems)
    return notes


def with_options(settings: Settings, options: RunOptions) -> Settings:
    """A track's settings with the user's choice of methods, test sets and assessment.

    Raises:
        UnknownNameError: for a method that the preset does not have.
    """
    known = {str(entry["name"]) for entry in settings.methods}
    if unknown := [name for name in options.methods if name not in known]:
        task = f" for {settings.task}" if settings.task else ""
        raise UnknownNameError(f"method of this preset{task}", unknown[0], known)
    # Columns that are forecasts cost nothing, and everything else is compared with them.
    methods = tuple(
        entry for entry in settings.methods if not options.methods or entry["name"] in (*options.methods, "column")
    )
    return replace(
        settings,
        methods=methods,
        test_sets={**settings.test_sets, **options.test_sets},
        members=options.members,
        assessment=options.assessment(settings.assessment),
        track={**settings.track, "preset": options.preset_of(len(methods) == len(settings.methods))},
    )
