"""A recording before it is cut into scenes: everyone's states at all sweeps of 10 Hz, in the frame of the city.

No state depends on what was measured after its sweep. Heights are left out: the official scenes are flat.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Places = npt.NDArray[np.intp]

HZ = 10
DIGITS = 18  # numbers of so many digits are ids as they are
LEAD = 2  # sweeps before a window's first: one for velocity, one for acceleration
LONGEST_S = 0.5  # between two sweeps whose difference still tells how a track moves
ROUNDING_S = 1e-6  # of times: five sweeps are five sweeps wherever they are


@dataclass(frozen=True, eq=False)
class Observed:
    """R states of tracks of one kind, one a row, in any order.

    Attributes:
        names: [R] of the tracks.
        sweep: int [R], 0 … S - 1; a track at most once in a sweep.
        position: float64 [R, 2], the centre, in metres.
        yaw: float64 [R], radians.
        dimensions: float64 [R, 3], length, width and height in metres.
        velocity: float64 [R, 2] in m/s, or None where it is not given.
    """

    names: npt.NDArray[np.object_]
    sweep: Places
    position: Floats
    yaw: Floats
    dimensions: Floats
    velocity: Floats | None = None


@dataclass(frozen=True, eq=False)
class Motion:
    """A tracks of one kind over S sweeps; NaN where absent, or where the velocity is not known yet.

    ids: uint64 [A]. position, velocity, acceleration: [S, A, 2]. dimensions: [S, A, 3]. yaw: [S, A].
    """

    ids: npt.NDArray[np.uint64]
    position: Floats
    dimensions: Floats
    velocity: Floats
    acceleration: Floats
    yaw: Floats


@dataclass(frozen=True, eq=False)
class Recording:
    """A scenario or a log.

    Attributes:
        id: as Argoverse names it.
        time: float64 [S], seconds from the first sweep.
        starts: the sweeps at which windows may start.
        focal: the id of the track that a scenario is about, or None.
        left_out: reason → number of tracks.
    """

    id: str
    time: Floats
    vehicles: Motion
    pedestrians: Motion
    ego: Motion
    starts: tuple[int, ...]
    focal: int | None = None
    left_out: Counter[str] = field(default_factory=Counter)


def track_id(name: str) -> int:
    """A track's number, the same in every window: itself if it is one, else from its SHA-256, from 2⁶³ up.

    "007" is another track than "7", and so no number.
    """
    if name.isascii() and name.isdigit() and len(name) <= DIGITS and str(int(name)) == name:
        return int(name)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") | 1 << 63


def motion(observed: Observed, time: Floats) -> tuple[Motion, int]:
    """States by sweep and track, and how many tracks were left out because no velocity of theirs is known.

    Velocity (where not given) and acceleration are differences to the sweep at which the track was seen before, at
    most `LONGEST_S` ago. A scene has no sign for a velocity that is not known, so a state without one is left out:
    a track of a log begins when it is seen for the second time. An acceleration that is not known is 0.
    """
    names, inverse = np.unique(observed.names.astype(str), return_inverse=True)
    ids = np.array([track_id(name) for name in names.tolist()], dtype=np.uint64)
    made = _empty(ids, len(time))
    for name in ("position", "dimensions", "yaw"):
        getattr(made, name)[observed.sweep, inverse] = getattr(observed, name)
    if observed.velocity is not None:
        made.velocity[observed.sweep, inverse] = observed.velocity
    for column in range(len(names)):
        seen = np.flatnonzero(np.isfinite(made.yaw[:, column]))
        if observed.velocity is None:
            made.velocity[seen, column] = _backward(made.position[seen, column], time[seen])
            seen = seen[np.isfinite(made.velocity[seen, column, 0])]
        made.acceleration[seen, column] = np.nan_to_num(_backward(made.velocity[seen, column], time[seen]))
    known = np.isfinite(made.velocity[..., 0])
    kept = known.any(axis=0)
    parts = (made.position, made.dimensions, made.velocity, made.acceleration, made.yaw)
    for part in parts:
        part[~known] = np.nan
    return Motion(ids[kept], *(part[:, kept] for part in parts)), int((~kept).sum())


def _backward(values: Floats, time: Floats) -> Floats:
    """The slope of values [S, 2] at times [S] since the time before; NaN at the first and after too long a while."""
    since = np.diff(time, prepend=-np.inf)[:, None]
    change = np.diff(values, axis=0, prepend=values[:1])
    slope: Floats = np.where(since <= LONGEST_S + ROUNDING_S, change / since, np.nan)
    return slope


def _empty(ids: npt.NDArray[np.uint64], sweeps: int) -> Motion:
    shapes: Sequence[tuple[int, ...]] = ((2,), (3,), (2,), (2,), ())
    return Motion(ids, *(np.full((sweeps, len(ids), *shape), np.nan) for shape in shapes))
