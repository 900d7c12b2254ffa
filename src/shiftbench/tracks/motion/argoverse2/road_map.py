"""The vector map of a recording: lane segments, pedestrian crossings and drivable areas as the road of a scene.

Argoverse has no speed limits (0 here: unknown), no lights and no word on who gives way. Bike lanes are left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from shiftbench.errors import ShiftbenchError
from shiftbench.tracks.motion.argoverse2.categories import LANES
from shiftbench.tracks.motion.argoverse2.recording import Floats
from shiftbench.tracks.motion.scenes.road import Crosswalk, Lane, Road

MAP_BYTES = 2**28  # genuine maps take 0.1 to 2 MB
SPACING_M = 2.0  # of the points of a centre that is made of two boundaries
MOST_POINTS = 100
PARTS = ("lane_segments", "pedestrian_crossings", "drivable_areas")
LISTED = 10


@dataclass(frozen=True)
class RoadMap:
    """The road of a whole map, and lane type → number of segments that were left out."""

    road: Road
    left_out: Counter[str]


def read_map(path: Path, *, speed_limit_ms: float = 0.0) -> RoadMap:
    """The road of a map file; lines and areas in the order of the file.

    Raises:
        ShiftbenchError: if it is not a map, or for all invalid lines and areas in it.
    """
    parts = _parts(path)
    problems: list[str] = []
    lanes, left_out = [], Counter[str]()
    for name, segment in parts["lane_segments"].items():
        kind = str(segment.get("lane_type")) if isinstance(segment, dict) else "none"
        if kind in LANES:
            lanes += [Lane(line, speed_limit_ms) for line in _center(f"lane_segments {name}", segment, problems)]
        else:
            left_out[f"lane of type {kind}"] += 1
    crosswalks = [
        Crosswalk(area)
        for name, crossing in parts["pedestrian_crossings"].items()
        for area in _crossing(f"pedestrian_crossings {name}", crossing, problems)
    ]
    areas = [
        line
        for name, area in parts["drivable_areas"].items()
        for line in _line(f"drivable_areas {name}", area, "area_boundary", problems, least=3)
    ]
    if problems:
        more = [f"… and {len(problems) - LISTED:,} more."] if len(problems) > LISTED else []
        raise ShiftbenchError(*(f"{path}: {problem}" for problem in problems[:LISTED] + more))
    return RoadMap(Road(tuple(lanes), tuple(crosswalks), tuple(areas)), left_out)


def _parts(path: Path) -> Mapping[str, Mapping[str, Any]]:
    if (size := path.stat().st_size) > MAP_BYTES:
        raise ShiftbenchError(f"{path}: expected a map of at most {MAP_BYTES >> 20} MiB, found {size / 2**20:,.0f}.")
    try:
        found = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ShiftbenchError(
            f"{path}: expected a map in JSON, found: {str(error)[:200]}. Was its writing cut off?"
        ) from None
    parts = {name: found.get(name) for name in PARTS} if isinstance(found, dict) else {}
    if not parts or not all(isinstance(part, dict) for part in parts.values()):
        raise ShiftbenchError(
            f"{path}: expected an object with {', '.join(PARTS)}, found "
            f"{', '.join(map(str, found))[:100] if isinstance(found, dict) else type(found).__name__}. "
            "Is this the vector map of Argoverse 2?"
        )
    return cast(Mapping[str, Mapping[str, Any]], parts)


def _line(where: str, holder: Any, key: str, problems: list[str], *, least: int = 2) -> Iterator[Floats]:
    """The points [P, 3] of a line, flat; only a problem if it is invalid."""
    points = holder.get(key) if isinstance(holder, dict) else None
    try:
        line = np.array([[float(point["x"]), float(point["y"]), 0.0] for point in points or ()])
    except (TypeError, KeyError, ValueError, OverflowError):
        line = np.empty((0, 3))
    if len(line) >= least and np.isfinite(line).all():
        yield line
    else:
        problems.append(
            f"{where}: expected {key} of {least} or more points with finite x and y, found {str(points)[:60]}."
        )


def _center(where: str, segment: Any, problems: list[str]) -> Iterator[Floats]:
    """The centre of a lane: as given, or midway between its boundaries at the same shares of their lengths."""
    if segment.get("centerline") is not None:
        yield from _line(where, segment, "centerline", problems)
        return
    for left in _line(where, segment, "left_lane_boundary", problems):
        for right in _line(where, segment, "right_lane_boundary", problems):
            longest = max(_lengths(left)[-1], _lengths(right)[-1])
            count = int(np.clip(np.ceil(longest / SPACING_M - 1e-6) + 1, 2, MOST_POINTS))
            yield (_resampled(left, count) + _resampled(right, count)) / 2


def _lengths(line: Floats) -> Floats:
    """The way from the first point to each, in metres."""
    return np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(line[:, :2], axis=0).T))])


def _resampled(line: Floats, count: int) -> Floats:
    way = _lengths(line)
    at = np.linspace(0, way[-1], count)
    return np.stack([np.interp(at, way, line[:, axis]) for axis in range(3)], axis=1)


def _crossing(where: str, crossing: Any, problems: list[str]) -> Iterator[Floats]:
    """The area between the two edges of a crossing, which may run in the same direction or not."""
    for first in _line(where, crossing, "edge1", problems):
        for second in _line(where, crossing, "edge2", problems):
            same = np.hypot(*(first[-1] - second[-1])[:2]) + np.hypot(*(first[0] - second[0])[:2])
            other = np.hypot(*(first[-1] - second[0])[:2]) + np.hypot(*(first[0] - second[-1])[:2])
            yield np.concatenate([first, second[::-1] if same <= other else second])


def cropped(road: Road, low: Floats, high: Floats) -> Road:
    """The lanes, crosswalks and areas whose bounding boxes reach into the box from `low` to `high` (float64 [2])."""

    def reaches(line: Floats) -> bool:
        return bool((line[:, :2].min(axis=0) <= high).all() and (line[:, :2].max(axis=0) >= low).all())

    return Road(
        tuple(lane for lane in road.lanes if reaches(lane.centers)),
        tuple(each for each in road.crosswalks if reaches(each.polygon)),
        tuple(area for area in road.polygons if reaches(area)),
    )
