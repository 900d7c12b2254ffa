"""Settings of methods: plain values, checked when they are made, to and from a dict (of a TOML or JSON file)."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from shiftbench.errors import SettingsError

TASKS = ("regression", "classification")


@dataclass(frozen=True)
class MethodSettings:
    """What every method must be told.

    Attributes:
        task: "regression" or "classification".
        classes: the classes, as text, in the order of the probabilities. If None, those of the train partition in
            sorted order, and a class that train lacks is an error. A class that is named here and missing in
            train gets probability 0.

    Raises:
        SettingsError: naming every value that is out of range.
    """

    task: str
    classes: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.classes, list):
            object.__setattr__(self, "classes", tuple(self.classes))
        if problems := self.problems():
            raise SettingsError(*problems)

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = []
        if self.task not in TASKS:
            found.append(f"task: expected {' or '.join(TASKS)}, found {self.task!r}.")
        if self.classes is None:
            return found
        if self.task == "regression":
            found.append(f"classes: expected none for a regression, found {self.classes!r}. Leave them out.")
        named = isinstance(self.classes, tuple) and all(isinstance(name, str) for name in self.classes)
        if not named or len(set(self.classes)) < max(2, len(self.classes)):
            found.append(f"classes: expected two or more different names as text, found {self.classes!r}.")
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


def whole(name: str, value: Any, low: int, high: int) -> list[str]:
    """The problem, if any, of a value that must be a whole number from low to high."""
    if isinstance(value, int) and not isinstance(value, bool) and low <= value <= high:
        return []
    return [f"{name}: expected a whole number from {low:,} to {high:,}, found {value!r}."]


def above_zero(name: str, value: Any, high: float) -> list[str]:
    """The problem, if any, of a value that must be a number above 0 and at most `high`."""
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if number and math.isfinite(value) and 0 < value <= high:
        return []
    return [f"{name}: expected a number above 0 and at most {high:g}, found {value!r}."]


def is_folder_name(name: str) -> bool:
    """Whether a name is that of a folder beside a method's own, and leads nowhere else."""
    return name not in ("", ".", "..") and not {"/", "\\"} & set(name)
