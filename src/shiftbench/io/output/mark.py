"""The mark of an output folder: which command wrote it, and name, size and SHA-256 of every file in it.

A file that the mark does not list, or lists with another hash, is the user's own.
"""

from __future__ import annotations

import filecmp
import json
import os
import re
import stat
import sys
import time
from collections.abc import Container, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from shiftbench.errors import SettingsError
from shiftbench.io import files
from shiftbench.io.output.lock import LOCK

MARK = ".shiftbench.json"
FORMAT = "shiftbench output folder 1"
PART = re.compile(r"\..+\.[a-z0-9_]{8}\.part")  # what `files.replacing` leaves where it is killed
DONE = ".answered.part"  # the end of such names of whole parts of a result, with which the same command goes on

SETTLED_NS = 2_000_000_000  # the coarsest timestamp of any file system
_HASHED: dict[tuple[int, ...], str] = {}


@dataclass(frozen=True)
class Entry:
    """Size and hash of a file when it was written, or (without a hash) an empty folder."""

    size: int
    sha256: str

    @classmethod
    def of(cls, path: Path) -> Entry:
        """The entry of an existing file or empty folder."""
        return cls(0, "") if path.is_dir() else cls(path.stat().st_size, _sha256(path))

    def holds(self, path: Path) -> bool:
        """Whether a file or an empty folder is unchanged since it was written; always false for links and devices."""
        found = path.lstat()
        if stat.S_ISDIR(found.st_mode):
            return not self.sha256 and not any(path.iterdir())
        return stat.S_ISREG(found.st_mode) and found.st_size == self.size and _sha256(path) == self.sha256


@dataclass(frozen=True)
class Mark:
    """The files of an output folder, by path relative to it.

    made_by: the command. coming: files that are being replaced, as they will be.
    """

    made_by: str
    files: Mapping[str, Entry]
    coming: Mapping[str, Entry] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write the mark into its folder, whole or not at all."""
        content = {"format": FORMAT, "made_by": self.made_by, "files": _plain(self.files)}
        if self.coming:
            content["coming"] = _plain(self.coming)
        files.write_text(folder / MARK, json.dumps(content, indent=1, sort_keys=True) + "\n")  # ASCII: names may be odd

    def lists(self, name: str, path: Path) -> bool:
        """Whether the command wrote a file, and it is unchanged."""
        if path.name == LOCK and not path.lstat().st_size:
            return True
        return any(name in each and each[name].holds(path) for each in (self.files, self.coming))

    def foreign(self, folder: Path, own: Container[str] = ()) -> list[str]:
        """Names of files in the folder that the command did not write, or that were changed; `own`: see `contents`."""
        return [name for name, path in contents(folder, own) if not self.lists(name, path)]


def read_mark(folder: Path) -> Mark | None:
    """The mark of a folder; None if it has none or an invalid one, such as one that lists files outside the folder."""
    path = folder / MARK
    try:
        if path.is_symlink():
            return None
        value = json.loads(files.read_text(path))
        if value["format"] != FORMAT:
            return None
        return Mark(str(value["made_by"]), _entries(value["files"]), _entries(value.get("coming", {})))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def require_valid(folder: Path, shown: Path) -> None:
    """Refuse a folder with an invalid mark, which may be the user's own file; `shown` is the folder in the message."""
    if os.path.lexists(folder / MARK) and read_mark(folder) is None:
        raise SettingsError(
            f"{shown / MARK}: expected the list of what a command of this version wrote, found something else: a file "
            "of another program or of a newer version, or a list of files that do not lie in the folder. Move it "
            "away, or choose another --out; nothing was removed."
        )


def is_inside(name: str) -> bool:
    """Whether a name is a relative path with forward slashes that leads to nothing outside its folder."""
    path = Path(
        name
    )  # on Windows, backslashes separate as well and drives are named, and a drive is part of the anchor
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return (
        bool(path.parts) and not path.anchor and ".." not in path.parts and "\0" not in name and path.as_posix() == name
    )


def listing(folder: Path, *, without: Container[str] = ()) -> dict[str, Entry]:
    """Entries of every existing file and empty folder in a folder, except those in `without`."""
    return {
        name: Entry.of(path)
        for name, path in contents(folder)
        if name not in without and not path.is_symlink() and (path.is_file() or path.is_dir())
    }


def contents(folder: Path, own: Container[str] = ()) -> Iterator[tuple[str, Path]]:
    """All files, links and empty folders in a folder, by relative path, without its mark and `own`: see `Place.own`."""
    stack = [(folder, "")]
    while stack:
        here, prefix = stack.pop()
        entries = sorted(os.scandir(here), key=lambda entry: entry.name) if prefix else first(folder, own)
        if not entries and prefix:
            yield prefix.removesuffix("/"), here
        for entry in entries:
            name, path = prefix + entry.name, Path(entry.path)
            if entry.is_dir(follow_symlinks=False):
                stack.append((path, f"{name}/"))
            else:
                yield name, path


def first(folder: Path, own: Container[str] = ()) -> list[os.DirEntry[str]]:
    """Direct children of a folder, by name, without its mark and `own`: see `Place.own`."""
    entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    return [entry for entry in entries if entry.name != MARK and entry.name not in own]


def same(one: Path, other: Path) -> bool:
    """Whether two paths are the same or equal files, links or empty folders: nothing is lost if either is removed."""
    try:
        kinds = {stat.S_IFMT(path.lstat().st_mode) for path in (one, other)}
        if len(kinds) > 1:
            return False
        kind = kinds.pop()
        if stat.S_ISLNK(kind):
            return one.readlink() == other.readlink()
        if stat.S_ISREG(kind):
            return one.samefile(other) or filecmp.cmp(one, other, shallow=False)
        return stat.S_ISDIR(kind)
    except OSError:
        return False


def _sha256(path: Path) -> str:
    """The SHA-256 of a file, cached while its status (inode, size, mtime, ctime) is unchanged.

    Not cached if the ctime is recent, since two changes within one tick of the clock share it; nor on Windows, where
    ctime is the time of creation.
    """
    state = path.stat()
    key = (state.st_dev, state.st_ino, state.st_size, state.st_mtime_ns, state.st_ctime_ns)
    if key in _HASHED:
        return _HASHED[key]
    settled, digest = time.time_ns() - max(state.st_ctime_ns, state.st_mtime_ns) > SETTLED_NS, files.sha256(path)
    if settled and sys.platform != "win32":
        _HASHED[key] = digest
    return digest


def _plain(entries: Mapping[str, Entry]) -> dict[str, dict[str, object]]:
    return {name: asdict(entry) for name, entry in entries.items()}


def _entries(value: Mapping[str, Mapping[str, object]]) -> dict[str, Entry]:
    if outside := [name for name in value if not is_inside(name)]:
        raise ValueError(f"expected names of files in the folder, found {outside}")
    return {name: Entry(int(str(each["size"])), str(each["sha256"])) for name, each in value.items()}
