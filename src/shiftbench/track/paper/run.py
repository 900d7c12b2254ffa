"""A report as a run in a paper's tables: its name, its data, and its systems that occur in the paper."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, TypeVar

from shiftbench.errors import TableError
from shiftbench.report.content import Report
from shiftbench.report.view import bold, clean, enough
from shiftbench.scores.score import Curve, Score, System

SINGLE = " (single)"
BOLD = (
    "Bold: of a run's systems of rank 1 (no adjusted paired test finds one better), the best value and those within "
    "its interval; scores without a test, and printed ones, are never bold."
)


@dataclass(frozen=True)
class PaperSystem:
    """A system of a paper, with the names used in its printed results."""

    model: str
    ensemble: str

    @property
    def title(self) -> str:
        """The name of the system in words."""
        return f"{self.model} {self.ensemble}"


@dataclass(frozen=True)
class Run:
    """A report with the description of its data from the recipe, and a unique name among the runs of a table.

    Each track has its own subclass, which maps methods to the paper's systems: `known` has that of a method, and of its
    single models.
    """

    name: str
    report: Report
    known: ClassVar[Mapping[tuple[str, bool], PaperSystem]] = {}

    def entry(self, *names: str) -> dict[str, Any]:
        """An entry of the recipe, which anybody may have written: empty unless it is a JSON object."""
        found: object = self.report.recipe
        for name in names:
            found = found.get(name) if isinstance(found, dict) else None
        return found if isinstance(found, dict) else {}

    @cached_property
    def track(self) -> dict[str, Any]:
        """The recipe's entry on the track; empty for a run on another table."""
        return self.entry("track")

    @property
    def origin(self) -> str:
        """The source of the records: "official", or a description."""
        return clean(self.track.get("origin") or f"another table ({self.name})")

    @property
    def official(self) -> bool:
        """Whether the records are the official ones, so that printed values are comparable."""
        return self.origin.split(",")[0] == "official"

    @property
    def data(self) -> tuple[object, ...]:
        """A key shared by runs on the same records."""
        return (self.report.task, self.origin, self.report.counts)

    @cached_property
    def paper_systems(self) -> dict[str, PaperSystem | None]:
        """The system of the paper that each of ours is; None for those that do not occur there.

        Single models of a method are left out, unless the paper has them.
        """
        found = {}
        for system in self.report.systems:
            settings = self.settings(system)
            alone = system.role == "single" or settings.get("members") == 1
            paper_system = self.known.get((str(settings.get("method")), alone))
            if paper_system is not None or system.role != "single":
                found[system.name] = paper_system
        return found

    def settings(self, system: System) -> dict[str, Any]:
        """The recipe's settings of a system's method; for single models, those of their ensemble."""
        name = system.name.removesuffix(SINGLE) if system.role == "single" else system.name
        systems = self.report.recipe.get("systems")
        found = systems.get(name) if isinstance(systems, dict) else None
        return found if isinstance(found, dict) else {}

    def named(self, paper_system: PaperSystem) -> list[str]:
        """The names of our systems that are this one of the paper."""
        return [name for name, filled in self.paper_systems.items() if filled == paper_system]

    def title(self, system: str) -> str:
        """The paper's name of a system, or else its own."""
        paper_system = self.paper_systems[system]
        return paper_system.title if paper_system else system

    @cached_property
    def _scores(self) -> dict[tuple[str, ...], Score]:
        every = (score for score in self.report.scores if enough(self.report, score))
        return {(s.system, s.split, s.subset, s.metric, s.measure): s for s in every}

    def score(self, system: str, place: tuple[str, str, str], measure: str = "") -> Score | None:
        """The score of a system at a place (dataset, subset, metric), by its headline measure or by `measure`."""
        measures = (measure,) if measure else ("", self.report.measure_of(system))
        found = (self._scores.get((system, *place, name)) for name in measures)
        return next((score for score in found if score is not None), None)


AnyRun = TypeVar("AnyRun", bound=Run)


def of_track(reports: Iterable[Report], kind: type[AnyRun], *, track: str, tasks: Sequence[str]) -> list[AnyRun]:
    """The reports from which tables of a track can be made, under unique names.

    Runs on other tables are accepted, too.

    Raises:
        TableError: if there is none, or some belong to another track.
    """
    every = [kind(report.title, report) for report in reports]
    if foreign := [run for run in every if run.track.get("name", track) != track]:
        raise TableError(
            *(
                f"{clean(run.name)}: expected a run of the track {track}, found one of {clean(run.track['name'])!r}. "
                "Leave it out."
                for run in foreign
            )
        )
    usable = [run.report for run in every if run.report.task in tasks]
    if not usable:
        found = ", ".join(sorted({f"{clean(run.name)} ({run.report.task})" for run in every})) or "no report"
        raise TableError(
            f"expected a run of the track {track}, with reports of {' or '.join(tasks)}, found: {found}. Name "
            f"the folder of a `shiftbench run {track}`."
        )
    return [kind(name, report) for name, report in zip(names(usable), usable, strict=True)]


def names(reports: Sequence[Report]) -> list[str]:
    """The titles of reports, numbered if not unique."""
    titles = [clean(report.title) for report in reports]
    return [
        title if titles.count(title) == 1 else f"{title} ({titles[: place + 1].count(title)})"
        for place, title in enumerate(titles)
    ]


def groups(runs: Sequence[AnyRun]) -> list[list[AnyRun]]:
    """The runs grouped by their records."""
    found: dict[tuple[object, ...], list[AnyRun]] = {}
    for run in runs:
        found.setdefault(run.data, []).append(run)
    return list(found.values())


def merged(runs: Sequence[Run]) -> Report:
    """One report for drawing, with the systems of runs on the same records under their names in the paper."""
    systems: list[System] = []
    curves: list[Curve] = []
    for run in runs:
        suffix = f", {run.name}" if len(runs) > 1 else ""
        named = {name: run.title(name) + suffix for name in run.paper_systems}
        systems += [replace(entry, name=named[entry.name]) for entry in run.report.systems if entry.name in named]
        curves += [replace(entry, system=named[entry.system]) for entry in run.report.curves if entry.system in named]
    title = " · ".join(run.name for run in runs)
    return replace(runs[0].report, title=title, systems=tuple(systems), curves=tuple(curves))


def leaders(column: Sequence[tuple[Run, Score] | None]) -> set[int]:
    """The rows of a column that are bold in their own report; see `view.bold`."""
    found: set[int] = set()
    present = [(at, *entry) for at, entry in enumerate(column) if entry is not None]
    for run in {id(run): run for _, run, _ in present}.values():
        mine = [(at, score) for at, whose, score in present if whose is run]
        first = bold(run.report, [score for _, score in mine])
        found |= {at for at, score in mine if score.system in first}
    return found


def origins(runs: Sequence[Run]) -> str:
    """A caption on the source of our numbers, and on whether they are comparable with print."""
    texts = dict.fromkeys(
        f"{_official(run) if run.official else run.origin}"
        f"{', preset ' + str(run.track['preset']) if run.track.get('preset') else ''}"
        for run in runs
    )
    ours = f"Ours: {'; '.join(texts)}."
    if all(run.official for run in runs):
        return ours
    which = "Not the official data" if not any(run.official for run in runs) else "Not all are the official data"
    return f"{ours} {which}: printed values are shown for orientation and are not comparable with ours."


def _official(run: Run) -> str:
    """`the official data`, or a part of them such as `the official synthetic data`."""
    return " ".join(filter(None, ("the official", run.origin.removeprefix("official").strip(", "), "data")))
