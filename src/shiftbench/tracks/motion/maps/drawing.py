"""Points to pixels, polygons and lines: the same pixels as the published maps, on any machine.

Points are transformed to pixels in float32 with fused multiply-adds and rounded to the nearest centre, halves to even.
Scenes are kilometres from their origin, where float32 is accurate to 1 mm: any other order of the same sums moves some
corners by a pixel. Polygons are drawn by OpenCV; lines follow its rule, but all of them are drawn at once.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import MissingExtraError, ShiftbenchWarning

Points = npt.NDArray[np.float32]  # [..., 2]: x, y
Pixels = npt.NDArray[np.int32]  # [..., 2]: column, row
Places = npt.NDArray[np.intp]
Plane = npt.NDArray[np.float32]  # [rows, columns]

OLDEST = (4, 11)  # the OpenCV from which on polygons are filled as in the golden maps; older ones fill other pixels
FAR = 1_000_000  # pixels; points further out are moved there, within the range of OpenCV's integers


def library() -> ModuleType:
    """The OpenCV module.

    Raises:
        MissingExtraError: if it is not installed.

    Warns:
        ShiftbenchWarning: once, if it is older than `OLDEST`.
    """
    try:
        import cv2
    except ImportError as error:
        raise MissingExtraError(
            f"track motion: expected OpenCV, found: {error}. Install it: pip install 'shiftbench[motion]'"
        ) from None
    _warn_if_old(cv2.__version__)
    return cv2


@cache
def _warn_if_old(version: str) -> None:
    found = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if found < OLDEST:
        message = (
            f"feature maps: expected OpenCV {'.'.join(map(str, OLDEST))} or later, found {version}, which fills other "
            "pixels: maps differ from the published ones. Install it anew: pip install 'shiftbench[motion]'"
        )
        warnings.warn(ShiftbenchWarning(message), stacklevel=3)


def transformed(points: Points, matrix: Points, *, fused: bool = True) -> Points:
    """Points [..., 2] transformed by a matrix [4, 4] in float32: x·a rounded, + y·b rounded, + c rounded.

    `fused=False` also rounds y·b before the addition, as the published code does for a few points.
    """
    a, b, c = matrix[:2, 0].astype(np.float64), matrix[:2, 1].astype(np.float64), matrix[:2, 3]
    # A product of two float32 is exact in float64, so rounding happens only here.
    first, second = (points[..., :1] * a).astype(np.float32), points[..., 1:] * b
    both: Points = (first + (second if fused else second.astype(np.float32))).astype(np.float32)
    return both + c


def turned(vectors: Points, to_agent: npt.NDArray[np.float64], *, fused: bool = True) -> Points:
    """Vectors [..., 2] in the agent's frame: transformed as points, minus its origin, as published.

    Kilometres from the origin of the scene their resolution is 2⁻¹⁰.
    """
    matrix = to_agent.astype(np.float32)
    return transformed(vectors, matrix, fused=fused) - matrix[:2, 3]


def turned_yaw(yaw: npt.NDArray[Any], by: float) -> Points:
    """Yaws in a frame that is rotated by `by`, within −π … π."""
    return np.asarray(np.remainder(yaw - by + np.pi, 2 * np.pi) - np.pi, dtype=np.float32)


def pixels(points: Points, matrix: npt.NDArray[np.float32]) -> Pixels:
    """The pixels [..., 2] (column, row) that contain points [..., 2]; those beyond ±10⁶ are clipped."""
    centred = transformed(points, matrix) - np.float32(0.5)
    nearest: Points = np.rint(centred)
    return np.clip(nearest, -FAR, FAR).astype(np.int32)


def map_matrix(to_agent: npt.NDArray[np.float64], size: tuple[int, int], metres_per_pixel: float) -> Points:
    """float32 [4, 4] from the scene to (column, row): the agent in the middle, its x along columns, y along rows."""
    rows, columns = size
    matrix = to_agent.astype(np.float32)
    matrix[:2] *= np.float32(1 / metres_per_pixel)
    matrix[:2, 3] += np.array([columns / 2, rows / 2], dtype=np.float32)
    return matrix


def seen(low: Pixels, high: Pixels, size: tuple[int, int]) -> npt.NDArray[np.bool_]:
    """Flags of boxes, from low [N, 2] to high [N, 2], that can touch a plane."""
    inside: npt.NDArray[np.bool_] = (
        (high[:, 0] >= 0) & (high[:, 1] >= 0) & (low[:, 0] < size[1]) & (low[:, 1] < size[0])
    )
    return inside


def fill(plane: Plane, polygons: Sequence[Pixels], value: float) -> None:
    """Fill polygons, each [P, 2], together: where an even number of them overlap, nothing is filled."""
    if polygons:
        library().fillPoly(plane, list(polygons), float(value))


def labels(quads: Pixels, size: tuple[int, int]) -> tuple[Places, Places]:
    """The topmost of the polygons [A, P, 2] in each covered pixel: flat indices of pixels, and numbers of polygons.

    Polygons are drawn in their order, so the last one is on top; each is drawn once for all layers.
    """
    visible = np.flatnonzero(seen(quads.min(axis=1), quads.max(axis=1), size))
    if not len(visible):
        return visible, visible
    drawn: npt.NDArray[Any] = np.zeros(size, np.uint8 if len(visible) < 256 else np.int32)
    fill_polygon = library().fillPoly
    for label, number in enumerate(visible.tolist(), start=1):
        fill_polygon(drawn, quads[number : number + 1], label)
    covered = np.flatnonzero(drawn)
    return covered, visible[drawn.reshape(-1)[covered].astype(np.intp) - 1]


@dataclass(frozen=True, eq=False)
class Lines:
    """Lines as pixels: Q pixels in the order of drawing, so that values of later lines replace earlier ones.

    Attributes:
        place: intp [Q], the flat index of the pixel.
        line: intp [Q], the number of its line among the D lines that touch the plane.
        number: intp [D], the numbers of these among all lines.
    """

    place: Places
    line: Places
    number: Places


def lines(points: Pixels, first: Places, size: tuple[int, int]) -> Lines:
    """The pixels of lines, 1 pixel wide, both ends included; each goes from the point [P, 2] of `first` to the next."""
    number, ends = _clipped(points, first, size)
    # Lines run from left to right, pixel by pixel along their longer side: Bresenham's sum in closed form.
    backwards = ends[:, 2] < ends[:, 0]
    ends[backwards] = ends[backwards][:, [2, 3, 0, 1]]
    x, y, across, down = ends[:, 0], ends[:, 1], ends[:, 2] - ends[:, 0], ends[:, 3] - ends[:, 1]
    row = np.where(down < 0, -size[1], size[1])
    down = np.abs(down)
    steep = down > across
    longer, shorter = np.maximum(across, down), np.minimum(across, down)
    along, beside = np.where(steep, row, 1), np.where(steep, 1, row)
    counts = longer + 1
    begun = np.cumsum(counts) - counts
    line = np.repeat(np.arange(len(counts)), counts)
    start, begun, along, beside, longer, shorter = np.stack(
        [y * size[1] + x, begun, along, beside, longer, shorter], axis=0
    )[:, line]
    step = np.arange(len(line)) - begun
    aside = -((longer - 2 * shorter * step) // np.maximum(2 * longer, 1))
    return Lines(start + step * along + aside * beside, line, number)


def _clipped(points: Pixels, first: Places, size: tuple[int, int]) -> tuple[Places, npt.NDArray[np.int64]]:
    """The lines that touch the plane, cut off at its border: their numbers [D], and x, y of both ends [D, 4]."""
    beyond = (points[:, 0] < 0) + 2 * (points[:, 0] >= size[1]) + 4 * (points[:, 1] < 0) + 8 * (points[:, 1] >= size[0])
    start, end = beyond[first], beyond[first + 1]
    number = np.flatnonzero((start & end) == 0)  # not both outside the same border
    ends = np.concatenate([points[first[number]], points[first[number] + 1]], axis=1).astype(np.int64)
    cut = np.flatnonzero((start | end)[number])
    if not len(cut):
        return number, ends
    clip, window = library().clipLine, (0, 0, size[1], size[0])
    touches = np.ones(len(number), dtype=np.bool_)
    touches[cut], ends[cut, :2], ends[cut, 2:] = zip(
        *(clip(window, line[:2], line[2:]) for line in ends[cut].tolist()), strict=True
    )
    return number[touches], ends[touches]
