"""A forecasting scenario: 110 sweeps of 10 Hz, five seconds observed and six to come, as one table of states.

It yields one window, whose T = 0 is the last observed sweep. The scenarios of Argoverse's test part lack the future.
Velocities are those given, a tracker's: where we looked, nearer to differences backwards than forwards.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import numpy as np
import polars as pl

from shiftbench.tracks.motion.argoverse2 import categories
from shiftbench.tracks.motion.argoverse2.columns import (
    INTEGER,
    NUMBER,
    TEXT,
    check_headings,
    check_reach,
    check_velocities,
    numbers,
    raise_all,
    table,
    twice,
)
from shiftbench.tracks.motion.argoverse2.recording import HZ, Observed, Recording, motion, track_id
from shiftbench.tracks.motion.argoverse2.sources import Source

COLUMNS = {
    "track_id": TEXT, "object_type": TEXT, "timestep": INTEGER, "position_x": NUMBER, "position_y": NUMBER,
    "heading": NUMBER, "velocity_x": NUMBER, "velocity_y": NUMBER, "scenario_id": TEXT, "focal_track_id": TEXT,
}  # fmt: skip
SWEEPS = 110
LAST_OBSERVED = 49


def read_scenario(source: Source, *, span: int) -> Recording:
    """The recording of a scenario.

    span: sweeps from a window's first step to its T = 0.

    Raises:
        TableError: for a damaged table or invalid columns.
        ShiftbenchError: for all else that is wrong: steps missing, a track twice in a sweep, several scenarios, no
            ego vehicle, no focal track, other units than metres, radians and seconds.
    """
    frame = table(source.table, COLUMNS)
    problems: list[str] = []
    twice(frame, ("timestep", "track_id"), problems)
    _check_steps(frame, problems)
    _check_names(frame, problems)
    _check_units(frame, problems)
    raise_all(source.table, problems)
    time = np.arange(SWEEPS) / HZ
    others = frame.filter(pl.col("track_id") != categories.EGO_TRACK)
    vehicles, pedestrians = (
        motion(_observed(others, kinds), time)[0]
        for kinds in (categories.SCENARIO_VEHICLES, categories.SCENARIO_PEDESTRIANS)
    )
    ego = frame.filter(pl.col("track_id") == categories.EGO_TRACK).with_columns(object_type=pl.lit("ego"))
    return Recording(
        source.id,
        time,
        vehicles,
        pedestrians,
        motion(_observed(ego, {"ego": categories.EGO_DIMENSIONS}), time)[0],
        (LAST_OBSERVED - span,),
        track_id(frame["focal_track_id"][0]),
        left_out(others, "object_type", {*categories.SCENARIO_VEHICLES, *categories.SCENARIO_PEDESTRIANS}),
    )


def left_out(frame: pl.DataFrame, column: str, kept: Collection[str]) -> Counter[str]:
    """How many tracks there are of each category that scenes do not have."""
    name = "track_id" if "track_id" in frame.columns else "track_uuid"
    rest = frame.filter(~pl.col(column).is_in(list(kept)))
    return Counter(dict(rest.group_by(column).agg(pl.col(name).n_unique()).iter_rows()))


def _check_steps(frame: pl.DataFrame, problems: list[str]) -> None:
    steps = frame["timestep"].unique().sort()
    if steps.to_list() != list(range(SWEEPS)):
        problems.append(
            f"timestep: expected all of 0 to {SWEEPS - 1}, found {len(steps)} from {steps[0]} to {steps[-1]}. "
            "Without the future there is nothing to predict: scenarios of Argoverse's test part cannot be used."
        )
    ego = frame.filter(pl.col("track_id") == categories.EGO_TRACK).height
    if ego < SWEEPS:
        problems.append(f"track {categories.EGO_TRACK}: expected the ego vehicle at {SWEEPS} steps, found {ego}.")


def _check_names(frame: pl.DataFrame, problems: list[str]) -> None:
    for name in ("scenario_id", "focal_track_id"):
        if (count := frame[name].n_unique()) != 1:
            problems.append(f"{name}: expected one, found {count}. Keep one scenario a file.")
    focal = frame["focal_track_id"][0]
    if not (frame["track_id"] == focal).any():
        problems.append(f"focal_track_id: expected one of the tracks, found {focal!r}.")


def _check_units(frame: pl.DataFrame, problems: list[str]) -> None:
    check_headings(frame["heading"], problems)
    ego = frame.filter(pl.col("track_id") == categories.EGO_TRACK).unique("timestep", keep="first")
    beside = frame.join(ego, on="timestep", suffix="_ego")
    places = [pl.col(name) - pl.col(f"{name}_ego") for name in ("position_x", "position_y")]
    check_reach(beside.select(places), problems)
    kinds = [*categories.SCENARIO_VEHICLES, *categories.SCENARIO_PEDESTRIANS]
    check_velocities(frame.filter(pl.col("object_type").is_in(kinds)), problems)


def _observed(frame: pl.DataFrame, kinds: dict[str, tuple[float, float, float]]) -> Observed:
    rows = frame.filter(pl.col("object_type").is_in(list(kinds)))
    return Observed(
        rows["track_id"].to_numpy().astype(object),
        rows["timestep"].to_numpy().astype(np.intp),
        numbers(rows, "position_x", "position_y"),
        rows["heading"].to_numpy(),
        np.array([kinds[kind] for kind in rows["object_type"]], dtype=np.float64).reshape(-1, 3),
        numbers(rows, "velocity_x", "velocity_y"),
    )
