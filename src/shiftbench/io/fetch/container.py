"""Checks that a file is a complete tar or zip, as its name says, reading headers only, which is fast."""

from __future__ import annotations

import lzma
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from shiftbench.errors import FetchError
from shiftbench.progress import Progress, silent

HEAD = 512
"""Bytes from the start of a file that identify its format: one tar block."""
MOST_MEMBERS = 2_000_000
"""Files and folders in an archive. The largest published one holds 600,000 scenes; listing takes 20 µs for each."""
REPORT_EVERY = 5_000  # members between two progress reports

T = TypeVar("T", tarfile.TarInfo, zipfile.ZipInfo)
# Raised while an archive that is damaged, cut off or packed in an unknown way is listed or unpacked.
DAMAGED = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, NotImplementedError,
    ValueError, OverflowError,
)  # fmt: skip


def kind(file: str) -> str | None:
    """ "tar", "tar.gz" or "zip" by the extension of a file's name; None for any other."""
    endings = {".tar": "tar", ".tar.gz": "tar.gz", ".tgz": "tar.gz", ".zip": "zip"}
    return next((found for ending, found in endings.items() if file.lower().endswith(ending)), None)


def check_head(head: bytes, file: str, source: str) -> None:
    """Check that the first bytes (`HEAD`, or fewer for a small file) match the format in the name `file`.

    Raises:
        FetchError: naming `source` and the format found instead.
    """
    expected = kind(file)
    if expected is None or _looks_like(expected, head):
        return
    found = "a web page" if head.lstrip().startswith(b"<") else "something else"
    raise FetchError(
        f"{source}: expected a {expected} file, found {found} (it begins with {head[:40]!r}). "
        "The address may have moved or require a login: open it in a browser, or give another."
    )


def _looks_like(expected: str, head: bytes) -> bool:
    if expected == "tar":
        try:
            tarfile.TarInfo.frombuf(head[:HEAD], "utf-8", "surrogateescape")  # compares the block with its own checksum
        except tarfile.HeaderError:
            return False
        return True
    return head.startswith(b"\x1f\x8b" if expected == "tar.gz" else (b"PK\x03\x04", b"PK\x05\x06"))


def check_whole(path: Path, progress: Progress = silent) -> None:
    """Check that a tar or zip begins correctly and reaches to its last member (a tar.gz is checked when it is read).

    progress: called with "list", the bytes scanned, and all bytes.

    Raises:
        FetchError: if the file has another format, is cut off, or holds more than MOST_MEMBERS.
    """
    with path.open("rb") as file:
        check_head(file.read(HEAD), path.name.removesuffix(".part"), str(path))
    try:
        match kind(path.name.removesuffix(".part")):
            case "tar":
                with tarfile.open(path, "r:") as tar:
                    for _ in few(path, tar, progress=progress):
                        pass
            case "zip":
                with zipfile.ZipFile(path) as packed:
                    for _ in few(path, packed.infolist(), progress=progress):
                        pass
    except DAMAGED as error:
        raise cut_off(path, error) from None


def few(path: Path, members: Iterable[T], *, most: int | None = None, progress: Progress = silent) -> Iterator[T]:
    """The members of an archive, one by one, up to a limit.

    most: the limit; MOST_MEMBERS if None. progress: called with "list", the bytes scanned, and all bytes (0: unknown,
    since they are compressed).

    Raises:
        FetchError: if the limit is exceeded.
    """
    limit = MOST_MEMBERS if most is None else most
    size = 0 if kind(path.name.removesuffix(".part")) == "tar.gz" else path.stat().st_size
    for count, member in enumerate(members, start=1):
        if count > limit:
            raise FetchError(
                f"{path}: expected at most {limit:,} files and folders in the archive, found {count:,} or more. Check "
                "that it is the right archive, or unpack it and give the files you need."
            )
        if count % REPORT_EVERY == 0:
            at = member.offset if isinstance(member, tarfile.TarInfo) else member.header_offset
            progress("list", at, size)
        yield member


def cut_off(path: Path, error: object) -> FetchError:
    """The error for an archive that is cut off or damaged."""
    return FetchError(
        f"{path}: expected a complete archive, found one that is cut off or damaged at {path.stat().st_size:,} bytes "
        f"({error}). Move it away and fetch it again."
    )
