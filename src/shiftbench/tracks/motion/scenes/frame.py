"""The state of a vehicle at T = 0, its agent frame, and its future.

A vehicle that is absent in the last j past steps and returns m steps after T = 0 is interpolated linearly between
its last past and its first future state. `exact` uses the ratio j / (j + m), which is T = 0, and interpolates yaw along
the shorter arc. `published` uses (j + 1) / (j + 2) and yaw as a plain number: it overshoots by up to 0.067 s.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError, UnknownNameError
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST

Floats = npt.NDArray[np.float64]

INTERPOLATIONS = ("published", "exact")


@dataclass(frozen=True, eq=False)
class State:
    """A vehicle at one time: position, dimensions, velocity, acceleration float64 [3]; yaw in radians."""

    position: Floats
    dimensions: Floats
    velocity: Floats
    acceleration: Floats
    yaw: float


@dataclass(frozen=True, eq=False)
class AgentFrame:
    """A frame with its origin at an agent's centre and x forward.

    Attributes:
        center: float64 [2], the origin in the scene's frame, in metres.
        yaw: radians, the direction of x in the scene's frame: that of motion, not of the box.
        to_agent: float64 [4, 4], maps (x, y, z, 1) of the scene to the agent's frame; z is unchanged.
        from_agent: float64 [4, 4], its inverse.
    """

    center: Floats
    yaw: float
    to_agent: Floats
    from_agent: Floats


def latest_state(scene: Scene, track_id: int, *, interpolation: str = "published") -> State:
    """The state of a vehicle at T = 0, interpolated if it is absent there; see the module for both interpolations.

    Raises:
        UnknownNameError: for an unknown interpolation or vehicle.
        ShiftbenchError: if the vehicle is absent at T = 0 and not seen both before and after it.
    """
    if interpolation not in INTERPOLATIONS:
        raise UnknownNameError("interpolation", interpolation, INTERPOLATIONS)
    column = _column(scene, track_id)
    present = scene.vehicles.present[:, column]
    if present[PAST - 1]:
        return _state(scene.vehicles, PAST - 1, column)
    past, future = np.flatnonzero(present[:PAST]), np.flatnonzero(present[PAST:])
    if not (len(past) and len(future)):
        raise ShiftbenchError(
            f"scene {scene.id}, track {track_id}: expected a vehicle seen at T = 0 or both before and after it, "
            f"found {len(past)} past and {len(future)} future steps. It has no state to predict from. Leave it out."
        )
    before = _state(scene.vehicles, int(past[-1]), column)
    after = _state(scene.vehicles, PAST + int(future[0]), column)
    gone, ahead = PAST - 1 - int(past[-1]), 1 + int(future[0])
    if interpolation == "published":
        return _between(before, after, (gone + 1) / (gone + 2))
    return _between(before, _nearest_turn(after, before.yaw), gone / (gone + ahead))


def _column(scene: Scene, track_id: int) -> int:
    column = scene.vehicles.column(track_id)
    if column is None:
        raise UnknownNameError(f"vehicle of scene {scene.id}", track_id, map(str, scene.vehicles.ids.tolist()))
    return column


def _state(tracks: Tracks, step: int, column: int) -> State:
    position, dimensions, velocity, acceleration = (
        array[step, column].copy()
        for array in (tracks.position, tracks.dimensions, tracks.velocity, tracks.acceleration)
    )
    return State(position, dimensions, velocity, acceleration, float(tracks.yaw[step, column]))


def _between(before: State, after: State, ratio: float) -> State:
    values: dict[str, Any] = {}
    for each in fields(State):
        start, end = getattr(before, each.name), getattr(after, each.name)
        values[each.name] = start + ratio * (end - start)
    return State(**values)


def _nearest_turn(state: State, yaw: float) -> State:
    """The same state with multiples of 2π added to its yaw, so that it differs from another yaw by at most π."""
    arc = (state.yaw - yaw + np.pi) % (2 * np.pi) - np.pi
    return State(state.position, state.dimensions, state.velocity, state.acceleration, float(yaw + arc))


def heading(state: State) -> float:
    """The yaw of a state, rotated by π if the vehicle would otherwise drive backwards: yaw is known up to π."""
    forward = np.cos(state.yaw) * state.velocity[0] + np.sin(state.yaw) * state.velocity[1]
    return float(state.yaw + np.pi if forward < 0 else state.yaw)


def frame_at(state: State) -> AgentFrame:
    """The agent frame of a state."""
    yaw = heading(state)
    cos, sin = np.cos(yaw), np.sin(yaw)
    center = state.position[:2].copy()
    from_agent = np.eye(4)
    from_agent[:2, :2] = [[cos, -sin], [sin, cos]]
    from_agent[:2, 3] = center
    to_agent = np.eye(4)
    to_agent[:2, :2] = from_agent[:2, :2].T
    to_agent[:2, 3] = -(to_agent[:2, :2] @ center)
    return AgentFrame(center, yaw, to_agent, from_agent)


def agent_frame(scene: Scene, track_id: int, *, interpolation: str = "published") -> AgentFrame:
    """The frame of a vehicle at T = 0.

    Raises:
        UnknownNameError, ShiftbenchError: as `latest_state`.
    """
    return frame_at(latest_state(scene, track_id, interpolation=interpolation))


def transformed(points: Floats, matrix: Floats) -> Floats:
    """Points [..., 2] transformed by a matrix [4, 4] in double precision; float32 has 2 mm at 10 km."""
    return points @ matrix[:2, :2].T + matrix[:2, 3]


def ground_truth(scene: Scene, track_id: int) -> Floats:
    """The positions of a vehicle at the 25 future steps: float64 [25, 2] in the scene's frame, in metres; NaN where
    absent.

    `transformed(truth, frame.to_agent)` is the same in the agent's frame. (The published code has zeros for NaN.)

    Raises:
        UnknownNameError: for a vehicle that is never seen.
    """
    return scene.vehicles.position[PAST:, _column(scene, track_id), :2].copy()
