"""One recording of an import: read, its scenes written, and a note of what came of it: a line of `imported.jsonl`.

A plan lists the recordings to import, so that other processes can do it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeGuard

from shiftbench.errors import ShiftbenchError
from shiftbench.io import files
from shiftbench.io.executor import Job
from shiftbench.tracks.motion.argoverse2.reading import Cut, Settings, scenes_of
from shiftbench.tracks.motion.argoverse2.sources import Damaged, Source
from shiftbench.tracks.motion.scenes.scene import Scene, write_scene


@dataclass(frozen=True)
class Note:
    """The outcome of importing one recording.

    Attributes:
        recording: its id.
        scenes: scene id → SHA-256 of its file.
        requests: how many there are in these scenes.
        left_out: reason → number.
        inputs: name of a file of the recording → its SHA-256.
    """

    recording: str
    scenes: dict[str, str]
    requests: int
    left_out: dict[str, int]
    inputs: dict[str, str]

    def line(self) -> str:
        """The note as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"

    def any_there(self, scenes: Path) -> bool:
        """Whether a folder has a scene of the recording."""
        return any(_is_file(scenes / f"{scene}.pb") for scene in self.scenes)

    def holds(self, scenes: Path, inputs: Mapping[str, str]) -> bool:
        """Whether the recording is the one that was imported, and its scenes are in a folder as they were written."""
        if not self.scenes or self.inputs != inputs:
            return False
        paths = {scenes / f"{scene}.pb": written for scene, written in self.scenes.items()}
        return all(_is_file(path) and files.sha256(path) == written for path, written in paths.items())


def parsed(text: str) -> Note | None:
    """The note in a line, or None if it is invalid: cut off by a kill, or somebody else's.

    Lines of older versions, which know no hashes, say which scenes overlap; they never hold.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, dict):
        return None
    scenes = found.get("scenes")
    if isinstance(scenes, list) and all(isinstance(scene, str) for scene in scenes):
        scenes = dict.fromkeys(scenes, "")
    recording, requests, left_out = (found.get(name) for name in ("recording", "requests", "left_out"))
    inputs = found.get("inputs", {})
    if (
        isinstance(recording, str)
        and _is_count(requests)
        and _are_counts(left_out)
        and _are_texts(scenes)
        and _are_texts(inputs)
    ):
        return Note(recording, scenes, requests, left_out, inputs)
    return None


def _is_count(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _are_counts(value: Any) -> TypeGuard[dict[str, int]]:
    return isinstance(value, dict) and all(map(_is_count, value.values()))


def _are_texts(value: Any) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


WORK = f"{__name__}:make"
PART = "eval"
BEGUN = ".importing"  # holds the plan, the notes and what is damaged, as long as an import is at work
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
    """Write the scenes of a recording of the plan, and then its note; or, if it is damaged, what is wrong with it.

    Raises:
        ShiftbenchError: with all that is wrong with the recording; none of its scenes is written then.
        MissingExtraError: if protobuf is not installed.
    """
    folder, settings, recordings = _plan(argument)
    source = recordings[number]
    try:
        inputs = source.hashes()  # first: of a file that changes meanwhile, the note will not hold
        cut: Cut = scenes_of(source, settings=settings)
    except ShiftbenchError as error:
        if not isinstance(error, ImportError):
            files.write_json(folder / BEGUN / f"{source.id}.damaged.json", [source.id, error.problems])
        raise
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


def damaged(folder: Path) -> Iterator[Damaged]:
    """The recordings whose files were found damaged, by id."""
    for path in sorted((folder / BEGUN).glob("*.damaged.json")):
        recording, problems = json.loads(path.read_text("utf-8"))
        yield Damaged(recording, tuple(problems))


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
