"""Predictions of systems: a few weighted trajectories for each request, their uncertainty, and how they were made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.assessment.scored import Scored
from shiftbench.check import Vector
from shiftbench.ensembles import Trajectories
from shiftbench.methods.trajectories.dataset import TrajectoryDataset
from shiftbench.scores.score import Role, System
from shiftbench.tracks.motion.baselines import planning
from shiftbench.tracks.motion.maps.vector_features import KNOWN, STATE
from shiftbench.tracks.motion.schema import FUTURE, HZ, PAST
from shiftbench.tracks.motion.submissions.scoring import scored_submissions
from shiftbench.tracks.motion.submissions.submitted import Submission
from shiftbench.tracks.motion.submissions.truth import Truth

BLOCK = 1_024  # requests whose vector features are read at a time
VELOCITY = [STATE.index("velocity_x"), STATE.index("velocity_y")]


@dataclass(frozen=True)
class Prediction:
    """One system on N requests.

    trajectories: [N, D, 25, 2] metres in the agent's frame. weights: [N, D], >= 0 with sum 1. uncertainty: [N].
    recipe: how it was made. about: the same in words. measure: the name of the uncertainty. others: further ones.
    """

    name: str
    role: Role
    recipe: Mapping[str, Any]
    trajectories: npt.NDArray[np.float32]
    weights: Vector
    uncertainty: Vector
    about: str = ""
    measure: str = "uncertainty"
    others: Mapping[str, Vector] = field(default_factory=dict)

    def select(self, rows: Any) -> Prediction:
        """The requests at positions `rows`."""
        parts = {name: getattr(self, name)[rows] for name in ("trajectories", "weights", "uncertainty")}
        return replace(self, **parts, others={name: values[rows] for name, values in self.others.items()})

    def submission(self, truth: Truth) -> Submission:
        """The official form, for the requests of a truth in the same order."""
        requested = (truth.scene_ids, truth.track_ids)
        return Submission.of(requested, self.trajectories, self.weights, self.uncertainty, is_ood=truth.shifted)

    def scored(self, truth: Truth, *, errors: Sequence[str]) -> dict[str, Scored]:
        """Score against ground truth in the same order, by each of several errors."""
        found = scored_submissions(self.submission(truth), truth, errors=errors, name=self.name)
        system = System(self.name, self.role, self.measure, (self.measure, *self.others), self.about)
        return {
            error: replace(
                scored, system=system, uncertainty={self.measure: scored.uncertainty["uncertainty"], **self.others}
            )
            for error, scored in found.items()
        }


def planned(ensemble: Trajectories, settings: planning.Settings) -> tuple[Any, Vector, Vector]:
    """Trajectories [N, D, 25, 2], weights [N, D] and uncertainty [N] that robust imitative planning makes of all
    plans."""
    plans = planning.plan(ensemble.scores, settings)
    return planning.chosen_trajectories(ensemble.plans, plans), plans.weights, plans.uncertainty


def constant_velocity(requests: TrajectoryDataset) -> Prediction:
    """The baseline that needs no model: keep the last observed velocity; the faster, the less certain."""
    parts = [
        _last_velocity(requests.vectors(np.arange(start, min(start + BLOCK, len(requests))))["history"])
        for start in range(0, len(requests), BLOCK)
    ]
    velocity = np.concatenate(parts)  # m/s, x forward
    seconds = (np.arange(FUTURE, dtype=np.float32) + 1) / HZ
    return Prediction(
        "constant velocity",
        "baseline",
        {"method": "constant_velocity"},
        (velocity[:, None, :] * seconds[:, None])[:, None].astype(np.float32),
        np.ones((len(velocity), 1)),
        np.hypot(*velocity.T.astype(np.float64)),
        "keeps the last observed velocity; its uncertainty is its speed",
        measure="speed",
    )


def _last_velocity(history: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Velocities [B, 2] at the last known of the past steps [B, 25, 8]; 0 where none is known."""
    last = PAST - 1 - np.argmax(history[:, ::-1, KNOWN], axis=1)
    found: npt.NDArray[np.float32] = history[np.arange(len(history))[:, None], last[:, None], VELOCITY]
    return found
