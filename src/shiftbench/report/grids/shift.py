"""What shifted: the features whose distribution moved most."""

from __future__ import annotations

from shiftbench.report.content import Report
from shiftbench.report.digits import Digits
from shiftbench.report.grid import Cell, Column, Grid, Row
from shiftbench.report.grids.calibration import calibrated_on
from shiftbench.report.view import clean, finite, split_title
from shiftbench.scores.score import SUBSETS

TYPICAL = "Median, or share of the category that moved most"


def moved(report: Report, split: str) -> Grid:
    """The features whose distribution moved most."""
    share, distance = Digits(100.0, 0), Digits(1.0, 2)
    rows = tuple(
        Row(
            clean(each.feature),
            (
                Cell(distance.text(each.distance)),
                Cell(clean(each.inside)),
                Cell(clean(each.shifted)),
                Cell(share.text(each.missing_in)),
                Cell(share.text(each.missing_shifted)),
            ),
            each.kind,
        )
        for each in report.shifts
        if each.split == split
    )
    columns = (
        Column("Distance"),
        *(Column(SUBSETS[subset], TYPICAL, numeric=False) for subset in ("in", "shifted")),
        *(Column(SUBSETS[subset], "Missing (%)") for subset in ("in", "shifted")),
    )
    note = (
        "Distance: 0 is no change, 1 is no value in common (Kolmogorov-Smirnov for numbers and dates, total variation "
        f"for categories; missing values count). {separation_text(report, split)}"
    ).rstrip()
    return Grid("moved", split, f"What shifted ({split_title(split)})", "Feature", columns, rows, note)


def separation_text(report: Report, split: str) -> str:
    """How well a classifier tells shifted records from those of calibration; "" if unknown."""
    for each in report.separations:
        if (each.split, each.subset) == (split, "shifted") and finite(each.roc_auc):
            others = "dev_in" if calibrated_on(report) == "dev_in" else "the calibration records"
            share = f"{100 * each.roc_auc:.0f} %"
            return f"A classifier of all features tells shifted records from {others} with a ROC-AUC of {share}."
    return ""
