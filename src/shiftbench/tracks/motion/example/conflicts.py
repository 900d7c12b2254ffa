"""Which ways through a junction exclude each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.example.network import Network
from shiftbench.tracks.motion.example.streets import Floats

Flags = npt.NDArray[np.bool_]

CLEAR = 2.2  # metres: ways that come closer cannot be used at once


def conflicts(network: Network) -> Flags:
    """Which lanes of a junction cannot be used at once because they cross or merge: bool [L, L].

    Lanes that begin together, or follow one another, do not conflict: there one drives behind the other.
    """
    found = np.zeros((len(network.lines), len(network.lines)), dtype=np.bool_)
    for lanes in network.junctions:
        points = [network.lines[lane] for lane in lanes]
        bounds = np.concatenate([[0], np.cumsum([len(line) for line in points])[:-1]])
        flat = np.concatenate(points)
        square = (flat**2).sum(axis=1)
        distance = square[:, None] + square - 2 * flat @ flat.T
        meet = (distance < CLEAR**2) | _crossing(flat, bounds)
        meet = np.logical_or.reduceat(np.logical_or.reduceat(meet, bounds, axis=0), bounds, axis=1)
        begin, end = (np.array([line[at] for line in points]) for at in (0, -1))
        follows = _same(end, begin)
        found[np.ix_(lanes, lanes)] = meet & ~(_same(begin, begin) | follows | follows.T)
    return found


def _crossing(points: Floats, bounds: npt.NDArray[np.intp]) -> Flags:
    """Which pieces of lines, each from its point to the next one, cross each other: bool [P, P].

    points: of all lines, [P, 2], which begin at `bounds`; the last point of a line has no piece.
    """
    step = np.diff(points, axis=0, append=points[-1:])
    step[bounds[1:] - 1] = 0.0
    fixed = (step[:, 0] * points[:, 1] - step[:, 1] * points[:, 0])[:, None]
    begin = np.outer(step[:, 0], points[:, 1]) - np.outer(step[:, 1], points[:, 0]) - fixed
    end = begin + np.outer(step[:, 0], step[:, 1]) - np.outer(step[:, 1], step[:, 0])
    apart = begin * end < 0  # the two ends of the second piece lie on either side of the first one
    return np.asarray(apart & apart.T)


def _same(first: Floats, second: Floats) -> Flags:
    """Which points of two lists [A, 2] and [B, 2] are the same: bool [A, B]."""
    return np.asarray((np.abs(first[:, None] - second[None]) < 1e-6).all(axis=2))
