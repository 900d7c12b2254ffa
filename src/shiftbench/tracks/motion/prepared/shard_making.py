"""Makes one shard: reads and checks its scenes, draws and packs their requests, and records its contents."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import files, tables
from shiftbench.tracks.motion.maps.feature_map import feature_maps
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.partitions import partition_of
from shiftbench.tracks.motion.prepared import vector_codec
from shiftbench.tracks.motion.prepared.map_codec import MapCodec
from shiftbench.tracks.motion.prepared.request_table import REQUEST, request_rows, usable_requests
from shiftbench.tracks.motion.prepared.shard_plan import Begun, Plan, map_settings, read_json
from shiftbench.tracks.motion.prepared.shards import write_shard
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import Request, Scene, scene_of
from shiftbench.tracks.motion.schema import SCENE_TAGS, Maneuver

WORK = f"{__name__}:make"
AT_ONCE = 2**27  # bytes of maps drawn together
Read = tuple[str, str, bytes | ShiftbenchError]  # part, name of the file, and its bytes or the reason for their absence


@dataclass
class _Contents:
    """The contents of a shard in the making."""

    maps: list[bytes] = field(default_factory=list)
    vectors: list[bytes] = field(default_factory=list)
    rows: list[dict[str, Any]] = field(default_factory=list)
    scenes: list[list[Any]] = field(default_factory=list)
    ids: list[tuple[str, str]] = field(
        default_factory=list
    )  # of all scenes that could be parsed, with or without problems
    maneuvers: dict[str, Counter[int]] = field(default_factory=dict)
    unused: Counter[str] = field(default_factory=Counter)


def make(folder: str, number: int) -> None:
    """Make a shard of the plan in a folder, unless it exists and was made from the same scenes.

    Raises:
        ShiftbenchError: listing all problems of its scenes; then only their ids are written.
        MissingExtraError: if protobuf or OpenCV is not installed.
    """
    plan = Plan(Path(folder))
    read = _read(plan.scenes(number))
    inputs = _hash(read)
    plan.refused(number).unlink(missing_ok=True)
    if is_made(plan, number, inputs):
        return
    contents, problems = _contents(read, plan.begun())
    if problems:
        files.write_json(plan.refused(number), contents.ids)
        raise ShiftbenchError(*problems)
    write_shard(plan.shard(number), contents.maps, contents.vectors)
    tables.write_table(pl.DataFrame(contents.rows, schema=REQUEST), plan.requests(number))
    _write_note(plan, number, inputs, contents)


def inputs_of(listed: Iterable[tuple[str, str, Path]]) -> str:
    """The inputs of a shard in a manifest: a hash of its current scenes (part, file, path)."""
    return _hash(_read(listed))


def _read(listed: Iterable[tuple[str, str, Path]]) -> list[Read]:
    return [(part, file, _bytes(path, file)) for part, file, path in listed]


def _bytes(path: Path, name: str) -> bytes | ShiftbenchError:
    try:
        return protobuf.read_bytes(path, limit=protobuf.SCENE_BYTES, source=name)
    except ShiftbenchError as error:
        return error


def _hash(read: Iterable[Read]) -> str:
    """A hash of the names and contents of scene files."""
    digest = hashlib.sha256()
    for _, file, data in read:
        content = data if isinstance(data, bytes) else str(data).encode()
        digest.update(f"{file}\t{len(content)}\n".encode() + content)
    return digest.hexdigest()


def is_made(plan: Plan, number: int, inputs: str) -> bool:
    """Whether a shard exists, is complete, and was made from scenes with this hash."""
    try:
        note = read_json(plan.note(number))
        whole = {plan.shard(number): note["sha256"], plan.requests(number): note["requests_sha256"]}
        return note["inputs"] == inputs and all(files.sha256(path) == known for path, known in whole.items())
    except (TableError, OSError, KeyError, TypeError):
        return False


def _contents(read: Iterable[Read], begun: Begun) -> tuple[_Contents, list[str]]:
    contents, problems = _Contents(), list[str]()
    settings = map_settings(begun.settings)
    for part, file, data in read:
        try:
            if isinstance(data, ShiftbenchError):
                raise data
            message = protobuf.parse_scene(data, source=file)
            contents.ids += [(message.id, file)] if message.id else []
            scene = scene_of(message, source=file)
            partition = partition_of(scene.tags, part, rule=begun.experiment)
            _add(contents, scene, (file, partition), settings)
        except ShiftbenchError as error:
            if isinstance(error, ImportError):  # the same for all scenes
                raise
            problems += error.problems
    return contents, problems


def _add(contents: _Contents, scene: Scene, place: tuple[str, str | None], settings: MapSettings) -> None:
    """Add a scene; only its name and tags if it is not in a partition."""
    file, partition = place
    usable, unused = usable_requests(scene, settings)
    tags = [int(getattr(scene.tags, key)) for key in SCENE_TAGS]
    contents.scenes.append([scene.id, file, tags, partition, len(usable) if partition else 0])
    tally = contents.maneuvers.setdefault(partition or "", Counter())
    tally.update(int(tag) for request in usable for tag in request.tags)
    if partition is None:
        return
    contents.unused.update(unused)
    contents.rows += request_rows(scene, usable, settings, file=file, partition=partition)
    contents.vectors += [
        vector_codec.packed(vector_codec.vectors_of(scene, each.track_id, interpolation=settings.interpolation))
        for each in usable
    ]
    contents.maps += _maps(scene, usable, settings)


def _maps(scene: Scene, requests: list[Request], settings: MapSettings) -> list[bytes]:
    codec = MapCodec(settings)
    step = max(1, AT_ONCE // (4 * int(np.prod(codec.shape))))
    packed = []
    for at in range(0, len(requests), step):
        drawn = feature_maps(scene, [request.track_id for request in requests[at : at + step]], settings)
        packed += [codec.packed(planes) for planes in drawn]
    return packed


def _write_note(plan: Plan, number: int, inputs: str, contents: _Contents) -> None:
    shard = plan.shard(number)
    files.write_json(
        plan.note(number),
        {
            "inputs": inputs,
            "sha256": files.sha256(shard),
            "bytes": shard.stat().st_size,
            "requests": len(contents.rows),
            "requests_sha256": files.sha256(plan.requests(number)),
            "scenes": contents.scenes,
            "maneuvers": {
                name: [tally[each] for each in Maneuver] for name, tally in sorted(contents.maneuvers.items())
            },
            "unused": {reason: count for reason, count in sorted(contents.unused.items()) if count},
        },
    )
