"""One pipeline for every kind of data: fit, predict, make systems, score, report.

A `Study` says how its kind of data does each step. A data set is opened once, a method fitted and asked once; every task
(error) is scored from the same systems.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from shiftbench import files
from shiftbench.assessment import Options, build
from shiftbench.progress import Progress, silent
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture
from shiftbench.scored import Records, Role, Scored

MODELS = "model"  # the folder of what methods learn


@dataclass(frozen=True)
class Planned:
    """A method to be fitted: what its system is called, its role in the report, its name and its own settings."""

    name: str
    method: str
    role: Role
    settings: Mapping[str, Any]

    @property
    def place(self) -> str:
        """The name as that of a file or folder."""
        return files.name_of(self.name)


@dataclass(frozen=True)
class Fitted:
    """A fitted method: its complete settings and the folder of what it learnt.

    about: a sentence for the report. caution: a sentence if its training makes its scores doubtful.
    """

    planned: Planned
    settings: Mapping[str, Any]
    folder: Path
    about: str = ""
    caution: str = ""


class System(Protocol):
    """A prediction turned into answers and uncertainty on one evaluation set; one method can give many systems."""

    @property
    def name(self) -> str:
        """What it is called in the report."""

    @property
    def recipe(self) -> Mapping[str, Any]:
        """How it was made."""


Kind = TypeVar("Kind", bound=System)


class EvaluationSet(Protocol[Kind]):
    """Records that systems are scored on: the evaluated partitions of a data set, or a further test set."""

    @property
    def splits(self) -> Iterable[str]:
        """Names of the splits that its records fall into."""

    def score(self, systems: Sequence[Kind], split: str, task: str) -> tuple[Records, list[Scored]]:
        """Errors and uncertainty of systems on a split, by the error of a task."""

    def write(self, system: Kind, folder: Path) -> None:
        """Write what a system predicts below the folder of the run, in the form that others read."""


@dataclass(frozen=True)
class Selection:
    """Which systems a report holds.

    name: added to that of the report. compared: whether systems are compared in pairs; very many are assessed one by one.
    """

    name: str = ""
    compared: bool = True


@dataclass(frozen=True)
class Result:
    """A report that a run made, the name of its folder inside the run's, and pictures that only the track can draw.

    printed: whether it belongs on a terminal; one of very many systems does not.
    """

    name: str
    report: Report
    pictures: tuple[Picture, ...] = ()
    printed: bool = True


class Study(Protocol[Kind]):
    """A data set that is open, the methods that learn from it, and the tasks that their systems are judged by.

    tasks: name → title. planned: in the order of fitting; a method may be made of earlier ones. selections: one report
    of each for every task.
    """

    tasks: Mapping[str, str]
    planned: Sequence[Planned]
    evaluated: Sequence[EvaluationSet[Kind]]
    selections: Sequence[Selection]

    def claim(self, folder: Path) -> None:
        """Note in the run's folder what is run; refuse one of another run, whose files would be mixed with these."""

    def fit(self, planned: Planned, folder: Path, *, cores: int, progress: Progress) -> Fitted:
        """Fit a method into `folder`, or find it fitted there."""

    def systems(
        self, fitted: Sequence[Fitted], evaluated: EvaluationSet[Kind], selection: Selection, *, folder: Path,
        cores: int, progress: Progress,
    ) -> Iterator[Kind]:  # fmt: skip
        """The systems made of what each method predicts; predictions that `folder` keeps are not made again."""

    def options(self, task: str, selection: Selection, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """How the report of a task is made, with its recipe; `recipes` are those of its systems."""

    def pictures(
        self, systems: Sequence[Kind], scored: Sequence[Scored], evaluated: EvaluationSet[Kind], task: str
    ) -> tuple[list[Picture], list[str]]:
        """Pictures of records to look at, and notes on why there are none."""

    def finished(self, report: Report, task: str) -> Report:
        """The report with what only the data set knows: notes, leaks."""


def run(study: Study[Kind], folder: Path, *, cores: int = 1, progress: Progress | None = None) -> list[Result]:
    """Fit every method, predict every evaluation set, and report on every task; all is written below `folder`.

    An interrupted run continues where it stopped.

    Raises:
        ShiftbenchError: whatever is wrong with data or settings.
    """
    say = progress or silent
    study.claim(folder)
    fitted = []
    for planned in study.planned:
        say(f"fit {planned.name}", 0, 1)
        fitted.append(study.fit(planned, folder / MODELS / planned.place, cores=cores, progress=say))
    make = _Reports(study, fitted, folder, cores, say)
    return [
        result
        for selection in study.selections
        for result in (make.compared(selection) if selection.compared else make.one_by_one(selection))
    ]


@dataclass(frozen=True)
class _Reports[Kind: System]:
    """Makes the reports of fitted methods."""

    study: Study[Kind]
    fitted: Sequence[Fitted]
    folder: Path
    cores: int
    say: Progress

    def systems(self, evaluated: EvaluationSet[Kind], selection: Selection) -> Iterator[Kind]:
        return self.study.systems(
            self.fitted, evaluated, selection, folder=self.folder, cores=self.cores, progress=self.say
        )

    def options(self, task: str, selection: Selection, recipes: Mapping[str, Any]) -> Options:
        return self.study.options(task, selection, recipes, cores=self.cores)

    def compared(self, selection: Selection) -> list[Result]:
        """A report for each task, in which systems are compared on the same records."""
        splits: dict[str, list[Any]] = {task: [] for task in self.study.tasks}
        pictures: dict[str, list[Picture]] = {task: [] for task in self.study.tasks}
        notes: dict[str, list[str]] = {task: [] for task in self.study.tasks}
        recipes: dict[str, Any] = {}
        for evaluated in self.study.evaluated:
            systems = list(self.systems(evaluated, selection))
            recipes |= {system.name: dict(system.recipe) for system in systems}
            for system in systems:
                evaluated.write(system, self.folder)
            for split in evaluated.splits:
                for task in self.study.tasks:
                    records, scored = evaluated.score(systems, split, task)
                    splits[task].append((records, scored))
                    drawn, why_not = self.study.pictures(systems, scored, evaluated, task)
                    pictures[task] += drawn
                    notes[task] += why_not
        results = []
        for task, title in self.study.tasks.items():
            stage = f"assess {title}".rstrip()
            options = self.options(task, selection, recipes)
            report = self._finished(build(splits[task], options, progress=partial(self.say, stage)), task, notes[task])
            results.append(Result(task, report, tuple(pictures[task])))
        return results

    def one_by_one(self, selection: Selection) -> list[Result]:
        """A report for each task of systems that are not compared, each dropped once it is assessed."""
        parts: dict[str, list[Report]] = {task: [] for task in self.study.tasks}
        recipes: dict[str, Any] = {}
        for evaluated in self.study.evaluated:
            for system in self.systems(evaluated, selection):
                recipes[system.name] = dict(system.recipe)
                for split in evaluated.splits:
                    for task in self.study.tasks:
                        scored = evaluated.score([system], split, task)
                        parts[task].append(build([scored], self.options(task, selection, {})))
                self.say(f"assess {selection.name}", len(recipes), len(recipes))
        return [
            Result(f"{task}-{selection.name}", together(found, recipes), printed=False) for task, found in parts.items()
        ]

    def _finished(self, report: Report, task: str, notes: Sequence[str]) -> Report:
        cautions = {each.planned.name: each.caution for each in self.fitted}
        systems = tuple(replace(row, caution=cautions.get(row.name, "")) for row in report.systems)
        report = replace(report, systems=systems, warnings=(*notes, *report.warnings))
        return self.study.finished(report, task)


def together(parts: Sequence[Report], recipes: Mapping[str, Any]) -> Report:
    """Reports of single systems as one, without what is drawn of each."""
    first = parts[0]
    named = {system.name: system for part in parts for system in part.systems}
    return replace(
        first,
        systems=tuple(named.values()),
        counts=tuple(dict.fromkeys(count for part in parts for count in part.counts)),
        scores=tuple(score for part in parts for score in part.scores),
        curves=(),
        slices=(),
        parts=(),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        recipe={**first.recipe, "systems": dict(recipes)},
    )
