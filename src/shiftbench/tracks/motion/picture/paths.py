"""Paths in a picture: where requested vehicles went, and where they were predicted to go, by weight."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.report import canvas
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.forecast import Forecast
from shiftbench.tracks.motion.picture.traffic import NOW
from shiftbench.tracks.motion.picture.view import View
from shiftbench.tracks.motion.scenes.frame import ground_truth
from shiftbench.tracks.motion.scenes.scene import Scene

Floats = npt.NDArray[np.float64]

MOST_NAMED = 6  # modes that a legend lists
_SECOND = 5  # steps
_APART = 0.05  # of the view's reach: ends that are nearer have one number


class Paths:
    """The truth and the forecasts of requests; in an animation they appear at T = 0."""

    def __init__(
        self, axes: Any, scene: Scene, view: View, requested: list[int], forecasts: Mapping[int, Forecast]
    ) -> None:
        self.view, self.alone = view, len(requested) == 1
        self.truths = [_truth(scene, track) for track in requested]
        self.forecasts = [forecasts[track] for track in requested if track in forecasts]
        self.lines = [artist for forecast in self.forecasts for artist in self._draw(axes, forecast)]
        self.names: list[Any] = []
        fine = view.fineness
        self.truth = axes.plot(
            [], [], color=look.TRUTH, linewidth=look.TRUTH_WIDTH * fine, marker="o", markersize=look.TRUTH_MARK * fine,
            markevery=[], zorder=4.8,
        )[0]  # fmt: skip

    @property
    def artists(self) -> list[Any]:
        """The artists that change from step to step."""
        return [*self.lines, self.truth, *self.names]

    def show(self, step: int, *, until: int) -> None:
        """Show forecasts from T = 0 on, and the truth from T = 0 to the step `until`."""
        for artist in (*self.lines, *self.names):
            artist.set_visible(step >= NOW)
        gap = np.full((1, 2), np.nan)
        parts = [self.view.seen(truth[: max(until - NOW, 0) + 1]) for truth in self.truths]
        points = np.concatenate([gap, *(np.concatenate([part, gap]) for part in parts)])
        starts = np.cumsum([1, *(len(part) + 1 for part in parts)])[:-1]
        marks = [
            start + at for start, part in zip(starts, parts, strict=True) for at in range(_SECOND, len(part), _SECOND)
        ]
        self.truth.set_data(points[:, 0], points[:, 1])
        self.truth.set_markevery([int(mark) for mark in marks])

    @property
    def shown(self) -> set[str]:
        """Whether there is a truth to show, by the keys of `look.handles`."""
        return {"truth"} if any(np.isfinite(truth[1:]).any() for truth in self.truths) else set()

    def _draw(self, axes: Any, forecast: Forecast) -> list[Any]:
        """A line and its end for each mode, the lightest at the bottom, below the truth and all vehicles."""
        from matplotlib.collections import LineCollection, PathCollection
        from matplotlib.colors import to_rgba
        from matplotlib.path import Path
        from matplotlib.transforms import IdentityTransform

        ways, weights = self.view.seen(forecast.trajectories)[::-1], forecast.weights[::-1].tolist()
        widths = np.array([look.width(weight) * self.view.fineness for weight in weights])
        colors = [to_rgba(look.FORECAST, look.opacity(weight)) for weight in weights]
        lines = LineCollection(list(ways), linewidth=widths, color=colors, capstyle="round", zorder=4.4)
        diamond = Path(0.5 * np.array([(-1, 0), (0, -1), (1, 0), (0, 1), (-1, 0)]), closed=True)
        ends = PathCollection(
            [diamond], sizes=(1.4 * (1.0 + 0.8 * widths)) ** 2, facecolor=colors, offsets=ways[:, -1],
            offset_transform=axes.transData, zorder=4.5,
        )  # fmt: skip
        ends.set_transform(IdentityTransform())
        for artist in (lines, ends):
            axes.add_collection(artist)
        return [lines, ends]

    def number(self, axes: Any) -> None:
        """Number the ends of the likeliest modes of a single request, as `handles` does; ends that meet share one."""
        if not (self.alone and self.forecasts):
            return
        forecast = self.forecasts[0]
        groups: list[tuple[Floats, list[int]]] = []
        for rank, end in enumerate(self.view.seen(forecast.trajectories[:MOST_NAMED, -1]), 1):
            if not (np.abs(end) < self.view.half).all():
                continue
            near = [ranks for spot, ranks in groups if np.hypot(*(spot - end)) < _APART * self.view.reach]
            near[0].append(rank) if near else groups.append((end, [rank]))
        self.names = [
            axes.annotate(
                ",".join(map(str, ranks)), spot, xytext=(5, 3), textcoords="offset points", color=look.FORECAST,
                fontsize=7.5, fontweight="bold", zorder=9,
                bbox={"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.7},
            )
            for spot, ranks in groups
        ]  # fmt: skip

    def handles(self) -> list[Any]:
        """Legend entries of the forecasts: each mode with its weight where there is one request, else some weights."""
        if not self.forecasts:
            return []
        if not self.alone:
            return weight_handles(self.view.fineness)
        weights = self.forecasts[0].weights.tolist()
        entries = [
            _handle(f"{rank}: weight {weight:.2f}", weight) for rank, weight in enumerate(weights[:MOST_NAMED], 1)
        ]
        if rest := weights[MOST_NAMED:]:
            entries.append(_handle(f"{len(rest)} more: {sum(rest):.2f} in all", rest[0]))
        return entries


def weight_handles(fineness: float = 1.0) -> list[Any]:
    """Legend entries that tell how wide forecasts of some weights are, in a picture of some fineness."""
    return [_handle(f"forecast of weight {weight:g}", weight, fineness) for weight in (1.0, 0.3, 0.05)]


def _handle(label: str, weight: float, fineness: float = 1.0) -> Any:
    width = look.width(weight) * fineness
    return canvas.handle(
        label, color=look.FORECAST, alpha=look.opacity(weight), linewidth=width, solid_capstyle="round"
    )


def _truth(scene: Scene, track_id: int) -> Floats:
    """The positions of a vehicle at T = 0 and the 25 steps after it, [26, 2]; NaN where it is absent or never seen."""
    column = scene.vehicles.column(track_id)
    if column is None:
        return np.full((1, 2), np.nan)
    now = scene.vehicles.position[NOW, column, :2]
    return np.concatenate([now[None], ground_truth(scene, track_id)])
