"""Filling Tables 6, 7, 20 and 21, and Table 14 of the first version: ours from the runs beside print."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.report.content import Report
from shiftbench.report.view import split_title
from shiftbench.scores.score import Score
from shiftbench.track import published
from shiftbench.track.paper import rows
from shiftbench.track.paper.printed import Lookup, columns, lookup, marks
from shiftbench.track.paper.run import BOLD, origins
from shiftbench.track.paper.table import Cell, Column, Printed, Row, Table, distance
from shiftbench.tracks.motion.paper import facets
from shiftbench.tracks.motion.paper.systems import (
    FIRST,
    MC_DROPOUT,
    PAPER,
    Bundle,
    Line,
    PaperSystem,
    Run,
    error_of,
    of,
    printed,
)
from shiftbench.tracks.motion.submissions.scoring import ERRORS

KEYS = ("model", "ensemble", "aggregation", "k", "dataset", "subset", "metric")  # of a cell in print
RULE = "published"


@dataclass(frozen=True)
class Layout:
    """A table of scores: its number, paper and caption; `twin` prints the same elsewhere.

    every: whether the paper's models with other numbers of members and aggregations than printed have rows, too.
    """

    number: str
    title: str
    caption: str
    paper: str = PAPER
    twin: str = ""
    every: bool = True

    @property
    def joint(self) -> bool:
        """Whether it shows errors and uncertainty together."""
        return "retention" in self.caption


LAYOUTS = (
    Layout("Table 6", "Predictive performance", "How far the predicted trajectories are from the truth.", every=False),
    Layout(
        "Table 7",
        "Robustness and uncertainty",
        "Areas under the retention curves, F1 when 95 % are kept, and how well the uncertainty finds shifted requests.",
        every=False,
    ),
    Layout(
        "Table 20",
        "Predictive performance by K and aggregation",
        "How far the predicted trajectories are from the truth, by number of members and aggregation.",
        twin="Table 13",
    ),
    Layout(
        "Table 21",
        "Retention and detection by K and aggregation",
        "Areas under the retention curves and detection of shift, by number of members and aggregation.",
    ),
    Layout(
        "Table 14",
        "Retention and detection by K and aggregation",
        "Areas under the retention curves and detection of shift, in the first version.",
        paper=FIRST,
    ),
)


@dataclass(frozen=True)
class Entry:
    """A row before its cells are filled."""

    row: Row
    line: Line
    bundle: Bundle | None

    def score(self, column: Column, task: str | None) -> tuple[Run, Score] | None:
        """Our score for a column, and whose it is."""
        return None if self.bundle is None else self.bundle.score(self.line, column.place, task)


def tables(reports: Iterable[Report]) -> list[Table]:
    """Counts of each tag in the data (Tables 15 to 19), then the tables of scores in the order of print.

    Raises:
        TableError: if there is no report by cNLL or weightedADE, or one of another track.
    """
    bundles = of(reports)
    made = facets.tables(bundles)
    for layout in LAYOUTS:
        frame = printed(layout.number, paper=layout.paper)
        frame = frame.with_columns(
            task=pl.col("metric").map_elements(lambda metric: error_of(metric)[1] or "", return_dtype=pl.String),
            metric=pl.col("metric").map_elements(lambda metric: error_of(metric)[0], return_dtype=pl.String),
        )
        tasks = list(dict.fromkeys(task for task in frame["task"] if task)) or [""]
        for task in tasks:
            # Detection of shift depends on no error: it stands with the first.
            mine = frame.filter(pl.col("task").is_in([task, ""] if task == tasks[0] else [task]))
            parts = mine.partition_by("dataset", maintain_order=True)
            made += [_table(layout, bundles, part, task or None) for part in parts]
    return made


def _table(layout: Layout, bundles: Sequence[Bundle], frame: pl.DataFrame, task: str | None) -> Table:
    heads, found, entries = columns(frame), lookup(frame, KEYS), list(_entries(bundles, frame, every=layout.every))
    scores = [[entry.score(column, task) for column in heads] for entry in entries]
    kept = [
        at for at, entry in enumerate(entries) if entry.line.paper_system in _paper_systems(frame) or any(scores[at])
    ]
    entries, scores = [entries[at] for at in kept], [scores[at] for at in kept]
    values = [[_values(found, entry, column) for column in heads] for entry in entries]
    cells = rows.cells(heads, scores, values)
    letters = marks(value for row in values for here in row for value in here)
    by = f", by {ERRORS[task].title}" if task else ""
    return Table(
        number=layout.number,
        paper=layout.paper,
        title=f"{layout.title}{by} ({split_title(heads[0].dataset)})",
        caption=f"{layout.caption} {origins([bundle.runs[0] for bundle in bundles])}",
        label="System",
        rows=tuple(entry.row for entry in entries),
        columns=heads,
        cells=cells,
        task=task or "",
        notes=tuple(_notes(layout, bundles, entries, cells, task)) + tuple(_flags(letters)),
        marks=letters,
    )


def _paper_systems(frame: pl.DataFrame) -> list[PaperSystem]:
    """The systems of print, in its order."""
    named = frame.select("model", "ensemble", "aggregation", pl.col("k").cast(pl.Int64)).unique(maintain_order=True)
    return [PaperSystem(*names) for names in named.iter_rows()]


def _entries(bundles: Sequence[Bundle], frame: pl.DataFrame, *, every: bool) -> Iterator[Entry]:
    """The systems of print in its order, then all others; a system of print that no run has is a row, too."""
    paper_systems = _paper_systems(frame)
    for paper_system in paper_systems:
        line, filled = Line(paper_system), False
        for bundle in bundles:
            for _, name in bundle.named(line):
                yield Entry(Row(paper_system.title, name, bundle.name), line, bundle)
                filled = True
                break
        if not filled:
            yield Entry(Row(paper_system.title), line, None)
    for bundle in bundles:
        for line in bundle.lines():
            if line.paper_system is None or (every and line.paper_system not in paper_systems):
                own = next(name for _, name in bundle.named(line))
                yield Entry(Row(line.paper_system.title if line.paper_system else own, own, bundle.name), line, bundle)


def _values(found: Lookup, entry: Entry, column: Column) -> tuple[Printed, ...]:
    paper_system = entry.line.paper_system
    if paper_system is None:
        return ()
    return found.get(
        (paper_system.model, paper_system.ensemble, paper_system.aggregation, str(paper_system.k), *column.place), ()
    )


# --- what to know ---------------------------------------------------------------------------------------------------


def _notes(
    layout: Layout,
    bundles: Sequence[Bundle],
    entries: Sequence[Entry],
    cells: Sequence[Sequence[Cell]],
    task: str | None,
) -> Iterator[str]:
    every = [cell for row in cells for cell in row]
    if any(cell.best for cell in every):
        yield BOLD
    yield (
        "K members score the plans of all of them; MA takes the mean of their scores, LQ the mean minus their "
        "deviation, UQ the mean plus it, WCM the least and BCM the greatest."
    )
    if any(entry.line.paper_system and entry.line.paper_system.ensemble == MC_DROPOUT for entry in entries):
        yield "Members of MC dropout are masks of one network; those of dropout, here and in print, K trained networks."
    if any(cell.low is not None for cell in every):
        yield "Brackets hold confidence intervals, by scene."
    if layout.twin:
        yield f"The first version has the deep ensembles' ADE and FDE in its {layout.twin}{_difference(layout)}."
    for bundle in bundles:
        yield from _otherwise(layout, bundle, task)
    official = [
        row for entry, row in zip(entries, cells, strict=True) if entry.bundle and entry.bundle.runs[0].official
    ]
    yield from distance([cell for row in official for cell in row])


def _flags(letters: dict[str, str]) -> Iterator[str]:
    meanings = published.flags()
    return (f"{letter} {meanings[flag]}." for flag, letter in letters.items())


def _difference(layout: Layout) -> str:
    """How many values of the first version differ from those of the full paper."""
    theirs = lookup(printed(layout.number), KEYS)
    other = lookup(printed(layout.twin, paper=FIRST), KEYS)
    differ = sum(
        {value.text for value in theirs.get(key, ())} != {value.text for value in here} for key, here in other.items()
    )
    return f": {differ} of {len(other)} values differ" if differ else ", the same in every value"


def _otherwise(layout: Layout, bundle: Bundle, task: str | None) -> Iterator[str]:
    """How a run deviates from the paper."""
    entry = bundle.report(task) if task else None
    if task and entry is None:
        yield f"{bundle.name} has no report by {ERRORS[task].title}."
    if task is None or entry is None or not layout.joint:
        return
    if entry.report.rule != RULE:
        yield f"{bundle.name} scores by the rule {entry.report.rule!r}; print by {RULE!r}."
    if entry.report.threshold != ERRORS[task].threshold:
        limit = "no threshold" if entry.report.threshold is None else f"the threshold {entry.report.threshold:g}"
        yield f"{bundle.name} accepts errors by {limit}, the paper up to {ERRORS[task].threshold:g}."
