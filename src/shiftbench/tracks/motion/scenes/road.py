"""The road of a scene: lanes, crosswalks and polygons as polylines, from and to messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.schema import LARGEST, LightState, Movement

Floats = npt.NDArray[np.float64]

_POINT = attrgetter("x", "y", "z")
_SECTIONS = attrgetter("left_section_id", "main_section_id", "right_section_id")


@dataclass(frozen=True, eq=False)
class Lane:
    """A lane: `centers` float64 [P, 3] along its middle, `max_velocity` in m/s, and its traffic-light sections.

    `sections` are the ids for turning left, going straight and turning right; 0 means none.
    """

    centers: Floats
    max_velocity: float = 0.0
    gives_way: bool = False
    sections: tuple[int, int, int] = (0, 0, 0)


@dataclass(frozen=True)
class ControlRule:
    """The permission of traffic across a crosswalk (a number of `Movement`) while its `sections` (id, state) hold."""

    sections: tuple[tuple[int, int], ...]
    movement: int


@dataclass(frozen=True, eq=False)
class Crosswalk:
    """A crosswalk: `polygon` float64 [P, 3] and the rules by which lights control it."""

    polygon: Floats
    rules: tuple[ControlRule, ...] = ()


@dataclass(frozen=True, eq=False)
class Road:
    """Lanes, crosswalks and the polygons (float64 [P, 3] each) of the road, in the order of the message."""

    lanes: tuple[Lane, ...] = ()
    crosswalks: tuple[Crosswalk, ...] = ()
    polygons: tuple[Floats, ...] = ()


def road_of(graph: Any, problems: list[str]) -> Road:
    """The road of a `PathGraph` message; its problems are added to `problems`."""
    lines = [lane.centers for lane in graph.lanes]
    areas = [each.geometry.points for each in chain(graph.crosswalks, graph.road_polygons)]
    polylines = _polylines([*lines, *areas])
    at, after = len(lines), len(lines) + len(graph.crosswalks)
    road = Road(
        tuple(map(_lane, graph.lanes, polylines[:at])),
        tuple(map(_crosswalk, graph.crosswalks, polylines[at:after])),
        tuple(polylines[after:]),
    )
    problems += [*_point_problems(road), *_speed_problems(road), *_rule_problems(road)]
    return road


def _polylines(lists: Sequence[Sequence[Any]]) -> list[Floats]:
    """Each list of `Vector3` as float64 [P, 3]; all points are read at once."""
    counts = [len(points) for points in lists]
    flat: Iterable[float] = chain.from_iterable(map(_POINT, chain.from_iterable(lists)))
    points = np.fromiter(flat, dtype=np.float64, count=3 * sum(counts)).reshape(-1, 3)
    ends = np.cumsum(counts).tolist()
    return [points[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _lane(lane: Any, centers: Floats) -> Lane:
    sections = _SECTIONS(lane.traffic_light_section_ids)
    return Lane(centers, lane.max_velocity, lane.gives_way_to_some_lane, sections)


def _crosswalk(crosswalk: Any, polygon: Floats) -> Crosswalk:
    rules = (
        ControlRule(tuple((section.id, section.state) for section in rule.sections), rule.movement_type)
        for rule in crosswalk.control_rules
    )
    return Crosswalk(polygon, tuple(rules))


def _point_problems(road: Road) -> list[str]:
    shapes = {
        "lanes": [lane.centers for lane in road.lanes],
        "crosswalks": [crosswalk.polygon for crosswalk in road.crosswalks],
        "road polygons": list(road.polygons),
    }
    problems: list[str] = []
    everything = [points for polylines in shapes.values() for points in polylines]
    if not everything or (np.abs(np.concatenate(everything)) <= LARGEST).all():  # the common case, at once
        return problems
    for what, polylines in shapes.items():
        bad = [number for number, points in enumerate(polylines) if not (np.abs(points) <= LARGEST).all()]
        if bad:
            places = ", ".join(map(str, bad[:3]))
            problems.append(
                f"{what}: expected finite points within {LARGEST:g} m, found NaN, infinity or more in {len(bad)} "
                f"(first {places}). Leave them out."
            )
    return problems


def _speed_problems(road: Road) -> list[str]:
    bad = [number for number, lane in enumerate(road.lanes) if not abs(lane.max_velocity) <= LARGEST]
    if not bad:
        return []
    return [
        f"lanes: expected a finite max_velocity in m/s, found NaN, infinity or more than {LARGEST:g} in "
        f"{len(bad)} (first {bad[0]}). Set 0 where it is not known."
    ]


def _rule_problems(road: Road) -> list[str]:
    rules = [rule for crosswalk in road.crosswalks for rule in crosswalk.rules]
    found = {
        Movement: {rule.movement for rule in rules},
        LightState: {state for rule in rules for _, state in rule.sections},
    }
    return [
        f"crosswalk rules: expected a number of {kind.__name__}, 0 to {len(kind) - 1}, found {number}."
        for kind, numbers in found.items()
        for number in sorted(numbers - set(kind))
    ]


def road_fields(road: Road) -> dict[str, Any]:
    """The fields of the `PathGraph` message of a road."""
    return {
        "lanes": [_lane_fields(lane) for lane in road.lanes],
        "crosswalks": [
            {
                "geometry": {"points": _points(each.polygon)},
                "control_rules": [_rule_fields(rule) for rule in each.rules],
            }
            for each in road.crosswalks
        ],
        "road_polygons": [{"geometry": {"points": _points(polygon)}} for polygon in road.polygons],
    }


def _points(polyline: Floats) -> list[Mapping[str, float]]:
    return [{"x": x, "y": y, "z": z} for x, y, z in polyline.tolist()]


def _lane_fields(lane: Lane) -> dict[str, Any]:
    names = ("left_section_id", "main_section_id", "right_section_id")
    sections = {"traffic_light_section_ids": dict(zip(names, lane.sections, strict=True))} if any(lane.sections) else {}
    return {
        "centers": _points(lane.centers),
        "max_velocity": lane.max_velocity,
        "gives_way_to_some_lane": lane.gives_way,
        **sections,
    }


def _rule_fields(rule: ControlRule) -> dict[str, Any]:
    sections = [{"id": section, "state": state} for section, state in rule.sections]
    return {"sections": sections, "movement_type": rule.movement}
