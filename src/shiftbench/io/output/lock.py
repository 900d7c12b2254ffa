"""File locks: one process at a time; the operating system releases them however the process ends."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from shiftbench.errors import TableError
from shiftbench.io import files

LOCK = ".fetch.lock"  # in a folder that a process is using
BUSY = (errno.EAGAIN, errno.EACCES, errno.EDEADLK)
_FAR = 1 << 30  # the byte that Windows locks: it may not be read while it is


@contextmanager
def locked(path: Path) -> Iterator[IO[bytes]]:
    """Lock a file, creating it if needed, and yield it open for reading and writing; links are not followed.

    Raises:
        BlockingIOError: if another process holds it.
    """
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o666)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):  # reading it might never end
                raise OSError(errno.EEXIST, "expected a lock file, found something that is not a file", str(path))
            try:
                _lock(handle)
            except OSError as error:
                if error.errno not in BUSY:
                    raise
                raise BlockingIOError(errno.EAGAIN, "another process holds the lock", str(path)) from None
            if _same(handle, path):  # otherwise its last holder removed it after it was opened
                yield file
                return


@contextmanager
def held(path: Path) -> Iterator[None]:
    """As `locked`; an empty file is removed afterwards."""
    with locked(path) as file:
        try:
            yield
        finally:
            if not file.read(1):
                discard(file, path)


def discard(file: IO[bytes], path: Path) -> None:
    """Remove a locked file, on systems that allow it before the lock is released."""
    if sys.platform == "win32":
        file.close()
    with suppress(OSError):
        path.unlink()


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Lock a folder against other processes; it is created if needed, and removed again if it stays empty.

    Raises:
        TableError: if another process holds it, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise TableError(f"{folder}: expected a new folder, found a file. Choose another name.")
    if file := files.file_above(folder):
        raise TableError(f"{file}: expected a folder, found a file. Choose another path than {folder}.")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    try:
        with held(folder / LOCK):
            yield
    except BlockingIOError:
        raise TableError(
            f"{folder}: expected a folder that nobody else writes to, found another process writing to it. Wait for "
            "it to end, or choose another folder."
        ) from None
    finally:
        if new:
            with suppress(OSError):  # not empty
                folder.rmdir()


def _same(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), path.stat(follow_symlinks=False))
    except FileNotFoundError:
        return False


if sys.platform == "win32":
    import msvcrt

    def _lock(handle: int) -> None:
        os.lseek(handle, _FAR, os.SEEK_SET)
        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        finally:
            os.lseek(handle, 0, os.SEEK_SET)

else:
    import fcntl

    def _lock(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
