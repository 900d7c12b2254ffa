"""Systems of reports and of Shifts 2.0: which of ours is which of the paper's, and the cells that both fill."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from shiftbench.report.content import Report
from shiftbench.report.view import clean
from shiftbench.scores.score import Score
from shiftbench.track import published
from shiftbench.track.paper import rows, run
from shiftbench.track.paper.printed import Lookup
from shiftbench.track.paper.run import BOLD, origins
from shiftbench.track.paper.table import Cell, Column, Row
from shiftbench.tracks.lesions import schema
from shiftbench.tracks.lesions.partition import TRAIN_ON

PAPER = "Shifts 2.0"
MODELS = {"unet": "UNET", "unetr": "UNETR"}  # method → in print
AREA, OF_ONE = "ndsc_raac_reverse_mutual_information", "ndsc_raac_entropy_of_expected"


@dataclass(frozen=True)
class PaperSystem(run.PaperSystem):
    """A system of the paper."""

    dropout: str

    @property
    def title(self) -> str:
        """The system in words."""
        kind = {"single": "single", "deep_ensemble": "ensemble", "mcdp": "MC dropout"}[self.ensemble]
        return f"{self.model} {kind}" + (f", dropout {self.dropout}" if float(self.dropout) else "")

    @property
    def key(self) -> tuple[str, str, str]:
        """Its columns in print."""
        return (self.model, self.ensemble, self.dropout)


@dataclass(frozen=True)
class Run(run.Run):
    """A report of this track."""

    @cached_property
    def paper_systems(self) -> dict[str, run.PaperSystem | None]:
        """The paper's name of each system; None for systems that it does not have."""
        found: dict[str, run.PaperSystem | None] = {}
        for system in self.report.systems:
            settings = self.settings(system)
            alone = system.role == "single" or settings.get("members") == 1
            found[system.name] = _paper_system(str(settings.get("method")), settings, alone=alone)
        return found

    def alone(self, name: str) -> bool:
        """Whether a system is single networks."""
        return any(system.name == name and system.role == "single" for system in self.report.systems)

    @property
    def usual(self) -> bool:
        """Whether patients are divided as published."""
        return not self.track.get("experiment")

    @property
    def trained_on(self) -> str:
        """The only site that was learnt from; empty if there are others."""
        return clean(held(self.track.get("experiment")).get(TRAIN_ON, ""))

    @property
    def left_out(self) -> str:
        """The only site of dev_out, which was not learnt from; empty if there is none."""
        return clean(self.track.get("left_out") or "")


def _paper_system(method: str, settings: Mapping[str, object], *, alone: bool) -> PaperSystem | None:
    model, dropout = MODELS.get(method), float(str(settings.get("dropout", 0.0)))
    if model is None:
        return None
    if settings.get("ensemble") == "mc_dropout":  # print has the mean over networks, each an ensemble of its own draws
        return PaperSystem(model, "mcdp", f"{dropout:.1f}") if alone else None
    if alone:
        return PaperSystem(model, "single", f"{dropout:.1f}")
    return None if dropout else PaperSystem(model, "deep_ensemble", "0.0")


def of(reports: Iterable[Report]) -> list[Run]:
    """The reports from which tables can be made, under unique names.

    Raises:
        TableError: if there is none, or one of another track.
    """
    return run.of_track(reports, Run, track=schema.TRACK, tasks=(schema.TASK,))


def held(value: object) -> dict[str, Any]:
    """A value of a recipe that has names; else nothing."""
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A number of a recipe; else None."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def ours(runs: Sequence[Run]) -> str:
    """A caption on the source of our numbers."""
    return origins(runs) if runs else "No run has them."


def lesion_counts(found: Mapping[str, Any]) -> dict[str, int]:
    """Connectivity → lesions of a part, the smallest first."""
    counts = held(found.get("lesions"))
    known = [name for name, count in counts.items() if name.isdecimal() and number(count) is not None]
    return {name: int(counts[name]) for name in sorted(known, key=int)}


# --- lines of scores -------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """A row before its cells are filled. key: of its printed values, before the place of a column; None without any.

    single: whether it is of single networks, whose areas are by entropy.
    """

    row: Row
    run: Run | None = None
    key: tuple[str, ...] | None = None
    single: bool = False

    def score(self, column: Column) -> tuple[Run, Score] | None:
        """Our score for a column, and whose it is."""
        if self.run is None:
            return None
        metric = OF_ONE if column.metric == AREA and self.single else column.metric
        found = self.run.score(self.row.own, (column.dataset, column.subset, metric))
        return None if found is None else (self.run, found)


def filled(
    lines: Sequence[Line], columns: Sequence[Column], printed: Lookup
) -> tuple[tuple[Row, ...], tuple[tuple[Cell, ...], ...]]:
    """The rows of lines and their cells; lines without any printed value or score of ours are left out."""
    scores = [[line.score(column) for column in columns] for line in lines]
    kept = [at for at, line in enumerate(lines) if line.key is not None or any(scores[at])]
    lines, scores = [lines[at] for at in kept], [scores[at] for at in kept]
    values = [
        [() if line.key is None else printed.get((*line.key, *column.place), ()) for column in columns]
        for line in lines
    ]
    return tuple(line.row for line in lines), rows.cells(columns, scores, values)


def notes(cells: Sequence[Sequence[Cell]]) -> Iterator[str]:
    """What bold numbers, ± and brackets mean, where there are any."""
    every = [cell for row in cells for cell in row]
    if any(cell.best for cell in every):
        yield BOLD
    if any(cell.std is not None for cell in every):
        yield "± is the standard deviation over networks; of MC dropout over networks, each with draws of its own."
    if any(cell.low is not None for cell in every):
        yield "Brackets hold confidence intervals, by patient."


def flags(letters: dict[str, str]) -> list[str]:
    """What the letters after printed values mean."""
    meanings = published.flags()
    return [f"{letter} {meanings[flag]}" for flag, letter in letters.items()]
