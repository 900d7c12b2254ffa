"""Files that arrive in chunks: each chunk lies on the disk before it is counted, so that an upload can be resumed."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import Refused, Upload, User
from shiftbench.io import files

_LOCKS = tuple(threading.Lock() for _ in range(64))  # two requests for one upload wait for each other


@dataclass(frozen=True)
class Uploads:
    """The folders `uploads` (on their way) and `files` (complete, by content) of a server's state."""

    state: Path
    ledger: Ledger

    def __post_init__(self) -> None:
        for name in ("uploads", "files"):
            (self.state / name).mkdir(mode=0o700, parents=True, exist_ok=True)

    def part(self, upload: Upload) -> Path:
        """Where the bytes of an upload lie until it is complete."""
        return self._part(upload.id)

    def _part(self, key: str) -> Path:
        return self.state / "uploads" / f"{key}.part"

    def tidy(self) -> None:
        """Remove the bytes of uploads that are over."""
        for key in self.ledger.forgotten():
            with _LOCKS[hash(key) % len(_LOCKS)]:
                self._part(key).unlink(missing_ok=True)

    def file(self, sha256: str) -> Path:
        """Where the file of this content lies."""
        return self.state / "files" / sha256[:2] / sha256

    def append(self, key: str, offset: int, data: bytes) -> Upload:
        """Write a chunk at its offset.

        Raises:
            Refused: if the offset is not the number of bytes received, or the file would be larger than declared.
        """
        with _LOCKS[hash(key) % len(_LOCKS)]:
            upload = self.ledger.upload(key)
            if upload.submission is not None or offset != upload.received:
                raise Refused(f"expected Upload-Offset: {upload.received}, found {offset}. Go on from there.")
            if offset + len(data) > upload.size:
                raise Refused(f"expected {upload.size:,} bytes in all, found more. Begin another upload.", status=413)
            _write(self.part(upload), offset, data)
            if not self.ledger.received(key, offset, len(data)):
                raise Refused(
                    "expected one sender and an upload that is not over, found two, or its end. Ask for the offset and "
                    "go on from there, or begin another."
                )
        return self.ledger.upload(key)

    def complete(self, key: str, sha256: str | None = None) -> int:
        """Hash a whole file, move it to its place and queue it; a second call returns the same submission."""
        with _LOCKS[hash(key) % len(_LOCKS)]:
            upload = self.ledger.upload(key)
            if upload.submission is not None:
                return upload.submission
            if upload.received != upload.size:
                raise Refused(f"expected {upload.size:,} bytes, found {upload.received:,}. Send the rest.")
            part = self.part(upload)
            if part.exists():  # else it was moved before a crash
                found = files.sha256(part)
                self._require(found, sha256, upload)
                self.file(found).parent.mkdir(mode=0o700, exist_ok=True)
                self.part(upload).with_suffix(".sha256").write_text(found, encoding="ascii")
                _keep(part, self.file(found))
            expected = part.with_suffix(".sha256")
            submission = self.ledger.complete(key, expected.read_text(encoding="ascii"))
            expected.unlink()
            return submission

    def _require(self, found: str, sha256: str | None, upload: Upload) -> None:
        if sha256 is not None and found != sha256.lower():
            self.abandon(upload)
            raise Refused(f"expected a file of SHA-256 {sha256}, found {found}. Send it again.", status=422)

    def discard(self, key: str, by: User) -> None:
        """Give up an upload that is not complete: it takes no quota any more."""
        with _LOCKS[hash(key) % len(_LOCKS)]:
            upload = self.ledger.upload(key)
            if upload.submission is not None:
                raise Refused("expected an upload that is not complete, found one that is. Take the submission back.")
            self.abandon(upload, by)

    def abandon(self, upload: Upload, by: User | None = None) -> None:
        """Remove an upload that is not complete, with its bytes; for who holds its lock."""
        self.ledger.abandon(upload.id, by)
        for path in (self.part(upload), self.part(upload).with_suffix(".sha256")):
            path.unlink(missing_ok=True)


def _keep(part: Path, place: Path) -> None:
    """Move a file to the place of its content, unless that is there: a reader may have it open."""
    try:
        with suppress(FileExistsError):
            os.link(part, place)
    except OSError:  # a file system without hard links
        part.replace(place)
    else:
        part.unlink()


def _write(path: Path, offset: int, data: bytes) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        done = 0
        while done < len(data):
            done += os.pwrite(handle, data[done:], offset + done)
        os.fsync(handle)
    finally:
        os.close(handle)
