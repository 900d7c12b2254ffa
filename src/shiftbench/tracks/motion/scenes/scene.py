"""A scene in plain arrays: tracks at 25 past and 25 future steps, the road, traffic lights, and requests.

Metres, m/s, m/s² and radians, in one common frame of the scene; absent values are NaN.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from shiftbench import check
from shiftbench.errors import ShiftbenchError
from shiftbench.io import files
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.actors import Tracks, no_tracks, track_fields, tracks_of
from shiftbench.tracks.motion.scenes.road import ControlRule, Crosswalk, Lane, Road, road_fields, road_of
from shiftbench.tracks.motion.schema import FUTURE, PAST, SCENE_TAGS, STEPS, LightState, Maneuver, SceneTags

__all__ = [
    "ControlRule", "Crosswalk", "Lane", "Request", "Road", "Scene", "SceneTags", "Tracks", "head_of", "read_scene",
    "scene_of", "valid_requests", "write_scene",
]  # fmt: skip

Lights = Mapping[int, int]

NO_ID = "id: expected the scene's id, found none. Is this a Scene message?"


@dataclass(frozen=True)
class Request:
    """A vehicle whose future is to be predicted, with the maneuvers of that future."""

    track_id: int
    tags: tuple[Maneuver, ...] = ()


@dataclass(frozen=True, eq=False)
class Scene:
    """Ten seconds of traffic. `lights` holds {section id: state} (see `LightState`) for each of the 25 past steps."""

    id: str
    tags: SceneTags
    vehicles: Tracks
    ego: Tracks
    pedestrians: Tracks = field(default_factory=no_tracks)
    road: Road = field(default_factory=Road)
    lights: tuple[Lights, ...] = ({},) * PAST
    requests: tuple[Request, ...] = ()


def read_scene(path: str | os.PathLike[str]) -> Scene:
    """The scene of an official file: one serialised `Scene` message.

    Raises:
        ShiftbenchError: if the file is larger than 16 MiB, truncated or of another format, or listing all its problems.
        MissingExtraError: if protobuf is not installed.
    """
    data = protobuf.read_bytes(path, limit=protobuf.SCENE_BYTES)
    return scene_of(protobuf.parse_scene(data, source=str(path)), source=str(path))


def scene_of(message: Any, *, source: str = "scene") -> Scene:
    """The scene of a `Scene` message.

    Tags of value 0 are unknown. Fields that are not in our .proto files are skipped.

    Raises:
        ShiftbenchError: naming `source` and all problems: missing steps, a track twice in a step, numbers that
            are not finite, unknown enum numbers, a request listed twice, no id, too many tracks.
    """
    problems = _step_problems(message)
    scene = Scene(
        message.id,
        _tags(message.scene_tags, problems),
        tracks_of("vehicle", *_lists(message, "vehicle_tracks"), problems),
        _ego(message, problems),
        tracks_of("pedestrian", *_lists(message, "pedestrian_tracks"), problems),
        road_of(message.path_graph, problems),
        _lights(message.traffic_lights, problems),
        _requests(message.prediction_requests, problems),
    )
    if not message.id:
        problems.append(NO_ID)
    _raise(source, problems)
    return scene


def head_of(message: Any, *, source: str = "scene") -> tuple[str, SceneTags]:
    """The id and the tags of a `Scene` message; nothing else is checked.

    Raises:
        ShiftbenchError: if there is no id, or a tag has an unknown number.
    """
    problems: list[str] = []
    tags = _tags(message.scene_tags, problems)
    if not message.id:
        problems.append(NO_ID)
    _raise(source, problems)
    return message.id, tags


def _raise(source: str, problems: Iterable[str]) -> None:
    if problems:
        raise ShiftbenchError(*(f"{source}: {problem}" for problem in problems))


def _lists(message: Any, name: str) -> tuple[list[Any], list[Any]]:
    past, future = getattr(message, f"past_{name}"), getattr(message, f"future_{name}")
    return [each.tracks for each in past], [each.tracks for each in future]


def _ego(message: Any, problems: list[str]) -> Tracks:
    past, future = ([[state] for state in states] for states in (message.past_ego_track, message.future_ego_track))
    ego = tracks_of("ego", past, future, problems)
    if len(ego.ids) > 1:
        problems.append(f"ego tracks: expected one track id at all steps, found {len(ego.ids)}.")
    return ego


def _step_problems(message: Any) -> list[str]:
    """Lists by steps must have 25 entries; only those of pedestrians, lights and the future may be missing."""
    expected = {
        "past_vehicle_tracks": (PAST,), "past_pedestrian_tracks": (0, PAST), "past_ego_track": (PAST,),
        "future_vehicle_tracks": (0, FUTURE), "future_pedestrian_tracks": (0, FUTURE),
        "future_ego_track": (0, FUTURE), "traffic_lights": (0, PAST),
    }  # fmt: skip
    return [
        f"{name}: expected {' or '.join(map(str, steps))} steps, found {found}. "
        "Scenes have 25 past and 25 future steps at 5 Hz; is this a whole scene?"
        for name, steps in expected.items()
        if (found := len(getattr(message, name))) not in steps
    ]


def _named(kind: type[IntEnum], number: int, where: str, problems: list[str]) -> Any:
    try:
        return kind(number)
    except ValueError:
        last = max(member.value for member in kind)
        problems.append(f"{where}: expected a number of {kind.__name__}, 0 to {last}, found {number}.")
        return kind(0)


def _tags(message: Any, problems: list[str]) -> SceneTags:
    return SceneTags(
        **{key: _named(kind, getattr(message, key), f"scene_tags.{key}", problems) for key, kind in SCENE_TAGS.items()}
    )


def _requests(messages: Iterable[Any], problems: list[str]) -> tuple[Request, ...]:
    requests = tuple(
        Request(
            each.track_id,
            tuple(_named(Maneuver, tag, f"request {each.track_id}", problems) for tag in each.trajectory_tags),
        )
        for each in messages
    )
    twice = [track for track, count in Counter(request.track_id for request in requests).items() if count > 1]
    if twice:
        listed = ", ".join(map(str, twice[:3]))
        problems.append(f"prediction_requests: expected each track once, found {len(twice)} listed twice ({listed}).")
    return requests


def _lights(messages: Iterable[Any], problems: list[str]) -> tuple[Lights, ...]:
    lights = tuple({section.id: section.state for section in step.sections} for step in messages)
    for number in {state for step in lights for state in step.values()}:
        _named(LightState, number, "traffic_lights", problems)
    return lights or ({},) * PAST


def valid_requests(scene: Scene) -> tuple[Request, ...]:
    """The requests that are scored: those whose vehicle is present at all 25 future steps, in their order."""
    check.kind("scene", scene, Scene)
    whole = scene.vehicles.present[PAST:].all(axis=0)
    seen = set(scene.vehicles.ids[whole].tolist())
    return tuple(request for request in scene.requests if request.track_id in seen)


def write_scene(scene: Scene, path: str | os.PathLike[str]) -> None:
    """Write a scene as an official file; `read_scene` then gives the same values again.

    Raises:
        ShiftbenchError: if `scene_of` would refuse it, or the path cannot be written to.
        MissingExtraError: if protobuf is not installed.
    """
    check.kind("scene", scene, Scene)
    message = message_of(scene)
    scene_of(message, source=f"scene {scene.id}")
    place = protobuf.path_of(path)
    try:
        with files.replacing(place) as temporary:
            temporary.write_bytes(message.SerializeToString())
    except (OSError, ValueError) as error:  # ValueError for a zero byte
        found = error.strerror if isinstance(error, OSError) else error
        raise ShiftbenchError(
            f"{place}: expected a place to write a scene to, found: {found}. Choose another."
        ) from None


def message_of(scene: Scene) -> Any:
    """The `Scene` message of a scene.

    A future without any track is left out, as the official files leave out pedestrians and the ego vehicle.
    """
    past, future = range(PAST), range(PAST, STEPS)
    tags = {name: int(getattr(scene.tags, name)) for name in SCENE_TAGS}
    message = protobuf.message("Scene")(id=scene.id, scene_tags=tags, path_graph=road_fields(scene.road))
    for name, tracks in {"vehicle": scene.vehicles, "pedestrian": scene.pedestrians}.items():
        for when, steps in {"past": past, "future": future}.items():
            if when == "past" or tracks.present[PAST:].any():
                for step in steps:
                    getattr(message, f"{when}_{name}_tracks").add(tracks=track_fields(name, tracks, step))
    for when, steps in {"past": past, "future": future}.items():
        for step in steps:
            for fields in track_fields("ego", scene.ego, step):
                getattr(message, f"{when}_ego_track").add(**fields)
    for lights in scene.lights:
        message.traffic_lights.add(sections=[{"id": section, "state": state} for section, state in lights.items()])
    for request in scene.requests:
        message.prediction_requests.add(track_id=request.track_id, trajectory_tags=request.tags)
    return message
