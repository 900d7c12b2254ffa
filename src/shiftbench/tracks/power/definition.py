"""The vessel power track as one value: shaft power after shifts in time since dry dock and true wind speed."""

from __future__ import annotations

from functools import partial

from shiftbench.settings import Assessment, Settings
from shiftbench.tabular import run_of
from shiftbench.track import Example, Prepared, Task, Track
from shiftbench.tracks.power import baselines, example, partitions, preparation, schema
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


TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets=baselines.PRESETS,
    methods=baselines.METHODS,
    experiments=EXPERIMENTS,
    example=Example(
        example.write, "power-example", is_folder=True, with_ship=lambda ship: partial(example.write, ship=ship)
    ),
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    run=run_of(settings, check=check_test_set),
    paper=PAPER,
)
