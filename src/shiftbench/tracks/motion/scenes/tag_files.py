"""Tags of many scenes: from the published tag files, one JSON object a line, and from the scenes themselves.

A tag file has no scene ids: its lines follow the sorted paths of the scenes. It is used as an index, instead of reading
all scenes, only if its number of lines and a sample of its tags agree with the scenes. The tags in the scenes take
precedence.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shiftbench import argument
from shiftbench.errors import SettingsError, ShiftbenchError, quoted
from shiftbench.io import files
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import head_of
from shiftbench.tracks.motion.schema import SCENE_TAGS, SceneTags

LISTED = 20
LINE_CHARACTERS = 4096
INSTEAD = "take the tags from the scenes themselves (`read_scene(path).tags`)"


MOST_SCENES = 10_000_000


@dataclass(frozen=True)
class Entry:
    """A scene in an index of scenes: its path, id and tags."""

    path: Path
    id: str
    tags: SceneTags


def scene_paths(folder: str | os.PathLike[str]) -> list[Path]:
    """All `.pb` files below a folder, sorted by their relative path as text, the order of the tag files."""
    root = argument.path(folder, error=ShiftbenchError)
    return sorted(root.rglob("*.pb"), key=lambda path: path.relative_to(root).as_posix())


def read_entry(path: str | os.PathLike[str], *, source: str | None = None) -> Entry:
    """Id and tags of a scene file; tracks and road are not checked.

    source: its name in errors; its path if None.

    Raises:
        ShiftbenchError: if the file is too large, truncated or of another format, or has no id.
        MissingExtraError: if protobuf is not installed.
    """
    name = source or str(path)
    message = protobuf.parse_scene(protobuf.read_bytes(path, limit=protobuf.SCENE_BYTES, source=name), source=name)
    return Entry(Path(path), *head_of(message, source=name))


def read_entries(paths: Iterable[Path], *, called: Callable[[Path], str] = str) -> tuple[Entry, ...]:
    """Ids and tags of scene files, in the order given. called: gives the name of a file in errors.

    Raises:
        ShiftbenchError: listing every file that cannot be read and every id that two files share.
        MissingExtraError: if protobuf is not installed.
    """
    entries: list[Entry] = []
    problems: list[str] = []
    for path in paths:
        try:
            entries.append(read_entry(path, source=called(path)))
        except ShiftbenchError as error:
            if isinstance(error, ImportError):  # the same for all files
                raise
            problems += error.problems
    shared: defaultdict[str, list[Path]] = defaultdict(list)
    for entry in entries:
        shared[entry.id].append(entry.path)
    for identity, found in shared.items():
        if len(found) > 1:
            where = ", ".join(map(called, found[:3]))
            problems.append(f"scene {identity}: expected one file, found {len(found)} ({where}). Remove the copies.")
    _raise(problems)
    return tuple(entries)


def read_tags(path: str | os.PathLike[str]) -> tuple[SceneTags, ...]:
    """The tags of a tag file, one line per scene: {"day_time": "kNight", "season": "kSummer", "track": "Moscow", …}.

    A missing key is an unknown tag; other keys are ignored.

    Raises:
        ShiftbenchError: listing, by number, the lines that are not such objects or have an unknown tag.
    """
    known = {key: {tag.wire_name: tag for tag in kind} for key, kind in SCENE_TAGS.items()}
    tags: list[SceneTags] = []
    problems: list[str] = []
    path = argument.path(path, error=ShiftbenchError)
    try:
        with path.open(encoding="utf-8") as file:
            for number, line in enumerate(file, 1):
                try:
                    tags.append(_line_tags(line, known))
                except ValueError as error:
                    problems.append(f"{path}, line {number}: {error}")
    except UnicodeDecodeError as error:
        problems.append(f"{path}: expected UTF-8 text, found {error}.")
    except OSError as error:
        problems.append(f"{path}: expected a tag file, found: {error.strerror}. Check the path.")
    _raise(problems)
    return tuple(tags)


def _line_tags(line: str, known: dict[str, dict[str, Any]]) -> SceneTags:
    if len(line) > LINE_CHARACTERS:
        raise ValueError(f"expected a short JSON object, found {len(line):,} characters.")
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        raise ValueError(f"expected a JSON object with {', '.join(known)}, found {line.strip()[:60]!r}.") from None
    if not isinstance(entry, dict):
        raise ValueError(f"expected a JSON object with {', '.join(known)}, found {line.strip()[:60]!r}.")
    found = {}
    for key in known.keys() & entry.keys():
        if not isinstance(entry[key], str) or entry[key] not in known[key]:
            raise ValueError(f"{key}: expected one of {', '.join(known[key])}, found {str(entry[key])[:60]!r}.")
        found[key] = known[key][entry[key]]
    return SceneTags(**found)


def checked_tags(
    path: str | os.PathLike[str], scenes: Sequence[Path], *, sample: int = 64, called: Callable[[Path], str] = str
) -> dict[Path, SceneTags]:
    """An index: the tags of a tag file by scene, after a check that they belong to these scenes.

    scenes: all scene files of the part, in sorted order (see `scene_paths`). sample: the number of evenly spread
    scenes, at least the first and the last, that are read and compared. called: gives the name of a scene file in
    errors.

    Raises:
        ShiftbenchError: if the numbers or tags of the sample differ; then use the tags in the scenes instead.
        MissingExtraError: if protobuf is not installed.
    """
    argument.whole("sample", sample)
    if not callable(called):
        raise SettingsError(f"called: expected a function of a path, found {quoted(called)}.")
    tags, scenes = read_tags(path), argument.several("scenes", scenes, Path, most=MOST_SCENES)
    if len(tags) != len(scenes):
        raise ShiftbenchError(
            f"{path}: expected a line for each of {len(scenes):,} scenes, found {len(tags):,}. "
            f"These are the tags of other scenes, or scenes are missing: {INSTEAD}."
        )
    places = np.unique(np.linspace(0, len(scenes) - 1, min(max(sample, 2), len(scenes))).round().astype(int)).tolist()
    sampled = read_entries((scenes[place] for place in places), called=called)
    problems = [
        f"{path}, line {place + 1}: expected the tags of {called(entry.path)}, {_words(entry.tags)}, "
        f"found {_words(tags[place])}. The tags are of other scenes or in another order: {INSTEAD}."
        for place, entry in zip(places, sampled, strict=True)
        if entry.tags != tags[place]
    ]
    _raise(problems)
    return dict(zip(scenes, tags, strict=True))


def _words(tags: SceneTags) -> str:
    return " ".join(getattr(tags, key).wire_name for key in SCENE_TAGS)


def write_tags(tags: Iterable[SceneTags], path: str | os.PathLike[str]) -> None:
    """Write a tag file: a line for each scene, in the sorted order of their paths; unknown tags are left out."""
    lines = [
        json.dumps({key: tag.wire_name for key in SCENE_TAGS if (tag := getattr(each, key))}) + "\n" for each in tags
    ]
    files.write_text(path, "".join(lines))


def _raise(problems: Sequence[str]) -> None:
    if problems:
        more = [f"… and {len(problems) - LISTED:,} more."] if len(problems) > LISTED else []
        raise ShiftbenchError(*problems[:LISTED], *more)
