"""Tables as a page, as Markdown, as tidy CSV, and in a terminal."""

from __future__ import annotations

import csv as csv_format
import io
import re
import statistics
from collections.abc import Iterator, Mapping, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.text import Text

from shiftbench.errors import counted
from shiftbench.report import page, terminal
from shiftbench.report.grid import Cell as GridCell
from shiftbench.report.grid import Column as GridColumn
from shiftbench.report.grid import Grid
from shiftbench.report.grid import Row as GridRow
from shiftbench.report.text import markdown_table, quoted
from shiftbench.report.view import clean
from shiftbench.scores.metric import METRICS
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.table import Cell, Column, Printed, Row, Table

FIELDS = (
    "table", "task", "dataset", "subset", "system", "own_name", "run", "metric", "measure", "experiment", "unit",
    "ours", "std", "low", "high", "printed", "printed_std", "printed_source", "flag",
)  # fmt: skip
MOST_TABLES, MOST_DIFFERENT, MOST_NOTES = 18, 8, 2  # of a summary


def csv(tables: Sequence[Table]) -> str:
    """Every cell as a row, numbers unrounded, ours in the printed unit; a value printed in two versions gives two rows.

    Printed values are given as text; the flag `turned` marks those that are 100 minus the printed value.
    """
    buffer = io.StringIO()
    writer = csv_format.writer(buffer, lineterminator="\n")
    writer.writerow(FIELDS)
    for table in tables:
        for row, cells in zip(table.rows, table.cells, strict=False):
            for column, cell in zip(table.columns, cells, strict=True):
                for value in cell.printed or ((None,) if cell.value is not None else ()):
                    writer.writerow(_record(table, row, column, cell, value))
    return buffer.getvalue()


def _record(table: Table, row: Row, column: Column, cell: Cell, value: Printed | None) -> list[str]:
    place = [f"{table.paper}, {table.number}", table.task, column.dataset, column.subset]
    names = [row.system, row.own, row.run, column.metric, row.measure, row.experiment or table.experiment, column.unit]
    numbers = ["" if number is None else repr(number) for number in (cell.value, cell.std, cell.low, cell.high)]
    if value is None:
        return [*place, *names, *numbers, "", "", "", ""]
    flags = ";".join((*value.flags, *(["turned"] if value.turned else [])))
    return [*place, *names, *numbers, value.text, value.std, value.source, flags]


# --- Markdown and terminal ------------------------------------------------------------------------------------------


def markdown(tables: Sequence[Table], *, title: str, pictures: Mapping[str, PaperFigure]) -> str:
    """All tables in GitHub-flavoured Markdown, then the pictures by their paths relative to the document."""
    blocks = [f"# {quoted(title)}"]
    for table in tables:
        blocks += [f"## {quoted(table.heading)}", quoted(table.caption), markdown_table(_grid(table))]
        blocks += ["\n".join(f"- {quoted(note)}" for note in table.notes)] if table.notes else []
    if pictures:
        blocks.append("## Figures")
    for path, figure in pictures.items():
        title = quoted(figure.title)
        blocks += [f"![{title}]({path})", f"**{title}.** {quoted(figure.caption)}"]
    return "\n\n".join(blocks) + "\n"


def html(tables: Sequence[Table], *, title: str, pictures: Sequence[PaperFigure]) -> str:
    """All tables, then the pictures, as one self-contained page."""
    drawn = [
        page.Drawn(figure.path.stem, clean(figure.title), clean(figure.caption), figure.svg.read_text("utf-8"))
        for figure in pictures
    ]
    return page.tables(title, [(_grid(table), table.caption, table.notes) for table in tables], drawn)


def render(tables: Sequence[Table]) -> RenderableType:
    """All tables for `rich.console.Console.print`, with as many columns side by side as fit the terminal."""
    return Group(*(_Rendered(table) for table in tables))


def summary(tables: Sequence[Table], *, title: str) -> RenderableType:
    """What was found beside print, a line for each table, and where it differs most, for a terminal of 80 columns."""
    rows = [(table, found) for table in tables if (found := [*_beside_print(table)])]
    several = len({table.paper for table in tables}) > 1
    lines = [f"{'':52}beside    median     most", f"{'':52} print     apart    apart"] if rows else []
    lines += [
        _summed(table.heading if several else f"{table.number}: {table.title}", found)
        for table, found in rows[:MOST_TABLES]
    ]
    if rest := len(tables) - len(rows[:MOST_TABLES]):
        lines.append(
            f"  {counted(rest, 'more table')}" if rows else "  no results that can be compared with printed ones"
        )
    scores = [cells for table, cells in rows if table.columns[0].metric in METRICS]  # not what data are like
    found = sorted((each for cells in scores for each in cells), key=lambda each: -abs(each[0]))
    if found:
        lines += ["", "Furthest from print"]
    lines += [re.sub(r"(?<=\d)%", " %", f"  {change:+.0%}  {text}") for change, text in found[:MOST_DIFFERENT]]
    shared = [note for note in tables[0].notes if all(note in table.notes for table in tables)] if tables else []
    return Group(
        Text(clean(title), style="bold"),
        *(Text(line, no_wrap=True, overflow="ellipsis") for line in lines),
        *(Text(clean(note), style="dim", no_wrap=True, overflow="ellipsis") for note in shared[:MOST_NOTES]),
    )


def _summed(heading: str, found: Sequence[tuple[float, str]]) -> str:
    apart = [abs(change) for change, _ in found]
    shares = [f"{100 * each(apart):.1f} %" for each in (statistics.median, max)]
    name = clean(heading)
    name = name if cell_len(name) <= 50 else set_cell_size(name, 49) + "…"
    return f"  {set_cell_size(name, 50)}{len(found):>6,}{shares[0]:>10}{shares[1]:>9}"


def _beside_print(table: Table) -> Iterator[tuple[float, str]]:
    """The relative difference of each of our numbers from the printed one closest to it, and both in words."""
    for row, cells in enumerate(table.cells):
        for place, cell in enumerate(cells):
            printed = [value.value for value in cell.printed if value.value]
            if cell.value is None or not printed:
                continue
            change = min((cell.value / value - 1 for value in printed), key=abs)
            label = " · ".join(filter(None, (table.number, *_label(table, table.rows[row])[:1], table.titles[place])))
            yield change, f"{clean(label)}: {table.ours(row, place)[0]}, in print {table.in_print(row, place)}"


class _Rendered:
    """Lays a table out when the width is known."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(f"\n{self.table.heading}", style="bold")
        yield Text(self.table.caption)
        yield from terminal.tables(_grid(self.table), options.max_width)
        yield from (Text(note, style="dim") for note in self.table.notes)


def _grid(table: Table) -> Grid:
    """A table in the style of reports: our and the printed number, if any are, side by side below one heading."""
    sides = ("ours", "printed") if table.has_printed else ("ours",)
    columns = [GridColumn(words, title) for title in table.titles for words in sides]
    columns += [GridColumn(head, numeric=False) for head in table.heads]
    rows = tuple(
        GridRow(label, (*_numbers(table, place), *_words(table, place)), hint)
        for place, (label, hint) in enumerate(_label(table, row) for row in table.rows)
    )
    return Grid("paper", "", table.heading, table.label, tuple(columns), rows)


def _numbers(table: Table, row: int) -> Iterator[GridCell]:
    for place, cell in enumerate(table.cells[row] if table.cells else ()):
        yield GridCell(*table.ours(row, place), best=cell.best)
        if not table.has_printed:
            continue
        text, plus_minus, rest = table.in_print(row, place).partition(" ± ")
        yield GridCell(text, plus_minus.lstrip() + rest)


def _words(table: Table, row: int) -> Iterator[GridCell]:
    yield from (GridCell(clean(text)) for text in (table.words[row] if table.words else ()))


def _label(table: Table, row: Row) -> tuple[str, str]:
    """The label of a row, and its names in our runs if these add information."""
    # If rows are experiments with one run each, the run's name adds nothing to the experiment's letter. The method
    # behind a system is shown in other tables, so only several rows of the same system need it.
    several = len({other.run for other in table.rows if other.run and other.experiment == row.experiment}) > 1
    same = [other for other in table.rows if (other.system, other.experiment) == (row.system, row.experiment)]
    named = row.own not in ("", row.system) and (not row.experiment or len(same) > 1)
    names = [row.own] * named + [row.run] * (several and bool(row.run))
    if row.measure:
        return clean(row.measure), clean(", ".join([row.system, *names]))
    return clean(" · ".join(filter(None, (row.system, row.experiment)))), clean(", ".join(names))
