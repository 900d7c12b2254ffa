from __future__ import annotations

import csv as csv_format
import io
import math
import re

import pytest

from shiftbench.report import text
from shiftbench.report.content import Report
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.grids.listing import grids
from shiftbench.report.latex import escaped
from shiftbench.report.recipe import flat, signature
from shiftbench.report.text import csv, latex, markdown, markdown_parts
from shiftbench.report.verdict import verdict
from shiftbench.report.view import clean, main_split

from .factory import HOSTILE, hostile, regression


def number(text_of: str) -> float | None:
    return float(text_of) if text_of else None


def same(a: float | None, b: float | None) -> bool:
    missing = (b is None) or not math.isfinite(b)
    return a is None if missing else a == b


def test_csv_holds_every_score_to_the_last_digit(report: Report):
    rows = list(csv_format.DictReader(io.StringIO(csv(report))))
    assert len(rows) == len(report.scores)
    for row, score in zip(rows, report.scores, strict=True):
        for field in ("system", "split", "subset", "metric", "measure"):
            assert row[field] == text.harmless(getattr(score, field))
        for field in ("value", "std", "low", "high"):
            assert same(number(row[field]), getattr(score, field))
        assert int(row["n"]) == score.n


@pytest.mark.parametrize("number", ["-10", "+3", "-1.5e-7", "12"])
def test_numbers_are_no_formulas(number: str):
    assert text.harmless(number) == number
    assert text.harmless(f"{number}+A1") == (f"'{number}+A1" if number[0] in "+-" else f"{number}+A1")


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_a_field_keeps_any_end_of_a_line(end: str):
    lines = [["a", "b"], [f"x{end}y", 1.5], [f"{end}", "plain"]]
    written = text.csv_text(lines)
    assert list(csv_format.reader(io.StringIO(written, newline=""))) == [[str(cell) for cell in line] for line in lines]
    assert written.startswith("a,b\n")


@pytest.mark.parametrize("sign", ["=1+1", "+A1", "-1+A1", "@sum", "\tx", "\rx"])
def test_no_name_is_a_formula_in_a_spreadsheet(sign: str):
    assert text.harmless(sign) == f"'{sign}"
    assert text.harmless(f"a{sign}") == f"a{sign}"


def test_csv_says_units_and_direction():
    rows = list(csv_format.DictReader(io.StringIO(csv(regression()))))
    units = {row["metric"]: (row["unit"], row["better"], row["scale"]) for row in rows}
    assert units["rmse"] == ("°C", "min", "target")
    assert units["r_auc"] == ("°C²", "min", "error")
    assert units["roc_auc"] == ("", "max", "fraction")


# --- Markdown -------------------------------------------------------------------------------------------------------


def markdown_cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def unquoted(text: str) -> str:
    plain = re.sub(r"\\([\\`*_|~$#\]])", r"\1", text.replace("**", ""))
    return plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def markdown_tables(text: str) -> list[list[list[str]]]:
    blocks = re.findall(r"(?:^\|.*\|\n?)+", text, flags=re.MULTILINE)
    return [[markdown_cells(line) for line in block.strip().split("\n")] for block in blocks]


def test_markdown_has_the_same_cells_as_the_grid(report: Report):
    tables = markdown_tables(markdown(report))
    main = [grid for grid in grids(report) if grid.split == main_split(report)]
    others = [grid for grid in grids(report) if grid.split and grid not in main]
    general = [grid for grid in grids(report) if not grid.split]
    splits = [grid for grid in general if grid.kind == "splits"]
    ordered = [*splits, *main, *others, *(grid for grid in general if grid not in splits)]
    every = [part for grid in ordered for part in markdown_parts(grid)]
    assert len(tables) == len(every)
    for table, grid in zip(tables, every, strict=True):
        assert {len(line) for line in table} == {len(grid.columns) + 1}
        for line, row in zip(table[2:], grid.rows, strict=True):
            if "*" not in "".join(cell.line for cell in row.cells):
                assert [unquoted(cell) for cell in line[1:]] == [cell.line for cell in row.cells]


def test_markdown_parts_wide_tables_and_loses_no_column(report: Report):
    for grid in grids(report):
        parts = markdown_parts(grid)
        assert [column for part in parts for column in part.columns] == list(grid.columns)
        assert len(parts) == 1 or all(len(part.columns) <= 6 for part in parts)


def test_markdown_opens_with_the_verdict(report: Report):
    lines = [unquoted(line[2:]) for line in markdown(report).split("\n") if line.startswith("- ")]
    if "*" not in "".join(verdict(report)):
        assert lines[: len(verdict(report))] == [unquoted(line) for line in verdict(report)]


def test_markdown_keeps_names_from_being_markup():
    text = markdown(hostile())
    assert "<script>" not in text
    assert "<b>" not in text
    assert r"d^e\|f\`g\*h\\" in text


# --- LaTeX ----------------------------------------------------------------------------------------------------------


def latex_cells(line: str) -> list[str]:
    """Cells of a row; `\\shortstack` holds a line end of its own, inside braces."""
    return [cell.strip() for cell in re.split(r"(?<!\\)&", line.removesuffix(r" \\"))]


@pytest.mark.parametrize(
    ("text", "tex"),
    [
        ("a_b & 100 %", r"a\_b \& 100 \%"),
        ("°C²", r"\textdegree{}C$^{2}$"),
        ("×10⁻⁶ kW²", r"$\times$10$^{-}$$^{6}$ kW$^{2}$"),
        ("−0.5 ± 0.1", r"$-$0.5 $\pm$ 0.1"),
        ("[1, 2]", r"{[}1, 2{]}"),
        ("\\input{x}", r"\textbackslash{}input\{x\}"),
        ("é ç Ł µ α", "\\'{e} \\c{c} \\L{} \\textmu{} $\\alpha$"),
        ("模", "U+6A21"),
        ("$#~^<>|", r"\$\#\textasciitilde{}\textasciicircum{}\textless{}\textgreater{}\textbar{}"),
    ],
)
def test_latex_shows_every_character_as_itself(text, tex):
    assert escaped(text) == tex


def test_latex_is_ascii_with_balanced_braces_and_environments(report: Report):
    text = latex(report)
    assert text.isascii()
    bare = re.sub(r"\\[\\{}%&$#_]", "", text)
    depth = 0
    for char in bare:
        depth += {"{": 1, "}": -1}.get(char, 0)
        assert depth >= 0
    assert depth == 0
    assert bare.count("$") % 2 == 0
    assert "%" not in bare.split("\n", 2)[2]  # but for the two comments at the top
    assert "#" not in bare
    for name in ("table", "tabular"):
        assert text.count(rf"\begin{{{name}}}") == text.count(rf"\end{{{name}}}")


def test_latex_rows_have_as_many_cells_as_the_table_has_columns(report: Report):
    for align, body in re.findall(r"\\begin\{tabular\}\{(\w+)\}(.*?)\\end\{tabular\}", latex(report), re.DOTALL):
        rows = [line for line in body.split("\n") if line.endswith(r" \\")]
        assert rows
        for line in rows:
            spans = sum(int(span) - 1 for span in re.findall(r"\\multicolumn\{(\d+)\}", line))
            assert len(latex_cells(line)) + spans == len(align)


def test_no_latex_line_end_is_followed_by_what_reads_as_its_argument(report: Report):
    assert not re.search(r"\\\\\s*[\[*]", latex(report))


def test_latex_has_the_same_cells_as_the_grid():
    report = regression()
    text = latex(report)
    for grid in grids(report):
        for row in grid.rows:
            for cell in row.cells:
                assert escaped(cell.text) in text
                assert escaped(cell.note) in text


def test_wide_tables_are_parted_between_groups_of_columns():
    widths = [len(align) - 1 for align in re.findall(r"\\begin\{tabular\}\{(\w+)\}", latex(regression()))]
    assert max(widths) <= 6


def test_labels_of_latex_tables_are_unique():
    labels = re.findall(r"\\label\{(.*?)\}", latex(regression()))
    assert len(labels) == len(set(labels)) > 5


def test_grid_groups_stay_together():
    columns = (Column("a"), Column("b", "g"), Column("c", "g"), Column("d"), Column("e"))
    grid = Grid("k", "", "t", "l", columns, (Row("r", tuple(Cell(x) for x in "abcde")),))
    assert grid.groups() == [[0], [1, 2], [3], [4]]
    assert [cell.text for cell in grid.only([1, 4]).rows[0].cells] == ["b", "e"]


def test_a_recipe_is_told_line_by_line():
    told = flat({"a": {"b": 1, "c": None}, "d": ["x", "y"], "e": [{"f": 2.5}], "g": []})
    assert told == [("a.b", "1"), ("d", "x, y"), ("e[0].f", "2.5"), ("g", "none")]


def test_a_hostile_recipe_is_told_clean():
    for key, value in flat(hostile().recipe):
        assert key == clean(key)
        assert "\u202e" not in value
    assert HOSTILE[1] in dict(flat(hostile().recipe)).values()


def test_every_number_of_the_csv_carries_its_recipe():
    rows = list(csv_format.DictReader(io.StringIO(csv(regression()))))
    assert {row["recipe"] for row in rows} == {signature(regression())}
    assert "rule: published" in rows[0]["recipe"]
