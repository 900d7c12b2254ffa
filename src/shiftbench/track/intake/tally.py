"""Counts invalid values of a table batch by batch, and reports them once at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl

from shiftbench.errors import counted


@dataclass
class _Odd:
    count: int
    line: int
    value: object


@dataclass
class Tally:
    """Invalid values by column and expectation, with their number and the first of them.

    place: the unit of row numbers in messages, "line" or "row".
    """

    place: str = "line"
    odd: dict[tuple[str, str, str], _Odd] = field(default_factory=dict)

    def add(self, column: str, expected: str, advice: str, *, values: pl.Series, bad: pl.Series, line: int) -> None:
        """Count the values [N] where `bad`; the first value is in line `line`."""
        count = int(bad.sum())
        if count:
            place = bad.arg_max() or 0
            first = self.odd.setdefault((column, expected, advice), _Odd(0, line + place, values[place]))
            first.count += count

    def has(self, column: str, expected: str) -> bool:
        """Whether any value of a column violated this expectation."""
        return any((name, wanted) == (column, expected) for name, wanted, _ in self.odd)

    def messages(self, label: str) -> list[str]:
        """The sentences, in the order in which the first invalid values occurred."""
        lines = []
        for (column, expected, advice), odd in self.odd.items():
            value = "nothing" if odd.value is None else f"{odd.value!r}"
            found = f"{value} in {self.place} {odd.line:,} ({counted(odd.count, 'such value')})"
            lines.append(f"{label}: column {column!r}: expected {expected}, found {found}. {advice}")
        return lines
