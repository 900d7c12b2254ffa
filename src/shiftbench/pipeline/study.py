"""One pipeline for every kind of data: fit, predict, make systems, score, report.

A `Study` defines each step for its kind of data. A data set is opened once, and a method is fitted once and predicts
once; every task (error) is scored from the same systems.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from shiftbench import methods
from shiftbench.assessment.assess import Options, build
from shiftbench.assessment.scored import Records, Scored
from shiftbench.errors import SettingsError, UnknownNameError, quoted
from shiftbench.io import files
from shiftbench.methods import fitted_folder, workers
from shiftbench.methods.contract import Data
from shiftbench.methods.settings import MethodSettings
from shiftbench.pipeline import cost
from shiftbench.progress import Progress, of_stage, silent
from shiftbench.report.content import Report
from shiftbench.report.picture import Picture
from shiftbench.scores.score import Cost, Role, require_role

MODELS = "model"  # the folder of fitted models
CLAIM = "run.json"


@dataclass(frozen=True)
class Planned:
    """A method to be fitted: the name of its system and its role in the report, its own name and its settings.

    settings: all that the fitted model and its predictions depend on: a run's folder is refused to other settings.

    Raises:
        SettingsError: for an unknown role.
    """

    name: str
    method: str
    role: Role
    settings: Mapping[str, Any]

    def __post_init__(self) -> None:
        require_role(self.name, self.role)

    @property
    def place(self) -> str:
        """The name in a form suitable for a file or folder."""
        return files.name_of(self.name)


@dataclass(frozen=True)
class Fitted:
    """A fitted method: its complete settings and the folder of its models.

    about: a sentence for the report. caution: a sentence if its training makes its scores doubtful.
    """

    planned: Planned
    settings: Mapping[str, Any]
    folder: Path
    about: str = ""
    caution: str = ""


def stage_of_fit(planned: Planned) -> str:
    """How progress names the fit of a method and, of a registered one, what is counted."""
    try:
        return f"fit {planned.name}, {methods.method(planned.method).counts}"
    except UnknownNameError:
        return f"fit {planned.name}"


def fitted(
    planned: Planned, settings: MethodSettings, train: Data, dev: Data, folder: Path, *, evaluated: Data, cores: int,
    progress: Progress, **columns: Any,
) -> Fitted:  # fmt: skip
    """Fit a registered method to train, with dev_in for early stopping, or find it fitted in `folder`.

    evaluated: records that the sentence for the report is about. columns: features and target of tables.
    """
    method = methods.method(planned.method)
    with nullcontext() if method.role == "baseline" else cost.kept(folder, cost.FIT):
        method.fit(
            train, dev, settings=settings, folder=folder, cores=cores, **columns,
            progress=of_stage(progress, stage_of_fit(planned)),
        )  # fmt: skip
    with fitted_folder.using(folder):
        about, caution = method.about(evaluated, folder=folder), method.caution(folder=folder)
    return Fitted(planned, settings.to_dict(), folder, about, caution)


class System(Protocol):
    """Answers and uncertainty made from a prediction on one evaluation set; one method can give many systems."""

    @property
    def name(self) -> str:
        """The name of the system in the report."""

    @property
    def recipe(self) -> Mapping[str, Any]:
        """The settings it was made with."""


@dataclass(frozen=True)
class Predicted:
    """A system that is a method's predicted ensemble itself."""

    name: str
    recipe: Mapping[str, Any]
    ensemble: Any


SystemKind = TypeVar("SystemKind", bound=System)


class EvaluationSet(ABC, Generic[SystemKind]):
    """Records that systems are scored on: the evaluated partitions of a data set, or a further test set.

    splits: names of the splits that its records fall into.
    """

    splits: Iterable[str]

    @abstractmethod
    def score(
        self, systems: Sequence[SystemKind], split: str, tasks: Sequence[str]
    ) -> Mapping[str, tuple[Records, list[Scored]]]:
        """Errors and uncertainty of systems on a split, by the name of each of the tasks."""

    @abstractmethod
    def write(self, system: SystemKind, folder: Path) -> None:
        """Write a system's predictions below the folder of the run, in the format of the track."""


SetKind = TypeVar("SetKind", bound=EvaluationSet[Any])


@dataclass(frozen=True)
class Selection:
    """The systems of a report.

    name: suffix of the report's name. compared: whether systems are compared in pairs; a large number of systems is
    assessed one by one.
    """

    name: str = ""
    compared: bool = True


@dataclass(frozen=True)
class Result:
    """A report of a run, the name of its folder inside the run's, and pictures that only the track can draw.

    printed: whether it is shown in the terminal; a report of very many systems is not.
    """

    name: str
    report: Report
    pictures: tuple[Picture, ...] = ()
    printed: bool = True


class Study(ABC, Generic[SystemKind, SetKind]):
    """An open data set, the methods that learn from it, and the tasks by which their systems are scored.

    tasks: titles by name. planned: the methods in the order of fitting; a method may be composed of earlier ones.
    evaluation_sets: the records that systems are scored on. selections: the reports of each task.
    """

    tasks: Mapping[str, str]
    planned: Sequence[Planned]
    evaluation_sets: Sequence[SetKind]
    selections: Sequence[Selection] = (Selection(),)

    def claim(self, folder: Path) -> None:
        """Record the run's methods in its folder, in `run.json`; refuse the folder of a run with other methods.

        Raises:
            SettingsError: if it holds reports and models of another run.
        """
        path = folder / CLAIM
        own = json.loads(json.dumps([{"title": e.name, "name": e.method, **e.settings} for e in self.planned]))
        if path.exists() and (before := _claimed(path)) != own:
            raise SettingsError(
                f"{folder}: expected a new folder or one of the same run, found a run of "
                f"{', '.join(str(entry.get('title')) for entry in before)} with other methods or settings. Choose "
                "another --out, or --overwrite."
            )
        files.write_json(path, own)

    @abstractmethod
    def fit(self, planned: Planned, folder: Path, *, cores: int, progress: Progress) -> Fitted:
        """Fit a method into `folder`, or load it if it is already fitted there."""

    @abstractmethod
    def systems(
        self, fitted: Sequence[Fitted], records: SetKind, selection: Selection, *, folder: Path, cores: int,
        progress: Progress,
    ) -> Iterator[SystemKind]:  # fmt: skip
        """The systems made from the methods' predictions; predictions stored in `folder` are reused."""

    def cost(self, _system: SystemKind, _records: SetKind, _fitted: Sequence[Fitted]) -> Cost | None:
        """What it took to fit a system and to predict these records; None if that was not measured."""
        return None

    @abstractmethod
    def options(self, task: str, selection: Selection, recipes: Mapping[str, Any], *, cores: int) -> Options:
        """Options of the report of a task, with its recipe; `recipes` are those of its systems."""

    def pictures(
        self, _systems: Sequence[SystemKind], _scored: Sequence[Scored], _records: SetKind, _task: str
    ) -> tuple[list[Picture], list[str]]:
        """Pictures of records worth looking at, and notes on why there are none."""
        return [], []

    def finished(self, report: Report, _task: str) -> Report:
        """The report with additions that only the data set knows, such as notes and leaks."""
        return report


def run(
    study: Study[SystemKind, SetKind], folder: Path, *, cores: int = 1, progress: Progress | None = None
) -> list[Result]:
    """Fit every method, predict every evaluation set, and report on every task; output goes below `folder`.

    An interrupted run continues where it stopped.

    Raises:
        ShiftbenchError: for invalid data or settings.
    """
    say = progress or silent
    study.claim(folder)
    fitted = []
    with workers.kept():
        for planned in study.planned:
            say(stage_of_fit(planned), 0, 1)
            fitted.append(study.fit(planned, folder / MODELS / planned.place, cores=cores, progress=say))
    make = _Reports(study, fitted, folder, cores, say)
    made = [make.compared(each) if each.compared else make.one_by_one(each) for each in study.selections]
    return [results[task] for task in study.tasks for results in made]


def _claimed(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(files.read_text(path))
    except (OSError, ValueError, RecursionError) as error:
        raise SettingsError(f"{path}: expected what an earlier run noted, found: {error}. Use --overwrite.") from None
    return [entry for entry in found if isinstance(entry, dict)] if isinstance(found, list) else []


@dataclass(frozen=True)
class _Reports(Generic[SystemKind, SetKind]):
    """Makes the reports of fitted methods."""

    study: Study[SystemKind, SetKind]
    fitted: Sequence[Fitted]
    folder: Path
    cores: int
    say: Progress

    def systems(self, records: SetKind, selection: Selection) -> Iterator[SystemKind]:
        return self.study.systems(
            self.fitted, records, selection, folder=self.folder, cores=self.cores, progress=self.say
        )

    def options(self, task: str, selection: Selection, recipes: Mapping[str, Any]) -> Options:
        found = self.study.options(task, selection, recipes, cores=self.cores)
        require_tasks("Options.task", [found.task], self.study.tasks)
        return found

    def score(
        self, records: SetKind, systems: Sequence[SystemKind], split: str
    ) -> Mapping[str, tuple[Records, list[Scored]]]:
        found = records.score(systems, split, [*self.study.tasks])
        require_tasks(f"{type(records).__name__}.score", found, self.study.tasks)
        return found

    def compared(self, selection: Selection) -> dict[str, Result]:
        """A report for each task, in which systems are compared on the same records."""
        splits: dict[str, list[Any]] = {task: [] for task in self.study.tasks}
        pictures: dict[str, list[Picture]] = {task: [] for task in self.study.tasks}
        notes: dict[str, list[str]] = {task: [] for task in self.study.tasks}
        recipes: dict[str, Any] = {}
        costs: dict[str, Cost | None] = {}
        for own in self.study.evaluation_sets:
            systems = list(self.systems(own, selection))
            for system in systems:
                costs[system.name] = cost.together(costs.get(system.name), self.study.cost(system, own, self.fitted))
            recipes |= {system.name: dict(system.recipe) for system in systems}
            for system in systems:
                own.write(system, self.folder)
            for split in own.splits:
                for task, (records, scored) in self.score(own, systems, split).items():
                    splits[task].append((records, scored))
                    drawn, why_not = self.study.pictures(systems, scored, own, task)
                    pictures[task] += drawn
                    notes[task] += why_not
        results = {}
        for task, title in self.study.tasks.items():
            stage = f"assess {title}".rstrip() + ", replicates"
            options = self.options(task, selection, recipes)
            report = self._finished(build(splits[task], options, progress=partial(self.say, stage)), task, notes[task])
            report = replace(report, costs=tuple(filter(None, costs.values())))
            results[task] = Result(task, report, tuple(pictures[task]))
        return results

    def one_by_one(self, selection: Selection) -> dict[str, Result]:
        """A report for each task of systems that are not compared; each system is released once assessed."""
        parts: dict[str, list[Report]] = {task: [] for task in self.study.tasks}
        recipes: dict[str, Any] = {}
        for own in self.study.evaluation_sets:
            for system in self.systems(own, selection):
                recipes[system.name] = dict(system.recipe)
                for split in own.splits:
                    for task, scored in self.score(own, [system], split).items():
                        # What stands beside the scores would be that of the first alone, and `together` leaves it out.
                        brief = bool(parts[task])
                        parts[task].append(build([scored], self.options(task, selection, {}), brief=brief))
                self.say(f"assess {selection.name}, systems", len(recipes), len(recipes))
        return {
            task: Result(f"{task}-{selection.name}", together(found, recipes), printed=False)
            for task, found in parts.items()
        }

    def _finished(self, report: Report, task: str, notes: Sequence[str]) -> Report:
        cautions = {each.planned.name: each.caution for each in self.fitted}
        systems = tuple(replace(row, caution=cautions.get(row.name, "")) for row in report.systems)
        report = replace(report, systems=systems, warnings=(*notes, *report.warnings))
        return self.study.finished(report, task)


def require_tasks(what: str, found: Iterable[str], tasks: Iterable[str]) -> None:
    """Refuse what is not named after one of the tasks.

    Raises:
        SettingsError: naming what was made of the tasks, such as "Options.task".
    """
    known = tuple(tasks)
    if foreign := [name for name in found if name not in known]:
        raise SettingsError(
            f"{what}: expected {'the task' if len(known) == 1 else 'one of the tasks'} {', '.join(map(repr, known))}, "
            f"found {', '.join(map(quoted, foreign))}. Use the name of the `Task`."
        )


def together(parts: Sequence[Report], recipes: Mapping[str, Any]) -> Report:
    """One report from reports of single systems, without what is shown of one system alone: curves, slices, records."""
    first = parts[0]
    named = {system.name: system for part in parts for system in part.systems}
    return replace(
        first,
        systems=tuple(named.values()),
        counts=tuple(dict.fromkeys(count for part in parts for count in part.counts)),
        scores=tuple(score for part in parts for score in part.scores),
        curves=(),
        slices=(),
        slice_scores=(),
        parts=(),
        notable=(),
        warnings=tuple(dict.fromkeys(warning for part in parts for warning in part.warnings)),
        recipe={**first.recipe, "systems": dict(recipes)},
    )
