"""An output folder: made aside and moved whole, so that the earlier result or the new one is whole at every moment.

Beside a folder `r` lie, while it is made, `.r.shiftbench` (its lock and journal), `.r.making` (the new result) and, for
the blink of the swap and while it is removed, `.r.earlier`. Only the journal says that the others are ours; nothing of
these names is touched without it. A result is removed file by file, each only if it is what the mark lists.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from shiftbench import aborts
from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.output import journal as steps
from shiftbench.output.mark import read_mark
from shiftbench.output.place import Place, at_work
from shiftbench.output.transaction import Tell, Transaction


@aborts.left
def writing(
    folder: Path, made_by: str, *, overwrite: bool = False, resumes: bool = False, finishes: bool = True,
    inputs: Sequence[Path] = (), settings: object = None, tell: Tell = lambda _: None,
) -> Iterator[Path]:  # fmt: skip
    """Yield a folder to write to, which takes the place of `folder` once the block succeeds.

    A block that resumes finds what an interrupted one has left, or the files of the finished result; with `overwrite`
    only what an interrupted one with the same inputs and settings has left. Any other block finds no folder.

    Args:
        folder: where the result goes: a new or empty folder, or one of an earlier result.
        made_by: the command; it only takes the place of its own results.
        overwrite: whether an earlier result may be replaced.
        resumes: whether the block goes on with what it finds.
        finishes: whether all is made when the block ends; if not, it stays aside for a block that finishes.
        inputs: what the block reads; none of it may lie in a folder that is replaced.
        settings: of the command, anything with a `repr` of its own.
        tell: told what a user should know.

    Raises:
        SettingsError: naming what in the folder is not as the command left it, if there is such; if there is an
            earlier result that may not be replaced, or another process is at it.
    """
    place = Place.of(folder)
    for path in inputs if overwrite else ():
        require_outside(path, folder)
    with _parents(place.path), steps.journal(place.journal, folder) as journal:
        output = Transaction(place, made_by, journal, tell)
        output.recover()
        output.begin(overwrite=overwrite, resumes=resumes, inputs=_digest(inputs, settings))
        making = place.told(place.making)
        try:
            with at_work(place.making, place), _reported(making, folder):
                yield making
            output.finish(swaps=finishes)
        except BaseException as error:
            output.give_up(error, resumes=resumes)
            raise


@aborts.left
def adding(folder: Path, made_by: str, *, prunes: bool = True) -> Iterator[Path]:
    """Yield a folder for files that are added to `folder` once the block succeeds, in the place of earlier ones.

    An earlier file is replaced only if it is as the mark of the folder, or of one that it is in, lists it. The files of
    an earlier block that are not written again are removed from the subfolders that are written to, unless `prunes`
    is false.

    Raises:
        SettingsError: naming files of others that stand in the way; if another process is at it.
    """
    root = _root(Place.of(folder).path)
    place = replace(Place.of(root), given=folder)
    inner = str(folder.resolve().relative_to(root))
    with _parents(root), steps.journal(place.journal, folder) as journal:
        output = Transaction(place, made_by, journal, lambda _: None)
        output.recover()
        output.require_free(place.adding)
        journal.write(adding=True)
        try:
            making = place.told(place.adding / inner)
            with at_work(place.adding, place), _reported(making, folder):
                yield making
            output.add(made_by, inner, prunes=prunes)
        finally:
            output.discard_added()


def require_outside(data: Path, folder: Path) -> None:
    """Refuse to write into a folder that holds what is read: it may be replaced."""
    if data.resolve().is_relative_to(folder.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than the data, found {data} in it. Choose another.")


def _root(path: Path) -> Path:
    """The folder whose mark lists what is in a folder: itself, or one that it is in."""
    for each in path.parents:
        mark = read_mark(each)
        if mark and any(name.startswith(f"{path.relative_to(each).as_posix()}/") for name in mark.files):
            return path if read_mark(path) else each
    return path


@contextmanager
def _parents(path: Path) -> Iterator[None]:
    """Make the folders above a folder; those that are empty in the end, and were not there, go again."""
    missing = [above for above in path.parents if not above.exists()]
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for above in missing:
            with suppress(OSError):  # it is not empty
                above.rmdir()


@contextmanager
def _reported(making: Path, folder: Path) -> Iterator[None]:
    """Have errors name a folder as the user calls it, not where it is made."""
    places = (str(making.absolute()), str(making))

    def named(text: str) -> str:
        for each in places:
            text = text.replace(each, str(folder))
        return text

    try:
        yield
    except ShiftbenchError as error:
        error.problems = tuple(map(named, error.problems))
        error.args = tuple(named(each) if isinstance(each, str) else each for each in error.args)
        raise
    except OSError as error:
        if isinstance(error.filename, str):
            error.filename = named(error.filename)
        raise


def _digest(inputs: Sequence[Path], settings: object) -> str:
    """What tells the work of a command from another: its settings, and its inputs by name, size and time of change."""
    found = [path for top in inputs for path in (top, *sorted(top.rglob("*") if top.is_dir() else ()))]
    states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found if path.is_file()]
    return hashlib.sha256(repr((settings, states)).encode("utf-8", "surrogateescape")).hexdigest()
