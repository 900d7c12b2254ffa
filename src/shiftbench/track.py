"""What a track of a benchmark is: one frozen value; all that knows its data lies in its own folder in `tracks/`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from shiftbench import files
from shiftbench.errors import SettingsError
from shiftbench.paper.output import Paper
from shiftbench.pipeline.study import Result
from shiftbench.progress import Progress
from shiftbench.settings import SPLITS, Assessment

LONGEST_NAME = 64  # of a test set: folders and figures are called after it


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


class Prepare(Protocol):
    """Turns what was downloaded or made into a prepared folder."""

    def __call__(self, source: Path, folder: Path, *, experiment: str, progress: Progress | None) -> Prepared:
        """Read `source`, check it, and write its partitions to `folder`; raises ShiftbenchError for bad input."""


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


class AssessFiles(Protocol):
    """Assesses predictions in a track's own form that somebody else made."""

    def __call__(
        self, data: Path, submitted: Mapping[str, Path], task: Task, options: RunOptions, *, cores: int,
        progress: Progress | None,
    ) -> Result:  # fmt: skip
        """The report of files by name, held against `data`, with pictures that only the track can draw."""


WriteExample = Callable[[Path, int | None, int, Progress | None], Path]
"""(path, rows, seed, progress) → where the example data were written; rows is None if nobody says."""


@dataclass(frozen=True)
class Example:
    """Made-up data of the official form.

    write: makes them. name: of the file or folder if nobody says. unit: what `rows` counts.
    is_folder: whether they are a folder, which replaces nothing but an earlier example.
    with_ship: (name or TOML file of a ship) → `write` with that ship; None: the data are of no ship.
    """

    write: WriteExample
    name: str
    unit: str = "rows"
    is_folder: bool = False
    with_ship: Callable[[str], WriteExample] | None = None


@dataclass(frozen=True)
class Track:
    """A track: its tasks, its presets of methods, and how its data are made, prepared, run and compared.

    presets: names of lists of methods, the usual one first. methods: names of all that any of these holds.
    experiments: names of the ways in which its data can be partitioned, the canonical one first.
    open_prepared: what a prepared folder holds.
    assess: of predictions in the track's own form; None: they are tables, which need no track.
    resumes: whether `prepare` goes on in a folder where it was cut off.
    with_climates: (table) → `prepare` that takes climates from it, where records lack them; None: they have none.
    with_executor: (name of an executor, workers) → `prepare` on it; None: it is one process.
    settings: (words NAME=VALUE) → how inputs are made, checked; `prepare` takes it as `settings`, the next two as their
    last argument. None: inputs are made in one way.
    discard_other: (folder, experiment, settings) removes what a preparation that was cut off has begun in another way;
    None: nothing of one is ever gone on with.
    job_script: (source, folder, experiment, tasks, settings) writes the script of a Slurm array that does the work of
    `prepare`, which then puts all together; its path, or None if there is nothing left to do.
    """

    name: str
    tasks: tuple[Task, ...]
    presets: tuple[str, ...]
    methods: tuple[str, ...]
    experiments: tuple[str, ...]
    example: Example
    prepare: Prepare
    open_prepared: Callable[[Path], Prepared]
    run: Run
    paper: Paper
    assess: AssessFiles | None = None
    resumes: bool = False
    with_climates: Callable[[Path], Prepare] | None = None
    with_executor: Callable[[str, int | None], Prepare] | None = None
    settings: Callable[[Sequence[str]], Any] | None = None
    discard_other: Callable[[Path, str, Any], None] | None = None
    job_script: Callable[[Path, Path, str, int | None, Any], Path | None] | None = None
