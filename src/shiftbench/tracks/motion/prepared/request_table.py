"""The requests of a scene that can be predicted and scored, and their rows in a table of requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import check
from shiftbench.errors import ArrayError, ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.scenes.frame import agent_frame, ground_truth, transformed
from shiftbench.tracks.motion.scenes.scene import Request, Scene, valid_requests
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions import truth

Rows = npt.NDArray[np.int64]
NO_FUTURE = "requests whose vehicle is not there at all 25 future steps"
NO_PAST = "requests whose vehicle has no state at T = 0"

REQUEST: dict[str, Any] = {
    "id": pl.String, "scene_id": pl.String, "track_id": pl.UInt64, "file": pl.String, "partition": pl.String,
    "shifted": pl.Boolean, "city": pl.String, "precipitation": pl.String, "season": pl.String, "sun_phase": pl.String,
    **dict.fromkeys(truth.MANEUVERS, pl.String), "origin": pl.Array(pl.Float64, 2), "heading": pl.Float64,
    "target": pl.Array(pl.Float32, (FUTURE, 2)),
}  # fmt: skip
"""The columns of a table of requests. `origin` (metres) and `heading` (radians) are the agent frame in the scene."""


def with_recordings(requests: pl.DataFrame, known: Mapping[str, str]) -> pl.DataFrame:
    """Requests with a column `recording`: the recording of their scenes if `known`, or else the scene."""
    names = [known.get(scene, scene) for scene in requests["scene_id"]]
    return requests.with_columns(pl.Series("recording", names, dtype=pl.String))


def usable_requests(scene: Scene, settings: MapSettings) -> tuple[list[Request], Counter[str]]:
    """The requests that can be predicted and scored, and the numbers of others by reason."""
    valid, usable = valid_requests(scene), []
    unused = Counter({NO_FUTURE: len(scene.requests) - len(valid)})
    for request in valid:
        try:
            agent_frame(scene, request.track_id, interpolation=settings.interpolation)
            usable.append(request)
        except UnknownNameError:
            raise
        except ShiftbenchError:
            unused[NO_PAST] += 1
    return usable, unused


def request_rows(
    scene: Scene, requests: list[Request], settings: MapSettings, *, file: str, partition: str | None = None
) -> list[dict[str, Any]]:
    """The rows of requests of a scene; without a partition `shifted` is unknown."""
    labels = truth.slices([(scene.tags, request) for request in requests])
    rows = []
    for place, request in enumerate(requests):
        frame = agent_frame(scene, request.track_id, interpolation=settings.interpolation)
        path = transformed(ground_truth(scene, request.track_id), frame.to_agent)
        rows.append(
            {
                "id": f"{scene.id}/{request.track_id}",
                "scene_id": scene.id,
                "track_id": request.track_id,
                "file": file,
                "partition": partition,
                "shifted": None if partition is None else partition.endswith("_out"),
                **{name: str(column[place]) for name, column in labels.items()},
                "origin": frame.center.tolist(),
                "heading": frame.yaw,
                "target": path.astype(np.float32).tolist(),
            }
        )
    return rows


def row_numbers(rows: Any, count: int) -> Rows:
    """Rows [B] among `count` requests as numbers, from numbers in any order or `count` flags.

    Raises:
        ArrayError: for invalid rows.
    """
    expected = f"rows: expected whole numbers from 0 to {count - 1}, or {count} flags"
    try:
        given = check.as_array("rows", rows, "integers")
    except ArrayError as error:
        found = "lists of different lengths" if "ragged" in str(error) else str(error)
        raise ArrayError(f"{expected}, found {found}.") from None
    if given.dtype == np.bool_ and given.shape == (count,):
        given = np.flatnonzero(given)
    if given.ndim == 1 and not given.size:
        return np.empty(0, np.int64)
    whole = given.dtype.kind in "iu"
    if given.ndim != 1 or not whole or given.min() < 0 or given.max() >= count:
        found = f"{given.min()} to {given.max()}" if whole and given.size else str(given.dtype)
        raise ArrayError(f"{expected}, found {found} of shape {given.shape}.")
    return given.astype(np.int64)
