"""The tables as Markdown, as tidy CSV, and in a terminal."""

from __future__ import annotations

import csv as csv_format
import io
import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table as RichTable
from rich.text import Text

from shiftbench.report.view import clean
from shiftbench.tracks.weather.paper.rows import FIRST
from shiftbench.tracks.weather.paper.table import Cell, Column, Printed, Row, Table

FIELDS = (
    "table", "task", "dataset", "subset", "system", "own_name", "run", "metric", "measure", "experiment", "unit",
    "ours", "std", "low", "high", "printed", "printed_std", "printed_source", "flag",
)  # fmt: skip
BETWEEN = 2  # blanks between columns
WIDEST_HEAD = 12


def csv(tables: Sequence[Table]) -> str:
    """Every cell as a row, numbers unrounded, ours in the unit of print; a value printed in two versions is two rows.

    Values in print are their text; the flag `turned` marks one that is 100 minus it.
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
    names = [row.system, row.own, row.run, column.metric, row.measure, row.experiment or FIRST, column.unit]
    numbers = ["" if number is None else repr(number) for number in (cell.value, cell.std, cell.low, cell.high)]
    if value is None:
        return [*place, *names, *numbers, "", "", "", ""]
    flags = ";".join((*value.flags, *(["turned"] if value.turned else [])))
    return [*place, *names, *numbers, value.text, value.std, value.source, flags]


# --- Markdown -------------------------------------------------------------------------------------------------------


def markdown(tables: Sequence[Table], *, pictures: Sequence[str] = ()) -> str:
    """All tables in GitHub-flavoured Markdown, then the pictures (paths relative to the document)."""
    blocks = ["# The weather tables of Shifts 1.0"]
    for table in tables:
        blocks += [f"## {_quoted(table.heading)}", _quoted(table.caption), _markdown_table(table)]
        blocks += ["\n".join(f"- {_quoted(note)}" for note in table.notes)] if table.notes else []
    if pictures:
        blocks += ["## Figures", *(f"![{path}]({path})" for path in pictures)]
    return "\n\n".join(blocks) + "\n"


def _markdown_table(table: Table) -> str:
    heads = [_quoted(text) for text in table.head]
    rules = [":--", *(["--:"] * (2 * len(table.columns))), *([":--"] * len(table.heads))]
    lines = [heads, rules]
    for place, row in enumerate(table.rows):
        label, hint = _label(table, row)
        lines.append([_quoted(f"{label} ({hint})" if hint else label), *_markdown_cells(table, place)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _markdown_cells(table: Table, place: int) -> Iterator[str]:
    for number, cell in enumerate(table.cells[place] if table.cells else ()):
        text, note = (_quoted(part) for part in table.ours(place, number))
        yield f"{f'**{text}**' if cell.best else text} {note}".rstrip()
        yield _quoted(table.in_print(place, number))
    yield from (_quoted(text) for text in (table.words[place] if table.words else ()))


def _quoted(text: str) -> str:
    whole = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_|~$#])", r"\\\1", whole)


def _label(table: Table, row: Row) -> tuple[str, str]:
    """What a row is called, and its names in one's own runs where those say more."""
    several = len({other.run for other in table.rows if other.run}) > 1
    names = [row.own] * (row.own not in ("", row.system)) + [row.run] * (several and bool(row.run))
    if row.measure:
        return row.measure, ", ".join([row.system, *names])
    return " · ".join(filter(None, (row.system, row.experiment))), ", ".join(names)


# --- terminal -------------------------------------------------------------------------------------------------------


def render(tables: Sequence[Table]) -> RenderableType:
    """All tables for `rich.console.Console.print`: as many columns side by side as the terminal is wide."""
    return Group(*(_Rendered(table) for table in tables))


class _Rendered:
    """Lays a table out when the width is known."""

    def __init__(self, table: Table) -> None:
        self.table = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        table = self.table
        yield Text(f"\n{table.heading}", style="bold")
        yield Text(table.caption)
        labels = [_label(table, row) for row in table.rows]
        longest = max((cell_len(text) for label in labels for text in label), default=0)
        width = min(max(longest, cell_len(table.label)), max(18, options.max_width // 3))
        columns = list(_columns(table))
        for number, portion in enumerate(_portions(columns, options.max_width - width)):
            if number:
                yield Text()
            yield _laid(table, labels, portion, width)
        yield from (Text(note, style="dim") for note in table.notes)


_Portion = list[tuple[str, list[Text], bool]]  # heading, cells, whether numbers


def _columns(table: Table) -> Iterator[_Portion]:
    """The columns that stay together: ours and print of a number, or one of words."""
    rows = range(len(table.rows))
    for place, column in enumerate(table.columns):
        ours = [_number(*table.ours(row, place), best=table.cells[row][place].best) for row in rows]
        theirs = [Text("\n± ".join(table.in_print(row, place).split(" ± "))) for row in rows]
        head = table.head[1 + 2 * table.columns.index(column)]
        yield [(head.replace(", ", "\n"), ours, True), ("printed", theirs, True)]
    for place, head in enumerate(table.heads):
        yield [(head, [Text(words[place], overflow="fold") for words in table.words], False)]


def _number(text: str, note: str, *, best: bool) -> Text:
    written = Text(text, style="bold green" if best else "")
    return written.append(f"\n{note}", style="not bold dim") if note else written


def _portions(columns: Sequence[_Portion], room: int) -> list[_Portion]:
    portions: list[_Portion] = []
    for group in columns:
        if portions and sum(map(_width, [*portions[-1], *group])) <= room:
            portions[-1] += group
        else:
            portions.append(list(group))
    return portions


def _width(column: tuple[str, list[Text], bool]) -> int:
    head, cells, numeric = column
    words = max(min(cell_len(word), WIDEST_HEAD) for word in head.split())
    lines = [cell_len(line) for cell in cells for line in cell.plain.split("\n")]
    return max([words, *lines] if numeric else [words, *(min(line, 24) for line in lines)]) + BETWEEN


def _laid(table: Table, labels: Sequence[tuple[str, str]], portion: _Portion, width: int) -> RichTable:
    made = RichTable(box=None, pad_edge=False, padding=(0, BETWEEN, 0, 0), header_style="bold", show_edge=False)
    made.add_column(Text(table.label), width=width, overflow="fold")
    for head, cells, numeric in portion:
        column = (head, cells, numeric)
        made.add_column(
            Text(head), width=_width(column) - BETWEEN, justify="right" if numeric else "left", overflow="fold"
        )
    for place, (label, hint) in enumerate(labels):
        name = Text(label)
        if hint:
            name.append(f"\n{hint}", style="dim")
        made.add_row(name, *(cells[place] for _, cells, _ in portion))
    return made
