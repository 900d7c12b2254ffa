"""Which vehicles of a made-up scene are asked for."""

from __future__ import annotations

import numpy as np

from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.maneuvers import tags_of
from shiftbench.tracks.motion.scenes.scene import Request
from shiftbench.tracks.motion.schema import PAST

MOST = 6
SLOW = 0.5  # m/s
WEIGHTS = (1.0, 0.25, 0.06)  # of vehicles that move, of those that stand in a street, of those that park
CUT = 0.3  # of these weights for vehicles that are not seen until the end
RECENT = 4  # steps before T = 0 within which a vehicle must have been seen


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
    return tuple(Request(int(tracks.ids[column]), tags_of(tracks, int(column))) for column in chosen)
