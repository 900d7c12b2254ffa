"""Which vehicles are asked for, and the maneuver tags of their futures by the published rules (Table 18)."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.motion.example.streets import Floats
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.scene import Request
from shiftbench.tracks.motion.schema import HZ, PAST, STEPS, Maneuver

MOST = 6
SLOW = 0.5  # m/s
WEIGHTS = (1.0, 0.25, 0.06)  # of vehicles that move, of those that stand in a street, of those that park
CUT = 0.3  # of these weights for vehicles that are not seen until the end
RECENT = 4  # steps before T = 0 within which a vehicle must have been seen

MOVED_M, SHIFTED_M, STILL = 2.0, 0.5, 0.25  # metres, metres, m/s
STRAIGHT, BACK = np.pi / 12, 3 * np.pi / 4
FITTED = 5  # steps on each side of one: accelerations are fitted over two seconds
CHANGE = 0.3  # m/s²
LASTING = 2 * HZ  # steps


def requests(tracks: Tracks, parked: frozenset[int], rng: np.random.Generator) -> tuple[Request, ...]:
    """One to six requests for vehicles seen at T = 0, or shortly before and some time after; none if there are none.

    Some of these leave before the end, as in the genuine data: their requests are not valid.
    parked: ids of vehicles that nobody drives.
    """
    known = tracks.present[PAST - 1 - RECENT : PAST].any(axis=0) & tracks.present[PAST:].any(axis=0)
    columns = np.flatnonzero(known | tracks.present[PAST - 1])
    number = 1 + int(MOST * rng.random())
    speed = np.nanmax(np.where(known, np.hypot(*np.moveaxis(tracks.velocity[..., :2], -1, 0)), 0.0), axis=0)
    standing = np.array([WEIGHTS[2] if int(track) in parked else WEIGHTS[1] for track in tracks.ids])
    weight = np.where(speed > SLOW, WEIGHTS[0], standing)
    weight = np.where(tracks.present[PAST:].all(axis=0), weight, CUT * weight)[columns]
    keys = -np.log1p(-rng.random(len(columns))) / weight
    chosen = columns[np.argsort(keys, kind="stable")[:number]]
    return tuple(Request(int(tracks.ids[column]), maneuvers(tracks, int(column))) for column in chosen)


def maneuvers(tracks: Tracks, column: int) -> tuple[Maneuver, ...]:
    """The tags of a vehicle's future, as far as it is seen.

    Where the paper leaves room: a heading is that of the box, and accelerations are the slopes of the speed over two
    seconds around each future step.
    """
    present = tracks.present[:, column]
    steps = np.flatnonzero(present)
    after = steps[steps >= PAST]
    if not len(after):
        return ()
    before = steps[steps < PAST]
    first, last = (before[-1] if len(before) else after[0]), after[-1]
    moved = float(np.hypot(*(tracks.position[last, column, :2] - tracks.position[first, column, :2])))
    speed = np.hypot(tracks.velocity[:, column, 0], tracks.velocity[:, column, 1])
    turn = _heading(tracks, int(last), column) - _heading(tracks, int(first), column)
    turn = (turn + np.pi) % (2 * np.pi) - np.pi
    return (*_turns(moved, turn), *_changes(speed), *_stops(moved, float(speed[first]), float(speed[last])))


def _heading(tracks: Tracks, step: int, column: int) -> float:
    """The yaw, which is known up to half a turn, in the direction of the motion, as agent frames have it."""
    yaw, velocity = float(tracks.yaw[step, column]), tracks.velocity[step, column]
    return yaw + np.pi if np.cos(yaw) * velocity[0] + np.sin(yaw) * velocity[1] < 0 else yaw


def _turns(moved: float, turn: float) -> list[Maneuver]:
    if moved < MOVED_M:
        return []
    if abs(turn) <= STRAIGHT:
        return [Maneuver.MOVE_FORWARD]
    if abs(turn) > BACK:
        return [Maneuver.MOVE_BACK]
    return [Maneuver.MOVE_LEFT if turn > 0 else Maneuver.MOVE_RIGHT]


def _stops(moved: float, first: float, last: float) -> list[Maneuver]:
    if moved < SHIFTED_M:
        return [Maneuver.STATIONARY]
    found = [Maneuver.STOPPING] if last < STILL else []
    return [*found, Maneuver.STARTING] if first < STILL else found


def _changes(speed: Floats) -> list[Maneuver]:
    """speed: float64 [50], NaN where the vehicle is not seen."""
    slope = slopes(speed)
    with np.errstate(invalid="ignore"):
        lasting = {
            Maneuver.ACCELERATION: slope > CHANGE,
            Maneuver.DECELERATION: slope < -CHANGE,
            Maneuver.UNIFORM: np.abs(slope) <= CHANGE,
        }
    return [tag for tag, steps in lasting.items() if steps.sum() >= LASTING]


def slopes(speed: Floats) -> Floats:
    """The slope of the straight line fitted to the speed over two seconds around each future step, [25], in m/s².

    Steps that are not seen, or lie after the scene's end, are left out; NaN with fewer than two.
    """
    padded = np.concatenate([speed, np.full(FITTED, np.nan)])
    window = np.lib.stride_tricks.sliding_window_view(padded, 2 * FITTED + 1)[PAST - FITTED : STEPS - FITTED]
    seen = np.isfinite(window)
    time = np.where(seen, np.arange(-FITTED, FITTED + 1) / HZ, 0.0)
    values = np.where(seen, window, 0.0)
    count = np.maximum(seen.sum(axis=1), 1)
    spread = (time**2).sum(axis=1) - time.sum(axis=1) ** 2 / count
    slope = (time * values).sum(axis=1) - time.sum(axis=1) * values.sum(axis=1) / count
    known = (spread > 0) & seen[:, FITTED]
    return np.asarray(np.divide(slope, spread, out=np.full(len(slope), np.nan), where=known))
