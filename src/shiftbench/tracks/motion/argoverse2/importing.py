"""Writing the scenes of many recordings as official files; goes on where it was stopped.

A folder holds `eval/ID.pb`, `origin.toml` (where the scenes come from and how they were made) and `imported.jsonl`: a
line for each recording that is done, written after its scenes.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shiftbench import files
from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.tracks.motion.argoverse2.reading import Settings, scenes_of
from shiftbench.tracks.motion.argoverse2.sources import Source, sources
from shiftbench.tracks.motion.scenes.scene import write_scene

ORIGIN = "origin.toml"
DONE = "imported.jsonl"
PART = "eval"
LISTED = 40

Progress = Callable[[str, int, int], None]


@dataclass(frozen=True)
class Imported:
    """What an import has brought, now and earlier: numbers, and what was left out by reason."""

    folder: Path
    recordings: int
    scenes: int
    requests: int
    left_out: dict[str, int]


def import_scenes(
    source: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    settings: Settings | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Write the scenes of all recordings in `source` into a folder; recordings that are done there are skipped.

    A recording that is damaged does not keep the others from being written.

    Raises:
        SettingsError: if the folder holds scenes that were made with other settings.
        ShiftbenchError: as `sources`; at the end, for all that is wrong with recordings.
        MissingExtraError: if protobuf is not installed.
    """
    chosen, target = settings or Settings(), Path(folder)
    found = sources(source)
    _claim(target, chosen)
    done = _done(target)
    problems: list[str] = []
    for number, each in enumerate(found, 1):
        if each.id not in done:
            try:
                done[each.id] = _imported(each, target, chosen)
            except ShiftbenchError as error:
                if isinstance(error, ImportError):  # true of every recording
                    raise
                problems += error.problems
        if progress is not None:
            progress("import", number, len(found))
    lines = [done[each.id] for each in found if each.id in done]
    if problems:
        raise ShiftbenchError(*_shortened(problems), _outcome(len(lines), len(found), target))
    return _sum(target, lines)


def _shortened(problems: Sequence[str]) -> list[str]:
    more = [f"… and {len(problems) - LISTED:,} more."] if len(problems) > LISTED else []
    return [*problems[:LISTED], *more]


def _outcome(done: int, every: int, target: Path) -> str:
    return (
        f"{target}: expected {every:,} recordings, found {done:,} that could be imported; their scenes are there. "
        "Mend or remove the others and run this again."
    )


def _claim(folder: Path, settings: Settings) -> None:
    """Say where the scenes of a folder come from; refuse one whose scenes were made otherwise."""
    lines = [
        'origin = "Argoverse 2, imported as scenes of 5 Hz"',
        'licence = "CC BY-NC-SA 4.0, (c) 2022 Argo AI, LLC"',
        "",
        "[settings]",
        *(f"{name} = {value}" for name, value in settings.to_dict().items()),
    ]
    text, path = "\n".join(lines) + "\n", folder / ORIGIN
    if path.exists() and path.read_text("utf-8", errors="replace") != text:
        raise SettingsError(
            f"{path}: expected the settings {settings.to_dict()}, found scenes that were made otherwise. "
            "Choose another folder, or overwrite this one."
        )
    files.write_text(path, text)


def _imported(source: Source, folder: Path, settings: Settings) -> dict[str, Any]:
    cut = scenes_of(source, settings=settings)
    for scene in cut.scenes:
        write_scene(scene, folder / PART / f"{scene.id}.pb")
    line = {
        "recording": source.id,
        "scenes": [scene.id for scene in cut.scenes],
        "requests": sum(len(scene.requests) for scene in cut.scenes),
        "left_out": dict(sorted(cut.left_out.items())),
    }
    with (folder / DONE).open("a", encoding="utf-8", newline="\n") as file:
        file.write(json.dumps(line) + "\n")
    return line


def _done(folder: Path) -> dict[str, dict[str, Any]]:
    """The lines of recordings whose scenes are all there; a line that a kill cut off is dropped."""
    path = folder / DONE
    if not path.exists():
        return {}
    kept: dict[str, dict[str, Any]] = {}
    for text in path.read_text("utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
            there = all((folder / PART / f"{scene}.pb").is_file() for scene in line["scenes"])
            whole = isinstance(line["requests"], int) and isinstance(line["left_out"], dict)
        except (ValueError, KeyError, TypeError):
            continue
        if there and whole:
            kept[line["recording"]] = line
    files.write_text(path, "".join(json.dumps(line) + "\n" for line in kept.values()))
    return kept


def _sum(folder: Path, lines: Sequence[dict[str, Any]]) -> Imported:
    left_out = Counter[str]()
    for line in lines:
        left_out.update(line["left_out"])
    scenes, requests = (sum(counts) for counts in ([len(e["scenes"]) for e in lines], [e["requests"] for e in lines]))
    return Imported(folder, len(lines), scenes, requests, dict(left_out.most_common()))
