"""Copies of a server: a backup while it runs, its tables as lines, its log for everybody, and its final rankings."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from shiftbench.challenge.store.ledger import Ledger
from shiftbench.errors import SettingsError

KEPT = ("key.pem", "files", "parsed", "scored", "compared")  # of a server's state, beside the database
BATCH = 10_000


def backup(folder: Path, state: Path, ledger: Ledger, path: Path) -> int:
    """Write challenge, database and files as a tar archive, private and whole or not at all; returns its bytes.

    The database is copied first: files that come later are more than it names, never less.
    """
    require_new(path)
    with _private(path) as temporary, tarfile.open(temporary, "w") as tar:
        with tempfile.TemporaryDirectory(dir=state) as aside:
            copy = ledger.backup(Path(aside) / ("server.sqlite" if ledger.sqlite else "ledger.jsonl"))
            tar.add(copy, f"state/{copy.name}")
        _add(tar, folder, "challenge")
        for name in KEPT:
            _add(tar, state / name, f"state/{name}")
    return path.stat().st_size


def _add(tar: tarfile.TarFile, place: Path, name: str) -> None:
    """Add a file, or what is in a folder; a file that goes meanwhile was not needed."""
    for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
        inner = name if path == place else f"{name}/{path.relative_to(place).as_posix()}"
        try:
            tar.add(path, inner, recursive=False)
        except FileNotFoundError:
            continue


def export(ledger: Ledger, path: Path) -> int:
    """Write all tables as lines of JSON, private; returns the number of rows, without the first and the last line.

    Secrets in it are hashes.
    """
    return _write(path, ledger.export(), 0o600) - 2


def export_log(ledger: Ledger, path: Path) -> int:
    """Write the log, one entry a line, for everybody; returns the number of entries."""
    return _write(path, log(ledger), 0o644)


def log(ledger: Ledger) -> Iterator[str]:
    """All entries of the log."""
    first = 0
    while entries := ledger.log(first, BATCH):
        yield from entries
        first += len(entries)


def load(ledger: Ledger, path: Path) -> int:
    """Fill an empty ledger from what `export` wrote; returns the number of rows."""
    try:
        with path.open(encoding="utf-8") as lines:
            return ledger.load(line.rstrip("\n") for line in lines)
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: expected lines that an export wrote, found another file. Export again.") from None


def missing(state: Path) -> list[str]:
    """What the folder of a server's state has nothing of, beside the database."""
    return [name for name in KEPT if not (state / name).is_file() and not any((state / name).glob("*"))]


def require_new(path: Path) -> None:
    """Refuse to write over a file."""
    if path.exists():
        raise SettingsError(f"{path}: expected a new file, found one. Choose another --out.")


def _write(path: Path, lines: Iterator[str], mode: int) -> int:
    require_new(path)
    count = 0
    with _private(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for line in lines:
            file.write(line + "\n")
            count += 1
    path.chmod(mode)
    return count


@contextmanager
def _private(path: Path) -> Iterator[Path]:
    """A file readable for its owner alone, which takes its place whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
