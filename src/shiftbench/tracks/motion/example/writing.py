"""A folder of made-up scenes, written whole or not at all."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench import files
from shiftbench.errors import TableError
from shiftbench.tracks.motion.schema import PARTS

ORIGIN = "origin.toml"
HOLDS = (ORIGIN, *PARTS, *(f"{part}_tags.txt" for part in PARTS))
"""All that the folder of an example holds."""
SCENE_BYTES = 250_000  # rather too many


@contextmanager
def replacing(folder: Path, rows: int) -> Iterator[Path]:
    """Yield a new folder beside `folder`; it takes its place if the block succeeds and is removed if not.

    What a killed run left of it goes first.

    Raises:
        TableError: if `folder` holds anything but an earlier example, cannot be written, or has no room for `rows`.
    """
    aside: Path | None = None
    try:
        _require_ours(folder)
        folder.parent.mkdir(parents=True, exist_ok=True)
        aside = folder.parent / f".{folder.name}.part"
        shutil.rmtree(aside, ignore_errors=True)
        files.require_room(folder, rows * SCENE_BYTES, what=f"{rows:,} scenes")
        aside.mkdir()
        yield aside
        if folder.exists():
            shutil.rmtree(folder)
        aside.rename(folder)
    except OSError as error:
        raise TableError(
            f"{folder}: expected to write an example of {rows:,} scenes, found: {error.strerror or error}. "
            "Check that the folder may be written to and has room; nothing was left behind."
        ) from None
    finally:
        if aside is not None:
            shutil.rmtree(aside, ignore_errors=True)


def _require_ours(folder: Path) -> None:
    found = sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []
    if others := [name for name in found if name not in HOLDS]:
        raise TableError(
            f"{folder}: expected a new folder, an empty one or one of an earlier example, found {others[0]!r} in it. "
            "Choose another."
        )
    if found and ORIGIN not in found:
        raise TableError(
            f"{folder}: expected an earlier example with its {ORIGIN}, found {', '.join(found)} without it. "
            "These may be genuine scenes: choose another folder."
        )
