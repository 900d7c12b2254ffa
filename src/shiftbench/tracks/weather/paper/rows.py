"""What stands in a row: the systems of the paper, the systems of one's own runs, and which belong together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from shiftbench import published
from shiftbench.errors import TableError, UnknownNameError
from shiftbench.paper import run
from shiftbench.report.content import Report, Score
from shiftbench.report.view import clean

TASKS = ("regression", "classification")
PAPERS = {"v1": "Shifts 1.0 arXiv v1", "full": "Shifts 1.0 full paper"}
TRACK, EXPERIMENTS = "weather", ("A", "B", "C", "D")
FIRST = "A"  # the experiment of the canonical partition


@dataclass(frozen=True)
class Slot(run.Slot):
    """A system of the paper, as its printed results name it."""

    @property
    def title(self) -> str:
        """The system in words: "FT-Transformer MC dropout"; the combination comes as an ensemble only."""
        kind = "" if "+" in self.model else WORDS.get(self.ensemble, self.ensemble)
        return f"{self.model} {kind}".rstrip()


WORDS = {"mcdp": "MC dropout", "none": ""}
SLOTS = {
    ("boosting", True): Slot("CatBoost", "single"),
    ("boosting", False): Slot("CatBoost", "ensemble"),
    ("ft_transformer", True): Slot("FT-Transformer", "single"),
    ("ft_transformer", False): Slot("FT-Transformer", "ensemble"),
    ("mc_dropout", False): Slot("FT-Transformer", "mcdp"),
    ("combination", False): Slot("CatBoost+FT-Transformer", "ensemble"),
    ("majority", False): Slot("majority class", "none"),
}


@dataclass(frozen=True)
class Run(run.Run):
    """A report of this track.

    Members of TabM, of dropout and of a combination are not models that one would train alone: they have no slot.
    """

    known = SLOTS

    @property
    def experiment(self) -> str:
        """The training set by its letter in Table 12."""
        return clean(self.track.get("experiment") or FIRST)

    @property
    def data(self) -> tuple[object, ...]:
        """What runs on the same records share."""
        return (*super().data, self.experiment)


def _foreign(report: Report) -> list[str]:
    """Why a report has no place in this track's tables; runs on tables of one's own have one."""
    found = Run(report.title, report)
    name = found.track.get("name", TRACK)
    if name != TRACK:
        return [
            f"{clean(report.title)}: expected a run of the track {TRACK}, found one of {clean(name)!r}. Leave it out."
        ]
    if found.experiment not in EXPERIMENTS:
        known = ", ".join(EXPERIMENTS)
        return [
            f"{clean(report.title)}: expected an experiment among {known}, found {found.experiment!r}. Prepare again."
        ]
    return []


def of(reports: Iterable[Report]) -> list[Run]:
    """The reports that tables can be made of, under names that tell them apart.

    Raises:
        TableError: if there is none, or some are of another track or of an experiment that the paper does not have.
    """
    every = list(reports)
    if problems := [problem for report in every for problem in _foreign(report)]:
        raise TableError(*problems)
    usable = [report for report in every if report.task in TASKS]
    if not usable:
        found = ", ".join(sorted({report.task for report in every})) or "no report"
        raise TableError(
            f"expected a report of regression or classification, found: {found}. Name a run of this track."
        )
    return [Run(name, report) for name, report in zip(run.names(usable), usable, strict=True)]


def printed(number: str, *, version: str = "full", task: str | None = None, dataset: str | None = None) -> pl.DataFrame:
    """The printed values of one weather table, "Table 9" say, as in `shiftbench.published.results`.

    Args:
        number: "Table 9".
        version: "v1" for the first version of the paper, "full" for the full paper (all its readings).
        task, dataset: only those.

    Raises:
        UnknownNameError: if there is no such version, or no values of this table.
    """
    if version not in PAPERS:
        raise UnknownNameError("version of the paper", version, PAPERS)
    every = published.results(track="weather", task=task, dataset=dataset)
    every = every.filter(pl.col("source").str.starts_with(PAPERS[version]))
    own = pl.col("source").str.split(", ").list.last()
    found = every.filter(own == number)
    if found.is_empty():
        raise UnknownNameError("table", number, every.select(own.unique()).to_series())
    return found


def turned(score: Score) -> Score:
    """A ROC-AUC of the same values with the other sign: 1 - x."""
    ends = [None if end is None else 1.0 - end for end in (score.high, score.low)]
    return replace(score, value=1.0 - score.value, low=ends[0], high=ends[1])
