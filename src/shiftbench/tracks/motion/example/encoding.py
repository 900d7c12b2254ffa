"""Scenes as bytes of the official messages, some ten times faster than message by message.

All states of a kind have the same length on the wire, so they are rows of one array. Only zeros differ from what
protobuf itself writes: they are written out, which every reader of proto3 takes for the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.road import Crosswalk, Lane, Road
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST, SCENE_TAGS, STEPS

Bytes = npt.NDArray[np.uint8]

IDS = range(128, 16384)
"""Ids of tracks that take two bytes on the wire; no others can be written here."""
_POINT = bytes([27, 0x09, *bytes(8), 0x11, *bytes(8), 0x19, *bytes(8)])
_DOUBLES = (2, 11, 20)  # where the numbers of a point are
# Numbers of fields with their wire type: 2 for what has a length.
_VEHICLE, _PERSON = (0x12, 0x1A, 0x22, 0x2A), (0x12, 0x1A, 0x22)
_YAW = 0x31
_STEPS = {"vehicle": (0x12, 0x2A), "pedestrian": (0x1A, 0x52)}  # past and future
_EGO = (0x22, 0x5A)
_LIST, _GRAPH = 0x0A, 0x3A


def encoded(scene: Scene) -> bytes:
    """The bytes of a scene, whose tracks but the ego vehicle's have ids in `IDS`; `parse_scene` reads them.

    Raises:
        MissingExtraError: if protobuf is not installed.
    """
    rest = protobuf.message("Scene")(
        id=scene.id, scene_tags={name: int(getattr(scene.tags, name)) for name in SCENE_TAGS},
        traffic_lights=[
            {"sections": [{"id": section, "state": state} for section, state in lights.items()]}
            for lights in scene.lights
        ],
        prediction_requests=[{"track_id": each.track_id, "trajectory_tags": each.tags} for each in scene.requests],
    )  # fmt: skip
    return b"".join([
        rest.SerializeToString(),
        *_by_steps(scene.vehicles, "vehicle"),
        *_by_steps(scene.pedestrians, "pedestrian"),
        *_ego(scene.ego),
        _with_length(_GRAPH, _road(scene.road)),
    ])  # fmt: skip


def _with_length(tag: int, data: bytes) -> bytes:
    length, head = len(data), bytearray([tag])
    while length > 127:
        head.append(length & 127 | 128)
        length >>= 7
    head.append(length)
    return bytes(head) + data


def _rows(template: bytes, columns: Iterable[tuple[int, Floats]], number: int) -> Bytes:
    """`number` copies of some bytes, with numbers [R] written over them from the given places on: uint8 [R, size]."""
    found = np.repeat(np.frombuffer(template, dtype=np.uint8)[None], number, axis=0)
    for place, values in columns:
        found[:, place : place + 8] = np.ascontiguousarray(values, dtype="<f8").view(np.uint8).reshape(-1, 8)
    return found


def _points(points: Floats) -> Bytes:
    """Points [P, 3] as elements of a list of points: uint8 [P, 29]."""
    columns = [(1 + place, points[:, axis]) for axis, place in enumerate(_DOUBLES)]
    return _rows(bytes([_LIST]) + _POINT, columns, len(points))


def _states(tracks: Tracks, kind: str, head: bytes) -> tuple[Bytes, npt.NDArray[np.intp]]:
    """All states, step by step: uint8 [R, size], and the number at each step [50]; two bytes of `head` hold the id."""
    step, column = np.nonzero(tracks.present)
    fields = _PERSON if kind == "pedestrian" else _VEHICLE
    names = ("position", "dimensions", "velocity", "acceleration")[: len(fields)]
    template, columns = bytearray(head), []
    for tag, name in zip(fields, names, strict=True):
        values = getattr(tracks, name)[step, column]
        columns += [(len(template) + 1 + place, values[:, axis]) for axis, place in enumerate(_DOUBLES)]
        template += bytes([tag]) + _POINT
    if kind != "pedestrian":
        columns.append((len(template) + 1, tracks.yaw[step, column]))
        template += bytes([_YAW, *bytes(8)])
    found = _rows(bytes(template), columns, len(step))
    if kind != "ego":
        ids = tracks.ids[column].astype(np.int64)
        found[:, len(head) - 2], found[:, len(head) - 1] = ids & 127 | 128, ids >> 7
    return found, tracks.present.sum(axis=1)


def _by_steps(tracks: Tracks, kind: str) -> Iterable[bytes]:
    """A list of states for each of the 50 steps; without anybody in the future there is none for that."""
    size = 3 + (9 if kind == "vehicle" else 0) + 29 * len(_VEHICLE if kind == "vehicle" else _PERSON)
    head = _with_length(_LIST, bytes(size))[:-size] + bytes([0x08, 0, 0])
    states, counts = _states(tracks, kind, head)
    data, width = states.tobytes(), states.shape[1]
    ends = (np.cumsum(counts) * width).tolist()
    steps = range(STEPS) if tracks.present[PAST:].any() else range(PAST)
    past, future = _STEPS[kind]
    for step in steps:
        start = ends[step - 1] if step else 0
        yield _with_length(past if step < PAST else future, data[start : ends[step]])


def _ego(tracks: Tracks) -> Iterable[bytes]:
    """The ego vehicle's states; its id is 0, which is not written."""
    states, _ = _states(tracks, "ego", b"")
    for step, state in enumerate(states):
        yield _with_length(_EGO[0 if step < PAST else 1], state.tobytes())


def _road(road: Road) -> bytes:
    shapes = [*(lane.centers for lane in road.lanes), *(each.polygon for each in road.crosswalks), *road.polygons]
    data = _points(np.concatenate(shapes)).tobytes()
    ends = 29 * np.cumsum([len(shape) for shape in shapes])
    pieces = [data[start:end] for start, end in zip([0, *ends[:-1].tolist()], ends.tolist(), strict=True)]
    lanes, walks = len(road.lanes), len(road.crosswalks)
    found = [_with_length(0x0A, piece + _lane(each)) for piece, each in zip(pieces[:lanes], road.lanes, strict=True)]
    found += [
        _with_length(0x12, _with_length(_LIST, piece) + _rules(each))
        for piece, each in zip(pieces[lanes : lanes + walks], road.crosswalks, strict=True)
    ]
    return b"".join(found + [_with_length(0x1A, _with_length(_LIST, piece)) for piece in pieces[lanes + walks :]])


def _lane(lane: Lane) -> bytes:
    return _lane_fields(lane.max_velocity, lane.gives_way, lane.sections)


@lru_cache(maxsize=512)
def _lane_fields(max_velocity: float, gives_way: bool, ids: tuple[int, int, int]) -> bytes:
    """All of a lane but its points; few combinations serve many lanes."""
    names = ("left_section_id", "main_section_id", "right_section_id")
    sections: dict[str, Any] = {}
    if any(ids):
        sections["traffic_light_section_ids"] = dict(zip(names, ids, strict=True))
    found = protobuf.message("Lane")(max_velocity=max_velocity, gives_way_to_some_lane=gives_way, **sections)
    data: bytes = found.SerializeToString()
    return data


def _rules(crosswalk: Crosswalk) -> bytes:
    rules: Sequence[dict[str, Any]] = [
        {"sections": [{"id": section, "state": state} for section, state in rule.sections],
         "movement_type": rule.movement}
        for rule in crosswalk.rules
    ]  # fmt: skip
    data: bytes = protobuf.message("Crosswalk")(control_rules=rules).SerializeToString()
    return data
