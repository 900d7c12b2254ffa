"""Room for a result: a new folder, or that of an earlier result of ours, which is there until the new one is whole."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from shiftbench.cli.terminal import INTERRUPTED, note
from shiftbench.errors import SettingsError


def require_outside(data: Path, folder: Path) -> None:
    """Refuse to write into a folder that holds the data: it may be emptied."""
    if data.resolve().is_relative_to(folder.resolve()):
        raise SettingsError(f"{folder}: expected --out elsewhere than the data, found {data} in it. Choose another.")


def require_room(folder: Path, *, marker: str, resumes: bool) -> bool:
    """Refuse a folder of anything else than an earlier result of ours; whether there is one.

    resumes: whether an earlier result may be there.

    Raises:
        SettingsError: if the folder is not one of ours (it lacks `marker`), is a file, or holds a result.
    """
    if folder.exists() and not folder.is_dir():
        raise SettingsError(f"{folder}: expected a folder to write to, found a file. Choose another --out.")
    if not folder.exists() or not any(folder.iterdir()):
        return False
    if not (folder / marker).exists():
        raise SettingsError(
            f"{folder}: expected a new folder, or one of an earlier result (with {marker} in it), found another. "
            "Choose a new --out; nothing was removed."
        )
    if not resumes:
        raise SettingsError(
            f"{folder}: expected a new folder, found an earlier result. Choose another --out, or --overwrite."
        )
    return True


@contextmanager
def room(
    folder: Path, *, overwrite: bool, marker: str, resumes: bool = False, inputs: Sequence[Path] = ()
) -> Iterator[None]:
    """Refuse a folder of anything else than an earlier result of ours; if it may be overwritten, that stands aside.

    It comes back if the block fails, and is removed once the block succeeds. Where a command that resumes is
    interrupted, it stands aside until a later one has gone on to the end.

    inputs: what the block reads; it may not lie in the folder that is overwritten.
    resumes: whether the command goes on with what it finds.

    Raises:
        SettingsError: as `require_room`, or if what is read, or the current folder, would be overwritten.
    """
    found = require_room(folder, marker=marker, resumes=resumes or overwrite)
    aside = _aside(folder)
    replaced = found and overwrite
    if replaced:
        for path in inputs:
            require_outside(path, folder)
        _set_aside(folder)
    try:
        yield
    except BaseException as error:
        begun = resumes and isinstance(error, KeyboardInterrupt)
        if replaced and not begun:
            shutil.rmtree(folder.resolve(), ignore_errors=True)
            aside.rename(folder.resolve())
        if not begun or not aside.is_dir():
            raise
        note(
            "interrupted; the same command without --overwrite goes on where it stopped, and until its end the earlier "
            f"result stays in {aside}"
        )
        raise SystemExit(INTERRUPTED) from None
    shutil.rmtree(aside, ignore_errors=True)


def _aside(folder: Path) -> Path:
    place = folder.resolve()
    return place.parent / f".{place.name}.earlier"


def _set_aside(folder: Path) -> None:
    """Leave an empty folder; a result that stands aside already is whole, and what came after it is not."""
    place, aside = folder.resolve(), _aside(folder)
    if Path.cwd().is_relative_to(place):
        raise SettingsError(f"{folder}: expected --out elsewhere than the current folder, found it. Choose another.")
    if aside.exists():
        shutil.rmtree(place)
    else:
        place.rename(aside)
    place.mkdir()
