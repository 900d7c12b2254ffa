"""Members that predict quantiles; a forecast of intervals has the quantiles at their ends."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np

from shiftbench import check
from shiftbench.check import Flags, Vector
from shiftbench.ensembles.ensemble import Array, Ensemble, hold, numbers, where
from shiftbench.errors import ArrayError, quoted

TOLERANCE = 1e-9  # of levels: those of 0.1 + 0.2 and 0.3 are one


class Interval(NamedTuple):
    """A central interval: its level, and the positions of its ends among the quantiles."""

    level: float
    low: int
    high: int


@dataclass(frozen=True, eq=False, repr=False)
class Quantiles(Ensemble):
    """Members that predict quantiles: values [M, N, L] in the target's unit at `levels` [L], between 0 and 1.

    Values are stored as read-only float64 by ascending level, without copying float64 input in this order. `point`
    [M, N] are answers beside the quantiles, such as means; without them the answer is the median or, where 0.5 is not
    among the levels, the midpoint of the narrowest interval. Several members are averaged, level by level.

    Raises:
        ArrayError: naming every problem: not [M, N, L], NaN, infinity, another number of levels than values, fewer
            than two of them, levels outside (0, 1) or repeated, values that fall where the level rises.
    """

    values: Array
    levels: tuple[float, ...]
    point: Array | None = None

    def __post_init__(self) -> None:
        hint = "One model? Use values[None]. One level? Use values[..., None]."
        values, problems = numbers("values", self.values, "[M, N, L]", hint=hint)
        levels, faults = _checked_levels(self.levels)
        if values.size and values.shape[-1] != len(levels):
            faults.append(f"levels: expected {values.shape[-1]}, one for each of the values, found {len(levels)}.")
        if not faults and values.size:
            order = sorted(range(len(levels)), key=levels.__getitem__)
            if order != list(range(len(levels))):
                levels, values = tuple(levels[place] for place in order), values[..., order]
            faults = _crossings(values, levels)
        problems += faults
        arrays = {"values": values}
        if self.point is not None:
            arrays["point"], more = numbers("point", self.point, "[M, N]", hint="One model? Use point[None].")
            problems += more
            if not more and values.size and arrays["point"].shape != values.shape[:2]:
                problems.append(
                    f"point: expected the members and records of the values {values.shape[:2]}, found "
                    f"{arrays['point'].shape}."
                )
        if problems:
            raise ArrayError(*problems)
        object.__setattr__(self, "levels", levels)
        hold(self, **arrays)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of five quantiles."""
        values = np.sort(rng.normal(20, 3, (members, records, 5)), axis=-1)
        return cls(values, (0.05, 0.25, 0.5, 0.75, 0.95))

    def merged(self) -> Array:
        """The quantiles of all members [N, L], averaged level by level."""
        return np.asarray(self.values.mean(axis=0))

    def answers(self) -> Vector:
        """The answers [N]: those given, else the median, else the midpoint of the narrowest interval."""
        if self.point is not None:
            return np.asarray(self.point.mean(axis=0))
        low, high = self._middle()
        return np.asarray(0.5 * self.values[..., low].mean(axis=0) + 0.5 * self.values[..., high].mean(axis=0))

    @property
    def answered_by(self) -> str:
        """What the answers are, in words."""
        if self.point is not None:
            return "the answers given beside the quantiles"
        low, high = self._middle()
        if low == high:
            return "the median of the quantiles"
        level = next((each.level for each in self.intervals() if (each.low, each.high) == (low, high)), None)
        between = (
            f"the {percent(level)} interval" if level else f"quantiles {self.levels[low]:g} and {self.levels[high]:g}"
        )
        return f"the midpoint of {between}, since there is no median"

    def intervals(self) -> list[Interval]:
        """The central intervals between two of the quantiles, narrowest first."""
        return central_intervals(self.levels)

    def _middle(self) -> tuple[int, int]:
        """The positions of the median, or of what lies closest around it."""
        levels = self.levels
        for place, level in enumerate(levels):
            if abs(level - 0.5) <= TOLERANCE:
                return place, place
        if found := self.intervals():
            return found[0].low, found[0].high
        above = next((place for place, level in enumerate(levels) if level > 0.5), len(levels) - 1)
        return max(above - 1, 0), max(above, 1)


def central_intervals(levels: tuple[float, ...]) -> list[Interval]:
    """The central intervals between two of ascending levels, narrowest first: their ends add up to 1."""
    found = []
    for low, level in enumerate(levels):
        for high in range(low + 1, len(levels)):
            if abs(level + levels[high] - 1.0) <= TOLERANCE:
                found.append(Interval(round(levels[high] - level, 9), low, high))
    return sorted(found)


def percent(level: float) -> str:
    """A level as a percentage: 97.5 %."""
    return f"{100 * level:.10g} %"


def level_problems(levels: tuple[float, ...], columns: Mapping[float, str] | None = None) -> list[str]:
    """Problems of the levels of a forecast: fewer than two, outside (0, 1), repeated.

    columns: those of a table that levels are taken from, to name them.
    """
    problems = []
    if len(levels) < 2:
        found = ", ".join(f"{level:g}" for level in levels) or "none"
        problems.append(
            f"levels: expected two or more, found {found}: one quantile has no width. Add another, or give it as an "
            "answer with an uncertainty."
        )
    if outside := [level for level in levels if not 0 < level < 1]:
        is_percent = all(2 <= level < 100 for level in outside)
        advice = "Percentages? Divide by 100." if is_percent else "Correct or leave out what is outside."
        found = ", ".join(f"{level:g}" + (f" (column {columns[level]!r})" if columns else "") for level in outside)
        problems.append(f"levels: expected numbers between 0 and 1, both excluded, found {found}. {advice}")
    ordered = sorted(level for level in levels if not math.isnan(level))
    twice = [high for low, high in pairwise(ordered) if high - low <= TOLERANCE]
    if twice:
        problems.append(f"levels: expected each once, found {', '.join(f'{v:g}' for v in twice)} again. Drop one.")
    return problems


def _checked_levels(values: Any) -> tuple[tuple[float, ...], list[str]]:
    try:
        levels = tuple(float(value) for value in check.names("levels", values))
    except (ArrayError, TypeError, ValueError, OverflowError):
        return (), [f"levels: expected numbers between 0 and 1, one for each quantile, found {quoted(values, 100)}."]
    return levels, level_problems(levels)


def falls(values: Array) -> Flags:
    """Whether a quantile [..., L] lies below the one before it [..., L - 1]."""
    return np.asarray(values[..., 1:] < values[..., :-1])


def _crossings(values: Array, levels: tuple[float, ...]) -> list[str]:
    problems = []
    bad = falls(values)
    for place in np.flatnonzero(bad.any(axis=(0, 1))):
        here = bad[..., place]
        pair = values[..., place : place + 2][here][0]
        problems.append(
            f"values: expected quantiles that rise with their level, found {pair[0]:g} at level {levels[place]:g} "
            f"above {pair[1]:g} at {levels[place + 1]:g} ({where(here)}). {crossing_advice(here)}"
        )
    return problems


def crossing_advice(bad: Flags) -> str:
    """What to do about quantiles that cross where flagged."""
    if bad.all():
        return "Were the two exchanged?"
    return "Correct these records, or sort the quantiles of each record and say so."
