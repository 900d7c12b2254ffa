"""Commands of a benchmark's tracks: example, prepare, and what `run` and `tables` do when they are given a track."""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import cores_or_all, make_room, note, progress_bar, say, show, write
from shiftbench.errors import SettingsError, ShiftbenchError, TableError, UnknownNameError

if TYPE_CHECKING:
    from shiftbench.settings import Settings
    from shiftbench.track import Prepare, Prepared, Progress, Track

MANIFEST = "manifest.json"  # a prepared folder is whole where this is
PART = ".preparing"  # what is being prepared, inside its folder
EXAMPLE = "records.parquet"  # in a folder of example data
MARKER = "track.toml"  # of a run's folder

Source = Annotated[Path, typer.Argument(help="Official archive, its folder, or one table.", show_default=False)]
Experiment = Annotated[
    str | None, typer.Option("--experiment", help="Which of the track's partitions [the canonical one].")
]
ClimateTable = Annotated[
    Path | None,
    typer.Option("--climate", help="Table of climates by coordinates, where a track's data lack them."),
]


def example(
    what: Annotated[str, typer.Argument(help="What to make: table, or a track's name.")] = "table",
    out: o.Out = None,
    rows: Annotated[
        int | None, typer.Option("--rows", min=1000, help="Rows [20,000; of a track that simulates a time: all].")
    ] = None,
    seed: o.Seed = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Make example data: a table with known truth, or data of the form of a track."""
    from shiftbench import example as made
    from shiftbench.tracks import TRACKS, track

    if what not in ("table", *TRACKS):
        raise UnknownNameError("example", what, ["table", *TRACKS])
    chosen = None if what == "table" else track(what)
    path = out or Path(chosen.example_name if chosen else "table.parquet")
    if path.is_dir():
        if others := sorted(entry.name for entry in path.iterdir() if entry.suffix != ".parquet"):
            raise SettingsError(
                f"{path}: expected a new folder, or one of example data alone, found {others[0]!r} in it. "
                "Choose another --out; nothing was removed."
            )
        make_room(path, overwrite=overwrite, marker=EXAMPLE, resumes=False)
    elif path.exists() and not overwrite:
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out, or --overwrite.")
    if chosen is None:
        table, settings = made.write(path, rows=rows or 20_000, seed=seed or 0)
        say(f"table:    {table}\nsettings: {settings}\nnext:     shiftbench run --config {settings}")
        return
    with progress_bar() as progress:
        table = chosen.example(path, rows, seed or 0, progress)
    say(f"data: {table}\nnext: shiftbench run {what} --data {table}")


def prepare(
    name: Annotated[str, typer.Argument(metavar="TRACK", help="The track's name.", show_default=False)],
    source: Source,
    out: o.Out = None,
    experiment: Experiment = None,
    climate: ClimateTable = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Check a track's data, convert them to Parquet and divide them into partitions."""
    from shiftbench.tracks import track

    chosen = track(name)
    wanted = _experiment(chosen, experiment)
    folder = out or Path(f"shiftbench-{name}-data")
    _outside(source, folder)
    if (folder / MANIFEST).exists() or not (folder / PART).exists():  # else a killed one, which can be begun again
        make_room(folder, overwrite=False, marker=MANIFEST, resumes=overwrite)
    with progress_bar() as progress:
        prepared = _prepared_whole(chosen, source, folder, experiment=wanted, climates=climate, progress=progress)
    _say_prepared(prepared)
    say(f"next: shiftbench run {name} --data {prepared.folder}")


def _outside(data: Path, folder: Path) -> None:
    if data.resolve().is_relative_to(folder.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than the data, found {data} in it. Choose another.")


def _preparing(track: Track, climates: Path | None) -> Prepare:
    """What prepares the track's data, with a table of climates if one was named."""
    if climates is None:
        return track.prepare
    if track.with_climates is None:
        raise SettingsError(
            f"--climate: expected no table of climates for {track.name}, whose records have none, found {climates}. "
            "Drop the option."
        )
    return track.with_climates(climates)


def _prepared_whole(
    track: Track, source: Path, folder: Path, *, experiment: str, progress: Progress, climates: Path | None = None
) -> Prepared:
    """Prepare data aside; only when all is done they take the place of what is in the folder."""
    act = _preparing(track, climates)
    new, part = not folder.exists(), folder / PART
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    try:
        act(source, part, experiment=experiment, progress=progress)
        old = [entry for entry in folder.iterdir() if entry != part]
        for entry in sorted(old, key=lambda entry: entry.name != MANIFEST):  # the manifest goes first and comes last:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for entry in sorted(part.iterdir(), key=lambda entry: entry.name == MANIFEST):  # where it is, all is
            entry.replace(folder / entry.name)
    finally:
        shutil.rmtree(part, ignore_errors=True)
        if new and not any(folder.iterdir()):
            folder.rmdir()
    return track.open_prepared(folder)


def _experiment(track: Track, name: str | None) -> str:
    if name is None:
        return track.experiments[0]
    if name not in track.experiments:
        raise UnknownNameError("experiment", name, track.experiments)
    return name


def _say_prepared(prepared: Prepared) -> None:
    for entry in prepared.notes:
        note(f"note: {entry}")
    for part, count in prepared.counts.items():
        say(f"{part:9}{count:>12,}")
    for reason, count in prepared.unused.items():
        say(f"{'unused':9}{count:>12,}  {reason}")
    say(f"data: {prepared.folder} ({prepared.origin})")


def run_track(
    name: str, data: Path | None, *, task: str | None, preset: str | None, experiment: str | None, seed: int | None,
    given: dict[str, Any], out: Path | None, cores: int, overwrite: bool,
) -> None:  # fmt: skip
    """`shiftbench run TRACK`: prepare the data if need be, then run every task, then the paper's tables."""
    from shiftbench import methods
    from shiftbench import run as runner
    from shiftbench.tracks import track

    chosen = track(name)
    tasks = [entry for entry in chosen.tasks if task in (None, entry.name)]
    if not tasks:
        raise UnknownNameError("task", str(task), [entry.name for entry in chosen.tasks])
    if preset is not None and preset not in chosen.presets:
        raise UnknownNameError("preset", preset, chosen.presets)
    for method in given["methods"]:
        methods.method(method)  # a misspelt one is named before anything is prepared
    if data is None:
        raise SettingsError(
            f"{name}: expected --data with the track's data, found none. Make some with `shiftbench example {name}`, "
            f"or get the official ones with `shiftbench fetch {name}`."
        )
    if not data.exists():
        raise TableError(f"{data}: expected the track's data, found nothing there. Check the path.")
    folder = out or Path(f"shiftbench-{name}")
    if overwrite:
        _outside(data, folder)
    make_room(folder, overwrite=overwrite, marker=MARKER, resumes=True)
    reports, pages = [], []
    with _nothing_if_refused(folder), progress_bar() as progress:
        prepared = _prepared(chosen, data, folder, experiment, progress)
        for entry in tasks:
            settings = chosen.settings(prepared, entry, preset=preset or chosen.presets[0], seed=seed or 0)
            outcome = runner.run(
                _with_words(settings, given), folder / entry.name, cores=cores_or_all(cores), progress=progress
            )
            reports.append(outcome.report)
            pages.append(write(outcome.report, folder / entry.name / "report"))
        tables = chosen.paper.write(reports, folder / "tables")["markdown"]
    for report, page in zip(reports, pages, strict=True):
        show(report)
        say(f"report: {page}\n")
    say(f"tables: {tables}")


@contextmanager
def _nothing_if_refused(folder: Path) -> Iterator[None]:
    """Leave no folder where all that it would hold is our mark."""
    try:
        yield
    except ShiftbenchError:
        if folder.is_dir() and [entry.name for entry in folder.iterdir()] == [MARKER]:
            shutil.rmtree(folder)
        raise


def _with_words(settings: Settings, given: dict[str, Any]) -> Settings:
    """The track's settings with what the command line says of methods and of the assessment."""
    wanted = given["methods"]
    words = {key: given[key] for key in ("replicates", "kind", "rule") if given[key] is not None}
    known = {str(entry["name"]) for entry in settings.methods}
    if unknown := [name for name in wanted if name not in known]:
        raise UnknownNameError("method of this preset", unknown[0], known)
    methods = tuple(entry for entry in settings.methods if not wanted or entry["name"] in (*wanted, "column"))
    assessment = replace(settings.assessment, **words)
    track = dict(settings.track)
    if len(methods) < len(settings.methods) or given["members"] is not None:
        track["preset"] = f"{track['preset']}, in part"
    test_sets = {**settings.test_sets, **given["test_sets"]}
    return replace(
        settings, methods=methods, test_sets=test_sets, members=given["members"], assessment=assessment, track=track
    )


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
    chosen = _experiment(track, experiment)
    place = folder / f"data-{chosen}"
    _mark(folder, track, _hash(data))
    if (place / MANIFEST).is_file():
        return track.open_prepared(place)
    return _prepared_whole(track, data, place, experiment=chosen, progress=progress)


def _mark(folder: Path, track: Track, data: str) -> None:
    """Write whose data a run's folder is for; refuse one for others, whose prepared data would be taken for these."""
    from shiftbench import files

    path = folder / MARKER
    if path.exists():
        try:
            found = tomllib.loads(path.read_text("utf-8"))
        except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
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
    written = chosen.paper.write(reports, out or Path(f"shiftbench-{name}-tables"))
    say(f"written: {written['markdown']}")
