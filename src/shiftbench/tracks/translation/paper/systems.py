"""The paper's systems, its printed values, and runs beside them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

import polars as pl

from shiftbench.report.content import Report
from shiftbench.track.paper import run
from shiftbench.track.paper.printed import values
from shiftbench.tracks.translation.schema import TRACK

TASK = "egleu"  # the error of the paper
PAPER, FIRST = "Shifts 1.0 full paper", "Shifts 1.0 arXiv v1"
MODEL = "Transformer-Big"


class Run(run.Run):
    """A report of this track."""

    known: ClassVar = {
        ("transformer", False): run.PaperSystem(MODEL, "ensemble"),
        ("transformer", True): run.PaperSystem(MODEL, "single"),
    }  # fmt: skip


def of(reports: Iterable[Report]) -> list[Run]:
    """The reports by the error of the paper that tables can be made of, under unique names.

    Raises:
        TableError: if there is none, or some are of another track.
    """
    return run.of_track(reports, Run, track=TRACK, tasks=(TASK,))


def printed(number: str, paper: str = PAPER) -> pl.DataFrame:
    """The printed values of one table of scores, as in `shiftbench.track.published.results`.

    Raises:
        UnknownNameError: if there are no values of this table.
    """
    return values(number, track=TRACK, paper=paper)
