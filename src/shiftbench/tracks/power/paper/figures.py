"""Pictures of the tables of power: members beside their ensemble, retention curves, and degradation by each shift.

Printed values are hollow and grey. matplotlib is imported only when a picture is drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shiftbench.report import canvas
from shiftbench.report.content import Report
from shiftbench.report.grid import ARROWS
from shiftbench.report.style import COLOURS, DASHES, GREY, MARKERS, short
from shiftbench.report.view import split_title
from shiftbench.scores.metric import METRICS
from shiftbench.track.paper import drawing
from shiftbench.track.paper.drawing import Captioned
from shiftbench.track.paper.figure import PaperFigure
from shiftbench.track.paper.table import UNITS, Cell, Table
from shiftbench.tracks.power.paper.systems import MODELS, Model, Run, of
from shiftbench.tracks.power.paper.tables import LAYOUTS, tables

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SETS = (
    ("dev", "in", "dev\nin"),
    ("dev", "shifted", "dev\nshifted"),
    ("eval", "in", "eval\nin"),
    ("eval", "shifted", "eval\nshifted"),
    ("generalization", "full", "general-\nization"),
)
PLACES = {
    "members": -0.22,
    "ensemble": 0.05,
    "members in print": 0.2,
    "ensemble in print": 0.34,
}  # beside a model's tick
DEGRADED = ("rmse", "r_auc")
OF_MEMBERS = (
    "A panel for each split and score, with its unit: of each model, the members (dashes, and a violin of how they are "
    "distributed) and their ensemble (diamond); printed values are hollow and grey. An ensemble that lies beyond its "
    "members in the direction of the arrow gains from their disagreement."
)
DEGRADES = (
    "{} of each ensemble on every set, divided by its own on development in-domain (no unit, 1 is the grey line): a "
    "line for each model, the run at the left, print at the right. The steeper a line rises, the less robust the model."
)
DRAWN_UNIT, DRAWN_FACTOR = UNITS["1e5 kW^2"]  # of squared errors in kW², as in print


def figures(reports: Iterable[Report], folder: str | Path) -> list[PaperFigure]:
    """Write the pictures that the reports have data for, as PNG (150 dpi) and as SVG, into `folder`.

    For the runs compared with the synthetic and with the real data each: `errors_of_members` and `scores_of_members`
    (violins over the members of each model), `error_retention_eval` and `f1_retention_eval`, the same of `dev` and
    `generalization`, and `degradation_rmse` and `degradation_r_auc`.

    Raises:
        TableError: if there is no report of a regression, or one of another track.
    """
    every = list(reports)
    runs, made = of(every), tables(every)
    drawn: list[PaperFigure] = []
    with canvas.settings():
        for kind in dict.fromkeys(layout.kind for layout in LAYOUTS):
            mine = [run for run in runs if run.kind == kind]
            own = [table for table in made if table.task == kind]
            for each in _drawn(mine, own, f"{kind} data") if mine else ():
                drawn.append(drawing.save(each, folder, f"{kind}_{each.name}"))
    return drawn


def _drawn(runs: Sequence[Run], made: Sequence[Table], data: str) -> Iterator[Captioned]:
    numbers = list(dict.fromkeys(table.number for table in made))
    for number, name in zip(numbers, ("errors_of_members", "scores_of_members"), strict=True):
        figure = _members([table for table in made if table.number == number], runs)
        if figure is not None:
            title = f"{name.replace('_', ' ').capitalize()} and of their ensembles, each split: {data}"
            yield Captioned(name, title, OF_MEMBERS, figure)
    yield from drawing.retention(runs, data, shown=_shown)
    for metric in DEGRADED:
        for place, run in enumerate(runs, 1):
            figure = _degradation(run, [table for table in made if metric in (c.metric for c in table.columns)], metric)
            if figure is not None:
                suffix, named = (f"_{place}", f", {short(run.name)}") if len(runs) > 1 else ("", "")
                score = METRICS[metric].title
                title = f"{score} from development in-domain to shifted sets: {data}{named}"
                yield Captioned(f"degradation_{metric}{suffix}", title, DEGRADES.format(score), figure)


def _cells(table: Table, metric: str, subset: str) -> dict[tuple[str, str], Cell]:
    """The cells of a column by (system, run); a row that no run has, by (system, "")."""
    places = [place for place, c in enumerate(table.columns) if (c.metric, c.subset) == (metric, subset)]
    return {
        (row.system, row.run): cells[place]
        for row, cells in zip(table.rows, table.cells, strict=True)
        for place in places
    }


# --- members --------------------------------------------------------------------------------------------------------


def _members(made: Sequence[Table], runs: Sequence[Run]) -> Figure | None:
    """A row for each split, a panel for each metric: the scores of each model's members and of their ensemble."""
    kept = [(model, run) for run in runs for model in MODELS if run.named(model.ensemble) or run.named(model.single)]
    made = [table for table in made if any(cell.value is not None for row in table.cells for cell in row)]
    if not kept or not made:
        return None
    metrics = list(dict.fromkeys(column.metric for column in made[0].columns))
    figure, axes = canvas.panels(len(made) * len(metrics), width=max(2.9, 0.7 * len(kept)), height=2.3, below=0.6)
    panels = iter(axes)
    for table in made:
        for metric in metrics:
            panel, cells = next(panels), _cells(table, metric, "full")
            for x, (model, run) in enumerate(kept):
                color = COLOURS[MODELS.index(model)]
                _violin(panel, x + PLACES["members"], cells.get((model.single.title, run.name)), color)
                _ensemble(panel, x + PLACES["ensemble"], cells.get((model.ensemble.title, run.name)), color)
                if run.comparable or METRICS[metric].scale not in ("target", "error"):
                    _in_print(panel, x, model, cells, run)
            _label_models(panel, kept, len(runs))
            panel.set(title=split_title(table.columns[0].dataset).capitalize(), ylabel=_axis(table, metric, runs))
    drawing.close(figure, _member_handles(), official=all(run.official for run in runs))
    return figure


def _violin(panel: Any, x: float, cell: Cell | None, color: str) -> None:
    """The scores of the members: their density and each one; only mean ± std if the report lacks them."""
    if cell is None or cell.value is None:
        return
    if len(cell.each) > 1 and len(set(cell.each)) > 1:
        drawn = panel.violinplot(cell.each, [x], widths=0.42, showextrema=False)
        for body in drawn["bodies"]:
            body.set(facecolor=color, edgecolor=color, alpha=0.25)
    if cell.each:
        panel.plot([x] * len(cell.each), cell.each, linestyle="", marker="_", markersize=6, color=color, alpha=0.8)
    else:
        panel.errorbar(x, cell.value, yerr=cell.std, color=color, marker="_", capsize=3, linestyle="")


def _ensemble(panel: Any, x: float, cell: Cell | None, color: str) -> None:
    if cell is not None and cell.value is not None:
        panel.plot(x, cell.value, marker="D", markersize=5.5, color=color, markeredgecolor="black", zorder=4)


def _in_print(panel: Any, x: float, model: Model, cells: dict[tuple[str, str], Cell], run: Run) -> None:
    """The printed scores of a model, hollow, beside ours."""
    look = {"color": GREY, "markerfacecolor": "white", "linestyle": "", "zorder": 3}
    shown = (("members in print", model.single.title, "o"), ("ensemble in print", model.ensemble.title, "D"))
    for name, title, marker in shown:
        cell = cells.get((title, run.name)) or cells.get((title, ""))
        for value in cell.printed if cell is not None else ():
            spread = float(value.std) if value.std else None
            at = x + PLACES[name]
            panel.errorbar(at, value.value, yerr=spread, marker=marker, markersize=4.5, elinewidth=1, capsize=2, **look)


def _label_models(panel: Any, kept: Sequence[tuple[Model, Run]], runs: int) -> None:
    texts = [model.name.replace(" ", "\n") + (f"\n{short(run.name, 12)}" if runs > 1 else "") for model, run in kept]
    panel.set_xticks(range(len(kept)), texts, fontsize="small")
    panel.set_xlim(-0.55, len(kept) - 0.45)
    panel.grid(visible=False, axis="x")


def _member_handles() -> list[Any]:
    ours = {"color": GREY, "linestyle": ""}
    hollow = {"color": GREY, "markerfacecolor": "white"}
    return [
        canvas.handle("members, each", marker="_", markersize=8, **ours),
        canvas.handle("their ensemble", marker="D", markeredgecolor="black", **ours),
        canvas.handle("members in print, mean ± std", marker="o", linestyle="-", linewidth=1, **hollow),
        canvas.handle("ensemble in print", marker="D", linestyle="", **hollow),
    ]


def _axis(table: Table, metric: str, runs: Sequence[Run]) -> str:
    unit = next(column.unit_shown for column in table.columns if column.metric == metric)
    foreign = [run.report for run in runs if not run.comparable]
    if foreign and METRICS[metric].scale == "target":
        unit = foreign[0].target_unit
    elif foreign and METRICS[metric].scale == "error":
        unit = f"10⁵ {foreign[0].error_unit}"
    return f"{METRICS[metric].title} {ARROWS[METRICS[metric].better]}{canvas.unit_text(unit)}"


# --- retention ------------------------------------------------------------------------------------------------------


def _shown(report: Report) -> Report:
    """Ensembles, with the colours of the other pictures; squared errors in the printed unit."""
    ensembles = tuple(system for system in report.systems if system.role != "single")
    report = replace(report, systems=ensembles)
    if report.error_unit != "kW²":
        return report
    curves = [
        replace(curve, y=tuple(y * DRAWN_FACTOR for y in curve.y)) if curve.kind == "error_retention" else curve
        for curve in report.curves
    ]
    return replace(report, curves=tuple(curves), error_unit=DRAWN_UNIT)


# --- degradation ----------------------------------------------------------------------------------------------------


def _degradation(run: Run, made: Sequence[Table], metric: str) -> Figure | None:
    """Each ensemble on all sets, relative to its value on dev in-domain: here and in print."""
    ours, theirs = _lines(run, made, metric)
    if not any(len(line) > 1 for line in ours.values()):
        return None
    names = [text for dataset, _, text in SETS if any(table.columns[0].dataset == dataset for table in made)]
    figure, axes = canvas.panels(2, width=3.6, height=2.9, below=0.35)
    for panel, lines, title in zip(axes, (ours, theirs), (short(run.name, 44), "In print"), strict=True):
        for place, model in enumerate(MODELS):
            if line := lines.get(model.name, {}):
                panel.plot(
                    [names.index(text) for text in line], list(line.values()),
                    color=COLOURS[place], linestyle=DASHES[place], marker=MARKERS[place],
                )  # fmt: skip
        panel.axhline(1.0, color=GREY, linewidth=0.8)
        panel.set_xticks(range(len(names)), names, fontsize="small")
        panel.set(title=title, xlim=(-0.3, len(names) - 0.7))
    axes[0].set_ylabel(f"{METRICS[metric].title} over dev in-domain")
    shown = [place for place, model in enumerate(MODELS) if ours.get(model.name) or theirs.get(model.name)]
    handles = [canvas.handle(MODELS[k].name, color=COLOURS[k], linestyle=DASHES[k], marker=MARKERS[k]) for k in shown]
    drawing.close(figure, handles, official=run.official)
    _same_scale(axes)
    return figure


def _lines(run: Run, made: Sequence[Table], metric: str) -> tuple[dict[str, dict[str, float]], ...]:
    """For each model, ours and printed: the sets with a value, and the ratio to the value on dev in-domain."""
    found: tuple[dict[str, dict[str, float]], ...] = ({}, {})
    for dataset, subset, text in SETS:
        for table in made:
            if table.columns[0].dataset == dataset:
                cells = _cells(table, metric, subset)
                for model in MODELS:
                    cell = cells.get((model.ensemble.title, run.name)) or cells.get((model.ensemble.title, ""), Cell())
                    values = (cell.value, cell.printed[0].value if cell.printed else None)
                    for lines, value in zip(found, values, strict=True):
                        if value is not None:
                            lines.setdefault(model.name, {})[text] = value
    return _relative(found[0]), _relative(found[1])


def _relative(lines: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    """Ratios of all values to that of the first set; models without one are left out."""
    first = SETS[0][2]
    return {
        name: {text: value / line[first] for text, value in line.items()}
        for name, line in lines.items()
        if line.get(first)
    }


def _same_scale(axes: Sequence[Any]) -> None:
    ends = [panel.get_ylim() for panel in axes]
    for panel in axes:
        panel.set_ylim(min(low for low, _ in ends), max(high for _, high in ends))
