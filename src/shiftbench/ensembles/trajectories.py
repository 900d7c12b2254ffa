"""Members that predict where N vehicles will drive: plans that all members score, or mixtures of trajectories.

Members come first, as in every ensemble. The predictions of large data sets take gigabytes and are planned and merged
request by request, so they are best stored request by request: as views of arrays whose first two axes are swapped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftbench import argument
from shiftbench.ensembles.ensemble import Array, Ensemble, hold, numbers
from shiftbench.errors import ArrayError

Singles = npt.NDArray[np.float32]

# The published scorer keeps at most so many modes, those with the highest weights.
MOST_MODES = 25
# Tolerance of the sum of a request's weights: float16 softmax and four printed decimals pass.
WEIGHT_TOLERANCE = 1e-3
# Smaller deviations are rounding of float32: such weights are used unchanged, as in the published scorer.
WEIGHT_ROUNDING = 1e-6


@dataclass(frozen=True, eq=False, repr=False)
class Trajectories(Ensemble):
    """Q plans of each of K members for each record, all scored by all members.

    Attributes:
        trajectories: float32 [K, N, Q, T, 2], positions in metres.
        scores: float64 [K, N, K·Q], log-likelihoods under each member; plan g is number g % Q of member g // Q.

    Raises:
        ArrayError: naming every problem: other axes, numbers that do not fit together, NaN, infinity.
    """

    combinable = False
    by_record = True

    trajectories: Singles
    scores: Array

    def __post_init__(self) -> None:
        plans, problems = numbers("trajectories", self.trajectories, "[K, N, Q, T, 2]", dtype=np.float32)
        scores, more = numbers("scores", self.scores, "[K, N, K·Q]")
        problems += more
        if not problems:
            problems = _position_problems(plans)
            members, records, each = plans.shape[:3]
            if scores.shape != (wanted := (members, records, members * each)):
                problems.append(f"scores: expected [K, N, K·Q], shape {wanted}, found {scores.shape}.")
        if problems:
            raise ArrayError(*problems)
        hold(self, trajectories=plans, scores=scores)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of two plans a member, of three steps."""
        scores = rng.normal(-30, 9, (members, records, 2 * members))
        return cls(rng.normal(0, 3, (members, records, 2, 3, 2)).astype(np.float32), scores)

    @property
    def plans_per_member(self) -> int:
        """Q, the number of plans that each member made."""
        return int(self.trajectories.shape[2])

    @property
    def plans(self) -> Singles:
        """The plans of all members [N, K·Q, T, 2], without a copy if they are held request by request."""
        return _by_record(self.trajectories)

    def of_members(self, members: slice | Sequence[int]) -> Self:
        """An ensemble of these members, in this order: their own plans, scored by themselves."""
        chosen = np.arange(self.members)[self._members(members)]
        each = self.plans_per_member
        own = (chosen[:, None] * each + np.arange(each)).ravel()
        part = super().of_members(members)
        return part._with({"scores": part.scores[:, :, own]})


@dataclass(frozen=True, eq=False, repr=False)
class Mixture(Ensemble):
    """Members that give each record a mixture of D trajectories.

    Attributes:
        trajectories: float32 [M, N, D, T, 2], positions in metres.
        weights: float64 [M, N, D], of a member's modes: not negative, together 1.

    Raises:
        ArrayError: naming every problem: other axes, unequal numbers, NaN, infinity, weights that are negative or do
            not sum to 1 within 0.001 (within that they are divided by their sum).
    """

    by_record = True

    trajectories: Singles
    weights: Array

    def __post_init__(self) -> None:
        modes, problems = numbers("trajectories", self.trajectories, "[M, N, D, T, 2]", dtype=np.float32)
        weights, more = numbers("weights", self.weights, "[M, N, D]")
        problems += more
        if not problems:
            problems = _position_problems(modes)
            if weights.shape != modes.shape[:3]:
                problems.append(f"weights: expected shape {modes.shape[:3]}, found {weights.shape}.")
        if not problems:
            problems = _weight_problems(weights)
        if problems:
            raise ArrayError(*problems)
        sums = weights.sum(axis=2, keepdims=True)
        off = np.abs(sums - 1) > WEIGHT_ROUNDING
        hold(self, trajectories=modes, weights=weights / np.where(off, sums, 1.0) if off.any() else weights)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of two modes a member, of three steps."""
        modes = rng.normal(0, 3, (members, records, 2, 3, 2)).astype(np.float32)
        return cls(modes, rng.dirichlet(np.ones(2), (members, records)))

    def merged(self, *, most: int = MOST_MODES) -> Mixture:
        """The modes of all members as one member, heaviest first: each member has the same weight.

        Of more than `most` modes the heaviest are kept, the first of equals, with weights divided by their sum.
        """
        most = argument.whole("most", most, 1, wanted="a whole number of modes >= 1")
        weights = _by_record(self.weights) / self.members
        order = np.argsort(-weights, axis=1, kind="stable")[:, :most]
        kept = np.take_along_axis(weights, order, axis=1)
        modes = np.take_along_axis(_by_record(self.trajectories), order[..., None, None], axis=1)
        return self._with({"trajectories": modes[None], "weights": (kept / kept.sum(axis=1, keepdims=True))[None]})

    def _numbers_per_record(self) -> int:
        # Measures compare the modes in pairs.
        members, _, each, *position = self.trajectories.shape
        return int((members * each) ** 2 * np.prod(position))


def _by_record(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """[M, N, D, …] as [N, M·D, …]."""
    swapped = np.moveaxis(array, 0, 1)
    return swapped.reshape(len(swapped), -1, *array.shape[3:])


def _position_problems(trajectories: Singles) -> list[str]:
    if trajectories.shape[-1] == 2:
        return []
    return [f"trajectories: expected x and y on the last axis, found shape {trajectories.shape}."]


def _weight_problems(weights: Array) -> list[str]:
    if weights.min() < 0:
        return [f"weights: expected numbers >= 0, found {weights.min():g}."]
    sums = weights.sum(axis=2)
    bad = np.abs(sums - 1) > WEIGHT_TOLERANCE
    if bad.any():
        member, record = map(int, np.argwhere(bad)[0])
        return [
            f"weights: expected a sum of 1 over a member's modes, found {sums[member, record]:g} at member {member}, "
            f"record {record}."
        ]
    return []
