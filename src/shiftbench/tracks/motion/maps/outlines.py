"""The outlines of a scene, in flat arrays: corners of actors at some steps, points of the road, in drawing order.

Computed once for all maps of a scene, so that maps need no loop over lanes and points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.maps import availability
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.road import Road
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST

Singles = npt.NDArray[np.float32]
Places = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float64]

SPEED_UNIT = 15.0  # m/s, the unit of drawn speed limits
CORNERS = np.array([[0.5, 0.5], [0.5, -0.5], [-0.5, -0.5], [-0.5, 0.5]])  # of a box, in units of its length and width


@dataclass(frozen=True, eq=False)
class Actors:
    """The A actors of one kind at one step, in drawing order.

    Attributes:
        corners: float32 [A, 4, 2], in the scene's frame, in metres.
        motion: float32 [A, 2, 2], velocity in m/s and acceleration in m/s²; this is NaN for pedestrians.
        yaw: float32 [A], radians; NaN for pedestrians.
    """

    corners: Singles
    motion: Singles
    yaw: Singles


def vehicles(scene: Scene, back: int) -> Actors:
    """Vehicles `back` steps before T = 0, in the order of the message; the ego vehicle comes last."""
    table = np.concatenate([_table(tracks, PAST - 1 - back) for tracks in (scene.vehicles, scene.ego)])
    return _actors(table, heading=table[:, 8])


def pedestrians(scene: Scene, back: int) -> Actors:
    """Pedestrians `back` steps before T = 0, in the order of the message; boxes point where they walk."""
    table = _table(scene.pedestrians, PAST - 1 - back)
    return _actors(table, heading=np.arctan2(table[:, 5], table[:, 4]))


def _table(tracks: Tracks, step: int) -> Floats:
    """The tracks at a step, in drawing order: x, y of position, dimensions, velocity, acceleration; yaw: [A, 9]."""
    present = np.flatnonzero(tracks.present[step])
    present = present[np.argsort(tracks.order[step, present], kind="stable")]
    vectors = (tracks.position, tracks.dimensions, tracks.velocity, tracks.acceleration)
    pairs = [array[step, present, :2] for array in vectors]
    return np.concatenate([*pairs, tracks.yaw[step, present, None]], axis=1)


def _actors(table: Floats, heading: Floats) -> Actors:
    cos, sin = np.cos(heading), np.sin(heading)
    forward, left = np.stack([cos, sin], axis=-1), np.stack([-sin, cos], axis=-1)
    along, aside = (CORNERS.T[:, None] * table[:, 2:4].T[..., None])[..., None]
    corners = along * forward[:, None] + aside * left[:, None] + table[:, None, 0:2]
    rounded = table.astype(np.float32)
    return Actors(corners.astype(np.float32), rounded[:, 4:8].reshape(-1, 2, 2), rounded[:, 8])


@dataclass(frozen=True, eq=False)
class Grouped:
    """Values float32 [N] with their order of drawing: equal values together, in order of first appearance."""

    values: Singles
    turn: npt.NDArray[np.uint16]


def grouped(values: Sequence[float]) -> Grouped:
    """N values with the order in which the published maps draw them."""
    turns: dict[float, int] = {}
    turn = [turns.setdefault(value, len(turns)) for value in values]
    return Grouped(np.array(values, dtype=np.float32), np.array(turn, dtype=np.uint16))


@dataclass(frozen=True, eq=False)
class RoadOutlines:
    """A road as P consecutive points: those of the lanes, then of the crosswalks, then of the polygons.

    Attributes:
        points: float32 [P, 2], in the scene's frame, in metres.
        first: intp [S], the first point of each of the S segments of lanes; a segment ends at the next point.
        lane: intp [S], the lane that a segment belongs to.
        crosswalks: for each crosswalk the slice of its points.
        polygons: for each polygon the slice of its points.
        areas: intp [W], the first points of crosswalks and polygons, without empty ones.
        speed: the speed limit of each of the L lanes, in units of 15 m/s.
        gives_way: bool [L].
    """

    points: Singles
    first: Places
    lane: Places
    crosswalks: tuple[slice, ...]
    polygons: tuple[slice, ...]
    areas: Places
    speed: Grouped
    gives_way: npt.NDArray[np.bool_]


def road_outlines(road: Road) -> RoadOutlines:
    """The outlines of a road. Lanes of fewer than two points have no segment."""
    lanes, walks = len(road.lanes), len(road.crosswalks)
    shapes = [*(lane.centers for lane in road.lanes), *(each.polygon for each in road.crosswalks), *road.polygons]
    counts = np.fromiter(map(len, shapes), dtype=np.intp, count=len(shapes))
    owner = np.repeat(np.arange(lanes), counts[:lanes])
    first = np.flatnonzero(owner[1:] == owner[:-1])
    ends = np.cumsum(counts)[lanes:]
    starts = ends - counts[lanes:]
    areas = tuple(map(slice, starts.tolist(), ends.tolist()))
    points = np.concatenate([np.empty((0, 3)), *shapes])[:, :2].astype(np.float32)
    return RoadOutlines(
        points,
        first,
        owner[first],
        areas[:walks],
        areas[walks:],
        starts[ends > starts],
        grouped([lane.max_velocity / SPEED_UNIT for lane in road.lanes]),
        np.array([lane.gives_way for lane in road.lanes], dtype=np.bool_),
    )


@dataclass(frozen=True, eq=False)
class Lights:
    """The availability of each lane and crosswalk by the lights of one step."""

    lanes: Grouped
    crosswalks: Grouped


@dataclass(frozen=True, eq=False)
class Outlines:
    """Everything drawn of a scene: actors by (group, steps back), the road, and its lights by steps back."""

    actors: Mapping[tuple[str, int], Actors]
    road: RoadOutlines
    lights: Mapping[int, Lights]


def outlines(scene: Scene, history: Sequence[int], road_history: Sequence[int]) -> Outlines:
    """The outlines of a scene at some steps before T = 0 (0 is T = 0 itself, 24 the oldest)."""
    actors = {("vehicles", back): vehicles(scene, back) for back in history}
    actors |= {("pedestrians", back): pedestrians(scene, back) for back in history}
    return Outlines(actors, road_outlines(scene.road), {back: _lights(scene, back) for back in road_history})


def _lights(scene: Scene, back: int) -> Lights:
    states, road = scene.lights[PAST - 1 - back], scene.road
    return Lights(
        grouped(availability.lanes(road.lanes, states)), grouped(availability.crosswalks(road.crosswalks, states))
    )
