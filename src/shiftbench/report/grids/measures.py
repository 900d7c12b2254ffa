"""Scores by measure of uncertainty, and what lengths of records explain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from shiftbench.measures import MEASURES
from shiftbench.report.content import Report
from shiftbench.report.digits import metric_digits
from shiftbench.report.grid import NONE, Column, Grid, Row
from shiftbench.report.grids.cells import heading, score_cell, signs, table_of
from shiftbench.report.view import clean, enough, measure_title, split_title
from shiftbench.scores.length import RESIDUAL
from shiftbench.scores.metric import METRICS, Metric, in_order

BESIDE_LENGTH = ("r_auc", "rejection_ratio", "roc_auc")  # scores of measures that the length check shows, too
OF_ERRORS = "error_length_correlation"
MOST_OF_LENGTH, TELLING = 20, 3  # rows of a length check that is not parted; measures of each system if it is


def capital(text: str) -> str:
    """A text that begins with a capital; names of test sets keep theirs."""
    return f"{text[:1].upper()}{text[1:]}"


def _measure_name(measure: str) -> str:
    """A measure's title and, if it is registered, its kind of uncertainty."""
    kind = f" ({MEASURES[measure].kind})" if measure in MEASURES else ""
    title = measure_title(measure)
    return f"{capital(title) if title.endswith(' order') else title}{kind}"


def by_measure(report: Report, split: str) -> Grid:
    """The scores of every measure of uncertainty of systems that have several."""

    def shown(measures: Sequence[str]) -> list[str]:
        # The random and optimal orders are shown beside measures, but do not make a table by themselves.
        own = [measure for measure in measures if not measure.endswith((" order", RESIDUAL))]
        return own + [measure for measure in measures if measure.endswith(" order")] if len(own) > 1 else []

    grid = _grid(report, split, lambda metric: table_of(metric) == "joint", lambda measures, _: shown(measures))
    return replace(grid, kind="measures", title=f"Uncertainty measures ({split_title(split)})")


def length(report: Report, split: str) -> Iterator[Grid]:
    """The errors and each measure of each system, with and without what the length of a record tells.

    Of many measures the table has the headline and those that rank lengths most; a second one has the others.
    """
    errors = {s.system: s for s in report.scores if (s.split, s.subset, s.metric) == (split, "full", OF_ERRORS)}
    wanted = [name for name in METRICS if errors and (table_of(METRICS[name]) == "length" or name in BESIDE_LENGTH)]
    telling = _telling(report, split)

    def of(kept: Callable[[str, str], bool]) -> Grid:
        return _grid(
            report, split, lambda metric: metric.name in wanted,
            lambda measures, system: [
                one
                for each in measures
                if not each.endswith((" order", RESIDUAL)) and kept(system, each)
                for one in (each, each + RESIDUAL)
                if one in measures
            ],
        )  # fmt: skip

    whole = of(lambda *_: True)
    parted = len(errors) + len(whole.rows) > MOST_OF_LENGTH
    grid = of(lambda *place: place in telling) if parted else whole
    digits = metric_digits(report, METRICS[OF_ERRORS], split)
    nothing = (NONE,) * (len(grid.columns) - 1)
    rows = [Row("Its errors", (score_cell(digits, score), *nothing), clean(name)) for name, score in errors.items()]
    made = report.recipe.get("length")
    fit = clean(str(made.get("fit", ""))) if isinstance(made, dict) else ""
    note = f"Rank correlations. Length residual: the measure minus its {fit} fit on the length of in-domain records."
    most = "Of the measures: the headline and those that depend most on length. " if parted else ""
    title = f"Length check ({split_title(split)})"
    yield replace(grid, kind="length", title=title, rows=(*rows, *grid.rows), note=f"{note} {most}{grid.note}")
    if parted:
        title = f"Length check, further measures ({split_title(split)})"
        rest = of(lambda *place: place not in telling)
        yield replace(rest, kind="length_measures", title=title, note=f"{note} {rest.note}")


def _telling(report: Report, split: str) -> set[tuple[str, str]]:
    """Of each system the headline measure, and those whose correlation with length is furthest from 0."""
    held = {
        (s.system, s.measure): abs(s.value)
        for s in report.scores
        if (s.split, s.subset, s.metric) == (split, "full", "length_correlation")
        and not s.measure.endswith((" order", RESIDUAL))
    }
    found = set()
    for system in report.systems:
        own = [key for key in held if key[0] == system.name and math.isfinite(held[key])]
        headline = report.measure_of(system.name)
        found |= {*sorted(own, key=lambda key: (key[1] != headline, -held[key]))[:TELLING]}
    return found


def _grid(
    report: Report, split: str, wanted: Callable[[Metric], bool], shown: Callable[[Sequence[str], str], Sequence[str]]
) -> Grid:
    """A row for each measure that is shown of each system, a column for each metric that is wanted."""
    entries = [s for s in report.scores if s.split == split and s.measure and enough(report, s)]
    by_place = {(score.system, score.measure, score.metric): score for score in entries if score.subset == "full"}
    held = {metric for *_, metric in by_place}
    metrics = [METRICS[name] for name in in_order(held) if wanted(METRICS[name])]
    metrics = sorted(metrics, key=lambda metric: table_of(metric) != "length")
    digits = {metric.name: metric_digits(report, metric, split) for metric in metrics}
    rows = []
    for system in report.systems:
        for measure in shown([*dict.fromkeys(key[1] for key in by_place if key[0] == system.name)], system.name):
            scores = [by_place.get((system.name, measure, metric.name)) for metric in metrics]
            cells = [score_cell(digits[metric.name], score) for metric, score in zip(metrics, scores, strict=True)]
            rows.append(Row(_measure_name(measure), tuple(cells), clean(system.name)))
    columns = tuple(Column(heading(metric, digits[metric.name], report)) for metric in metrics)
    note = "Over all records of the split. Intervals are given for the measure behind a system's headline scores."
    note = " ".join([note, *signs(report, rows)])
    return Grid("", split, "", "Measure", columns, tuple(rows), note)
