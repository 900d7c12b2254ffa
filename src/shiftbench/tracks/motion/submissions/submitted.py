"""A submission in plain arrays: the modes, their weights and the uncertainty of every request, checked once."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError, PredictionsError, quoted
from shiftbench.metrics.modes import FARTHEST_M, Floats, Index, Modes, named, weight_problems
from shiftbench.tracks.motion.schema import FUTURE
from shiftbench.tracks.motion.submissions.requests import KEY, Ids, Tracks, key_frame, request_name

_FIELDS = ("scene_ids", "track_ids", "counts", "uncertainty", "is_ood")


@dataclass(frozen=True, eq=False)
class Submission:
    """Predictions for N requests with M modes in all; a request is a track of a scene.

    scene_ids, track_ids: [N] text and uint64. trajectories: [M, 25, 2] metres, float32 or float64, the modes of the
    first request, then those of the second, … weights: [M], >= 0 with sum 1 (within 0.001) in each request.
    counts: [N], modes of each request, at least 1. uncertainty: [N], higher is less certain. is_ood: [N].

    Raises:
        PredictionsError: naming all problems, with the scene and track of the first requests affected:
            arrays of other shapes, a request listed twice or without a scene id, no modes, NaN, infinity, weights.
    """

    scene_ids: Ids
    track_ids: Tracks
    trajectories: Floats
    weights: Vector
    counts: Index
    uncertainty: Vector
    is_ood: Flags

    def __post_init__(self) -> None:
        for name, array in _converted(self).items():
            object.__setattr__(self, name, array)
        if problems := _shape_problems(self) or _value_problems(self):
            raise PredictionsError(*problems)

    @classmethod
    def of(
        cls, requests: tuple[Any, Any], trajectories: Any, weights: Any, uncertainty: Any, *, is_ood: Any = None
    ) -> Self:
        """From an equal number of modes for each request: scene and track ids ([N], [N]), [N, D, 25, 2], [N, D] and
        [N].

        Raises:
            ArrayError: for trajectories or weights with rows of different length.
            PredictionsError: as the constructor.
        """
        if not isinstance(requests, (list, tuple)) or len(requests) != 2:
            raise PredictionsError(f"requests: expected scene ids [N] and track ids [N], found {quoted(requests)}.")
        modes, shares = _even(trajectories=trajectories, weights=weights)
        if modes.ndim != 4 or shares.shape != modes.shape[:2]:
            found = f"found {modes.shape} and {shares.shape}"
            raise PredictionsError(f"expected trajectories [N, D, {FUTURE}, 2] and weights [N, D], {found}.")
        return cls(
            *requests,
            modes.reshape(-1, *modes.shape[2:]),
            shares.reshape(-1),
            np.full(len(modes), modes.shape[1]),
            uncertainty,
            np.zeros(len(modes), dtype=np.bool_) if is_ood is None else is_ood,
        )

    def __len__(self) -> int:
        return len(self.scene_ids)

    @property
    def modes(self) -> Modes:
        """The request of each mode."""
        return Modes.of(self.counts)

    def name(self, place: int) -> str:
        """`scene/track` of the request at a place, for messages."""
        return request_name(self.scene_ids[place], self.track_ids[place])

    def select(self, rows: Any) -> Submission:
        """The requests at positions `rows`, in this order."""
        rows = check.as_array("rows", rows, "integers")
        if (
            rows.ndim != 1
            or rows.dtype.kind not in "iu"
            or not (0 <= rows.min(initial=0) <= rows.max(initial=0) < len(self))
        ):
            raise ArrayError(f"rows: expected whole numbers from 0 to {len(self) - 1}, found others.")
        starts, chosen = self.modes.starts[rows], Modes.of(self.counts[rows])
        modes = np.arange(len(chosen.owner)) - chosen.starts[chosen.owner] + starts[chosen.owner]
        part = copy.copy(self)  # parts of checked arrays need no second check
        for name in _FIELDS:
            object.__setattr__(part, name, getattr(self, name)[rows])
        object.__setattr__(part, "trajectories", self.trajectories[modes])
        object.__setattr__(part, "weights", self.weights[modes])
        return part


def _even(**given: Any) -> list[npt.NDArray[Any]]:
    """Nested lists as arrays; ArrayError names those whose rows differ in length."""
    arrays, problems = list[npt.NDArray[Any]](), list[str]()
    for name, values in given.items():
        try:
            arrays.append(_array(values))
        except ValueError as error:
            problems.append(
                f"{name}: expected the same number of modes for each request, all of {FUTURE} points, {error}. Fill up "
                "with modes of weight 0, or give the constructor all modes in one row."
            )
    if problems:
        raise ArrayError(*problems)
    return arrays


def _array(values: Any) -> npt.NDArray[Any]:
    try:
        return check.as_array("values", values)
    except ArrayError as error:
        raise ValueError("found rows of different lengths" if "ragged" in str(error) else str(error)) from None


_KINDS: dict[str, Any] = {
    "trajectories": np.float64, "track_ids": np.uint64, "weights": np.float64, "counts": np.intp,
    "uncertainty": np.float64, "is_ood": np.bool_,
}  # fmt: skip


def _converted(given: Submission) -> dict[str, npt.NDArray[Any]]:
    """The arrays in the types of the fields; PredictionsError names all that cannot be converted."""
    ids = check.as_array("scene_ids", given.scene_ids) if isinstance(given.scene_ids, np.ndarray) else given.scene_ids
    found, problems = {"scene_ids": np.asarray(ids, dtype=object)}, list[str]()
    for name, kind in _KINDS.items():
        try:
            found[name] = _as(name, getattr(given, name), kind)
        except (TypeError, ValueError, OverflowError) as error:
            problems.append(f"{name}: expected values of type {np.dtype(kind)}, {error}.")
    if problems:
        raise PredictionsError(*problems)
    return found


def _as(name: str, values: Any, kind: Any) -> npt.NDArray[Any]:
    array = _array(values)
    if name == "trajectories" and array.dtype == np.float32:
        return array  # half the memory, and as exact as the predictions
    if name in ("track_ids", "counts") and array.dtype.kind not in "iu":
        raise TypeError(f"found dtype {array.dtype}")
    if name == "track_ids" and array.size and array.min() < 0:
        raise ValueError(f"found {array.min()}")
    if array.dtype.kind not in "biuf":
        raise TypeError(f"found dtype {array.dtype}")
    return array.astype(kind, copy=False)


def _shape_problems(held: Submission) -> list[str]:
    n, modes = held.scene_ids.shape, held.weights.shape
    if len(n) != 1 or not n[0]:
        return [f"expected at least one request and its ids [N], found shape {n}."]
    problems = [
        f"{name}: expected shape {n} like the scene ids, found {array.shape}."
        for name in _FIELDS
        if (array := getattr(held, name)).shape != n
    ]
    if held.trajectories.ndim != 3 or held.trajectories.shape[1:] != (FUTURE, 2):
        problems.append(f"trajectories: expected [M, {FUTURE}, 2], found shape {held.trajectories.shape}.")
    elif len(modes) != 1 or len(held.trajectories) != modes[0]:
        problems.append(f"weights: expected shape ({len(held.trajectories)},), one for each mode, found {modes}.")
    if not problems and ((held.counts < 0).any() or held.counts.sum() != modes[0]):
        problems.append(f"counts: expected to sum to {modes[0]:,} modes, found {held.counts.sum():,}.")
    return problems


def _value_problems(held: Submission) -> list[str]:
    problems = _id_problems(held)
    if (none := np.flatnonzero(held.counts == 0)).size:
        where = named(none, held.name)
        problems.append(f"modes: expected at least one for each request, found none in {where}. Predict them.")
    if (bad := np.flatnonzero(~np.isfinite(held.uncertainty))).size:
        found = f"found {held.uncertainty[bad[0]]} in {named(bad, held.name)}"
        problems.append(f"uncertainty: expected finite numbers, {found}. Give each request one.")
    requested = np.flatnonzero(held.counts)
    if not requested.size:
        return problems
    modes = Modes.of(held.counts[requested])

    def name(place: int) -> str:
        return held.name(int(requested[place]))

    return problems + _position_problems(held.trajectories, modes, name) + weight_problems(held.weights, modes, name)


def _id_problems(held: Submission) -> list[str]:
    problems = []
    blank = np.array([not isinstance(scene, str) or not scene for scene in held.scene_ids])
    if blank.any():
        tracks = ", ".join(map(str, held.track_ids[blank][:3]))
        found = f"found none in {np.count_nonzero(blank):,} of {len(held):,} (such as track {tracks})"
        problems.append(f"scene_id: expected text for each request, {found}.")
    keys = key_frame(held.scene_ids, held.track_ids)
    twice = keys.filter(keys.select(KEY).is_duplicated()).unique(subset=KEY, keep="last", maintain_order=True)
    if twice.height:
        rows = twice["row"].to_numpy().astype(np.intp)
        problems.append(f"expected each request once, found more than one of {named(rows, held.name)}. Keep one.")
    return problems


def _position_problems(trajectories: Floats, modes: Modes, name: Callable[[int], str]) -> list[str]:
    # One pass decides the common, clean case: the extremes are NaN if any value is.
    if max(float(trajectories.max()), -float(trajectories.min())) <= FARTHEST_M:
        return []
    wrong = ~(np.abs(trajectories) <= FARTHEST_M)
    where = np.unique(modes.owner[wrong.any(axis=(1, 2))])
    found = f"found {trajectories[wrong][0]:g} in {named(where, name)}"
    return [f"trajectories: expected positions within {FARTHEST_M:g} m, {found}. Correct them."]
