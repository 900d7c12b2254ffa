"""All tables: main results (8 to 11), training on other sites (4, 5), and patients (6, 7, 12 to 15)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from shiftbench.metrics.segmentation.correlation import KINDS
from shiftbench.report.content import Report
from shiftbench.report.view import clean
from shiftbench.track.paper.printed import columns, lookup, marks, values
from shiftbench.track.paper.table import Row, Table
from shiftbench.tracks.lesions import schema
from shiftbench.tracks.lesions.paper import patients, sites
from shiftbench.tracks.lesions.paper.systems import AREA, PAPER, Line, PaperSystem, Run, filled, flags, notes, of, ours

KEYS = ("model", "ensemble", "dropout", "dataset", "subset", "metric")  # of a cell in print
CORRELATIONS = "Table 8"
TABLES = {
    CORRELATIONS: (
        "Scores and the volume of lesions",
        "DSC and nDSC, and their correlation with the volume of a patient's lesions. In print it is Spearman's by the "
        "text and Pearson's by the caption; both of ours stand beside it.",
    ),
    "Table 9": ("Segmentation", "nDSC, a mean over patients."),
    "Table 10": ("Lesions", "Lesion F1, a mean over patients; connectivity 6, IoU 0.25, as in the published code."),
    "Table 11": (
        "Errors and uncertainty of voxels jointly",
        "Areas above the nDSC retention curves, by reverse mutual information; of single networks by entropy.",
    ),
}


def tables(reports: Iterable[Report]) -> list[Table]:
    """Tables 4 to 15 of Shifts 2.0, in order. Runs that learn from other sites than usual are in Tables 4 and 5 alone.

    Raises:
        TableError: if there is no report of this track, or one of another.
    """
    runs = of(reports)
    usual = [each for each in runs if each.usual]
    return [
        *sites.tables(runs), *patients.of_data(usual), *(_main(number, usual) for number in TABLES),
        *patients.of_sexes(usual),
    ]  # fmt: skip


def printed(number: str) -> pl.DataFrame:
    """The printed values of a table, with the names of subsets and scores as in reports."""
    frame = values(number, track=schema.TRACK, paper=PAPER)
    frame = frame.with_columns(
        subset=pl.col("subset").replace("out", "shifted"), metric=pl.col("metric").replace("r_auc", AREA)
    )
    return _correlations(frame) if number == CORRELATIONS else frame


def _correlations(frame: pl.DataFrame) -> pl.DataFrame:
    """Table 8 with its system named as elsewhere, and with every correlation twice, as print gives it two names."""
    name, correlated = pl.col("metric"), pl.col("metric").str.extract("^corr_(.+)_lesion_load$")
    frame = frame.with_columns(
        ensemble=pl.col("ensemble").replace("ensemble", "deep_ensemble"), dropout=pl.lit("0.0"),
        unit=pl.col("unit").fill_null(""),
    )  # fmt: skip
    each = [frame.with_columns(metric=pl.coalesce(correlated + f"_load_{kind}", name)) for kind in KINDS]
    return pl.concat(each).unique(maintain_order=True)


def _main(number: str, runs: Sequence[Run]) -> Table:
    frame, (title, caption) = printed(number), TABLES[number]
    heads = columns(frame)
    rows, cells = filled([*_lines(runs, frame)], heads, lookup(frame, KEYS))
    letters = marks(value for row in cells for cell in row for value in cell.printed)
    return Table(
        number, PAPER, title, f"{caption} {ours(runs)}", "System", rows, heads, cells, task=schema.TASK,
        notes=(*notes(cells), *flags(letters)), marks=letters,
    )  # fmt: skip


def _lines(runs: Sequence[Run], frame: pl.DataFrame) -> Iterator[Line]:
    """The systems of print in its order, filled by each run that has them, then all others."""
    for names in frame.select("model", "ensemble", "dropout").unique(maintain_order=True).iter_rows():
        paper_system = PaperSystem(*names)
        single = paper_system.ensemble == "single"
        own = [
            Line(Row(paper_system.title, name, run.name), run, paper_system.key, single)
            for run in runs
            for name in run.named(paper_system)
        ]
        yield from own or [Line(Row(paper_system.title), key=paper_system.key)]
    for run in runs:
        for name, taken in run.paper_systems.items():
            if taken is None:
                yield Line(Row(clean(name), name, run.name), run, single=run.alone(name))
