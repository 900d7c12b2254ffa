"""Where an output folder is, what lies beside it while it is made, and where what is being made will be.

Files are written aside and moved, so a path that is written into one of them must be that of its final place.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import SettingsError


@dataclass(frozen=True)
class Place:
    """Where a folder is, and what lies beside it while it is made.

    given: as the user calls it. merges: whether files are moved into it one by one, for it cannot be moved itself.
    inside: whether it is made inside itself, for nothing can be beside it.
    """

    given: Path
    path: Path
    merges: bool = False
    inside: bool = False

    @classmethod
    def of(cls, folder: Path) -> Place:
        """The place of a folder that is there or not.

        Raises:
            SettingsError: if it is a file.
        """
        path = folder.resolve()
        if path.exists() and not path.is_dir():
            raise SettingsError(f"{folder}: expected a folder to write to, found a file. Choose another --out.")
        inside = path.is_dir() and (path.is_mount() or not os.access(path.parent, os.W_OK | os.X_OK))
        return cls(folder, path, inside or Path.cwd().is_relative_to(path), inside)

    def _beside(self, kind: str) -> Path:
        return self.path / f".shiftbench.{kind}" if self.inside else self.path.parent / f".{self.path.name}.{kind}"

    @property
    def making(self) -> Path:
        """The new result."""
        return self._beside("making")

    @property
    def adding(self) -> Path:
        """Files that are to be added."""
        return self._beside("adding")

    @property
    def earlier(self) -> Path:
        """The earlier result, for the blink of the swap and while it is removed."""
        return self._beside("earlier")

    @property
    def journal(self) -> Path:
        """Its lock, which says how far the making has come."""
        return self._beside("lock" if self.inside else "shiftbench")

    def told(self, path: Path) -> Path:
        """A path as the user would write it."""
        return path if self.given.is_absolute() else Path(os.path.relpath(path))


_AT_WORK: dict[Path, Place] = {}  # what is being made


@contextmanager
def at_work(making: Path, place: Place) -> Iterator[None]:
    """While the block runs, a folder is being made that takes its place in the end."""
    _AT_WORK[making] = place
    try:
        yield
    finally:
        del _AT_WORK[making]


def final(path: Path) -> Path:
    """Where a file or folder will be once all that is being made is at its place."""
    there = path.resolve()
    for above in (there, *there.parents):
        if above in _AT_WORK:
            return final(_AT_WORK[above].path / there.relative_to(above))
    return there


def folder_of(path: Path) -> Path:
    """The folder in which the neighbours of a file or folder are, also of one that is not at its place yet."""
    place = _AT_WORK.get(path.resolve())
    named = place.given if place else path
    return (named.resolve() if named.name in ("", "..") else named).parent
