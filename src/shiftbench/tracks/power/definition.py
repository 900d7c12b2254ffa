"""The vessel power track as one value: shaft power after shifts in time since dry dock and true wind speed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from shiftbench.report.content import Report
from shiftbench.settings import Assessment, Settings
from shiftbench.track import Prepared, Progress, Task, Track
from shiftbench.tracks.power import baselines, partitions, preparation, schema
from shiftbench.tracks.power.sources import CANONICAL, EXPERIMENTS

THRESHOLD_KW2 = 500.0**2
TASKS = (Task("regression", "shaft power", schema.POWER, "kW", THRESHOLD_KW2),)
SLICES = (partitions.INTERVAL, partitions.HALF_YEAR)
RULE = "mixed"  # the published evaluation takes one rule for R-AUC and the other for F1


def settings(prepared: Prepared, task: Task, *, preset: str, seed: int) -> Settings:
    """The settings of a run on a prepared folder: inputs are the ten features, days are the clusters.

    Raises:
        UnknownNameError: if there is no such preset.
    """
    return Settings(
        table=str(prepared.folder),
        target=task.target,
        title=f"Vessel power: {prepared.origin}",
        task=task.name,
        unit=task.unit,
        threshold=task.threshold,
        clusters=(partitions.DAY,),
        slices=SLICES,
        drop=(schema.TIME_ID, *partitions.DERIVED),
        seed=seed,
        test_sets=preparation.test_sets(prepared.folder),
        methods=baselines.methods(preset, task=task.name),
        assessment=Assessment(rule=RULE),
        track={"name": preparation.TRACK, "origin": prepared.origin, "experiment": CANONICAL, "preset": preset},
    )


def _example(path: Path, rows: int | None, seed: int, progress: Progress | None) -> Path:
    from shiftbench.tracks.power import example

    return example.write(path, rows, seed, progress)


def _paper(reports: Sequence[Report], folder: Path) -> Path:
    from shiftbench.tracks.power import paper

    return paper.write(reports, folder)["markdown"]


def _shown(reports: Sequence[Report]) -> Any:
    from shiftbench.tracks.power import paper

    return paper.render(paper.tables(reports))


TRACK = Track(
    name=preparation.TRACK,
    title="Vessel power",
    tasks=TASKS,
    presets=baselines.PRESETS,
    experiments=EXPERIMENTS,
    example=_example,
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    settings=settings,
    paper=_paper,
    shown=_shown,
)
