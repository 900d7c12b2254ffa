"""Where scenes lie: in folders of the three parts, in a flat folder, or in archives of these, which are unpacked."""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import fetch
from shiftbench.progress import Progress, silent
from shiftbench.tracks.motion import archives
from shiftbench.tracks.motion.scenes import tag_files
from shiftbench.tracks.motion.schema import PARTS

ARCHIVES = (".tar", ".tar.gz", ".tgz", ".zip")
ORIGIN = "origin.toml"
IMPORTED = "imported.jsonl"
DEPTH = 5  # folders below the source in which a part may lie: an archive in an archive has four
NAMES = {
    "train": ("train", "train_pb"),
    "dev": ("dev", "dev_pb", "development", "development_pb"),
    "eval": ("eval", "eval_pb", "evaluation", "evaluation_pb"),
}
"""Part → what its folder is called; its tag file is called the same, without _pb and with _tags.txt."""
_PARTS = {name: part for part, names in NAMES.items() for name in names}
_FOREIGN = "__MACOSX"  # a folder that some systems pack beside what was meant
_MOST_LISTED = 20


@dataclass(frozen=True)
class Part:
    """A part of the data: its folder, its scene files in the order of the tag files, and its tag file, if any."""

    name: str
    folder: Path
    scenes: tuple[Path, ...]
    tags: Path | None = None

    def file(self, scene: Path) -> str:
        """What messages and tables call a scene file: `train/000/abc.pb`, wherever the part lies."""
        return f"{self.name}/{scene.relative_to(self.folder).as_posix()}"


@dataclass(frozen=True)
class Found:
    """The parts that were found, train first; what the data say of their origin; what was left out."""

    parts: tuple[Part, ...]
    origin: str | None = None
    notes: tuple[str, ...] = ()

    def listing(self) -> str:
        """A hash of the names and sizes of all scene files: the same data lie in other places, too."""
        digest = hashlib.sha256()
        for part in self.parts:
            for scene in part.scenes:
                digest.update(f"{part.file(scene)}\t{scene.stat().st_size}\n".encode())
        return digest.hexdigest()

    def size(self) -> int:
        """The bytes of all scene files together."""
        return sum(scene.stat().st_size for part in self.parts for scene in part.scenes)


def recordings(source: Path) -> dict[str, str]:
    """Scene id → the recording that it was cut from, where an importer has noted it: such scenes overlap.

    Read are the lines of `imported.jsonl` beside the scenes or their folder; what is no such line is passed over.
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
    """The archives that scenes must be taken from: the source itself, or all in a folder that has no scenes.

    The archive of the official models, which may lie beside them, is left out.
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
    """The folder with all that archives hold, those inside of them unpacked, too.

    What was unpacked of these very archives stays; what was unpacked of others, or of earlier ones, goes.

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
    """What tells an archive from another one of its name: one that was mended must be unpacked anew."""
    known = archive.stat()
    return hashlib.sha256(f"{archive.name}\t{known.st_size}\t{known.st_mtime_ns}".encode()).hexdigest()[:8]


def found(source: Path, *, place: Path | None = None) -> Found:
    """The parts in a folder. A flat folder of scenes is the part that it is called, or else eval.

    place: where the folder's archives were unpacked to, if they were; `source` still names the data.

    Raises:
        TableError: if there are no scenes, two folders of one part, a file of their origin that says nothing, links
            that lead nowhere, or names that are no UTF-8.
        ShiftbenchError: if a tag file is of other scenes.
        MissingExtraError: if protobuf is not installed.
    """
    root = place or source
    if not root.is_dir():
        raise TableError(f"{source}: expected a folder of scenes or an archive of them, found {_what(source)}.")
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


def _what(source: Path) -> str:
    return "nothing there" if not source.exists() else "another file"


def _require_usable(parts: Iterable[Part]) -> None:
    problems = []
    for scene, name in ((scene, part.file(scene)) for part in parts for scene in part.scenes):
        try:
            scene.stat()
            str(scene).encode()  # it will stand in tables
        except OSError as error:
            problems.append(f"{name}: expected a scene, found: {error.strerror}. Remove it, or put the scene there.")
        except UnicodeEncodeError:
            problems.append(f"{name!a}: expected a name in UTF-8, found another. Rename it.")
    if problems:
        more = [f"… and {len(problems) - _MOST_LISTED:,} more."] if len(problems) > _MOST_LISTED else []
        raise TableError(*problems[:_MOST_LISTED], *more)


def _is_archive(path: Path) -> bool:
    name = path.name.lower()
    return name.endswith(ARCHIVES) and not name.startswith(".") and name != archives.MODELS


def _part_folders(root: Path, depth: int = DEPTH) -> Iterator[Path]:
    """Folders called like a part, in letters of any case, and not looked into any further; links only if so called."""
    for path in sorted(root.iterdir()):
        if path.is_dir() and not _hidden(path.name):
            if _part_of(path):
                yield path
            elif depth > 1 and not path.is_symlink():
                yield from _part_folders(path, depth - 1)


def _part_of(folder: Path) -> str | None:
    """The part that a folder is called like: systems that do not tell capitals apart may have changed them."""
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
    """Paths of which no part begins with a dot: some systems write such a file beside each other one."""
    for path in paths:
        if not any(map(_hidden, path.relative_to(folder).parts)):
            yield path


def _require_own_tags(parts: Iterable[Part]) -> None:
    """Refuse tag files of other scenes: something is mixed up. Partitions follow the tags in the scenes alone, so that
    the bytes of a prepared folder do not depend on whether tag files lie beside them.
    """
    problems: list[str] = []
    for part in parts:
        if part.tags is not None:
            try:
                tag_files.checked_tags(part.tags, part.scenes, called=part.file)
            except ShiftbenchError as error:
                if isinstance(error, ImportError):
                    raise
                problems += [*error.problems, f"{part.tags}: take it away to go on with the tags in the scenes."]
    if problems:
        raise ShiftbenchError(*problems)


def _origin(root: Path, parts: Iterable[Part]) -> str | None:
    beside = (place for part in parts for place in (part.folder.parent, part.folder, part.scenes[0].parent))
    places = dict.fromkeys([root, *beside])
    path = next((place / ORIGIN for place in places if (place / ORIGIN).is_file()), None)
    if path is None:
        return None
    try:
        said = tomllib.loads(path.read_text("utf-8")).get("origin")
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f'{path}: expected origin = "…", found: {error}. Mend it or take it away.') from None
    if not isinstance(said, str) or not said.strip():
        raise TableError(f'{path}: expected origin = "…", found {said!r}. Mend it or take it away.')
    return " ".join(said.split())  # it stands in titles, in one line


def _notes(root: Path, parts: Iterable[Part]) -> Iterator[str]:
    parts = list(parts)
    named = list(_visible(root, root.rglob("*.[pP][bB]")))
    if capital := sum(path.suffix != ".pb" for path in named):
        yield f"{capital:,} files end in .PB in capitals, not in .pb: left out"
    inside = sum(len(part.scenes) for part in parts if not part.folder.is_symlink())  # nobody follows links to files
    if outside := len(named) - capital - inside:
        yield f"{outside:,} .pb files lie outside of the folders of the parts: left out"
    names = {part.name for part in parts}
    yield from (f"{name}: not there" for name in PARTS if name not in names)
