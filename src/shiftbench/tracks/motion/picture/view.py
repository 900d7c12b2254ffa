"""Which part of a scene a picture shows, and which way up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ShiftbenchError, UnknownNameError
from shiftbench.report.view import clean
from shiftbench.tracks.motion.picture.forecast import Forecast
from shiftbench.tracks.motion.scenes.frame import agent_frame
from shiftbench.tracks.motion.scenes.scene import Request, Scene
from shiftbench.tracks.motion.schema import PAST

Floats = npt.NDArray[np.float64]

NEAR_M, FAR_M = 40.0, 200.0  # least and most from the middle of a picture to its farther edges
_SLIMMEST = 0.5  # the shorter side of a picture, as a share of the longer one
_FINE_M = 60.0  # in pictures that reach farther, lines and marks are finer
REQUEST_M = 60.0
_MARGIN_M = 10.0
_NOWHERE_M = 1e5  # what is farther from the middle is not drawn: matplotlib's own numbers would overflow


@dataclass(frozen=True, eq=False)
class View:
    """A rectangle of the scene's plane.

    Attributes:
        center: float64 [2], its middle in the scene's frame, in metres.
        up: radians, the direction in the scene's frame that is upwards in the picture.
        half: metres from the middle to the right-hand edge and to the upper one.
        upwards: what is upwards, in words.
    """

    center: Floats
    up: float
    half: tuple[float, float]
    upwards: str

    @property
    def reach(self) -> float:
        """Metres from the middle to the farther edges."""
        return max(self.half)

    @property
    def fineness(self) -> float:
        """The factor for widths of lines and marks: less than 1 where vehicles are small."""
        return float(np.clip(_FINE_M / self.reach, 0.45, 1.0))

    def seen(self, points: npt.ArrayLike) -> Floats:
        """Points [..., 2] of the scene in metres to the right of the middle and above it; NaN where far away."""
        turn = np.pi / 2 - self.up
        cos, sin = np.cos(turn), np.sin(turn)
        away = np.asarray(points, dtype=np.float64) - self.center
        away = np.where(np.abs(away).max(axis=-1, keepdims=True) < _NOWHERE_M, away, np.nan)
        turned: Floats = away @ np.array([[cos, sin], [-sin, cos]])
        return turned

    def holds(self, points: Floats) -> npt.NDArray[np.bool_]:
        """Which of some polylines, points [..., P, 2] of the picture, may touch the rectangle."""
        half = np.array(self.half)
        with np.errstate(invalid="ignore"):
            low, high = np.fmin.reduce(points, axis=-2), np.fmax.reduce(points, axis=-2)
            return np.asarray(((low <= half) & (high >= -half)).all(axis=-1))


def request_of(scene: Scene, track_id: int) -> Request:
    """The request of a scene for a track.

    Raises:
        UnknownNameError: if there is none; the message names the nearest and lists them.
    """
    for request in scene.requests:
        if request.track_id == track_id:
            return request
    known = [str(request.track_id) for request in scene.requests]
    raise UnknownNameError(f"request of scene {clean(scene.id)}", track_id, known)


def request_view(scene: Scene, track_id: int, *, reach: float = REQUEST_M, fits: Iterable[Floats] = ()) -> View:
    """The surroundings of a request in its own frame: forwards is up, its left-hand side left.

    `fits` are points [..., 2] of the scene that the picture should hold: it reaches farther for them, up to 200 m.

    Raises:
        UnknownNameError, ShiftbenchError: as `frame.agent_frame`.
    """
    frame = agent_frame(scene, track_id)
    view = View(frame.center, frame.yaw, (reach, reach), "forwards of the requested vehicle")
    farthest = max((_farthest(view.seen(points)) for points in fits), default=0.0)
    side = float(np.clip(1.08 * farthest, reach, max(reach, FAR_M)))
    return replace(view, half=(side, side))


def _farthest(points: Floats) -> float:
    known = np.abs(points[np.isfinite(points)])
    return float(known.max()) if known.size else 0.0


def scene_view(scene: Scene, forecasts: Mapping[int, Forecast] | None = None) -> View:
    """All requests of a scene over its ten seconds, or all vehicles where there are none, in the scene's own frame."""
    columns = [scene.vehicles.column(request.track_id) for request in scene.requests]
    requested = [column for column in columns if column is not None]
    tracks = scene.vehicles.position[:, requested, :2] if requested else _everyone(scene)
    ahead = [forecast.trajectories[0] for forecast in (forecasts or {}).values()]
    points = np.concatenate([tracks.reshape(-1, 2), *ahead])
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return View(np.zeros(2), np.pi / 2, (REQUEST_M, REQUEST_M), "y of the scene")
    around = np.median(points, axis=0)
    near = points[(np.abs(points - around) <= 2 * FAR_M).all(axis=1)]  # one that is far away does not count
    near = near if len(near) else points[:1]
    low, high = near.min(axis=0), near.max(axis=0)
    sides = np.minimum((high - low) / 2 + _MARGIN_M, FAR_M)
    wide, tall = np.maximum(sides, max(_SLIMMEST * sides.max(), NEAR_M)).tolist()
    return View((low + high) / 2, np.pi / 2, (wide, tall), "y of the scene")


def _everyone(scene: Scene) -> Floats:
    """Where vehicles are at T = 0, or else some of the road's points: [..., 2]."""
    found = [tracks.position[PAST - 1, :, :2] for tracks in (scene.vehicles, scene.ego, scene.pedestrians)]
    points: Floats = np.concatenate(found)
    if np.isfinite(points).any():
        return points
    shapes = [*(lane.centers for lane in scene.road.lanes), *scene.road.polygons]
    return np.concatenate([np.empty((0, 2)), *(shape[:, :2] for shape in shapes)])


def placed(scene: Scene, track_id: int) -> bool:
    """Whether a vehicle has a state at T = 0, seen or interpolated."""
    try:
        agent_frame(scene, track_id)
    except ShiftbenchError:
        return False
    return True
