"""All tables of a report, in reading order."""

from __future__ import annotations

from dataclasses import replace

from shiftbench.metrics.regression import LEVELS
from shiftbench.report.content import Report
from shiftbench.report.grid import Grid
from shiftbench.report.grids import calibration, comparisons, measures, scores, shift, slices, systems
from shiftbench.report.view import once, worded


@once
def grids(report: Report) -> list[Grid]:
    """All tables of a report that are not empty, in reading order."""
    found = [scores.by_split(report), systems.about(report), systems.counts(report), systems.costs(report)]
    for split in report.splits:
        tables = {kind: scores.of_kind(report, split, kind) for kind in scores.SCORES}
        found += [
            *(tables.pop(kind) for kind in ("answers", "calibration")),
            calibration.regions(report, split, "conformal"),
            calibration.regions(report, split, "conformal_size"),
            shift.moved(report, split),
            *tables.values(),
            *scores.by_part(report, split),
            comparisons.ranks(report, split),
            measures.by_measure(report, split),
            *measures.length(report, split),
            slices.decomposition(report, split),
            slices.by_slice(report, split),
            calibration.by_slice(report, split),
            *(calibration.regions_by_slice(report, split, level) for level in LEVELS),
            comparisons.pairs(report, split),
        ]
    return [_worded(grid, report) for grid in found if grid.rows and grid.columns]


def _worded(grid: Grid, report: Report) -> Grid:
    """A table with the report's word for its records."""
    columns = tuple(
        replace(column, title=worded(column.title, report), group=worded(column.group, report))
        for column in grid.columns
    )
    title, label, note = (worded(text, report) for text in (grid.title, grid.label, grid.note))
    return replace(grid, title=title, label=label, note=note, columns=columns)
