"""Rows of tables: the systems of the paper, those of our runs, and their correspondence."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from shiftbench.errors import TableError, UnknownNameError
from shiftbench.report.content import Report
from shiftbench.report.view import clean
from shiftbench.scores.score import Score
from shiftbench.track.paper import run
from shiftbench.track.paper.printed import values
from shiftbench.tracks.weather.partitions import CANONICAL, EXPERIMENTS
from shiftbench.tracks.weather.schema import TRACK

TASKS = ("regression", "classification")
PAPERS = {"v1": "Shifts 1.0 arXiv v1", "full": "Shifts 1.0 full paper"}


@dataclass(frozen=True)
class PaperSystem(run.PaperSystem):
    """A system of the paper, with the names used in its printed results."""

    @property
    def title(self) -> str:
        """The name in words: "FT-Transformer MC dropout"; the combination exists only as an ensemble."""
        kind = "" if "+" in self.model else WORDS.get(self.ensemble, self.ensemble)
        return f"{self.model} {kind}".rstrip()


WORDS = {"mcdp": "MC dropout", "none": ""}
SLOTS = {
    ("likelihood_boosting", True): PaperSystem("CatBoost", "single"),
    ("likelihood_boosting", False): PaperSystem("CatBoost", "ensemble"),
    ("ft_transformer", True): PaperSystem("FT-Transformer", "single"),
    ("ft_transformer", False): PaperSystem("FT-Transformer", "ensemble"),
    ("mc_dropout", False): PaperSystem("FT-Transformer", "mcdp"),
    ("combination", False): PaperSystem("CatBoost+FT-Transformer", "ensemble"),
    ("majority", False): PaperSystem("majority class", "none"),
}


@dataclass(frozen=True)
class Run(run.Run):
    """A report of this track.

    Members of TabM, of dropout and of a combination are not models that are trained alone: the paper has none of them.
    """

    known = SLOTS

    @property
    def experiment(self) -> str:
        """The letter of the training set in Table 12."""
        return clean(self.track.get("experiment") or CANONICAL)

    @property
    def data(self) -> tuple[object, ...]:
        """A key shared by runs on the same records."""
        return (*super().data, self.experiment)


def of(reports: Iterable[Report]) -> list[Run]:
    """The reports from which tables can be made, under unique names.

    Raises:
        TableError: if there is none, or some belong to another track or to an experiment that is not in the paper.
    """
    runs = run.of_track(reports, Run, track=TRACK, tasks=TASKS)
    if wrong := [entry for entry in runs if entry.experiment not in EXPERIMENTS]:
        known = ", ".join(EXPERIMENTS)
        raise TableError(
            *(
                f"{entry.name}: expected an experiment among {known}, found {entry.experiment!r}. Prepare again."
                for entry in wrong
            )
        )
    return runs


def printed(number: str, *, version: str = "full") -> pl.DataFrame:
    """The printed values of one weather table, such as "Table 9", as in `shiftbench.track.published.results`.

    Args:
        number: "Table 9".
        version: "v1" for the first version of the paper, "full" for the full paper (all its readings).

    Raises:
        UnknownNameError: if there is no such version, or no values of this table.
    """
    if version not in PAPERS:
        raise UnknownNameError("version of the paper", version, PAPERS)
    return values(number, track=TRACK, paper=PAPERS[version])


def turned(score: Score) -> Score:
    """A ROC-AUC of the same values with the other sign: 1 - x."""
    ends = [None if end is None else 1.0 - end for end in (score.high, score.low)]
    return replace(score, value=1.0 - score.value, low=ends[0], high=ends[1])
