"""A scene as one figure: T = 0, five seconds of past, the truth, and what was foreseen."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.io import files
from shiftbench.report import canvas
from shiftbench.tracks.motion.picture import look, roadway
from shiftbench.tracks.motion.picture.forecast import Forecast
from shiftbench.tracks.motion.picture.paths import Paths
from shiftbench.tracks.motion.picture.roadway import Lights
from shiftbench.tracks.motion.picture.traffic import NOW, Traffic
from shiftbench.tracks.motion.picture.view import View, placed, request_of, request_view, scene_view
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import HZ, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Panel:
    """The picture of a scene on axes.

    Args:
        axes: those of matplotlib.
        scene: the scene.
        view: what is seen of it.
        requested: the tracks of the requests that are marked.
        forecasts: what is foreseen, by track.
    """

    def __init__(
        self, axes: Any, scene: Scene, view: View, requested: list[int], forecasts: Mapping[int, Forecast]
    ) -> None:
        self.axes, self.scene, self.view, self.requested = axes, scene, view, requested
        wide, tall = view.half
        axes.set(xlim=(-wide, wide), ylim=(-tall, tall), aspect="equal", xticks=[], yticks=[])
        axes.grid(visible=False)
        for spine in axes.spines.values():
            spine.set(visible=True, color=look.KERB)
        roadway.draw(axes, scene, view)
        self.lights = Lights(axes, scene, view)
        self.traffic = Traffic(axes, scene, view, requested)
        self.paths = Paths(axes, scene, view, requested, forecasts)

    @property
    def artists(self) -> list[Any]:
        """The artists that change from step to step, from bottom to top."""
        moving = (self.lights, self.traffic, self.paths)
        return sorted((artist for each in moving for artist in each.artists), key=lambda artist: artist.get_zorder())

    def show(self, step: int, *, until: int | None = None) -> None:
        """Show a step, 0 … 49; the truth is drawn up to the step `until`, by default up to this one."""
        self.lights.show(step)
        self.traffic.show(step)
        self.paths.show(step, until=step if until is None else until)

    def show_now(self) -> None:
        """Show T = 0 with all of the truth."""
        self.show(NOW, until=STEPS - 1)

    def handles(self) -> list[Any]:
        """Legend entries of what is in the picture but forecasts."""
        shown = self.lights.shown | self.traffic.shown | self.paths.shown
        shown |= {"lane"} if self.scene.road.lanes else set()
        shown |= {"crosswalk"} if roadway.free_crosswalks(self.scene, self.view) else set()
        return look.handles(dict.fromkeys(shown, True))

    def measure(self, *, words: str = "") -> None:
        """A scale bar below the panel, with words beside it."""
        length = _round_length(self.view.half[0] / 2)
        start, below = -self.view.half[0], self.axes.get_xaxis_transform()
        bar = {"transform": below, "color": "black", "clip_on": False, "solid_capstyle": "butt"}
        self.axes.plot((start, start + length), (-self.gap, -self.gap), linewidth=2.2, **bar)
        text = f"{length:g} m" + (f"     {words}" if words else "")
        self.axes.text(start, -1.6 * self.gap, text, transform=below, va="top", fontsize="small")

    @property
    def gap(self) -> float:
        """The distance to what stands below the panel, as a share of its height."""
        return 0.022 * self.view.reach / self.view.half[1]


def _round_length(metres: float) -> float:
    """The longest of 1, 2, 5, 10, 20, 50 … m that is not longer."""
    power = 10.0 ** math.floor(math.log10(metres))
    return max(factor * power for factor in (1, 2, 5) if factor * power <= metres * (1 + 1e-9))


def time_text(step: int) -> str:
    """The time of a step beside T = 0, in seconds."""
    seconds = (step - NOW) / HZ
    return f"t = {'−' if seconds < 0 else '+' if seconds > 0 else ''}{abs(seconds):.1f} s"


def view_of(scene: Scene, request: int | None, forecasts: Mapping[int, Forecast]) -> View:
    """The surroundings of a request, wide enough for its truth and forecast, or those of all requests."""
    if request is None:
        return scene_view(scene, forecasts)
    column = scene.vehicles.column(request)
    fits = [] if column is None else [scene.vehicles.position[NOW:, column, :2]]
    fits += [forecasts[request].trajectories] if request in forecasts else []
    return request_view(scene, request, fits=fits)


SIDE = 7.2  # inches, the longer side of a panel
_BESIDE, _AROUND = 2.4, 0.95  # inches for the legend beside the panel, where it covers nobody, and above and below it
_LEAST = 3.6  # inches of a figure's height, for the legend


def scene_figure(
    scene: Scene, *, request: int | None = None, predictions: Mapping[int, Forecast] | None = None
) -> Figure:
    """A scene at T = 0.

    Args:
        scene: the scene.
        request: the track of one request, seen in its own frame, forwards upwards; None for all of them in the
            scene's frame.
        predictions: forecasts by track, as `forecasts` makes them of a submission.

    Raises:
        UnknownNameError: for a request that is not in the scene.
        ShiftbenchError: for a request whose vehicle has no state at T = 0.
    """
    figure, panel = scene_panel(scene, request, predictions or {}, side=SIDE)
    with canvas.settings():
        panel.show_now()
        finish(figure, panel)
    return figure


def scene_panel(
    scene: Scene, request: int | None, forecasts: Mapping[int, Forecast], *, side: float
) -> tuple[Figure, Panel]:
    """A figure with a title and a panel, its longer side so many inches, on which no step is shown yet."""
    from matplotlib.figure import Figure

    requested = [each.track_id for each in scene.requests] if request is None else [request_of(scene, request).track_id]
    view = view_of(scene, request, forecasts)
    wide, tall = (side * half / view.reach for half in view.half)
    with canvas.settings():
        figure = Figure(figsize=(wide + _BESIDE, max(tall + _AROUND, _LEAST)), layout="constrained")
        axes = figure.add_subplot()
        panel = Panel(axes, scene, view, requested, forecasts)
        panel.paths.number(axes)
        axes.set_title(look.title(scene, request), loc="left", fontsize="medium")
    return figure, panel


def finish(figure: Figure, panel: Panel) -> None:
    """The legend beside the panel and the scale bar below it."""
    figure.legend(handles=[*panel.handles(), *panel.paths.handles()], loc="outside right upper", handlelength=2.4)
    words = [f"upwards: {panel.view.upwards}"]
    if gone := sum(not placed(panel.scene, track) for track in panel.requested):
        words.append(f"requests without a state at T = 0: {gone}")
    panel.measure(words="     ".join(words))


def write_png(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG (150 dpi), whole or not at all."""
    with files.replacing(path) as temporary:
        canvas.write_png(figure, temporary)
    return Path(path)
