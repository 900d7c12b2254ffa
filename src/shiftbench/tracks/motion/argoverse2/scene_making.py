"""One recording of an import: read, its scenes written, and a note of what came of it.

What is to be imported stands in a plan, so that other processes can do it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from shiftbench import files
from shiftbench.executor import Job
from shiftbench.tracks.motion.argoverse2.note import Note
from shiftbench.tracks.motion.argoverse2.reading import Settings, scenes_of
from shiftbench.tracks.motion.argoverse2.sources import Source
from shiftbench.tracks.motion.scenes.scene import Scene, write_scene

WORK = f"{__name__}:make"
PART = "eval"
BEGUN = ".importing"  # holds the plan and the notes, as long as an import is at work
PLAN = "plan.json"


def job_of(folder: Path, recordings: Sequence[Source], settings: Settings) -> Job:
    """Write the plan of an import into a folder: the work of an executor, an item a recording."""
    listed = [
        {name: str(path.absolute()) for name, path in vars(each).items() if path is not None} for each in recordings
    ]
    plan = files.write_json(folder / BEGUN / PLAN, {"settings": settings.to_dict(), "recordings": listed})
    place = folder.absolute()
    shared = os.path.commonpath([path for each in listed for path in each.values()]) if listed else str(place)
    return Job(WORK, f"{files.sha256(plan)} {place}", len(recordings), (str(place), shared))


def make(argument: str, number: int) -> None:
    """Write the scenes of a recording of the plan, and then its note.

    Raises:
        ShiftbenchError: with all that is wrong with the recording; none of its scenes is written then.
        MissingExtraError: if protobuf is not installed.
    """
    folder, settings, recordings = _plan(argument)
    source = recordings[number]
    inputs = source.hashes()  # first: of a file that changes meanwhile, the note will not hold
    cut = scenes_of(source, settings=settings)
    note = Note(
        source.id,
        _written(cut.scenes, folder / PART),
        sum(len(scene.requests) for scene in cut.scenes),
        dict(sorted(cut.left_out.items())),
        inputs,
    )
    files.write_text(folder / BEGUN / f"{source.id}.jsonl", note.line())


def notes(folder: Path) -> Iterator[str]:
    """The lines of the notes in a folder, in no order."""
    for path in (folder / BEGUN).glob("*.jsonl"):
        yield path.read_text("utf-8", errors="replace")


@lru_cache(maxsize=1)
def _plan(argument: str) -> tuple[Path, Settings, tuple[Source, ...]]:
    """Folder, settings and recordings; read once a process, for the argument begins with the hash of the plan."""
    folder = Path(argument.partition(" ")[2])
    read: dict[str, Any] = json.loads((folder / BEGUN / PLAN).read_text("utf-8"))
    recordings = (Source(**{name: Path(path) for name, path in each.items()}) for each in read["recordings"])
    return folder, Settings(**read["settings"]), tuple(recordings)


def _written(scenes: Sequence[Scene], folder: Path) -> dict[str, str]:
    """Write all scenes, or none if one of them cannot be written: scene id → SHA-256."""
    paths = {scene.id: folder / f"{scene.id}.pb" for scene in scenes}
    try:
        for scene in scenes:
            write_scene(scene, paths[scene.id])
        return {name: files.sha256(path) for name, path in paths.items()}
    except BaseException:
        for path in paths.values():
            path.unlink(missing_ok=True)
        raise
