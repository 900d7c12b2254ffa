"""Colours and marks of what is in a scene, told apart by shape as well, for printers and the colour-blind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from shiftbench.report import canvas
from shiftbench.report.style import COLOURS, GREY, short
from shiftbench.tracks.motion.picture.view import request_of
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import UNKNOWN, LightState

BLUE, VERMILION, GREEN, ORANGE = COLOURS[0], COLOURS[1], COLOURS[2], COLOURS[4]
FORECAST = "#A0317C"  # Okabe and Ito's purple, darker, so that thin lines are seen
TRUTH = "#000000"
REQUESTED, OTHER, EGO, PEDESTRIAN = BLUE, "#a7aeb6", "#2b2f34", "#F0E442"
GROUND, KERB, LANE, STRIPES = "#eef0f3", "#d3d8de", "#aab2bb", "#c3c9d0"
EVERY = (*COLOURS, FORECAST, TRUTH, OTHER, EGO, PEDESTRIAN, GROUND, KERB, LANE, STRIPES, GREY)
TRUTH_WIDTH, TRUTH_MARK = 0.9, 2.2  # points
LONGEST_ID = 36


class Signal(NamedTuple):
    """How a lane is drawn whose light shows a signal."""

    label: str
    color: str
    marker: str
    linestyle: str | tuple[int, tuple[int, ...]]


SIGNALS = {
    "go": Signal("light: go", GREEN, "^", "-"),
    "amber": Signal("light: amber", ORANGE, "D", "--"),
    "stop": Signal("light: stop", VERMILION, "s", "-"),
    "unknown": Signal("light: not seen", GREY, "o", (0, (1, 1))),
    "off": Signal("light: off", GREY, "x", "-."),
}
# A crosswalk, and one at which lights let people walk or let traffic cross it.
WALKS = {
    "crosswalk": ("crosswalk", STRIPES),
    "walk": ("crosswalk: people go", GREEN),
    "wait": ("crosswalk: traffic goes", VERMILION),
}
# A lit arrow lets go, one that is not lit does not; a main light that is not lit is off.
MAIN: Mapping[int, str] = {
    LightState.GREEN: "go", LightState.BLINKING_GREEN: "go", LightState.ENABLED: "go",
    LightState.BLINKING_ENABLED: "go", LightState.YELLOW: "amber", LightState.RED_YELLOW: "amber",
    LightState.RED: "stop", LightState.BLINKING_RED: "stop", LightState.NOT_WORKING: "off",
    LightState.DISABLED: "off", LightState.UNKNOWN: "unknown", LightState.INVISIBLE: "unknown",
}  # fmt: skip
ARROW: Mapping[int, str] = {**MAIN, LightState.DISABLED: "stop"}


def signal(sections: tuple[int, int, int], lights: Mapping[int, int]) -> str | None:
    """The signal for a lane with these sections (left, main, right; 0: no signal); None if no light controls it.

    The arrow decides where there is one, as in `availability`.
    """
    left, main, right = sections
    arrow = left or right
    if arrow:
        return ARROW.get(lights.get(arrow, LightState.UNKNOWN), "unknown")
    return MAIN.get(lights.get(main, LightState.UNKNOWN), "unknown") if main else None


def width(weight: float) -> float:
    """The width in points of a trajectory of a weight."""
    return float(0.9 + 3.0 * max(weight, 0.0) ** 0.5)


def opacity(weight: float) -> float:
    """The opacity of a trajectory of a weight: that of weight 0 is still seen."""
    return float(0.35 + 0.6 * min(max(weight, 0.0), 1.0) ** 0.5)


def title(scene: Scene, request: int | None = None) -> str:
    """The scene's id, the request with its maneuvers, and the scene's tags if it has any, a line each."""
    lines = [f"Scene {short(scene.id, LONGEST_ID)}"]
    if request is not None:
        tags = ", ".join(tag.label.lower() for tag in request_of(scene, request).tags)
        lines.append(f"Vehicle {request}" + (f": {tags}" if tags else ""))
    return "\n".join(filter(None, [*lines, tag_text(scene)]))


def tag_text(scene: Scene, *, brief: bool = False) -> str:
    """The known tags of a scene in words, none if it has none; `brief` names only city and precipitation."""
    tags = scene.tags
    rain = "" if tags.precipitation.label == UNKNOWN else _precipitation(tags.precipitation.label)
    words = ["" if tags.track.label == UNKNOWN else tags.track.label, rain]
    if not brief:
        words += [tag.label.lower() for tag in (tags.season, tags.day_time, tags.sun_phase) if tag.label != UNKNOWN]
    return ", ".join(filter(None, words))


def _precipitation(label: str) -> str:
    return "dry" if label.lower() in ("no", "no precipitation") else label.lower()


def handles(present: Mapping[str, bool]) -> list[Any]:
    """Legend entries of those actors and lines that are in a picture, by their keys below."""
    box = {"linestyle": "", "marker": "s", "markersize": 8, "markeredgewidth": 0.8}
    every: dict[str, dict[str, Any]] = {
        "requested": {"label": "requested vehicle", **box, "color": REQUESTED, "markeredgecolor": "black"},
        "other": {"label": "other vehicle", **box, "color": OTHER, "markeredgecolor": GREY},
        "ego": {"label": "recording vehicle", **box, "color": EGO, "markeredgecolor": EGO},
        "pedestrian": {
            "label": "pedestrian", "linestyle": "", "marker": "o", "color": PEDESTRIAN, "markeredgecolor": "black",
            "markersize": 5, "markeredgewidth": 0.7,
        },
        "trail": {"label": "past 5 s", "color": REQUESTED, "linestyle": ":", "linewidth": 1.4},
        "truth": {
            "label": "truth, next 5 s", "color": TRUTH, "linewidth": TRUTH_WIDTH, "marker": "o",
            "markersize": TRUTH_MARK,
        },
        **{
            key: {"label": label, **box, "color": "white", "markeredgecolor": edge, "markeredgewidth": 1.6}
            for key, (label, edge) in WALKS.items()
        },
        "lane": {"label": "lane, its direction", "color": LANE, "marker": ">", "markersize": 4, "linewidth": 0.9},
    }  # fmt: skip
    every |= {
        key: {
            "label": look.label,
            "color": look.color,
            "linestyle": look.linestyle,
            "marker": look.marker,
            "linewidth": 2,
        }
        for key, look in SIGNALS.items()
    }
    return [canvas.handle(**look) for key, look in every.items() if present.get(key)]
