"""Systems, the records they are scored on, and what they cost."""

from __future__ import annotations

from shiftbench.report.content import Report
from shiftbench.report.digits import MISSING, count_text
from shiftbench.report.grid import NONE, Cell, Column, Grid, Row
from shiftbench.report.grids.cells import system_row
from shiftbench.report.style import sentence
from shiftbench.report.view import clean, measure_title, split_title, worded
from shiftbench.scores.score import SUBSETS, Cost

COST_NOTE = (
    "Times are elapsed times, with resumed and repeated parts; CPU: over all threads, processes and jobs. Memory: the "
    "most that the process and its workers on this machine held at once, or one job elsewhere, with the data; + what "
    "was added since the work began. For systems made of others, times are summed and memory is the largest. GPUs are "
    "not counted."
)
MB = 1e6


def about(report: Report) -> Grid:
    """The measure of uncertainty of each system, and what it is."""
    rows = tuple(
        system_row(
            system, [Cell(sentence(measure_title(system.measure or MISSING))), Cell(clean(system.about or MISSING))]
        )
        for system in report.systems
    )
    columns = (Column("Uncertainty", numeric=False), Column("About", numeric=False))
    return Grid("systems", "", "Systems", "System", columns, rows)


def counts(report: Report) -> Grid:
    """The records and clusters of each split and subset."""
    found = {(count.split, count.subset): count for count in report.counts}
    columns, clustered = [], any(count.clusters is not None for count in report.counts)
    subsets = [subset for subset in SUBSETS if any(key[1] == subset for key in found)]
    for subset in subsets:
        columns += [Column("Records", SUBSETS[subset])]
        columns += [Column("Clusters", SUBSETS[subset])] * clustered
    rows = []
    for split in report.splits:
        cells = []
        for subset in subsets:
            count = found.get((split, subset))
            cells += [Cell(count_text(count.records if count else None))]
            cells += [Cell(count_text(count.clusters if count else None))] * clustered
        rows.append(Row(worded(split_title(split), report), tuple(cells)))
    return Grid("counts", "", "Records scored", "Split", tuple(columns), tuple(rows))


def costs(report: Report) -> Grid:
    """A row for each system but single models; without rows if nothing was measured."""
    known = {cost.system: cost for cost in report.costs}
    columns = (
        Column("Time (s)", "Fit"),
        Column("CPU (s)", "Fit"),
        Column("Memory (MB)", "Fit"),
        Column("Time per record (ms)", "Predict"),
        Column("CPU per record (ms)", "Predict"),
        Column("Memory (MB)", "Predict"),
    )
    rows = tuple(
        system_row(system, _cost_cells(known.get(system.name)))
        for system in report.systems
        if known and system.role != "single"
    )
    return Grid("cost", "", "Cost", "System", columns, rows, COST_NOTE)


def _cost_cells(cost: Cost | None) -> list[Cell]:
    if cost is None:
        return [NONE] * 6
    each = 1000 / cost.predicted if cost.predicted else None
    return [
        _amount(cost.fit_seconds),
        _amount(cost.fit_cpu_seconds),
        _memory(cost.fit_bytes, cost.fit_added),
        _amount(cost.predict_seconds, each),
        _amount(cost.predict_cpu_seconds, each),
        _memory(cost.predict_bytes, cost.predict_added),
    ]


def _amount(value: float | None, factor: float | None = 1.0) -> Cell:
    """A number with three digits, or all before the point."""
    if value is None or factor is None:
        return NONE
    scaled = value * factor
    return Cell(f"{scaled:,.0f}" if scaled >= 100 else f"{scaled:.3g}" if scaled >= 1e-4 else "< 0.0001")


def _memory(held: int | None, added: int | None) -> Cell:
    return NONE if held is None else Cell(f"{held / MB:,.0f}", f"+{(added or 0) / MB:,.0f}")
