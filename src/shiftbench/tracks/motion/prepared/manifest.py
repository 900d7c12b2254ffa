"""The manifest of a prepared folder: its contents and files, with checks of their consistency."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from shiftbench.errors import TableError
from shiftbench.io import files
from shiftbench.tracks.motion.prepared.shard_plan import BEGUN, FORMAT, read_json
from shiftbench.tracks.motion.schema import PARTITIONS

MANIFEST = "manifest.json"
PLACES = "scenes.json"  # paths of the scenes, which are not part of the data and may be moved
SHA256 = 64  # characters
_MOST_LISTED = 3
_WORDS: dict[Any, str] = {str: "text", list: "a list", dict: "an object"}
_KINDS: dict[str, type[Any]] = {
    "origin": str, "experiment": str, "notes": list, "unused": dict, "tags": dict, "settings": dict, "begun": dict,
    "counts": dict, "shards": list, "requests": dict,
}  # fmt: skip


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a prepared folder, after a check that its files exist with the right size (hashes are checked on
    use).

    Raises:
        TableError: if it is invalid, listing all its problems, or if files are missing or of another size.
    """
    path = folder / MANIFEST
    if not path.is_file() and (folder / BEGUN).is_file():
        raise TableError(f"{folder}: expected a prepared folder, found an unfinished one. Prepare the data again.")
    manifest = read_json(path)
    form = manifest.get("format") if isinstance(manifest, dict) else manifest
    if form != FORMAT:
        raise TableError(
            f"{path}: expected {FORMAT!r}, found {str(form)[:60]!r}. Prepare the data again with this version, or "
            "take the version that wrote them."
        )
    if problems := list(_problems(manifest)):
        raise TableError(*(f"{path}: {problem}" for problem in problems), f"{path}: prepare the data again.")
    _require_files(folder, manifest)
    return manifest  # type: ignore[no-any-return]


def _problems(manifest: dict[str, Any]) -> Iterator[str]:
    wrong = [name for name, kind in _KINDS.items() if not isinstance(manifest.get(name), kind)]
    yield from (f"{name}: expected {_WORDS[_KINDS[name]]}, found {_shown(manifest.get(name))}." for name in wrong)
    if wrong:
        return
    different = [name for name in ("experiment", "settings") if manifest["begun"].get(name) != manifest[name]]
    yield from (f"begun: expected the same {name} as beside it, found others." for name in different)
    if not all(isinstance(note, str) for note in manifest["notes"]):
        yield f"notes: expected texts, found {_shown(manifest['notes'])}."
    if not all(map(_is_count, manifest["unused"].values())):
        yield f"unused: expected numbers, found {_shown(manifest['unused'])}."
    yield from _file_problems("requests", manifest["requests"])
    for number, entry in enumerate(manifest["shards"]):
        yield from _file_problems(f"shard {number}", entry)
    yield from _count_problems(manifest)


def _count_problems(manifest: dict[str, Any]) -> Iterator[str]:
    counts: list[Any] = [manifest["counts"].get(name) for name in PARTITIONS]
    held: list[Any] = [entry.get("requests") if isinstance(entry, dict) else None for entry in manifest["shards"]]
    wrong = {
        name: values for name, values in {"counts": counts, "shards": held}.items() if not all(map(_is_count, values))
    }
    yield from (f"{name}: expected numbers of requests, found {_shown(values)}." for name, values in wrong.items())
    if not wrong and not 0 < sum(counts) == sum(held):
        yield f"counts: expected as many requests as in the shards, at least one, found {sum(counts)} and {sum(held)}."


def _file_problems(what: str, entry: Any) -> Iterator[str]:
    """The problems of the entry of a file; one outside the folder is refused."""
    if not isinstance(entry, dict):
        yield f"{what}: expected a file with its size and hash, found {_shown(entry)}."
        return
    file, size, known = (entry.get(key) for key in ("file", "bytes", "sha256"))
    parts = PurePosixPath(file).parts if isinstance(file, str) else ()
    if not parts or ".." in parts or PurePosixPath(str(file)).is_absolute() or "\0" in str(file):
        yield f"{what}: expected a file inside the folder, found {_shown(file)}."
    if not _is_count(size):
        yield f"{what}: expected a number of bytes, found {_shown(size)}."
    if not isinstance(known, str) or len(known) != SHA256:
        yield f"{what}: expected a SHA-256, found {_shown(known)}."


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53


def _shown(value: Any) -> str:
    """Any value as short text."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def _require_files(folder: Path, manifest: dict[str, Any]) -> None:
    listed = [*manifest["shards"], manifest["requests"]]
    sizes = {str(entry["file"]): int(entry["bytes"]) for entry in listed}
    wrong = [name for name, size in sizes.items() if _size(folder / name) != size]
    if wrong:
        more = f" and {len(wrong) - _MOST_LISTED:,} more" if len(wrong) > _MOST_LISTED else ""
        raise TableError(
            f"{folder}: expected {len(sizes):,} files as its manifest lists them, found {len(wrong):,} missing or of "
            f"another size ({', '.join(wrong[:_MOST_LISTED])}{more}). Prepare the data again in a new folder."
        )


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size if path.is_file() else None
    except OSError:
        return None


def write_places(folder: Path, parts: Mapping[str, str]) -> None:
    """Note part → folder of its scenes; scenes unpacked from archives have no folder."""
    files.write_json(folder / PLACES, dict(parts))


def scene_file(folder: Path, file: str) -> Path:
    """The path of a scene of a prepared folder. file: its name in the table of requests.

    Raises:
        TableError: if that is unknown, since the scenes came in an archive, or it no longer exists.
    """
    part, _, rest = file.partition("/")
    known = read_json(folder / PLACES) if (folder / PLACES).is_file() else {}
    if not isinstance(known, dict) or not isinstance(known.get(part, ""), str):
        raise TableError(
            f"{folder / PLACES}: expected the paths of the parts, found something else. Prepare the data again."
        )
    if part not in known:
        raise TableError(f"{file}: expected the path of this scene, found data from an archive.")
    path = Path(known[part]) / rest
    if not path.is_file():
        raise TableError(f"{path}: expected a scene of the prepared data, found nothing there. Were the scenes moved?")
    return path
