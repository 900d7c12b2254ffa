"""The command that checks a track's data and divides them; and what `run` needs of it."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import make_room, note, progress_bar, say
from shiftbench.errors import SettingsError, UnknownNameError

if TYPE_CHECKING:
    from shiftbench.track import Prepare, Prepared, Progress, Track

MANIFEST = "manifest.json"  # a prepared folder is whole where this is
SLURM = "slurm"  # the executor that is not ours to wait for
PART = ".preparing"  # what is being prepared, inside its folder

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
Workers = Annotated[int | None, typer.Option("--workers", min=1, help="Workers of the executor [all cores].")]


def prepare(
    name: Annotated[str, typer.Argument(metavar="TRACK", help="The track's name.", show_default=False)],
    source: Source,
    out: o.Out = None,
    experiment: Experiment = None,
    climate: ClimateTable = None,
    executor: Executor = None,
    workers: Workers = None,
    overwrite: o.Overwrite = False,
) -> None:
    """Check a track's data, convert them to what is read quickly, and divide them into partitions."""
    from shiftbench.tracks import track

    chosen = track(name)
    wanted = experiment_of(chosen, experiment)
    folder = out or Path(f"shiftbench-{name}-data")
    require_outside(source, folder)
    if (folder / MANIFEST).exists() or not (folder / PART).exists():  # else a killed one, which can be begun again
        make_room(folder, overwrite=False, marker=MANIFEST, resumes=overwrite)
    if executor == SLURM and chosen.job_script is not None:
        _preparing(chosen, climate)  # says what this track has no use for
        _say_script(chosen, source, folder, experiment=wanted, tasks=workers)
        return
    with progress_bar() as progress:
        prepared = prepared_whole(
            chosen, source, folder, experiment=wanted, progress=progress, climates=climate, executor=executor,
            workers=workers,
        )  # fmt: skip
    _say_prepared(prepared)
    if not all(prepared.counts.get(part) for part in ("train", "dev_in")):
        note("note: there is nothing to train on, or nothing to stop a training by: a run needs train and dev_in")
        return
    say(f"next: shiftbench run {name} --data {prepared.folder}")


def _say_script(track: Track, source: Path, folder: Path, *, experiment: str, tasks: int | None) -> None:
    """Write the script of a Slurm array, and say what to do with it."""
    assert track.job_script is not None
    with _part_of(folder, resumes=track.resumes) as part:
        script = track.job_script(source, part, experiment, tasks)
    then = ["shiftbench", "prepare", track.name, str(source), "--out", str(folder), "--experiment", experiment]
    if script is None:  # a kill came between the last shard and the move: there is nothing left to do in an array
        say("all is made already; only this is left:")
    else:
        say(f"script: {script}\nsubmit: {shlex.join(['sbatch', str(script)])}")
    say(f"then:   {shlex.join([*then, '--overwrite'] if (folder / MANIFEST).exists() else then)}")


def require_outside(data: Path, folder: Path) -> None:
    """Refuse to write into a folder that holds the data: it may be emptied."""
    if data.resolve().is_relative_to(folder.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than the data, found {data} in it. Choose another.")


def _preparing(
    track: Track, climates: Path | None = None, executor: str | None = None, workers: int | None = None
) -> Prepare:
    """What prepares the track's data, with a table of climates or on an executor if one was named."""
    from shiftbench.executor import EXECUTORS

    problems = []
    if climates is not None and track.with_climates is None:
        problems.append(
            f"--climate: expected no table of climates for {track.name}, whose records have none, found {climates}. "
            "Drop the option."
        )
    if (executor or workers) is not None and track.with_executor is None:
        problems.append(
            f"--executor and --workers: {track.name} is prepared by one process, found one of them. Drop it."
        )
    if problems:
        raise SettingsError(*problems)
    if executor is not None and executor not in EXECUTORS:
        raise UnknownNameError("executor", executor, [*EXECUTORS, SLURM])
    if climates is not None and track.with_climates:
        return track.with_climates(climates)
    if (executor or workers) is not None and track.with_executor:
        return track.with_executor(executor or "processes", workers)
    return track.prepare


def prepared_whole(
    track: Track, source: Path, folder: Path, *, experiment: str, progress: Progress, **words: Any
) -> Prepared:
    """Prepare data aside; only when all is done they take the place of what is in the folder.

    A track that resumes goes on with what a preparation that was cut off or refused has left there; of others nothing
    stays.
    """
    act = _preparing(track, **words)
    with _part_of(folder, resumes=track.resumes) as part:
        act(source, part, experiment=experiment, progress=progress)
        old = [entry for entry in folder.iterdir() if entry != part]
        for entry in sorted(old, key=lambda entry: entry.name != MANIFEST):  # the manifest goes first and comes last:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
        for entry in sorted(part.iterdir(), key=lambda entry: entry.name == MANIFEST):  # where it is, all is
            entry.replace(folder / entry.name)
    return track.open_prepared(folder)


@contextmanager
def _part_of(folder: Path, *, resumes: bool) -> Iterator[Path]:
    """Where a folder is prepared, aside of what is in it; nothing of it stays that is empty or cannot be resumed."""
    new, part = not folder.exists(), folder / PART
    if not resumes:
        shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True, exist_ok=True)
    try:
        yield part
    finally:
        if not resumes or not part.exists() or not any(part.iterdir()):
            shutil.rmtree(part, ignore_errors=True)
        if new and not any(folder.iterdir()):
            folder.rmdir()


def experiment_of(track: Track, name: str | None) -> str:
    """The experiment of this name, or the canonical one if nobody says."""
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
