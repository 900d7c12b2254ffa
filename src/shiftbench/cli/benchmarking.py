"""Commands of a benchmark's tracks: example, and what `run` and `tables` do when they are given a track."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench import aborts
from shiftbench.cli import options as o
from shiftbench.cli import preparing
from shiftbench.cli.preparing import MANIFEST
from shiftbench.cli.terminal import cores_or_all, note, progress_bar, say, show, write
from shiftbench.errors import SettingsError, ShiftbenchError, TableError, UnknownNameError
from shiftbench.output import adding, read_mark, writing

if TYPE_CHECKING:
    from shiftbench.pipeline.study import Result
    from shiftbench.progress import Progress
    from shiftbench.track import Example, Prepared, RunOptions, Track, WriteExample

MARKER = "track.toml"  # of a run's folder
NOTED = ("run.toml", "run.json", "settings.json")  # what was chosen for a run, and for a method
COSTLESS = (MARKER, *NOTED, *(f"*/{name}" for name in NOTED), "partition/*", "*/partition/*")  # of a run's folder


def example(
    what: Annotated[str, typer.Argument(help="What to make: table, or a track's name.")] = "table",
    out: o.Out = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1, help="Rows, or scenes [as the track has it; a table: 20,000].")
    ] = None,
    seed: o.Seed = None,
    ship: Annotated[
        str | None, typer.Option("--ship", help="A ship's name or TOML file, where the data are a ship's [container].")
    ] = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Make example data: a table with known truth, or data of the form of a track."""
    from shiftbench import example as made
    from shiftbench.tables import single_file
    from shiftbench.tracks import TRACKS, track

    if what not in ("table", *TRACKS):
        raise UnknownNameError("example", what, ["table", *TRACKS])
    chosen = None if what == "table" else track(what)
    make = _making(what, chosen.example if chosen else None, ship)
    path = out or Path(chosen.example.name if chosen else "table.parquet")
    is_folder = chosen is not None and chosen.example.is_folder
    with ExitStack() as stack:
        if is_folder:  # who writes it refuses those of others
            _require_new(path, overwrite=overwrite)
        else:
            overwrite = stack.enter_context(single_file.replacing(path, f"example {what}", overwrite=overwrite))
        if make is None:
            _require_new_settings(made.paths(path)[1], replaceable=made.replaceable(path), overwrite=overwrite)
            table, settings = made.write(path, rows=rows or 20_000, seed=seed or 0)
            say(f"table:    {table}\nsettings: {settings}\nnext:     shiftbench run --config {settings}")
            return
        with progress_bar() as progress:
            table = make(path, rows, seed or 0, progress)
    _say_outside(table)
    say(f"data: {table}\nnext: shiftbench run {what} --data {table}")


def _making(what: str, example: Example | None, ship: str | None) -> WriteExample | None:
    """What writes a track's example, with the ship if one was named; None for the table that is of no track."""
    if ship is None:
        return example.write if example else None
    if example is None or example.with_ship is None:
        raise SettingsError(
            f"--ship: expected no ship for {what}, whose records are of none, found {ship}. Drop the option."
        )
    return example.with_ship(ship)


def _say_outside(path: Path) -> None:
    """Where records lie outside the ranges that their labels rest on, a table of shares."""
    from shiftbench.intake import outside

    if lines := outside.lines(outside.told(path)):
        say("records outside the ranges that the formulas of their labels rest on, where these extrapolate:")
        for line in lines:
            say(f"  {line}")


def _require_new(folder: Path, *, overwrite: bool) -> None:
    if read_mark(folder) and not overwrite:
        raise SettingsError(
            f"{folder}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
        )


def _require_new_settings(path: Path, *, replaceable: bool, overwrite: bool) -> None:
    """Refuse settings beside a table of examples that may not be overwritten, or that somebody has edited."""
    if path.exists() and not overwrite:
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    if not replaceable:
        raise SettingsError(
            f"{path}: expected the settings of an example as it was written, found other text. Move it away, or choose "
            "another --out; nothing was changed."
        )


def run_track(
    name: str, data: Path | None, *, task: str | None, experiment: str | None, words: dict[str, Any], out: Path | None,
    cores: int, overwrite: bool,
) -> None:  # fmt: skip
    """`shiftbench run TRACK`: prepare the data if need be, then run every task, then the paper's tables."""
    from shiftbench.tracks import track

    chosen = track(name)
    tasks = [entry for entry in chosen.tasks if task in (None, entry.name)]
    if not tasks:
        raise UnknownNameError("task", str(task), [entry.name for entry in chosen.tasks])
    wanted = _run_options(chosen, words)
    if data is None:
        raise SettingsError(
            f"{name}: expected --data with the track's data, found none. Make some with `shiftbench example {name}`, "
            f"or get the official ones with `shiftbench fetch {name}`."
        )
    _require_there({"the track's data": data, **{f"the test set {k}": Path(v) for k, v in wanted.test_sets.items()}})
    folder = out or Path(f"shiftbench-{name}")
    if not (data / MANIFEST).is_file():
        _require_apart(folder, data)
    inputs = [data, *map(Path, wanted.test_sets.values())]
    with (
        writing(
            folder,
            f"run {name}",
            overwrite=overwrite,
            resumes=True,
            inputs=inputs,
            settings=(wanted, task, experiment),
            costless=COSTLESS,
            tell=note,
        ) as place,
        _nothing_if_refused(place),
        progress_bar() as progress,
    ):
        prepared = _prepared(chosen, data, place, experiment, progress)
        results = chosen.run(prepared, tasks, wanted, folder=place, cores=cores_or_all(cores), progress=progress)
        pages, tables = _written(chosen, results, place, progress)
    for result in results:
        if result.printed:
            show(result.report)
            say()
    for result, page in zip(results, pages, strict=True):
        say(f"report: {folder / page.relative_to(place)}" + ("" if result.printed else f"  ({result.report.title})"))
    say(f"tables: {folder / tables.relative_to(place)}")


def _written(track: Track, results: list[Result], folder: Path, progress: Progress) -> tuple[list[Path], Path]:
    """Write every report, then the paper's tables; the page of each, and the tables."""
    stage, pages = "write reports and tables", list[Path]()
    for result in results:
        progress(stage, len(pages), len(results) + 1)
        pages.append(write(result.report, folder / result.name / "report", result.pictures))
    progress(stage, len(pages), len(results) + 1)
    return pages, track.paper.write([result.report for result in results], folder / "tables")["markdown"]


def _run_options(track: Track, given: dict[str, Any]) -> RunOptions:
    """The options of a run; what is misspelt is named before anything is prepared."""
    from shiftbench.track import RunOptions

    preset = given.pop("preset") or track.presets[0]
    if preset not in track.presets:
        raise UnknownNameError("preset", preset, track.presets)
    for method in given["methods"]:
        if method not in track.methods:
            raise UnknownNameError("method", method, track.methods)
    return RunOptions(preset=preset, seed=given.pop("seed") or 0, **given)


def _require_apart(folder: Path, data: Path) -> None:
    """Refuse a run inside the folder of data that are not prepared: it would be taken for some of them."""
    if data.is_dir() and folder.resolve().is_relative_to(data.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than in the data, found it in {data}. Choose another.")


def _require_there(paths: dict[str, Path]) -> None:
    """Rather now than after an hour of work."""
    from shiftbench import files

    missing = [
        f"{path}: expected {what}, found {files.irregular(path) or 'nothing there'}. Check the path."
        for what, path in paths.items()
        if not path.exists() or files.irregular(path)
    ]
    if missing:
        raise TableError(*missing)


@aborts.left
def _nothing_if_refused(folder: Path) -> Iterator[None]:
    """Leave no folder where all that it would hold is our mark and data that were prepared for this run alone."""
    new = not folder.exists()
    try:
        yield
    except ShiftbenchError:
        left = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
        if left == [MARKER] or (new and all(name == MARKER or name.startswith("data-") for name in left)):
            shutil.rmtree(folder, ignore_errors=True)
        raise


def _prepared(track: Track, data: Path, folder: Path, experiment: str | None, progress: Progress) -> Prepared:
    """The prepared folder that `data` is, or one that is made of it inside the run's folder, once."""
    if (data / MANIFEST).is_file():
        if experiment is not None:
            raise SettingsError(
                f"{data}: expected data that are not divided yet with --experiment, found a prepared folder. "
                f"Name the experiment to `shiftbench prepare {track.name}`."
            )
        prepared = track.open_prepared(data)
        _mark(folder, track, _hash(data / MANIFEST))
        return prepared
    chosen = preparing.experiment_of(track, experiment)
    place = folder / f"data-{chosen}"
    _mark(folder, track, _hash(data))
    if (place / MANIFEST).is_file():
        return track.open_prepared(place)
    return preparing.prepared_whole(track, data, place, experiment=chosen, progress=progress)


def _mark(folder: Path, track: Track, data: str) -> None:
    """Write whose data a run's folder is for; refuse one for others, whose prepared data would be taken for these."""
    from shiftbench import files

    path = folder / MARKER
    if path.exists():
        try:
            found = tomllib.loads(files.read_text(path))
        except (ValueError, RecursionError) as error:
            raise SettingsError(
                f"{path}: expected what an earlier run noted of its data, found: {error}. Choose another --out, or "
                "--overwrite."
            ) from None
        if found != {"track": track.name, "data": data}:
            raise SettingsError(
                f"{folder}: expected a new folder, or one of a run on the same data, found a run on others. "
                "Choose another --out, or --overwrite."
            )
    files.write_text(path, f'# A run on the data of a track.\ntrack = "{track.name}"\ndata = "{data}"\n')


def _hash(data: Path) -> str:
    """SHA-256 of a file, or of the hashes of all files in a folder."""
    from shiftbench import files

    if data.is_file():
        return files.sha256(data)
    names = sorted(file for file in data.rglob("*") if file.is_file())
    text = "".join(f"{files.sha256(file)}  {file.relative_to(data)}\n" for file in names)
    return hashlib.sha256(text.encode()).hexdigest()


def track_tables(name: str, runs: list[Path], out: Path | None) -> None:
    """`shiftbench tables TRACK RUN…`: the paper's tables and figures with the runs beside what is printed."""
    from rich.console import Console

    from shiftbench.report import finding
    from shiftbench.tracks import track

    chosen = track(name)
    reports = finding.load(runs)
    Console(width=max(shutil.get_terminal_size((140, 24)).columns, 100)).print(chosen.paper.shown(reports))
    folder = out or Path(f"shiftbench-{name}-tables")
    with adding(folder, "tables") as place:
        written = chosen.paper.write(reports, place)["markdown"].relative_to(place)
    say(f"written: {folder / written}")
