"""What lies inside of files: members of archives and what was compressed, in archives of archives, too.

Nothing is held in memory: contents are streams, one after another. Archives inside of others are copied to a temporary
folder, one of each level at a time.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from shiftbench.io.tables.reading import is_table

DEEPEST = 3  # archives in archives
MOST_UNPACKED = 2**36  # bytes that are read of one file
HEAD = 512  # bytes that tell a kind
_MAGIC = {
    b"PK\x03\x04": "zip", b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ\0": "xz", b"\x28\xb5\x2f\xfd": "zstd",
}  # fmt: skip
_OPENED: dict[str, Callable[[Path], Any]] = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}
_SUFFIXES = (".gz", ".bz2", ".xz", ".tgz", ".zst")
BROKEN = (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError,
          NotImplementedError, RuntimeError, LookupError, OverflowError)  # fmt: skip


@dataclass(frozen=True)
class Content:
    """What one file holds, to be read before the next is taken.

    name: as of a file. inside: names of members from the outermost on; none of a file, and of what is compressed in it.
    size: bytes, of what was compressed modulo 2³²; None if only reading tells. stream: its bytes, whose reading may
    raise one of `BROKEN`. packed: whether it is an archive or compressed, whose contents follow.
    """

    name: str
    inside: tuple[str, ...]
    size: int | None
    stream: IO[bytes]
    packed: bool = False


def contents(path: Path, missed: Callable[[str], object]) -> Iterator[Content]:
    """A file, and everything that can be unpacked from it; `missed` is told what could not, and why."""
    with tempfile.TemporaryDirectory(prefix="shiftbench-contents-") as aside:
        yield from _Walk(Path(aside), missed).of_file(path, path.name, ())


class _Stream:
    """A stream that begins with bytes which were read already, and counts what is read."""

    def __init__(self, walk: _Walk, source: IO[bytes]) -> None:
        self.walk, self.source = walk, source
        self.head = source.read(HEAD)
        self.left = self.head

    def read(self, count: int = -1, /) -> bytes:
        if self.left:
            data, self.left = (self.left, b"") if count < 0 else (self.left[:count], self.left[count:])
        else:
            data = self.source.read(count)
        self.walk.unpacked += len(data)
        if self.walk.unpacked > MOST_UNPACKED:
            raise OSError(f"more than {MOST_UNPACKED:,} bytes once unpacked")
        return data


class _Walk:
    """The contents of one file."""

    def __init__(self, aside: Path, missed: Callable[[str], object]) -> None:
        self.aside, self.missed, self.unpacked = aside, missed, 0

    def of_file(self, path: Path, name: str, inside: tuple[str, ...]) -> Iterator[Content]:
        with path.open("rb") as stream:
            kind = _kind(stream.read(HEAD))
            stream.seek(0)
            yield Content(name, inside, path.stat().st_size, stream, bool(kind))
        if not kind:
            return
        if kind == "zstd":
            if not is_table(Path(name)):  # which is read as such
                self.missed("zstd")
            return
        if len(inside) >= DEEPEST:
            self.missed(f"an archive in {DEEPEST} others")
            return
        try:
            yield from self._unpacked(path, kind, name, inside)
        except BROKEN as error:
            self.missed(f"an archive that cannot be unpacked ({str(error)[:80] or type(error).__name__})")

    def _unpacked(self, path: Path, kind: str, name: str, inside: tuple[str, ...]) -> Iterator[Content]:
        if kind == "zip":
            with zipfile.ZipFile(path) as archive:
                for info in archive.infolist():
                    if info.flag_bits & 1:
                        self.missed(f"a password for {info.filename[:80]}")
                    elif not info.is_dir():
                        with archive.open(info) as member:
                            yield from self._member(member, (*inside, info.filename), info.file_size)
        elif kind == "tar":
            with tarfile.open(path, "r:") as found:
                yield from self._tar(found, inside)
        else:
            with _OPENED[kind](path) as unpacked:
                stream = _Stream(self, unpacked)
                if _kind(stream.head) == "tar":
                    with tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|") as found:
                        yield from self._tar(found, inside)
                    return
                inner = _without(name)
                yield Content(inner, inside, _stated_size(path) if kind == "gzip" else None, cast("IO[bytes]", stream))

    def _tar(self, found: tarfile.TarFile, inside: tuple[str, ...]) -> Iterator[Content]:
        for each in found:
            if each.isreg() and (member := found.extractfile(each)) is not None:
                yield from self._member(member, (*inside, each.name.removeprefix("./")), each.size)

    def _member(self, member: IO[bytes], inside: tuple[str, ...], size: int) -> Iterator[Content]:
        stream = _Stream(self, member)
        name = inside[-1].rpartition("/")[2]
        if not _kind(stream.head):
            yield Content(name, inside, size, cast("IO[bytes]", stream))
            return
        copy = self.aside / f"{len(inside)}"
        with copy.open("wb") as goal:
            shutil.copyfileobj(stream, goal)
        yield from self.of_file(copy, name, inside)
        copy.unlink()


def _kind(head: bytes) -> str:
    """What can be unpacked, by its first bytes."""
    if head[257:262] == b"ustar":
        return "tar"
    return next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), "")


def _without(name: str) -> str:
    return name.rpartition(".")[0] if name.lower().endswith(_SUFFIXES) else name


def _stated_size(path: Path) -> int | None:
    """The size that the end of a gzip file tells, modulo 2³²; None of those in blocks, whose last one is empty."""
    with path.open("rb") as file:
        file.seek(-4, 2)
        return int.from_bytes(file.read(4), "little") or None
