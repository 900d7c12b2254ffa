"""The ground truth of submissions: futures of the vehicles, and the tags of their scenes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment.scored import Labels
from shiftbench.check import Flags
from shiftbench.errors import ArrayError, PredictionsError, ShiftbenchError, counted
from shiftbench.metrics.modes import Floats, named
from shiftbench.tracks.motion.scenes.frame import agent_frame, ground_truth, transformed
from shiftbench.tracks.motion.scenes.scene import Request, Scene, valid_requests
from shiftbench.tracks.motion.schema import FUTURE, City, Maneuver, Precipitation, SceneTags
from shiftbench.tracks.motion.submissions.requests import Ids, Tracks, request_name, shown
from shiftbench.tracks.motion.submissions.submitted import Submission

NO_MANEUVER = "none"


SLICES = {"city": "track", "precipitation": "precipitation", "season": "season", "sun_phase": "sun_phase"}
"""Column of slices → tag of the scene."""

# A request may have several of these tags, so each kind is a slice of its own.
MANEUVERS = {
    "maneuver": (Maneuver.MOVE_LEFT, Maneuver.MOVE_RIGHT, Maneuver.MOVE_FORWARD, Maneuver.MOVE_BACK),
    "maneuver_speed": (Maneuver.ACCELERATION, Maneuver.DECELERATION, Maneuver.UNIFORM),
    "maneuver_stop": (Maneuver.STOPPING, Maneuver.STARTING, Maneuver.STATIONARY),
}


@dataclass(frozen=True, eq=False)
class Truth:
    """The futures of the vehicles of N requests.

    scene_ids, track_ids: [N]. targets: [N, 25, 2] metres. shifted: [N] or None if unknown. slices: column → [N] labels.
    clusters: [N] labels of clusters; the scenes if None.
    """

    scene_ids: Ids
    track_ids: Tracks
    targets: Floats
    shifted: Flags | None = None
    slices: Mapping[str, Labels] = field(default_factory=dict)
    clusters: Labels | None = None

    def __post_init__(self) -> None:
        wanted = (len(self.scene_ids), FUTURE, 2)
        if self.targets.shape != wanted:
            raise ArrayError(f"targets: expected shape {wanted}, found {self.targets.shape}.")

    def __len__(self) -> int:
        return len(self.scene_ids)

    @property
    def resampled(self) -> str:
        """The name of the clusters: `recording`, if scenes were cut from one, or `scene_id`."""
        apart = self.clusters is None or bool((self.clusters == self.scene_ids).all())
        return "scene_id" if apart else "recording"

    def name(self, place: int) -> str:
        """`scene/track` of the request at a place, for messages."""
        return request_name(self.scene_ids[place], self.track_ids[place])

    def select(self, rows: Any) -> Truth:
        """The requests at positions `rows`, in this order."""
        return Truth(
            self.scene_ids[rows],
            self.track_ids[rows],
            self.targets[rows],
            None if self.shifted is None else self.shifted[rows],
            {name: np.asarray(labels)[rows] for name, labels in self.slices.items()},
            None if self.clusters is None else np.asarray(self.clusters)[rows],
        )


def truth_of_scenes(scenes: Iterable[Scene]) -> Truth:
    """The ground truth of the valid requests of scenes, in their order, each in its agent's frame.

    Scenes are read one after another; only the ground truth of a scene is kept.

    Raises:
        ShiftbenchError: naming duplicate scenes and agents without a state at T = 0; if there are no valid requests.
    """
    ids: list[str] = []
    requested: list[tuple[SceneTags, Request]] = []
    targets: list[Floats] = []
    problems: list[str] = []
    seen = Counter[str]()
    for scene in scenes:
        seen[scene.id] += 1
        for request in valid_requests(scene):
            ids.append(scene.id)
            requested.append((scene.tags, request))
            try:
                path = ground_truth(scene, request.track_id)
                targets.append(transformed(path, agent_frame(scene, request.track_id).to_agent))
            except ShiftbenchError as error:
                problems += error.problems
    if problems := problems + _scene_problems(seen, len(ids)):
        raise ShiftbenchError(*problems)
    shifted = [is_shifted(tags) for tags, _ in requested]
    return Truth(
        np.array(ids, dtype=object),
        np.array([request.track_id for _, request in requested], dtype=np.uint64),
        np.array(targets),
        None if None in shifted else np.array(shifted, dtype=np.bool_),
        slices(requested),
    )


def _scene_problems(seen: Counter[str], valid: int) -> list[str]:
    """The problems of scenes together. seen: id → number of occurrences. valid: their number of valid requests."""
    problems = []
    if twice := [scene for scene, count in seen.items() if count > 1]:
        problems.append(
            f"expected each scene once, found {', '.join(map(shown, twice[:3]))} more than once ({len(twice):,} such)."
        )
    if not valid:
        problems.append(f"expected at least one valid request, found none in {counted(len(seen), 'scene')}.")
    return problems


def truth_of_requests(requests: pl.DataFrame, targets: Floats) -> Truth:
    """The ground truth of the N requests of a prepared folder, or of scenes that are drawn live.

    requests: one row each, with ids and tags; `shifted` may be unknown. targets: [N, 25, 2].
    """
    shifted = requests["shifted"]
    return Truth(
        requests["scene_id"].to_numpy().astype(object),
        requests["track_id"].to_numpy(),
        targets,
        None if shifted.null_count() else shifted.to_numpy(),
        {name: requests[name].to_numpy().astype(np.str_) for name in (*SLICES, *MANEUVERS)},
        # Overlapping scenes are not independent.
        requests["recording"].to_numpy().astype(np.str_) if "recording" in requests.columns else None,
    )


def together(truths: Sequence[Truth]) -> Truth:
    """The requests of several truths, one after the other; `shifted` and slices are known only if all of them have
    them.

    Raises:
        ArrayError: if there are none.
    """
    if not truths:
        raise ArrayError("together: expected at least one truth, found none.")
    flags = [truth.shifted for truth in truths]
    shared = set.intersection(*(set(truth.slices) for truth in truths))
    return Truth(
        np.concatenate([truth.scene_ids for truth in truths]),
        np.concatenate([truth.track_ids for truth in truths]),
        np.concatenate([truth.targets for truth in truths]),
        None if any(each is None for each in flags) else np.concatenate([each for each in flags if each is not None]),
        {name: np.concatenate([truth.slices[name] for truth in truths]) for name in truths[0].slices if name in shared},
        np.concatenate([truth.scene_ids if truth.clusters is None else truth.clusters for truth in truths]).astype(str),
    )


def truth_of_submission(submission: Submission) -> Truth:
    """The ground truth in a file of the same form: one mode for each request, with `is_ood` for shifted ones.

    Raises:
        PredictionsError: naming requests with another number of modes.
    """
    several = np.flatnonzero(submission.counts != 1)
    if several.size:
        where = named(several, submission.name)
        raise PredictionsError(
            f"ground truth: expected one trajectory for each request, found others in {where}. Leave the one that came "
            "true, with weight 1; is this a file of predictions?"
        )
    return Truth(submission.scene_ids, submission.track_ids, submission.trajectories, submission.is_ood)


def is_shifted(tags: SceneTags) -> bool | None:
    """Whether a scene is outside Moscow or has precipitation; None if its tags are unknown."""
    if tags.track == City.UNKNOWN or (tags.track == City.MOSCOW and tags.precipitation == Precipitation.UNKNOWN):
        return None
    return tags.track != City.MOSCOW or tags.precipitation != Precipitation.NO


def slices(requested: Sequence[tuple[SceneTags, Request]]) -> dict[str, Labels]:
    """Labels [N] of requests by city, precipitation, season, phase of the sun, and kinds of maneuver."""
    columns: dict[str, list[str]] = {
        name: [getattr(tags, key).label for tags, _ in requested] for name, key in SLICES.items()
    }
    for name, kinds in MANEUVERS.items():
        columns[name] = [
            " and ".join(kind.label for kind in kinds if kind in request.tags) or NO_MANEUVER
            for _, request in requested
        ]
    return {name: np.array(labels) for name, labels in columns.items()}
