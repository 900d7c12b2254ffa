"""The record of fetched files in a folder, `fetched.json`, and a lock so that only one process fetches at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from shiftbench.errors import FetchError, quoted
from shiftbench.io import files
from shiftbench.io.output import lock

RECORD = "fetched.json"


@dataclass(frozen=True)
class Entry:
    """One fetched file: its address, size, SHA-256, the server's version, the date and the licence.

    `mtime_ns` is the file's modification time when it was hashed: the hash is valid while it and the size are equal.
    """

    url: str
    size: int
    sha256: str
    mtime_ns: int
    fetched: str
    licence: str
    etag: str | None = None
    last_modified: str | None = None


def read(folder: Path) -> dict[str, Entry]:
    """The entries of a folder's record by file name; empty without a record.

    Raises:
        FetchError: if the record cannot be understood.
    """
    path = folder / RECORD
    try:
        entries = json.loads(files.read_text(path))
        return {str(name): _checked(Entry(**entry)) for name, entry in entries.items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FetchError(
            f"{path}: expected the record that `fetch` writes, found other content ({error}). Move it away; the next "
            "fetch writes a new one, which trusts the files as they are then."
        ) from None


def _checked(entry: Entry) -> Entry:
    """The entry, if its numbers are whole and the rest is text."""
    for each in fields(Entry):
        value = getattr(entry, each.name)
        kind = int if each.name in ("size", "mtime_ns") else str
        if not (isinstance(value, kind) or (value is None and each.default is None)):
            raise ValueError(f"{each.name}: {quoted(value)}")
    return entry


def write(folder: Path, name: str, entry: Entry) -> None:
    """Add or replace one entry; the caller must hold the lock."""
    entries = read(folder) | {name: entry}
    files.write_json(folder / RECORD, {key: asdict(value) for key, value in entries.items()})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; the system releases it however the process ends.

    Raises:
        FetchError: if another process holds it.
    """
    try:
        with lock.held(folder / lock.LOCK):
            yield
    except BlockingIOError:
        raise FetchError(
            f"{folder}: expected a folder that no other process fetches into, found one. "
            "Wait for it to end, or choose another folder."
        ) from None
