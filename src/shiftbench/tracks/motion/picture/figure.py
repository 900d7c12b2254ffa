"""A scene as one figure: T = 0, five seconds of past, the truth, and what was foreseen."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench import files
from shiftbench.report import canvas
from shiftbench.report.style import DPI
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.forecast import Forecast
from shiftbench.tracks.motion.picture.panel import Panel, view_of
from shiftbench.tracks.motion.picture.view import placed, request_of
from shiftbench.tracks.motion.scenes.scene import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SIZE = (8.6, 7.1)  # inches; the legend stands beside the panel, where it covers nobody


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
    figure, panel = scene_panel(scene, request, predictions or {}, size=SIZE)
    with canvas.settings():
        panel.show_now()
        finish(figure, panel)
    return figure


def scene_panel(
    scene: Scene, request: int | None, forecasts: Mapping[int, Forecast], *, size: tuple[float, float]
) -> tuple[Figure, Panel]:
    """A figure with a title and a panel on which no step is shown yet."""
    from matplotlib.figure import Figure

    asked = [each.track_id for each in scene.requests] if request is None else [request_of(scene, request).track_id]
    view = view_of(scene, request, forecasts)
    with canvas.settings():
        figure = Figure(figsize=size, layout="constrained")
        axes = figure.add_subplot()
        panel = Panel(axes, scene, view, asked, forecasts)
        panel.paths.number(axes)
        axes.set_title(look.title(scene, request), loc="left", fontsize="medium")
    return figure, panel


def finish(figure: Figure, panel: Panel) -> None:
    """The legend beside the panel and the scale bar below it."""
    figure.legend(handles=[*panel.handles(), *panel.paths.handles()], loc="outside right upper", handlelength=2.4)
    words = [f"upwards: {panel.view.upwards}"]
    if gone := sum(not placed(panel.scene, track) for track in panel.asked):
        words.append(f"requests without a state at T = 0: {gone}")
    panel.measure(words="     ".join(words))


def write_png(figure: Figure, path: str | os.PathLike[str]) -> Path:
    """Write a figure as PNG (150 dpi), whole or not at all."""
    with canvas.settings(), files.replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=DPI, metadata={"Software": None})
    return Path(path)
