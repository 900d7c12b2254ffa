"""Feature maps of whole scenes, 128 px at 1 m, against one OpenCV call per polygon and lane and layer.

The yardstick draws layer by layer, each from the objects of the protobuf message (overlaps aside, which the published
maps treat in a way of their own). A kinder one takes the points of a shape from the message once for all its layers.
All requests of a scene are drawn by each in turn, in one process, and CPU time is compared. Ours is measured twice:
`feature_maps`, which looks through the scene once, and `feature_map`, which does so for every map. The golden and
genuine scenes may not lie in the repository: without the folder ../shared a made-up scene takes their place.
"""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.maps import availability
from shiftbench.tracks.motion.maps.feature_map import CHANNELS, feature_map, feature_maps
from shiftbench.tracks.motion.maps.map_settings import GROUPS
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.frame import agent_frame
from shiftbench.tracks.motion.scenes.scene import Scene, scene_of

ROUNDS = 7
SIZE = 128
BOUND = 1 / 3
ROOT = Path(__file__).resolve().parent.parent
SCENES = {
    "genuine, small": ROOT.parent / "shared/data/motion/test_scene.pb",
    "genuine, large": ROOT.parent / "shared/data/motion/test_scene_2021-05_f509015.pb",
    "dense": ROOT.parent / "shared/golden/inputs/synthetic_scene_dense.pb",
}
MADE = {"made": ROOT / "tests/golden/motion/synthetic_scene_1.pb"}

Layers = list[tuple[str, npt.NDArray[np.float32]]]
Matrix = npt.NDArray[np.float32]


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, seconds of ours over seconds of the yardstick, bound)."""
    found: list[tuple[str, float, float | None]] = []
    for name, path in (SCENES if all(map(Path.exists, SCENES.values())) else MADE).items():
        message = protobuf.parse_scene(path.read_bytes(), source=path.name)
        scene = scene_of(message)
        ids = [request.track_id for request in scene.requests]
        acts: list[Callable[[], object]] = [
            lambda message=message, scene=scene, ids=ids: [layer_by_layer(message, scene, each) for each in ids],
            lambda message=message, scene=scene, ids=ids: [shape_by_shape(message, scene, each) for each in ids],
            lambda scene=scene, ids=ids: feature_maps(scene, ids),
            lambda scene=scene, ids=ids: [feature_map(scene, each) for each in ids],
        ]
        layers, shapes, together, alone = (statistics.median(times) for times in zip(*timed(acts), strict=True))
        found += [
            (f"maps of a scene ({name}) / layer by layer", together / layers, BOUND),
            (f"one map ({name}) / layer by layer", alone / layers, BOUND),
            (f"maps of a scene ({name}) / shape by shape", together / shapes, None),
        ]
    return found


def timed(acts: list[Callable[[], object]], *, rounds: int = ROUNDS) -> Iterator[list[float]]:
    """CPU seconds of each act, in turn, round after round; all are warm."""
    for act in acts:
        act()
    for _ in range(rounds):
        yield [_seconds(act) for act in acts]


def _seconds(act: Callable[[], object]) -> float:
    start = time.process_time()
    act()
    return time.process_time() - start


def layer_by_layer(message: Any, scene: Scene, track_id: int) -> npt.NDArray[np.float32]:
    """The map [17, 128, 128] of a vehicle at T = 0, each layer drawn from the objects of a `Scene` message."""
    matrix = agent_frame(scene, track_id).to_agent.astype(np.float32)
    return np.concatenate([_drawn(message, scene, matrix, (name,)) for name in CHANNELS])


def shape_by_shape(message: Any, scene: Scene, track_id: int) -> npt.NDArray[np.float32]:
    """The same map, each shape taken from the message once and drawn into all its layers."""
    return _drawn(message, scene, agent_frame(scene, track_id).to_agent.astype(np.float32), CHANNELS)


def _drawn(message: Any, scene: Scene, matrix: Matrix, channels: tuple[str, ...]) -> npt.NDArray[np.float32]:
    planes = {name: np.zeros((SIZE, SIZE), np.float32) for name in channels}
    for group, names in GROUPS.items():
        layers = [(name, planes[f"{group}.{name}"]) for name in names if f"{group}.{name}" in planes]
        if layers and group == "road_graph":
            _draw_road(layers, message, scene, matrix)
        elif layers:
            _draw_actors(layers, group, message, matrix)
    return np.stack(list(planes.values()))


def _pixels(points: npt.NDArray[np.float64], matrix: Matrix) -> npt.NDArray[np.int32]:
    there = points.astype(np.float32) @ matrix[:2, :2].T + matrix[:2, 3] + np.float32(SIZE / 2)
    return np.rint(there - np.float32(0.5)).astype(np.int32)


def _points(points: Any) -> npt.NDArray[np.float64]:
    return np.array([(point.x, point.y) for point in points]).reshape(-1, 2)


def _draw_actors(layers: Layers, group: str, message: Any, matrix: Matrix) -> None:
    vehicles = group == "vehicles"
    ego = [message.past_ego_track[-1]] if vehicles else []
    tracks = message.past_vehicle_tracks[-1] if vehicles else message.past_pedestrian_tracks[-1]
    for track in [*tracks.tracks, *ego]:
        yaw = track.yaw if vehicles else math.atan2(track.linear_velocity.y, track.linear_velocity.x)
        cos, sin = math.cos(yaw), math.sin(yaw)
        along, aside = track.dimensions.x / 2, track.dimensions.y / 2
        box = np.array([[along, aside], [along, -aside], [-along, -aside], [-along, aside]])
        corners = _pixels(box @ np.array([[cos, sin], [-sin, cos]]) + (track.position.x, track.position.y), matrix)
        for name, plane in layers:
            cv2.fillPoly(plane, [corners], _value(track, name, matrix))


def _value(track: Any, name: str, matrix: Matrix) -> float:
    if name == "occupancy":
        return 1.0
    if name == "yaw":
        return float(track.yaw)
    vector = track.linear_velocity if name.startswith("velocity") else track.linear_acceleration
    row = matrix[0 if name.endswith("x") else 1]
    return float(row[0] * vector.x + row[1] * vector.y)


def _draw_road(layers: Layers, message: Any, scene: Scene, matrix: Matrix) -> None:
    road, lights = scene.road, {section.id: section.state for section in message.traffic_lights[-1].sections}
    graph, kinds = message.path_graph, {name.partition("_")[0] for name, _ in layers}
    if "crosswalk" in kinds:
        for crosswalk, state in zip(graph.crosswalks, availability.crosswalks(road.crosswalks, lights), strict=True):
            corners = _pixels(_points(crosswalk.geometry.points), matrix)
            for name, plane in layers:
                if name.startswith("crosswalk"):
                    cv2.fillPoly(plane, [corners], 1.0 if name == "crosswalk_occupancy" else state)
    if "lane" in kinds:
        for lane, state in zip(graph.lanes, availability.lanes(road.lanes, lights), strict=True):
            line = _pixels(_points(lane.centers), matrix)
            for name, plane in layers:
                if name.startswith("lane"):
                    _draw_lane(name, plane, line, (lane, state))
    if "road" in kinds:
        for polygon in graph.road_polygons:
            cv2.fillPoly(dict(layers)["road_polygons"], [_pixels(_points(polygon.geometry.points), matrix)], 1.0)


def _draw_lane(
    name: str, plane: npt.NDArray[np.float32], line: npt.NDArray[np.int32], of_lane: tuple[Any, float]
) -> None:
    lane, state = of_lane
    if name == "lane_direction":
        for (x0, y0), (x1, y1) in pairwise(line.tolist()):
            cv2.line(plane, (x0, y0), (x1, y1), math.atan2(y1 - y0, x1 - x0))
    elif name != "lane_priority" or lane.gives_way_to_some_lane:
        values = {"lane_availability": state, "lane_speed_limit": lane.max_velocity / 15}
        cv2.polylines(plane, [line], False, values.get(name, 1.0))
