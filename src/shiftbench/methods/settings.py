"""Settings of methods: plain values, checked when they are made, to and from a dict (of a TOML or JSON file)."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from shiftbench.errors import SettingsError

TASKS = ("regression", "classification")  # of tables


@dataclass(frozen=True)
class MethodSettings:
    """Settings of every method; a method's own settings are a subclass with more fields.

    A field made by `whole_number`, `positive`, `non_negative`, `layer_width` or `switch` is checked by itself; lists
    become tuples. `tasks` are those that the method is for.

    Attributes:
        task: one of `tasks`.
        classes: the classes, as text, in the order of the probabilities. If None, those of the train partition in
            sorted order, and a class that train lacks is an error. A class that is named here and missing in
            train gets probability 0.

    Raises:
        SettingsError: naming every value that is out of range.
    """

    tasks: ClassVar[tuple[str, ...]] = TASKS

    task: str
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for place in dataclasses.fields(self):
            if isinstance(value := getattr(self, place.name), list):
                object.__setattr__(self, place.name, tuple(value))
        if problems := self.problems():
            raise SettingsError(*problems)

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = []
        if self.task not in self.tasks:
            found.append(f"task: expected {' or '.join(self.tasks)}, found {self.task!r}. Choose another method.")
        if self.classes is not None:
            if self.task != "classification":
                found.append(f"classes: expected none for {self.task}, found {self.classes!r}. Leave them out.")
            named = isinstance(self.classes, tuple) and all(isinstance(name, str) for name in self.classes)
            if not named or len(set(self.classes)) < max(2, len(self.classes)):
                found.append(f"classes: expected two or more different names as text, found {self.classes!r}.")
        for place in dataclasses.fields(self):
            value = getattr(self, place.name)
            if (check := place.metadata.get("check")) and not (value is None and place.default is None):
                found += check(place.name, value)
        return found

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as `from_dict` takes them; None is left out (TOML has no word for it)."""
        values = {name: value for name, value in dataclasses.asdict(self).items() if value is not None}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Settings from plain values; what is not named keeps its default.

        Raises:
            SettingsError: naming every unknown or missing key (with the nearest known one), or else every
                value that is out of range.
        """
        places = {place.name: place for place in dataclasses.fields(cls)}
        problems = []
        for name in values:
            if name not in places:
                near = difflib.get_close_matches(str(name), places, n=1)
                advice = f"Did you mean {near[0]!r}?" if near else "Leave it out."
                problems.append(f"expected settings among {', '.join(places)}, found {name!r}. {advice}")
        for name, place in places.items():
            if name not in values and place.default is dataclasses.MISSING:
                problems.append(f"{name}: expected a value, found none. Set it.")
        if problems:
            raise SettingsError(*problems)
        return cls(**values)


# -- fields that are checked


def checked(default: Any, check: Callable[[str, Any], list[str]]) -> Any:
    """A field whose problems `check` finds, given its name and value; None is valid where it is the default."""
    return field(default=default, metadata={"check": check})


def whole_number(default: int | None, low: int, high: int) -> Any:
    """A field that holds a whole number from low to high."""
    return checked(default, lambda name, value: whole(name, value, low, high))


def positive(default: float | None, high: float) -> Any:
    """A field that holds a number above 0 and at most `high`."""
    return checked(default, lambda name, value: above_zero(name, value, high))


def non_negative(default: float | None, high: float) -> Any:
    """A field that holds a number from 0 to `high`."""
    return checked(default, lambda name, value: from_zero(name, value, high))


def switch(default: bool) -> Any:
    """A field that holds true or false."""

    def check(name: str, value: Any) -> list[str]:
        return [] if isinstance(value, bool) else [f"{name}: expected true or false, found {value!r}."]

    return checked(default, check)


def one_of(default: str, *others: str) -> Any:
    """A field restricted to these words."""
    known = (default, *others)

    def check(name: str, value: object) -> list[str]:
        return [] if value in known else [f"{name}: expected {' or '.join(known)}, found {value!r}."]

    return checked(default, check)


def paths(default: tuple[str, ...]) -> Any:
    """A field that holds paths of files or folders."""

    def check(name: str, value: Any) -> list[str]:
        if isinstance(value, tuple) and all(isinstance(path, str) and path for path in value):
            return []
        return [f"{name}: expected paths of files, found {value!r}."]

    return checked(default, check)


def seed_number() -> Any:
    """A field that holds the seed of all random numbers."""
    return whole_number(0, 0, 2**63 - 1)


def layer_width(default: int | None) -> Any:
    """A field that holds the width of a layer.

    With other widths than multiples of 8 from 16, the CPU libraries sum the last rows of a batch in another order than
    the first: the prediction for a record would depend, in its last digits, on the place where it stands.
    """
    return checked(default, lambda name, value: multiple_of_8(name, value))


# -- checks: each returns the problem, if any


def whole(name: str, value: Any, low: int, high: int) -> list[str]:
    """Of a value that must be a whole number from low to high."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return []
    return [f"{name}: expected a whole number from {low:,} to {high:,}, found {value!r}."]


def above_zero(name: str, value: Any, high: float) -> list[str]:
    """Of a value that must be a number above 0 and at most `high`."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and math.isfinite(value) and 0 < value <= high:
        return []
    return [f"{name}: expected a number above 0 and at most {high:g}, found {value!r}."]


def from_zero(name: str, value: Any, high: float) -> list[str]:
    """Of a value that must be 0 or a number above 0 and at most `high`."""
    if (type(value) in (int, float) and value == 0) or not above_zero(name, value, high):
        return []
    return [f"{name}: expected a number from 0 to {high:g}, found {value!r}."]


def multiple_of_8(name: str, value: Any) -> list[str]:
    """Of a value that must be the width of a layer; see `layer_width`."""
    if not whole(name, value, 16, 65_536) and value % 8 == 0:
        return []
    return [f"{name}: expected a multiple of 8 from 16 to 65,536, found {value!r}."]


def column_names(name: str, value: Any) -> list[str]:
    """Of a value that must be names of columns."""
    if isinstance(value, tuple) and all(isinstance(column, str) and column for column in value):
        return []
    return [f"{name}: expected names of columns, found {value!r}."]


def is_folder_name(name: object) -> bool:
    """Whether a value is the name of a folder beside a method's own, and leads nowhere else."""
    return isinstance(name, str) and name not in ("", ".", "..") and not {"/", "\\"} & set(name)
