"""A folder of example data, written whole or not at all, and never over anything else."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench import files
from shiftbench.errors import TableError
from shiftbench.tables import problem


@contextmanager
def replacing(folder: Path, *, holds: Collection[str], size: int, what: str) -> Iterator[Path]:
    """Yield a new folder beside `folder`; it takes its place if the block succeeds and is removed if not.

    What a killed run left of it goes first.

    Args:
        folder: where the example goes.
        holds: the names of all that may be in it.
        size: bytes that it will have, rather too many.
        what: it is, for messages: "600 scenes".

    Raises:
        TableError: if `folder` holds anything but an earlier example, cannot be written, or has no room.
    """
    aside: Path | None = None
    try:
        _restore(folder)
        _require_ours(folder, holds)
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = folder.parent / f".{folder.name}.part"
        shutil.rmtree(aside, ignore_errors=True)
        files.require_room(folder, size, what=what)
        aside.mkdir()
        yield aside
        _swap(aside, folder)
    except (OSError, *problem.POLARS) as error:
        raise TableError(
            f"{folder}: expected to write an example of {what}, found: {problem.first_line(error)}. "
            "Check that the folder may be written to and has room; nothing was left behind."
        ) from None
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)


def _old(folder: Path) -> Path:
    return folder.parent / f".{folder.name}.old"


def _swap(new: Path, folder: Path) -> None:
    """Put a new folder in the place of an old one, which comes back if that fails."""
    if folder.exists():
        folder.rename(_old(folder))
    try:
        new.rename(folder)
    except OSError:
        _restore(folder)
        raise
    shutil.rmtree(_old(folder), ignore_errors=True)


def _restore(folder: Path) -> None:
    """Put an old folder back whose place nothing has taken, as where a swap was killed; else it is not needed."""
    old = _old(folder)
    if old.is_dir() and not folder.exists():
        old.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _require_ours(folder: Path, holds: Collection[str]) -> None:
    found = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    if others := [name for name in found if name not in holds]:
        raise TableError(
            f"{folder}: expected a new folder, an empty one or one of an earlier example, found {others[0]!r} in it. "
            "Choose another."
        )
