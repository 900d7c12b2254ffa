"""Who is on the road in a picture: vehicles as boxes with their heading, pedestrians, and where they came from."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError
from shiftbench.report.style import GREY
from shiftbench.tracks.motion.maps.outlines import CORNERS
from shiftbench.tracks.motion.picture import look
from shiftbench.tracks.motion.picture.view import View
from shiftbench.tracks.motion.scenes.actors import Tracks
from shiftbench.tracks.motion.scenes.frame import State, heading, latest_state
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.schema import PAST

Floats = npt.NDArray[np.float64]

NOW = PAST - 1  # the step of T = 0
_NOSE = np.array([[0.16, 0.38], [0.44, 0.0], [0.16, -0.38]])  # in lengths and widths of the box: an arrow at its front
_LEAST_M = 0.3  # of a box, else it would not be seen
_MOVING = 0.5  # m/s


def fronts(tracks: Tracks) -> Floats:
    """Where the fronts of A vehicles point at each step, radians [50, A]: yaw, which is known up to half a turn.

    The front is where a vehicle goes; one that stands keeps it where it went most of the time, so that noise in its
    velocity does not turn it round from step to step.
    """
    ahead = np.cos(tracks.yaw) * tracks.velocity[..., 0] + np.sin(tracks.yaw) * tracks.velocity[..., 1]
    mostly = np.broadcast_to(np.nansum(ahead, axis=0), ahead.shape)
    return tracks.yaw + np.pi * (np.where(np.abs(ahead) > _MOVING, ahead, mostly) < 0)


def boxes(
    tracks: Tracks, step: int, columns: npt.NDArray[np.intp], directions: Floats | None = None
) -> tuple[Floats, Floats]:
    """The corners [A, 4, 2] of vehicles at a step and the arrows [A, 3, 2] at their fronts, in the scene's frame.

    `directions` are the `fronts` of the tracks, if they are known already.
    """
    present = columns[tracks.present[step, columns]]
    size = np.maximum(tracks.dimensions[step, present, :2], _LEAST_M)
    known = fronts(tracks) if directions is None else directions
    return _outlines(tracks.position[step, present, :2], size, known[step, present])


def _outlines(position: Floats, size: Floats, front: Floats) -> tuple[Floats, Floats]:
    along = np.stack([np.cos(front), np.sin(front)], axis=-1)
    aside = along[:, ::-1] * (-1, 1)

    def around(shape: Floats) -> Floats:
        far, wide = (shape[None] * size[:, None]).transpose(2, 0, 1)[..., None]
        return np.asarray(position[:, None] + far * along[:, None] + wide * aside[:, None])

    return around(CORNERS), around(_NOSE)


def _guessed(scene: Scene, track_id: int) -> tuple[Floats, Floats] | None:
    """Box and arrow of a request that is absent at T = 0, where it is interpolated."""
    try:
        state: State = latest_state(scene, track_id)
    except ShiftbenchError:  # nobody knows where
        return None
    size = np.maximum(state.dimensions[None, :2], _LEAST_M)
    return _outlines(state.position[None, :2], size, np.array([heading(state)]))


class Traffic:
    """The actors of a scene, moved from step to step."""

    def __init__(self, axes: Any, scene: Scene, view: View, requested: list[int]) -> None:
        from matplotlib.collections import LineCollection, PolyCollection

        self.scene, self.view, self.requested = scene, view, requested
        chosen = np.array(
            [scene.vehicles.column(track) for track in requested if scene.vehicles.column(track) is not None]
        )
        self.columns = chosen.astype(np.intp)
        self.fronts = {"vehicles": fronts(scene.vehicles), "ego": fronts(scene.ego)}
        self._turn_requested()
        self.others = np.setdiff1d(np.arange(len(scene.vehicles.ids)), self.columns)

        fine = view.fineness

        def shapes(color: str, edge: str, zorder: float, width: float = 0.6) -> Any:
            filled = PolyCollection([], facecolor=color, edgecolor=edge, linewidth=width * fine, zorder=zorder)
            return axes.add_collection(filled)

        def lines(color: str, zorder: float, width: float, dash: str = "-") -> Any:
            return axes.add_collection(
                LineCollection([], color=color, linewidth=width * fine, linestyle=dash, zorder=zorder, capstyle="round")
            )

        self.trails = lines(GREY, 4, 0.7, ":")
        self.requested_trails = lines(look.REQUESTED, 4.2, 1.3 / fine**0.5, ":")  # the one that shows, however small
        self.paths = lines("#8a7d1a", 4, 0.7, ":")  # of pedestrians, in a darker yellow
        self.boxes = shapes(look.OTHER, GREY, 5)
        self.ego = shapes(look.EGO, look.EGO, 5.2)
        self.requested_boxes = shapes(look.REQUESTED, "black", 5.4, 0.8)
        self.noses = lines("white", 5.6, 1.1)
        self.people = axes.plot(
            [], [], linestyle="", marker="o", markersize=4.5 * fine**0.7, color=look.PEDESTRIAN,
            markeredgecolor="black", markeredgewidth=0.7 * fine, zorder=5.8,
        )[0]  # fmt: skip

    @property
    def artists(self) -> list[Any]:
        """The artists that change from step to step."""
        return [
            self.trails, self.paths, self.requested_trails, self.boxes, self.ego, self.requested_boxes, self.noses,
            self.people,
        ]  # fmt: skip

    @property
    def shown(self) -> set[str]:
        """Who is in the picture, by the keys of `look.handles`."""
        full = {
            "requested": self.requested_boxes.get_paths(), "other": self.boxes.get_paths(), "ego": self.ego.get_paths(),
            "pedestrian": self.people.get_xdata(), "trail": self.requested_trails.get_segments(),
        }  # fmt: skip
        return {key for key, things in full.items() if len(things)}

    def show(self, step: int) -> None:
        """Move everyone to a step (24 is T = 0); trails are of the five seconds before."""
        scene = self.scene
        noses = [
            self._place(self.boxes, boxes(scene.vehicles, step, self.others, self.fronts["vehicles"])),
            self._place(self.ego, boxes(scene.ego, step, np.arange(len(scene.ego.ids)), self.fronts["ego"])),
            self._place(self.requested_boxes, self._requested(step)),
        ]
        self.noses.set_segments(np.concatenate(noses))
        people = self._within(scene.pedestrians.position[step, :, :2][:, None])
        self.people.set_data(people[:, 0, 0], people[:, 0, 1])
        self.trails.set_segments(self._trails(scene.vehicles, step, self.others))
        self.requested_trails.set_segments(self._trails(scene.vehicles, step, self.columns))
        self.paths.set_segments(self._trails(scene.pedestrians, step, np.arange(len(scene.pedestrians.ids))))
        for artist in self.artists:  # what is to come is paler
            artist.set_alpha(1.0 if step < PAST else 0.75)

    def _turn_requested(self) -> None:
        """A requested vehicle that stands all the time points forwards as in its own frame."""
        vehicles, directions = self.scene.vehicles, self.fronts["vehicles"]
        for column in self.columns[vehicles.present[NOW, self.columns]]:
            forwards = heading(latest_state(self.scene, int(vehicles.ids[column])))
            speed = np.hypot(vehicles.velocity[:, column, 0], vehicles.velocity[:, column, 1])
            if np.cos(forwards - directions[NOW, column]) < 0 and np.nanmax(speed) <= _MOVING:
                directions[:, column] += np.pi

    def _requested(self, step: int) -> tuple[Floats, Floats]:
        corners, noses = boxes(self.scene.vehicles, step, self.columns, self.fronts["vehicles"])
        if step != NOW:
            return corners, noses
        gone = self.columns[~self.scene.vehicles.present[step, self.columns]]
        guessed = [_guessed(self.scene, int(self.scene.vehicles.ids[column])) for column in gone]
        known = [each for each in guessed if each is not None]
        return (
            np.concatenate([corners, *(each[0] for each in known)]),
            np.concatenate([noses, *(each[1] for each in known)]),
        )

    def _place(self, artist: Any, shapes: tuple[Floats, Floats]) -> Floats:
        """Give boxes to an artist; returns their arrows, in the view's metres."""
        corners, noses = map(self.view.seen, shapes)
        inside = self.view.holds(corners) if len(corners) else np.zeros(0, dtype=np.bool_)
        artist.set_verts(corners[inside])
        return noses[inside]

    def _within(self, points: Floats) -> Floats:
        """Those of points [A, 1, 2] of the scene that are in the view."""
        seen = self.view.seen(points)
        return seen[self.view.holds(seen)] if len(seen) else seen

    def _trails(self, tracks: Tracks, step: int, columns: npt.NDArray[np.intp]) -> list[Floats]:
        start = max(0, step - NOW)
        here = columns[tracks.present[step, columns]] if step != NOW else columns
        lines = self.view.seen(tracks.position[start : step + 1, here, :2].swapaxes(0, 1))
        return [line for line in lines if np.isfinite(line).all(axis=1).sum() > 1 and self.view.holds(line)]
