from __future__ import annotations

import io
import signal
import sys
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from shiftbench.report.content import Report
from shiftbench.report.front import table as front_table
from shiftbench.report.grids.listing import grids
from shiftbench.report.terminal import as_text, render, wrapped
from shiftbench.report.view import main_split

from .factory import HOSTILE, hostile, many, regression


def shown(report: Report, width: int) -> str:
    file = io.StringIO()
    Console(width=width, file=file).print(render(report))
    return file.getvalue()


@pytest.mark.parametrize("width", [60, 80, 100, 160])
def test_no_line_is_wider_than_the_terminal_and_no_number_is_cut(report: Report, width):
    text = shown(report, width)
    assert max(map(cell_len, text.split("\n"))) <= width
    tables = [grid for grid in grids(report) if grid.split == main_split(report)]
    for grid in tables:
        if grid.kind in ("answers", "joint", "parts"):
            for row in grid.rows:
                assert all(cell.text in text for cell in row.cells)


def test_at_one_hundred_columns_every_interval_is_there():
    report = regression()
    text = shown(report, 100)
    assert "left out" not in text
    for grid in grids(report):
        if grid.kind in ("answers", "joint") and grid.split == "eval":
            assert all(cell.note in text for row in grid.rows for cell in row.cells)


def test_a_narrow_terminal_drops_intervals_and_says_so():
    text = shown(regression(), 50)
    assert "Intervals do not fit and are left out" in text


def test_long_tables_are_cut_with_a_count_of_their_rows():
    assert "The first 20 of 315 rows" in shown(many(), 100)


def test_names_are_never_read_as_markup():
    text = shown(hostile(), 160)
    assert "[bold red]not markup[/]" in text
    assert HOSTILE[0] in text
    assert "\u202e" not in text


def test_the_verdict_opens_the_report():
    lines = shown(regression(), 200).split("\n")
    assert lines[0].strip() == "Next-day highs"
    assert lines[1].startswith("• Under shift the error of “deep_ensemble” grows by 43 %: RMSE ")


def test_warnings_and_recipe_close_it():
    text = shown(regression(), 100)
    assert text.index("Warnings") < text.index("Only 14 clusters") < text.index("Recipe") < text.index("rule: ")


@pytest.mark.parametrize("width", [40, 50, 60, 80, 100])
def test_the_first_screen_names_the_columns_for_which_it_has_no_room(width):
    report = regression()
    text = as_text(report, width=width)
    assert max(map(cell_len, text.split("\n"))) <= width
    groups = dict.fromkeys(column.group or column.title for column in front_table.table(report).columns)
    told = [line for line in text.split("\n") if line.startswith("  no room for: ")]
    absent = "".join(told).removeprefix("  no room for: ")
    if not absent.endswith("…"):
        named = [name for name in groups if name in absent]
        assert ", ".join(named) == absent
        assert bool(told) == (width < 50)


@pytest.fixture
def patience():
    """Ends a test that hangs."""
    if sys.platform == "win32":
        pytest.skip("has no such signal")

    def give_up(*_):
        raise TimeoutError("hangs")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def test_lines_end_however_narrow_the_terminal_is(patience):
    for width in range(-2, 30):
        lines = wrapped("  a wörld 漢字 of many words", width, indent="  ")
        assert "".join("".join(lines).split()) == "awörld漢字ofmanywords"
    report = regression()
    for width in range(30):
        assert as_text(report, width=width).strip() or not width


def test_names_that_differ_at_their_end_are_told_apart_on_the_first_screen():
    report = regression()
    names = {system.name: f"robust planning, dropout, K = {place}" for place, system in enumerate(report.systems)}
    systems = tuple(replace(system, name=names[system.name]) for system in report.systems)
    scores = tuple(replace(score, system=names[score.system]) for score in report.scores)
    made = replace(report, systems=systems, scores=scores, curves=(), slices=(), parts=(), comparisons=(), ranks=())
    rows = [line for line in as_text(made).splitlines() if line.startswith("  robust pl") and "…" in line]
    assert len(rows) == len({line.split("  ")[1] for line in rows}) > 2
