"""Odd values of a table: counted batch by batch, told once at the end."""

from __future__ import annotations

from dataclasses import dataclass, field

import polars as pl


@dataclass
class _Odd:
    count: int
    line: int
    value: object


@dataclass
class Tally:
    """Odd values by column and by what was expected, with their number and the first of them.

    place: what rows are counted as, "line" or "row".
    """

    place: str = "line"
    odd: dict[tuple[str, str, str], _Odd] = field(default_factory=dict)

    def add(self, column: str, expected: str, advice: str, *, values: pl.Series, bad: pl.Series, line: int) -> None:
        """Count the values [N] where `bad`; the first value stands in `line`."""
        count = int(bad.sum())
        if count:
            place = bad.arg_max() or 0
            first = self.odd.setdefault((column, expected, advice), _Odd(0, line + place, values[place]))
            first.count += count

    def has(self, column: str, expected: str) -> bool:
        """Whether any value of a column was not what was expected."""
        return any((name, wanted) == (column, expected) for name, wanted, _ in self.odd)

    def told(self, label: str) -> list[str]:
        """The sentences, in the order in which the first odd values were met."""
        told = []
        for (column, expected, advice), odd in self.odd.items():
            value = "nothing" if odd.value is None else f"{odd.value!r}"
            found = f"{value} in {self.place} {odd.line:,} ({odd.count:,} such value{'s' * (odd.count > 1)})"
            told.append(f"{label}: column {column!r}: expected {expected}, found {found}. {advice}")
        return told
