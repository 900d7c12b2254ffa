"""A scene as an animated GIF: its 50 steps in real time, the road drawn once."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench.io import files
from shiftbench.report import canvas
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.figure import Panel, finish, scene_panel, time_text
from shiftbench.tracks.motion.picture.forecast import Forecast
from shiftbench.tracks.motion.picture.traffic import NOW
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import HZ, STEPS

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL.Image import Image

SIDE, DPI = 6.2, 100
COLOURS = 96  # of one palette for all frames
_MS, _LAST_MS = 1000 // HZ, 1600  # the last frame stays, so that one sees where all ended
_PAST, _FUTURE = "past", "future"


def write_gif(
    scene: Scene,
    path: str | os.PathLike[str],
    *,
    request: int | None = None,
    predictions: Mapping[int, Forecast] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Write the ten seconds of a scene as an animated GIF that repeats, whole or not at all.

    The truth appears as it happens, forecasts at T = 0, from which on everyone is paler. The arguments are those of
    `scene_figure`; `progress` is called with the frames that are drawn, and all.

    Raises:
        UnknownNameError, ShiftbenchError: as `scene_figure`.
    """
    from PIL import Image as images

    figure, panel = scene_panel(scene, request, predictions or {}, side=SIDE)
    with canvas.settings():
        frames = _frames(figure, panel, progress or (lambda done, all_of_them: None))
    palette = _palette(frames)
    plain = images.Dither.NONE  # dots of colour would move from frame to frame
    drawn = [frame.quantize(palette=palette, dither=plain) for frame in frames]
    times = [_MS] * (len(drawn) - 1) + [_LAST_MS]
    with files.replacing(path) as temporary:
        drawn[0].save(temporary, format="GIF", save_all=True, append_images=drawn[1:], duration=times, loop=0)
    return Path(path)


def _frames(figure: Figure, panel: Panel, progress: Callable[[int, int], None]) -> list[Image]:
    """Every step: what moves is drawn on a copy of what does not."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image as images

    figure.set_dpi(DPI)
    drawing: Any = FigureCanvasAgg(figure)
    clock = panel.axes.text(1.0, -panel.gap, "", transform=panel.axes.transAxes, ha="right", va="top", fontsize="large")
    for step in (0, NOW):  # the legend has an entry for all that comes
        panel.show(step, until=STEPS - 1)
    finish(figure, panel)
    moving = [*panel.artists, clock]
    for artist in moving:
        artist.set_animated(True)
    drawing.draw()
    figure.set_layout_engine("none")
    background = drawing.copy_from_bbox(figure.bbox)
    frames = []
    for step in range(STEPS):
        panel.show(step)
        clock.set_text(f"{_PAST if step <= NOW else _FUTURE}   {time_text(step)}")
        drawing.restore_region(background)
        for artist in moving:
            panel.axes.draw_artist(artist)
        frames.append(images.fromarray(np.asarray(drawing.buffer_rgba())[..., :3].copy()))
        progress(step + 1, STEPS)
    return frames


def _palette(frames: list[Image]) -> Image:
    """The colours of the first frame, of T = 0 and of the last one, and white and those of `look`, rare as they are."""
    from matplotlib.colors import to_rgb
    from PIL import Image as images

    chosen = [frames[0], frames[NOW], frames[-1]]
    width, height = frames[0].size
    sheet = images.new("RGB", (width, height * len(chosen)))
    for place, frame in enumerate(chosen):
        sheet.paste(frame, (0, place * height))
    found = sheet.quantize(colors=COLOURS, method=images.Quantize.MEDIANCUT).getpalette() or []
    sure = [round(255 * part) for color in ("white", *look.EVERY) for part in to_rgb(color)]
    palette = images.new("P", (1, 1))
    palette.putpalette(sure + found[: 3 * COLOURS])
    return palette
