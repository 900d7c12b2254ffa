"""The folder that data are prepared into: held by one process at a time, and replaced only if all in it is ours."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.errors import SettingsError, ShiftbenchError

if TYPE_CHECKING:
    from shiftbench.track import Track

MANIFEST = "manifest.json"  # a prepared folder is whole where this is
PART = ".preparing"  # what is being prepared, inside its folder
UNLISTED = frozenset((MANIFEST, "scenes.json"))  # what manifests do not list; the latter says where scenes lie
MOST_NAMED = 3


@contextmanager
def part_of(folder: Path, *, resumes: bool) -> Iterator[Path]:
    """Where a folder is prepared, aside of what is in it; nothing of it stays that is empty or cannot be resumed.

    Raises:
        TableError: if another process prepares the folder, or it is a file.
    """
    from shiftbench.intake.held_folder import alone

    part = folder / PART
    with alone(folder):
        if not resumes:
            shutil.rmtree(part, ignore_errors=True)
        part.mkdir(exist_ok=True)
        try:
            yield part
        finally:
            if not resumes or not part.exists() or not any(part.iterdir()):
                shutil.rmtree(part, ignore_errors=True)


def require_ours(track: Track, folder: Path, *, made: Path | None = None) -> None:
    """Refuse a folder with anything in it that no preparation of the track wrote: it may not be replaced.

    made: what a preparation has just made. Names in it are known, for a kill may have cut its move off.

    Raises:
        SettingsError: naming what else is in the folder, or why it is none of the track's.
    """
    known = UNLISTED | (set(_names(made)) if made else set())
    if (folder / MANIFEST).exists():
        known |= _listed(track, folder)
    if others := sorted(set(_names(folder)) - known):
        more = f" and {len(others) - MOST_NAMED:,} more" if len(others) > MOST_NAMED else ""
        raise SettingsError(
            f"{folder}: expected nothing but what `shiftbench prepare {track.name}` wrote, found "
            f"{', '.join(map(repr, others[:MOST_NAMED]))}{more} in it. Move it away, or choose another --out; nothing "
            "was removed."
        )


def _listed(track: Track, folder: Path) -> set[str]:
    """The files that the manifest of a prepared folder lists, once the track knows the folder as its own."""
    try:
        track.open_prepared(folder)
    except ShiftbenchError as error:
        told = (
            f"{folder}: expected a folder that `shiftbench prepare {track.name}` wrote, found one of something else, "
            "or a damaged one. Choose another --out, or remove it yourself; nothing was removed."
        )
        raise SettingsError(*(error.problems or (str(error),)), told) from None
    manifest = json.loads((folder / MANIFEST).read_text("utf-8"))
    entries = [entry for value in manifest.values() for entry in (value if isinstance(value, list) else [value])]
    files = {str(entry["file"]) for entry in entries if isinstance(entry, dict) and "file" in entry}
    return files | set(manifest.get("files", ()))


def _names(folder: Path) -> Iterator[str]:
    """All files and empty folders in a folder, by their paths in it; a link is a file."""
    for entry in contents(folder):
        below = entry.rglob("*") if entry.is_dir() and not entry.is_symlink() else ()
        for path in (entry, *below):
            if path.is_symlink() or not path.is_dir() or not any(path.iterdir()):
                yield path.relative_to(folder).as_posix()


def contents(folder: Path) -> list[Path]:
    """What lies in a folder, without what is only there while it is prepared."""
    from shiftbench.fetch.record import LOCK

    return [entry for entry in folder.iterdir() if entry.name not in (PART, LOCK)]


def replace(folder: Path, part: Path) -> None:
    """Move what was made into its folder, in the place of what is there.

    The manifest goes first and comes last: where it is, all is.
    """
    for entry in sorted(contents(folder), key=lambda entry: entry.name != MANIFEST):
        shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    for entry in sorted(part.iterdir(), key=lambda entry: entry.name == MANIFEST):
        entry.replace(folder / entry.name)
