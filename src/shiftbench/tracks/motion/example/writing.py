"""A folder of made-up scenes, written whole or not at all."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from shiftbench.intake import example_folder
from shiftbench.tracks.motion import schema

SCENE_BYTES = 250_000  # rather too many


def replacing(folder: Path, rows: int) -> AbstractContextManager[Path]:
    """A new folder for `rows` scenes that takes the place of `folder`; see `example_folder.replacing`."""
    return example_folder.replacing(folder, track=schema.TRACK, size=rows * SCENE_BYTES, what=f"{rows:,} scenes")
