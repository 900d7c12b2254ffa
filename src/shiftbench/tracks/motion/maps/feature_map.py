"""Feature maps: the surroundings of a vehicle as an image of 17 channels in its own frame.

The agent is in the middle and faces higher columns; its left side faces higher rows. Everything is in this frame except
the yaw, which published maps have in the scene's frame; `yaw_frame="agent"` transforms it as well. Polygons of one
layer and value are filled together, as published: where an even number of them overlap, nothing is filled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.tracks.motion.maps import drawing
from shiftbench.tracks.motion.maps.map_settings import CHANNELS, MapSettings
from shiftbench.tracks.motion.maps.outlines import Actors, Outlines, outlines
from shiftbench.tracks.motion.maps.road_drawing import LAYERS, RoadSheet
from shiftbench.tracks.motion.scenes.frame import AgentFrame, agent_frame
from shiftbench.tracks.motion.scenes.scene import Scene

__all__ = ["CHANNELS", "MapSettings", "feature_map", "feature_maps"]

Map = npt.NDArray[np.float32]
Where = tuple[AgentFrame, Map, MapSettings]  # the agent, the matrix [4, 4] from the scene to its pixels, the settings


def feature_map(
    scene: Scene,
    track_id: int,
    *,
    size: int | tuple[int, int] = 128,
    metres_per_pixel: float = 1.0,
    channels: Iterable[str | int] | None = None,
    history: Sequence[int] = (0,),
    road_history: Sequence[int] = (0,),
    yaw_frame: str = "global",
    interpolation: str = "published",
) -> Map:
    """The surroundings of a vehicle at T = 0 and before, float32 [C, rows, columns].

    Channels are ordered by group (vehicles, pedestrians, road_graph), then by step in the order given, then by channel.
    Velocity is in m/s, acceleration in m/s², yaw in radians, the speed limit in 15 m/s.

    Args:
        scene: the scene.
        track_id: a vehicle of it, seen at T = 0 or both before and after.
        size: rows and columns, or one number for both; forward is along the columns.
        metres_per_pixel: the length of a pixel's side, 0.001 to 1,000.
        channels: names or numbers of `CHANNELS`; None for all 17.
        history: steps before T = 0 (0 … 24) at which actors are drawn, in the published order oldest first.
        road_history: the same for the road and its lights.
        yaw_frame: "global" as published, or "agent".
        interpolation: "published" or "exact", for an agent that is absent at T = 0 (see `frame`).

    Raises:
        SettingsError: naming all settings that are of another kind or out of range.
        UnknownNameError: for one unknown channel, frame, interpolation or vehicle.
        ShiftbenchError: if the vehicle has no state at T = 0.
        MissingExtraError: if OpenCV is not installed.
    """
    settings = MapSettings.of(
        size=size, metres_per_pixel=metres_per_pixel, channels=channels, history=history, road_history=road_history,
        yaw_frame=yaw_frame, interpolation=interpolation,
    )  # fmt: skip
    first: Map = feature_maps(scene, [track_id], settings)[0]
    return first


def feature_maps(scene: Scene, track_ids: Sequence[int], settings: MapSettings | None = None) -> Map:
    """The maps of several vehicles of a scene, float32 [N, C, rows, columns]: the scene is processed only once.

    Raises:
        UnknownNameError, ShiftbenchError, MissingExtraError: as `feature_map`.
    """
    check.kind("scene", scene, Scene)
    check.kind("settings", settings, (MapSettings, type(None)))
    settings = settings or MapSettings()
    track_ids = [argument.whole("track_ids", track) for track in argument.several("track_ids", track_ids, object)]
    shapes = outlines(scene, settings.history, settings.road_history)
    maps = np.zeros((len(track_ids), settings.planes, *settings.size), dtype=np.float32)
    for number, track_id in enumerate(track_ids):
        _draw(maps[number], shapes, agent_frame(scene, track_id, interpolation=settings.interpolation), settings)
    return maps


def _draw(planes: Map, shapes: Outlines, frame: AgentFrame, settings: MapSettings) -> None:
    matrix = drawing.map_matrix(frame.to_agent, settings.size, settings.metres_per_pixel)
    at = 0
    for group in ("vehicles", "pedestrians"):
        names = settings.names[group]
        for back in settings.history if names else ():
            block = planes[at : at + len(names)].reshape(len(names), -1)
            _draw_actors(block, shapes.actors[group, back], names, (frame, matrix, settings))
            at += len(names)
    if names := settings.names["road_graph"]:
        sheet = RoadSheet(shapes.road, drawing.pixels(shapes.road.points, matrix), settings.size)
        for back in settings.road_history:
            for name in names:
                LAYERS[name](sheet, shapes.lights[back], planes[at])
                at += 1


def _draw_actors(block: Map, actors: Actors, names: Sequence[str], where: Where) -> None:
    """Draw A actors into the rows of a block [K, rows · columns], one for each name."""
    frame, matrix, settings = where
    place, number = drawing.labels(drawing.pixels(actors.corners, matrix), settings.size)
    if not len(place):
        return
    velocity, acceleration = drawing.turned(actors.motion, frame.to_agent).swapaxes(0, 1)
    values = {
        "occupancy": np.ones_like(actors.yaw),
        "velocity_x": velocity[:, 0],
        "velocity_y": velocity[:, 1],
        "acceleration_x": acceleration[:, 0],
        "acceleration_y": acceleration[:, 1],
        "yaw": actors.yaw if settings.yaw_frame == "global" else drawing.turned_yaw(actors.yaw, frame.yaw),
    }
    for row, name in zip(block, names, strict=True):
        row[place] = values[name][number]
