"""Requests by scene and track: as a table, and their names in messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.check import Flags
from shiftbench.tracks.motion.schema import FUTURE

Ids = npt.NDArray[np.object_]
Tracks = npt.NDArray[np.uint64]
KEY = ["scene", "track"]
"""The columns of a `key_frame` that identify a request."""
LONGEST_ID = 60  # characters of an id that messages show
MOST_LISTED = 3


@dataclass(frozen=True, eq=False)
class Requests:
    """The N requests of a file, even if its predictions are invalid; there may be duplicates.

    scene_ids, track_ids: [N] text and uint64. is_ood: [N].
    """

    scene_ids: Ids
    track_ids: Tracks
    is_ood: Flags

    def __len__(self) -> int:
        return len(self.scene_ids)

    def name(self, place: int) -> str:
        """`scene/track` of the request at a place, for messages."""
        return request_name(self.scene_ids[place], self.track_ids[place])


def key_frame(scene_ids: Ids, track_ids: Tracks) -> pl.DataFrame:
    """Requests [N] as a table: `scene`, `track`, and `row` from 0."""
    scenes = pl.Series("scene", [scene if isinstance(scene, str) else None for scene in scene_ids], dtype=pl.String)
    return pl.DataFrame({"scene": scenes, "track": track_ids}).with_row_index("row")


def request_name(scene_id: object, track_id: object) -> str:
    """`scene/track`, for messages."""
    return f"{shown(scene_id)}/{track_id}"


def shown(scene_id: object) -> str:
    """A scene's id for messages: short, and without control characters."""
    text = "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in str(scene_id)[: LONGEST_ID + 1])
    return text if len(text) <= LONGEST_ID else f"{text[:LONGEST_ID]}…"


def step_problems(found: Mapping[int, str], name: Callable[[int], str]) -> list[str]:
    """The problem, if any, of modes without 25 points. found: position of the request → finding in one of them."""
    if not found:
        return []
    listed = ", ".join(f"{text} in {name(place)}" for place, text in islice(found.items(), MOST_LISTED))
    rest = f" and {len(found) - MOST_LISTED:,} more requests" if len(found) > MOST_LISTED else ""
    return [f"trajectories: expected {FUTURE} points (5 s at 5 Hz) in each mode, found {listed}{rest}."]
