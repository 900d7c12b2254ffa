"""Scenes as a challenge hands them out: of hidden parts without a future, without tags, and with valid requests alone.

The truth is a folder of the same scenes as they were.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from shiftbench.errors import TableError
from shiftbench.tracks.motion.prepared import sources
from shiftbench.tracks.motion.prepared.sources import Part
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import scene_of, valid_requests

FUTURES = ("future_vehicle_tracks", "future_pedestrian_tracks", "future_ego_track")


def withhold(source: Path, split: str, inputs: Path, truth: Path | None) -> None:
    """Write what participants get of a part (train, dev or eval), and its truth if it is hidden.

    Raises:
        TableError: if the folder of scenes has no such part.
    """
    parts = {part.name: part for part in sources.found(source).parts}
    if split not in parts:
        raise TableError(f"{source}: expected a folder {split} of scenes, found {', '.join(parts) or 'none'}.")
    part = parts[split]
    if truth is None:
        _whole(part, inputs)
        return
    _whole(part, truth)
    for path in part.scenes:
        goal = inputs / split / path.relative_to(part.folder)
        goal.parent.mkdir(parents=True, exist_ok=True)
        data = protobuf.read_bytes(path, limit=protobuf.SCENE_BYTES)
        goal.write_bytes(_cut(protobuf.parse_scene(data, source=str(path)), str(path)).SerializeToString())


def _whole(part: Part, folder: Path) -> None:
    """Copy a part as it is."""
    for path in part.scenes:
        goal = folder / part.name / path.relative_to(part.folder)
        goal.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, goal)
    if part.tags:
        shutil.copyfile(part.tags, folder / f"{part.name}_tags.txt")


def _cut(message: Any, source: str) -> Any:
    """The scene without what comes after T = 0, and without what tells of it or of the shift."""
    asked = [request.track_id for request in valid_requests(scene_of(message, source=source))]
    message.DiscardUnknownFields()
    for name in (*FUTURES, "scene_tags", "prediction_requests"):
        message.ClearField(name)
    for track in asked:
        message.prediction_requests.add(track_id=track)
    return message
