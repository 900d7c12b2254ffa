"""Rows of a paper's tables: the systems of print, with or without a run, then other ones; and their cells."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.report.view import clean
from shiftbench.scores.score import Score
from shiftbench.track.paper.printed import Lookup
from shiftbench.track.paper.run import PaperSystem, Run, leaders
from shiftbench.track.paper.table import Cell, Column, Printed, Row

Ours = tuple[Run, Score] | None
"""Our score in a cell, and the run that it is of."""


@dataclass(frozen=True)
class Line:
    """A row before its cells are filled."""

    row: Row
    paper_system: PaperSystem | None
    run: Run | None

    def score(self, column: Column) -> Ours:
        """Our score for a column, with its run."""
        found = None if self.run is None else self.run.score(self.row.own, column.place)
        return None if self.run is None or found is None else (self.run, found)

    def printed(self, found: Lookup, column: Column) -> tuple[Printed, ...]:
        """The printed values for a column, looked up by model and ensemble."""
        known = self.paper_system
        return () if known is None else found.get((known.model, known.ensemble, *column.place), ())


def lines(runs: Sequence[Run], frame: pl.DataFrame, kind: type[PaperSystem]) -> Iterator[Line]:
    """The printed systems in their order, with or without a run, then all others."""
    for names in frame.select("model", "ensemble").unique(maintain_order=True).iter_rows():
        paper_system = kind(*names)
        filled: list[tuple[Run | None, str]] = [(run, name) for run in runs for name in run.named(paper_system)]
        for run, name in filled or [(None, "")]:
            yield Line(Row(paper_system.title, name, run.name if run else ""), paper_system, run)
    for run in runs:
        others = (name for name, paper_system in run.paper_systems.items() if paper_system is None)
        yield from (Line(Row(clean(name), name, run.name), None, run) for name in others)


def cells(
    columns: Sequence[Column], scores: Sequence[Sequence[Ours]], printed: Sequence[Sequence[tuple[Printed, ...]]]
) -> tuple[tuple[Cell, ...], ...]:
    """The cells of rows with these scores and printed values; the best scores of each run are marked."""
    first = [leaders([row[place] for row in scores]) for place in range(len(columns))]
    return tuple(
        tuple(
            Cell.of(ours and ours[1], column, values, best=at in leading)
            for column, ours, values, leading in zip(columns, row, theirs, first, strict=True)
        )
        for at, (row, theirs) in enumerate(zip(scores, printed, strict=True))
    )
