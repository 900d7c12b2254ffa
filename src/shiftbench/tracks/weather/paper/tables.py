"""Filling the tables of the paper: which rows each has, ours from the runs, theirs from print, and what to know."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import polars as pl

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING
from shiftbench.report.grids.cells import gap_note
from shiftbench.report.view import SPLITS
from shiftbench.scores.score import Score
from shiftbench.track import published
from shiftbench.track.paper.printed import Lookup, columns, lookup, marks
from shiftbench.track.paper.run import BOLD, leaders, origins
from shiftbench.track.paper.table import Cell, Column, Printed, Row, Table
from shiftbench.tracks.weather.paper.layouts import LAYOUTS, RANDOM, READINGS, Layout, Reading, training_sets
from shiftbench.tracks.weather.paper.rows import PAPERS, TASKS, PaperSystem, Run, of, printed, turned
from shiftbench.tracks.weather.partitions import CANONICAL, EXPERIMENTS

WRONG_SIGN = "roc_auc_confidence_low"
SECOND_PRINTING = "macro_f1_version_000"
QUIET = {"macro_f1_version_003", SECOND_PRINTING, "ocr_decimal_restored"}  # one note tells these
KEYS = ("model", "ensemble", "measure", "experiment", "dataset", "subset", "metric")  # of a cell in print
CHANCE = 0.5  # the ROC-AUC of a random order, by definition
CELSIUS = {"", "°C", "degC", "C", "celsius"}


@dataclass(frozen=True)
class Line:
    """A row before its cells are filled."""

    row: Row
    paper_system: PaperSystem | None
    run: Run | None
    reading: Reading | None = None

    def score(self, column: Column, values: tuple[Printed, ...]) -> Score | None:
        """Our score for a column, with the sign of its reading."""
        if self.run is None:
            return None
        if self.reading is None:
            return self.run.score(self.row.own, column.place)
        if self.reading.measure == RANDOM and column.metric == "roc_auc":
            known = self.run.score(self.row.own, column.place)
            return known and replace(known, value=CHANCE, low=None, high=None)
        found = self.run.score(self.row.own, column.place, self.reading.measure)
        wrong = self.reading.sign == "printed" and any(WRONG_SIGN in value.flags for value in values)
        return turned(found) if found is not None and wrong else found


def tables(reports: Iterable[Report]) -> list[Table]:
    """The tables of the paper, in its order, for the tasks that the reports have.

    Tables 1 to 11 take the runs on the canonical training set (experiment A), Tables 12 and 13 all of them.

    Raises:
        TableError: if no report is of regression or classification.
    """
    runs, made = of(reports), []
    for layout in LAYOUTS:
        if layout.rows == "experiments":
            made.append(_training_sets(runs))
        frame = printed(layout.number, version=layout.version)
        for task in TASKS:
            mine = [run for run in runs if run.report.task == task]
            mine = [run for run in mine if layout.rows == "experiments" or run.experiment == CANONICAL]
            here = frame.filter(pl.col("task") == task)
            if mine and here.height:
                parts = here.partition_by("dataset", maintain_order=True) if layout.by_dataset else [here]
                made += [_table(layout, mine, part) for part in parts]
    return made


def _table(layout: Layout, runs: Sequence[Run], frame: pl.DataFrame) -> Table:
    task = runs[0].report.task
    heads = columns(frame)
    found = lookup(frame, KEYS)
    lines = list(_lines(layout, runs, frame))
    values = [[_values(found, line, column) for column in heads] for line in lines]
    scores = [
        [line.score(column, here) for column, here in zip(heads, row, strict=True)]
        for line, row in zip(lines, values, strict=True)
    ]
    first = [_leaders(layout, lines, [row[place] for row in scores]) for place in range(len(heads))]
    cells = tuple(
        tuple(Cell.of(scores[r][c], column, values[r][c], best=r in first[c]) for c, column in enumerate(heads))
        for r in range(len(lines))
    )
    letters = marks((value for row in values for here in row for value in here), quiet=QUIET)
    where = f"{task}, {SPLITS[heads[0].dataset]}" if layout.by_dataset else task
    return Table(
        number=layout.number,
        paper=PAPERS[layout.version],
        title=f"{layout.title} ({where})",
        caption=f"{layout.caption} {origins(runs)}",
        label={"systems": "System", "measures": "Measure", "experiments": "Training set"}[layout.rows],
        rows=tuple(line.row for line in lines),
        columns=heads,
        cells=cells,
        task=task,
        experiment=CANONICAL,
        notes=(*_notes(layout, runs, cells, letters), *_gaps(lines, heads)),
        marks=letters,
    )


def _values(found: Lookup, line: Line, column: Column) -> tuple[Printed, ...]:
    if line.paper_system is None:
        return ()
    measure = line.reading.key if line.reading else None
    values = found.get(
        (line.paper_system.model, line.paper_system.ensemble, measure, line.row.experiment or None, *column.place), ()
    )
    if line.reading is None or line.reading.sign != "corrected":
        return values
    return tuple(_corrected(value) if WRONG_SIGN in value.flags else value for value in values)


def _corrected(value: Printed) -> Printed:
    return replace(value, text=str(Decimal(100) - Decimal(value.text)), turned=True)


# --- rows -----------------------------------------------------------------------------------------------------------


def _lines(layout: Layout, runs: Sequence[Run], frame: pl.DataFrame) -> Iterator[Line]:
    """The systems of print in its order, then all others; a system of print that no run has is a row, too."""
    paper_systems = [
        PaperSystem(*names) for names in frame.select("model", "ensemble").unique(maintain_order=True).iter_rows()
    ]
    experiments = list(EXPERIMENTS) if layout.rows == "experiments" else [""]
    for paper_system in paper_systems:
        readings = _readings(layout, frame, paper_system) if layout.rows == "measures" else [None]
        for experiment in experiments:
            own = [run for run in runs if experiment in ("", run.experiment)]
            filled: list[tuple[Run | None, str]] = [(run, name) for run in own for name in run.named(paper_system)]
            for run, name in filled or [(None, "")]:
                yield from (_line(paper_system, run, name, reading, experiment) for reading in readings)
    for run in runs:
        for name, taken in run.paper_systems.items():
            if taken not in paper_systems and (layout.rows != "experiments" or _repeated(run.title(name), runs)):
                yield from _unprinted(layout, run, name)


def _repeated(title: str, runs: Sequence[Run]) -> bool:
    """Whether a system was trained on more than one training set."""
    return len({run.experiment for run in runs if title in map(run.title, run.paper_systems)}) > 1


def _line(paper_system: PaperSystem, run: Run | None, name: str, reading: Reading | None, experiment: str) -> Line:
    row = Row(paper_system.title, name, run.name if run else "", reading.title if reading else "", experiment)
    return Line(row, paper_system, run, reading)


def _unprinted(layout: Layout, run: Run, name: str) -> Iterator[Line]:
    """The rows of a system that this table of the paper does not have."""
    title = run.title(name)
    if layout.rows != "measures":
        experiment = run.experiment if layout.rows == "experiments" else ""
        yield Line(Row(title, name, run.name, experiment=experiment), None, run)
        return
    known = {score.measure for score in run.report.scores if score.system == name}
    readings = [entry for entry in READINGS[run.report.task] if entry.sign != "printed" and entry.measure in known]
    readings = [entry for entry in readings if entry.measure != RANDOM]
    for reading in readings if layout.others and len(readings) > 1 else ():
        yield Line(Row(title, name, run.name, reading.title), None, run, reading)


def _readings(layout: Layout, frame: pl.DataFrame, paper_system: PaperSystem) -> list[Reading | None]:
    """The measures of a system in print, and the corrected ones beside them."""
    mine = frame.filter(model=paper_system.model, ensemble=paper_system.ensemble)
    keys = {"", *mine["measure"]}
    wrong = mine["flag"].fill_null("").str.contains(WRONG_SIGN).any()
    more = layout.others
    shown = [entry for entry in READINGS[mine["task"][0]] if entry.key in keys or (more and entry.measure != RANDOM)]
    return [entry for entry in shown if wrong or entry.sign != "printed"]


def _leaders(layout: Layout, lines: Sequence[Line], scores: Sequence[Score | None]) -> set[int]:
    """The rows in bold; no test compares the measures of a system, or training sets, with each other."""
    if layout.rows != "systems":
        return set()
    entries = zip(lines, scores, strict=True)
    return leaders([None if line.run is None or score is None else (line.run, score) for line, score in entries])


# --- what to know ---------------------------------------------------------------------------------------------------


def _notes(
    layout: Layout, runs: Sequence[Run], cells: Sequence[Sequence[Cell]], letters: dict[str, str]
) -> Iterator[str]:
    every = [cell for row in cells for cell in row]
    if any(cell.best for cell in every):
        yield BOLD
    if any(cell.std is not None for cell in every):
        yield "± is the standard deviation over single models; brackets hold confidence intervals."
    if any(SECOND_PRINTING in value.flags for cell in every for value in cell.printed):
        yield (
            "Macro-F1 was printed in two versions: first that of the HTML text, second that of the appendices "
            "(read by OCR; a lost decimal point is put back)."
        )
    if layout.rows == "measures":
        yield from _measure_notes(runs[0].report.task, every)
    for run in runs:
        if run.report.task == "regression" and run.report.target_unit not in CELSIUS:
            yield f"{run.name} measures in {run.report.target_unit}, the paper in °C."
    meanings = published.flags()
    yield from (f"{letter} {meanings[flag]}." for flag, letter in letters.items())


def _gaps(lines: Sequence[Line], heads: Sequence[Column]) -> Iterator[str]:
    """On how many records the systems of each run are scored that lack answers, such as forecasts."""
    splits = [*dict.fromkeys(column.dataset for column in heads)]
    runs = {line.run.name: line.run for line in lines if line.run is not None}
    for name, run in runs.items():
        shown = [line.row.own for line in lines if line.run is run]
        for note in gap_note(run.report, splits, [*dict.fromkeys(shown)]):
            yield f"{name}: {note}" if len(runs) > 1 else note


def _measure_notes(task: str, cells: Sequence[Cell]) -> Iterator[str]:
    if task == "regression":
        yield (
            "EPKL (published) is the expected pairwise cross-entropy, which the published code calls EPKL; "
            "EPKL (corrected) is that minus the entropies."
        )
    if any(value.turned for cell in cells for value in cell.printed):
        yield (
            "The published code returns the confidence itself under the name of an uncertainty. Where a printed "
            "ROC-AUC has that sign, the row 'sign as printed' turns ours likewise (1 − x); printed F1-AUCs have the "
            "right one."
        )
        yield "* 100 minus the value in print."


def _training_sets(runs: Sequence[Run]) -> Table:
    """Table 12: what each experiment trains on, and which runs are of it."""
    words = tuple(
        (*rest, "; ".join(run.name for run in runs if run.experiment == letter) or MISSING)
        for letter, *rest in training_sets()
    )
    return Table(
        number="Table 12",
        paper=PAPERS["full"],
        title="Training sets of the experiments",
        caption="The data of training and of early stopping, and the shift that remains between them and evaluation.",
        label="Experiment",
        rows=tuple(Row("", experiment=letter) for letter in EXPERIMENTS),
        heads=("Training set", "Development set", "Shift that remains", "Runs here"),
        words=words,
    )
