"""Pictures of the paper's tables: robustness, retention curves, measures, and other training sets.

Printed values are shown as hollow markers if the unit is the same. matplotlib is imported when the first picture is
drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.report import canvas
from shiftbench.report.content import Report
from shiftbench.report.grid import ARROWS
from shiftbench.report.style import COLOURS, MARKERS, SUBSET_LOOKS, short
from shiftbench.report.view import SPLITS
from shiftbench.scores.metric import METRICS
from shiftbench.track.paper import drawing
from shiftbench.track.paper.drawing import Captioned
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.table import Cell, Row, Table
from shiftbench.tracks.weather.paper.layouts import READINGS
from shiftbench.tracks.weather.paper.rows import TASKS, Run, of
from shiftbench.tracks.weather.paper.tables import CELSIUS, tables
from shiftbench.tracks.weather.partitions import CANONICAL, EXPERIMENTS

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEADLINE = {"regression": "rmse", "classification": "accuracy"}
DRAWN = ("in", "full", "shifted")
ROBUST = (
    "A panel for each split, a row for each system: the score on the axis, with its unit, in-domain, of all records "
    "and shifted, with intervals; printed values are hollow. The further in-domain and shifted lie apart, the less "
    "robust is a system."
)
BY_MEASURE = (
    "A panel for each score, with its unit, a row for each measure of uncertainty and a marker for each system, with "
    "intervals; printed values are hollow. A measure further in the direction of the arrow is the better one."
)
TRAINED = (
    "The score on the axis, with its unit, after training on each set of Table 12 (letters), in-domain and shifted, a "
    "panel for each split; printed values are hollow. Gaps between the two lines that depend on the letter are "
    "shifts that other training data reduce."
)
WIDE_SPAN = 6  # ratio of the largest to the smallest value from which an axis is logarithmic


def figures(reports: Iterable[Report], folder: str | Path) -> list[PaperFigure]:
    """Write the pictures for which the reports have data, as PNG (150 dpi) and as SVG, into `folder`.

    For each task: `robustness` (Table 9); `error_retention_eval`, `f1_retention_eval` and `measures_eval` (Table 11),
    the same for `dev`; `training_sets` (Table 13) if a run belongs to another experiment than A.

    Raises:
        TableError: if no report is of regression or classification.
    """
    every = list(reports)
    runs, made = of(every), tables(every)
    drawn: list[PaperFigure] = []
    with canvas.settings():
        for task in TASKS:
            mine = [run for run in runs if run.report.task == task]
            own = [table for table in made if table.task == task]
            for each in _drawn(mine, own, task):
                drawn.append(drawing.save(each, folder, f"{task}_{each.name}"))
    return drawn


def _drawn(runs: Sequence[Run], made: Sequence[Table], task: str) -> Iterable[Captioned]:
    first = [run for run in runs if run.experiment == CANONICAL]
    by_number = {number: [table for table in made if table.number == f"Table {number}"] for number in (9, 11, 13)}
    robustness = _robustness(by_number[9], first) if any(map(_filled, by_number[9])) else None
    if robustness is not None:
        title = f"{METRICS[HEADLINE[task]].title} in-domain and shifted, each split: {task}"
        yield Captioned("robustness", title, ROBUST, robustness)
    yield from drawing.retention(first, task)
    for table in by_number[11]:
        for dataset in dict.fromkeys(column.dataset for column in table.columns):
            if _filled(table, dataset):
                title = f"Scores by measure of uncertainty: {SPLITS[dataset]}, {task}"
                yield Captioned(f"measures_{dataset}", title, BY_MEASURE, _measures(table, dataset, first))
    if any(run.experiment != CANONICAL for run in runs) and any(map(_filled, by_number[13])):
        title = f"Scores by training set, each split: {task}"
        yield Captioned("training_sets", title, TRAINED, _training_sets(by_number[13], runs))


# --- robustness -----------------------------------------------------------------------------------------------------


def _robustness(made: Sequence[Table], runs: Sequence[Run]) -> Figure | None:
    """One panel per dataset, one row per system: in-domain, all and shifted, with intervals."""
    metric = HEADLINE[made[0].task]
    comparable = _comparable(runs)
    cells = [[_cell(t, place, metric, subset) for t in made for subset in DRAWN] for place in range(len(made[0].rows))]
    kept = [place for place, row in enumerate(cells) if any(_drawable(cell, comparable) for cell in row)]
    if not kept:
        return None
    texts = drawing.row_texts([made[0].rows[place] for place in kept])
    figure, axes = canvas.panels(len(made), width=4.4, height=0.5 * len(kept) + 1.0, below=0.35)
    for panel, table in zip(axes, made, strict=True):
        for row, place in enumerate(kept):
            for number, subset in enumerate(DRAWN):
                color, _, marker = SUBSET_LOOKS[subset]
                cell = _cell(table, place, metric, subset)
                drawing.dot(panel, cell, row + 0.25 * (number - 1), color, marker, comparable=comparable)
        panel.set(title=SPLITS[table.columns[0].dataset].capitalize(), xlabel=_axis(table, metric, runs))
    if metric == "rmse":
        _logarithmic(axes)
    for panel in axes:
        drawing.name_rows(panel, texts if panel is axes[0] else [""] * len(texts))
    handles = canvas.subset_handles(DRAWN, marker=True)
    for entry in handles:
        entry.set_linestyle("-")
    _close(figure, handles, runs)
    return figure


def _drawable(cell: Cell, comparable: bool) -> bool:
    return cell.value is not None or (comparable and bool(cell.printed))


def _logarithmic(axes: Sequence[Any]) -> None:
    """Make the x axes of all panels logarithmic if their values have a wide span."""
    values = [x for panel in axes for line in panel.get_lines() for x in line.get_xdata()]
    if 0 < WIDE_SPAN * min(values) < max(values):
        for panel in axes:
            canvas.log_axis(panel.xaxis, values)


def _filled(table: Table, dataset: str = "") -> bool:
    """Whether a table, or one dataset of it, has any number of ours."""
    kept = [place for place, column in enumerate(table.columns) if dataset in ("", column.dataset)]
    return any(row[place].value is not None for row in table.cells for place in kept)


def _cell(table: Table, place: int, metric: str, subset: str) -> Cell:
    places = [(column.metric, column.subset) for column in table.columns]
    return table.cells[place][places.index((metric, subset))]


# --- measures -------------------------------------------------------------------------------------------------------


def _measures(table: Table, dataset: str, runs: Sequence[Run]) -> Figure:
    """One panel per score, one row per measure, one marker per system."""
    found = {row.measure for row in table.rows}
    measures = [reading.title for reading in READINGS[table.task] if reading.title in found]
    columns = [place for place, column in enumerate(table.columns) if column.dataset == dataset]
    systems = [name for name in dict.fromkeys(_name(table, row) for row in table.rows) if _has(table, name)]
    figure, axes = canvas.panels(len(columns), width=4.2, height=0.5 * len(measures) + 0.9, below=0.6)
    for panel, number in zip(axes, columns, strict=True):
        for row, cells in zip(table.rows, table.cells, strict=True):
            if (name := _name(table, row)) in systems:
                place = systems.index(name)
                offset = 0.62 * ((place + 0.5) / len(systems) - 0.5)
                color, marker = COLOURS[place % len(COLOURS)], MARKERS[place % len(MARKERS)]
                drawing.dot(panel, cells[number], measures.index(row.measure) + offset, color, marker)
        panel.set(xlabel=_axis(table, table.columns[number].metric, runs))
        drawing.name_rows(panel, measures if panel is axes[0] else [""] * len(measures))
    axes[0].set_title(SPLITS[dataset].capitalize(), loc="left")
    handles = [
        canvas.handle(short(name, 40), color=COLOURS[place % len(COLOURS)], marker=MARKERS[place % len(MARKERS)])
        for place, name in enumerate(systems)
    ]
    _close(figure, handles, runs)
    return figure


def _name(table: Table, row: Row) -> str:
    several = len({other.run for other in table.rows if other.run}) > 1
    return f"{row.system}, {row.run}" if several and row.run else row.system


def _has(table: Table, name: str) -> bool:
    rows = [cells for row, cells in zip(table.rows, table.cells, strict=True) if _name(table, row) == name]
    return any(cell.value is not None or cell.printed for cells in rows for cell in cells)


# --- other training sets ----------------------------------------------------------------------------------------------


def _training_sets(made: Sequence[Table], runs: Sequence[Run]) -> Figure:
    """One panel per dataset: the error of the CatBoost ensemble over the experiments, in-domain and shifted."""
    metric, letters = HEADLINE[made[0].task], list(EXPERIMENTS)
    figure, axes = canvas.panels(len(made), width=3.6, height=3.0, below=0.35)
    for panel, table in zip(axes, made, strict=True):
        for subset in ("in", "shifted"):
            color, dash, marker = SUBSET_LOOKS[subset]
            look = {"color": color, "linestyle": dash, "marker": marker}
            found = {
                row.experiment: _cell(table, place, metric, subset)
                for place, row in enumerate(table.rows)
                if row.system == "CatBoost ensemble"
            }
            ours = [found[letter].value if letter in found else None for letter in letters]
            panel.plot(range(len(letters)), [float("nan") if value is None else value for value in ours], **look)
            if _comparable(runs):
                theirs = [found[letter].printed[0].value for letter in letters]
                panel.plot(range(len(letters)), theirs, **look, markerfacecolor="white", alpha=0.8, linewidth=0.8)
        panel.set_xticks(range(len(letters)), letters)
        panel.set(title=SPLITS[table.columns[0].dataset].capitalize(), xlabel="Training set (Table 12)")
    axes[0].set_ylabel(_axis(made[0], metric, runs))
    _close(figure, canvas.subset_handles(("in", "shifted"), marker=True), runs)
    return figure


# --- shared ---------------------------------------------------------------------------------------------------------


def _comparable(runs: Sequence[Run]) -> bool:
    """Whether printed values can share our axis: always for classes, for temperatures if in °C."""
    return all(run.report.task != "regression" or run.report.target_unit in CELSIUS for run in runs)


def _axis(table: Table, metric: str, runs: Sequence[Run]) -> str:
    unit = next(column.unit_shown for column in table.columns if column.metric == metric)
    if metric == "rmse" and not _comparable(runs):
        unit = next(run.report.target_unit for run in runs if run.report.target_unit not in CELSIUS)
    return f"{METRICS[metric].title} {ARROWS[METRICS[metric].better]}{canvas.unit_text(unit)}"


def _close(figure: Figure, handles: list[Any], runs: Sequence[Run]) -> None:
    comparable = _comparable(runs)
    official = all(run.official for run in runs)
    drawing.close(
        figure, [*handles, *([drawing.printed_handle()] if comparable else [])], official=official or not comparable
    )
