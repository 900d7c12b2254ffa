"""The commands about a track's data: prepare, which `run` uses, too; import of other benchmarks' data; show."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shiftbench.cli import options as o
from shiftbench.cli.terminal import note, progress_bar, say
from shiftbench.errors import SettingsError, ShiftbenchError, TableError, quoted
from shiftbench.io.output import adding, require_outside, writing

if TYPE_CHECKING:
    from shiftbench.progress import Progress
    from shiftbench.track import BatchJob, Import, Option, Prepared, Track

SLURM = "slurm"  # the executor whose jobs this process does not wait for

Source = Annotated[
    Path, typer.Argument(help="What was downloaded or made: an archive, a folder or a file.", show_default=False)
]
Foreign = Annotated[Path, typer.Argument(help="A file, or a folder of many at any depth.", show_default=False)]
Drawn = Annotated[Path, typer.Argument(metavar="FILE", help="A file of the track's data.", show_default=False)]


def options(track: Track) -> tuple[Option, ...]:
    """The options of `prepare` for a track."""
    return (*experiment(track), *track.options.get("prepare", ()), *spreading(track, "prepare"))


def experiment(track: Track) -> tuple[Option, ...]:
    """The option that chooses one of the partitions of a track."""
    from shiftbench.track import Option

    known = track.experiments
    return (Option("experiment", str, "Which partition", default=known[0], choices=known),) if known else ()


def spreading(track: Track, command: str) -> tuple[Option, ...]:
    """The options of a command whose work can be distributed over processes or machines."""
    from shiftbench.track import Option

    if command not in track.spreads:
        return ()
    where = "Where the work is done: serial, processes, ray, ray=HOST:PORT, ray=local or slurm"
    return (
        Option("executor", str, where, default="processes"),
        Option("workers", int, "Workers of the executor, or tasks of an array", default="all cores", least=1),
    )


def require_executor(own: Mapping[str, Any]) -> None:
    """Refuse an unknown executor before any work.

    Raises:
        UnknownNameError, SettingsError: as `shiftbench.io.executor.Executor.of`.
    """
    from shiftbench.io.executor import Executor

    if "executor" in own:
        Executor.of(own["executor"])


def prepare(track: Track, source: Source, out: o.Out = None, overwrite: o.Overwrite = False, **own: Any) -> None:
    """Check a track's data, convert them to a fast format, and divide them into partitions."""
    from shiftbench.track import MANIFEST, BatchJob

    folder = out or o.out_path("prepare", track=track.name)
    require_outside(source, folder)
    require_executor(own)
    if track.experiments:
        own = {"experiment": track.experiments[0], **own}
    if (folder / MANIFEST).exists() and "prepare" in track.spreads and not overwrite:
        _say_prepared(track.name, _made_before(track, source, folder, own))
        return
    with progress_bar() as progress:
        found = prepared_whole(track, source, folder, own, progress=progress, overwrite=overwrite)
    if isinstance(found, BatchJob):
        _say_script(track, source, folder, found, own)
    else:
        _say_prepared(track.name, found)


def _made_before(track: Track, source: Path, folder: Path, own: Mapping[str, Any]) -> Prepared:
    """The result of an earlier preparation of the same data with the same options, if there is one.

    Raises:
        SettingsError: if the data or the options were different.
    """
    from shiftbench.track import BatchJob

    try:
        with progress_bar() as progress:
            prepared = track.prepare(source, folder, progress=progress, **own)
    except ShiftbenchError as error:
        if isinstance(error, ImportError):
            raise
        existing = f"{folder}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
        raise SettingsError(*error.problems, existing) from None
    note("note: already there, made of the same data in the same way: nothing to do")
    return track.open_prepared(folder) if isinstance(prepared, BatchJob) else prepared


def prepared_whole(
    track: Track, source: Path, folder: Path, own: Mapping[str, Any], *, progress: Progress, overwrite: bool = False
) -> Prepared | BatchJob:
    """Prepare data in a temporary folder, which replaces `folder` on success.

    Distributed work resumes from what an interrupted preparation left; other work starts anew.

    Raises:
        SettingsError: as `shiftbench.io.output.writing`.
    """
    from shiftbench.track import BatchJob

    spreads, finishes = "prepare" in track.spreads, own.get("executor") != SLURM
    name, wishes = f"prepare {track.name}", {"overwrite": overwrite} if spreads else {}
    inputs = () if spreads else (source, *(value for value in own.values() if isinstance(value, Path)))
    settings = () if spreads else sorted((key, str(value)) for key, value in own.items())
    with writing(
        folder, name, overwrite=overwrite, resumes=spreads, finishes=finishes, inputs=inputs, settings=settings,
        tell=note,
    ) as place:  # fmt: skip
        found = track.prepare(source, place, progress=progress, **own, **wishes)
    return found if isinstance(found, BatchJob) or not finishes else track.open_prepared(folder)


def _say_script(track: Track, source: Path, folder: Path, job: BatchJob, own: Mapping[str, Any]) -> None:
    """Print what to do with the script of a Slurm array."""
    from shiftbench.io.executor import slurm
    from shiftbench.track import MANIFEST

    then = ["shiftbench", "prepare", track.name, str(source), "--out", str(folder)]
    for option in options(track):
        if option.name in own and option.name not in ("executor", "workers"):
            values = own[option.name] if option.repeatable else [own[option.name]]
            then += [word for value in values for word in (option.word, str(value))]
    if job.script is None:  # killed between the last piece of work and the move
        say("all parts are complete; only this is left:")
    else:
        if not slurm.found():
            note("note: the command sbatch is not on PATH here: submit the script on a machine of the cluster")
        say(f"script: {job.script}\nsubmit: {shlex.join(['sbatch', str(job.script)])}")
    say(f"then:   {shlex.join([*then, '--overwrite'] if (folder / MANIFEST).exists() else then)}")


def _say_prepared(name: str, prepared: Prepared) -> None:
    """Print what was prepared, and the next command."""
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
        note("note: train or dev_in is missing: a run needs records for training and for early stopping")


def import_data(form: Import, source: Foreign, out: o.Out = None, overwrite: o.Overwrite = False, **own: Any) -> None:
    """Convert data of another benchmark to a track's format; an interrupted import is resumed."""
    folder = out or o.out_path("import", format=form.name)
    require_outside(source, folder)
    require_executor(own)
    damaged: ShiftbenchError | None = None
    lines: list[str] = []
    with (
        writing(folder, f"import {form.name}", overwrite=overwrite, resumes=True, tell=note) as place,
        progress_bar() as progress,
    ):
        try:
            lines += form.write(source, place, progress=progress, **own)
        except ShiftbenchError as error:
            if type(error) is not ShiftbenchError or overwrite:  # otherwise the result is complete
                raise
            damaged = error
    if damaged:
        raise damaged
    for line in lines:
        say(line)
    say(f"data: {folder} ({form.about})")


def show_arguments(track: Track) -> dict[str, Any]:
    """The name of the argument of `show` for a track, and where it draws."""
    out = {"out": o.out_option("show")}
    if track.show is None:
        return out
    argument = typer.Argument(metavar=track.show.metavar, help=track.show.about, show_default=False)
    return {"source": Annotated[Path, argument], **out}


def show(track: Track, source: Drawn, out: o.Out = None, **own: Any) -> None:
    """Draw a file of a track's data; earlier pictures of the same file are replaced."""
    if track.show is None:
        raise SettingsError(f"{track.name} does not support show: its data cannot be drawn.")
    if not source.is_file() and not (track.show.folders and source.is_dir()):
        wanted = "a file or folder" if track.show.folders else "a file"
        raise TableError(f"{source}: expected {wanted}, found {'a folder' if source.is_dir() else 'nothing'} there.")
    folder = out or o.out_path("show")
    with adding(folder, "show", prunes=False) as place, progress_bar() as progress:
        paths = track.show.draw(source, place, progress=progress, **own)
        if not (isinstance(paths, Mapping) and all(isinstance(path, Path) for path in paths.values())):
            raise SettingsError(
                f"track {track.name!r}: show: expected `draw` to return what it drew → path, found {quoted(paths)}."
            )
    for what, path in paths.items():
        say(f"{what + ':':12} {folder / path.relative_to(place)}")
