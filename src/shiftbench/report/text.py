"""The report as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv as csv_format
import dataclasses
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from shiftbench.report import picture
from shiftbench.report.content import Report
from shiftbench.report.grid import Cell, Grid
from shiftbench.report.grids.listing import grids
from shiftbench.report.latex import escaped
from shiftbench.report.picture import Picture
from shiftbench.report.recipe import flat, signature
from shiftbench.report.verdict import verdict
from shiftbench.report.view import clean, main_split, metric_unit, warning_sentence
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Cost, SliceScore

FIELDS = (
    "system", "role", "split", "subset", "metric", "measure", "headline",
    "value", "std", "low", "high", "no_interval", "n", "better", "scale", "unit", "recipe",
)  # fmt: skip
NUMBERS = ("value", "std", "low", "high")
WORDS = ("system", "role", "split", "subset", "metric", "measure", "unit", "recipe")  # a user's, or made of them
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")  # first characters of what a spreadsheet takes for a formula
NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")  # of plain digits
MOST_COLUMNS = 6  # columns of numbers that fit on a page
MOST_WHOLE = 9  # of Markdown, that are left in one table, where cells may wrap


def csv(report: Report) -> str:
    """All scores as tidy CSV, one per row, numbers unrounded; an undefined number is an empty field.

    Percentages are fractions of one, as everywhere except in the tables for reading.
    """
    recipe, lines = signature(report), list[Sequence[Any]]([FIELDS])
    for row in rows(report):
        cells = {
            name: _field(value) if name in NUMBERS else value for name, value in (row | {"recipe": recipe}).items()
        }
        lines.append([harmless(cell) if name in WORDS else cell for name, cell in cells.items()])
    return csv_text(lines)


def csv_text(lines: Iterable[Sequence[Any]]) -> str:
    """Lines of fields as CSV. A field with any end of a line in it is quoted; `csv` looks only for its own."""
    found = _Written()
    csv_format.writer(found, lineterminator="\r\n").writerows(lines)
    return "".join(f"{line.removesuffix(chr(13) + chr(10))}\n" for line in found)


class _Written(list[str]):
    """Lines that `csv` has written, each at once."""

    write = list.append


def rows(report: Report) -> list[dict[str, Any]]:
    """All scores, one per row, by the names of `FIELDS` without the recipe."""
    systems, found = {system.name: system for system in report.systems}, []
    for score in report.scores:
        metric, system = METRICS[score.metric], systems.get(score.system)
        row = {name: getattr(score, name, None) for name in FIELDS[:-1]}
        found.append(
            row
            | {
                "role": system.role if system else "",
                "headline": int(score.measure in ("", system.measure if system else "")),
                "better": metric.better,
                "scale": "fraction" if metric.scale in ("percent", "points") else metric.scale,  # as the value is
                "unit": metric_unit(metric, report) if metric.scale in ("target", "error") else "",
            }
        )
    return found


def slices_csv(report: Report) -> str:
    """All scores by slice, one per row, unrounded; percentages are fractions of one, an undefined number is empty."""
    lines: list[Sequence[Any]] = [[field.name for field in dataclasses.fields(SliceScore)]]
    further: dict[tuple[str, ...], list[SliceScore]] = {}
    for score in report.slice_scores:
        further.setdefault((score.system, score.split, score.column, score.group), []).append(score)
    for entry in report.slices:
        place, n = (entry.system, entry.split, entry.column, entry.group), entry.n
        scores = [SliceScore(*place, "mean_error", entry.mean_error, n, entry.low, entry.high, entry.no_interval)]
        others = {"r_auc": entry.r_auc, "acceptable": entry.acceptable}
        scores += [SliceScore(*place, name, value, n) for name, value in others.items() if value is not None]
        for score in (*scores, *further.get(place, ())):
            ends = map(_field, (score.low, score.high))
            lines.append([*map(harmless, place), score.metric, _field(score.value), score.n, *ends, score.no_interval])
    return csv_text(lines)


def costs_csv(report: Report) -> str:
    """All costs, one system per row, unrounded; what was not measured is an empty field."""
    lines: list[Sequence[Any]] = [[field.name for field in dataclasses.fields(Cost)]]
    for cost in report.costs:
        system, *numbers = dataclasses.astuple(cost)
        lines.append([harmless(system), *("" if number is None else number for number in numbers)])
    return csv_text(lines)


def harmless(text: str) -> str:
    """Text that no spreadsheet takes for a formula: an apostrophe is put before the first character of one.

    This is OWASP's recommendation against CSV injection. A number stays as it is, also as an id or a group.
    """
    return f"'{text}" if text.startswith(FORMULA) and not NUMBER.fullmatch(text) else text


def _field(number: float | None) -> str:
    return "" if number is None or not math.isfinite(number) else repr(float(number))


# --- Markdown -------------------------------------------------------------------------------------------------------


def markdown(report: Report, *, further: Sequence[Picture] = ()) -> str:
    """The verdict and all tables in GitHub-flavoured Markdown, with links to additional pictures: in the order of the
    page, the main split first."""
    blocks = [f"# {quoted(report.title)}", quoted(signature(report))]
    blocks += ["\n".join(f"- {quoted(text)}" for text in verdict(report))]
    main = main_split(report)
    for grid in sorted(grids(report), key=lambda grid: (grid.kind != "splits", not grid.split, grid.split != main)):
        blocks += [f"## {quoted(grid.title)}", *map(markdown_table, markdown_parts(grid))]
        blocks += [quoted(grid.note)] if grid.note else []
    if further:
        blocks += [f"## {picture.TITLE}", *map(_markdown_picture, further)]
    if report.warnings:
        blocks += ["## Warnings", "\n".join(f"- {quoted(warning_sentence(text, report))}" for text in report.warnings)]
    if report.recipe:
        blocks += ["## Recipe", "\n".join(f"- {quoted(key)}: {quoted(text)}" for key, text in flat(report.recipe))]
    return "\n\n".join(blocks) + "\n"


def _markdown_picture(each: Picture) -> str:
    title, caption = quoted(each.title), quoted(each.caption)
    # A closing bracket would end the alternative text.
    alternative = re.sub(r"(?<!\\)([\[\]])", r"\\\1", title)
    return f"![{alternative}]({each.file})\n\n**{title}.** {caption}".rstrip()


def markdown_parts(grid: Grid) -> list[Grid]:
    """A table, or if its groups of columns are too wide for a page, several with the same rows."""
    if len(grid.columns) <= MOST_WHOLE or not all(column.group for column in grid.columns):
        return [grid]
    return [grid.only(places) for places in _portions(grid)]


def markdown_table(grid: Grid) -> str:
    """The rows of a grid as a table of GitHub-flavoured Markdown."""
    heads = [quoted(grid.label), *(quoted(", ".join(filter(None, (each.group, each.title)))) for each in grid.columns)]
    rules = [":--", *("--:" if column.numeric else ":--" for column in grid.columns)]
    rows = [
        [quoted(f"{row.label} ({row.hint})" if row.hint else row.label), *map(_markdown_cell, row.cells)]
        for row in grid.rows
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, rules, *rows))


def _markdown_cell(cell: Cell) -> str:
    text = f"**{quoted(cell.text)}**" if cell.best else quoted(cell.text)
    return f"{text} {quoted(cell.note)}".rstrip()


def quoted(text: str) -> str:
    """Text escaped so that every character is literal, in Markdown and in HTML made from it."""
    whole = clean(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # A bracket opens a link only before another one or a parenthesis, so intervals stay readable.
    whole = re.sub(r"([\\`*_|~$#])", r"\\\1", whole)
    return re.sub(r"\](?=[(\[:])", r"\\]", whole)


# --- LaTeX ----------------------------------------------------------------------------------------------------------


def latex(report: Report, *, further: Sequence[Picture] = ()) -> str:
    r"""All tables and additional pictures for LaTeX's \input; needs booktabs, with pictures also graphicx."""
    tables = [
        _latex_table(grid.only(places), part)
        for grid in grids(report)
        for part, places in enumerate(_portions(grid), 1)
    ]
    needed = r"\usepackage{booktabs}" + (r" and \usepackage{graphicx}" if further else "")
    floats = [*tables, *map(_latex_picture, further)]
    return f"% Needs {needed}.\n% {escaped(signature(report))}\n" + "\n".join(floats)


def _latex_picture(each: Picture) -> str:
    """A picture as a float; the path of its file is relative to the LaTeX file."""
    lines = [
        r"\begin{figure}",
        r"\centering",
        rf"\includegraphics[width=\linewidth]{{{each.file}}}",
        rf"\caption{{{escaped(each.title)}. {escaped(each.caption)}}}",
        rf"\label{{fig:shiftbench-{each.name}}}",
        r"\end{figure}",
    ]
    return "\n".join(lines) + "\n"


def _portions(grid: Grid) -> list[list[int]]:
    """Groups of columns that go into one table, as many as fit on a page."""
    portions: list[list[int]] = []
    for group in grid.groups():
        for start in range(0, len(group), MOST_COLUMNS):
            piece = group[start : start + MOST_COLUMNS]
            if portions and len(portions[-1]) + len(piece) <= MOST_COLUMNS:
                portions[-1] += piece
            else:
                portions.append(piece)
    return portions


def _latex_table(grid: Grid, part: int) -> str:
    label = "-".join(filter(None, ("tab:shiftbench", re.sub(r"\W", "", grid.split), grid.kind, str(part))))
    title = f"{escaped(grid.title)}{', continued' if part > 1 else ''}."
    align = "".join("r" if column.numeric else "l" for column in grid.columns)
    lines = [
        r"\begin{table}",
        r"\centering\small\setlength{\tabcolsep}{4pt}",
        rf"\caption{{{' '.join(filter(None, (title, escaped(grid.note))))}}}",
        rf"\label{{{label}}}",
        rf"\begin{{tabular}}{{l{align}}}",
        r"\toprule",
        *_latex_heads(grid),
        r"\midrule",
        *(_latex_row([escaped(row.label), *map(_latex_cell, row.cells)], row.hint) for row in grid.rows),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
        "",
    ]
    return "\n".join(lines)


def _latex_heads(grid: Grid) -> list[str]:
    titles = _latex_row([escaped(grid.label), *(escaped(column.title) for column in grid.columns)])
    if not any(column.group for column in grid.columns):
        return [titles]
    groups, rules, place = [""], [], 2
    for run in grid.groups():
        groups.append(rf"\multicolumn{{{len(run)}}}{{c}}{{{escaped(grid.columns[run[0]].group)}}}")
        rules.append(rf"\cmidrule(lr){{{place}-{place + len(run) - 1}}}")
        place += len(run)
    return [_latex_row(groups), "".join(rules), titles]


def _latex_row(cells: list[str], hint: str = "") -> str:
    first = rf"{cells[0]} {{\scriptsize {escaped(hint)}}}" if hint else cells[0]
    return " & ".join([first, *cells[1:]]) + r" \\"


def _latex_cell(cell: Cell) -> str:
    text = rf"\textbf{{{escaped(cell.text)}}}" if cell.best else escaped(cell.text)
    return rf"\shortstack[r]{{{text}\\{{\scriptsize {escaped(cell.note)}}}}}" if cell.note else text
