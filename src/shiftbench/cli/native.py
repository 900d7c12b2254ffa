"""Output of native libraries on stderr that bypasses Python: forwarded at the end, without crash reports."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any, cast

_PANIC = re.compile(rb"^(thread .*panicked at|--- PyO3 is resuming a panic)", re.MULTILINE)


@contextmanager
def held_back() -> Iterator[None]:
    """Hold back what native code writes to file descriptor 2, bypassing `sys.stderr`, until the block ends.

    Meanwhile `sys.stderr` drops what cannot be written: a full or closed stderr changes neither the work nor its exit
    code.

    A panic in a Rust library reaches Python as an exception, which is reported in one sentence; Rust's own report,
    with the library's call stack, is dropped. If `sys.stderr` is not file descriptor 2, as in a notebook, or no disk
    has room for a temporary file, nothing is held back.
    """
    stream = sys.stderr
    try:
        ours = stream.fileno() == 2
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours:
        yield
        return
    stream.flush()
    with _Forgiving(os.dup(2), "wb") as terminal:
        sys.stderr = io.TextIOWrapper(
            cast(IO[bytes], terminal), stream.encoding, errors="replace", line_buffering=True, write_through=True
        )
        try:
            with _held(terminal.fileno()):
                yield
        finally:
            sys.stderr.flush()
            sys.stderr = stream


@contextmanager
def _held(terminal: int) -> Iterator[None]:
    if (held := _temporary()) is None:
        yield
        return
    with held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(terminal, 2)
            held.seek(0)
            with suppress(OSError):
                _pass_on(held.read())


def _temporary() -> IO[bytes] | None:
    """A temporary file; None if no disk has room for one."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return None


class _Forgiving(io.FileIO):
    """A file that drops what it cannot write."""

    def write(self, data: Any, /) -> int:
        """Write what is possible; the number of bytes given."""
        with suppress(OSError):
            super().write(data)
        return memoryview(data).nbytes


def _pass_on(text: bytes) -> None:
    """Forward everything up to the first report of a panic."""
    if panic := _PANIC.search(text):
        text = text[: panic.start()]
    if text.strip():
        os.write(2, text)


def is_panic(error: BaseException) -> bool:
    """Whether an exception is a panic of a Rust library, which is not a subclass of `Exception`."""
    return any(each.__name__ == "PanicException" for each in type(error).__mro__)
