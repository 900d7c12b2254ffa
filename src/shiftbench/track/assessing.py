"""Reports on existing predictions files for a track: scored, assessed, and with pictures if the track has them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from shiftbench.assessment.assess import build
from shiftbench.assessment.consistency import require_consistent
from shiftbench.pipeline.settings import Assessment
from shiftbench.pipeline.study import Result, require_tasks
from shiftbench.progress import Progress, silent
from shiftbench.track.contract import RunOptions, ScoredFiles, Task, Track


def assess(
    track: Track,
    predictions: Mapping[str, Path],
    truth: Path,
    tasks: Sequence[Task],
    options: RunOptions,
    *,
    cores: int,
    names: Mapping[str, Sequence[str]] | None = None,
    progress: Progress | None = None,
    **changes: Any,
) -> list[Result]:
    """Make a report on predictions files, joint if there are several, for each of their tasks.

    Args:
        track: the track of the predictions.
        predictions: name → file, in the track's format.
        truth: the ground truth: a prepared folder, or another form that the track accepts.
        tasks: the tasks that may be reported.
        options: seed and assessment; other options have no effect.
        cores: for the bootstrap.
        names: what the files call columns, by `Track.columns`.
        progress: called with its progress.
        changes: to the report's `shiftbench.Options`, such as its title or its threshold.

    Raises:
        ShiftbenchError: listing the problems of all files.
    """
    say, results = progress or silent, []
    for scored in _scored(track, predictions, truth, tasks, names, progress):
        usual, task = scored.options, scored.task
        require_tasks(f"track {track.name!r}: score_files: Options.task", [usual.task], [each.name for each in tasks])
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


def require_scored(
    track: Track,
    predictions: Mapping[str, Path],
    truth: Path,
    tasks: Sequence[Task],
    *,
    names: Mapping[str, Sequence[str]] | None = None,
    progress: Progress | None = None,
) -> None:
    """Check that predictions files can be scored, as `assess` would, without a report.

    Raises:
        ShiftbenchError: listing the problems of all files.
    """
    for _ in _scored(track, predictions, truth, tasks, names, progress):
        pass


def _scored(
    track: Track,
    predictions: Mapping[str, Path],
    truth: Path,
    tasks: Sequence[Task],
    names: Mapping[str, Sequence[str]] | None,
    progress: Progress | None,
) -> Iterator[ScoredFiles]:
    own: dict[str, Any] = {"names": names} if names else {}
    for found in track.score_files(predictions, truth, tasks, progress=progress, **own):
        require_consistent(found.parts)
        yield found
