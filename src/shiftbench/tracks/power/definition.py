"""The vessel power track as one value: shaft power after shifts in time since dry dock and true wind speed."""

from __future__ import annotations

from pathlib import Path

from shiftbench.pipeline.settings import Assessment, Settings
from shiftbench.track import Example, Option, Prepared, Task, Track
from shiftbench.track.table_scores import TableTruth
from shiftbench.track.table_submission import INTAKE
from shiftbench.track.tabular import run_of
from shiftbench.track.withholding import TableInputs
from shiftbench.tracks.power import baselines, example, outside, partitions, preparation, schema
from shiftbench.tracks.power.archives import ARCHIVES
from shiftbench.tracks.power.paper import PAPER
from shiftbench.tracks.power.reading import check_test_set
from shiftbench.tracks.power.sources import CANONICAL, EXPERIMENTS

TASKS = (Task("regression", "shaft power", schema.POWER, "kW", schema.THRESHOLD_KW2),)
SLICES = (partitions.INTERVAL, partitions.HALF_YEAR)


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
        assessment=Assessment(rule=schema.RULE),
        track={"name": schema.TRACK, "origin": prepared.origin, "experiment": CANONICAL, "preset": preset},
    )


SHIP = Option("ship", str, "A ship's name or TOML file", default="container")
TRUTH = TableTruth(
    schema.TRACK, "Vessel power", preparation.open_prepared, clusters=(partitions.DAY,), slices=SLICES,
    rule=schema.RULE,
)  # fmt: skip


def notes(path: Path) -> list[str]:
    """Shares of example records outside the ranges in which the formulas behind their labels are valid."""
    lines = outside.lines(outside.shares_in(path))
    heading = "records outside the ranges of the formulas behind their labels, where these extrapolate:"
    return [heading, *(f"  {line}" for line in lines)] if lines else []


TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets=dict.fromkeys(baselines.PRESETS, baselines.METHODS),
    example=Example(example.write, "power-example", is_folder=True, notes=notes),
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    run=run_of(settings, check=check_test_set),
    score_files=TRUTH.score_files,
    spreads=("run",),
    gpus=True,
    test_sets="table",
    options={"example": (SHIP,)},
    experiments=EXPERIMENTS,
    archives=ARCHIVES,
    paper=PAPER,
    intake=INTAKE,
    withhold=TableInputs(preparation.prepare, EXPERIMENTS[0], schema.INPUTS).withhold,
)
