"""What intervals, sets and probabilities hold: conformal regions beside a system's own, overall and by slice."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shiftbench.metrics.conformal import RULES, coverage_name, size_name
from shiftbench.metrics.regression import LEVELS
from shiftbench.report.content import Report
from shiftbench.report.digits import Digits, count_text, metric_digits, scale_digits
from shiftbench.report.grid import NONE, Cell, Column, Grid, Row
from shiftbench.report.grids.cells import bracketed, directed, score_cell, signs
from shiftbench.report.grids.slices import worst_first
from shiftbench.report.view import clean, finite, headline_scores, lead, marked, split_title, subsets_of
from shiftbench.scores.metric import METRICS, in_order
from shiftbench.scores.score import SUBSETS, Score, Separation, SliceScore, System

REGIONS = {  # tables of conformal regions beside a system's own intervals, with the names of their metrics
    "conformal": ("share of targets inside", "coverage", coverage_name),
    "conformal_size": ("mean size", "width", size_name),
}
INFINITE = "∞"
WITHOUT_ENDS = f"{INFINITE}: some records have a region without ends, as too few calibration records are like them."


def regions(report: Report, split: str, kind: str) -> Grid:
    """The model's own intervals, and regions by each conformal rule, a row each: coverage or size at each level."""
    what, own, name_of = REGIONS[kind]
    chosen = {key: score for key, score in headline_scores(report).items() if key[1] == split}
    names = {rule: [name_of(rule, level) for level in LEVELS] for rule in RULES}
    held = {key[3] for key in chosen}
    rules = [rule for rule in names if held & {*names[rule]}]
    subsets = subsets_of([score for key, score in chosen.items() if any(key[3] in names[rule] for rule in rules)])
    titles = {"": "its own intervals"} | {rule: RULES[rule].title for rule in rules}
    if column := clean(_grouped_by(report, split)):
        titles["group"] = f"conformal, by group ({column})"
    names[""] = [f"{own}_{100 * level:.3g}" for level in LEVELS]
    digits = [metric_digits(report, METRICS[name], split) for name in names[rules[0]]] if rules else []
    rows = []
    for system in _models(report) if rules else ():
        for rule, hint in titles.items():
            places = [(subset, level) for subset in subsets for level in range(len(LEVELS))]
            scores = [chosen.get((system.name, split, subset, names[rule][level])) for subset, level in places]
            cells = [_region_cell(score, digits[level]) for score, (_, level) in zip(scores, places, strict=True)]
            if any(score is not None for score in scores):
                rows.append(Row(clean(system.name), tuple(cells), hint))
    unit = f" ({clean(report.target_unit)})" if report.target_unit and kind == "conformal_size" else ""
    columns = tuple(
        Column(f"{100 * level:.3g} %", f"{SUBSETS[subset]}{unit}") for subset in subsets for level in LEVELS
    )
    notes = ["Models only; baselines are in the CSV.", *_calibration_notes(report, split), *signs(report, rows)]
    notes += _without_ends(rows)
    regions = "sets of classes" if report.task == "classification" else "intervals"
    title = f"Conformal {regions}, calibrated on {calibrated_on(report)}: {what} ({split_title(split)})"
    return Grid(kind, split, title, "System", columns, tuple(rows), " ".join(notes))


def _models(report: Report) -> list[System]:
    """The systems that are no baselines and no single models; baselines if there are no others."""
    whole = [system for system in report.systems if system.role != "single"]
    return [system for system in whole if system.role != "baseline"] or whole


def _region_cell(score: Score | None, digits: Digits) -> Cell:
    """A coverage or a size, of which only that of conformal regions can be infinite."""
    return score_cell(digits, score) if score is None or math.isfinite(score.value) else Cell(INFINITE)


def _without_ends(rows: Sequence[Row]) -> list[str]:
    """What an infinite size means, if there is one."""
    return [WITHOUT_ENDS] * any(cell.text == INFINITE for row in rows for cell in row.cells)


def _grouped_by(report: Report, split: str) -> str:
    """The column whose groups were calibrated apart; "" if unknown."""
    found = report.recipe.get("conformal")
    columns = found.get("grouped_by") if isinstance(found, dict) else None
    return str(columns.get(split, "")) if isinstance(columns, dict) else ""


def calibrated_on(report: Report) -> str:
    """The records that conformal regions are calibrated on."""
    found = report.recipe.get("conformal")
    text = clean(str(found.get("calibrated_on", "dev_in"))) if isinstance(found, dict) else "dev_in"
    return "separate records" if text == "records of their own" else text  # as reports up to 0.15 call them


def _calibration_notes(report: Report, split: str) -> Iterator[str]:
    """The calibration data of conformal regions."""
    here = [each for each in report.separations if each.split == split and finite(each.roc_auc + each.effective)]
    if here:
        sizes = ", ".join(
            f"{SUBSETS[each.subset].lower()} {count_text(round(each.effective))} effective of "
            f"{count_text(each.records)} calibration records (ROC-AUC of the classifier {100 * each.roc_auc:.0f} %"
            f"{_share_without_ends(each)})"
            for each in here
        )
        yield f"Weighted for the shift: {sizes}."


def _share_without_ends(found: Separation) -> str:
    share = f", {100 * found.endless:.3g} % of the records have regions of 90 % without ends"
    return share if finite(found.endless) and found.endless > 0 else ""


def _sliced_scores(report: Report, split: str) -> tuple[str, dict[tuple[str, str, str], SliceScore]]:
    """The leading system with scores by slice, and these by column, group and metric."""
    here = [entry for entry in report.slice_scores if entry.split == split]
    front = lead(report)
    names = [entry.system for entry in here]
    system = front.name if front is not None and front.name in names else next(iter(names), "")
    return system, {(entry.column, entry.group, entry.metric): entry for entry in here if entry.system == system}


def by_slice(report: Report, split: str) -> Grid:
    """Coverage and widths of a system's own intervals, likelihood and calibration error by group, as in `slices`."""
    system, found = _sliced_scores(report, split)
    names = in_order({name for *_, name in found if METRICS[name].table != "conformal"})
    digits = {name: scale_digits(METRICS[name], [e for e in found.values() if e.metric == name]) for name in names}
    units = {name: metric_digits(report, METRICS[name], split).unit for name in names}
    groups = dict.fromkeys((entry.column, entry.group) for entry in worst_first(report, split))
    rows = []
    for column, group in groups:
        own = [found.get((column, group, name)) for name in names]
        if any(own):
            cells = [_sliced_cell(digits[name], entry) for name, entry in zip(names, own, strict=True)]
            count = next(entry.n for entry in own if entry is not None)
            rows.append(Row(clean(f"{column} = {group}"), (Cell(count_text(count)), *cells)))
    columns = [Column(f"{directed(METRICS[name], METRICS[name].title)}{bracketed(units[name])}") for name in names]
    title = f"Intervals and probabilities by slice ({split_title(split)})"
    note = f"Of {marked(system)}, sorted by its mean error; slices.csv has all systems."
    return Grid("calibration_slices", split, title, "Records with", (Column("Records"), *columns), tuple(rows), note)


def regions_by_slice(report: Report, split: str, nominal: float) -> Grid:
    """Coverage and size by group, of the leading system: of its own intervals and of each conformal rule."""
    level = f"{100 * nominal:.3g}"
    here = [entry for entry in report.slice_scores if entry.split == split]
    system, found = _sliced_scores(report, split)
    if not any(METRICS[name].table == "conformal" for *_, name in found):
        return Grid(f"interval_slices_{level}", split, "", "", (), ())
    rules = {"own": (f"coverage_{level}", f"width_{level}")}
    rules |= {RULES[name].title: (coverage_name(name, nominal), size_name(name, nominal)) for name in RULES}
    unit = f" ({clean(report.target_unit)})" if report.target_unit else ""
    columns, metrics = [Column("Records")], []
    for place, group in enumerate((f"Coverage ({level} %)", f"Mean size at {level} %{unit}")):
        for title, pair in rules.items():
            if any(key[2] == pair[place] for key in found):
                columns.append(Column(title, group))
                metrics.append(pair[place])
    digits = {metric: scale_digits(METRICS[metric], [e for e in here if e.metric == metric]) for metric in metrics}
    groups = dict.fromkeys(key[:2] for key in found)
    worst = next(iter(metrics), "")
    first = {key[:2]: e.value for key, e in found.items() if key[2] == worst and finite(e.value)}
    rows = []
    for column, group in sorted(groups, key=lambda each: (first.get(each, math.inf), each)):
        own = [found.get((column, group, metric)) for metric in metrics]
        cells = [_sliced_cell(digits[metric], entry) for metric, entry in zip(metrics, own, strict=True)]
        count = next(entry.n for entry in own if entry is not None)
        rows.append(Row(clean(f"{column} = {group}"), (Cell(count_text(count)), *cells)))
    note = f"Of {marked(system)}, lowest coverage first; by group: groups of the row's own column are calibrated apart."
    title = f"{'Sets' if report.task == 'classification' else 'Intervals'} of {level} % by slice ({split_title(split)})"
    note = " ".join((note, *_without_ends(rows)))
    return Grid(f"interval_slices_{level}", split, title, "Records with", tuple(columns), tuple(rows), note)


def _sliced_cell(digits: Digits, entry: SliceScore | None) -> Cell:
    if entry is None or not math.isfinite(entry.value):
        return Cell(INFINITE) if entry else NONE
    return Cell(*digits.cell(entry.value, low=entry.low, high=entry.high))
