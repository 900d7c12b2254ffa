"""Tables 23 to 26: our values from runs beside the printed ones, with notes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from shiftbench.report.content import Report
from shiftbench.report.view import clean, split_title
from shiftbench.track import published
from shiftbench.track.paper import rows
from shiftbench.track.paper.printed import columns, lookup, marks
from shiftbench.track.paper.run import BOLD, origins
from shiftbench.track.paper.table import Cell, Table, distance
from shiftbench.tracks.power.paper import comparison, partition
from shiftbench.tracks.power.paper.systems import MEMBERS, REAL, SOURCE, UNIT, PaperSystem, Run, of, printed
from shiftbench.tracks.power.schema import RULE, THRESHOLD_KW2

KEYS = ("model", "ensemble", "dataset", "subset", "metric")  # of a cell in print


@dataclass(frozen=True)
class Layout:
    """A table of scores: its number, data and content; `joint`: of errors and uncertainty together."""

    number: str
    kind: str
    joint: bool = False

    @property
    def title(self) -> str:
        """A short title."""
        return "Retention" if self.joint else "Errors"

    @property
    def caption(self) -> str:
        """The caption."""
        if self.joint:
            return "Errors and uncertainty jointly: areas under the retention curves, and F1 when 95 % are kept."
        return "How large the errors are in-domain, under shift, and over both together."


LAYOUTS = (
    Layout("Table 23", "synthetic"),
    Layout("Table 24", "synthetic", joint=True),
    Layout("Table 25", REAL),
    Layout("Table 26", REAL, joint=True),
)


def tables(reports: Iterable[Report]) -> list[Table]:
    """Ranking and degradation of each run beside the paper's, then the tables of the paper in its order.

    Runs on the official real data are compared with Tables 18, 25 and 26; all others with Tables 17, 23 and 24, with a
    note if their data are not the official ones.

    Raises:
        TableError: if there is no report of a regression, or one of another track.
    """
    runs = of(reports)
    made = [*(table for run in runs for table in comparison.tables(run)), *partition.tables(runs)]
    for layout in LAYOUTS:
        mine = [run for run in runs if run.kind == layout.kind]
        if mine:
            parts = printed(layout.number).partition_by("dataset", maintain_order=True)
            made += [_table(layout, mine, part) for part in parts]
    return made


def _table(layout: Layout, runs: Sequence[Run], frame: pl.DataFrame) -> Table:
    heads, found, lines = columns(frame), lookup(frame, KEYS), list(rows.lines(runs, frame, PaperSystem))
    values = [[line.printed(found, column) for column in heads] for line in lines]
    scores = [[line.score(column) for column in heads] for line in lines]
    cells = rows.cells(heads, scores, values)
    letters = marks(value for row in values for here in row for value in here)
    return Table(
        number=layout.number,
        paper=SOURCE,
        title=f"{layout.title} ({layout.kind} data, {split_title(heads[0].dataset)})",
        caption=f"{layout.caption} {origins(runs)}",
        label="System",
        rows=tuple(line.row for line in lines),
        columns=heads,
        cells=cells,
        task=layout.kind,
        notes=tuple(_notes(layout, runs, lines, cells, letters)),
        marks=letters,
    )


# --- what to know ---------------------------------------------------------------------------------------------------


def _notes(
    layout: Layout,
    runs: Sequence[Run],
    lines: Sequence[rows.Line],
    cells: Sequence[Sequence[Cell]],
    letters: dict[str, str],
) -> Iterator[str]:
    every = [cell for row in cells for cell in row]
    if any(cell.best for cell in every):
        yield BOLD
    yield (
        "In print a deep ensemble has ten members with ten samples each, an ensemble (1 × 10) is one member with ten "
        "samples, and the others are ensembles of ten; mean ± std is over ten members."
    )
    if any(cell.low is not None for cell in every):
        yield "Brackets hold confidence intervals."
    for run in runs:
        yield from _otherwise(layout, run)
    official = [row for line, row in zip(lines, cells, strict=True) if line.run is not None and line.run.official]
    yield from distance([cell for row in official for cell in row])
    meanings = published.flags()
    yield from (f"{letter} {meanings[flag]}." for flag, letter in letters.items())


def _otherwise(layout: Layout, run: Run) -> Iterator[str]:
    """Differences of a run from the paper."""
    report = run.report
    if not run.comparable:
        yield f"{run.name} measures in {clean(report.target_unit)}, the paper in {UNIT}."
    if layout.joint and report.rule != RULE:
        yield f"{run.name} scores by the rule {report.rule!r}; print by {RULE!r} (R-AUC exact, F1 published)."
    if layout.joint and report.threshold != THRESHOLD_KW2:
        limit = "no threshold" if report.threshold is None else f"the threshold {report.threshold:g}"
        yield f"{run.name} accepts errors by {limit}, the paper up to (500 kW)²."
    members = {system.name: run.settings(system).get("members") for system in report.systems}
    other = {
        name: count for name, count in members.items() if run.paper_systems.get(name) and count not in (None, MEMBERS)
    }
    if other:
        counts = "/".join(map(str, sorted(set(other.values()))))
        yield f"{run.name}: ensembles of {counts} members where the paper has {MEMBERS}."
