"""The columns of a track's tables, in any order and with known alternative names."""

from __future__ import annotations

import csv
import difflib
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io.tables import problem


@dataclass(frozen=True)
class Form:
    """The columns of a track's tables.

    types: column → type, in the published order. A column "id" is ignored silently.
    optional: text columns that may be missing.
    whole: columns of whole numbers, in any notation.
    numbers: column → a description of its numbers for messages ("Unix seconds as numbers").
    other_names: alternative column names → the names used here.
    complete: whether a number that is not finite is a problem; else it becomes missing.
    """

    types: Mapping[str, pl.DataType]
    optional: frozenset[str] = frozenset()
    whole: tuple[str, ...] = ()
    numbers: Mapping[str, str] = field(default_factory=dict)
    other_names: Mapping[str, str] = field(default_factory=dict)
    complete: bool = False

    @property
    def parsed(self) -> dict[str, pl.DataType]:
        """The types for reading: whole numbers are often written as floats ("10.0"), so they are read as floats."""
        return {**self.types, **dict.fromkeys(self.whole, pl.Float64())}

    def of(self, names: Container[str]) -> list[str]:
        """The columns among the given names, in the published order."""
        return [name for name in self.types if name in names]

    def names(self, found: Sequence[str], *, label: str) -> tuple[list[str], list[str]]:
        """The canonical names of a table's columns, in the table's order, and the unknown ones.

        Raises:
            TableError: naming every missing or repeated column; `label` is the table.
        """
        names = [self.other_names.get(name, name) for name in found]
        problems = [
            f"{label}: expected the column {name!r} once, found it {count} times{self._also(name, found)}. "
            "Drop the others."
            for name, count in Counter(names).items()
            if count > 1
        ]
        unknown = [name for name in names if name not in self.types and name != "id"]
        missing = [name for name in self.types if name not in self.optional and name not in names]
        problems += problem.few([f"{label}: {_missing(name, unknown)}" for name in missing])
        if problems:
            raise TableError(*problems)
        return names, unknown

    def _also(self, name: str, found: Sequence[str]) -> str:
        others = [repr(own) for own in found if own != name and self.other_names.get(own) == name]
        return f" (also as {', '.join(others)})" if others else ""


def facts(package: str | None, name: str) -> list[dict[str, str]]:
    """The lines of a CSV of facts that lies beside a track's schema, column → text."""
    text = resources.files(str(package)).joinpath(name).read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))


def _missing(name: str, unknown: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, unknown, n=1, cutoff=0.5)
    besides = f"Is it among {', '.join(map(repr, unknown[: problem.MOST_LISTED]))}?" if unknown else ""
    hint = f"Did you mean {near[0]!r}?" if near else besides or "Take the whole table."
    return f"expected a column {name!r}, found none. {hint}"
