"""A folder of example data, written whole or not at all, and never over other files."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench.errors import TableError, first_line
from shiftbench.io import files
from shiftbench.io.output import writing
from shiftbench.io.tables import problem


@contextmanager
def replacing(folder: Path, *, track: str, size: int, what: str) -> Iterator[Path]:
    """Yield a new folder that replaces an earlier example if the block succeeds, see `shiftbench.io.output`.

    Args:
        folder: the output folder.
        track: the track of the example.
        size: an upper estimate of its bytes.
        what: a description for messages: "600 scenes".

    Raises:
        SettingsError: if `folder` holds anything but an unchanged earlier example.
        TableError: if it cannot be written, or the disk lacks space.
    """
    try:
        files.require_room(folder, size, what=what)
        with writing(folder, f"example {track}", overwrite=True) as place:
            place.mkdir()
            yield place
    except (OSError, *problem.POLARS) as error:
        raise TableError(
            f"{folder}: expected to write an example of {what}, found: {first_line(error)}. "
            "Check that the folder is writable and has enough space."
        ) from None
