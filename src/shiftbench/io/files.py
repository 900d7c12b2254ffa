"""Atomic writing of files, so that a kill, a full disk or a crash never leaves half of one; and hashing."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from shiftbench.errors import TableError

_BEFORE_MOVE: dict[Path, Callable[[Path], object]] = {}  # by absolute path
_STAGED: dict[Path, Path] = {}  # folder for temporary files, by the absolute path of the final folder

KINDS = {  # neither files nor folders: reading them may block, or never end
    stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
BLOCK, PROBED = 2**20, 2**24  # bytes written at once, and in total, to test whether a disk is full
LARGEST_EXACT = 10**24  # bytes up to which a message is exact
ROOM = "Make room, or write elsewhere."
REMEDIES = {
    errno.ENOSPC: ROOM, errno.EDQUOT: ROOM,
    errno.EFBIG: "Raise the limit of the size of files (ulimit -f), or write elsewhere.",
}  # fmt: skip


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path beside `path` (see `staged`); move it there if the block succeeds, remove it if not.

    The move is atomic on one file system, so readers see the old file or the new one, never a part.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".part", dir=staging_of(target.parent))
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        # mkstemp makes private files; results get the usual permissions.
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        if act := _BEFORE_MOVE.get(target.absolute()):
            act(temporary)
        temporary.replace(target)
    except OSError as error:
        if error.filename is None:  # a full disk gives no file name
            raise _naming(error, target) from error
        raise
    except Exception as error:
        if type(error).__module__.startswith("polars") and (refused := _refused(temporary)):
            raise _naming(refused, target) from error
        raise
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


@contextmanager
def before_move(path: Path, act: Callable[[Path], object]) -> Iterator[None]:
    """While the block runs, call `act` with each complete temporary file before `replacing` moves it to `path`."""
    _BEFORE_MOVE[path.absolute()] = act
    try:
        yield
    finally:
        del _BEFORE_MOVE[path.absolute()]


@contextmanager
def staged(folder: Path, staging: Path) -> Iterator[None]:
    """While the block runs, `replacing` makes its temporary files for `folder` in `staging` (on the same disk)."""
    _STAGED[folder.absolute()] = staging
    try:
        yield
    finally:
        del _STAGED[folder.absolute()]


def staging_of(folder: Path) -> Path:
    """Where temporary files for `folder` are made."""
    return _STAGED.get(folder.absolute(), folder)


def write_text(path: str | os.PathLike[str], text: str) -> Path:
    """Write UTF-8 text with Unix line ends, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")
    return Path(path)


def write_json(path: str | os.PathLike[str], value: Any, *, sort_keys: bool = True) -> Path:
    """Write JSON (no NaN or Infinity), whole or not at all."""
    return write_text(
        path, json.dumps(value, indent=1, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False) + "\n"
    )


def _refused(path: Path) -> OSError | None:
    """Why a file cannot be extended, such as a full disk, which polars does not always report; None if it can."""
    try:
        with path.open("ab", buffering=0) as file:
            for _ in range(PROBED // BLOCK):
                file.write(bytes(BLOCK))
            os.fsync(file.fileno())
    except OSError as error:
        return error
    return None


def _naming(error: OSError, path: Path) -> OSError:
    """The same error with the file's name; for polars, whose errors have no number, with the number from its text."""
    code, text = error.errno, error.strerror or str(error)
    if code is None and (found := re.search(r" \(os error (\d+)\)$", text)):
        code, text = int(found[1]), text[: found.start()]
    return OSError(errno.EIO if code is None else code, text, str(path))


def without_room(error: BaseException) -> str:
    """What a full disk or a limit of sizes made an error of any library, and what to do; empty for other errors."""
    found = re.search(r"\b(?:Errno|[Ee]rror) (\d+)\b", str(error))
    number = int(found[1]) if found else 0
    return f"{os.strerror(number)}. {REMEDIES[number]}" if number in REMEDIES else ""


def require_room(path: Path, size: int, *, what: str) -> None:
    """Check that the disk has `size` free bytes at a path, whose folders need not exist yet.

    Raises:
        TableError: if it has not; `what` describes the data.
    """
    there = next(place for place in path.absolute().parents if place.exists())
    free = shutil.disk_usage(there).free
    if size > free:
        raise TableError(
            f"{path}: expected about {min(size, LARGEST_EXACT) / 1e6:,.1f} MB of room for {what}, found "
            f"{free / 1e6:,.1f} MB. Ask for fewer, or write them elsewhere."
        )


def is_unicode(name: str) -> bool:
    """Whether a name is text in UTF-8: polars and JSON cannot hold others, which Python reads as lone surrogates."""
    return not any("\ud800" <= sign <= "\udfff" for sign in name)


def irregular(path: str | os.PathLike[str]) -> str:
    """The kind of a path, behind links, if it is neither a file nor a folder, such as "a named pipe"; else ""."""
    try:
        return KINDS.get(stat.S_IFMT(Path(path).stat().st_mode), "")
    except (OSError, ValueError):  # missing or invalid, which is reported when it is opened
        return ""


def file_above(path: Path) -> Path | None:
    """The file that is in place of one of the parent folders of a path; None if there is none."""
    return next((above for above in path.parents if above.exists() and not above.is_dir()), None)


def require_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a path that is neither a file nor a folder, before it is opened.

    Raises:
        OSError: naming its kind.
    """
    if kind := irregular(path):
        raise OSError(errno.EINVAL, f"{kind} is not a regular file: write it to one first", str(path))


def read_text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    """The text of a file.

    Raises:
        OSError: if it cannot be read, or is a named pipe, a socket or a device.
    """
    require_regular(path)
    return Path(path).read_text(encoding)


def read_bytes(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a file; raises as `read_text` does."""
    require_regular(path)
    return Path(path).read_bytes()


def sha256(path: str | os.PathLike[str]) -> str:
    """The SHA-256 of a file, or of the names and contents of the files in a folder, in hexadecimal.

    Raises:
        OSError: as `read_text`.
    """
    folder = Path(path)
    if folder.is_dir():
        every = sorted(each for each in folder.rglob("*") if each.is_file())
        listed = "".join(f"{each.relative_to(folder).as_posix()}\t{sha256(each)}\n" for each in every)
        return hashlib.sha256(listed.encode()).hexdigest()
    require_regular(path)
    with folder.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def name_of(text: str) -> str:
    """Text as a file name: characters other than letters, digits, dashes and underscores are written as codes."""
    return "".join(sign if sign.isalnum() or sign in "-_" else f"%{ord(sign):X}" for sign in text)
