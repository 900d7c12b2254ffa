"""Availability of lanes and crosswalks at one step by their traffic lights, by the rules of the published maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from shiftbench.tracks.motion.scenes.road import Crosswalk, Lane
from shiftbench.tracks.motion.schema import LightState, Movement

UNKNOWN, FORBIDDEN, FREE, UNREGULATED = -2.0, -1.0, 1.0, 2.0

# The meaning of a main section for a lane without an arrow. Blinking red allows to go on after a stop.
MAIN: Mapping[int, float] = {
    LightState.UNKNOWN: UNKNOWN,
    LightState.INVISIBLE: UNKNOWN,
    LightState.GREEN: FREE,
    LightState.BLINKING_GREEN: FREE,
    LightState.BLINKING_RED: FREE,
    LightState.YELLOW: FORBIDDEN,
    LightState.RED: FORBIDDEN,
    LightState.RED_YELLOW: FORBIDDEN,
    LightState.NOT_WORKING: UNREGULATED,
    LightState.DISABLED: UNREGULATED,
}
# The meaning of an arrow, which takes precedence unless the main section is off.
ARROW: Mapping[int, float] = {
    LightState.DISABLED: FORBIDDEN,
    LightState.ENABLED: FREE,
    LightState.BLINKING_ENABLED: FREE,
}
OFF = (LightState.NOT_WORKING, LightState.DISABLED)


def lanes(lanes: Sequence[Lane], lights: Mapping[int, int]) -> list[float]:
    """[L]: −2 unknown, −1 forbidden, 1 allowed, 2 unregulated, while `lights` {section id: state} hold."""
    known: dict[tuple[int, int, int], float] = {}
    for lane in lanes:  # many lanes share a few combinations
        if lane.sections not in known:
            known[lane.sections] = _lane(*lane.sections, lights)
    return [known[lane.sections] for lane in lanes]


def _lane(left: int, main: int, right: int, lights: Mapping[int, int]) -> float:
    """One lane; a state that is meaningless there (such as a green arrow) is unknown."""
    arrow = left or right
    if arrow:
        return UNREGULATED if lights.get(main) in OFF else ARROW.get(lights.get(arrow, LightState.UNKNOWN), UNKNOWN)
    if main not in lights:  # 0 is no id
        return UNREGULATED
    return MAIN.get(lights[main], UNKNOWN)


def crosswalks(crosswalks: Sequence[Crosswalk], lights: Mapping[int, int]) -> list[float]:
    """[W]: 2 for a crosswalk without rules, −1 if a rule in force allows traffic across it, else 1."""
    return [_crosswalk(crosswalk, lights) for crosswalk in crosswalks]


def _crosswalk(crosswalk: Crosswalk, lights: Mapping[int, int]) -> float:
    if not crosswalk.rules:
        return UNREGULATED
    moving = (
        all(lights.get(section) == state for section, state in rule.sections)
        for rule in crosswalk.rules
        if rule.movement != Movement.FORBIDDEN
    )
    return FORBIDDEN if any(moving) else FREE
