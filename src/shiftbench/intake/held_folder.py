"""A folder that one process at a time works in."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from shiftbench.errors import FetchError, TableError
from shiftbench.fetch import record


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Hold a folder, made if need be and gone again if it stays empty: two at once would take away each other's files.

    Raises:
        TableError: if another process holds it, or it is a file.
    """
    if folder.exists() and not folder.is_dir():
        raise TableError(f"{folder}: expected a new folder, found a file. Choose another name.")
    new = not folder.exists()
    folder.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        if new:
            stack.callback(_remove_empty, folder)
        try:
            stack.enter_context(record.held(folder))
        except FetchError:
            raise TableError(
                f"{folder}: expected a folder that nobody else prepares, found another process at it. Wait for it to "
                "end, or choose another folder."
            ) from None
        yield


def _remove_empty(folder: Path) -> None:
    with suppress(OSError):
        folder.rmdir()
