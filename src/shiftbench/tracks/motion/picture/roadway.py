"""The road in a picture: its ground, lanes with their direction, crosswalks, and lights on the lanes they control."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.tracks.motion.maps import availability
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.view import View
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST

Floats = npt.NDArray[np.float64]

_ARROW_EVERY_M = 25.0  # as far apart are the arrows along a lane
_MOST_POINTS = 200_000  # of a road; more are thinned out
_WALKS = {availability.FREE: "walk", availability.FORBIDDEN: "wait"}


def draw(axes: Any, scene: Scene, view: View) -> None:
    """Draw what never moves: the ground, the lanes and the outlines of crosswalks."""
    from matplotlib.collections import LineCollection, PolyCollection

    road = scene.road
    ground = _visible([polygon[:, :2] for polygon in road.polygons], view, least=3)
    axes.add_collection(PolyCollection(ground, facecolor=look.GROUND, edgecolor=look.KERB, linewidth=0.6, zorder=1))
    lanes = _visible([lane.centers[:, :2] for lane in road.lanes], view, least=2)
    axes.add_collection(LineCollection(lanes, color=look.LANE, linewidth=0.7 * view.fineness, zorder=2))
    _draw_arrows(axes, lanes, view)
    walks = _visible([walk.polygon[:, :2] for walk in road.crosswalks], view, least=3)
    stripes = PolyCollection(
        walks, facecolor="white", edgecolor=look.STRIPES, hatch="||||", linewidth=0.8, alpha=0.9, zorder=2.5
    )
    axes.add_collection(stripes)


def free_crosswalks(scene: Scene, view: View) -> bool:
    """Whether the view has a crosswalk that no light controls."""
    walks = [walk.polygon[:, :2] for walk in scene.road.crosswalks if not walk.rules]
    return bool(_visible(walks, view, least=3))


def _visible(shapes: list[Floats], view: View, *, least: int) -> list[Floats]:
    """The polylines of at least so many points that may touch the view, in its metres."""
    thin = max(1, sum(map(len, shapes)) // _MOST_POINTS)
    seen = [view.seen(np.concatenate([shape[:-1:thin], shape[-1:]])) for shape in shapes if len(shape) >= least]
    return [points for points in seen if view.holds(points)]


def _draw_arrows(axes: Any, lanes: list[Floats], view: View) -> None:
    """Small heads along lanes, at least one each."""
    spots = [spot for lane in lanes for spot in _arrows(lane)]
    spots = [spot for spot in spots if (np.abs(spot[:2]) <= view.half).all()]
    if spots:
        x, y, right, up = np.array(spots).T
        size = 0.014 * view.reach * view.fineness**0.6  # quiver's arrows, without a shaft
        axes.quiver(
            x, y, right * size, up * size, angles="xy", scale_units="xy", scale=1, units="xy", pivot="mid",
            width=0.25 * size, headwidth=4.5, headlength=4.5, headaxislength=3.2, minlength=0, color=look.LANE,
            zorder=2.2,
        )  # fmt: skip


def _arrows(lane: Floats) -> list[tuple[float, float, float, float]]:
    """Places along a lane and its unit direction there."""
    steps = np.diff(lane, axis=0)
    lengths = np.hypot(*steps.T)
    ends = np.cumsum(lengths)
    if not np.isfinite(ends).all() or not ends[-1] > 0:
        return []
    count = int(min(ends[-1] // _ARROW_EVERY_M + 1, 100))
    found = []
    for distance in (np.arange(count) + 0.5) * ends[-1] / count:
        segment = int(np.searchsorted(ends, distance))
        along = steps[segment] / lengths[segment]
        spot = lane[segment] + along * (distance - ends[segment] + lengths[segment])
        found.append((*spot.tolist(), *along.tolist()))
    return found


class Lights:
    """The lanes and crosswalks that lights control, in the colours of one step after another."""

    def __init__(self, axes: Any, scene: Scene, view: View) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        self.scene = scene
        lanes = [(lane, view.seen(lane.centers[:, :2])) for lane in scene.road.lanes if any(lane.sections)]
        self.lanes = [(lane, points) for lane, points in lanes if len(points) >= 2 and view.holds(points)]
        walks = [(walk, view.seen(walk.polygon[:, :2])) for walk in scene.road.crosswalks if walk.rules]
        self.walks = [(walk, points) for walk, points in walks if len(points) >= 3 and view.holds(points)]
        self.lines = {
            key: axes.add_collection(
                LineCollection([], color=each.color, linestyle=each.linestyle, linewidth=1.6, zorder=3)
            )
            for key, each in look.SIGNALS.items()
        }
        # At its start a lane has a mark as well, which tells lights apart without their colours.
        self.marks = {
            key: axes.plot([], [], linestyle="", marker=each.marker, color=each.color, markersize=4, zorder=3.2)[0]
            for key, each in look.SIGNALS.items()
        }
        outlines = PolyCollection([points for _, points in self.walks], facecolor="none", linewidth=1.6, zorder=2.6)
        self.outlines = axes.add_collection(outlines)
        self.shown: set[str] = set()

    @property
    def artists(self) -> list[Any]:
        """The artists that change from step to step."""
        return [self.outlines, *self.lines.values(), *self.marks.values()]

    def show(self, step: int) -> None:
        """Take the colours of a step; after T = 0, where no light is known, those of T = 0 fade."""
        states = self.scene.lights[min(step, PAST - 1)] if self.scene.lights else {}
        signals = [look.signal(lane.sections, states) for lane, _ in self.lanes]
        for key in look.SIGNALS:
            lanes = [points for found, (_, points) in zip(signals, self.lanes, strict=True) if found == key]
            self.lines[key].set_segments(lanes)
            self.marks[key].set_data([lane[0, 0] for lane in lanes], [lane[0, 1] for lane in lanes])
            if lanes:
                self.shown.add(key)
        allowed = availability.crosswalks([walk for walk, _ in self.walks], states)
        walks = [_WALKS.get(each, "crosswalk") for each in allowed]
        self.outlines.set_edgecolor([look.WALKS[key][1] for key in walks])
        self.shown.update(walks)
        for artist in self.artists:
            artist.set_alpha(1.0 if step < PAST else 0.45)
