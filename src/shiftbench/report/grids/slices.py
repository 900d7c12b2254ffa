"""Where errors come from: the parts of an R-AUC, and slices of the records."""

from __future__ import annotations

import math
import re

from shiftbench.report.content import Report
from shiftbench.report.digits import Digits, count_text, digits_of, half_width, metric_digits
from shiftbench.report.grid import NONE, Cell, Column, Grid, Row
from shiftbench.report.grids.cells import bracketed, gap_note, system_row
from shiftbench.report.view import clean, lead, marked, split_title, too_few
from shiftbench.scores.intervals import FEWEST
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import Part, Slice

_MERGED = re.compile(r"other \([\d,]+ groups?[,)]")  # see `assessment.slicing`
PARTS = {
    "level_in": "Error level, in-domain",
    "level_shift": "Error level, added by the shift",
    "ranking_in": "Ranking, in-domain",
    "ranking_shifted": "Ranking, shifted",
    "ranking_between": "Ranking, between the two",
}


def part_names(report: Report, split: str) -> dict[str, str]:
    """The parts of an R-AUC that this report has for a split, in reading order, with their titles."""
    found = {part.name for part in report.parts if part.split == split}
    if "level_shift" in found:
        return {name: title for name, title in PARTS.items() if name in found}
    # Without shifted records the subset is not called in-domain.
    return {name: title.removesuffix(", in-domain") for name, title in PARTS.items() if name in found}


def part_digits(report: Report, split: str) -> Digits:
    """The format of the parts of the R-AUCs of one split: that of the R-AUC itself."""
    return metric_digits(report, METRICS["r_auc"], split)


def worst_first(report: Report, split: str) -> list[Slice]:
    """The slices of the leading system (or of the first that has any), largest mean error first."""
    slices = [entry for entry in report.slices if entry.split == split]
    front = lead(report)
    names = [entry.system for entry in slices]
    name = front.name if front is not None and front.name in names else next(iter(names), "")
    mine = [entry for entry in slices if entry.system == name]
    return sorted(mine, key=lambda entry: -entry.mean_error if math.isfinite(entry.mean_error) else math.inf)


def slice_digits(report: Report, split: str) -> Digits:
    """The format of the mean errors of the slices of one split."""
    entries = [entry for entry in report.slices if entry.split == split]
    values = [entry.mean_error for entry in entries]
    widths = [half_width(entry.low, entry.high) for entry in entries]
    return digits_of(values, widths, unit=clean(report.error_unit) if report.error_unit else "")


def decomposition(report: Report, split: str) -> Grid:
    """The parts that the R-AUC of each system is the sum of."""
    parts = [part for part in report.parts if part.split == split and not too_few(report, split)]
    names, digits = part_names(report, split), part_digits(report, split)
    rows = tuple(
        system_row(system, _part_cells([part for part in parts if part.system == system.name], list(names), digits))
        for system in report.systems
        if any(part.system == system.name for part in parts)
    )
    columns = (*(Column(title) for title in names.values()), Column(f"Sum = R-AUC{bracketed(digits.unit)}"))
    note = (
        "Level: what a random order would give. Ranking: what the order by uncertainty adds; "
        "the further below zero, the better the uncertainty ranks the errors."
    )
    if "level_shift" in names:
        note += (
            f" {PARTS['level_shift']}: the level of all records minus that of the in-domain ones, so it depends on the "
        )
        note += "mix of records and grows with the share of shifted ones."
    note = " ".join([note, *gap_note(report, [split], dict.fromkeys(part.system for part in parts))])
    title = f"Where the R-AUC comes from ({split_title(split)})"
    return Grid("parts", split, title, "System", columns, rows, note)


def _part_cells(parts: list[Part], names: list[str], digits: Digits) -> list[Cell]:
    values = {part.name: part.value for part in parts}
    return [Cell(digits.text(value)) for value in (*(values.get(name) for name in names), sum(values.values()))]


def by_slice(report: Report, split: str) -> Grid:
    """Error, R-AUC and share of acceptable errors by slice, worst first."""
    order = worst_first(report, split)
    found = {(entry.system, entry.column, entry.group): entry for entry in report.slices if entry.split == split}
    names = [system.name for system in report.systems if any(key[0] == system.name for key in found)]
    error, area, share = slice_digits(report, split), part_digits(report, split), Digits(100.0, 1)
    rows = []
    for entry in order:
        same = [found.get((name, entry.column, entry.group)) for name in names]
        cells = [Cell(count_text(entry.n)), Cell(share.text(entry.shifted_share))]
        cells += [Cell(*error.cell(one.mean_error, low=one.low, high=one.high)) if one else NONE for one in same]
        cells += [Cell(area.text(one.r_auc)) if one else NONE for one in same]
        cells += [Cell(share.text(one.acceptable)) if one else NONE for one in same]
        rows.append(Row(clean(f"{entry.column} = {entry.group}"), tuple(cells)))
    groups = [
        f"Mean {clean(report.error_name)} ↓{bracketed(error.unit)}",
        f"R-AUC ↓{bracketed(area.unit)}",
        "Acceptable ↑ (%)",
    ]
    columns = [Column("Number", "Records"), Column("Shifted (%)", "Records")]
    columns += [Column(clean(name), group) for group in groups for name in names]
    note = f"Sorted by the mean error of {marked(order[0].system)}." if order else ""
    if order and report.recipe.get("intervals", {}).get("resampled") == "clusters":
        note += " Intervals are by cluster."
    if len(report.splits) > 1 and any(_MERGED.match(entry.group) for entry in order):
        note += " “other (… groups)” counts the groups of all splits, of which one may have fewer."
    if any(entry.no_interval.startswith("too few") for entry in order):
        note += f" Groups of fewer than {FEWEST} clusters have no interval."
    note = " ".join([note, *gap_note(report, [split], names)])
    title = f"Slices, worst first ({split_title(split)})"
    shown = [place for place in range(len(columns)) if any(row.cells[place] != NONE for row in rows)]
    return Grid("slices", split, title, "Records with", tuple(columns), tuple(rows), note).only(shown)
