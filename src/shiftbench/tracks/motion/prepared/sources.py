"""Finds scenes: in folders of the three parts, in a flat folder, or in archives of these, which are unpacked."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import ShiftbenchError, TableError, counted
from shiftbench.io import fetch
from shiftbench.progress import Progress, silent
from shiftbench.tracks.motion import archives
from shiftbench.tracks.motion.scenes import tag_files
from shiftbench.tracks.motion.schema import PARTS

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
ORIGIN = "origin.toml"
IMPORTED = "imported.jsonl"
DEPTH = 5  # levels below the source at which a part may be: an archive in an archive has four
NAMES = {
    "train": ("train", "train_pb"),
    "dev": ("dev", "dev_pb", "development", "development_pb"),
    "eval": ("eval", "eval_pb", "evaluation", "evaluation_pb"),
}
"""Part → name of its folder; the name of its tag file ends in _tags.txt instead of _pb."""
_PARTS = {name: part for part, names in NAMES.items() for name in names}
_FOREIGN = "__MACOSX"  # a folder that some systems add to archives
_MOST_LISTED = 20


@dataclass(frozen=True)
class Part:
    """A part of the data: its folder, its scene files in the order of the tag files, and its tag file, if any."""

    name: str
    folder: Path
    scenes: tuple[Path, ...]
    tags: Path | None = None

    def file(self, scene: Path) -> str:
        """The name of a scene file in messages and tables: `train/000/abc.pb`, wherever the part is."""
        return f"{self.name}/{scene.relative_to(self.folder).as_posix()}"


@dataclass(frozen=True)
class Found:
    """The parts found, train first; the origin given by the data; notes on what was left out."""

    parts: tuple[Part, ...]
    origin: str | None = None
    notes: tuple[str, ...] = ()

    def listing(self) -> str:
        """A hash of the names and sizes of all scene files: independent of the location of the data."""
        digest = hashlib.sha256()
        for part in self.parts:
            for scene in part.scenes:
                digest.update(f"{part.file(scene)}\t{scene.stat().st_size}\n".encode())
        return digest.hexdigest()

    def size(self) -> int:
        """The bytes of all scene files together."""
        return sum(scene.stat().st_size for part in self.parts for scene in part.scenes)


def recordings(source: Path) -> dict[str, str]:
    """Scene id → the recording that it was cut from, if an importer has recorded it: such scenes overlap.

    From the lines of `imported.jsonl` beside the scenes or their folder; other lines are ignored.
    """
    folder = source if source.is_dir() else source.parent
    found: dict[str, str] = {}
    for path in (folder.parent / IMPORTED, folder / IMPORTED):
        for text in path.read_text("utf-8", errors="replace").splitlines() if path.is_file() else ():
            try:
                line = json.loads(text)
                found |= {str(scene): str(line["recording"]) for scene in line["scenes"]}
            except (ValueError, KeyError, TypeError, RecursionError):
                continue
    return found


def archives_of(source: Path) -> list[Path]:
    """The archives to take scenes from: the source itself, or all in a folder without scenes.

    The archive of the official models, which may be beside them, is left out.
    """
    if source.is_file():
        return [source] if _is_archive(source) else []
    if next(_visible(source, source.rglob("*.pb")), None):
        return []
    return sorted(path for path in _visible(source, source.rglob("*")) if path.is_file() and _is_archive(path))


def fingerprint(packed: Iterable[Path]) -> str:
    """A hash of the names and sizes of archives."""
    lines = [f"{path.name}\t{path.stat().st_size}\n" for path in packed]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def unpacked(packed: Iterable[Path], folder: Path, *, progress: Progress = silent) -> Path:
    """The folder with the contents of archives, nested ones included.

    Files unpacked from these archives are kept; those of other or earlier ones are removed.

    Raises:
        FetchError: if an archive is damaged or hostile, or the disk is too small.
    """
    places = {folder / f"{number}-{_version(archive)}": archive for number, archive in enumerate(packed)}
    for entry in folder.iterdir() if folder.is_dir() else ():
        if entry not in places:
            shutil.rmtree(entry)
    for place, archive in places.items():
        if not place.exists():
            fetch.unpack(archive, place, progress=progress)
        for inner in sorted(path for path in place.rglob("*") if path.is_file() and _is_archive(path)):
            into = inner.with_name(f"{inner.name}.unpacked")
            if not into.exists():
                fetch.unpack(inner, into, progress=progress)
            inner.unlink()
    return folder


def _version(archive: Path) -> str:
    """The identity of an archive beyond its name: a corrected one must be unpacked again."""
    known = archive.stat()
    return hashlib.sha256(f"{archive.name}\t{known.st_size}\t{known.st_mtime_ns}".encode()).hexdigest()[:8]


def found(source: Path, *, place: Path | None = None) -> Found:
    """The parts in a folder. A flat folder of scenes is the part of its name, or else eval.

    place: the folder in which archives were unpacked, if any; `source` is still the name of the data.

    Raises:
        TableError: if there are no scenes, two folders of one part, an invalid file of their origin, broken links, or
            names that are not UTF-8.
        ShiftbenchError: if a tag file is of other scenes.
        MissingExtraError: if protobuf is not installed.
    """
    root = place or source
    if not root.is_dir():
        found = "another file" if source.exists() else "nothing there"
        raise TableError(f"{source}: expected a folder of scenes or an archive of them, found {found}.")
    folders = list(_part_folders(root)) or [root]
    problems = [
        f"{source}: expected one folder of the part {name}, found {len(several)}: "
        f"{', '.join(str(path.relative_to(root)) for path in several)}. Keep one."
        for name in PARTS
        if len(several := [path for path in folders if _part_of(path) == name]) > 1
    ]
    if problems:
        raise TableError(*problems)
    parts = [part for path in folders if (part := _part(path)).scenes]
    if not parts:
        raise TableError(
            f"{source}: expected scenes (.pb) in folders train, dev and eval, or in itself, found none. Check the path."
        )
    parts.sort(key=lambda part: PARTS.index(part.name))
    _require_usable(parts)
    _require_own_tags(parts)
    return Found(tuple(parts), _origin(root, parts), tuple(_notes(root, parts)))


def _require_usable(parts: Iterable[Part]) -> None:
    problems = []
    for scene, name in ((scene, part.file(scene)) for part in parts for scene in part.scenes):
        try:
            scene.stat()
            str(scene).encode()  # it is written to tables
        except OSError as error:
            problems.append(f"{name}: expected a scene, found: {error.strerror}. Remove it, or add the scene.")
        except UnicodeEncodeError:
            problems.append(f"{name!a}: expected a name in UTF-8, found another. Rename it.")
    if problems:
        more = [f"… and {len(problems) - _MOST_LISTED:,} more."] if len(problems) > _MOST_LISTED else []
        raise TableError(*problems[:_MOST_LISTED], *more)


def _is_archive(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith(ARCHIVES) and not name.startswith(".") and name != archives.MODELS


def _part_folders(root: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Folders with the name of a part in any case, without descending into them; links only with such a name."""
    for path in sorted(root.iterdir()):
        if path.is_dir() and not _hidden(path.name):
            if _part_of(path):
                yield path
            elif depth > 1 and not path.is_symlink():
                yield from _part_folders(path, depth - 1)


def _part_of(folder: Path) -> str | None:
    """The part of a folder's name in any case, which some file systems change."""
    return _PARTS.get(folder.name.lower())


def _part(folder: Path) -> Part:
    own = _part_of(folder)
    name = own or "eval"
    wanted = dict.fromkeys(f"{each.removesuffix('_pb')}_tags.txt" for each in NAMES[name]) if own else {}
    beside = {path.name.lower(): path for path in sorted(folder.parent.glob("*_[tT][aA][gG][sS].*")) if path.is_file()}
    scenes = tuple(_visible(folder, tag_files.scene_paths(folder)))
    return Part(name, folder, scenes, next((beside[each] for each in wanted if each in beside), None))


def _hidden(name: str) -> bool:
    return name.startswith(".") or name == _FOREIGN


def _visible(folder: Path, paths: Iterable[Path]) -> Iterator[Path]:
    """Paths without components that begin with a dot: some systems add such a file to each file."""
    for path in paths:
        if not any(map(_hidden, path.relative_to(folder).parts)):
            yield path


def _require_own_tags(parts: Iterable[Part]) -> None:
    """Refuse tag files of other scenes, which indicate mixed-up data. Partitions depend only on the tags in the scenes,
    so tag files do not change the bytes of a prepared folder.
    """
    problems: list[str] = []
    for part in parts:
        if part.tags is not None:
            try:
                tag_files.checked_tags(part.tags, part.scenes, called=part.file)
            except ShiftbenchError as error:
                if isinstance(error, ImportError):
                    raise
                problems += error.problems
                if any(str(part.tags) in problem for problem in error.problems):
                    problems.append(f"{part.tags}: remove it to use the tags in the scenes.")
    if problems:
        raise ShiftbenchError(*problems)


def _origin(root: Path, parts: Iterable[Part]) -> str | None:
    beside = (place for part in parts for place in (part.folder.parent, part.folder, part.scenes[0].parent))
    places = dict.fromkeys([root, *beside])
    path = next((place / ORIGIN for place in places if (place / ORIGIN).is_file()), None)
    if path is None:
        return None
    try:
        text = tomllib.loads(path.read_text("utf-8")).get("origin")
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f'{path}: expected origin = "…", found: {error}. Correct it or remove it.') from None
    if not isinstance(text, str) or not text.strip():
        raise TableError(f'{path}: expected origin = "…", found {text!r}. Correct it or remove it.')
    return " ".join(text.split())  # it is used in titles of one line


def _notes(root: Path, parts: Iterable[Part]) -> Iterator[str]:
    parts = list(parts)
    named = list(_visible(root, root.rglob("*.[pP][bB]")))
    if capital := sum(path.suffix != ".pb" for path in named):
        yield f"{counted(capital, 'file')} {'ends' if capital == 1 else 'end'} in .PB in capitals, not in .pb: left out"
    inside = sum(len(part.scenes) for part in parts if not part.folder.is_symlink())  # links to files are not followed
    if outside := len(named) - capital - inside:
        yield f"{outside:,} .pb files are outside the folders of the parts: left out"
    names = {part.name for part in parts}
    yield from (f"{name}: not there" for name in PARTS if name not in names)
