"""Output folders are built beside their final place and renamed into it: a complete result is there at every moment.

While a folder `r` is written, its parent holds `.r.shiftbench` (lock and journal), `.r.making` (the new result) and,
during the swap and until it has been deleted, `.r.earlier` (the previous result). Nothing with these names is touched
unless the journal records it. A previous result is deleted file by file, and only files that its mark lists.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import aborts
from shiftbench.io.output import journal as steps
from shiftbench.io.output.journal import Journal
from shiftbench.io.output.mark import read_mark
from shiftbench.io.output.place import Place, at_work, parents
from shiftbench.io.output.transaction import Tell, Transaction

FULL = (errno.ENOSPC, errno.EDQUOT)  # of errors that name no file


@aborts.left
def writing(
    folder: Path, made_by: str, *, overwrite: bool = False, resumes: bool = False, finishes: bool = True,
    inputs: Sequence[Path] = (), settings: object = None, costless: Sequence[str] = (), tell: Tell = lambda _: None,
) -> Iterator[Path]:  # fmt: skip
    """Yield a temporary folder to write to; it replaces `folder` when the block succeeds.

    With `resumes` the temporary folder holds what an interrupted run left, or the files of the finished result; with
    `overwrite` as well, only what an interrupted run with the same inputs and settings left. Otherwise it does not
    exist yet, and a result of a run with the same inputs and settings that was killed before it could end is replaced
    unasked.

    Args:
        folder: where the result goes: a new or empty folder, or one that holds an earlier result.
        made_by: the command; it replaces only its own results.
        overwrite: whether an earlier result may be replaced.
        resumes: whether the block continues from existing files.
        finishes: whether the result is complete when the block ends; if not, it is kept for a block that completes it.
        inputs: files and folders that the block reads; none may lie in a folder that is replaced.
        settings: the command's settings, identified by their `repr`.
        costless: patterns of files that are made in no time: with `resumes`, they alone are not kept if the block
            refuses its input.
        tell: called with messages for the user.

    Raises:
        SettingsError: naming files in the folder that the command did not write, or that were changed since; if there
            is an earlier result that may not be replaced, or another process is writing to the folder.
    """
    place = Place.of(folder)
    for path in inputs if overwrite else ():
        require_outside(path, folder)
    with parents(place.path), steps.journal(place.journal, folder) as journal:
        output = Transaction(place, made_by, journal, tell)
        digest = _digest(inputs, settings)
        ended = output.recover(digest) and bool(inputs)
        output.begin(overwrite=overwrite or (ended and not resumes), resumes=resumes, inputs=digest)
        making = place.shown(place.making)
        try:
            with at_work(place.making, place), _reported(making, folder):
                yield making
            output.finish(swaps=finishes)
        except BaseException as error:
            output.give_up(error, resumes=resumes, costless=costless)
            raise


@contextmanager
def together(
    folder: Path | None, made_by: str, *, overwrite: bool = False, resumes: bool = False, inputs: Sequence[Path] = ()
) -> Iterator[bool]:
    """Raise the problems of the block and those for which `writing` would refuse the folder, all at once.

    Yields whether there are such problems, so that the block can look for others that would be found later; nothing is
    written. See `writing` for the arguments; without a folder nothing is added.

    Raises:
        ShiftbenchError: that of the block if the folder is not refused, else a SettingsError with all problems.
    """
    refused = () if folder is None else _refusal(folder, made_by, overwrite, resumes, inputs)
    try:
        yield bool(refused)
    except ShiftbenchError as error:
        if not refused:
            raise
        raise SettingsError(*error.problems, *refused) from None
    if refused:
        raise SettingsError(*refused)


def _refusal(folder: Path, made_by: str, overwrite: bool, resumes: bool, inputs: Sequence[Path]) -> tuple[str, ...]:
    """Why `writing` would refuse a folder as it is; what a killed command left beside it is for `writing` to judge."""
    try:
        place = Place.of(folder)
        for path in inputs if overwrite else ():
            require_outside(path, folder)
        if not os.path.lexists(place.journal):
            Transaction(place, made_by, Journal(place.journal, io.BytesIO()), lambda _: None).require_replaceable(
                overwrite=overwrite, resumes=resumes
            )
    except SettingsError as error:
        return error.problems
    return ()


@aborts.left
def adding(folder: Path, made_by: str, *, prunes: bool = True) -> Iterator[Path]:
    """Yield a temporary folder whose files are added to `folder` when the block succeeds, replacing earlier ones.

    An existing file is replaced only if it is unchanged since the mark of the folder, or of a folder above it, listed
    it. Files of an earlier run that are not written again are removed from the subfolders that are written to, unless
    `prunes` is false.

    Raises:
        SettingsError: naming files that this package did not write and would have to replace; if another process is
            writing to the folder.
    """
    root = _root(Place.of(folder).path)
    place = replace(Place.of(root), given=folder)
    inner = str(folder.resolve().relative_to(root))
    with parents(root), steps.journal(place.journal, folder) as journal:
        output = Transaction(place, made_by, journal, lambda _: None)
        output.recover()
        output.require_valid_mark()
        place.require_free(place.adding)
        journal.write(adding=True)
        try:
            making = place.shown(place.adding / inner)
            with at_work(place.adding, place), _reported(making, folder):
                yield making
            output.add(made_by, inner, prunes=prunes)
        finally:
            output.discard_added()


def require_outside(data: Path, folder: Path) -> None:
    """Refuse an output folder that contains an input: it may be replaced."""
    if data.resolve().is_relative_to(folder.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than the data, found {data} in it. Choose another.")


def _root(path: Path) -> Path:
    """The folder whose mark lists the contents of `path`: `path` itself, or the nearest result that it lies in, which
    its command could otherwise not replace any more."""
    return next((each for each in (path, *path.parents) if read_mark(each)), path)


@contextmanager
def _reported(making: Path, folder: Path) -> Iterator[None]:
    """Make error messages name the folder as the user gave it, not the temporary one."""
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
        elif error.errno in FULL:
            error.filename = str(folder)
        raise


def _digest(inputs: Sequence[Path], settings: object) -> str:
    """A hash that identifies a run: the settings, and name, size and modification time of every input file."""
    found = [path for top in inputs for path in (top, *sorted(top.rglob("*") if top.is_dir() else ()))]
    states = [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in found if path.is_file()]
    return hashlib.sha256(repr((settings, states)).encode("utf-8", "surrogateescape")).hexdigest()
