"""The contract of all ensembles: predictions of M members for N records; members first, validated once, read-only."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import Any, ClassVar, Self, TypeVar

import numpy as np
import numpy.typing as npt

from shiftbench import argument, check
from shiftbench.check import Flags
from shiftbench.errors import ArrayError, quoted

Array = npt.NDArray[np.float64]
Index = npt.NDArray[np.int64]
Key = slice | Index
Kind = TypeVar("Kind", bound="Ensemble")

# Values in a block of records: temporaries of this size stay in the cache.
BLOCK_VALUES = 1 << 17
EVERYTHING = slice(None)


class Ensemble:
    """Base class of ensembles: the numbers of members and records, and selection of parts.

    Each kind of ensemble is a frozen dataclass. Its arrays begin with the axes [M, N], or with those named in `AXES`,
    one letter each: M for members, N for records, any other letter for values of records of different length, stored
    one record after the other. A kind with such axes implements `_places` to locate the values of records. Every kind
    has an `example`, so that the contract tests try it and its measures.
    """

    AXES: ClassVar[Mapping[str, str]] = {}
    index: ClassVar[Any] = None  # the pandas index of the records, held by ensembles that were made from labelled rows
    combinable: ClassVar[bool] = True  # whether members of several ensembles can be combined
    by_record: ClassVar[bool] = False  # whether arrays are best stored one record after the other

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble whose members and records all differ, ragged if this kind is."""
        raise NotImplementedError(f"{cls.__name__}.example: expected an ensemble of this kind. Write this method.")

    @property
    def members(self) -> int:
        """M, the number of members."""
        return self._size("M")

    @property
    def records(self) -> int:
        """N, the number of records."""
        return self._size("N")

    @property
    def models(self) -> int:
        """The number of models: that of the members, unless a model has several draws."""
        return self.members

    def model(self, k: int) -> Self:
        """An ensemble of model k only, 0 … models-1."""
        return self.member(k)

    def member(self, m: int) -> Self:
        """An ensemble of member m only, 0 … M-1."""
        m = argument.whole("member", m, 0, self.members - 1, wanted=f"0 to {self.members - 1}", error=ArrayError)
        return self.of_members(slice(m, m + 1))

    def of_members(self, members: slice | Sequence[int]) -> Self:
        """An ensemble of these members, in this order; without a copy if `members` is a slice."""
        return self._at({"M": self._members(members)})

    def _members(self, members: Any) -> Key:
        """Positions of members, or a slice of them.

        Raises:
            ArrayError: if they are not integers [K] below M, or none.
        """
        places = np.arange(self.members)
        try:
            chosen = members if isinstance(members, slice) else check.as_array("members", members, "integers")
            found = places[chosen]
        except (IndexError, TypeError, ValueError) as error:
            wanted = f"members: expected positions below {self.members:,}"
            raise ArrayError(f"{wanted}, found: {error}.") from None
        if found.ndim != 1 or not found.size:
            raise ArrayError(f"members: expected at least one position [K], found shape {found.shape}.")
        return chosen if isinstance(chosen, slice) else found

    def select(self, indices: Any) -> Self:
        """The records at `indices`: positions [K], booleans [N], or a slice.

        Raises:
            ArrayError: if `indices` is not one-dimensional, out of range, or selects no record.
        """
        rows = indices if isinstance(indices, slice) else check.as_array("indices", indices, "integers")
        if isinstance(rows, np.ndarray) and rows.ndim != 1:
            raise ArrayError(f"indices: expected one dimension, found shape {rows.shape}. Use .ravel().")
        try:
            part = self._at(self._places(rows))
        except (IndexError, TypeError) as error:
            wanted = f"indices: expected positions below {self.records:,}, or as many booleans"
            raise ArrayError(f"{wanted}, found: {error}.") from None
        if not part.records:
            raise ArrayError("indices: expected to keep at least one record, found none.")
        return part

    def blocks(self, *, values: int | None = None) -> Iterator[tuple[slice, Self]]:
        """Blocks of consecutive records of about `values` numbers each, with their slices; bounds memory."""
        most = BLOCK_VALUES if values is None else argument.whole("values", values, 1)
        for start, stop in pairwise([*self._starts(most), self.records]):
            rows = slice(start, stop)
            yield rows, self._at(self._places(rows))

    @property
    def _arrays(self) -> dict[str, npt.NDArray[Any]]:
        return {name: value for name, value in vars(self).items() if isinstance(value, np.ndarray)}

    def _axes(self, name: str) -> str:
        return self.AXES.get(name, "MN")

    def _size(self, axis: str) -> int:
        return next(
            int(array.shape[self._axes(name).index(axis)])
            for name, array in self._arrays.items()
            if axis in self._axes(name)
        )

    def _places(self, rows: Key) -> dict[str, Key]:
        """The positions of the records' values on each axis that depends on records."""
        return {"N": rows}

    def _starts(self, values: int) -> Sequence[int]:
        """The first record of each block of about `values` numbers."""
        return range(0, self.records, max(1, values // self._numbers_per_record()))

    def _numbers_per_record(self) -> int:
        return max(array.size for array in self._arrays.values()) // self.records

    def labelled(self, index: Any) -> Self:
        """The same with the pandas index of its records, by which targets are then lined up; None: without one."""
        found = copy.copy(self)
        vars(found).pop("index", None)
        if index is not None:
            object.__setattr__(found, "index", index)
        return found

    def _at(self, places: Mapping[str, Key]) -> Self:
        """The part at these positions of each axis; axes that are not named stay whole."""
        part = self._with(
            {
                name: array[tuple(places.get(axis, EVERYTHING) for axis in self._axes(name))]
                for name, array in self._arrays.items()
            }
        )
        return part if self.index is None else part.labelled(self.index[places.get("N", EVERYTHING)])

    def _with(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        # Parts of validated arrays need no validation, so the constructor is bypassed.
        part = self.labelled(None)
        hold(part, **arrays)
        return part

    def _growing(self, name: str, *, members: bool) -> int | None:
        """The axis along which an array grows with members, or else with records; None if it does not."""
        return next((place for place, axis in enumerate(self._axes(name)) if (axis == "M") == members), None)

    def _form(self, *, members: bool) -> tuple[Any, ...]:
        """The shapes of the arrays without the axes that grow."""
        shapes = []
        for name, array in self._arrays.items():
            place = self._growing(name, members=members)
            shapes.append(array.shape if place is None else (*array.shape[:place], *array.shape[place + 1 :]))
        return tuple(shapes)

    def __repr__(self) -> str:
        return f"{type(self).__name__}(members={self.members}, records={self.records})"


def combine(*ensembles: Kind) -> Kind:
    """One mixture of the members of all ensembles, with equal weights, on the same records.

    Raises:
        ArrayError: for no ensembles, or ensembles of different kinds, numbers of records, or classes, or whose members
            score one another's plans.
    """
    for ensemble in ensembles:
        check.kind("combine", ensemble, Ensemble)
    kinds = sorted({type(ensemble).__name__ for ensemble in ensembles})
    if len(kinds) != 1:
        raise ArrayError(f"combine: expected ensembles of one kind, found {' and '.join(kinds) or 'none'}.")
    first, problems = ensembles[0], []
    if not first.combinable:
        raise ArrayError(f"combine: not supported for {kinds[0]}, whose members score one another's plans.")
    shared = [name for name in first._arrays if "M" not in first._axes(name)]
    if len({ensemble._form(members=True) for ensemble in ensembles}) > 1 or not all(
        np.array_equal(ensemble._arrays[name], first._arrays[name]) for ensemble in ensembles for name in shared
    ):
        found = ", ".join(map(_shapes, ensembles))
        problems.append(f"combine: expected the same records and number of classes, found shapes {found}.")
    for what in ("classes", "levels"):
        names = {getattr(ensemble, what, None) for ensemble in ensembles}
        if len(names) > 1:
            problems.append(f"combine: expected the same {what} in the same order, found {list(names)}.")
    if problems:
        raise ArrayError(*problems)
    named = {f"ensemble {k + 1}": each for k, each in enumerate(ensembles)}
    lined: list[Kind] = [*check.aligned(named).values()]
    return _joined(lined, members=True).labelled(first.index)


def concatenated(parts: Iterable[Kind], *, records: int | None = None) -> Kind:
    """The concatenated records of several ensembles with the same members.

    With `records`, the number of all of them, each part is copied as it comes into arrays laid out like those of the
    first, so that only one part is in memory beside the whole; not if values of records are of different length.

    Raises:
        ArrayError: for no ensembles, or ensembles that differ in kind, members, or other axes than the records; for
            another number of records.
    """
    if records is not None:
        argument.whole("records", records, 1, check.MOST_VALUES, error=ArrayError)
    try:
        rest = iter(parts)
    except TypeError:
        raise ArrayError(f"parts: expected ensembles, found {quoted(parts)}. Give a list of them.") from None
    if (first := next(rest, None)) is None:
        raise ArrayError("concatenated: expected at least one ensemble, found none.")
    check.kind("parts", first, Ensemble)
    if first.records == records:
        return first
    alike = (part for part in chain([first], rest) if _require_alike(first, part))
    if records is None or first.AXES:
        found = list(alike)
        return first if len(found) == 1 else _joined(found, members=False)
    whole = {
        name: np.empty_like(array, shape=(array.shape[0], records, *array.shape[2:]))
        for name, array in first._arrays.items()
    }
    done = 0
    for part in alike:
        for name, array in part._arrays.items():
            whole[name][:, done : done + part.records] = array
        done += part.records
    if done != records:
        raise ArrayError(f"concatenated: expected {records:,} records, found {done:,}.")
    return first._with(whole)


def _require_alike(first: Ensemble, part: Ensemble) -> bool:
    check.kind("parts", part, Ensemble)
    if (type(part), part._form(members=False)) != (type(first), first._form(members=False)):
        found = " and ".join(sorted({f"{type(each).__name__} {_shapes(each)}" for each in (first, part)}))
        raise ArrayError(f"concatenated: expected ensembles that differ in their records alone, found {found}.")
    return True


def _joined(parts: Sequence[Kind], *, members: bool) -> Kind:
    first = parts[0]
    places = {name: first._growing(name, members=members) for name in first._arrays}
    return first._with(
        {
            name: np.concatenate([part._arrays[name] for part in parts], axis=place)
            for name, place in places.items()
            if place is not None
        }
    )


def _shapes(ensemble: Ensemble) -> str:
    return " and ".join(sorted({str(array.shape) for array in ensemble._arrays.values()}))


# --- checks -----------------------------------------------------------------------------------------------------------


def numbers(
    name: str, values: Any, axes: str, *, dtype: npt.DTypeLike = np.float64, hint: str = ""
) -> tuple[npt.NDArray[Any], list[str]]:
    """Values with axes such as "[M, N]" as an array of `dtype`, without copying if it is one, and their problems.

    Values of another form give an empty array.
    """
    nothing, hint = np.empty((0,) * (axes.count(",") + 1)), hint and f" {hint}"
    try:
        array = check.as_array(name, values)
    except ArrayError as error:
        return nothing, [f"{problem}{hint}" for problem in error.problems]
    if array.dtype.kind not in "biuf":
        return nothing, [f"{name}: expected numbers, found dtype {array.dtype}. Convert to float first."]
    if np.dtype(dtype).kind == "i" and array.dtype.kind not in "iu":
        return nothing, [f"{name}: expected integers, found dtype {array.dtype}."]
    if array.ndim == nothing.ndim + 1 and array.shape[-1] == 1:
        hint = f" Use {name}[..., 0]."
    if array.ndim != nothing.ndim:
        return nothing, [f"{name}: expected {axes}, found shape {array.shape}.{hint}"]
    if not array.size:
        return nothing, [f"{name}: expected at least one of each of {axes}, found shape {array.shape}."]
    if problems := check.value_problems(name, array):
        return array, problems
    with np.errstate(over="ignore"):
        found = array.astype(dtype, copy=False)
    if found.dtype == np.float32 != array.dtype:  # what single precision cannot hold became infinite
        problems = check.value_problems(f"{name} in single precision", found)
    return found, problems


def shares(
    name: str, values: Any, axes: str, *, dtype: npt.DTypeLike = np.float64, what: str = "record"
) -> tuple[npt.NDArray[Any], list[str]]:
    """As `numbers`, of values in [0, 1]; `what` the last axis counts."""
    array, problems = numbers(name, values, axes, dtype=dtype)
    if array.size and (array.min() < 0 or array.max() > 1):
        bad = (array < 0) | (array > 1)
        found = f"found {array[bad][0]:g} ({where(bad, what)})"
        problems.append(f"{name}: expected values in [0, 1], {found}. Logits? Apply a sigmoid first.")
    return array, problems


def hold(ensemble: Ensemble, **arrays: npt.NDArray[Any]) -> None:
    """Set the fields of a frozen ensemble to read-only views of arrays."""
    for name, array in arrays.items():
        view = array.view()
        view.flags.writeable = False
        object.__setattr__(ensemble, name, view)


def where(bad: Flags, what: str = "record") -> str:
    """The first position of flags [M, N] or [N] in words, and their number; N counts `what`."""
    *member, number = (int(place) for place in np.argwhere(bad)[0])
    place = f"member {member[0]}, {what} {number}" if member else f"{what} {number}"
    return f"{place}; {np.count_nonzero(bad):,} of {bad.size:,}"
