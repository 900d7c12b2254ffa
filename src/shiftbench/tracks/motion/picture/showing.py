"""What `shiftbench show` writes of a scene's file."""

from __future__ import annotations

from pathlib import Path

from shiftbench.errors import PredictionsError, SettingsError
from shiftbench.progress import Progress, silent
from shiftbench.tracks.motion.picture.animation import write_gif
from shiftbench.tracks.motion.picture.channels import feature_map_figure
from shiftbench.tracks.motion.picture.figure import scene_figure, write_png
from shiftbench.tracks.motion.picture.forecast import Forecast, forecasts
from shiftbench.tracks.motion.picture.view import request_of
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene
from shiftbench.tracks.motion.submissions.submission import read_submission


def show(
    source: Path, folder: Path, *, request: int | None = None, predictions: Path | None = None, frame: str = "agent",
    gif: bool = True, feature_map: bool = False, progress: Progress | None = None,
) -> dict[str, Path]:  # fmt: skip
    """Draw a scene's file into a folder, where earlier pictures of the same names are replaced.

    Args:
        source: a scene's .pb file.
        folder: where to.
        request: the track of one request, seen in its own frame; None for all requests.
        predictions: a submission, protobuf or our Parquet, that has this scene among its own.
        frame: that of its trajectories, "agent" or "global".
        gif: whether to draw the animation as well.
        feature_map: whether to draw the feature map of the request as well.
        progress: called with "frames", how many are drawn, and all.

    Returns:
        The paths by what they hold: `picture`, `animation`, `feature map`.

    Raises:
        UnknownNameError: for a request that is not in the scene.
        SettingsError: for a feature map without a request in a scene with several.
        ShiftbenchError: as `read_scene` and `read_submission`.
    """
    scene = read_scene(source)
    if request is not None:
        request_of(scene, request)  # a wrong one is named before a large submission is read
    mapped = _mapped(scene, request) if feature_map else None
    foreseen = _foreseen(scene, predictions, frame)
    # A whole scene is one picture; the folder may come to hold those of many scenes and requests.
    name = source.stem if request is None else f"{source.stem}-{request}"
    found = {"picture": write_png(scene_figure(scene, request=request, predictions=foreseen), folder / f"{name}.png")}
    if mapped is not None:
        path = folder / f"{source.stem}-{mapped}-feature-map.png"
        found["feature map"] = write_png(feature_map_figure(scene, mapped), path)
    if gif:
        report = progress or silent
        found["animation"] = write_gif(
            scene, folder / f"{name}.gif", request=request, predictions=foreseen,
            progress=lambda done, count: report("frames", done, count),
        )  # fmt: skip
    return found


def _mapped(scene: Scene, request: int | None) -> int:
    """The request whose feature map is drawn."""
    if request is not None:
        return request
    if len(scene.requests) != 1:
        known = ", ".join(str(request.track_id) for request in scene.requests[:20]) or "none"
        raise SettingsError(
            f"feature map: expected the request to draw it of, found none named. Requests of this scene: {known}."
        )
    return scene.requests[0].track_id


def _foreseen(scene: Scene, predictions: Path | None, frame: str) -> dict[int, Forecast]:
    if predictions is None:
        return {}
    submission = read_submission(predictions)
    try:
        return forecasts(submission, scene, frame=frame)
    except PredictionsError as error:
        raise PredictionsError(*(f"{predictions}: {problem}" for problem in error.problems)) from None
