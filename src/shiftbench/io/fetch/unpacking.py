"""Unpacks untrusted archives: only plain files, only below the folder, all or nothing."""

from __future__ import annotations

import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from shiftbench.errors import FetchError, ShiftbenchError, UnknownNameError
from shiftbench.io import files
from shiftbench.io.fetch import container
from shiftbench.progress import Progress, silent

REPORT_EVERY, LARGE_BYTES = 500, 2**24  # files, or bytes of one, between two progress reports


@dataclass(frozen=True)
class Member:
    """A file inside an archive; `fault` is the reason why it may not be unpacked, if any."""

    name: str
    size: int
    open: Callable[[], IO[bytes] | None]
    fault: str | None = None


def unpack(
    archive: Path, folder: Path, members: Iterable[str] | None = None, *, progress: Progress = silent
) -> list[Path]:
    """Unpack a .tar, .tar.gz, .tgz or .zip into a new folder; owners, modes and times are not restored.

    Args:
        archive: the file.
        folder: the output folder; must not exist yet, or be empty.
        members: names of the files to unpack; all by default.
        progress: called with "list" and then "unpack", the bytes done, and all bytes (0: unknown).

    Returns:
        The files written, in the archive's order.

    Raises:
        FetchError: if the archive is cut off or contains a link, a device, an absolute path, a path through `..`, a
            repeated name, or too many members; if the disk is too small; or if `folder` is not empty. Nothing is
            unpacked then.
        UnknownNameError: if a member does not exist.
    """
    if folder.exists() and not (folder.is_dir() and not any(folder.iterdir())):
        raise FetchError(f"{folder}: expected a new or empty folder to unpack into, found another. Choose a new one.")
    with _opened(archive, progress) as found:
        chosen = _chosen(found, members)
        _check(archive, chosen)
        folder.parent.mkdir(parents=True, exist_ok=True)
        done, total = 0, sum(member.size for member in chosen)
        _foresee(folder.parent, total)
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as temporary:
            place = Path(temporary) / "whole"
            place.mkdir()
            for count, member in enumerate(chosen, start=1):
                _write(member, place / member.name)
                done += member.size
                if count % REPORT_EVERY == 0 or member.size > LARGE_BYTES:
                    progress("unpack", done, total)
            if folder.exists():
                folder.rmdir()
            place.rename(folder)
    return [folder / member.name for member in chosen]


@contextmanager
def _opened(archive: Path, progress: Progress) -> Iterator[list[Member]]:
    """The members of an open archive; read errors are raised as FetchError."""
    try:
        match container.kind(archive.name):
            case "tar" | "tar.gz":
                with tarfile.open(archive, "r:*") as tar:
                    found = container.few(archive, tar, progress=progress)
                    yield [_of_tar(tar, info) for info in found if not info.isdir()]
            case "zip":
                with zipfile.ZipFile(archive) as packed:
                    if locked := next((info for info in packed.infolist() if info.flag_bits & 1), None):
                        raise FetchError(
                            f"{archive}: expected an archive without a password, found {locked.filename!r} encrypted. "
                            "Unpack it yourself, and give the folder."
                        )
                    listed = container.few(archive, packed.infolist(), progress=progress)
                    yield [_of_zip(packed, info) for info in listed if not info.is_dir()]
            case _:
                raise FetchError(f"{archive}: expected a .tar, .tar.gz, .tgz or .zip, found another ending.")
    except ShiftbenchError:
        raise
    except container.DAMAGED as error:
        raise container.cut_off(archive, error) from None
    except (OSError, RuntimeError) as error:  # an unknown method, a full disk
        raise FetchError(
            f"{archive}: expected to unpack it, found: {files.without_room(error) or f'{error}.'} Nothing was unpacked."
        ) from None


def _of_tar(tar: tarfile.TarFile, info: tarfile.TarInfo) -> Member:
    fault = None if info.isreg() else f"a link to {info.linkname!r}" if info.linkname else "a device"
    return Member(info.name, info.size, lambda: tar.extractfile(info), fault or _fault(info.name))


def _of_zip(packed: zipfile.ZipFile, info: zipfile.ZipInfo) -> Member:
    link = (info.external_attr >> 16) & 0o170000 == 0o120000
    return Member(info.filename, info.file_size, lambda: packed.open(info), "a link" if link else _fault(info.filename))


def _fault(name: str) -> str | None:
    """Why a path is not below the folder, on any system; None if it is."""
    paths = PurePosixPath(name), PureWindowsPath(name)
    if any(path.is_absolute() or path.anchor for path in paths):
        return "an absolute path"
    if any(".." in path.parts for path in paths):
        return "a path that leads out of the folder"
    return None if PurePosixPath(name).parts else "no name"


def _chosen(found: list[Member], names: Iterable[str] | None) -> list[Member]:
    if names is None:
        return found
    wanted = set(names)
    for name in sorted(wanted - {member.name for member in found}):
        raise UnknownNameError("member", name, [member.name for member in found])
    return [member for member in found if member.name in wanted]


def _check(archive: Path, members: list[Member]) -> None:
    problems = [
        f"{archive}: expected plain files inside one folder, found {member.fault}: {member.name!r}. Do not trust it."
        for member in members
        if member.fault
    ]
    seen: set[PurePosixPath] = set()
    for member in members:
        path = PurePosixPath(member.name)
        if path in seen:
            problems.append(f"{archive}: expected each file once, found {member.name!r} twice. Do not trust it.")
        seen.add(path)
    if problems:
        raise FetchError(*problems)


def _foresee(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder).free
    if size > free:
        raise FetchError(
            f"{folder}: expected {size:,} free bytes to unpack into, found {free:,}. Make room, or choose another disk."
        )


def _write(member: Member, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    source = member.open()
    if source is None:
        raise EOFError(f"{member.name} is missing")
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file, 1 << 20)
        if file.tell() != member.size:
            raise EOFError(f"{member.name}: expected {member.size:,} bytes, found {file.tell():,}")
