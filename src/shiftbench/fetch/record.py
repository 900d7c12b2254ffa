"""What was fetched into a folder, in its `fetched.json`, and a lock so that only one process fetches at a time."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from shiftbench import files
from shiftbench.errors import FetchError
from shiftbench.output import lock

RECORD = "fetched.json"


@dataclass(frozen=True)
class Entry:
    """One fetched file: where from, how large, its SHA-256, what the server called this version, when, on what terms.

    `mtime_ns` is the file's time of change when its hash was taken: as long as it and the size stay, so does the hash.
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
    """The entries of a folder's record by file name; none where there is no record.

    Raises:
        FetchError: if the record cannot be understood.
    """
    path = folder / RECORD
    try:
        entries = json.loads(files.read_text(path))
        return {str(name): Entry(**entry) for name, entry in entries.items()}
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FetchError(
            f"{path}: expected the record that `fetch` writes, found another content ({error}). Move it away; the next "
            "fetch writes a new one, which trusts the files as they are then."
        ) from None


def write(folder: Path, name: str, entry: Entry) -> None:
    """Add or replace one entry; the caller holds the lock."""
    entries = read(folder) | {name: entry}
    files.write_json(folder / RECORD, {key: asdict(value) for key, value in entries.items()})


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Hold a folder's lock; the system frees it when the process ends, however it ends.

    Raises:
        FetchError: if another process holds it.
    """
    try:
        with lock.held(folder / lock.LOCK):
            yield
    except BlockingIOError:
        raise FetchError(
            f"{folder}: expected a folder that no one else fetches into, found another process at it. "
            "Wait for it to end, or name another folder."
        ) from None
