"""What the members of an ensemble say about where N vehicles will drive: plans with scores, or mixtures.

Records come first here, since it is for each request that plans are chosen. Checked once, then read-only.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.metrics import modes

Singles = npt.NDArray[np.float32]
Doubles = npt.NDArray[np.float64]

MOST_MODES = 25  # of more, the published scorer keeps the heaviest; so do we, and say so
BLOCK_RECORDS = 256  # whose modes are compared in pairs at a time


class _Records:
    """What both kinds can do: count their records, and give some of them."""

    @property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def __len__(self) -> int:
        return len(next(iter(self._arrays.values())))

    @property
    def records(self) -> int:
        """N, the number of requests."""
        return len(self)

    def select(self, indices: Any) -> Self:
        """The requests at `indices`: positions [B], booleans [N], or a slice.

        Raises:
            ArrayError: if `indices` is not one-dimensional, is out of range, or keeps no request.
        """
        rows = indices if isinstance(indices, slice) else np.asarray(indices)
        if isinstance(rows, np.ndarray) and rows.ndim != 1:
            raise ArrayError(f"indices: expected one dimension, found shape {rows.shape}. Use .ravel().")
        try:
            part = _changed(self, {name: array[rows] for name, array in self._arrays.items()})
        except IndexError as error:
            wanted = f"indices: expected positions below {len(self):,}, or as many booleans"
            raise ArrayError(f"{wanted}, found: {error}.") from None
        if not len(part):
            raise ArrayError("indices: expected to keep at least one request, found none.")
        return part


Kind = TypeVar("Kind", bound=_Records)


@dataclass(frozen=True, eq=False)
class Trajectories(_Records):
    """G plans of each request, each scored under all K members.

    Attributes:
        trajectories: float32 [N, G, T, 2], positions in metres.
        scores: float64 [N, K, G], the log-likelihood of plan g under member k.
        plans_per_member: Q; plan g was made by member g // Q, so G = K·Q.

    Raises:
        ArrayError: naming every problem: other axes, numbers that do not fit together, NaN, infinity.
    """

    trajectories: Singles
    scores: Doubles
    plans_per_member: int

    def __post_init__(self) -> None:
        plans, problems = _array("trajectories", self.trajectories, "[N, G, T, 2]", np.float32)
        scores, more = _array("scores", self.scores, "[N, K, G]", np.float64)
        problems += more
        if not problems:
            problems = _plan_problems(plans.shape, scores.shape, self.plans_per_member)
        if problems:
            raise ArrayError(*problems)
        _hold(self, trajectories=plans, scores=scores)

    @property
    def members(self) -> int:
        """K, the number of members."""
        return int(self.scores.shape[1])

    def __repr__(self) -> str:
        return f"Trajectories(records={len(self)}, members={self.members}, plans={self.trajectories.shape[1]})"


@dataclass(frozen=True, eq=False)
class Mixture(_Records):
    """Members that give each request a mixture of D trajectories.

    Attributes:
        trajectories: float32 [N, M, D, T, 2], positions in metres.
        weights: float64 [N, M, D], of a member's modes: not negative, together 1.

    Raises:
        ArrayError: naming every problem: other axes, unequal numbers, NaN, infinity, weights that are negative or do
            not sum to 1 within 0.001 (within that they are divided by their sum).
    """

    trajectories: Singles
    weights: Doubles

    def __post_init__(self) -> None:
        given, problems = _array("trajectories", self.trajectories, "[N, M, D, T, 2]", np.float32)
        weights, more = _array("weights", self.weights, "[N, M, D]", np.float64)
        problems += more
        if not problems and given.shape[-1] != 2:
            problems.append(f"trajectories: expected x and y on the last axis, found shape {given.shape}.")
        if not problems and weights.shape != given.shape[:3]:
            problems.append(f"weights: expected shape {given.shape[:3]}, found {weights.shape}.")
        if not problems:
            problems = _weight_problems(weights)
        if problems:
            raise ArrayError(*problems)
        count, members, each = weights.shape
        rows = modes.Modes.of(np.full(count * members, each))
        shares = modes.normalised(weights.reshape(-1), rows).reshape(weights.shape)
        _hold(self, trajectories=given, weights=shares)

    @property
    def members(self) -> int:
        """M, the number of members."""
        return int(self.weights.shape[1])

    def first(self, members: int) -> Mixture:
        """The first so many members.

        Raises:
            ArrayError: if there are not so many.
        """
        if not 1 <= members <= self.members:
            raise ArrayError(f"members: expected 1 to {self.members}, found {members}.")
        return _changed(self, {name: array[:, :members] for name, array in self._arrays.items()})

    def merged(self, *, most: int = MOST_MODES) -> tuple[Singles, Doubles]:
        """One mixture of the modes of all members, each member with the same weight: the `most` heaviest modes.

        Of equal weights the first is kept; weights are divided by their sum. Nothing is cut while M·D <= most.

        Returns:
            Trajectories [N, G, T, 2] and weights [N, G], heaviest first.
        """
        count, members, each = self.weights.shape
        flat = self.trajectories.reshape(count, members * each, *self.trajectories.shape[3:])
        weights = self.weights.reshape(count, -1) / members
        order = np.argsort(-weights, axis=1, kind="stable")[:, : max(1, most)]
        kept = np.take_along_axis(weights, order, axis=1)
        return np.take_along_axis(flat, order[..., None, None], axis=1), kept / kept.sum(axis=1, keepdims=True)

    def uncertainty(self, name: str = "cross_entropy") -> Vector:
        """How uncertain the ensemble is of each request [N], by one of `UNCERTAINTIES`.

        Raises:
            UnknownNameError: if the name is unknown.
        """
        if name not in UNCERTAINTIES:
            raise UnknownNameError("uncertainty", name, UNCERTAINTIES)
        parts = (self.select(slice(start, start + BLOCK_RECORDS)) for start in range(0, len(self), BLOCK_RECORDS))
        return np.concatenate([UNCERTAINTIES[name](part) for part in parts])

    def __repr__(self) -> str:
        return f"Mixture(records={len(self)}, members={self.members}, modes={self.weights.shape[2]})"


def concatenated(parts: Sequence[Kind]) -> Kind:
    """The requests of several ensembles of one kind, one after the other.

    Raises:
        ArrayError: if there are none, or their other axes differ.
    """
    if not parts:
        raise ArrayError("concatenated: expected at least one ensemble, found none.")
    names = list(parts[0]._arrays)
    shapes = {tuple(part._arrays[name].shape[1:] for name in names) for part in parts}
    others = {getattr(part, "plans_per_member", None) for part in parts}
    if len(shapes) > 1 or len(others) > 1:
        found = " and ".join(sorted(repr(part) for part in parts))
        raise ArrayError(f"concatenated: expected ensembles of equal members, plans and steps, found {found}.")
    return _changed(parts[0], {name: np.concatenate([part._arrays[name] for part in parts]) for name in names})


# -- uncertainties of mixtures


def cross_entropy(mixture: Mixture) -> Vector:
    """How unlikely the modes of one member are under another [N], in nats; one member alone is held against itself.

    -log sum_e c_e exp(-||s_d - s_e||² / 2) of each mode d of member m under the modes e of member k, averaged over
    the weights of d and all k unlike m: the cNLL that each member expects of the others. It grows both where members
    disagree and where each sees several ways, and is of the same kind as the score of a plan under other members.
    """
    count, members, each = mixture.weights.shape
    flat = mixture.trajectories.reshape(count, members * each, -1).astype(np.float64)
    exponent = -0.5 * _squared(flat)
    with np.errstate(divide="ignore"):  # a mode of weight 0 adds nothing
        exponent += np.log(mixture.weights).reshape(count, 1, -1)
    by_member = exponent.reshape(count, members, each, members, each)
    highest = by_member.max(axis=-1)
    nll = -(highest + np.log(np.exp(by_member - highest[..., None]).sum(axis=-1)))  # [N, m, d, k]
    expected = np.einsum("nmd,nmdk->nmk", mixture.weights, nll)
    if members == 1:
        return np.asarray(expected[:, 0, 0])
    others = ~np.eye(members, dtype=np.bool_)
    return np.asarray(expected[:, others].mean(axis=1))


def pairwise_ade(mixture: Mixture) -> Vector:
    """The expected mean distance in metres [N] between two trajectories drawn from the merged mixture.

    What weighted ADE would be on average if the mixture were right.
    """
    count, members, each = mixture.weights.shape
    flat = mixture.trajectories.reshape(count, members * each, *mixture.trajectories.shape[3:]).astype(np.float64)
    distance = np.linalg.norm(flat[:, :, None] - flat[:, None], axis=-1).mean(axis=-1)
    weights = mixture.weights.reshape(count, -1) / members
    return np.asarray(np.einsum("na,nab,nb->n", weights, distance, weights))


def weight_entropy(mixture: Mixture) -> Vector:
    """The entropy of the members' average weights [N], in nats: how undecided, wherever the modes lead."""
    weights = mixture.weights.mean(axis=1)
    logarithms = np.log(np.where(weights > 0, weights, 1.0))
    return np.asarray(-(weights * logarithms).sum(axis=1))


UNCERTAINTIES: Mapping[str, Callable[[Mixture], Vector]] = {
    "cross_entropy": cross_entropy, "pairwise_ade": pairwise_ade, "weight_entropy": weight_entropy,
}  # fmt: skip


def _squared(flat: Doubles) -> Doubles:
    """Squared distances [N, G, G] of rows [N, G, V]."""
    centred = flat - flat.mean(axis=1, keepdims=True)  # or digits are lost far from the origin
    own = np.einsum("ngv,ngv->ng", centred, centred)
    return np.asarray(np.maximum(own[:, :, None] + own[:, None] - 2 * (centred @ centred.swapaxes(1, 2)), 0.0))


# -- checks


def _array(name: str, values: Any, axes: str, dtype: type) -> tuple[npt.NDArray[Any], list[str]]:
    nothing = np.empty(0)
    try:
        array = np.asarray(values)
    except ValueError:
        return nothing, [f"{name}: expected an array {axes}, found a ragged sequence."]
    if array.dtype.kind not in "biuf":
        return nothing, [f"{name}: expected numbers, found dtype {array.dtype}. Convert to float first."]
    if array.ndim != axes.count(",") + 1 or not array.size:
        return nothing, [f"{name}: expected {axes}, none of them 0, found shape {array.shape}."]
    return array.astype(dtype, copy=False), check.value_problems(name, array)


def _plan_problems(plans: tuple[int, ...], scores: tuple[int, ...], each: Any) -> list[str]:
    if plans[-1] != 2:
        return [f"trajectories: expected x and y on the last axis, found shape {plans}."]
    if not isinstance(each, int) or each < 1:
        return [f"plans_per_member: expected a whole number from 1 on, found {each!r}."]
    if (scores[0], scores[2]) != plans[:2] or scores[1] * each != plans[1]:
        return [f"scores: expected [N, K, K·{each}] of plans {plans[:2]}, found shape {scores}."]
    return []


def _weight_problems(weights: Doubles) -> list[str]:
    if (weights < 0).any():
        return [f"weights: expected numbers >= 0, found {weights.min():g}."]
    sums = weights.sum(axis=2)
    bad = np.abs(sums - 1) > modes.WEIGHT_TOLERANCE
    if bad.any():
        place = tuple(map(int, np.argwhere(bad)[0]))
        return [
            f"weights: expected a sum of 1 over a member's modes, found {sums[place]:g} at request, member {place}."
        ]
    return []


def _changed(ensemble: Kind, arrays: Mapping[str, npt.NDArray[Any]]) -> Kind:
    # Parts of checked arrays need no second check, so the constructor is passed by.
    part = copy.copy(ensemble)
    _hold(part, **arrays)
    return part


def _hold(ensemble: _Records, **arrays: npt.NDArray[Any]) -> None:
    for name, array in arrays.items():
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(ensemble, name, view)
