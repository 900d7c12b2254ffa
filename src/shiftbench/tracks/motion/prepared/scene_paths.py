"""Paths of the scenes of a prepared folder: not part of its data, for they may be moved."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from shiftbench import files
from shiftbench.errors import TableError
from shiftbench.tracks.motion.prepared.shard_plan import read_json

PLACES = "scenes.json"


def write(folder: Path, parts: Mapping[str, str]) -> None:
    """Note part → folder of its scenes; scenes unpacked from archives have no folder."""
    files.write_json(folder / PLACES, dict(parts))


def scene_file(folder: Path, file: str) -> Path:
    """Where a scene of a prepared folder lies; `file` is what its table of requests calls it.

    Raises:
        TableError: if that is not known, since the scenes came in an archive, or it is there no more.
    """
    part, _, rest = file.partition("/")
    known = read_json(folder / PLACES) if (folder / PLACES).is_file() else {}
    if not isinstance(known, dict) or not isinstance(known.get(part, ""), str):
        raise TableError(f"{folder / PLACES}: expected where the parts lie, found others. Prepare the data again.")
    if part not in known:
        raise TableError(f"{file}: expected to know where this scene lies, found data that came in an archive.")
    path = Path(known[part]) / rest
    if not path.is_file():
        raise TableError(f"{path}: expected a scene of the prepared data, found nothing there. Were the scenes moved?")
    return path
