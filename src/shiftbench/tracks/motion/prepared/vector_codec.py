"""Vector features of a request, packed without loss and without padding, and unpacked into padded batches.

Numbers of a track or a line change little from step to step and from point to point, so the differences of their bits
as integers are stored, byte plane by byte plane, which compress to about half.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.maps.vector_features import LINE, STATE, agent_history, neighbours, polylines
from shiftbench.tracks.motion.prepared.shards import inflated
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST

Vectors = dict[str, npt.NDArray[Any]]

MOST_NEIGHBOURS, MOST_LINES, POINTS = 32, 128, 20
FORMS: Mapping[str, tuple[tuple[int, ...], type[np.generic]]] = {
    "history": ((PAST, len(STATE)), np.float32),
    "neighbours": ((MOST_NEIGHBOURS, PAST, len(STATE)), np.float32),
    "neighbour_size": ((MOST_NEIGHBOURS, 2), np.float32),
    "neighbour_kind": ((MOST_NEIGHBOURS,), np.int8),
    "neighbour_mask": ((MOST_NEIGHBOURS,), np.bool_),
    "points": ((MOST_LINES, POINTS, 2), np.float32),
    "point_mask": ((MOST_LINES, POINTS), np.bool_),
    "line_attributes": ((MOST_LINES, len(LINE)), np.float32),
    "line_mask": ((MOST_LINES,), np.bool_),
}
"""Name → shape and type of the vector features of one request."""
LEVEL = 6
HEADER = struct.Struct("<HH")
DAMAGED = "Its shard is damaged: prepare the data again."


def vectors_of(scene: Scene, track_id: int, *, interpolation: str = "published") -> Vectors:
    """The vector features of one request, padded, in the forms of `FORMS`; all yaws in the agent's frame.

    Raises:
        UnknownNameError, ShiftbenchError: as `vector_features.agent_history`.
    """
    history = agent_history(scene, track_id, yaw_frame="agent", interpolation=interpolation)
    others = neighbours(scene, track_id, most=MOST_NEIGHBOURS, interpolation=interpolation)
    lines = polylines(scene, track_id, most=MOST_LINES, points=POINTS, interpolation=interpolation)
    return {
        "history": history,
        "neighbours": others.states,
        "neighbour_size": others.size,
        "neighbour_kind": others.kind,
        "neighbour_mask": others.mask,
        "points": lines.points,
        "point_mask": lines.point_mask,
        "line_attributes": lines.attributes,
        "line_mask": lines.mask,
    }


def empty(count: int) -> Vectors:
    """The vector features of B empty requests: all padding."""
    found: Vectors = {name: np.zeros((count, *shape), kind) for name, (shape, kind) in FORMS.items()}
    found["neighbour_kind"][:] = -1
    return found


@dataclass(frozen=True)
class _Counts:
    """The numbers of neighbours and lines of a request."""

    neighbours: int
    lines: int

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the stored numbers; along the last axis they change little."""
        return (
            (len(STATE), 1 + self.neighbours, PAST),
            (2, self.neighbours),
            (2, self.lines, POINTS),
            (len(LINE), self.lines),
        )


def packed(vectors: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """The bytes of the vector features of one request."""
    counts = _Counts(int(vectors["neighbour_mask"].sum()), int(vectors["line_mask"].sum()))
    there, lines = slice(counts.neighbours), slice(counts.lines)
    states = np.concatenate([vectors["history"][None], vectors["neighbours"][there]])
    numbers = (
        np.moveaxis(states, 2, 0),
        vectors["neighbour_size"][there].T,
        np.moveaxis(vectors["points"][lines], 2, 0),
        vectors["line_attributes"][lines].T,
    )
    known = vectors["point_mask"][lines].sum(axis=1).astype(np.uint8)
    parts = [vectors["neighbour_kind"][there].tobytes(), known.tobytes(), *map(_differences, numbers)]
    return HEADER.pack(counts.neighbours, counts.lines) + zlib.compress(b"".join(parts), LEVEL)


def unpack(data: bytes, out: Mapping[str, npt.NDArray[Any]], row: int) -> None:
    """Write the vector features of some bytes into row `row` of `out`, which is `empty` there.

    Raises:
        ShiftbenchError: if the bytes are not vector features.
    """
    try:
        counts = _Counts(*HEADER.unpack_from(data))
        if counts.neighbours > MOST_NEIGHBOURS or counts.lines > MOST_LINES:
            raise ValueError(f"{counts.neighbours} neighbours and {counts.lines} lines")
        sizes = [counts.neighbours, counts.lines, *(4 * int(np.prod(shape)) for shape in counts.shapes())]
        body = inflated(data[HEADER.size :], sum(sizes))
    except (struct.error, zlib.error, ValueError) as error:
        raise ShiftbenchError(f"vector features: expected packed ones, found: {error}. {DAMAGED}") from None
    _fill(out, row, counts, _cut(body, sizes))


def _cut(body: bytes, sizes: Sequence[int]) -> list[bytes]:
    ends = np.cumsum(sizes).tolist()
    return [body[end - size : end] for size, end in zip(sizes, ends, strict=True)]


def _fill(out: Mapping[str, npt.NDArray[Any]], row: int, counts: _Counts, parts: Sequence[bytes]) -> None:
    there, lines = slice(counts.neighbours), slice(counts.lines)
    states, size, points, attributes = map(_summed, parts[2:], counts.shapes())
    out["history"][row] = states[:, 0].T
    out["neighbours"][row, there] = np.moveaxis(states[:, 1:], 0, 2)
    out["neighbour_size"][row, there] = size.T
    out["neighbour_kind"][row, there] = np.frombuffer(parts[0], np.int8)
    out["neighbour_mask"][row, there] = True
    out["points"][row, lines] = np.moveaxis(points, 0, 2)
    out["point_mask"][row, lines] = np.arange(POINTS) < np.frombuffer(parts[1], np.uint8)[:, None]
    out["line_attributes"][row, lines] = attributes.T
    out["line_mask"][row, lines] = True


def _differences(numbers: npt.NDArray[np.float32]) -> bytes:
    """The differences of bits along the last axis, as wrapping integers, byte plane by byte plane."""
    bits = np.ascontiguousarray(numbers, "<f4").view("<i4")
    steps = np.diff(bits, axis=-1, prepend=np.int32(0))
    return steps.astype("<i4").reshape(-1).view(np.uint8).reshape(-1, 4).T.tobytes()


def _summed(data: bytes, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    """The inverse of `_differences`."""
    planes = np.frombuffer(data, np.uint8).reshape(4, -1)
    steps = np.ascontiguousarray(planes.T).view("<i4").reshape(shape)
    summed: npt.NDArray[np.float32] = np.cumsum(steps, axis=-1, dtype=np.int32).view(np.float32)
    return summed
