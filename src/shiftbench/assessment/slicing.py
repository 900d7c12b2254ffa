"""Groups of records by which scores are broken down: defined once, for all splits and test sets.

- Text and booleans, and numbers that name clusters or groups: a group for each value.
- Whole numbers with at most MOST_WHOLE different values (months, hours, rooms), and other numbers with at most
  MOST_NUMBERS: a group for each value. Otherwise five ranges with about equal numbers of records, whose edges are
  exactly those in their names: "below 1.5", "[1.5, 3.2)", …, "9.1 or more".
- Dates and times: months, or years if there are more than MOST_GROUPS months; times of day: hours.
- Missing values are a group.

Of more than MOST_GROUPS groups the largest with at least SMALLEST_OF_MANY records are kept, the others are merged.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from shiftbench.assessment.scored import Labels, listed
from shiftbench.check import Vector
from shiftbench.errors import TableError, TableWarning, counted
from shiftbench.io import tables
from shiftbench.io.tables import dates, problem
from shiftbench.partition import keys
from shiftbench.partition.features import LIKE_MISSING, MISSING_CATEGORY
from shiftbench.report.content import LONGEST_TEXT
from shiftbench.scores.grouping import coded

BINS = 5
MOST_WHOLE = 31  # the days of a month
MOST_NUMBERS = 12
MOST_GROUPS = 32  # the days of a month, and missing ones
SMALLEST_OF_MANY = 20

Naming = Callable[[pl.Series], pl.Series]  # values [N] → names of their groups [N], missing where a value is


@dataclass(frozen=True)
class Gathering:
    """The groups of a column that are shown individually; all others are shown as one."""

    known: frozenset[str]
    kept: frozenset[str]

    @classmethod
    def of(cls, labels: Labels) -> Gathering:
        """All groups if they are few; else the largest, if large enough."""
        names, codes = coded(labels)
        counts = np.bincount(codes)
        known = frozenset(map(str, names))
        if len(names) <= MOST_GROUPS:
            return cls(known, known)
        order = np.lexsort((names, -counts))[:MOST_GROUPS]  # ties in size are ordered by name
        return cls(known, frozenset(str(names[place]) for place in order if counts[place] >= SMALLEST_OF_MANY))

    @property
    def others(self) -> int:
        """The number of merged groups."""
        return len(self.known - self.kept)

    @property
    def others_text(self) -> str:
        """The number of merged groups, in words."""
        return counted(self.others, "group")

    def gathered(self, labels: Labels) -> Labels:
        """The labels [N], with those of small groups replaced; groups that are new here are merged separately."""
        names, codes = coded(labels)
        new = np.array([str(name) not in self.known for name in names])
        kept = self.kept
        if new.any():
            unknown = Gathering.of(labels[new[codes]])
            kept = kept | unknown.kept
            beyond = f"other ({unknown.others_text}, only here)"
        shown = [
            str(name) if str(name) in kept else (beyond if fresh else f"other ({self.others_text})")
            for name, fresh in zip(names, new, strict=True)
        ]
        return np.array(shown)[codes]

    def note(self, column: str) -> str:
        """A sentence on the merged groups; "" if there are none."""
        if not self.others:
            return ""
        found = f"slices by {column}: {counted(len(self.known), 'group')}; "
        if not self.kept:
            return found + f"none has {SMALLEST_OF_MANY} records, so that scores are not shown by it"
        largest = "the largest is" if len(self.kept) == 1 else f"the {len(self.kept):,} largest are"
        return found + f"{largest} shown, the others together as 'other ({self.others_text})'"


@dataclass(frozen=True)
class Slicing:
    """Slice columns (or "a+b", combinations) and the groups of each, defined by a reference table.

    calendar: those whose groups are periods of time.
    """

    namings: Mapping[str, Mapping[str, Naming]] = field(default_factory=dict)
    gatherings: Mapping[str, Gathering] = field(default_factory=dict)
    calendar: frozenset[str] = frozenset()

    @classmethod
    def of(cls, frame: pl.DataFrame, columns: Sequence[str], *, labels: Collection[str] = ()) -> Slicing:
        """The groups defined by the records [N] of `frame`; the method `labels` then applies them to any table.

        labels: columns whose numbers are names (of clusters, of groups), each a group of its own.

        Raises:
            TableError: for columns that are missing, or are neither text, numbers, booleans nor dates, and for names of
                groups that are too long for a report.
        """
        parts = {name: keys.parts(name, frame.columns) for name in columns}
        named = list(dict.fromkeys(column for names in parts.values() for column in names))
        tables.require(frame, named, where="slices")
        if problems := [fault for name in named if (fault := _fault(frame[name]))]:
            raise TableError(*problems)
        how = {name: _naming(frame[name], is_label=name in labels) for name in named}
        found = cls({name: {column: how[column] for column in names} for name, names in parts.items()})
        gatherings = {name: Gathering.of(found._labels(frame, name)) for name in columns}
        if problems := [
            f"slices: column {name!r}: expected names of groups of at most {LONGEST_TEXT:,} characters, found one of "
            f"{longest:,}. Shorten them."
            for name, each in gatherings.items()
            if (longest := max(map(len, each.kept), default=0)) > LONGEST_TEXT
        ]:
            raise TableError(*problems)
        dates = (name for name, own in parts.items() if any(frame.schema[c] in (pl.Date, pl.Datetime) for c in own))
        return cls(found.namings, gatherings, frozenset(dates))

    def labels(self, frame: pl.DataFrame) -> dict[str, Labels]:
        """Column → group names [N]; columns that the frame lacks, or has with another type, are left out."""
        there = [
            name
            for name, namings in self.namings.items()
            if all(column in frame.columns and not _fault(frame[column]) for column in namings)
        ]
        return {name: self.gatherings[name].gathered(self._labels(frame, name)) for name in there}

    def _labels(self, frame: pl.DataFrame, name: str) -> Labels:
        namings = self.namings[name]
        parts = [_part(frame[column], naming, alone=len(namings) == 1) for column, naming in namings.items()]
        return keys.joined(parts).to_numpy().astype(str)

    @property
    def notes(self) -> list[str]:
        """A sentence for each column with too many groups."""
        return [note for name, each in self.gatherings.items() if (note := each.note(name))]

    def only_in(self, train: pl.DataFrame) -> list[str]:
        """A note for each column with groups that occur in train but not in the reference table."""
        notes = []
        for name, gathering in self.gatherings.items():
            if name in self.calendar:
                continue  # periods differ because the partition is by time
            names, counts = np.unique(self._labels(train, name), return_counts=True)
            absent = {str(n): int(k) for n, k in zip(names, counts, strict=True) if str(n) not in gathering.known}
            if absent:
                notes.append(f"slices by {name}: in train, but in no evaluated record: {listed(absent)}")
        return notes


def own_slicing(frame: pl.DataFrame, columns: Sequence[str], *, labels: Collection[str] = ()) -> Slicing:
    """The groups of a table that is its own reference.

    Raises:
        TableError: as `Slicing.of`.

    Warns:
        TableWarning: for columns with too many groups.
    """
    slicing = Slicing.of(frame, columns, labels=labels)
    for note in slicing.notes:
        warnings.warn(TableWarning(note), stacklevel=2)
    return slicing


# -- how values are named


def _fault(values: pl.Series) -> str:
    if fault := tables.label_fault(values):
        return f"slices: {fault}"
    far = dates.beyond(values)
    if far.any():
        rows = problem.rows(far)
        return f"slices: column {values.name!r}: expected dates of years that can be written, found others ({rows})."
    return ""


def _naming(values: pl.Series, *, is_label: bool) -> Naming:
    if values.dtype in (pl.Date, pl.Datetime):
        months = values.dt.strftime("%Y-%m").n_unique()
        return _formatted("%Y-%m" if months <= MOST_GROUPS else "%Y")
    if values.dtype == pl.Time:
        return _formatted("%H:00")
    if values.dtype.is_numeric() and not is_label:
        return _numbers_naming(values)
    return _as_text


def _part(values: pl.Series, naming: Naming, *, alone: bool) -> pl.Series:
    """The names [N] of a column's groups, alone or in combinations; text equal to the missing-value name is quoted."""
    names = naming(values)
    if values.dtype in keys.TEXT:
        names = keys.quoted(names, names.str.contains(LIKE_MISSING if alone else f'[,"]|{LIKE_MISSING}'))
    return names.fill_null(MISSING_CATEGORY)


def _formatted(form: str) -> Naming:
    def naming(values: pl.Series) -> pl.Series:
        return values.dt.strftime(form) if values.dtype.is_temporal() else _as_text(values)

    return naming


def _as_text(values: pl.Series) -> pl.Series:
    """Values as text; whole numbers have no decimal point, whatever their type."""
    if not values.dtype.is_float():
        return values.cast(pl.String)
    values = values.fill_nan(None)
    whole = values.is_finite() & (values == values.round()) & (values.abs() < 2**53)
    as_whole = values.set(~whole.fill_null(value=False), None).cast(pl.Int64).cast(pl.String)
    return pl.select(pl.when(whole).then(as_whole).otherwise(values.cast(pl.String))).to_series()


def _numbers_naming(values: pl.Series) -> Naming:
    known = values.fill_nan(None).drop_nulls() if values.dtype.is_float() else values.drop_nulls()
    finite = known.filter(known.is_finite()) if known.dtype.is_float() else known
    whole = bool((finite == finite.round()).all()) if finite.dtype.is_float() else True
    if known.n_unique() <= (MOST_WHOLE if whole else MOST_NUMBERS):
        return _as_text
    edges = _edges(finite, whole=whole)
    names = [f"below {edges[0]}", *(f"[{low}, {high})" for low, high in pairwise(edges)), f"{edges[-1]} or more"]

    def naming(numbers: pl.Series) -> pl.Series:
        if not numbers.dtype.is_numeric():
            return _as_text(numbers)
        # In the numbers' own precision, so that 0.7 is not less than the edge 0.7.
        dtype = np.float32 if numbers.dtype == pl.Float32 else np.float64
        ends = np.array([float(edge) for edge in edges], dtype)
        place = np.searchsorted(ends, numbers.cast(pl.Float64).to_numpy().astype(dtype), side="right")
        missing = numbers.is_null() | (numbers.is_nan() if numbers.dtype.is_float() else False)
        return pl.Series(np.array(names)[place]).set(missing, None)

    return naming


def _edges(finite: pl.Series, *, whole: bool) -> list[str]:
    """The edges between ranges as text, ascending: quantiles, rounded to a tenth of the narrowest range."""
    numbers: Vector = finite.cast(pl.Float64).to_numpy()
    inner = np.unique(np.quantile(numbers, np.linspace(0.0, 1.0, BINS + 1)[1:-1]))
    inner = inner[inner > numbers.min()]
    if not len(inner):  # nearly all values are the smallest one
        return [str(_smallest(finite.filter(finite > finite.min())))]
    with np.errstate(over="ignore"):
        narrowest = float(np.diff([numbers.min(), *inner]).min())
    decimals = 1 - math.floor(math.log10(narrowest)) if 1e-300 < narrowest < math.inf else 0
    decimals = min(decimals, 0) if whole else decimals
    texts = [_shown(edge, decimals) for edge in inner]
    if len({float(text) for text in texts}) < len(inner) or float(texts[0]) <= numbers.min():
        texts = [repr(float(edge)) for edge in inner]
    return texts


def _smallest(values: pl.Series) -> Any:
    found: Any = values.min()
    return np.float32(found) if values.dtype == pl.Float32 else found


def _shown(edge: float, decimals: int) -> str:
    if not -15 <= decimals <= 15 or abs(edge) >= 1e15:
        return repr(float(edge))
    return f"{round(edge, decimals):.{max(decimals, 0)}f}"
