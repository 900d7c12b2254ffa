"""A feature map as a picture: its 17 channels side by side, forwards up and the left-hand side left."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from shiftbench.report import canvas
from shiftbench.report.style import COLOURS
from shiftbench.tracks.motion.maps.feature_map import Map, feature_maps
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.view import request_of
from shiftbench.tracks.motion.scenes.scene import Scene

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ACROSS = 6
_NOTHING = "#dde1e6"  # darker than the smallest values
_GROUPS = {"vehicles": "vehicles", "pedestrians": "pedestrians", "road_graph": "road"}
# Of each kind of channel: its unit, its colours, and its range; None takes it from the map.
_KINDS: dict[str, tuple[str, str, tuple[float, float] | None]] = {
    "occupancy": ("", "Greys", (0, 1.4)),
    "priority": ("", "Greys", (0, 1.4)),
    "polygons": ("", "Greys", (0, 1.4)),
    "velocity": ("m/s", "PuOr", None),
    "acceleration": ("m/s²", "PuOr", None),
    "yaw": ("rad", "around", (-np.pi, np.pi)),
    "direction": ("rad", "around", (-np.pi, np.pi)),
    "availability": ("", "PuOr", (-2, 2)),
    "limit": ("in 15 m/s", "viridis", None),
}


def feature_map_figure(scene: Scene, request: int, *, settings: MapSettings | None = None) -> Figure:
    """The feature map of a request at T = 0, a panel a channel; where nothing is, nothing is drawn.

    Args:
        scene: the scene.
        request: the track of a request.
        settings: of the map, of one past step; None for the usual ones.

    Raises:
        UnknownNameError: for a request that is not in the scene.
        ShiftbenchError: as `feature_map`.
    """
    from matplotlib.figure import Figure

    settings = settings or MapSettings()
    values = feature_maps(scene, [request_of(scene, request).track_id], settings)[0]
    names = settings.channels
    down = -(-len(names) // _ACROSS)
    with canvas.settings():
        figure = Figure(figsize=(2.05 * _ACROSS, 2.3 * down + 0.65), layout="constrained")
        panels = figure.subplots(down, min(_ACROSS, len(names)), squeeze=False).ravel().tolist()
        planes = dict(zip(names, values, strict=True))
        for axes, name in zip(panels, names, strict=False):
            _draw(figure, axes, name, _seen(name, planes), settings.metres_per_pixel)
        for spare in panels[len(names) :]:
            spare.set_axis_off()
        rows, columns = settings.size
        size = f"{rows} × {columns} pixels of {settings.metres_per_pixel:g} m, forwards is up"
        figure.suptitle(
            "\n".join([*look.title(scene, request).splitlines()[:2], size]), x=0.01, ha="left", fontsize="medium"
        )
    return figure


def _colours(name: str) -> Any:
    """Colours by name; those of angles come round again: backwards, right, forwards, left, backwards."""
    from matplotlib import colormaps
    from matplotlib.colors import LinearSegmentedColormap

    if name != "around":
        return colormaps[name]
    blue, vermilion, green, purple = COLOURS[:4]
    return LinearSegmentedColormap.from_list(name, [vermilion, purple, blue, green, vermilion])


def upright(plane: Map) -> Map:
    """A channel [rows, columns] as a picture [columns, rows]: forwards (higher columns) up, left (higher rows) left."""
    return plane.T[::-1, ::-1]


def _seen(name: str, planes: Mapping[str, Map]) -> Any:
    """A channel, masked where nothing is: where its actors or lanes are not, if that is a channel, too, or it is 0.

    A lane that leads along the first axis has the direction 0, and a vehicle at rest the velocity 0.
    """
    group, _, channel = name.partition(".")
    there = planes.get(f"{group}.lane_occupancy" if channel.startswith("lane") else f"{group}.occupancy")
    plane = planes[name]
    of_angle_or_motion = any(kind in channel for kind in ("velocity", "acceleration", "yaw", "direction"))
    return np.ma.masked_array(plane, there == 0 if there is not None and of_angle_or_motion else plane == 0)


def _draw(figure: Figure, axes: Any, name: str, plane: Any, metres_per_pixel: float) -> None:
    group, _, channel = name.partition(".")
    kind = next(kind for kind in _KINDS if kind in channel)
    unit, colours, limits = _KINDS[kind]
    if limits is None:
        most = float(np.abs(plane.filled(0)).max()) or 1.0
        limits = (0.0, most) if colours == "viridis" else (-most, most)
    half = [side * metres_per_pixel / 2 for side in plane.shape]
    drawn = axes.imshow(
        upright(plane), cmap=_colours(colours), vmin=limits[0], vmax=limits[1],
        interpolation="nearest", extent=(-half[0], half[0], -half[1], half[1]),
    )  # fmt: skip
    axes.set(xticks=[], yticks=[], facecolor=_NOTHING)
    axes.grid(visible=False)
    for spine in axes.spines.values():
        spine.set(visible=True, color=look.KERB)
    words = channel.replace("_", " ").removeprefix("road ")
    there = bool(plane.count())
    axes.set_title(f"{_GROUPS[group]}: {words}" + ((f", {unit}" if unit else "") if there else ", none"), fontsize=7.5)
    if there and colours != "Greys":
        bar = figure.colorbar(drawn, ax=axes, location="bottom", shrink=0.85, aspect=22, pad=0.02)
        bar.ax.tick_params(labelsize=6.5, length=2, pad=1)
        bar.outline.set_linewidth(0.4)
        bar.ax.locator_params(nbins=4)  # more numbers than that run into each other
        if kind == "availability":
            bar.set_ticks([-2, -1, 1, 2], labels=["?", "stop", "go", "free"])
