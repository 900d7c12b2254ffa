"""The report in a terminal: the verdict, then tables that fit its width without cutting numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from shiftbench.report.content import Report
from shiftbench.report.grid import Cell, Grid, grids
from shiftbench.report.recipe import signature
from shiftbench.report.verdict import verdict
from shiftbench.report.view import clean, main_split, split_title

MOST_ROWS = 20
FEW_ROWS = 12
MOST_TOGETHER = 3  # up to so many columns of a group drop their intervals rather than be split
WIDEST_TEXT = 24
BETWEEN = 2  # spaces between columns


def render(report: Report, *, brief: bool = False) -> RenderableType:
    """The report for `rich.console.Console.print`, in any width from 60 columns on.

    brief: only the verdict, the main tables, comparisons if they are few, and the warnings.
    """
    return _Rendered(report, brief)


class _Rendered:
    """Lays the tables out when the width is known."""

    def __init__(self, report: Report, brief: bool) -> None:
        self.report, self.brief = report, brief

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(clean(self.report.title), style="bold")
        for sentence in verdict(self.report):
            yield _item(sentence)
        split = main_split(self.report)
        for grid in grids(self.report):
            wanted = _brief(grid) if self.brief else grid.kind != "systems"
            if wanted and grid.split in ("", split):
                yield from _grid(grid, options.max_width)
        if others := [split_title(name) for name in self.report.splits if name != split]:
            yield Text(f"\nTables of {' and '.join(others)}: in the other formats.", style="dim")
        yield from _listing("Warnings", [clean(text) for text in self.report.warnings])
        if self.brief:
            yield Text("\nAll other tables, and the recipe: in the report, or by `shiftbench report`.", style="dim")
            return
        yield from _listing("Recipe", [signature(self.report), "The whole recipe is in the other formats."])


def _brief(grid: Grid) -> bool:
    """Whether a table belongs to the main part; comparisons do if they are few, such as those of two models."""
    return grid.kind in ("splits", "answers", "joint") or (grid.kind == "comparisons" and len(grid.rows) <= FEW_ROWS)


def _item(text: str) -> Table:
    # A table of two cells indents the further lines of a long item.
    table = Table.grid(padding=(0, 1))
    table.add_row(Text("•"), Text(text, overflow="fold"))
    return table


def _listing(title: str, texts: list[str]) -> Iterator[RenderableType]:
    if texts:
        yield Text(f"\n{title}", style="bold")
        yield from (_item(text) for text in texts)


def _grid(grid: Grid, width: int) -> Iterator[RenderableType]:
    yield Text(f"\n{grid.title}", style="bold")
    yield from tables(replace(grid, rows=grid.rows[:MOST_ROWS]), width)
    if len(grid.rows) > MOST_ROWS:
        yield Text(f"The first {MOST_ROWS} of {len(grid.rows)} rows; the other formats have all.", style="dim")
    if grid.note:
        yield Text(grid.note, style="dim", overflow="fold")


def tables(grid: Grid, width: int) -> Iterator[RenderableType]:
    """All rows of a grid as one or more tables, each with as many groups of columns as fit into `width`."""
    labels = _label_width(grid, width)
    for number, (notes, places) in enumerate(_portions(grid, width - labels)):
        if number:
            yield Text()
        yield _table(grid, places, labels, notes)
        if not notes and any(row.cells[place].note for row in grid.rows for place in places):
            yield Text("Intervals do not fit and are left out; the other formats have them.", style="dim")


def _label_width(grid: Grid, width: int) -> int:
    longest = max(cell_len(text) for row in grid.rows for text in (row.label, row.hint, grid.label))
    return min(longest, max(16, width // 4))


def _portions(grid: Grid, room: int) -> list[tuple[bool, list[int]]]:
    """Which columns go into one table, and whether to show intervals.

    Groups of columns stay together if possible: a small one that is too wide drops its intervals, then is split;
    a large one is split at once. Text columns before the first number identify the row, and are repeated in every
    table if that leaves half of the width.
    """
    portions: list[tuple[bool, list[int]]] = []
    lead = _lead(grid)
    left = room - _needs(grid, lead, notes=True)
    if left < room / 2:
        lead, left = [], room
    for group in ([place for place in group if place not in lead] for group in grid.groups()):
        notes = _needs(grid, group, notes=True) <= left or len(group) > MOST_TOGETHER
        pieces = [group] if _needs(grid, group, notes=notes) <= left else [[place] for place in group]
        for piece in filter(None, pieces):
            last = portions[-1] if portions else None
            if last and last[0] == notes and _needs(grid, last[1] + piece, notes=notes) <= left:
                last[1].extend(piece)
            else:
                portions.append((notes, list(piece)))
    return [(notes, lead + places) for notes, places in portions]


def _lead(grid: Grid) -> list[int]:
    """The text columns before the first column of numbers; empty if there are no numbers."""
    first = next((place for place, column in enumerate(grid.columns) if column.numeric), 0)
    return list(range(first))


def _needs(grid: Grid, places: list[int], *, notes: bool) -> int:
    return sum(_column_width(grid, place, notes=notes) + BETWEEN for place in places)


def _column_width(grid: Grid, place: int, *, notes: bool) -> int:
    """The width of the longest number or note; words in headings and text columns may wrap."""
    column = grid.columns[place]
    cells = [row.cells[place] for row in grid.rows]
    words = [word for text in (column.title, column.group) for word in text.split()]
    texts = [text for cell in cells for text in ((cell.text, cell.note) if notes else (cell.text,))]
    longest = max(map(cell_len, texts), default=0)
    longest = longest if column.numeric else min(longest, WIDEST_TEXT)
    return max([longest, 1, *(min(cell_len(word), 14) for word in words)])


def _table(grid: Grid, places: list[int], labels: int, notes: bool) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, BETWEEN, 0, 0), header_style="bold", show_edge=False)
    table.add_column(Text(grid.label), width=labels, vertical="top", overflow="fold")
    for place in places:
        column = grid.columns[place]
        table.add_column(
            Text(f"{column.group}\n{column.title}" if column.group else column.title),
            width=_column_width(grid, place, notes=notes),
            justify="right" if column.numeric else "left",
            overflow="fold",
        )
    for row in grid.rows:
        label = Text(row.label)
        if row.hint:
            label.append(f"\n{row.hint}", style="dim")
        cells = (_cell(row.cells[place], notes or not grid.columns[place].numeric) for place in places)
        table.add_row(label, *cells)
    return table


def _cell(cell: Cell, notes: bool) -> Text:
    text = Text(cell.text, style="bold green" if cell.best else "")
    if notes and cell.note:
        text.append(f"\n{cell.note}", style="not bold dim")
    return text
