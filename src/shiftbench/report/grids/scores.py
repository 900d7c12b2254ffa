"""Scores of every system, by subset, by part and by split."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from shiftbench.measures import MEASURES
from shiftbench.report.content import Report
from shiftbench.report.digits import metric_digits, scale_digits
from shiftbench.report.grid import NONE, Cell, Column, Grid, Row
from shiftbench.report.grids.cells import gap_note, heading, score_cell, signs, system_row, table_of
from shiftbench.report.grids.measures import capital
from shiftbench.report.view import (
    bold,
    clean,
    enough,
    headline_metric,
    headline_scores,
    metric_title,
    metric_unit,
    scored_metrics,
    split_title,
    subsets_of,
    too_few,
)
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.metric import METRICS, OPTIMAL_ORDER, RANDOM_ORDER, Metric
from shiftbench.scores.score import SUBSETS

SCORES = {  # tables of scores, in reading order
    "answers": "Quality of the answers",
    "calibration": "Do intervals and probabilities keep their promise?",
    "joint": "Answers and uncertainty jointly",
    "selective": "Other areas of selective prediction",
}
ROWS = {  # tables with several metrics of one title below each other, with their labels and notes
    "within": (
        "Uncertainty of {parts}",
        "Measure",
        "Each record has areas of its own, from the order of its {parts} by a measure; shown are means over "
        "records. R-AAC is the area above a score's curve within one record, R-AUC that under the error over records.",
    ),
    "variants": ("{parts}", "", ""),
}
RETENTION = (
    "R-AUC: the area under the curve of the error over the share of records kept, the most certain first; the others "
    "count as right."
)


def of_kind(report: Report, split: str, kind: str) -> Grid:
    """One of the tables of `SCORES`: a row for each system, a column for each score and subset."""
    columns: list[Column] = []
    cells: list[list[Cell]] = []  # one list per column
    chosen = headline_scores(report)
    names = [system.name for system in report.systems]
    for metric in scored_metrics(report, split):
        if table_of(metric) != kind:
            continue
        digits = metric_digits(report, metric, split)
        mine = [score for key, score in chosen.items() if (key[1], key[3]) == (split, metric.name)]
        for subset in subsets_of(mine):
            here = {score.system: score for score in mine if score.subset == subset}
            leaders = bold(report, list(here.values()))
            columns.append(Column(SUBSETS[subset], heading(metric, digits, report)))
            cells.append([score_cell(digits, here.get(name), leaders=leaders) for name in names])
    kept = [place for place in range(len(names)) if any(column[place] != NONE for column in cells)]
    rows = tuple(system_row(report.systems[place], [column[place] for column in cells]) for place in kept)
    notes = signs(report, rows)
    notes += gap_note(report, [split], [report.systems[place].name for place in kept])
    own = dict.fromkeys(METRICS[key[3]] for key in chosen if key[1] == split) if kind == "joint" else {}
    notes += [f"{metric.title}: {metric.formula}." for metric in own if metric.table == kind]
    notes += [each for each in [RETENTION] if kind == "joint" and any(key[3] == "r_auc" for key in chosen)]
    notes += _left_out(report, split, kind)
    return Grid(kind, split, f"{SCORES[kind]} ({split_title(split)})", "System", tuple(columns), rows, " ".join(notes))


def _left_out(report: Report, split: str, kind: str) -> list[str]:
    """A sentence on the scores that a table lacks for want of records; that of answers names those with own tables."""
    kinds = (kind, *(ROWS if kind == "answers" else ()))
    found = (score for score in report.scores if score.split == split and not enough(report, score))
    metrics = [METRICS[score.metric] for score in found]
    titles = dict.fromkeys(metric_title(metric, report) for metric in metrics if table_of(metric) in kinds)
    few, pictures = f"fewer than {FEWEST} {clean(report.records_name)}", ""
    if kind == "joint" and too_few(report, split):
        pictures = " Pictures of their order or distribution are left out, too."
    listed = ("; " if any("," in title for title in titles) else ", ").join(titles)  # "PRR, at most 50 % rejected"
    return [f"Left out, since they say nothing about {few}: {listed}.{pictures}"] if titles else []


def by_part(report: Report, split: str) -> Iterator[Grid]:
    """The tables of `ROWS`, one for each kind of parts."""
    metrics = scored_metrics(report, split)
    for kind in ROWS:
        for parts in dict.fromkeys(metric.parts for metric in metrics if metric.table == kind):
            own = [metric for metric in metrics if (metric.table, metric.parts) == (kind, parts)]
            yield _parts_within(report, split, sorted(own, key=_row_place))


def _row_place(metric: Metric) -> int:
    """A random order comes first, the optimal one last, between them measures as they are registered, then others."""
    titles = [RANDOM_ORDER, *(measure.title for measure in MEASURES.values())]
    return titles.index(metric.row) if metric.row in titles else len(titles) + (metric.row == OPTIMAL_ORDER)


def _parts_within(report: Report, split: str, metrics: Sequence[Metric]) -> Grid:
    """Metrics of one title as a column: a row for each `Metric.row` of each system that is no single model."""
    chosen = {key: score for key, score in headline_scores(report).items() if key[1] == split}
    named = {(metric.title, metric.row): metric.name for metric in metrics}
    columns, cells = [], []  # one list of cells per column
    shown = [system.name for system in report.systems if system.role != "single"]
    places = [(name, row) for name in shown for row in dict.fromkeys(metric.row for metric in metrics)]
    for title in dict.fromkeys(metric.title for metric in metrics):
        own = [metric for metric in metrics if metric.title == title]
        mine = [score for key, score in chosen.items() if any(key[3] == metric.name for metric in own)]
        digits = scale_digits(own[0], mine, unit=metric_unit(own[0], report))
        for subset in subsets_of(mine):
            found = [chosen.get((system, split, subset, named.get((title, row), ""))) for system, row in places]
            columns.append(Column(SUBSETS[subset], heading(own[0], digits, report)))
            cells.append([score_cell(digits, score) for score in found])
    rows = [
        Row(clean(row), tuple(column[place] for column in cells), clean(system))
        for place, (system, row) in enumerate(places)
        if any(column[place] != NONE for column in cells)
    ]
    kind, parts = metrics[0].table, metrics[0].parts
    title, label, note = (text.format(parts=parts or "parts") for text in ROWS[kind])
    plain = {metric.title: metric.plain for metric in metrics if metric.plain}
    readings = "; ".join(f"{title}: {words}" for title, words in plain.items())
    notes = [note, *([f"{readings}."] if readings else []), *signs(report, rows)]
    name = re.sub(r"\W+", "_", f"{kind} {parts}").strip("_")
    whole = f"{title[:1].upper()}{title[1:]} ({split_title(split)})"
    return Grid(name, split, whole, label, tuple(columns), tuple(rows), " ".join(filter(None, notes)))


def by_split(report: Report) -> Grid:
    """Errors and quality of the uncertainty over all records, splits side by side."""
    headline, chosen = headline_metric(report), headline_scores(report)
    names = [system.name for system in report.systems]
    columns, cells = [], []
    for metric in dict.fromkeys(metric for metric in (headline, METRICS["r_auc"], METRICS["f1_auc"]) if metric):
        for split in report.splits if len(report.splits) > 1 else ():
            digits = metric_digits(report, metric, split)
            here = {name: chosen.get((name, split, "full", metric.name)) for name in names}
            there = [score for score in here.values() if score is not None]
            if there:
                leaders = bold(report, there)
                columns.append(Column(capital(split_title(split)), heading(metric, digits, report)))
                cells.append([score_cell(digits, here[name], leaders=leaders) for name in names])
    rows = [system_row(system, [column[place] for column in cells]) for place, system in enumerate(report.systems)]
    shown = tuple(row for row in rows if any(cell != NONE for cell in row.cells))
    notes = ["Over all records of each.", *signs(report, shown)]
    notes += gap_note(report, report.splits, names)
    return Grid("splits", "", "All splits side by side", "System", tuple(columns), shown, " ".join(notes))
