"""A track of a benchmark as one frozen value; everything about its data lies in its own folder in `tracks/`."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from shiftbench.errors import SettingsError, TableError, first_line, quoted
from shiftbench.io import files
from shiftbench.progress import Progress
from shiftbench.track import calls
from shiftbench.track.option import Option, written
from shiftbench.track.public_records import PublicRecords

if TYPE_CHECKING:  # readers of files of strangers import this module, too, each in a fresh interpreter
    from shiftbench.assessment.assess import Options
    from shiftbench.assessment.scored import Records, Scored
    from shiftbench.io.fetch import Archive
    from shiftbench.pipeline.settings import Assessment
    from shiftbench.pipeline.study import Result
    from shiftbench.report.picture import Picture
    from shiftbench.track.paper.output import Paper

MANIFEST = "manifest.json"  # of a prepared folder, written last: if it exists, the rest is complete
LONGEST_NAME = 64  # of a test set: folders and figures are named after it
COMMANDS = ("example", "prepare", "run", "import", "show")  # commands for which a track may declare options
TAKEN = {  # options and arguments of the commands of any track: none of its own can be called like one of them
    "example": ("rows", "seed", "out", "overwrite"),
    "prepare": ("source", "experiment", "executor", "workers", "out", "overwrite"),
    "run": (
        "data", "task", "preset", "method", "members", "experiment", "test_set", "executor", "workers", "gpus", "seed",
        "rule", "replicates", "intervals", "full", "cores", "out", "overwrite", "list_names",
    ),
    "import": ("source", "executor", "workers", "out", "overwrite"),
    "show": ("source", "out"),
}  # fmt: skip
TAKEN_WORDS = ("--help", "-h", "-o", "--list")  # on the command line, beside those by these names
CALLS = {  # positional arguments that these functions are called with
    "example": ("path", "rows", "seed", "progress"), "prepare": ("source", "folder"), "open_prepared": ("folder",),
    "run": ("prepared", "tasks", "options"), "score_files": ("predictions", "truth", "tasks"),
    "import": ("source", "folder"), "show": ("file", "folder"), "pictures": ("scored",),
}  # fmt: skip
COMMON = {  # keyword arguments that these functions get from every track's command
    "prepare": ("progress",), "run": ("folder", "cores", "progress"), "score_files": ("progress",),
    "import": ("progress",), "show": ("progress",),
}  # fmt: skip


@dataclass(frozen=True)
class Task:
    """What is predicted and how it is scored. `name` is the task's name in reports, `target` a column, `unit` its unit.

    threshold: the largest acceptable error, as in the papers.

    Raises:
        SettingsError: for a name that could not name a folder or an option's value.
    """

    name: str
    title: str
    target: str
    unit: str = ""
    threshold: float | None = None

    def __post_init__(self) -> None:
        if not self.name or files.name_of(self.name) != self.name:
            raise SettingsError(
                f"task {self.name!r}: name: expected letters, digits, dashes and underscores. Its reports are in a "
                "folder of this name."
            )


@dataclass(frozen=True)
class Prepared:
    """A folder of partitions ready for a run.

    origin: the source of the data, shown in reports: "official" (only with it are printed values comparable), or a
    few words such as "made-up digits". counts: records of each partition. unused: records in no partition, by reason.
    notes: remarks on the data.

    Raises:
        SettingsError: for counts of unknown partitions, or that are no numbers of records.
    """

    folder: Path
    origin: str
    counts: dict[str, int]
    notes: tuple[str, ...] = ()
    unused: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        from shiftbench.partition.settings import PARTITIONS

        if foreign := [name for name in self.counts if name not in PARTITIONS]:
            raise SettingsError(
                f"{self.folder}: counts: expected the parts {', '.join(PARTITIONS)}, found "
                f"{', '.join(map(quoted, foreign))}. Rename them, or count these records as unused."
            )
        if odd := {name: count for name, count in self.counts.items() if type(count) is not int or count < 0}:
            raise SettingsError(f"{self.folder}: counts: expected numbers of records, found {quoted(odd, 80)}.")


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the manifest of a prepared folder says, for a track whose `prepare` wrote it as a JSON object.

    Raises:
        TableError: if the folder is not a prepared one, or its manifest is damaged.
    """
    path = folder / MANIFEST
    if not path.is_file():
        found = "no such file in it" if folder.is_dir() else "a file" if folder.exists() else "nothing there"
        raise TableError(
            f"{folder}: expected a prepared folder with its {MANIFEST}, found {found}. Make one with "
            "`shiftbench prepare`."
        )
    try:
        held = json.loads(files.read_text(path))
    except (ValueError, RecursionError) as error:
        raise TableError(f"{path}: expected JSON, found: {first_line(error)}. Prepare the data again.") from None
    if not isinstance(held, dict):
        raise TableError(f"{path}: expected a JSON object, found {quoted(held)}. Prepare the data again.")
    return held


@dataclass(frozen=True)
class BatchJob:
    """Work left to a batch system: the script to submit, or None if only the last step remains.

    The same command without its executor completes the work.
    """

    script: Path | None


@dataclass(frozen=True)
class RunOptions:
    """A user's choices for a run; None or empty values leave the choice to the track.

    methods: a subset of the preset's. members: of each ensemble. test_sets: name → path of further records to score.
    rule, replicates, kind: of the assessment, as in `shiftbench.pipeline.settings.Assessment`.

    Raises:
        SettingsError, UnknownNameError: for test sets with invalid or taken names, or an invalid assessment.
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
        from shiftbench.pipeline.settings import SPLITS, Assessment

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
        """The assessment: `usual` with the user's changes."""
        changes: dict[str, Any] = {"rule": self.rule, "replicates": self.replicates, "kind": self.kind}
        return replace(usual, **{name: value for name, value in changes.items() if value is not None})

    def preset_of(self, whole: bool) -> str:
        """The preset as shown in a recipe; `whole`: whether all of its methods take part."""
        return self.preset if whole and self.members is None else f"{self.preset}, in part"


class Run(Protocol):
    """Fits and predicts on a prepared folder, and assesses."""

    def __call__(
        self, prepared: Prepared, tasks: Sequence[Task], options: RunOptions, *, folder: Path, cores: int,
        progress: Progress | None,
    ) -> list[Result]:  # fmt: skip
        """The reports of all tasks, in their order. Output goes below `folder`, which may hold an interrupted run."""


@dataclass(frozen=True)
class ScoredFiles:
    """Predictions files scored against the ground truth by the error of one task.

    task: the task. parts: the records of each split, and the systems scored on them in the order of the files.
    options: title, units, threshold and recipe of the report. notes: remarks on files and data. source: input for the
    track's `pictures`.
    """

    task: Task
    parts: Sequence[tuple[Records, Sequence[Scored]]]
    options: Options
    notes: tuple[str, ...] = ()
    source: Any = None


class ScoreFiles(Protocol):
    """Scores predictions files from the files alone: no model, no drawing, in bounded memory.

    Takes `names`, too, if the track declares `columns`.
    """

    def __call__(
        self, predictions: Mapping[str, Path], truth: Path, tasks: Sequence[Task], *, progress: Progress | None = None
    ) -> list[ScoredFiles]:
        """The scores of files by name against `truth`, for each task that the files have predictions of, at least one.

        Raises ShiftbenchError listing all problems.
        """


@dataclass(frozen=True)
class Example:
    """Made-up data in the official format.

    write: (path, rows, seed, progress, **options) makes them and returns their path; rows is None for the track's own
    number. name: default name of the file or folder. unit: what `rows` counts. is_folder: whether they are a folder.
    notes: (path) remarks on the written data, one per line.
    """

    write: Callable[..., Path]
    name: str
    unit: str = "rows"
    is_folder: bool = False
    notes: Callable[[Path], Sequence[str]] = lambda _: ()


@dataclass(frozen=True)
class Import:
    """Conversion of another benchmark's data to the track's format.

    name: of the format on the command line. about: one sentence on the result. write: (source, folder, *, progress,
    **options) writes the data, resumes an interrupted import, and returns messages, one per line.
    """

    name: str
    about: str
    write: Callable[..., Sequence[str]]


@dataclass(frozen=True)
class Show:
    """Drawing one file of a track's data.

    draw: (file, folder, *, progress, **options) draws it and returns the pictures by content. about: a description of
    the file. metavar: its name in the help. folders: whether it may be a folder, too.
    """

    draw: Callable[..., Mapping[str, Path]]
    about: str
    metavar: str = "FILE"
    folders: bool = False


Arrays = Mapping[str, npt.NDArray[np.generic]]


@dataclass(frozen=True)
class Intake:
    """How a challenge takes predictions for a track from strangers.

    parse: (file) → arrays of numbers, each of one axis or more, or ShiftbenchError with every problem of the file. It
    runs where no label can be read and never sees one. Texts become bytes and offsets (`track.parsed.pack`). It leaves
    out whatever could ask about labels or excuse records: ground truth of any kind, fingerprints of targets, flags of
    the shift.
    restore: (arrays, folder) → the track's own predictions in `folder`, which is empty, as `Track.score_files` takes
    them. It runs beside the labels and trusts nothing about the arrays, which strangers have made.
    suffixes: of the files. about: what they are, in one sentence.
    example: (folder, records) writes a file named `example…` in the folder and returns it: trivial predictions of
    these records, which show the form; of some made-up ones if `records` is None.
    records: (truth, task) → what everybody may know of the records that are scored against a truth. It runs when labels
    are sealed, and its result is public. None: then files are compared with the records at scoring alone.
    misfits: (arrays, records) → why predictions do not fit the records, as texts: those that are missing or foreign
    (`PublicRecords.misfits`), and whatever else can be told without labels. It runs where files are parsed, again
    beside the labels, and on the participant's machine. A `parse` that refuses a file may raise `PartlyRead` with the
    arrays that it could read: then these are compared, too, so that all problems are told at once.
    labels: (truth, task) → the files of a truth that tell labels of the records that are scored, with the names of
    their columns of targets if they are tables: none of these may be public. None: a truth that is one file, and its
    column `Task.target`; of a folder only all of its files together.
    """

    parse: Callable[[Path], Arrays]
    restore: Callable[[Arrays, Path], Path]
    suffixes: tuple[str, ...]
    about: str
    example: Callable[[Path, PublicRecords | None], Path]
    records: Callable[[Path, Task], PublicRecords] | None = None
    misfits: Callable[[Arrays, PublicRecords], Sequence[str]] = lambda _arrays, _records: ()
    labels: Callable[[Path, Task], Mapping[Path, Sequence[str]]] | None = None


@dataclass(frozen=True, kw_only=True)
class Track:
    """A track: its tasks, its methods, and functions that make, prepare, run, score and draw its data.

    name: on the command line, a package below `tracks` or another package's. tasks: its errors. presets: name → names
    of its methods, the default preset first. example: made-up data.
    prepare: (source, folder, *, experiment, progress, **options) checks downloaded or made-up data and writes a
    prepared folder; `experiment` only if there are `experiments`. Returns a `Prepared`, or a `BatchJob`.
    open_prepared: reads a prepared folder. run: fits, predicts and assesses. score_files: scores predictions.
    options: command (one of `COMMANDS`) → its options for this track.
    spreads: commands whose work can be distributed over processes or machines: `prepare`, `run`, `import`. Work of
    `run` goes to the executor in use (`shiftbench.io.executor.current`), as that of all methods of `methods/` does. The
    functions of the others take `executor` and `workers`, see `shiftbench.io.executor.Executor.of`; they resume
    interrupted work, and `prepare` also takes `overwrite`: whether to discard work begun with other settings.
    gpus: whether jobs of `run` can use GPUs. test_sets: the form of further data that `run` can score as a whole, such
    as "table"; empty if it scores none.
    experiments: names of the partitions of the data, the canonical one first. archives: that can be fetched, the
    default one first. imports: data of other benchmarks. show: draws one file. pictures: (scores of files) records
    worth looking at, and notes on those that cannot be drawn. paper: tables and figures, with runs beside print.
    truth_inside: whether a predictions file can hold its own ground truth, so that none need be named.
    columns: what predictions files may call otherwise, such as `reference` → the option of `assess` that names it
    (`--target`), or "" for `--column reference=NAME` alone; `score_files` then takes `names`, key → names in the files.
    intake: how a challenge takes predictions of strangers; None if it cannot.
    withhold: (source, split, inputs, truth) copies what a source has of train, dev or eval: to the folder `inputs` what
    participants of a challenge get, to `truth` (a folder, or a file with a suffix) labels as `score_files` takes them;
    if `truth` is None, all of it to `inputs`. Neither names nor order of inputs may tell labels or the shift. None if
    the track cannot.

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
    gpus: bool = False
    test_sets: str = ""
    experiments: tuple[str, ...] = ()
    archives: tuple[Archive, ...] = ()
    imports: tuple[Import, ...] = ()
    show: Show | None = None
    pictures: Callable[[ScoredFiles], tuple[Sequence[Picture], Sequence[str]]] | None = None
    paper: Paper | None = None
    truth_inside: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)
    intake: Intake | None = None
    withhold: Callable[[Path, str, Path, Path | None], None] | None = None

    def __post_init__(self) -> None:
        if problems := list(_problems(self)):
            raise SettingsError(*(f"track {self.name!r}: {problem}" for problem in problems))

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods of all presets."""
        return tuple(dict.fromkeys(name for names in self.presets.values() for name in names))

    def score(self, predictions: Path, truth: Path, task: Task, *, name: str = "") -> list[tuple[Records, Scored]]:
        """Errors and uncertainties of one predictions file against the ground truth, for each split that it covers.

        Args:
            predictions: a file in the track's format.
            truth: a prepared folder, or another ground truth that the track accepts.
            task: the task.
            name: of the system; by default the file's name without its extension.

        Raises:
            ShiftbenchError: listing the problems of all files.
        """
        from shiftbench.assessment.consistency import require_consistent

        (scored,) = self.score_files({name or predictions.stem: predictions}, truth, [task])
        require_consistent(scored.parts)
        return [(records, systems[0]) for records, systems in scored.parts]


def _problems(track: Track) -> Iterator[str]:
    """Missing or invalid parts of a track."""
    if not track.name or files.name_of(track.name) != track.name:
        yield "name: expected letters, digits, dashes and underscores."
    for part in ("tasks", "presets"):
        if not getattr(track, part):
            yield f"{part}: expected at least one, found none."
    if malformed := [*_malformed(track)]:
        yield from malformed
        return
    for name, own in track.presets.items():
        if not (isinstance(own, (tuple, list)) and own and all(isinstance(method, str) for method in own)):
            yield f"presets: {name}: expected a tuple of names of methods, found {quoted(own)}. One needs a comma."
    yield from _repeated(track)
    if track.gpus and "run" not in track.spreads:
        yield "gpus: expected 'run' in spreads, since GPUs are reserved for its jobs."
    for command in dict.fromkeys((*track.options, *track.spreads)):
        if command not in COMMANDS:
            yield f"options: expected commands of {', '.join(COMMANDS)}, found {command!r}."
    yield from _function_problems(track)


def _malformed(track: Track) -> Iterator[str]:
    """Parts that are no collections of the right kind, so that nothing in them can be checked."""
    if not isinstance(track.presets, Mapping):
        yield f"presets: expected a mapping, name → names of methods, found {quoted(track.presets)}."
    lists = {
        "tasks": (track.tasks, Task),
        **{f"options of {name}": (own, Option) for name, own in track.options.items()},
    }
    for part, (values, kind) in lists.items():
        if not isinstance(values, (tuple, list)) or not all(isinstance(each, kind) for each in values):
            yield f"{part}: expected a tuple of `{kind.__name__}`, found {quoted(values)}. One alone needs a comma."


def _repeated(track: Track) -> Iterator[str]:
    """Names of tasks that are there twice, and of options that are there twice or of the command itself."""
    named = {"tasks": [task.name for task in track.tasks]}
    for command, options in track.options.items():
        used = [*TAKEN.get(command, ()), *(each.name for each in options)]
        words = [*map(written, TAKEN.get(command, ())), *(word for each in options for word in each.words)]
        named[f"options of {command}"] = [*used, *TAKEN_WORDS, *words]
    for what, every in named.items():
        if twice := [name for name, count in Counter(every).items() if count > 1]:
            found = ", ".join(repr(name) for name in twice if name not in {*map(written, twice)})
            yield f"{what}: expected new names, found {found}, here twice or of the command itself. Choose others."


def _function_problems(track: Track) -> Iterator[str]:
    """Functions that are missing, or that do not take what they will be called with."""
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
    acts["pictures"] = [track.pictures] if track.pictures else []
    taken = {command: [*COMMON.get(command, ())] for command in acts}
    for command, options in track.options.items():
        taken[command] = [*taken.get(command, ()), *(each.name for each in options)]
    if track.columns:
        taken["score_files"] = [*taken["score_files"], "names"]
    for command in set(track.spreads) - {"run"}:
        taken[command] = [*taken.get(command, ()), "executor", "workers", *["overwrite"] * (command == "prepare")]
    for command, names in taken.items():
        for function in filter(callable, acts.get(command, ())):
            refused = calls.refused(function, names)
            yield from (f"{command}: expected its function to take {name!r}." for name in refused)
            always = [*["experiment"] * (command == "prepare" and bool(track.experiments))]
            always += [name for name in names if name not in {each.name for each in track.options.get(command, ())}]
            if not refused:
                yield from calls.mismatch(command, function, CALLS[command], always)
