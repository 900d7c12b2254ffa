"""What an import notes of a recording that is done, and whether that still holds: a line of `imported.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from shiftbench import files


@dataclass(frozen=True)
class Note:
    """What came of one recording.

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
