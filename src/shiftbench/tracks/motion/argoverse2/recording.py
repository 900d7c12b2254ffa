"""A recording before it is cut into scenes: everyone's states at all sweeps of 10 Hz, in the frame of the city.

Heights are left out: the official scenes are flat.
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
    """A tracks of one kind over S sweeps; NaN where absent.

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
    """A track's number, the same in every window: itself if it is one, else from its SHA-256, from 2⁶³ up."""
    if name.isascii() and name.isdigit() and len(name) <= DIGITS:
        return int(name)
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "big") | 1 << 63


def motion(observed: Observed, time: Floats) -> tuple[Motion, int]:
    """States by sweep and track, and how many tracks were left out because they are seen once.

    Velocity (where not given) and acceleration are central differences over the sweeps at which a track is seen, one
    sweep to either side; one-sided at its ends. Nothing moves that is seen once, so that it cannot be told.
    """
    names, inverse, counts = np.unique(observed.names.astype(str), return_inverse=True, return_counts=True)
    ids = np.array([track_id(name) for name in names.tolist()], dtype=np.uint64)
    made = _empty(ids, len(time))
    for name in ("position", "dimensions", "yaw"):
        getattr(made, name)[observed.sweep, inverse] = getattr(observed, name)
    if observed.velocity is not None:
        made.velocity[observed.sweep, inverse] = observed.velocity
    for column in np.flatnonzero(counts > 1):
        seen = np.flatnonzero(np.isfinite(made.yaw[:, column]))
        if observed.velocity is None:
            made.velocity[seen, column] = _slope(made.position[seen, column], time[seen])
        made.acceleration[seen, column] = _slope(made.velocity[seen, column], time[seen])
    kept = counts > 1
    parts = (made.position, made.dimensions, made.velocity, made.acceleration, made.yaw)
    return Motion(ids[kept], *(part[:, kept] for part in parts)), int((~kept).sum())


def _slope(values: Floats, time: Floats) -> Floats:
    slope: Floats = np.gradient(values, time, axis=0)
    return slope


def _empty(ids: npt.NDArray[np.uint64], sweeps: int) -> Motion:
    shapes: Sequence[tuple[int, ...]] = ((2,), (3,), (2,), (2,), ())
    return Motion(ids, *(np.full((sweeps, len(ids), *shape), np.nan) for shape in shapes))
