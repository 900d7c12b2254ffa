"""Tables as grids of formatted cells, shared by terminal, HTML, Markdown and LaTeX so that they never disagree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

from shiftbench.report.digits import MISSING

ARROWS = {"min": "↓", "max": "↑", "nominal": ""}  # what has a nominal value names it in its title
# Sizes of the page's style, in rem: its width; the least and the most of a label; the least of a column of numbers; a
# character, and what surrounds a text.
PAGE, LABEL, NARROWEST, EM, PADDING = 77.0, (9.0, 18.0), 6.5, 0.5, 1.3
MOST_WHOLE = 8  # rows of a table that is parted rather than scrolled


@dataclass(frozen=True)
class Cell:
    """One cell: its text, a note (an interval or ± std), and whether it is among the best."""

    text: str
    note: str = ""
    best: bool = False

    @property
    def line(self) -> str:
        """Text and note on one line."""
        return f"{self.text} {self.note}".rstrip()


NONE = Cell(MISSING)


@dataclass(frozen=True)
class Column:
    """The heading of a column, below the heading of its group."""

    title: str
    group: str = ""
    numeric: bool = True


@dataclass(frozen=True)
class Row:
    """A row: its label, a hint in small print, and its cells."""

    label: str
    cells: tuple[Cell, ...]
    hint: str = ""


@dataclass(frozen=True)
class Grid:
    """One table. `kind` names its content, `split` the split ("" for all splits)."""

    kind: str
    split: str
    title: str
    label: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""

    def groups(self) -> list[list[int]]:
        """The positions of the columns, those with a common group heading together."""
        return [
            list(run) for _, run in groupby(range(len(self.columns)), lambda place: self.columns[place].group or place)
        ]

    def portions(self) -> list[Grid]:
        """Tables below each other that a page shows whole, each with groups of these columns; the last has the note.

        A table with more than `MOST_WHOLE` rows stays one, which scrolls: so it can be sorted and filtered.
        """
        longest = max((len(row.label) for row in self.rows), default=0)
        room = PAGE - min(max(EM * longest + PADDING, LABEL[0]), LABEL[1])
        found = self._filled(room)
        # No part narrower than needs be: a group alone in its row leaves the rest of the page empty.
        for share in range(9, 4, -1):
            if len(narrower := self._filled(room * share / 10)) > len(found):
                break
            found = narrower
        if len(found) == 1 or len(self.rows) > MOST_WHOLE or not all(column.group for column in self.columns):
            return [self]
        parts = [replace(self.only(places), note="") for places in found]
        titled = [replace(part, title=f"{self.title}, {k} of {len(parts)}") for k, part in enumerate(parts, 1)]
        return [*titled[:-1], replace(titled[-1], note=self.note)]

    def _filled(self, room: float) -> list[list[int]]:
        """The positions of the columns, in as many parts as each fills so much room with whole groups."""
        found: list[list[int]] = [[]]
        left = room
        for group in self.groups():
            wide = sum(self._width(place) for place in group)
            if found[-1] and wide > left:
                found.append([])
                left = room
            found[-1] += group
            left -= wide
        return found

    def _width(self, place: int) -> float:
        """About the width of a column on a page, in rem."""
        cells = [row.cells[place] for row in self.rows]
        longest = max((max(len(cell.text), 0.8 * len(cell.note)) for cell in cells), default=0.0)
        return max(NARROWEST, EM * longest + PADDING)

    def only(self, places: list[int]) -> Grid:
        """The same rows with some of the columns."""
        rows = tuple(replace(row, cells=tuple(row.cells[place] for place in places)) for row in self.rows)
        return replace(self, columns=tuple(self.columns[place] for place in places), rows=rows)
