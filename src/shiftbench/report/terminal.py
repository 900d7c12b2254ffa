"""The report in a terminal: its first screen, or all of it in tables that fit the width without cutting numbers."""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from shiftbench.report import notable
from shiftbench.report.content import Report
from shiftbench.report.front import screen
from shiftbench.report.front import table as front_table
from shiftbench.report.front.finding import Finding
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.grids.listing import grids
from shiftbench.report.grids.shift import separation_text
from shiftbench.report.recipe import signature
from shiftbench.report.verdict import verdict
from shiftbench.report.view import clean, main_split, split_title, warning_sentence

LINES = 36  # of the first screen, so that paths below it fit into forty
WIDEST = 100  # columns of prose
MOST_ROWS = 20
MOST_OF_RECORDS = 2  # columns of single records
MOST_MOVED = 5  # features
MOST_TOGETHER = 3  # up to so many columns of a group drop their intervals rather than be split
WIDEST_TEXT = 24
MOST_TITLE = 2  # lines of a title
MOST_WHOLE = 2  # reports on one screen; of more each is brief
BETWEEN = 2  # spaces between columns


def render(report: Report) -> RenderableType:
    """The whole report for `rich.console.Console.print`, in any width from 60 columns on."""
    return _Whole(report)


def first_screen(reports: Sequence[Report], *, lines: int = LINES) -> RenderableType:
    """The answers of reports, see `front`: of one or two in at most so many lines, of more in a few lines each."""
    return _FirstScreen(reports, lines)


def as_text(report: Report, *, width: int = 80) -> str:
    """The first screen as plain text."""
    # Not for Jupyter, where rich displays what it prints: a notebook's print shows this text.
    console = Console(width=width, file=io.StringIO(), color_system=None, force_jupyter=False)
    with console.capture() as captured:
        console.print(first_screen([report]))
    return captured.get().rstrip("\n")


class _Whole:
    """Lays the tables out when the width is known."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Text(clean(self.report.title), style="bold")
        for sentence in verdict(self.report):
            yield _item(sentence)
        split = main_split(self.report)
        for grid in grids(self.report):
            if grid.kind == "moved" and grid.split == split:
                yield _moved(grid, separation_text(self.report, split))
            elif grid.kind == "comparisons" and grid.split == split:
                yield from _by_pair(grid, options.max_width)
            elif grid.kind != "systems" and grid.split in ("", split):
                yield from _grid(grid, options.max_width)
        for name in notable.systems(self.report)[:1]:
            for grid in notable.grids(self.report, name, most=MOST_OF_RECORDS):
                yield from _grid(grid, options.max_width)
        if others := [split_title(name) for name in self.report.splits if name != split]:
            yield Text(f"\nTables of {' and '.join(others)}: in the other formats.", style="dim")
        yield from _listing("Warnings", [warning_sentence(text, self.report) for text in self.report.warnings])
        yield from _listing("Recipe", [signature(self.report), "The whole recipe is in the other formats."])


class _FirstScreen:
    """Sentences and one table of each report; what does not fit is left out, last sentences and rows first."""

    def __init__(self, reports: Sequence[Report], lines: int) -> None:
        self.reports, self.lines = reports, lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width, many = min(options.max_width, WIDEST), len(self.reports)
        earlier = set[str]()  # several reports on the same records often say the same of these
        found, titles = [], list[str]()
        for report in self.reports:
            mine = screen.findings(report)
            found.append(
                [each for each in mine if not (each.line in earlier and (each.careful or each.kind == "systems"))]
            )
            earlier.update(each.line for each in found[-1])
            counts = screen.records(report)
            titles.append(clean(report.title) if counts in earlier else screen.headline(report))
            earlier.add(counts)
        least = 3 if many == 1 else 2  # a model and a baseline
        whole = [*zip(self.reports, titles, found, strict=True)]
        brief = many > MOST_WHOLE
        few = [_height(_fitted(*each, width, 0, least, brief)) if brief else 0 for each in whole]
        left = self.lines - sum(few) - many + 1  # for the first ones that need more
        for number, (each, height) in enumerate(zip(whole, few, strict=True)):
            if number:
                yield Text()
            room = height + left if brief else self.lines // many - (number > 0)
            shown = _fitted(*each, width, room, least, brief)
            left -= _height(shown) - height
            yield from shown


def _height(shown: Sequence[Text]) -> int:
    return sum(text.plain.count("\n") + 1 for text in shown)


def _fitted(
    report: Report, headline: str, found: list[Finding], width: int, room: int, least: int, brief: bool
) -> list[Text]:
    """The first screen of a report in so many lines, if possible; that of a brief one may leave it to the table to tell
    of the uncertainty."""
    title = wrapped(headline, width)
    if len(title) > MOST_TITLE:
        title = [*title[: MOST_TITLE - 1], _cut(title[MOST_TITLE - 1], width - 1) + "…"]
    rows = front_table.MOST_ROWS
    sentences = [_filled(each.line, width) for each in found]
    grid = front_table.table(report, most=rows)
    worst = front_table.worst_group(report)

    def height() -> int:
        lines = len(_front_lines(grid, width, brief=brief)) + (not brief)  # with the empty line above
        return len(title) + sum(map(len, sentences)) + lines + bool(grid.note) + bool(worst)

    while height() > room and len(grid.rows) > least:
        rows = len(grid.rows) - 1
        grid = front_table.table(report, most=rows)
    if height() > room:
        worst = ""
    for last in _least_needed(found, brief=brief):
        if height() > room and last in found:
            place = found.index(last)
            found, sentences = found[:place] + found[place + 1 :], sentences[:place] + sentences[place + 1 :]
    if height() > room:  # a caution changes how the rest is read: its beginning at least is there
        sentences = [
            [_ending(lines, width)] if each.careful else lines for each, lines in zip(found, sentences, strict=True)
        ]
    shown = [Text(line, style="bold") for line in title]
    for each, lines in zip(found, sentences, strict=True):
        shown.append(Text("\n".join(lines), style="yellow" if each.careful else ""))
    shown += [*([] if brief else [Text()]), *_front_lines(grid, width, brief=brief)]
    if grid.note:
        shown.append(Text(f"  {grid.note}", style="dim"))
    if worst:
        text = f"  {worst}"
        text = text if cell_len(text) <= width else text.rpartition(", ")[0]  # without the number of records
        shown.append(Text(_shortened(text, width), style="dim"))
    return shown


def _filled(text: str, width: int) -> list[str]:
    """Indented lines; a percent sign and a p-value are not parted from their numbers."""
    bound = re.sub(r"\bp ([=<]) ", "p\xa0\\1\xa0", text.replace(" %", "\xa0%"))
    lines = wrapped("  " + bound, width, indent="  ")
    return [line.replace("\xa0", " ") for line in lines]


def _ending(lines: list[str], width: int) -> str:
    """The first of these lines, with an ellipsis if there are more."""
    return lines[0] if len(lines) == 1 else f"{_cut(lines[0], width - 1)}…"


def wrapped(text: str, width: int, *, indent: str = "") -> list[str]:
    """Lines of at most so many cells, further ones indented; `textwrap` does not know that characters may take two.

    However narrow, a line has room for its indent and one character.
    """
    width = max(width, cell_len(indent) + 2)
    start = text[: len(text) - len(text.lstrip())]
    lines = [start]
    for word in re.split("[ \n]+", text.strip(" \n")):
        rest = f"{'' if lines[-1] in (start, indent) else ' '}{word}"
        if cell_len(lines[-1] + rest) > width and lines[-1] not in (start, indent):
            lines.append(indent)
            rest = word
        while cell_len(lines[-1] + rest) > width:  # longer than a line
            piece = _cut(rest, width - cell_len(lines[-1]))
            lines[-1] += piece
            lines.append(indent)
            rest = rest[len(piece) :]
        lines[-1] += rest
    return lines


def _cut(text: str, width: int) -> str:
    """The beginning of a text, at most so many cells and at least one character."""
    sizes = accumulate(cell_len(char) for char in text)
    return text[: max(sum(size <= width for size in sizes), 1)]


def _least_needed(found: Sequence[Finding], *, brief: bool) -> list[Finding]:
    """Sentences in the order in which they may go: the change under shift, a comparison and a caution are left; of
    brief ones the most needed answer and a caution."""
    answers = sorted((each for each in found if not each.careful), key=screen.needed)
    cautions = [each for each in found if each.careful]
    further = answers[1:2] if brief else []
    return [*answers[:2:-1], *cautions[:0:-1], *answers[2:1:-1], *further]


def _front_lines(grid: Grid, width: int, *, brief: bool = False) -> list[Text]:
    """The table across the questions, a line for each system; columns that do not fit are left out, last first, and
    named in a line. A brief one has headings of one line, without that of the error, which the sentence above names,
    and without other groups of columns."""
    groups = [[*places] for places in grid.groups()]
    if brief:
        groups = [places for place, places in enumerate(groups) if not place or len(places) == 1]
        kept = [place for places in groups for place in places]
        errors = len(groups[0]) if groups else 0
        grid = grid.only(kept)
        titles = [
            column.title if place < errors else column.group or column.title
            for place, column in enumerate(grid.columns)
        ]
        grid = replace(grid, columns=tuple(Column(title) for title in titles))
        groups = [[place] for place in range(len(kept))]
    label = 2 + min(max([cell_len(row.label) for row in grid.rows], default=0), width // 3)
    heads = [("", grid.columns[places[0]].title) if brief else _heading(grid, places) for places in groups]
    wide = [_spans(grid, places, head) for places, head in zip(groups, heads, strict=True)]
    if _total(label, wide) > width:
        short = tuple(replace(each, title=front_table.SHORT.get(each.title, each.title)) for each in grid.columns)
        grid = replace(grid, columns=short)
        wide = [_spans(grid, places, head) for places, head in zip(groups, heads, strict=True)]
    absent: list[str] = []
    while groups and _total(label, wide) > width:
        absent.insert(0, " ".join(heads[-1]).strip())
        for column in (groups, heads, wide):
            column.pop()
    lines = []
    for line in range(2):
        cells = [
            _padded(head[line], sum(each) + BETWEEN * (len(each) - 1)) for head, each in zip(heads, wide, strict=True)
        ]
        lines.append(Text((" " * label + "".join(" " * BETWEEN + cell for cell in cells)).rstrip(), style="bold"))
    sides = [grid.columns[place].title if len(places) > 1 else "" for places in groups for place in places]
    flat = [size for each in wide for size in each]
    if any(sides):
        lines.append(
            Text(
                (
                    " " * label + "".join(" " * BETWEEN + _padded(*each) for each in zip(sides, flat, strict=True))
                ).rstrip()
            )
        )
    for row in grid.rows:
        name = _abridged(row.label, label - 2)
        cells = [
            " " * BETWEEN + _padded(row.cells[place].text, size)
            for place, size in zip(chain(*groups), flat, strict=True)
        ]
        lines.append(Text(f"  {set_cell_size(name, label - 2)}{''.join(cells)}"))
    if absent:
        lines.append(Text(_shortened(f"  no room for: {', '.join(absent)}", width), style="dim"))
    return [line for line in lines if line.plain.strip()]


def _total(label: int, wide: Sequence[Sequence[int]]) -> int:
    """The width of a table whose groups of columns have these widths."""
    return label + sum(sum(each) + BETWEEN * len(each) for each in wide)


def _abridged(text: str, width: int) -> str:
    """A name shortened in its middle: those of systems often differ at the end."""
    if cell_len(text) <= width:
        return text
    tail = _cut(text[::-1], (width - 1) // 2)[::-1]
    return f"{_cut(text, width - 1 - cell_len(tail)).rstrip()}…{tail.lstrip()}"


def _shortened(text: str, width: int) -> str:
    return text if cell_len(text) <= width else _cut(text, width - 1) + "…"


def _heading(grid: Grid, places: list[int]) -> tuple[str, str]:
    """The heading of a group of columns on two lines, of which the first may be empty."""
    text = grid.columns[places[0]].group or grid.columns[places[0]].title
    text = re.sub(" ([↑↓])", "\xa0\\1", text)  # an arrow stays with its word
    least = len(places) * 7 + BETWEEN * (len(places) - 1)
    for width in range(least, len(text) + 1):
        if len(lines := textwrap.wrap(text, width, break_long_words=False)) <= 2:
            break
    else:
        lines = [text]
    above, below = (line.replace("\xa0", " ") for line in ("", *lines)[-2:])
    return above, below


def _spans(grid: Grid, places: list[int], head: tuple[str, str]) -> list[int]:
    """The width of each column of a group, together at least that of its heading."""
    wide = [
        max(
            [
                cell_len(grid.columns[place].title) * (len(places) > 1),
                *(cell_len(row.cells[place].text) for row in grid.rows),
            ]
        )
        for place in places
    ]
    missing = max(0, max(map(cell_len, head)) - sum(wide) - BETWEEN * (len(wide) - 1))
    return [size + (missing + place) // len(wide) for place, size in enumerate(wide)]


def _padded(text: str, width: int) -> str:
    return " " * (width - cell_len(text)) + text


def _moved(grid: Grid, beside: str) -> Text:
    """The features that moved most, in one line; the other formats have the table."""
    features = ", ".join(f"{row.label} {row.cells[0].text}" for row in grid.rows[:MOST_MOVED])
    return Text(f"\nShifted most (distance 0 to 1): {features}. {beside}".rstrip(), overflow="fold")


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


def _by_pair(grid: Grid, width: int) -> Iterator[RenderableType]:
    """Paired comparisons as a narrow table for each pair, which tells whether the first or the second is better."""
    columns = (*grid.columns[3:6], Column("Better", numeric=False))
    kept = grid.rows[:MOST_ROWS]
    for label in dict.fromkeys(row.label for row in kept):
        rows = []
        for row in (each for each in kept if each.label == label):
            subset, score, _, *numbers, reading = row.cells
            winner = reading.text.removesuffix(" is better")
            if winner != reading.text:
                reading = Cell("first" if label.startswith(f"{winner} − ") else "second")
            rows.append(Row(score.text, (*numbers, reading), subset.text))
        title = f"{grid.title}: {label}"
        yield from _grid(replace(grid, title=title, label="Score", columns=columns, rows=tuple(rows), note=""), width)
    if len(grid.rows) > MOST_ROWS:
        yield Text(f"The first {MOST_ROWS} of {len(grid.rows)} rows; the other formats have all.", style="dim")
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
