"""The paper's systems, its printed values, and runs beside them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from shiftbench.report.content import Report
from shiftbench.track.paper import run
from shiftbench.track.paper.printed import values
from shiftbench.tracks.power.schema import TRACK

TASK, SOURCE = "regression", "Shifts 2.0"
REAL = "real"
SPLITS = ("dev", "eval", "generalization")
SPLIT_NAMES = {"gen": "generalization"}  # printed abbreviations, and names in reports
MEMBERS = 10  # members of a deep ensemble in the paper
UNIT = "kW"


@dataclass(frozen=True)
class PaperSystem(run.PaperSystem):
    """A system of the paper: a single model, one with samples, or an ensemble of ten."""

    @property
    def title(self) -> str:
        """The system in words, with members × samples if one member alone is called an ensemble."""
        counts = " (1 × 10)" if self.model in SAMPLED and self.ensemble == "ensemble" else ""
        return f"{self.model} {self.ensemble.replace('_', ' ')}{counts}"


@dataclass(frozen=True)
class Model:
    """A model of the paper: its method, its ensemble of ten, and one of the ten alone."""

    name: str
    method: str
    ensemble: PaperSystem
    single: PaperSystem


SAMPLED = ("MC dropout", "VI")
MODELS = (
    Model("DNN", "mlp", PaperSystem("DNN", "ensemble"), PaperSystem("DNN", "single")),
    Model(
        "MC dropout", "mlp_dropout", PaperSystem("MC dropout", "deep_ensemble"), PaperSystem("MC dropout", "ensemble")
    ),
    Model("VI", "mlp_flipout", PaperSystem("VI", "deep_ensemble"), PaperSystem("VI", "ensemble")),
    Model("Symbolic", "symbolic", PaperSystem("Symbolic", "ensemble"), PaperSystem("Symbolic", "single")),
)


@dataclass(frozen=True)
class Run(run.Run):
    """A report of this track."""

    known = {(model.method, False): model.ensemble for model in MODELS} | {
        (model.method, True): model.single for model in MODELS
    }

    @property
    def kind(self) -> str:
        """The paper's data to compare with: "real" for a run on these, else "synthetic"."""
        return REAL if self.origin == f"official, {REAL}" else "synthetic"

    @property
    def comparable(self) -> bool:
        """Whether its errors have the printed unit."""
        return self.report.target_unit in ("", UNIT)


def of(reports: Iterable[Report]) -> list[Run]:
    """The reports that tables can be made of, under unique names.

    Raises:
        TableError: if there is none, or some are of another track.
    """
    return run.of_track(reports, Run, track=TRACK, tasks=(TASK,))


def printed(number: str) -> pl.DataFrame:
    """The printed values of one table of scores, "Table 23" say, as in `shiftbench.track.published.results`.

    Datasets have the names and order of the splits of reports.

    Raises:
        UnknownNameError: if there are no values of this table.
    """
    found = values(number, track=TRACK, paper=SOURCE)
    found = found.with_columns(pl.col("dataset").replace(SPLIT_NAMES))
    return found.sort(
        pl.col("dataset").replace_strict({split: k for k, split in enumerate(SPLITS)}), maintain_order=True
    )
