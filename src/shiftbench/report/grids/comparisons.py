"""Ranks, and the paired tests behind them."""

from __future__ import annotations

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, count_text, metric_digits, of_difference, p_text
from shiftbench.report.grid import NONE, Cell, Column, Grid, Row
from shiftbench.report.grids.cells import directed, heading, system_row
from shiftbench.report.view import clean, enough, metric_title, separated, split_title, testable
from shiftbench.scores.metric import METRICS, in_order
from shiftbench.scores.score import SUBSETS


def ranks(report: Report, split: str) -> Grid:
    """A row for each system and subset: side by side, the subsets of all metrics would be wider than any page."""
    found = {(rank.system, rank.subset, rank.metric): rank.rank for rank in report.ranks if rank.split == split}
    metrics = in_order({metric for *_, metric in found})
    places = {(system, subset) for system, subset, _ in found}
    titles = [directed(METRICS[metric], metric_title(METRICS[metric], report)) for metric in metrics]
    columns = [Column("Subset", numeric=False), *map(Column, titles)]
    rows = tuple(
        system_row(
            system, [Cell(title), *(Cell(count_text(found.get((system.name, subset, name)))) for name in metrics)]
        )
        for subset, title in SUBSETS.items()
        for system in report.systems
        if (system.name, subset) in places
    )
    note = "1 + the number of systems that an adjusted paired test finds better: where it is 1, none is found better."
    return Grid("ranks", split, f"Ranks ({split_title(split)})", "System", tuple(columns), rows, note)


def pairs(report: Report, split: str) -> Grid:
    """A row for each paired comparison of two systems by a score in a subset."""
    rows = []
    for entry in report.comparisons:
        if entry.split != split or not enough(report, entry):
            continue
        metric = METRICS[entry.metric]
        digits = of_difference(metric_digits(report, metric, split))
        first, second = clean(entry.a), clean(entry.b)
        winner = first if (entry.difference < 0) == (metric.better == "min") else second
        cells = (
            Cell(SUBSETS[entry.subset]),
            Cell(heading(metric, digits, report)),
            Cell(count_text(entry.n)),
            Cell(*digits.cell(entry.difference, low=entry.low, high=entry.high)),
            Cell(p_text(entry.p)),
            Cell(p_text(entry.p_adjusted)),
            Cell(f"{winner} is better" if separated(report, entry) else entry.no_interval or MISSING),
        )
        rows.append(Row(f"{first} − {second}", cells))
    columns = (
        Column("Subset", numeric=False),
        Column("Score", numeric=False),
        Column("Records"),
        Column("Difference"),
        Column("p"),
        Column("p adjusted"),
        Column("Reading", numeric=False),
    )
    methods = ", ".join(sorted({entry.adjusted_by for entry in report.comparisons if entry.split == split}))
    note = (
        "Paired: the difference on the records that both answer. "
        f"The adjusted p allows for the number of comparisons by one score in one subset ({clean(methods)})."
    )
    if any(row.cells[-1] == NONE for row in rows):
        why = "the two cannot be told apart" if testable(report, split) else "there are too few replicates to tell"
        note += f" {MISSING}: {why}."
    title = f"Paired comparisons ({split_title(split)})"
    return Grid("comparisons", split, title, "First − second", columns, tuple(rows), note)
