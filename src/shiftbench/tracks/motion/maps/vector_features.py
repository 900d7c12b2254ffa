"""Vector features: the past of the agent and of its neighbours, lanes and crosswalks, as padded arrays with masks.

All in the agent's frame at T = 0, x forward, in metres, m/s, m/s² and radians. Padding and unknown values are 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shiftbench.errors import SettingsError, UnknownNameError
from shiftbench.tracks.motion.maps import availability, drawing
from shiftbench.tracks.motion.maps.map_settings import YAW_FRAMES
from shiftbench.tracks.motion.maps.outlines import SPEED_UNIT
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.frame import AgentFrame, agent_frame, transformed
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST

Singles = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

STATE = ("x", "y", "velocity_x", "velocity_y", "acceleration_x", "acceleration_y", "yaw", "known")
KNOWN = STATE.index("known")
LINE = ("is_lane", "is_crosswalk", "gives_way", "speed_limit", "availability")
KINDS = ("vehicle", "pedestrian", "ego")
STEP_M = 2.0  # metres between the points of a polyline, before it is cut into pieces


def agent_history(
    scene: Scene, track_id: int, *, yaw_frame: str = "global", interpolation: str = "published"
) -> Singles:
    """The 25 past steps of a vehicle in its own frame, oldest first: float32 [25, 8], columns as in `STATE`.

    Equal to the published vector features, float32 sums included: kilometres from the scene's origin their resolution
    is 1 mm. Where the vehicle is absent, all columns are 0, the flag `known` included.

    Raises:
        UnknownNameError: for an unknown frame of the yaw, interpolation or vehicle.
        ShiftbenchError: if the vehicle has no state at T = 0.
    """
    if yaw_frame not in YAW_FRAMES:
        raise UnknownNameError("yaw frame", yaw_frame, YAW_FRAMES)
    frame = agent_frame(scene, track_id, interpolation=interpolation)
    tracks, column = scene.vehicles, scene.vehicles.column(track_id)
    position, velocity, acceleration = (
        array[:PAST, column, :2].astype(np.float32) for array in (tracks.position, tracks.velocity, tracks.acceleration)
    )
    yaw = tracks.yaw[:PAST, column]
    history = np.empty((PAST, len(STATE)), dtype=np.float32)
    history[:, 0:2] = drawing.transformed(position, frame.to_agent.astype(np.float32), fused=False)
    history[:, 2:4] = drawing.turned(velocity, frame.to_agent, fused=False)
    history[:, 4:6] = drawing.turned(acceleration, frame.to_agent, fused=False)
    history[:, 6] = yaw if yaw_frame == "global" else drawing.turned_yaw(yaw, frame.yaw)
    history[:, KNOWN] = 1
    history[~tracks.present[:PAST, column]] = 0
    return history


@dataclass(frozen=True, eq=False)
class Neighbours:
    """The B nearest others at T = 0, nearest first, padded to B.

    Attributes:
        states: float32 [B, 25, 8], oldest step first, columns as in `STATE`; all yaws in the agent's frame. A
            pedestrian's acceleration and yaw are unknown: 0 and the direction of walking are used.
        size: float32 [B, 2], length and width at T = 0.
        kind: int8 [B], the index in `KINDS`; −1 for padding.
        mask: bool [B], true for a neighbour.
    """

    states: Singles
    size: Singles
    kind: npt.NDArray[np.int8]
    mask: Flags


def neighbours(scene: Scene, track_id: int, *, most: int = 32, interpolation: str = "published") -> Neighbours:
    """The vehicles, pedestrians and the ego vehicle around a vehicle that are present at T = 0, the nearest `most`.

    Raises:
        SettingsError: if `most` is below 1.
        UnknownNameError, ShiftbenchError: as `agent_history`.
    """
    _require_counts(most=most)
    frame = agent_frame(scene, track_id, interpolation=interpolation)
    others = [
        _others(tracks, kind, frame, without=track_id if kind == 0 else None)
        for kind, tracks in enumerate((scene.vehicles, scene.pedestrians, scene.ego))
    ]
    states, size, kind = (np.concatenate(parts) for parts in zip(*others, strict=True))
    nearest = np.argsort(np.hypot(states[:, -1, 0], states[:, -1, 1]), kind="stable")[:most]
    found = Neighbours(
        np.zeros((most, PAST, len(STATE)), np.float32),
        np.zeros((most, 2), np.float32),
        np.full(most, -1, np.int8),
        np.arange(most) < len(nearest),
    )
    found.states[: len(nearest)] = states[nearest]
    found.size[: len(nearest)] = size[nearest]
    found.kind[: len(nearest)] = kind[nearest]
    return found


def _others(tracks: Tracks, kind: int, frame: AgentFrame, *, without: int | None) -> tuple[Floats, Floats, Floats]:
    """States [A, 25, 8], sizes [A, 2] and kinds [A] of the tracks present at T = 0."""
    here = tracks.present[PAST - 1]
    if without is not None:
        here = here & (tracks.ids != without)
    columns = np.flatnonzero(here)
    position, velocity, acceleration = (
        array[:PAST, columns, :2].swapaxes(0, 1) for array in (tracks.position, tracks.velocity, tracks.acceleration)
    )
    yaw = tracks.yaw[:PAST, columns].T
    if KINDS[kind] == "pedestrian":
        yaw = np.arctan2(velocity[..., 1], velocity[..., 0])
    turn = frame.to_agent[:2, :2].T
    moving = [transformed(position, frame.to_agent), velocity @ turn, acceleration @ turn]
    seen = tracks.present[:PAST, columns].T
    states = np.concatenate([*moving, drawing.turned_yaw(yaw, frame.yaw)[..., None], seen[..., None]], axis=-1)
    states = np.where(seen[..., None], np.nan_to_num(states), 0.0)  # a pedestrian's acceleration is NaN
    return states, tracks.dimensions[PAST - 1, columns, :2], np.full(len(columns), kind)


@dataclass(frozen=True, eq=False)
class Polylines:
    """Pieces of lanes and crosswalks, the L nearest, nearest first, each of at most P points; padded.

    Attributes:
        points: float32 [L, P, 2], x and y.
        point_mask: bool [L, P], true for a point.
        attributes: float32 [L, 5], columns as in `LINE`; speed limit in 15 m/s, availability at T = 0 (−2 unknown,
            −1 forbidden, 1 allowed, 2 unregulated).
        mask: bool [L], true for a piece.
    """

    points: Singles
    point_mask: Flags
    attributes: Singles
    mask: Flags


def polylines(
    scene: Scene, track_id: int, *, most: int = 128, points: int = 20, interpolation: str = "published"
) -> Polylines:
    """Lanes (along their middle) and crosswalks (around their border, closed) in the frame of a vehicle.

    Points are 2 m apart, with the first and last of a line; lines of more than `points` points are cut into pieces that
    share an end. The `most` pieces nearest to the agent are kept.

    Raises:
        SettingsError: if `most` is below 1 or `points` below 2.
        UnknownNameError, ShiftbenchError: as `agent_history`.
    """
    _require_counts(most=most, points=points)
    frame = agent_frame(scene, track_id, interpolation=interpolation)
    lines, attributes = _lines(scene)
    spaced, counts = _spaced(lines, frame)
    place, known, line = _pieces(counts, points)
    distance = np.where(known, np.hypot(spaced[:, 0], spaced[:, 1])[place], np.inf).min(axis=1, initial=np.inf)
    nearest = np.argsort(distance, kind="stable")[:most]
    found = Polylines(
        np.zeros((most, points, 2), np.float32),
        np.zeros((most, points), np.bool_),
        np.zeros((most, len(LINE)), np.float32),
        np.arange(most) < len(nearest),
    )
    found.points[: len(nearest)] = np.where(known[nearest, :, None], spaced[place[nearest]], 0)
    found.point_mask[: len(nearest)] = known[nearest]
    found.attributes[: len(nearest)] = attributes[line[nearest]]
    return found


def _lines(scene: Scene) -> tuple[list[Floats], Singles]:
    """The lines of lanes and crosswalks, [P, 3] each, and their attributes [N, 5]; without empty ones."""
    road, lights = scene.road, scene.lights[PAST - 1]
    closed = [np.concatenate([each.polygon, each.polygon[:1]]) for each in road.crosswalks]
    allowed = availability.lanes(road.lanes, lights) + availability.crosswalks(road.crosswalks, lights)
    rows = [(1, 0, lane.gives_way, lane.max_velocity / SPEED_UNIT) for lane in road.lanes]
    rows += [(0, 1, False, 0.0) for _ in road.crosswalks]
    lines = [*(lane.centers for lane in road.lanes), *closed]
    kept = [number for number, line in enumerate(lines) if len(line)]
    attributes = np.array([(*rows[number], allowed[number]) for number in kept], dtype=np.float32).reshape(
        -1, len(LINE)
    )
    return [lines[number] for number in kept], attributes


def _spaced(lines: Sequence[Floats], frame: AgentFrame) -> tuple[Floats, Places]:
    """All lines in the agent's frame with a point every `STEP_M`, ends kept: [Q, 2], and how many each has [N]."""
    if not lines:
        return np.empty((0, 2)), np.empty(0, dtype=np.intp)
    ends = np.cumsum([len(line) for line in lines], dtype=np.intp)
    flat = transformed(np.concatenate(lines)[:, :2], frame.to_agent)
    sides = np.hypot(*np.diff(flat, axis=0).T)
    sides[ends[:-1] - 1] = 1.0  # all lines at once, with 1 m from the end of one to the start of the next
    walked = np.concatenate([[0.0], np.cumsum(sides)])
    start = walked[np.append(0, ends[:-1])]
    length = walked[ends - 1] - start
    counts = 1 + np.maximum(1, np.ceil(length / STEP_M - 1e-6)).astype(np.intp)  # so that 8.000000001 m are four steps
    step = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    places = np.repeat(start, counts) + step * np.repeat(length / (counts - 1), counts)
    return np.stack([np.interp(places, walked, flat[:, axis]) for axis in (0, 1)], axis=-1), counts


def _pieces(counts: Places, points: int) -> tuple[Places, Flags, Places]:
    """Lines with these numbers of points, cut into K pieces of at most P, each beginning where the last one ends.

    The indices [K, P] of their points, flags [K, P] of points that are not padding, and the line [K] of each piece.
    """
    pieces = -(-(counts - 1) // (points - 1))
    line = np.repeat(np.arange(len(counts)), pieces)
    begun = (np.arange(len(line)) - (np.cumsum(pieces) - pieces)[line]) * (points - 1)
    known = np.arange(points) < (counts[line] - begun)[:, None]
    place = (np.cumsum(counts) - counts)[line][:, None] + begun[:, None] + np.arange(points)
    return np.where(known, place, 0), known, line


def _require_counts(*, most: int, points: int = 2) -> None:
    problems = [
        f"{name}: expected a whole number from {least} on, found {value}."
        for name, value, least in (("most", most, 1), ("points", points, 2))
        if value < least
    ]
    if problems:
        raise SettingsError(*problems)
