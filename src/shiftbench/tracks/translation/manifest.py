"""`manifest.json` of a prepared folder: its parts and shards with their hashes, and what the cleaning dropped."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from shiftbench.errors import SettingsError, TableError, first_line, quoted
from shiftbench.track import MANIFEST, read_manifest
from shiftbench.tracks.translation.cleaning import Cleaning
from shiftbench.tracks.translation.schema import PARTS

FORMAT = "shiftbench translation data 1"
KINDS = {
    "origin": str, "notes": list, "counts": dict, "begun": dict, "dropped": dict, "parts": dict, "shards": list,
    "vocabulary": dict,
}  # fmt: skip
MOST_LISTED = 5


def held_in(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder, whose files are there with the right size.

    Raises:
        TableError: if it is not one, listing all that is damaged.
    """
    path = folder / MANIFEST
    held = read_manifest(folder)
    if held.get("format") != FORMAT:
        raise TableError(f"{path}: expected {FORMAT!r}, found {quoted(held.get('format'))}. Prepare the data again.")
    if problems := list(_problems(held)) or list(_file_problems(folder, held)):
        raise TableError(
            *(f"{path}: {problem}" for problem in problems[:MOST_LISTED]), f"{path}: prepare the data again."
        )
    return held


def limits(held: Mapping[str, Any]) -> Cleaning:
    """The limits of the cleaning in a manifest, or in the mark of an unfinished preparation."""
    own = held["limits"] if "limits" in held else held["begun"]["limits"]
    return Cleaning(**own | {"languages": tuple(own["languages"])})


def shards(held: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The entries of the `.bin` files of a manifest, in order."""
    return [entry["files"][0] for entry in held["shards"]]


def digest(held: Mapping[str, Any], part: str) -> str:
    """A SHA-256 of what the pairs of a part are: of its files, and of the vocabulary."""
    own = [file for entry in held["shards"] for file in entry["files"]] if part == "train" else [held["parts"][part]]
    hashes = [held["vocabulary"].get("sha256", ""), *(entry["sha256"] for entry in own)]
    return hashlib.sha256("\n".join(hashes).encode()).hexdigest()


def entries(held: Mapping[str, Any]) -> Iterator[Any]:
    """The entries of all files."""
    if held["shards"]:
        yield held["vocabulary"]
    yield from held["parts"].values()
    for shard in held["shards"]:
        yield from shard["files"]


def _problems(held: Mapping[str, Any]) -> Iterator[str]:
    """Entries of an unexpected form."""
    wrong = [name for name, kind in KINDS.items() if not isinstance(held.get(name), kind)]
    yield from (f"{name}: expected {KINDS[name].__name__}, found {quoted(held.get(name))}." for name in wrong)
    if wrong:
        return
    counts = [held["counts"].get(part) for part in PARTS]
    if not all(type(count) is int and count >= 0 for count in counts):
        yield f"counts: expected a number for each part, found {quoted(held['counts'])}."
    if set(held["parts"]) != {part for part in PARTS[1:] if held["counts"].get(part)}:
        yield f"parts: expected a file of each part that has records, found {', '.join(held['parts']) or 'none'}."
    if not all(isinstance(note, str) for note in held["notes"]):
        yield f"notes: expected texts, found {quoted(held['notes'])}."
    try:
        limits(held)
    except (SettingsError, KeyError, TypeError) as error:
        yield f"begun: expected the limits of a cleaning, found: {first_line(error)}."
    for number, shard in enumerate(held["shards"]):
        if not isinstance(shard, dict) or not isinstance(shard.get("files"), list) or len(shard["files"]) != 2:
            yield f"shard {number}: expected two files, found {quoted(shard)}."
            return
    yield from filter(None, map(_fault, entries(held)))


def _fault(entry: Any) -> str:
    """What is wrong with the entry of a file; one outside the folder is refused."""
    known = entry if isinstance(entry, dict) else {}
    file, size, sha256 = (known.get(key) for key in ("file", "bytes", "sha256"))
    if not isinstance(file, str) or len(PurePosixPath(file).parts) != 1 or file == ".." or "\0" in file:
        return f"file: expected a name in the folder, found {quoted(file)}."
    if type(size) is not int or not isinstance(sha256, str):
        return f"{file}: expected its size and SHA-256, found {quoted(size)} and {quoted(sha256)}."
    return ""


def _file_problems(folder: Path, held: Mapping[str, Any]) -> Iterator[str]:
    for entry in entries(held):
        path = folder / entry["file"]
        found = path.stat().st_size if path.is_file() else None
        if found != entry["bytes"]:
            actual = "no such file" if found is None else f"{found:,}"
            yield f"{entry['file']}: expected {entry['bytes']:,} bytes, found {actual}."
