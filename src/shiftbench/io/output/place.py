"""The paths of an output folder: its own, its temporary neighbours, and the final path of a file being written.

Files are written to a temporary folder and moved, so a path stored inside one of them must be the final one.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.io import files

MOST_NAMED = 3
ADVICE = "Move it away, or choose another --out; nothing was removed."


@dataclass(frozen=True)
class Place:
    """The path of an output folder and of its temporary neighbours.

    given: the path as the user gave it. merges: whether files are moved into it one by one, because the folder itself
    cannot be renamed. inside: whether the temporary folders lie inside it, because its parent is not writable.
    """

    given: Path
    path: Path
    merges: bool = False
    inside: bool = False

    @classmethod
    def of(cls, folder: Path) -> Place:
        """The place of a folder, which need not exist.

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
        """The earlier result, during the swap and until it has been removed."""
        return self._beside("earlier")

    @property
    def journal(self) -> Path:
        """The lock file, which also records the step reached."""
        return self._beside("lock" if self.inside else "shiftbench")

    @property
    def own(self) -> tuple[str, ...]:
        """Names in the folder itself that are not part of the result: its temporary neighbours, if they lie inside."""
        neighbours = (self.journal, self.making, self.adding) if self.inside else ()
        return tuple(path.name for path in neighbours)

    def shown(self, path: Path) -> Path:
        """A path in the user's notation for the folder: absolute or relative."""
        return path if self.given.is_absolute() else Path(os.path.relpath(path))

    def require_free(self, path: Path) -> None:
        """Refuse if one of the temporary names is already in use."""
        if os.path.lexists(path) and (path.is_symlink() or not path.is_dir() or any(path.iterdir())):
            raise SettingsError(
                f"{self.shown(path)}: expected nothing there, since a result stands there while it is made or "
                f"replaced, found something. {ADVICE}"
            )


def named(names: Iterable[str]) -> str:
    """The first few names, for messages."""
    found = sorted(names)
    more = f" and {len(found) - MOST_NAMED:,} more" if len(found) > MOST_NAMED else ""
    return ", ".join(map(repr, found[:MOST_NAMED])) + more


@contextmanager
def parents(path: Path) -> Iterator[None]:
    """Create missing parent folders; those that are still empty afterwards are removed again.

    Raises:
        SettingsError: if one of them is a file.
    """
    missing = [above for above in path.parents if not above.exists()]
    if file := files.file_above(path):
        raise SettingsError(f"{file}: expected a folder, found a file. Choose another --out than {path}.")
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        yield
    finally:
        for above in missing:
            with suppress(OSError):  # not empty
                above.rmdir()


_AT_WORK: dict[Path, Place] = {}  # temporary folder → its final place


@contextmanager
def at_work(making: Path, place: Place) -> Iterator[None]:
    """Register a temporary folder and its final place for the duration of the block."""
    _AT_WORK[making] = place
    try:
        yield
    finally:
        del _AT_WORK[making]


def final(path: Path) -> Path:
    """The path a file or folder will have once all temporary folders have been moved into place."""
    there = path.resolve()
    for above in (there, *there.parents):
        if above in _AT_WORK:
            return final(_AT_WORK[above].path / there.relative_to(above))
    return there


def folder_of(path: Path) -> Path:
    """The parent folder of a file or folder; for a temporary one, that of its final place."""
    place = _AT_WORK.get(path.resolve())
    named = place.given if place else path
    return (named.resolve() if named.name in ("", "..") else named).parent
