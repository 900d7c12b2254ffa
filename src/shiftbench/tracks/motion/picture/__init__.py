"""Scenes as pictures: a figure, an animation, feature maps, and galleries of the requests to look at."""

from __future__ import annotations

from shiftbench.tracks.motion.picture.animation import write_gif
from shiftbench.tracks.motion.picture.channels import feature_map_figure
from shiftbench.tracks.motion.picture.figure import scene_figure, write_png
from shiftbench.tracks.motion.picture.forecast import Forecast, forecasts
from shiftbench.tracks.motion.picture.gallery import gallery, to_look_at
from shiftbench.tracks.motion.picture.showing import show

__all__ = [
    "Forecast", "feature_map_figure", "forecasts", "gallery", "scene_figure", "show", "to_look_at", "write_gif",
    "write_png",
]  # fmt: skip
