"""The commands example and run of a track."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli import preparing
from shiftbench.cli.options import listed
from shiftbench.cli.terminal import computing as computed
from shiftbench.cli.terminal import note, progress_bar, say, show, tell_records, write
from shiftbench.errors import SettingsError, ShiftbenchError, TableError, UnknownNameError, every
from shiftbench.io import aborts
from shiftbench.io.output import read_mark, together, writing

if TYPE_CHECKING:
    from shiftbench.pipeline.study import Result
    from shiftbench.progress import Progress
    from shiftbench.track import Option, Prepared, RunOptions, Track

MARKER = "track.toml"  # of a run's folder
NOTED = ("run.toml", "run.json", "settings.json")  # records of the settings of a run, and of a method
COSTLESS = (
    MARKER,
    *NOTED,
    *(f"*/{name}" for name in NOTED),
    "partition/*",
    "*/partition/*",
    "cost.json",
    "cost/*",
    "*/cost/*",
)  # of a run's folder
TABLE = "table"  # the example that belongs to no track


def example(
    what: Annotated[
        str,
        typer.Argument(
            help="What to make: table, or a track's name.", autocompletion=o.starting(lambda: (TABLE, *o.track_names()))
        ),
    ] = TABLE,
    out: o.Out = None,
    rows: Annotated[int, typer.Option("--rows", min=1, help="Rows of the table.")] = 20_000,
    seed: o.Seed = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Make example data: a table with known truth, or data in the format of a track.

    `shiftbench example TRACK --help` lists the options of a track.
    """
    from shiftbench import tracks
    from shiftbench.io.tables import single_file
    from shiftbench.pipeline import example as made

    if what != TABLE:
        raise UnknownNameError("example", what, [TABLE, *tracks.names()])
    path = out or o.out_path("example", example=f"{TABLE}.parquet")
    with single_file.replacing(path, f"example {TABLE}", overwrite=overwrite) as replaces:
        _require_new_settings(made.paths(path)[1], replaceable=made.replaceable(path), overwrite=replaces)
        table, settings = made.write(path, rows=rows, seed=seed or 0)
        say(f"table:    {table}\nsettings: {settings}\nnext:     shiftbench run --config {settings}")


def example_options(track: Track) -> tuple[Option, ...]:
    """The options of `example` for a track."""
    from shiftbench.track import Option

    rows = Option("rows", int, f"Number of {track.example.unit}", default="that of the track", least=1)
    return (rows, *track.options.get("example", ()))


def example_of(
    track: Track, out: o.Out = None, seed: o.Seed = None, overwrite: o.Overwrite = False, **own: Any
) -> None:
    """Make example data in the format of a track."""
    from shiftbench.io.tables import single_file

    kind, rows = track.example, own.pop("rows", None)
    path = out or o.out_path("example", example=kind.name)
    with ExitStack() as stack:
        if kind.is_folder:  # its writer refuses folders with other files
            _require_new(path, overwrite=overwrite)
        else:
            stack.enter_context(single_file.replacing(path, f"example {track.name}", overwrite=overwrite))
        progress = stack.enter_context(progress_bar())
        written = kind.write(path, rows, seed or 0, progress, **own)
    for line in kind.notes(written):
        say(line)
    say(f"data: {written}\nnext: shiftbench run {track.name} --data {written}")


def _require_new(folder: Path, *, overwrite: bool) -> None:
    if read_mark(folder) and not overwrite:
        raise SettingsError(
            f"{folder}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
        )


def _require_new_settings(path: Path, *, replaceable: bool, overwrite: bool) -> None:
    """Refuse to overwrite settings beside an example table without --overwrite, or if they were edited."""
    if path.exists() and not overwrite:
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    if not replaceable:
        raise SettingsError(
            f"{path}: expected the settings of an example as it was written, found other text. Move it away, or choose "
            "another --out; nothing was changed."
        )


def run_options(track: Track) -> tuple[Option, ...]:
    """The options of `run` for a track: its methods and presets by name, and its own options."""
    from shiftbench.track import Option

    tasks, presets = tuple(task.name for task in track.tasks), tuple(track.presets)
    held = "; ".join(f"{name}: {', '.join(methods)}" for name, methods in track.presets.items())
    held = f" ({held})" if len(set(track.presets.values())) > 1 else ""
    return (
        Option("task", str, "Only this task", default="all", choices=tasks),
        Option("preset", str, f"A named list of methods{held}", default=presets[0], choices=presets),
        Option("method", str, f"Only these of the preset's methods (repeat or a,b): {', '.join(track.methods)}",
               repeatable=True),
        *preparing.experiment(track),
        *track.options.get("run", ()),
        *_computing(track),
        *_test_sets(track),
    )  # fmt: skip


def _computing(track: Track) -> Iterator[Option]:
    from shiftbench.track import Option

    yield from preparing.spreading(track, "run")
    if track.gpus:
        yield Option("gpus", int, "Number of GPUs reserved for each job", default="0", least=0)


def _test_sets(track: Track) -> Iterator[Option]:
    from shiftbench.track import Option

    if track.test_sets:
        about = f"Further {track.test_sets} that is scored as a whole (repeat)"
        yield Option("test_set", str, about, repeatable=True, metavar="NAME=PATH")


def run_of(
    track: Track,
    data: Annotated[
        Path | None, typer.Option("--data", help="The track's data: a prepared folder, or what `prepare` takes.")
    ] = None,
    *,
    members: o.Members = None,
    scoring: o.Scoring,
    out: o.Out = None,
    cores: o.Cores = 0,
    overwrite: o.Overwrite = False,
    **own: Any,
) -> None:
    """From a track's data to a report: prepare the data if necessary, run every task, fill the paper's tables."""
    task, experiment = own.pop("task", None), own.pop("experiment", None)
    tasks = [entry for entry in track.tasks if task in (None, entry.name)]
    folder, command = out or o.out_path("run TRACK", track=track.name), f"run {track.name}"
    computing = o.Computing(cores, **{each.name: own.pop(each.name) for each in _computing(track) if each.name in own})
    given = {name: own.pop(name, None) for name in ("method", "preset", "test_set")}
    with together(folder, command, overwrite=overwrite, resumes=True, inputs=[data] if data else []):
        found = every(
            {
                "options": lambda: _run_options(track, given, members, scoring),
                "data": lambda: _data(track, data, folder),
            },
            SettingsError,
        )
    wanted, data = found["options"], found["data"]
    inputs = [data, *map(Path, wanted.test_sets.values())]
    settings = (wanted, task, experiment, sorted(own.items()))
    shared = [data, *filter(Path.is_dir, inputs[1:])]  # tables are read here alone
    with (
        working(folder, command, computing, overwrite=overwrite, inputs=inputs, settings=settings, shared=shared) as (
            place,
            used,
            progress,
        ),
        _nothing_if_refused(place),
    ):
        prepared = _prepared(track, data, place, experiment, progress)
        results = track.run(prepared, tasks, wanted, folder=place, cores=used, progress=progress, **own)
        pages = _written(track, results, place, progress)
    printed = [result.report for result in results if result.printed]
    show(*printed, folder=folder, full=scoring.full, below=len(pages))
    tell_records([result.report for result in results], [folder / page.relative_to(place) for page in pages])
    for result, page in zip(results, pages, strict=False):
        say(f"report: {folder / page.relative_to(place)}{'' if result.printed else '  (not shown here)'}")
    for page in pages[len(results) :]:
        say(f"tables: {folder / page.relative_to(place)}")


def _run_options(track: Track, given: Mapping[str, Any], members: int | None, scoring: o.Scoring) -> RunOptions:
    """The options of a run: methods that the track has, and test sets that are there."""
    from shiftbench.track import RunOptions

    methods = listed(given["method"])
    for method in methods:
        if method not in track.methods:
            raise UnknownNameError("method", method, track.methods)
    sets = o.test_sets(given["test_set"])
    paths = {f"the test set {name}": Path(path) for name, path in sets.items()}
    settings = {
        "preset": given["preset"] or next(iter(track.presets)), "seed": scoring.seed or 0, "methods": methods,
        "members": members, "test_sets": sets, **scoring.settings,
    }  # fmt: skip
    read = {"options": lambda: RunOptions(**settings), "files": lambda: _require_there(paths)}
    wanted: RunOptions = every(read, SettingsError)["options"]
    return wanted


def _data(track: Track, data: Path | None, folder: Path) -> Path:
    """The track's data, which are there, and outside the folder of the run unless they are prepared."""
    from shiftbench.track import MANIFEST

    if data is None:
        fetched = f", or get the official ones with `shiftbench fetch {track.name}`" if track.archives else ""
        raise SettingsError(
            f"{track.name}: expected --data with the track's data, found none. Make some with `shiftbench example "
            f"{track.name}`{fetched}."
        )
    _require_there({"the track's data": data})
    if not (data / MANIFEST).is_file():
        _require_apart(folder, data)
    return data


@contextmanager
def working(
    folder: Path, command: str, computing: o.Computing, *, overwrite: bool, inputs: Sequence[Path], settings: object,
    shared: Sequence[Path] = (),
) -> Iterator[tuple[Path, int, Progress]]:  # fmt: skip
    """The output of a command that fits: a temporary folder that can be resumed, the cores, and progress.

    See `writing` for the arguments. shared: further folders that workers must see.
    """
    with (
        writing(
            folder, command, overwrite=overwrite, resumes=True, inputs=inputs, settings=settings, costless=COSTLESS,
            tell=note,
        ) as place,
        computed(computing, place, *shared) as cores,
        progress_bar() as progress,
    ):  # fmt: skip
        yield place, cores, progress


def _written(track: Track, results: list[Result], folder: Path, progress: Progress) -> list[Path]:
    """Write every report, then the paper's tables; returns the page of each report, and the tables if there are any."""
    stage, pages = "write reports and tables", list[Path]()
    for result in results:
        progress(stage, len(pages), len(results) + 1)
        pages.append(write(result.report, folder / result.name / "report", result.pictures))
    progress(stage, len(pages), len(results) + 1)
    if track.paper:
        pages.append(track.paper.write([result.report for result in results], folder / "tables")["html"])
    return pages


def _require_apart(folder: Path, data: Path) -> None:
    """Refuse a run inside a folder of unprepared data, since its files would be taken for data."""
    if data.is_dir() and folder.resolve().is_relative_to(data.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than in the data, found it in {data}. Choose another.")


def _require_there(paths: dict[str, Path]) -> None:
    """Refuse missing paths now rather than after an hour of work."""
    from shiftbench.io import files

    missing = [
        f"{path}: expected {what}, found {files.irregular(path) or 'nothing there'}. Check the path."
        for what, path in paths.items()
        if not path.exists() or files.irregular(path)
    ]
    if missing:
        raise TableError(*missing)


@aborts.left
def _nothing_if_refused(folder: Path) -> Iterator[None]:
    """After a refusal, remove the folder if it holds only our mark and data prepared for this run."""
    new = not folder.exists()
    try:
        yield
    except ShiftbenchError:
        left = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        if left == [MARKER] or (new and all(name == MARKER or name.startswith("data-") for name in left)):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _prepared(track: Track, data: Path, folder: Path, experiment: str | None, progress: Progress) -> Prepared:
    """The prepared folder `data`, or else one made from it inside the run's folder, once."""
    from shiftbench.track import MANIFEST, BatchJob

    if (data / MANIFEST).is_file():
        if experiment is not None:
            raise SettingsError(
                f"{data}: expected data that are not divided yet with --experiment, found a prepared folder. "
                f"Give --experiment to `shiftbench prepare {track.name}` instead."
            )
        prepared = track.open_prepared(data)
        _mark(folder, track, _hash(data / MANIFEST))
        return prepared
    own = {"experiment": experiment or track.experiments[0]} if track.experiments else {}
    place = folder / "-".join(["data", *own.values()])
    _mark(folder, track, _hash(data))
    if (place / MANIFEST).is_file():
        return track.open_prepared(place)
    made = preparing.prepared_whole(track, data, place, own, progress=progress)
    assert not isinstance(made, BatchJob)  # no executor was chosen
    return made


def _mark(folder: Path, track: Track, data: str) -> None:
    """Record the data's hash in a run's folder; refuse a folder made from other data."""
    from shiftbench.io import files

    path = folder / MARKER
    if path.exists():
        try:
            found = tomllib.loads(files.read_text(path))
        except (ValueError, RecursionError) as error:
            raise SettingsError(
                f"{path}: expected an earlier run's record of its data, found: {error}. Choose another --out, or "
                "--overwrite."
            ) from None
        if found != {"track": track.name, "data": data}:
            raise SettingsError(
                f"{folder}: expected a new folder, or one of a run on the same data, found a run on other data. "
                "Choose another --out, or --overwrite."
            )
    files.write_text(path, f'# A run on the data of a track.\ntrack = "{track.name}"\ndata = "{data}"\n')


def _hash(data: Path) -> str:
    """SHA-256 of a file, or of the hashes of all files in a folder."""
    from shiftbench.io import files

    if data.is_file():
        return files.sha256(data)
    names = sorted(file for file in data.rglob("*") if file.is_file())
    text = "".join(f"{files.sha256(file)}  {file.relative_to(data)}\n" for file in names)
    return hashlib.sha256(text.encode()).hexdigest()
