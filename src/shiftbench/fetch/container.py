"""Is this file the tar or zip that its name says, and is it whole? Looks at headers only, so it takes no time."""

from __future__ import annotations

import tarfile
import zipfile
from pathlib import Path

from shiftbench.errors import FetchError

HEAD = 512
"""Bytes from the start of a file that tell what it is: one tar block."""


def kind(file: str) -> str | None:
    """ "tar", "tar.gz" or "zip" by the ending of a file's name; None for any other."""
    endings = {".tar": "tar", ".tar.gz": "tar.gz", ".tgz": "tar.gz", ".zip": "zip"}
    return next((found for ending, found in endings.items() if file.lower().endswith(ending)), None)


def check_head(head: bytes, file: str, source: str) -> None:
    """The first bytes (`HEAD` of them, or all there are) are those of the kind of file that `file` names.

    Raises:
        FetchError: naming `source` and what its first bytes are instead.
    """
    expected = kind(file)
    if expected is None or _looks_like(expected, head):
        return
    found = "a web page" if head.lstrip().startswith(b"<") else "something else"
    raise FetchError(
        f"{source}: expected a {expected} file, found {found} (it begins with {head[:40]!r}). "
        "The address may have moved or want a login: look at it in a browser, or name another."
    )


def _looks_like(expected: str, head: bytes) -> bool:
    if expected == "tar":
        try:
            tarfile.TarInfo.frombuf(head[:HEAD], "utf-8", "surrogateescape")  # compares the block with its own checksum
        except tarfile.HeaderError:
            return False
        return True
    return head.startswith(b"\x1f\x8b" if expected == "tar.gz" else (b"PK\x03\x04", b"PK\x05\x06"))


def check_whole(path: Path) -> None:
    """A tar or zip starts as it should and reaches to its last member (a tar.gz shows this only when it is read).

    Raises:
        FetchError: if the file is of another kind or cut off.
    """
    with path.open("rb") as file:
        check_head(file.read(HEAD), path.name.removesuffix(".part"), str(path))
    try:
        match kind(path.name.removesuffix(".part")):
            case "tar":
                with tarfile.open(path, "r:") as tar:
                    for _ in tar:
                        pass
            case "zip":
                zipfile.ZipFile(path).close()
    except (tarfile.TarError, zipfile.BadZipFile, EOFError) as error:
        raise cut_off(path, error) from None


def cut_off(path: Path, error: object) -> FetchError:
    """What to say of an archive that ends too early or is damaged."""
    return FetchError(
        f"{path}: expected a whole archive, found one that is cut off or damaged at {path.stat().st_size:,} bytes "
        f"({error}). Move it away and fetch it again."
    )
