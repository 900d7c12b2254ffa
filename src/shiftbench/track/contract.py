"""A track of a benchmark as one frozen value; all that knows its data lies in its own folder in `tracks/`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from shiftbench import files
from shiftbench.assessment import Options
from shiftbench.errors import SettingsError
from shiftbench.fetch import Archive
from shiftbench.paper.output import Paper
from shiftbench.pipeline.study import Result
from shiftbench.progress import Progress
from shiftbench.report.picture import Picture
from shiftbench.scored import Records, Scored
from shiftbench.settings import SPLITS, Assessment
from shiftbench.track.option import Option

MANIFEST = "manifest.json"  # of a prepared folder, written last: where it is, the rest is complete
LONGEST_NAME = 64  # of a test set: folders and figures are called after it
COMMANDS = ("example", "prepare", "run", "import", "show")  # those that take options of a track's own


@dataclass(frozen=True)
class Task:
    """What is predicted and how it is judged: `name` is that of its reports' task, `target` a column, `unit` its unit.

    threshold: the largest acceptable error, as in the papers.
    """

    name: str
    title: str
    target: str
    unit: str = ""
    threshold: float | None = None


@dataclass(frozen=True)
class Prepared:
    """A folder of partitions ready for a run; `origin` says whose data these are ("official", "made-up …", …).

    counts: records of each partition. unused: of none, by reason. notes: what to know about the data.
    """

    folder: Path
    origin: str
    counts: dict[str, int]
    notes: tuple[str, ...] = ()
    unused: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchJob:
    """Work that was left to a batch system: the script to submit, or None if nothing is left but to end the work.

    The same command without its executor ends the work.
    """

    script: Path | None


@dataclass(frozen=True)
class RunOptions:
    """What a user chooses of a run; None and empty where the track decides.

    methods: only these of the preset's. members: of each ensemble. test_sets: name → path of further records to be
    scored on. rule, replicates, kind: of the assessment, as in `shiftbench.settings.Assessment`.

    Raises:
        SettingsError, UnknownNameError: for test sets without a name of their own, or an invalid assessment.
    """

    preset: str
    seed: int = 0
    methods: tuple[str, ...] = ()
    members: int | None = None
    test_sets: Mapping[str, str] = field(default_factory=dict)
    rule: str | None = None
    replicates: int | None = None
    kind: str | None = None

    def __post_init__(self) -> None:
        problems = [
            f"test sets: expected a name of letters, digits, dashes and underscores (not {', '.join(SPLITS)}) with a "
            f"path, found {name!r} = {path!r}."
            for name, path in self.test_sets.items()
            if name in SPLITS or not 0 < len(name) <= LONGEST_NAME or files.name_of(name) != name or not path
        ]
        if problems:
            raise SettingsError(*problems)
        self.assessment(Assessment())

    def assessment(self, usual: Assessment) -> Assessment:
        """How predictions are scored: as usual but for what is said."""
        said: dict[str, Any] = {"rule": self.rule, "replicates": self.replicates, "kind": self.kind}
        return replace(usual, **{name: value for name, value in said.items() if value is not None})

    def preset_of(self, whole: bool) -> str:
        """The preset as a recipe tells it: `whole` is whether every one of its methods takes part."""
        return self.preset if whole and self.members is None else f"{self.preset}, in part"


class Run(Protocol):
    """Fits and predicts on a prepared folder, and assesses."""

    def __call__(
        self, prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
        progress: Progress | None,
    ) -> list[Result]:  # fmt: skip
        """The reports of all tasks, in their order. All is written below `folder`, where an earlier run may have
        begun.
        """


@dataclass(frozen=True)
class ScoredFiles:
    """Predictions files scored against the ground truth by the error of one task.

    task: whose error it is. parts: the records of each split, and the systems scored on them in the order of the files.
    options: how a report on them is made: its title, units, threshold and recipe. notes: what to know about files and
    data. source: anything that the track's `pictures` draws from.
    """

    task: Task
    parts: Sequence[tuple[Records, Sequence[Scored]]]
    options: Options
    notes: tuple[str, ...] = ()
    source: Any = None


class ScoreFiles(Protocol):
    """Scores predictions files from the files alone: no model, no drawing, in bounded memory."""

    def __call__(
        self, predictions: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *, progress: Progress | None = None
    ) -> list[ScoredFiles]:
        """The scores of files by name against `truth`, for each of the tasks that the files are of, one at least.

        Raises ShiftbenchError with all that is wrong.
        """


@dataclass(frozen=True)
class Example:
    """Made-up data of the official form.

    write: (path, rows, seed, progress, **options) makes them and returns their path; rows is None for the track's own
    number. name: of the file or folder by default. unit: what `rows` counts. is_folder: whether they are a folder.
    notes: (path) what to know about the data that were written, a line each.
    """

    write: Callable[..., Path]
    name: str
    unit: str = "rows"
    is_folder: bool = False
    notes: Callable[[Path], Sequence[str]] = lambda _: ()


@dataclass(frozen=True)
class Import:
    """Data of another benchmark that become data of the track.

    name: whose data, as on the command line. about: what becomes of them, one sentence. write: (source, folder, *,
    progress, **options) writes them, goes on where it was stopped, and returns what to say, a line each.
    """

    name: str
    about: str
    write: Callable[..., Sequence[str]]


@dataclass(frozen=True)
class Show:
    """Drawing one file of a track's data.

    draw: (file, folder, *, progress, **options) draws it and returns the pictures by what they show. about: what the
    file is. metavar: its name in the help.
    """

    draw: Callable[..., Mapping[str, Path]]
    about: str
    metavar: str = "FILE"


@dataclass(frozen=True, kw_only=True)
class Track:
    """A track: its tasks, its methods, and how its data are made, prepared, run, scored and drawn.

    name: on the command line, a package below `tracks` or another package's. tasks: its errors. presets: name → names
    of the methods of each, the usual preset first. example: made-up data.
    prepare: (source, folder, *, experiment, progress, **options) checks what was downloaded or made and writes a
    prepared folder; `experiment` only if there are `experiments`. Returns a `Prepared`, or a `BatchJob`.
    open_prepared: what a prepared folder holds. run: fits, predicts and assesses. score_files: scores predictions.
    options: command (of `COMMANDS`) → options that it takes of this track alone.
    spreads: commands whose work can be spread over processes or machines. Their functions take `executor` and
    `workers`, see `shiftbench.executor.Executor.of`; they go on where they were cut off, and `prepare` also takes
    `overwrite`: whether to discard what was begun in another way.
    experiments: names of the ways to partition the data, the canonical one first. archives: what can be fetched, the
    usual one first. imports: data of other benchmarks. show: draws one file. pictures: (scores of files) records to
    look at, and notes on those that cannot be drawn. paper: tables and figures with runs beside what is printed.

    Raises:
        SettingsError: naming each part that is missing or invalid.
    """

    name: str
    tasks: tuple[Task, ...]
    presets: Mapping[str, tuple[str, ...]]
    example: Example
    prepare: Callable[..., Prepared | BatchJob]
    open_prepared: Callable[[Path], Prepared]
    run: Run
    score_files: ScoreFiles
    options: Mapping[str, tuple[Option, ...]] = field(default_factory=dict)
    spreads: tuple[str, ...] = ()
    experiments: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    imports: tuple[Import, ...] = ()
    show: Show | None = None
    pictures: Callable[[ScoredFiles], tuple[Sequence[Picture], Sequence[str]]] | None = None
    paper: Paper | None = None

    def __post_init__(self) -> None:
        if problems := list(_problems(self)):
            raise SettingsError(*(f"track {self.name!r}: {problem}" for problem in problems))

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods of all presets."""
        return tuple(dict.fromkeys(name for names in self.presets.values() for name in names))

    def score(self, predictions: Path, truth: Path, task: Task, *, name: str = "") -> list[tuple[Records, Scored]]:
        """Errors and uncertainties of one predictions file against the ground truth, for each split that it is about.

        Args:
            predictions: a file in the form that the track reads.
            truth: a prepared folder, or whatever else the track scores against.
            task: whose error it is.
            name: what the system is called; by default the file's name without its ending.

        Raises:
            ShiftbenchError: with all that is wrong with the files.
        """
        (scored,) = self.score_files({name or predictions.stem: predictions}, truth, [task])
        return [(records, systems[0]) for records, systems in scored.parts]


def _problems(track: Track) -> Iterator[str]:
    """What is missing in a track, or invalid."""
    if not track.name or files.name_of(track.name) != track.name:
        yield "name: expected letters, digits, dashes and underscores."
    for part in ("tasks", "presets"):
        if not getattr(track, part):
            yield f"{part}: expected at least one, found none."
    functions = {
        "example": getattr(track.example, "write", None), "prepare": track.prepare,
        "open_prepared": track.open_prepared, "run": track.run, "score_files": track.score_files,
    }  # fmt: skip
    for part, function in functions.items():
        if not callable(function):
            yield f"{part}: expected a function, found {function!r}."
    acts = {name: [function] for name, function in functions.items()}
    acts["import"] = [each.write for each in track.imports]
    acts["show"] = [track.show.draw] if track.show else []
    taken = {command: [each.name for each in options] for command, options in track.options.items()}
    for command in track.spreads:
        taken[command] = [*taken.get(command, ()), "executor", "workers", *["overwrite"] * (command == "prepare")]
    for command, names in taken.items():
        if command not in COMMANDS:
            yield f"options: expected commands of {', '.join(COMMANDS)}, found {command!r}."
        for function in filter(callable, acts.get(command, ())):
            yield from (f"{command}: expected its function to take {name!r}." for name in _refused(function, names))


def _refused(function: Callable[..., Any], names: Sequence[str]) -> list[str]:
    """The names that a function does not take as keyword arguments."""
    taken = inspect.signature(function).parameters
    if any(each.kind is each.VAR_KEYWORD for each in taken.values()):
        return []
    return [name for name in names if name not in taken or taken[name].kind is taken[name].POSITIONAL_ONLY]
