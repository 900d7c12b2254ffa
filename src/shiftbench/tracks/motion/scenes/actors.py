"""Vehicles, pedestrians and the ego vehicle over the 50 steps of a scene: their arrays, from and to messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.schema import FUTURE, LARGEST, PAST, STEPS

Floats = npt.NDArray[np.float64]

# Three numbers each, in the order of the columns of a table of states; a vehicle's yaw comes last.
VECTORS = {"position": "position", "dimensions": "dimensions", "velocity": "linear_velocity"}
VEHICLE_VECTORS = {**VECTORS, "acceleration": "linear_acceleration"}
NUMBERS = 13
# Per kind, to keep hostile files out of memory; dense genuine scenes have about 2,000 states of 100 tracks.
MOST_STATES, MOST_TRACKS = 200_000, 4_000
_ID, _YAW, _POINT = attrgetter("track_id"), attrgetter("yaw"), attrgetter("x", "y", "z")


@dataclass(frozen=True, eq=False)
class Tracks:
    """A tracks of one kind over 50 steps, in order of first appearance.

    Attributes:
        ids: uint64 [A], unique.
        present: bool [50, A]; steps 0 … 24 are the past (24 is T = 0), 25 … 49 the future.
        order: int32 [50, A], the index of the track in its step's message, -1 where absent.
        position: float64 [50, A, 3], the centre, in metres; NaN where absent, as in all that follow.
        dimensions: float64 [50, A, 3], length, width and height, in metres.
        velocity: float64 [50, A, 3], in m/s.
        acceleration: float64 [50, A, 3], in m/s²; NaN for pedestrians.
        yaw: float64 [50, A], radians from the x axis, known up to π; NaN for pedestrians.
    """

    ids: npt.NDArray[np.uint64]
    present: npt.NDArray[np.bool_]
    order: npt.NDArray[np.int32]
    position: Floats
    dimensions: Floats
    velocity: Floats
    acceleration: Floats
    yaw: Floats

    def column(self, track_id: int) -> int | None:
        """The index of a track on the axis A; None if it is never seen."""
        found = np.flatnonzero(self.ids == track_id)
        return int(found[0]) if len(found) else None


def no_tracks() -> Tracks:
    """No tracks: A = 0."""
    return _tracks(np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.intp), np.empty((0, NUMBERS)), [0] * STEPS)


def tracks_of(what: str, past: Sequence[Any], future: Sequence[Any], problems: list[str]) -> Tracks:
    """The tracks of 25 past and 25 future lists of track messages; their problems are added to `problems`.

    `what` is `vehicle`, `pedestrian` or `ego`; a pedestrian has no acceleration and no yaw. A list of steps that does
    not have length 25 counts as empty; the caller checks whether it may be missing.
    """
    lists = [*(past if len(past) == PAST else [()] * PAST), *(future if len(future) == FUTURE else [()] * FUTURE)]
    counts = [len(each) for each in lists]
    if sum(counts) > MOST_STATES:
        problems.append(f"{what} tracks: expected at most {MOST_STATES:,} states, found {sum(counts):,}.")
        return no_tracks()
    records = list(chain.from_iterable(lists))
    ids = np.fromiter(map(_ID, records), dtype=np.uint64, count=len(records))
    unique, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    if len(unique) > MOST_TRACKS:
        problems.append(f"{what} tracks: expected at most {MOST_TRACKS:,} track ids, found {len(unique):,}.")
        return no_tracks()
    states = _states(what, records)
    by_appearance = np.argsort(first)
    column = np.empty(len(unique), dtype=np.intp)
    column[by_appearance] = np.arange(len(unique))
    tracks = _tracks(unique[by_appearance], column[inverse], states, counts)
    problems += _problems(what, tracks, ids, states, counts)
    return tracks


def _states(what: str, records: Sequence[Any]) -> Floats:
    """The numbers of track messages, float64 [R, 9] of pedestrians, [R, 13] of vehicles: no loop in Python."""
    vectors = attrgetter(*(VECTORS if what == "pedestrian" else VEHICLE_VECTORS).values())
    flat: Iterable[float] = chain.from_iterable(map(_POINT, chain.from_iterable(map(vectors, records))))
    if what == "pedestrian":
        return np.fromiter(flat, dtype=np.float64).reshape(-1, 3 * len(VECTORS))
    states = np.fromiter(flat, dtype=np.float64).reshape(-1, NUMBERS - 1)
    yaw = np.fromiter(map(_YAW, records), dtype=np.float64, count=len(records))
    return np.column_stack([states, yaw])


def _tracks(ids: npt.NDArray[np.uint64], column: npt.NDArray[np.intp], states: Floats, counts: Sequence[int]) -> Tracks:
    """Arrays [50, A] from records in the order of the messages, `counts` of them at each step."""
    step = np.repeat(np.arange(STEPS), counts)
    order = np.full((STEPS, len(ids)), -1, dtype=np.int32)
    starts = np.cumsum(counts) - counts
    order[step, column] = np.arange(len(states)) - np.repeat(starts, counts)
    table = np.full((STEPS, len(ids), NUMBERS), np.nan)
    table[step, column, : states.shape[1]] = states
    position, dimensions, velocity, acceleration = (table[..., at : at + 3].copy() for at in (0, 3, 6, 9))
    return Tracks(ids, order >= 0, order, position, dimensions, velocity, acceleration, table[..., 12].copy())


def _problems(
    what: str, tracks: Tracks, ids: npt.NDArray[np.uint64], states: Floats, counts: Sequence[int]
) -> list[str]:
    """Tracks listed twice in one step, and states with impossible numbers."""
    step = np.repeat(np.arange(STEPS), counts)
    problems = []
    if int(tracks.present.sum()) < len(ids):
        pairs, seen = np.unique(np.stack([step.astype(np.uint64), ids], axis=1), axis=0, return_counts=True)
        where = "; ".join(f"{track} at step {at}" for at, track in pairs[seen > 1][:3].tolist())
        problems.append(
            f"{what} tracks: expected a track at most once in a step, found {int((seen > 1).sum())} twice ({where})."
        )
    if (bad := ~(np.abs(states) <= LARGEST).all(axis=1)).any():  # also false for NaN
        where = "; ".join(f"{ids[row]} at step {step[row]}" for row in np.flatnonzero(bad)[:3])
        problems.append(
            f"{what} tracks: expected finite positions, dimensions, velocities, accelerations and yaws up to "
            f"{LARGEST:g}, found NaN, infinity or more in {int(bad.sum())} states ({where}). "
            "Leave out unmeasured states."
        )
    return problems


def track_fields(what: str, tracks: Tracks, step: int) -> list[dict[str, Any]]:
    """The fields of the track messages of one step, in their order."""
    columns = np.flatnonzero(tracks.present[step])
    columns = columns[np.argsort(tracks.order[step, columns], kind="stable")]
    vectors = VECTORS if what == "pedestrian" else VEHICLE_VECTORS
    found = []
    for column in columns:
        fields: dict[str, Any] = {"track_id": int(tracks.ids[column])}
        for name, wire_name in vectors.items():
            fields[wire_name] = dict(zip("xyz", getattr(tracks, name)[step, column].tolist(), strict=True))
        if what != "pedestrian":
            fields["yaw"] = float(tracks.yaw[step, column])
        found.append(fields)
    return found
