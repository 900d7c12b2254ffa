"""Fetches an official archive as a verified file: licence, download, size and hash, then the move to its name."""

from __future__ import annotations

import hashlib
import itertools
import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from shiftbench.errors import FetchError
from shiftbench.io.fetch import container, record
from shiftbench.io.fetch.archive import Archive
from shiftbench.io.fetch.download import PATIENCE, Origin, Patience, download, forget
from shiftbench.progress import Progress, silent

FOLDER_VARIABLE = "SHIFTBENCH_DATA"


@dataclass(frozen=True)
class Fetched:
    """A verified local file. `new`: whether its size and hash were recorded just now."""

    path: Path
    size: int
    sha256: str
    new: bool


def default_folder() -> Path:
    """The folder for fetched files: the environment's SHIFTBENCH_DATA, else `shiftbench` in the user's cache folder."""
    if chosen := os.environ.get(FOLDER_VARIABLE):
        return Path(chosen)
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "shiftbench" / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library/Caches/shiftbench"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "shiftbench"


def accepted(archive: Archive, folder: Path) -> bool:
    """Whether the archive's licence was accepted for this folder earlier."""
    entry = record.read(folder).get(archive.file)
    return entry is not None and entry.licence == archive.licence.name


def fetch(
    archive: Archive,
    folder: Path,
    *,
    accept_licence: bool = False,
    verify: bool = False,
    progress: Progress = silent,
    patience: Patience = PATIENCE,
) -> Fetched:
    """The archive as a file in `folder`: an existing one, or else downloaded.

    An interrupted download is resumed at the next call. A file under an agreement has to be there already. Size and
    SHA-256 are compared with the published ones and with those recorded in `fetched.json` on first use. A file that
    differs is reported and left unchanged.

    Args:
        archive: what to fetch.
        folder: the output folder; created if necessary.
        accept_licence: whether the user accepts `archive.licence`; once is enough for a folder.
        verify: hash an existing file again even if its size and time are those recorded.
        progress: called with "download", "list" or "check", the bytes done, and all bytes (0: unknown).
        patience: retries, waits and timeout.

    Raises:
        FetchError: if the licence is not accepted, a file under an agreement is not there, another process fetches into
            the folder, the server or the disk fails, or the file is not what was expected.
    """
    path, new = folder / archive.file, not folder.exists()
    if archive.agreement and not os.path.lexists(path):
        raise FetchError(
            f"{path}: expected the file that you get once you have signed an agreement, found nothing there. Sign it "
            f"at {archive.agreement}, put {archive.file} there, and give the same command again. It asks you to "
            f"{archive.licence.asks}"
        )
    if not accept_licence and not accepted(archive, folder):
        raise FetchError(
            f"{archive.name}: expected you to accept its licence, {archive.licence.name} ({archive.licence.url}): "
            f"{archive.licence.asks} Found no acceptance. Read it, then set accept_licence (--accept-licence)."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with record.locked(folder):
            if os.path.lexists(path):
                return _present(archive, path, verify=verify, progress=progress)
            return _brought(archive, path, patience, progress)
    except OSError as error:
        raise FetchError(
            f"{path}: expected to write there, found: {error.strerror or error}. Free some space or choose another "
            "folder; bytes received so far are kept."
        ) from None
    finally:
        if new:
            with suppress(OSError):  # not empty: bytes have been received
                folder.rmdir()


def _present(archive: Archive, path: Path, *, verify: bool, progress: Progress) -> Fetched:
    entry, state = record.read(path.parent).get(path.name), path.stat()
    if entry is not None and not verify and (entry.size, entry.mtime_ns) == (state.st_size, state.st_mtime_ns):
        _compare(archive, entry, str(path), entry.size, entry.sha256)
        return Fetched(path, entry.size, entry.sha256, new=False)
    if entry is None:
        container.check_whole(path, progress)
    digest = _sha256(path, progress)
    _compare(archive, entry, str(path), state.st_size, digest)
    origin = (
        Origin(entry.url, None, entry.etag, entry.last_modified) if entry else Origin(archive.url, None, None, None)
    )
    return _recorded(archive, path, origin, digest, entry)


def _brought(archive: Archive, path: Path, patience: Patience, progress: Progress) -> Fetched:
    part, entry = path.with_name(path.name + ".part"), record.read(path.parent).get(path.name)
    origin = download(archive, part, patience=patience, progress=progress)
    try:
        container.check_whole(part, progress)
        digest = _sha256(part, progress)
        _compare(archive, entry, archive.url, part.stat().st_size, digest)
    except FetchError as error:
        rejected = _free(path.with_name(path.name + ".rejected"))
        part.rename(rejected)
        forget(part)
        kept = f"The download is kept as {rejected} for inspection; delete it when you are done."
        raise FetchError(*(problem.replace(str(part), str(rejected)) for problem in error.problems), kept) from None
    if os.path.lexists(path):  # created since the download began
        raise FetchError(
            f"{path}: expected nothing there, found a file that another program created during the download. Move it "
            f"away and fetch again: the download is kept in {part}."
        )
    part.rename(path)
    forget(part)
    return _recorded(archive, path, origin, digest, entry)


def _free(path: Path) -> Path:
    """The first free path of NAME.rejected, NAME.rejected.2, …"""
    further = (path.with_name(f"{path.name}.{number}") for number in itertools.count(2))
    return next(each for each in itertools.chain([path], further) if not os.path.lexists(each))


def _compare(archive: Archive, entry: record.Entry | None, source: str, size: int, digest: str) -> None:
    """Compare size and hash with the published ones, and with those recorded on first use."""
    problems = []
    if archive.size not in (None, size):
        problems.append(
            f"{source}: expected {archive.size:,} bytes as published, found {size:,}. It is another file, or a part of "
            "one: move the existing file away, or give the correct address."
        )
    if archive.sha256 not in (None, digest):
        problems.append(
            f"{source}: expected the published SHA-256 {archive.sha256}, found {digest}. It is another file: move the "
            "existing file away, or give the correct address."
        )
    if entry is not None and digest != entry.sha256:
        problems.append(
            f"{source}: expected the {archive.file} of {entry.fetched} ({entry.size:,} bytes, SHA-256 {entry.sha256}), "
            f"found {size:,} bytes, SHA-256 {digest}. If you trust the one found, remove the entry {archive.file!r} "
            f"from {record.RECORD}; if not, move the existing file away and fetch again."
        )
    if problems:
        raise FetchError(*problems)


def _recorded(archive: Archive, path: Path, origin: Origin, digest: str, entry: record.Entry | None) -> Fetched:
    state = path.stat()
    fetched = entry.fetched if entry else datetime.now(UTC).date().isoformat()
    new = record.Entry(
        origin.url, state.st_size, digest, state.st_mtime_ns, fetched, archive.licence.name, origin.etag,
        origin.last_modified,
    )  # fmt: skip
    if new != entry:
        record.write(path.parent, path.name, new)
    return Fetched(path, state.st_size, digest, new=entry is None)


def _sha256(path: Path, progress: Progress) -> str:
    digest, done, total = hashlib.sha256(), 0, path.stat().st_size
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
            done += len(piece)
            progress("check", done, total)
    return digest.hexdigest()
