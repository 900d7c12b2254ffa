"""The eight layers of the road in a feature map: crosswalks, lanes and polygons."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shiftbench.tracks.motion.maps import drawing
from shiftbench.tracks.motion.maps.drawing import Lines, Pixels, Places, Plane
from shiftbench.tracks.motion.maps.outlines import Grouped, Lights, RoadOutlines


@dataclass(frozen=True, eq=False)
class RoadSheet:
    """A road in the pixels of one map: `points` [P, 2] are those of the outlines."""

    road: RoadOutlines
    points: Pixels
    size: tuple[int, int]

    @cached_property
    def lines(self) -> Lines:
        """The pixels of all segments of all lanes."""
        return drawing.lines(self.points, self.road.first, self.size)

    @cached_property
    def lanes(self) -> Places:
        """For each of these pixels the lane."""
        return self.road.lane[self.lines.number][self.lines.line]

    @cached_property
    def visible(self) -> frozenset[int]:
        """The first points of the crosswalks and polygons that can touch the map."""
        starts = self.road.areas
        if not len(starts):
            return frozenset()
        low, high = (extreme.reduceat(self.points, starts, axis=0) for extreme in (np.minimum, np.maximum))
        return frozenset(starts[drawing.seen(low, high, self.size)].tolist())

    def shapes(self, slices: Iterable[slice]) -> list[Pixels]:
        """The pixels of those given crosswalks or polygons that can touch the map."""
        return [self.points[each] for each in slices if each.start in self.visible and each.start < each.stop]


def _crosswalk_occupancy(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    drawing.fill(plane, sheet.shapes(sheet.road.crosswalks), 1)


def _crosswalk_availability(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    states = lights.crosswalks
    for turn in np.unique(states.turn).tolist():
        members = np.flatnonzero(states.turn == turn).tolist()
        shapes = sheet.shapes(sheet.road.crosswalks[member] for member in members)
        drawing.fill(plane, shapes, states.values[members[0]])


def _lane_availability(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    _draw_lanes(sheet, lights.lanes, plane)


def _lane_direction(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    """The angle of each segment as drawn, from pixel to pixel; in a pixel with several, the last one counts."""
    first = sheet.road.first[sheet.lines.number]
    along = (sheet.points[first + 1] - sheet.points[first]).astype(np.float64)
    plane.ravel()[sheet.lines.place] = np.arctan2(along[:, 1], along[:, 0])[sheet.lines.line]


def _lane_occupancy(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    plane.ravel()[sheet.lines.place] = 1


def _lane_priority(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    plane.ravel()[sheet.lines.place[sheet.road.gives_way[sheet.lanes]]] = 1


def _lane_speed_limit(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    _draw_lanes(sheet, sheet.road.speed, plane)


def _draw_lanes(sheet: RoadSheet, values: Grouped, plane: Plane) -> None:
    by_turn = np.argsort(values.turn[sheet.lanes], kind="stable")
    plane.ravel()[sheet.lines.place[by_turn]] = values.values[sheet.lanes[by_turn]]


def _road_polygons(sheet: RoadSheet, lights: Lights, plane: Plane) -> None:
    drawing.fill(plane, sheet.shapes(sheet.road.polygons), 1)


# Name of the channel → function that draws it into a plane of zeros.
LAYERS: dict[str, Callable[[RoadSheet, Lights, Plane], None]] = {
    "crosswalk_occupancy": _crosswalk_occupancy,
    "crosswalk_availability": _crosswalk_availability,
    "lane_availability": _lane_availability,
    "lane_direction": _lane_direction,
    "lane_occupancy": _lane_occupancy,
    "lane_priority": _lane_priority,
    "lane_speed_limit": _lane_speed_limit,
    "road_polygons": _road_polygons,
}
