"""Maneuver tags of a vehicle's future, by the printed rules (Malinin et al. 2021, Table 18).

The rules leave some points open. Here "moved" is the displacement from the first step to the last; a vehicle starts if
its first speed is below 0.25 m/s (print repeats the condition of stopping); "2 s in total" is the union of all windows
of 2 s; acceleration is along the vehicle; a standing vehicle has none, since the measured speed of parked vehicles
varies by more than the bound.

Of the 22 requests of two genuine scenes two get another tag: one that turns by 6 degrees is published as a left turn,
and a standing one as accelerating. Genuine tags have no deceleration, which three of these vehicles have here.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.schema import HZ, PAST, Maneuver

Floats = npt.NDArray[np.float64]

MOVED_M, STILL_M = 2.0, 0.5
STRAIGHT, BACK = np.pi / 12, 3 * np.pi / 4  # largest change of heading of forward motion, and of a turn
STOPPED_MS = 0.25
ACCELERATED_MS2 = 0.3
WINDOW_S = 2


def tags_of(vehicles: Tracks, column: int) -> tuple[Maneuver, ...]:
    """The tags of a vehicle of a scene, ascending; empty unless it is seen at all future steps.

    They begin at T = 0, or one step later if the vehicle is not seen then.
    """
    present = vehicles.present[:, column]
    if not present[PAST:].all():
        return ()
    steps = slice(PAST - 1 if present[PAST - 1] else PAST, None)
    return maneuver_tags(*(values[steps, column] for values in (vehicles.position, vehicles.velocity, vehicles.yaw)))


def maneuver_tags(position: Floats, velocity: Floats, yaw: Floats, *, hz: int = HZ) -> tuple[Maneuver, ...]:
    """The tags of a vehicle from T = 0 to the end of its future, ascending.

    Args:
        position: [T, 2] or [T, 3] metres, T steps that span at least 2 s: 26 of a scene.
        velocity: [T, 2] or [T, 3] m/s.
        yaw: [T] radians, known up to π.
        hz: steps a second.

    Raises:
        ArrayError: for other shapes, too few steps, or numbers that are not finite.
    """
    _check(position, velocity, yaw, WINDOW_S * hz + 1)
    heading = _headings(velocity, yaw)
    along = velocity[:, 0] * np.cos(heading) + velocity[:, 1] * np.sin(heading)
    displacement = float(np.hypot(*(position[-1, :2] - position[0, :2])))
    found = [
        *_direction(displacement, float(heading[-1] - heading[0])),
        *(_change_of_speed(along, hz) if displacement > STILL_M else [Maneuver.UNIFORM]),
        *_halt(displacement, *np.hypot(velocity[[0, -1], 0], velocity[[0, -1], 1]).tolist()),
    ]
    return tuple(sorted(found))


def _check(position: Floats, velocity: Floats, yaw: Floats, steps: int) -> None:
    if not (
        position.ndim == velocity.ndim == 2
        and len(position) == len(velocity) == len(yaw) >= steps
        and min(position.shape[1], velocity.shape[1]) >= 2
        and yaw.ndim == 1
    ):
        raise ArrayError(
            f"maneuver: expected position and velocity [T, 2] and yaw [T] of at least {steps} steps, found "
            f"{position.shape}, {velocity.shape} and {yaw.shape}."
        )
    if not all(np.isfinite(each).all() for each in (position[:, :2], velocity[:, :2], yaw)):
        raise ArrayError(
            "maneuver: expected finite positions, velocities and yaws, found NaN or infinity. "
            "Only a vehicle seen at every step has a maneuver."
        )


def _headings(velocity: Floats, yaw: Floats) -> Floats:
    """Yaw [T] without jumps, in the overall direction of motion."""
    heading = np.unwrap(yaw, period=np.pi)
    forward = (velocity[:, 0] * np.cos(heading) + velocity[:, 1] * np.sin(heading)).sum()
    return heading + np.pi if forward < 0 else heading


def _direction(displacement: float, turn: float) -> list[Maneuver]:
    if displacement < MOVED_M:
        return []
    if abs(turn) <= STRAIGHT:
        return [Maneuver.MOVE_FORWARD]
    if abs(turn) > BACK:
        return [Maneuver.MOVE_BACK]
    return [Maneuver.MOVE_LEFT if turn > 0 else Maneuver.MOVE_RIGHT]


def _change_of_speed(along: Floats, hz: int) -> list[Maneuver]:
    """The change of speed in any window of 2 s, by a linear fit; one such window is 2 s in total."""
    windows = np.lib.stride_tricks.sliding_window_view(along, WINDOW_S * hz + 1)
    time = (np.arange(windows.shape[1]) - WINDOW_S * hz / 2) / hz
    slopes = windows @ time / (time @ time)
    kinds = {
        Maneuver.ACCELERATION: slopes > ACCELERATED_MS2,
        Maneuver.DECELERATION: slopes < -ACCELERATED_MS2,
        Maneuver.UNIFORM: np.abs(slopes) <= ACCELERATED_MS2,
    }
    return [kind for kind, holds in kinds.items() if holds.any()]


def _halt(displacement: float, first: float, last: float) -> list[Maneuver]:
    """first, last: speeds in m/s."""
    if displacement <= STILL_M:
        return [Maneuver.STATIONARY]
    stops = [Maneuver.STOPPING] if last < STOPPED_MS else []
    return stops + ([Maneuver.STARTING] if first < STOPPED_MS else [])
