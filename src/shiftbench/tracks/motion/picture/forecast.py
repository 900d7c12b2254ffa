"""Forecasts of a system for a request, in the frame of its scene: trajectories and their weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import ArrayError, PredictionsError, UnknownNameError, counted
from shiftbench.metrics.modes import Modes, weight_problems
from shiftbench.tracks.motion.scenes.frame import agent_frame, transformed
from shiftbench.tracks.motion.scenes.scene import Scene
from shiftbench.tracks.motion.submissions.requests import shown
from shiftbench.tracks.motion.submissions.submitted import Submission

Floats = npt.NDArray[np.float64]

FRAMES = ("agent", "global")


@dataclass(frozen=True, eq=False)
class Forecast:
    """D trajectories of one vehicle, the likeliest first whatever their order was.

    Attributes:
        trajectories: float64 [D, T, 2], in the scene's frame, in metres.
        weights: float64 [D], >= 0, sum 1 (within 0.001).
        uncertainty: higher is less certain; None if it is not known.

    Raises:
        ArrayError: naming all of: other shapes, no mode, numbers that are not finite, weights as they may not be.
    """

    trajectories: Floats
    weights: Floats
    uncertainty: float | None = None

    def __post_init__(self) -> None:
        trajectories, weights = _numbers(self.trajectories), _numbers(self.weights)
        if problems := _problems(trajectories, weights):
            raise ArrayError(*problems)
        order = np.argsort(-weights, kind="stable")
        object.__setattr__(self, "trajectories", trajectories[order])
        object.__setattr__(self, "weights", weights[order])


def _numbers(values: Any) -> Floats:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ArrayError(f"forecast: expected numbers, found others: {error}.") from None


def _problems(trajectories: Floats, weights: Floats) -> list[str]:
    if trajectories.ndim != 3 or trajectories.shape[2] != 2 or weights.shape != trajectories.shape[:1]:
        return [
            "forecast: expected trajectories [D, T, 2] and weights [D], "
            f"found shapes {trajectories.shape} and {weights.shape}."
        ]
    if not len(weights):
        return ["forecast: expected at least one trajectory, found none. Leave the request out."]
    problems = weight_problems(weights, Modes.of([len(weights)]), lambda _: "a forecast")
    if not np.isfinite(trajectories).all():
        problems.append("forecast: expected finite positions in metres, found NaN or infinity. Correct them.")
    return problems


def forecasts(
    submission: Submission, scene: Scene, *, frame: str = "agent", interpolation: str = "published"
) -> dict[int, Forecast]:
    """Forecasts of a submission for the requests of a scene, by track, transformed to the scene's frame.

    Args:
        submission: of this scene and any others.
        scene: the scene.
        frame: that of the submission's trajectories: "agent", as the files do not say, or "global".
        interpolation: of an agent that is absent at T = 0, as in `frame.latest_state`.

    Raises:
        PredictionsError: if the submission says nothing of this scene.
        UnknownNameError: for an unknown frame or interpolation, or a track that is not in the scene.
        ShiftbenchError: for a track that has no state at T = 0.
    """
    if frame not in FRAMES:
        raise UnknownNameError("frame", frame, FRAMES)
    rows = np.flatnonzero(submission.scene_ids == scene.id)
    if not rows.size:
        others = list(dict.fromkeys(map(shown, submission.scene_ids[:3])))
        raise PredictionsError(
            f"expected predictions for scene {shown(scene.id)}, found none among "
            f"{counted(len(submission), 'request')}, of scenes such as {', '.join(others)}. Give the scene's own "
            "predictions."
        )
    starts = submission.modes.starts
    found = {}
    for row in rows.tolist():
        track, modes = int(submission.track_ids[row]), slice(starts[row], starts[row] + submission.counts[row])
        paths = submission.trajectories[modes].astype(np.float64)
        if frame == "agent":
            paths = transformed(paths, agent_frame(scene, track, interpolation=interpolation).from_agent)
        found[track] = Forecast(paths, submission.weights[modes], float(submission.uncertainty[row]))
    return found
