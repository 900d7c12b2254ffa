"""The systems of the paper, its printed values, and one's own runs beside them.

A run has several reports: one by cNLL, one by weightedADE, and perhaps one of every number of members and aggregation.
Together they are a `Bundle`, in which a score is looked up whichever report holds it.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from shiftbench.report.content import Report
from shiftbench.report.view import clean
from shiftbench.scores.score import Score, System
from shiftbench.track.paper import run
from shiftbench.track.paper.printed import values
from shiftbench.tracks.motion.submissions.scoring import ERRORS

TRACK = "motion"
PAPER, FIRST = "Shifts 1.0 full paper", "Shifts 1.0 arXiv v1"
MODELS = {"cloning": "RIP-BC", "imitative": "RIP-DIM"}  # method → model in print
BACKBONES = tuple(MODELS.values())
SHARED = ("min_ade", "avg_ade", "top1_ade", "weighted_ade", "min_fde", "avg_fde", "top1_fde", "weighted_fde", "cnll")
"""Scores that stand in every report of a run, whichever error it is by."""

MC_DROPOUT = "mc_dropout"
ENSEMBLES = {
    "deep": "deep_ensemble", "single": "deep_ensemble", "dropout": "dropout_ensemble", MC_DROPOUT: MC_DROPOUT,
}  # fmt: skip
"""Kind of an ensemble → in print, where `mc_dropout`, K sets of masks of one network, does not occur."""


@dataclass(frozen=True)
class PaperSystem(run.PaperSystem):
    """A system of the paper: robust imitative planning over K members with an aggregation of their scores."""

    aggregation: str
    k: int

    @property
    def title(self) -> str:
        """The system in words."""
        kind = "MC dropout (one network)" if self.ensemble == MC_DROPOUT else self.ensemble.removesuffix("_ensemble")
        return f"{self.model} {kind} {self.aggregation} K={self.k}"


@dataclass(frozen=True)
class Run(run.Run):
    """A report of this track."""

    @cached_property
    def paper_systems(self) -> dict[str, run.PaperSystem | None]:
        """The paper's name of each system; None for systems that it does not have: other models and aggregations.

        Single models have rows of their own only where the recipe has them: they are K = 1.
        """
        named = self.report.recipe.get("systems")
        own = named if isinstance(named, dict) else {}
        kept = [system for system in self.report.systems if system.role != "single" or system.name in own]
        return {system.name: self._paper_system(system) for system in kept}

    def score(self, system: str, place: tuple[str, str, str], measure: str = "") -> Score | None:
        """The score of a system; of the report's own error it is the mean error."""
        dataset, subset, metric = place
        named = "mean_error" if metric == self.report.task else metric
        return super().score(system, (dataset, subset, named), measure)

    def _paper_system(self, system: System) -> PaperSystem | None:
        settings = self.settings(system)
        model, ensemble = MODELS.get(str(settings.get("method"))), str(settings.get("ensemble", "deep"))
        members = 1 if ensemble == "single" else settings.get("members")
        if model is None or ensemble not in ENSEMBLES or not isinstance(members, int):
            return None
        if ensemble == "dropout" and settings.get("networks", 1) != members:
            ensemble = MC_DROPOUT  # the one kind of version 0.10 and before, whose recipes do not count networks
        return PaperSystem(model, ENSEMBLES[ensemble], str(settings.get("aggregation")), members)


@dataclass(frozen=True)
class Line:
    """A system of print, or one of a bundle that print does not have, by its name there."""

    paper_system: PaperSystem | None
    own: str = ""


@dataclass(frozen=True)
class Bundle:
    """The reports of one run, under a name that no other run has."""

    name: str
    runs: tuple[Run, ...]

    def named(self, line: Line, task: str | None = None) -> Iterator[tuple[Run, str]]:
        """Each run with a system, and its name there, in the reports of one error or of all errors."""
        for entry in self.runs:
            if task in (None, entry.report.task):
                names = (
                    entry.named(line.paper_system)
                    if line.paper_system
                    else [line.own]
                    if line.own in entry.paper_systems
                    else []
                )
                yield from ((entry, name) for name in names)

    def score(self, line: Line, place: tuple[str, str, str], task: str | None) -> tuple[Run, Score] | None:
        """The first score of a system at a place (dataset, subset, metric), and the report that holds it."""
        found = ((entry, entry.score(name, place)) for entry, name in self.named(line, task))
        return next(((entry, score) for entry, score in found if score is not None), None)

    def lines(self) -> list[Line]:
        """All systems, each once: those of the paper by that, all others by name."""
        every = (
            Line(paper_system, "" if paper_system else name)
            for entry in self.runs
            for name, paper_system in _paper_systems(entry)
        )
        return list(dict.fromkeys(every))

    def report(self, task: str) -> Run | None:
        """The first report by an error, with curves if any has them."""
        mine = [entry for entry in self.runs if entry.report.task == task]
        return next((entry for entry in mine if entry.report.curves), mine[0] if mine else None)


def _paper_systems(entry: Run) -> Iterator[tuple[str, PaperSystem | None]]:
    for name, paper_system in entry.paper_systems.items():
        yield name, paper_system if isinstance(paper_system, PaperSystem) else None


def of(reports: Iterable[Report]) -> list[Bundle]:
    """The runs that tables can be made of: reports on the same records and of the same preset together.

    Reports that say different things of one system are of two runs, whatever else they share.

    Raises:
        TableError: if there is no report by cNLL or weightedADE, or some are of another track.
    """
    groups: list[tuple[str, dict[_Key, float], list[Run]]] = []
    for entry in run.of_track(reports, Run, track=TRACK, tasks=tuple(ERRORS)):
        data = [[count.split, count.subset, count.records] for count in entry.report.counts]
        recipe = entry.report.recipe
        key = json.dumps([entry.track, data, recipe.get("seed"), recipe.get("manifest")], sort_keys=True, default=str)
        values = _values(entry)
        same = (group for group in groups if group[0] == key and _agree(group[1], values))
        name, known, runs = next(same, (key, {}, []))
        if not runs:
            groups.append((name, known, runs))
        known.update(values)
        runs.append(entry)
    names = [_name(group) for *_, group in groups]
    return [
        Bundle(name if names.count(name) == 1 else f"{name} ({names[: at + 1].count(name)})", tuple(group))
        for at, (name, (*_, group)) in enumerate(zip(names, groups, strict=True))
    ]


_Key = tuple[str, str, str, str]


def _values(entry: Run) -> dict[_Key, float]:
    """Scores all reports of a run must agree on, whichever error they are of."""
    titles = {name: entry.title(name) for name in entry.paper_systems}
    return {
        (titles[score.system], score.split, score.subset, score.metric): score.value
        for score in entry.report.scores
        if score.metric in SHARED and score.system in titles
    }


def _agree(one: dict[_Key, float], other: dict[_Key, float]) -> bool:
    pairs = ((one[key], other[key]) for key in one.keys() & other.keys())
    return all(math.isclose(a, b, rel_tol=1e-9) or math.isnan(a) or math.isnan(b) for a, b in pairs)


def _name(runs: Sequence[Run]) -> str:
    """The common beginning of the titles of a run's reports, or the first title."""
    titles = [clean(entry.report.title) for entry in runs]
    words = [title.split() for title in titles]
    shared = (
        [column[0] for column in zip(*words, strict=False) if len(set(column)) == 1] if len(words) > 1 else words[0]
    )
    prefix = " ".join(shared).rstrip(" ,:·-–—(")
    return prefix if prefix and all(title.startswith(prefix) for title in titles) else titles[0]


def error_of(metric: str) -> tuple[str, str | None]:
    """The metric of a report that print calls so, and by which error: r_auc_cnll → (r_auc, cnll); None: by any."""
    for task in ERRORS:
        if metric.endswith(f"_{task}"):
            return metric.removesuffix(f"_{task}"), task
    return metric, None


def printed(number: str, *, paper: str = PAPER) -> pl.DataFrame:
    """The printed values of one table of scores, "Table 20" say, as in `shiftbench.track.published.results`.

    paper: PAPER, or FIRST for the first version, which numbers its tables otherwise.

    Raises:
        UnknownNameError: if there are no values of this table.
    """
    return values(number, track=TRACK, paper=paper)
