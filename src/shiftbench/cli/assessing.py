"""Commands for existing predictions and reports: assess, compare, report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shiftbench.cli import options as o
from shiftbench.cli.options import listed
from shiftbench.cli.terminal import cores_or_all, note, progress_bar, say, show, tell_records, write
from shiftbench.errors import SettingsError, TableError, UnknownNameError, every
from shiftbench.io.output import adding, together, writing

if TYPE_CHECKING:
    from shiftbench.assessment.columns import Columns
    from shiftbench.assessment.joined import Joined
    from shiftbench.assessment.scored_table import ScoredTable
    from shiftbench.pipeline.settings import Assessment
    from shiftbench.progress import Progress
    from shiftbench.track import RunOptions, Task, Track

Files = Annotated[list[Path], typer.Argument(help="Two or more files on the same ids.", show_default=False)]
OfTrack = Annotated[
    str | None,
    typer.Option("--track", help="FILE holds predictions for this track.", autocompletion=o.starting(o.track_names)),
]
TrackData = Annotated[
    Path | None,
    typer.Option(
        "--data", help="With --track: a prepared folder, or another ground truth [FILE, if it holds its own]."
    ),
]
Truth = Annotated[Path | None, typer.Option("--truth", help="Table with the targets, if FILE is a predictions file.")]


@dataclass(frozen=True)
class Given:
    """The options of `assess` and `compare`."""

    id_column: o.IdColumn = None
    error: o.ErrorColumn = None
    target: o.Target = None
    answer: o.Answer = None
    uncertainty: o.Uncertainty = None
    quantile: o.Quantile = None
    member: o.Member = None
    mean: o.Mean = None
    std: o.Std = None
    probability: o.Probability = None
    shifted: o.ShiftedColumn = None
    cluster: o.Cluster = None
    slices: o.Slice = None
    calibration: o.Calibration = None
    length: o.Length = None
    drop: o.Drop = None
    truth: Truth = None
    threshold: o.Threshold = None
    unit: o.Unit = None
    rule: o.Rule = None
    replicates: o.Replicates = None
    intervals: o.Intervals = None
    seed: o.Seed = None
    title: o.Title = None
    track: OfTrack = None
    data: TrackData = None
    column: o.Column = None
    task: o.Task = None
    out: o.Out = None
    cores: o.Cores = 0
    overwrite: o.Overwrite = False
    full: o.Full = False

    @property
    def columns(self) -> Columns:
        """The roles of the files' columns."""
        from shiftbench.assessment.columns import Columns

        return Columns(
            self.id_column, self.error, self.target, self.answer, listed(self.uncertainty), self.shifted,
            listed(self.cluster, "+,"), listed(self.slices), self.task, forms=self.forms,
            calibration=(self.calibration or (None,))[0], drop=listed(self.drop), length=self.length,
        )  # fmt: skip

    @property
    def of_columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of a file that options name, by option, for a track which may have them."""
        single = {"--id": self.id_column, "--error": self.error, "--target": self.target, "--answer": self.answer,
                  "--shifted": self.shifted}  # fmt: skip
        several = {"--uncertainty": listed(self.uncertainty), "--cluster": listed(self.cluster, "+,")}
        return {word: () if value is None else (value,) for word, value in single.items()} | several

    @property
    def forms(self) -> dict[str, tuple[str, ...]]:
        """The options that name columns of predictions, by form."""
        named = {"quantiles": self.quantile, "members": self.member, "probabilities": self.probability}
        given = {form: listed(values) for form, values in named.items()}
        normal = {"mean": self.mean, "std": self.std}
        given["normal distributions"] = tuple(f"{part}={column}" for part, column in normal.items() if column)
        return {form: values for form, values in given.items() if values}


def assess(
    file: Annotated[Path, typer.Argument(help="Errors and uncertainties, or predictions.", show_default=False)],
    given: Given,
) -> None:
    """The full report of one model: from a file with id, error (or target and answer) and uncertainty columns, or with
    target and quantiles, intervals, predictions of members, normal distributions or class probabilities.

    With --track and --data: from predictions for a track, in its own format.
    """
    folder = given.out or o.out_path("assess", file=file.name.split(".")[0])
    if given.track is not None:
        _track_reports([file], (), given, folder)
    else:
        _report([file], (), given, given.title or file.name, folder)


def compare(
    files: Files,
    given: Given,
    name: Annotated[
        list[str] | None, typer.Option("--name", help="Names of the models, in order [file names].")
    ] = None,
) -> None:
    """Paired comparison of models on the same ids: differences with intervals, adjusted p-values, ranks.

    With --track and --data: of predictions for a track, in its own format.
    """
    folder = given.out or o.out_path("compare")
    if problem := _not_several(files):
        with together(folder, "compare", overwrite=given.overwrite):
            raise SettingsError(problem)
    if given.track is not None:
        _track_reports(files, _all_names(name), given, folder)
    else:
        names = _all_names(name)
        _report(files, names, given, given.title or " · ".join(names or (file.stem for file in files)), folder)


def _not_several(files: Sequence[Path]) -> str:
    """Why files cannot be compared; "" if they are two or more different ones."""
    if len(files) < 2:
        return f"expected two or more files to compare, found {len(files)}. For one, use assess."
    resolved = [file.resolve() for file in files]
    twice = [str(file) for file in dict.fromkeys(files) if resolved.count(file.resolve()) > 1]
    return f"expected different files to compare, found one more than once ({', '.join(twice)})." if twice else ""


def _track_reports(files: list[Path], names: tuple[str, ...], given: Given, folder: Path) -> None:
    """The reports of predictions for a track, one for each task, in folders of their names."""
    from shiftbench.track import assessing

    inputs = [*([given.data] if given.data else []), *files]
    with together(folder, _command(files), overwrite=given.overwrite, inputs=inputs) as refused:
        found = every(
            {
                "track": lambda: _track_tasks(given),
                "named": lambda: dict(zip(_names(files, names), files, strict=True)),
                "data": lambda: _require_data(files, given),
                "options": lambda: _track_options(given),
                "names": lambda: _track_columns(given),
            },
            SettingsError,
        )
        (chosen, tasks), options = found["track"], found["options"]
        if refused:
            with progress_bar() as progress:
                assessing.require_scored(
                    chosen, found["named"], found["data"], tasks, names=found["names"], progress=progress
                )
    changes = {"title": given.title, "threshold": given.threshold}
    settings = (names, given.track, [entry.name for entry in tasks], options, changes, found["names"])
    with (
        writing(
            folder, _command(files), overwrite=given.overwrite, inputs=inputs, settings=settings, tell=note
        ) as place,
        progress_bar() as progress,
    ):
        results = assessing.assess(
            chosen, found["named"], found["data"], tasks, options, cores=cores_or_all(given.cores), progress=progress,
            names=found["names"], **{name: value for name, value in changes.items() if value is not None},
        )  # fmt: skip
        asked = {"command": _command(files)}
        results = [
            replace(result, report=replace(result.report, recipe=result.report.recipe | asked)) for result in results
        ]
        written = [write(result.report, place / result.name, result.pictures) for result in results]
        pages = [folder / page.relative_to(place) for page in written]
    reports = [result.report for result in results]
    show(*reports, folder=folder, full=given.full, below=len(pages))
    tell_records(reports, pages)
    for page in pages:
        say(f"report: {page}")


def _track_tasks(given: Given) -> tuple[Track, list[Task]]:
    """The track of --track, and its tasks of --task.

    Raises:
        SettingsError, UnknownNameError: for unknown ones, and for options that the track sets itself.
    """
    from shiftbench.tracks import track as track_of

    assert given.track is not None
    chosen = track_of(given.track)
    own = {"--slice": given.slices, "--quantile": given.quantile, "--member": given.member,
           "--mean": given.mean, "--std": given.std, "--probability": given.probability, "--truth": given.truth,
           "--unit": given.unit, "--calibration": given.calibration, "--drop": given.drop,
           "--length": given.length, "--column": given.column, **given.of_columns}  # fmt: skip
    known = {*chosen.columns.values(), *["--column"] * bool(chosen.columns)}
    problems = []
    if foreign := [word for word, value in own.items() if value and word not in known]:
        problems.append(f"{given.track} does not support {', '.join(foreign)}: the track sets them. Drop them.")
    tasks = [entry for entry in chosen.tasks if given.task in (None, entry.name)]
    if not tasks:
        problems += UnknownNameError("task", str(given.task), [entry.name for entry in chosen.tasks]).problems
    if problems:
        raise SettingsError(*problems)
    return chosen, tasks


def _track_columns(given: Given) -> dict[str, tuple[str, ...]]:
    """The files' names of the track's columns, by its own keys.

    Raises:
        SettingsError, UnknownNameError: for what is not KEY=NAME, and for keys that the track does not have.
    """
    from shiftbench.tracks import track as track_of

    known = track_of(str(given.track)).columns
    found = {key: own for key, word in known.items() if word and (own := given.of_columns[word])}
    for text in given.column or () if known else ():
        key, sign, name = text.partition("=")
        if not (sign and name):
            raise SettingsError(f"--column: expected KEY=NAME, found {text!r}.")
        if key not in known:
            raise UnknownNameError("column of the track", key, known)
        found[key] = tuple(dict.fromkeys((*found.get(key, ()), name)))
    return found


def _track_options(given: Given) -> RunOptions:
    """Seed and assessment of a report for a track."""
    from shiftbench.track import RunOptions
    from shiftbench.tracks import track as track_of

    preset = next(iter(track_of(str(given.track)).presets))
    return RunOptions(preset, seed=given.seed or 0, rule=given.rule, replicates=given.replicates, kind=given.intervals)


def _require_data(files: Sequence[Path], given: Given) -> Path:
    """The ground truth: the first file itself, if none is named and files of the track can hold it."""
    from shiftbench.tracks import track as track_of

    if given.data is not None:
        return given.data
    if track_of(str(given.track)).truth_inside:
        return files[0]
    raise SettingsError("--data: expected the ground truth of the predictions, found none. Name it.")


def _require_no_data(given: Given) -> None:
    problems = []
    if given.data is not None:
        problems.append("--data: expected --track beside it. Name the track, or use --truth for a table of targets.")
    if given.column:
        problems.append("--column: expected --track beside it. Name the track, or the columns by --target, --answer …")
    if problems:
        raise SettingsError(*problems)


def _names(files: list[Path], names: tuple[str, ...]) -> list[str]:
    """A name for each file: the given one, or else the file's name.

    Raises:
        SettingsError: if the number of names is not that of the files, or two are equal but for blanks around them.
    """
    _require_names(files, names)
    found = list(names) or [_short(file, files) for file in files]
    if len({name.strip() for name in found}) < len(found):
        raise SettingsError(f"expected different names, found {', '.join(map(repr, found))}. Name them with --name.")
    return found


def _all_names(given: list[str] | None) -> tuple[str, ...]:
    """The given names, split at commas; duplicates are kept, to be refused later."""
    return tuple(part for value in given or [] for part in o.separated(value))


def _report(files: list[Path], names: tuple[str, ...], given: Given, title: str, folder: Path) -> None:
    from shiftbench import check
    from shiftbench.assessment import calibration
    from shiftbench.assessment.assess import Options, build, squared
    from shiftbench.io import tables
    from shiftbench.io.files import sha256
    from shiftbench.pipeline import cost

    truth, unit, command = given.truth, given.unit, _command(files)
    apart = [file for text in given.calibration or () if (file := calibration.file_of(text))]
    inputs = [*files, *([truth] if truth else []), *apart]
    with together(folder, command, overwrite=given.overwrite, inputs=inputs) as refused:
        parts = {
            "how": lambda: _assessment(given),
            "names": lambda: _require_names(files, names),
            "calibration": lambda: _require_calibration(files, given.calibration or (), apart),
            "threshold": lambda: given.threshold is None or check.threshold(given.threshold),
            "data": lambda: _require_no_data(given),
        }
        if refused:
            with progress_bar() as progress:
                every(parts | {"files": lambda: _joined(files, names, given, progress)}, SettingsError)
    settings = (names, title, replace(given, out=None, cores=0, overwrite=False, full=False))
    with writing(folder, command, overwrite=given.overwrite, inputs=inputs, settings=settings, tell=note) as place:
        with progress_bar() as progress:
            with tables.reading_notes() as notes:
                found = every(parts | {"files": lambda: _joined(files, names, given, progress)}, SettingsError)
            notes = tables.notes_without(notes, given.columns.drop)
            joined, how = found["files"], found["how"]
            regression = joined.task == "regression"
            options = Options(
                title=title,
                task=joined.task,
                threshold=0.5 if joined.task == "classification" and given.threshold is None else given.threshold,
                rule=how.rule,
                intervals=how.intervals(given.seed or 0, cores_or_all(given.cores)),
                target_unit=unit or "",
                error_unit=squared(unit or "") if regression else unit or "",
                error_name={"regression": "squared error", "classification": "classification error"}.get(
                    joined.task, "error"
                ),
                recipe={
                    "files": {_source_name(file, inputs): sha256(file) for file in inputs},
                    "manifests": joined.manifests,
                    "command": command,
                    "clusters": list(given.columns.clusters),
                },
            )
            report = build(
                [(joined.records, joined.systems)], options, calibration=joined.calibration,
                progress=lambda d, n: progress("assess, replicates", d, n),
            )  # fmt: skip
            spent = (cost.of_file(each.system.name, file) for each, file in zip(joined.systems, files, strict=True))
            costs = tuple(filter(None, spent)) if truth else ()
            report = replace(report, warnings=(*dict.fromkeys(notes), *report.warnings), costs=costs)
        page = folder / write(report, place).relative_to(place)
    show(report, folder=folder, full=given.full)
    tell_records([report], [page])
    say(f"report: {page}")


def _assessment(given: Given) -> Assessment:
    """The options of the assessment."""
    from shiftbench.pipeline.settings import Assessment

    settled = {"rule": given.rule, "replicates": given.replicates, "kind": given.intervals}
    return Assessment(**{key: value for key, value in settled.items() if value is not None})  # type: ignore[arg-type]


def _require_names(files: Sequence[Path], names: Sequence[str]) -> None:
    if names and len(names) != len(files):
        raise SettingsError(f"--name: expected {len(files)} names, one a file, found {len(names)}.")


def _require_calibration(files: Sequence[Path], given: Sequence[str], apart: Sequence[Path]) -> None:
    """Check that there is one column or condition for all files, or a further file for each of them."""
    if len(given) == len(apart) == len(files) or (len(given) < 2 and not apart):
        if len({file.resolve() for file in apart}) < len(apart):
            raise SettingsError(
                f"--calibration: expected a file for each model, found {', '.join(given)}. Name others."
            )
        return
    if apart:
        each = "" if len(files) == 1 else ", one for each of those compared, in their order"
        wanted = f"{len(files)} file{'s' * (len(files) > 1)}{each}"
    else:
        wanted = "one column or condition"
    raise SettingsError(f"--calibration: expected {wanted}, found {', '.join(given)}. Repeat the option, or drop some.")


def _joined(files: list[Path], names: tuple[str, ...], given: Given, progress: Progress) -> Joined:
    """The systems in the files, by name, on the same records; the problems of all files are raised together."""
    from shiftbench.assessment import scored_table
    from shiftbench.assessment.joined import line_up

    columns, truth = given.columns, given.truth
    names = names if len(names) == len(files) else tuple(_short(file, files) for file in files)
    systems: list[ScoredTable] = []

    def read(place: int) -> None:
        nonlocal columns
        progress("read", place, len(files))
        apart = given.calibration or ()
        if len(apart) == len(files):  # a file for each
            columns = replace(columns, calibration=apart[place])
        system = scored_table.load(files[place], columns, name=names[place], truth=truth)
        if not all(other.gaps for other in systems):  # an earlier file describes the records; one table is enough
            system = replace(system, records=replace(system.records, source=None))
        systems.append(system)
        if truth is None:  # the first file defines the groups of records; the others need not repeat them
            columns = replace(columns, follows=True)

    every({str(place): partial(read, place) for place in range(len(files))}, TableError)
    progress("read", len(files), len(files))
    return line_up(systems)


def _short(file: Path, files: list[Path]) -> str:
    """A file's name without its extension, preceded by its folder where two files share the name."""
    stems = [other.name.split(".")[0] for other in files]
    stem = file.name.split(".")[0]
    return stem if stems.count(stem) == 1 else f"{file.resolve().parent.name}/{stem}"


def _source_name(file: Path, files: list[Path]) -> str:
    """A file's name, or its path as given if several files have that name: a recipe tells them apart."""
    return file.name if [other.name for other in files].count(file.name) == 1 else file.as_posix()


def _command(files: list[Path]) -> str:
    """The command recorded as the writer of a report's folder: --overwrite replaces only its own results."""
    return "assess" if len(files) == 1 else "compare"


def report(
    file: Annotated[Path, typer.Argument(help="A report.json, its folder, or that of a run.", show_default=False)],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Folder to write to; default: where the report is.")
    ] = None,
    full: o.Full = False,
) -> None:
    """Print the first screen of a report, or every score, and write its page, tables and figures again.

    They replace those beside its report.json, as after an upgrade, or go to --out. Of a run with several reports all
    are printed and written.
    """
    from shiftbench.report import finding, picture
    from shiftbench.report.content import Report

    places = finding.places(file)
    reports = every({str(place): partial(Report.load, place) for place in places}, TableError)
    pages = []
    for place in places:
        folder = place.parent if out is None else out / place.relative_to(file).parts[0] if len(places) > 1 else out
        with adding(folder, "report") as making:
            written = write(reports[str(place)], making, picture.beside(place.parent))
            pages.append(folder / written.relative_to(making))
    show(*reports.values(), folder=out or file, full=full, below=len(pages))
    tell_records([*reports.values()], pages)
    for page in pages:
        say(f"report: {page}{' (written again)' if out is None else ''}")
