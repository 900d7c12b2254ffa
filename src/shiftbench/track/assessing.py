"""Reports on predictions files for a track that somebody else made: scored, assessed, and drawn where it can be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from shiftbench.assessment import build
from shiftbench.pipeline.study import Result
from shiftbench.progress import Progress, silent
from shiftbench.settings import Assessment
from shiftbench.track.contract import RunOptions, Task, Track


def assess(
    track: Track,
    predictions: Mapping[str, Path],
    truth: Path,
    tasks: Sequence[Task],
    options: RunOptions,
    *,
    cores: int,
    progress: Progress | None = None,
    **changes: Any,
) -> list[Result]:
    """Reports on predictions files by name, together if there are several, for each task that they are of.

    Args:
        track: whose predictions they are.
        predictions: name → file, in the form that the track reads.
        truth: what they are scored against: a prepared folder, or whatever else the track takes.
        tasks: whose errors may be reported.
        options: seed and assessment; the rest has no effect.
        cores, progress: of the bootstrap, and told how far it is.
        changes: of the report's `shiftbench.Options`, such as its title or its threshold.

    Raises:
        ShiftbenchError: with all that is wrong with the files.
    """
    say, results = progress or silent, []
    for scored in track.score_files(predictions, truth, tasks, progress=progress):
        usual, task = scored.options, scored.task
        how = options.assessment(Assessment(rule=usual.rule))
        changed = {
            "rule": how.rule,
            "intervals": how.intervals(options.seed, cores),
            "recipe": {**usual.recipe, "seed": options.seed},
            **changes,
        }
        pictures, missing = track.pictures(scored) if track.pictures else ((), ())
        report = build(scored.parts, replace(usual, **changed), progress=partial(say, f"assess {task.title}"))
        report = replace(report, warnings=(*scored.notes, *missing, *report.warnings))
        results.append(Result(task.name, report, tuple(pictures)))
    return results
