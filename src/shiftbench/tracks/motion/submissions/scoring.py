"""Scores submissions on the ground truth: errors, uncertainty and shift of every request, for the report.

The published scripts score trajectories only; here a submission file also gets its retention and detection scores.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from shiftbench import check
from shiftbench.assessment import scored
from shiftbench.assessment.assess import Options
from shiftbench.assessment.scored import Records, Scored
from shiftbench.assessment.source import Source
from shiftbench.check import Flags, Vector
from shiftbench.ensembles.trajectories import MOST_MODES
from shiftbench.errors import PredictionsError, UnknownNameError, counted
from shiftbench.metrics.modes import Index, mixture_scores, named
from shiftbench.scores.metric import METRICS
from shiftbench.tracks.motion.submissions.requests import KEY, Requests, key_frame, shown
from shiftbench.tracks.motion.submissions.submitted import Submission
from shiftbench.tracks.motion.submissions.truth import Truth


@dataclass(frozen=True)
class ErrorKind:
    """An error of requests with retention curves: its title, unit and largest acceptable value."""

    title: str
    unit: str
    threshold: float


ERRORS = {"cnll": ErrorKind("cNLL", "nats", 25.0), "weighted_ade": ErrorKind("weightedADE", "m", 1.0)}

# --- scores -----------------------------------------------------------------------------------------------------------


def line_up(submission: Submission, truth: Truth) -> Submission:
    """The predictions for the requests of the truth, in its order.

    Raises:
        PredictionsError: naming all of: requests without a prediction, scenes and tracks that are not requested, and an
            `is_ood` that contradicts the truth (false everywhere counts as unknown).
    """
    found = _Match(submission, truth)
    if problems := found.problems():
        raise PredictionsError(*problems)
    order = found.rows.to_numpy()
    return submission if np.array_equal(order, np.arange(len(submission))) else submission.select(order)


def misfits(requests: Requests, truth: Truth) -> list[str]:
    """The problems that `line_up` would report, for requests with invalid predictions or duplicates."""
    return _Match(requests, truth).problems()


class _Match:
    """Predicted requests matched with those of a truth: `rows` are their positions in the order of the truth, or null.

    Invalid ids are skipped, and of duplicated requests the first is taken: both are reported elsewhere.
    """

    def __init__(self, given: Submission | Requests, truth: Truth) -> None:
        keys = key_frame(given.scene_ids, given.track_ids)
        if isinstance(given, Requests):
            keys = keys.filter(pl.col("scene") != "").unique(subset=KEY, keep="first", maintain_order=True)
        self.given, self.truth, self.keys = given, truth, keys
        self.wanted = key_frame(truth.scene_ids, truth.track_ids)
        self.rows = self.wanted.join(keys, on=KEY, how="left", maintain_order="left")["row_right"]

    def problems(self) -> list[str]:
        problems = []
        if self.rows.null_count():
            where = named(self.rows.is_null().arg_true().to_numpy().astype(np.intp), self.truth.name)
            problems.append(
                f"expected a prediction for each request, found none for {where}. Predict them; or, if they are in no "
                "partition, name prepared data, which leave them out."
            )
        surplus = self.keys.join(self.wanted, on=KEY, how="anti", maintain_order="left")
        problems += _surplus_problems(surplus, self.wanted, self.given)
        return problems + _shift_problems(self.given.is_ood, self.rows, self.truth)


def _surplus_problems(surplus: pl.DataFrame, wanted: pl.DataFrame, given: Submission | Requests) -> list[str]:
    known = pl.col("scene").is_in(wanted["scene"].unique().implode())
    strangers = surplus.filter(~known)["scene"].unique(maintain_order=True)
    tracks = surplus.filter(known)["row"].to_numpy().astype(np.intp)
    problems = []
    if len(strangers):
        named_scenes = ", ".join(map(shown, strangers.head(3).to_list()))
        problems.append(
            f"expected scenes of the ground truth, found {counted(len(strangers), 'other')} ({named_scenes}). Remove "
            "them."
        )
    if tracks.size:
        found = f"found {named(tracks, given.name)} besides"
        problems.append(f"expected only requests of the ground truth, {found}. Remove them.")
    return problems


def _shift_problems(is_ood: Flags, rows: pl.Series, truth: Truth) -> list[str]:
    if truth.shifted is None:
        return []
    answered = rows.is_not_null().arg_true().to_numpy()
    flagged = is_ood[rows.drop_nulls().to_numpy()]
    wrong = np.flatnonzero(flagged != truth.shifted[answered])
    if not wrong.size or not flagged.any():
        return []
    first = "shifted" if flagged[wrong[0]] else "in-domain"
    wrong = answered[wrong].astype(np.intp)
    found = f"found {named(wrong, truth.name)} to contradict it (the first as {first})"
    return [f"is_ood: expected the values of the ground truth, or false everywhere, {found}."]


def scores(submission: Submission, truth: Truth, *, most: int = MOST_MODES) -> dict[str, Vector]:
    """Every displacement score and the cNLL of the requests of the truth, in its order, each [N].

    Of more than 25 modes the highest weights are kept, the first of equals, and renormalised.

    Raises:
        PredictionsError: as `line_up`.
    """
    lined = line_up(submission, truth)
    return mixture_scores(lined.trajectories, lined.weights, lined.modes, truth.targets, most=most)


def records(truth: Truth, split: str = "all") -> Records:
    """The requests of a ground truth as records; those of a scene (or recording) are resampled together."""
    clusters: Index = check.codes("clusters", truth.scene_ids if truth.clusters is None else truth.clusters)
    ids = key_frame(truth.scene_ids, truth.track_ids).select(pl.concat_str("scene", "track", separator="/"))
    source = Source(pl.DataFrame(truth.slices), ids.to_series(), np.arange(len(truth)))
    return Records(len(truth), split, truth.shifted, clusters, truth.slices, source=source)


def scored_submissions(
    submission: Submission, truth: Truth, *, errors: Sequence[str], name: str = "submission"
) -> dict[str, Scored]:
    """A submission as a system on the records of its ground truth, by each of several errors.

    Args:
        submission: the predictions. truth: the ground truth.
        errors: names in `ERRORS`, whose retention is scored.
        name: of the system.

    Raises:
        PredictionsError: as `line_up`.
        UnknownNameError: for an unknown error.
    """
    for error in errors:  # before any work
        _kind(error)
    lined = line_up(submission, truth)
    found = mixture_scores(lined.trajectories, lined.weights, lined.modes, truth.targets)
    systems = {}
    for error in errors:
        # Weights that sum to a little more than 1 could take the error of a perfect prediction below 0.
        system = scored.given(name, np.maximum(found[error], 0.0), {"uncertainty": lined.uncertainty})
        means = {key: values for key, values in found.items() if key in METRICS and key != error}  # the mean error
        systems[error] = replace(system, means=means)
    return systems


def scored_submission(
    submission: Submission, truth: Truth, *, error: str = "cnll", name: str = "submission", split: str = "all"
) -> tuple[Records, Scored]:
    """A submission as a system on the records of its ground truth; its report is made with `options(error)`.

    split: `dev`, `eval` or `all`. Otherwise as `scored_submissions`.
    """
    return records(truth, split), scored_submissions(submission, truth, errors=[error], name=name)[error]


def options(error: str = "cnll", **others: Any) -> Options:
    """Options of a report on this error: its threshold (cNLL 25 nats, weightedADE 1 m), title and unit.

    Raises:
        UnknownNameError: an unknown error.
    """
    kind = _kind(error)
    own = {"threshold": kind.threshold, "target_unit": "m", "error_unit": kind.unit, "error_name": kind.title}
    return Options(**{**own, **others})


def _kind(error: str) -> ErrorKind:
    if error not in ERRORS:
        raise UnknownNameError("error", error, ERRORS)
    return ERRORS[error]
