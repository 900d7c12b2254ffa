"""What the M members of an ensemble say about N records: members first, checked once, then read-only."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.errors import ArrayError

Array = npt.NDArray[np.float64]
Kind = TypeVar("Kind", bound="Ensemble")

# How far class probabilities may be from summing to 1: float32 softmax and four printed decimals pass.
SUM_TOLERANCE = 1e-3
# The published code adds this inside the logarithm of every probability, and so do we: that of 0 is then finite.
LOG_EPSILON = 1e-10
# Values in a block of records: temporaries of this size stay in the cache.
BLOCK_VALUES = 1 << 17


class Ensemble:
    """What every ensemble can do: count its members and records, and give parts of itself.

    A kind of ensemble is a frozen dataclass whose arrays all begin with the axes [M, N].
    """

    @property
    def _arrays(self) -> dict[str, Array]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    @property
    def members(self) -> int:
        """M, the number of members."""
        return int(next(iter(self._arrays.values())).shape[0])

    @property
    def records(self) -> int:
        """N, the number of records."""
        return int(next(iter(self._arrays.values())).shape[1])

    @property
    def models(self) -> int:
        """How many models answer: the members, unless a model has several draws."""
        return self.members

    def model(self, k: int) -> Self:
        """Model k, 0 … models-1, alone."""
        return self.member(k)

    def member(self, m: int) -> Self:
        """Member m, 0 … M-1, alone: an ensemble with M = 1."""
        if not 0 <= m < self.members:
            raise ArrayError(f"member: expected 0 to {self.members - 1}, found {m}.")
        return self._part(slice(m, m + 1))

    def select(self, indices: Any) -> Self:
        """The records at `indices`: positions [K], booleans [N], or a slice.

        Raises:
            ArrayError: if `indices` is not one-dimensional, is out of range, or keeps no record.
        """
        rows = indices if isinstance(indices, slice) else np.asarray(indices)
        if isinstance(rows, np.ndarray) and rows.ndim != 1:
            raise ArrayError(f"indices: expected one dimension, found shape {rows.shape}. Use .ravel().")
        try:
            part = self._part((slice(None), rows))
        except IndexError as error:
            wanted = f"indices: expected positions below {self.records:,}, or as many booleans"
            raise ArrayError(f"{wanted}, found: {error}.") from None
        if not part.records:
            raise ArrayError("indices: expected to keep at least one record, found none.")
        return part

    def blocks(self, *, values: int | None = None) -> Iterator[tuple[slice, Self]]:
        """Blocks of consecutive records, each of about `values` numbers, with their places: bounds memory."""
        per_record = max(array.size for array in self._arrays.values()) // self.records
        step = max(1, (values or BLOCK_VALUES) // per_record)
        for start in range(0, self.records, step):
            rows = slice(start, min(start + step, self.records))
            yield rows, self._part((slice(None), rows))

    def _part(self, key: Any) -> Self:
        # Parts of checked arrays need no second check, so the constructor is passed by.
        part = copy.copy(self)
        _hold(part, **{name: array[key] for name, array in self._arrays.items()})
        return part

    def __repr__(self) -> str:
        return f"{type(self).__name__}(members={self.members}, records={self.records})"


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Ensemble):
    """Members that predict a normal distribution: mean [M, N] in the target's unit, variance [M, N].

    Held as read-only float64, without a copy of what is float64 already. Together the members are one mixture with
    equal weights. Where a model answers at random (dropout, weights drawn from a posterior), its `draws` answers stand
    one after the other, and each is a member: M is models times draws.

    Raises:
        ArrayError: naming every problem: not [M, N], unequal shapes, NaN, infinity, a variance <= 0, members that are
            not a multiple of the draws.
    """

    mean: Array
    variance: Array
    draws: int = 1

    def __post_init__(self) -> None:
        hint = "One model? Use mean[None] and variance[None]."
        mean, problems = _array("mean", self.mean, "[M, N]", hint=hint)
        variance, more = _array("variance", self.variance, "[M, N]", hint=hint)
        problems += more
        if mean.size and variance.size and mean.shape != variance.shape:
            problems.append(f"variance: expected the shape of the mean {mean.shape}, found {variance.shape}.")
        if variance.size and not variance.min() > 0 and (bad := variance <= 0).any():
            problems.append(
                f"variance: expected values > 0, found {variance[bad][0]:g} ({_where(bad)}). "
                "Set a floor, for instance the square of the target's resolution."
            )
        if not isinstance(self.draws, int) or self.draws < 1 or (mean.size and mean.shape[0] % self.draws):
            problems.append(f"draws: expected a divisor of the {mean.shape[0]} members, found {self.draws!r}.")
        if problems:
            raise ArrayError(*problems)
        _hold(self, mean=mean, variance=variance)

    @property
    def models(self) -> int:
        """How many models answer: members over draws."""
        return self.members // self.draws

    def answers(self) -> Vector:
        """The mean of the mixture [N]."""
        return np.asarray(self.mean.mean(axis=0))

    def model(self, k: int) -> Self:
        """Model k, 0 … models-1, alone, with all its draws."""
        if not 0 <= k < self.models:
            raise ArrayError(f"model: expected 0 to {self.models - 1}, found {k}.")
        return self._part(slice(k * self.draws, (k + 1) * self.draws))

    def member(self, m: int) -> Self:
        """Member m, 0 … M-1, alone: one draw of one model."""
        part = super().member(m)
        object.__setattr__(part, "draws", 1)
        return part

    def merged(self) -> Gaussian:
        """The draws of each model as one normal distribution of their mixture's mean and variance.

        The mean and the total variance of the whole stay what they are (law of total variance); what the draws of one
        model disagree on counts as its own variance from then on, no longer as knowledge.
        """
        if self.draws == 1:
            return self
        mean, variance = (value.reshape(self.models, self.draws, -1) for value in (self.mean, self.variance))
        return Gaussian(mean.mean(axis=1), variance.mean(axis=1) + mean.var(axis=1))


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Ensemble):
    """Members that predict class probabilities [M, N, C]; `classes` may name the C classes.

    Held as read-only float64, without a copy of what is float64 already, and not rescaled to sum to 1.

    Raises:
        ArrayError: naming every problem: not [M, N, C], fewer than two classes, NaN, infinity, probabilities
            outside [0, 1] or not summing to 1 within 0.001, class names that repeat or are not C in number.
    """

    probabilities: Array
    classes: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        hint = "One model? Use probabilities[None]. Two classes? Use np.stack([1 - p, p], axis=-1)."
        array, problems = class_probabilities(self.probabilities, "[M, N, C]", hint=hint)
        if self.classes is not None:
            object.__setattr__(self, "classes", tuple(self.classes))
            problems += _class_problems(tuple(self.classes), array.shape[-1])
        if problems:
            raise ArrayError(*problems)
        _hold(self, probabilities=array)

    def answers(self) -> Array:
        """The probabilities of the mixture [N, C]."""
        return np.asarray(self.probabilities.mean(axis=0))

    def labels(self) -> npt.NDArray[Any]:
        """The most probable class of the mixture [N], the first of equals: its name, or else its index."""
        indices = np.asarray(self.answers().argmax(axis=-1))
        return indices if self.classes is None else np.asarray(np.asarray(self.classes)[indices])


def combine(*ensembles: Kind) -> Kind:
    """One mixture of the members of all, side by side, each with the same weight, on the same records.

    Raises:
        ArrayError: no ensembles, or ensembles of different kinds, numbers of records, or classes.
    """
    kinds = sorted({type(ensemble).__name__ for ensemble in ensembles})
    if len(kinds) != 1:
        raise ArrayError(f"combine: expected ensembles of one kind, found {' and '.join(kinds) or 'none'}.")
    problems = []
    shapes = [next(iter(ensemble._arrays.values())).shape for ensemble in ensembles]
    if len({shape[1:] for shape in shapes}) > 1:
        found = ", ".join(map(str, shapes))
        problems.append(f"combine: expected the same records and number of classes, found shapes {found}.")
    names = {getattr(ensemble, "classes", None) for ensemble in ensembles}
    if len(names) > 1:
        problems.append(f"combine: expected the same classes in the same order, found {list(names)}.")
    if problems:
        raise ArrayError(*problems)
    together = copy.copy(ensembles[0])
    for name in together._arrays:
        _hold(together, **{name: np.concatenate([ensemble._arrays[name] for ensemble in ensembles])})
    return together


def concatenated(parts: Sequence[Kind]) -> Kind:
    """The records of several ensembles with the same members, one after the other."""
    first = copy.copy(parts[0])
    names = first._arrays
    _hold(first, **{name: np.concatenate([getattr(part, name) for part in parts], axis=1) for name in names})
    return first


def class_probabilities(values: Any, axes: str, *, hint: str) -> tuple[Array, list[str]]:
    """Class probabilities with the axes "[M, N, C]" or "[N, C]" as float64, and all that is wrong with them."""
    name = "probabilities"
    array, problems = _array(name, values, axes, hint=hint)
    if not array.size:
        return array, problems
    if array.shape[-1] < 2:
        problems.append(f"{name}: expected at least 2 classes on the last axis, found {array.shape[-1]}.")
    if not (array.min() >= 0 and array.max() <= 1 + SUM_TOLERANCE):
        bad = (array < 0) | (array > 1 + SUM_TOLERANCE)
        if bad.any():
            found = f"found {array[bad][0]:g} ({_where(np.asarray(bad.any(axis=-1)))})"
            problems.append(f"{name}: expected values in [0, 1], {found}. Logits? Apply a softmax first.")
    with np.errstate(invalid="ignore"):
        sums = array @ np.ones(array.shape[-1])
        bad = np.abs(sums - 1) > SUM_TOLERANCE
    if bad.any():
        found = f"found {sums[bad][0]:g} ({_where(bad)})"
        problems.append(f"{name}: expected a sum of 1 over the classes, {found}. Divide by the sum.")
    return array, problems


def _array(name: str, values: Any, axes: str, *, hint: str) -> tuple[Array, list[str]]:
    nothing = np.empty((0, 0))
    try:
        array = np.asarray(values)
    except ValueError:
        return nothing, [f"{name}: expected an array {axes}, found a ragged sequence. {hint}"]
    if array.dtype.kind not in "biuf":
        return nothing, [f"{name}: expected numbers, found dtype {array.dtype}. Convert to float first."]
    if array.ndim != axes.count(",") + 1:
        return nothing, [f"{name}: expected {axes}, found shape {array.shape}. {hint}"]
    if array.size == 0:
        return nothing, [f"{name}: expected at least one member and one record, found shape {array.shape}."]
    return array.astype(np.float64, copy=False), check.value_problems(name, array)


def _hold(ensemble: Ensemble, **arrays: Array) -> None:
    for name, array in arrays.items():
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(ensemble, name, view)


def _class_problems(classes: tuple[Any, ...], expected: int) -> list[str]:
    problems = []
    if expected and len(classes) != expected:
        problems.append(f"classes: expected {expected} names, one for each class, found {len(classes)}.")
    if len(set(classes)) < len(classes):
        problems.append(f"classes: expected different names, found {', '.join(map(str, classes))}.")
    return problems


def _where(bad: Flags) -> str:
    *member, record = (int(place) for place in np.argwhere(bad)[0])
    place = f"member {member[0]}, record {record}" if member else f"record {record}"
    return f"{place}; {np.count_nonzero(bad):,} of {bad.size:,}"
