"""A folder of made-up scenes, written whole or not at all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from shiftbench.errors import TableError
from shiftbench.intake import example_folder
from shiftbench.tracks.motion.prepared.sources import ORIGIN
from shiftbench.tracks.motion.schema import PARTS

HOLDS = (ORIGIN, *PARTS, *(f"{part}_tags.txt" for part in PARTS))
"""All that the folder of an example holds."""
SCENE_BYTES = 250_000  # rather too many


def replacing(folder: Path, rows: int) -> AbstractContextManager[Path]:
    """A new folder for `rows` scenes that takes the place of `folder`; see `example_folder.replacing`.

    Raises:
        TableError: if `folder` holds scenes and nothing says that they are made up.
    """
    found = sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []
    if found and ORIGIN not in found and set(found) <= set(HOLDS):
        raise TableError(
            f"{folder}: expected an earlier example with its {ORIGIN}, found {', '.join(found)} without it. "
            "These may be genuine scenes: choose another folder."
        )
    return example_folder.replacing(folder, holds=HOLDS, size=rows * SCENE_BYTES, what=f"{rows:,} scenes")
