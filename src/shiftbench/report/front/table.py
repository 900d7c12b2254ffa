"""The one table of the first screen: a row for each system, across the questions."""

from __future__ import annotations

import math

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, count_text, metric_digits
from shiftbench.report.front.calibration import coverage_of
from shiftbench.report.front.screen import headline
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.grids.cells import directed
from shiftbench.report.grids.slices import slice_digits, worst_first
from shiftbench.report.view import (
    clean,
    finite,
    headline_metric,
    headline_scores,
    lead,
    main_split,
    marked,
    metric_title,
    worded,
)
from shiftbench.scores.metric import METRICS, Metric
from shiftbench.scores.score import Slice, System

MOST_ROWS = 8
MOST_OF_ALL = 0.75  # share of the records up to which a group is a finding
TITLES = {"roc_auc": "finds shift", "ece": "ECE"}  # shorter than elsewhere
SIDES = {"in": "in-domain", "shifted": "shifted"}
SHORT = {"in-domain": "in"}  # of sides, where there is no room for the whole


def table(report: Report, *, most: int = MOST_ROWS) -> Grid:
    """Systems down, the questions across: size of the errors, R-AUC, calibration, detection of the shift.

    Baselines stand below models; single models are left out, and so are systems beyond `most`.
    """
    metric, split = headline_metric(report), main_split(report)
    columns: list[Column] = []
    cells: list[dict[str, Cell]] = []
    chosen = headline_scores(report)
    systems = _ordered(report, split)
    names = [system.name for system in systems]
    sides = [side for side in ("in", "shifted") if any(key[1:3] == (split, side) for key in chosen)] or ["full"]
    found = {key[3] for key in chosen if key[1] == split}
    front = lead(report)
    first = {key[3] for key in chosen if front is not None and key[:2] == (front.name, split)}
    calibration = coverage_of(first) or coverage_of(found) or ("ece" if "ece" in found else "")
    wanted = [(metric.name if metric else "", side) for side in sides]
    wanted += [("r_auc", "full"), *((calibration, side) for side in sides), ("roc_auc", "full")]
    for name, side in wanted:
        here = {system: score for system in names if (score := chosen.get((system, split, side, name))) is not None}
        if not here:
            continue
        digits = metric_digits(report, METRICS[name], split)
        title = directed(METRICS[name], _short_title(METRICS[name], report))
        percent = digits.unit == "%"  # stands in the cells: columns get narrower
        title += f" ({digits.unit})" if digits.unit and not percent else ""
        columns.append(Column(SIDES[side], title) if len(sides) > 1 and side in sides else Column(title))
        texts = {system: digits.text(score.value) for system, score in here.items()}
        cells.append(
            {system: Cell(f"{text} %" if percent and text != MISSING else text) for system, text in texts.items()}
        )
    kept = shown(report, most=most)
    rows = tuple(Row(clean(name), tuple(column.get(name, Cell(MISSING)) for column in cells)) for name in kept)
    left = len(names) - len(rows)
    note = f"{left} more system{'s' * (left > 1)} in the tables of all scores." if left > 0 else ""
    return Grid("front", split, headline(report), "", tuple(columns), rows, note)


def shown(report: Report, *, most: int = MOST_ROWS) -> list[str]:
    """The systems of the table, in its order."""
    systems = _ordered(report, main_split(report))
    kept = [system.name for system in systems[:most]]
    baselines = [system.name for system in systems if system.role == "baseline"]
    if baselines and not set(kept) & set(baselines):  # without one, nobody sees what the models are worth
        kept[-1] = baselines[0]
    return kept


def _short_title(metric: Metric, report: Report) -> str:
    if metric.name.startswith("coverage_"):
        return f"Coverage ({100 * metric.nominal:.10g} %)"
    return TITLES.get(metric.name, metric_title(metric, report))


def _ordered(report: Report, split: str) -> list[System]:
    """Models, the leading one first, then baselines; each by the headline metric where it counts most."""
    metric, front, chosen = headline_metric(report), lead(report), headline_scores(report)
    shown = [system for system in report.systems if system.role != "single"] or list(report.systems)

    def place(system: System) -> tuple[bool, bool, float]:
        scores = (
            chosen.get((system.name, split, side, metric.name if metric else "")) for side in ("shifted", "full", "in")
        )
        value = next((score.value for score in scores if score is not None and finite(score.value)), float("inf"))
        turned = -value if metric is not None and metric.better == "max" and value != float("inf") else value
        return system.role == "baseline", front is None or system.name != front.name, turned

    return sorted(shown, key=place)


def worst_group(report: Report) -> str:
    """The group of records with the largest mean error of a system, the leading one if it has slices; "" without any.

    A group that is all of the shifted records says nothing that the columns of the table do not, nor does a part of
    them by a column whose groups are each on one side of the shift, or a group of nearly all records: others are looked
    at. Another group stands beside it where either mean is within the interval of the other.
    """
    split = main_split(report)
    counts = {count.subset: count.records for count in report.counts if count.split == split}
    every = [entry for entry in worst_first(report, split) if finite(entry.mean_error)]
    order = [entry for entry in every if entry.shifted_share != 1 or entry.n < counts.get("shifted", 0)]
    order = [entry for entry in order if sum(entry.column == each.column for each in order) > 1]
    mixed = {entry.column for entry in every if 0 < (entry.shifted_share or 0.0) < 1}
    order = [entry for entry in order if entry.column in mixed or entry.shifted_share != 1 or "in" not in counts]
    shifted_alone = len(order) < len(every)
    others = order
    order = [entry for entry in others if _stands_out(entry, others, counts.get("full", entry.n))]
    if not order:
        return ""
    worst, digits = order[0], slice_digits(report, split)
    error = f"mean {clean(report.error_name)} {digits.text(worst.mean_error)} {digits.unit}".rstrip()
    metric = headline_metric(report)
    if metric is not None and metric.name == "rmse":  # in the unit of the target
        digits = metric_digits(report, metric, split)
        error = f"RMSE {digits.text(math.sqrt(worst.mean_error))} {digits.unit}".rstrip()
    elif metric is not None and metric.name == "accuracy":
        digits = metric_digits(report, metric, split)
        error = f"accuracy {digits.text(1 - worst.mean_error)} {digits.unit}".rstrip()
    several = sum(system.role in ("ensemble", "model") for system in report.systems) > 1
    of = f" of {marked(worst.system)}" if several else ""
    of += " other than the shift" if shifted_alone else ""
    alike = next(
        (each for each in others if each is not worst and each.column == worst.column and _alike(worst, each)), None
    )
    group = f"{clean(worst.column)} = {clean(worst.group)}"
    group += f" ({clean(alike.column)} = {clean(alike.group)} may be as bad)" if alike else ""
    whole = counts.get("full", worst.n)
    count = worded(f"{count_text(worst.n)} of {count_text(whole)} record{'s' * (whole != 1)}", report)
    return f"worst group{of}: {group} · {error}, {count}"


def _stands_out(entry: Slice, among: list[Slice], records: int) -> bool:
    """Whether a group is not nearly all of the records, and no better than the mean of the groups of its column."""
    column = [each for each in among if each.column == entry.column]
    mean = sum(each.n * each.mean_error for each in column) / sum(each.n for each in column)
    return entry.mean_error >= mean and entry.n <= MOST_OF_ALL * records


def _alike(one: Slice, other: Slice) -> bool:
    """Whether the mean error of either group is within the interval of the other, as far as there are intervals."""
    pairs = ((one, other), (other, one))
    return all(
        not (finite(each.low) and finite(each.high)) or each.low <= rival.mean_error <= each.high
        for each, rival in pairs
    ) and any(finite(each.low) and finite(each.high) for each, _ in pairs)
