"""The command that checks a track's data and divides them; and what `run` needs of it."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import note, progress_bar, say
from shiftbench.errors import SettingsError, ShiftbenchError, UnknownNameError
from shiftbench.output import require_outside, writing

if TYPE_CHECKING:
    from shiftbench.progress import Progress
    from shiftbench.track import Prepare, Prepared, Track

MANIFEST = "manifest.json"  # a prepared folder is whole where this is
SLURM = "slurm"  # the executor that is not ours to wait for

Source = Annotated[Path, typer.Argument(help="Official archive, its folder, or one table.", show_default=False)]
Experiment = Annotated[
    str | None, typer.Option("--experiment", help="Which of the track's partitions [the canonical one].")
]
ClimateTable = Annotated[
    Path | None,
    typer.Option("--climate", help="Table of climates by coordinates, where a track's data lack them."),
]
Executor = Annotated[
    str | None,
    typer.Option("--executor", help="Where a large track is prepared: serial, processes, ray or slurm [processes]."),
]
Setting = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="How a track's inputs are made, such as size=400 (repeat)."),
]
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Workers of the executor [all cores].")]


@dataclass(frozen=True)
class Way:
    """How a user wants data to be prepared; None and nothing where the track decides.

    climates: a table of them. executor, workers: where it is done, and by how many. settings: of how inputs are made,
    each as NAME=VALUE. overwrite: whether what is there, or was begun in another way, may go.
    """

    climates: Path | None = None
    executor: str | None = None
    workers: int | None = None
    settings: tuple[str, ...] = ()
    overwrite: bool = False


def prepare(
    name: Annotated[str, typer.Argument(metavar="TRACK", help="The track's name.", show_default=False)],
    source: Source,
    out: o.Out = None,
    experiment: Experiment = None,
    climate: ClimateTable = None,
    executor: Executor = None,
    workers: Workers = None,
    setting: Setting = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Check a track's data, convert them to what is read quickly, and divide them into partitions."""
    from shiftbench.tracks import track

    chosen = track(name)
    wanted = experiment_of(chosen, experiment)
    folder = out or Path(f"shiftbench-{name}-data")
    require_outside(source, folder)
    array = executor == SLURM and chosen.job_script is not None
    where = (None, None) if array else (executor, workers)  # the script of an array takes their place
    way = Way(climate, *where, tuple(setting or ()), overwrite)
    act = _preparing(chosen, way)  # before anything else: it refuses what this track has no use for
    if (folder / MANIFEST).exists() and chosen.resumes and not overwrite:
        _say_prepared(name, _made_before(act, source, folder, experiment=wanted))
        return
    if array:
        _say_script(chosen, source, folder, experiment=wanted, tasks=workers, way=way)
        return
    with progress_bar() as progress:
        prepared = prepared_whole(chosen, source, folder, experiment=wanted, progress=progress, way=way)
    _say_prepared(name, prepared)


def _made_before(act: Prepare, source: Path, folder: Path, *, experiment: str) -> Prepared:
    """What an earlier preparation of the same data in the same way has made; nothing is made anew.

    Raises:
        SettingsError: if the data or the way were others.
    """
    try:
        with progress_bar() as progress:
            prepared = act(source, folder, experiment=experiment, progress=progress)
    except ShiftbenchError as error:
        if isinstance(error, ImportError):
            raise
        told = f"{folder}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
        raise SettingsError(*error.problems, told) from None
    note("note: already there, made of the same data in the same way: nothing to do")
    return prepared


def _say_script(track: Track, source: Path, folder: Path, *, experiment: str, tasks: int | None, way: Way) -> None:
    """Write the script of a Slurm array, and say what to do with it."""
    assert track.job_script is not None
    with _writing(track, folder, way, finishes=False) as place:
        settings = _discard_other(track, place, experiment, way)
        script = track.job_script(source, place, experiment, tasks, settings)
    then = ["shiftbench", "prepare", track.name, str(source), "--out", str(folder), "--experiment", experiment]
    then += [word for each in way.settings for word in ("--set", each)]
    if script is None:  # a kill came between the last shard and the move: there is nothing left to do in an array
        say("all is made already; only this is left:")
    else:
        say(f"script: {script}\nsubmit: {shlex.join(['sbatch', str(script)])}")
    say(f"then:   {shlex.join([*then, '--overwrite'] if (folder / MANIFEST).exists() else then)}")


def _discard_other(track: Track, part: Path, experiment: str, way: Way) -> Any:
    """The track's settings, if it has any. Where it may be overwritten, remove what was begun in another way."""
    settings = track.settings(way.settings) if track.settings else None
    if track.discard_other and way.overwrite:
        track.discard_other(part, experiment, settings)
    return settings


def _preparing(track: Track, way: Way) -> Prepare:
    """What prepares the track's data in this way.

    Raises:
        SettingsError: for all that the track has no use for, and settings that are none.
        UnknownNameError: for an executor that is none.
    """
    from shiftbench.executor import EXECUTORS

    if problems := list(_useless(track, way)):
        raise SettingsError(*problems)
    if way.executor is not None and way.executor not in EXECUTORS:
        raise UnknownNameError("executor", way.executor, [*EXECUTORS, SLURM])
    act = track.prepare
    if way.climates is not None and track.with_climates:
        act = track.with_climates(way.climates)
    if (way.executor, way.workers) != (None, None) and track.with_executor:
        act = track.with_executor(way.executor or "processes", way.workers)
    settled: Callable[..., Prepared] = act  # a track with settings takes them, too
    return partial(settled, settings=track.settings(way.settings)) if track.settings and way.settings else act


def _useless(track: Track, way: Way) -> Iterator[str]:
    """What is said of a track that has no use for it."""
    if way.climates is not None and track.with_climates is None:
        yield (
            f"--climate: expected no table of climates for {track.name}, whose records have none, "
            f"found {way.climates}. Drop the option."
        )
    if (way.executor, way.workers) != (None, None) and track.with_executor is None:
        yield f"--executor and --workers: {track.name} is prepared by one process, found one of them. Drop it."
    if way.settings and track.settings is None:
        found = f"found {way.settings[0]}"
        yield f"--set: expected none for {track.name}, whose inputs are made in one way, {found}. Drop it."


def prepared_whole(
    track: Track, source: Path, folder: Path, *, experiment: str, progress: Progress, way: Way | None = None
) -> Prepared:
    """Prepare data aside; only when all is done they take the place of what is in the folder.

    A track that resumes goes on with what a preparation that was cut off or refused has left there; of others nothing
    stays.

    Raises:
        SettingsError: as `shiftbench.output.writing`.
    """
    way = way or Way()
    act = _preparing(track, way)
    inputs = () if track.resumes else (source, *([way.climates] if way.climates else []))
    with _writing(track, folder, way, inputs=inputs, settings=experiment) as place:
        _discard_other(track, place, experiment, way)
        act(source, place, experiment=experiment, progress=progress)
    return track.open_prepared(folder)


def _writing(
    track: Track, folder: Path, way: Way, *, finishes: bool = True, inputs: Sequence[Path] = (), settings: str = ""
) -> AbstractContextManager[Path]:
    """Where data are prepared; what was begun there in another way, a track that resumes discards itself."""
    return writing(
        folder, f"prepare {track.name}", overwrite=way.overwrite, resumes=track.resumes, finishes=finishes,
        inputs=inputs, settings=settings, tell=note,
    )  # fmt: skip


def experiment_of(track: Track, name: str | None) -> str:
    """The experiment of this name, or the canonical one if nobody says."""
    if name is None:
        return track.experiments[0]
    if name not in track.experiments:
        raise UnknownNameError("experiment", name, track.experiments)
    return name


def _say_prepared(name: str, prepared: Prepared) -> None:
    """Say what was prepared, and what to do with it."""
    for entry in prepared.notes:
        note(f"note: {entry}")
    for part, count in prepared.counts.items():
        say(f"{part:9}{count:>12,}")
    for reason, count in prepared.unused.items():
        say(f"{'unused':9}{count:>12,}  {reason}")
    say(f"data: {prepared.folder} ({prepared.origin})")
    if all(prepared.counts.get(part) for part in ("train", "dev_in")):
        say(f"next: shiftbench run {name} --data {prepared.folder}")
    else:
        note("note: there is nothing to train on, or nothing to stop a training by: a run needs train and dev_in")
