"""Checks that scenes are those that a folder was prepared from, without duplicates; nothing is changed."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from shiftbench.errors import TableError
from shiftbench.progress import Progress
from shiftbench.tracks.motion.prepared.shard_making import inputs_of
from shiftbench.tracks.motion.prepared.shard_plan import Plan, read_json, runs
from shiftbench.tracks.motion.prepared.sources import Found
from shiftbench.tracks.motion.prepared.totals import copies

STAGE = "compare scenes with the prepared ones"


def require_same_scenes(folder: Path, found: Found, manifest: dict[str, Any], *, say: Progress) -> None:
    """Check by their hashes that scenes with the same names and sizes are those that a folder was prepared from.

    Raises:
        TableError: naming the first and the last scene of the first shard that differs.
    """
    planned = runs(found, manifest["begun"]["scenes_per_shard"])
    changed = []
    for number, ((part, scenes), entry) in enumerate(zip(planned, manifest["shards"], strict=False)):
        if inputs_of((part.name, part.file(scene), scene) for scene in scenes) != entry.get("inputs"):
            changed.append(f"{part.file(scenes[0])} to {part.file(scenes[-1])}")
        say(STAGE, number + 1, len(planned))
    if changed:
        raise TableError(
            f"{folder}: expected a folder prepared from these scenes, found others with the same names and sizes in "
            f"{len(changed):,} of its {len(planned):,} shards (the first: {changed[0]}). "
            "Take a new folder, or put the scenes back."
        )


def copies_noted(plan: Plan, shards: int) -> list[str]:
    """The problems of duplicate scenes, as far as the shards of a plan have recorded their ids."""
    files: dict[str, list[str]] = {}
    for number in range(shards):
        for identity, file in _noted(plan, number):
            files.setdefault(identity, []).append(file)
    return copies(files)


def _noted(plan: Plan, number: int) -> Iterable[tuple[str, str]]:
    if plan.refused(number).is_file():
        return ((identity, file) for identity, file in read_json(plan.refused(number)))
    if plan.note(number).is_file():
        return ((each[0], each[1]) for each in read_json(plan.note(number))["scenes"])
    return ()
