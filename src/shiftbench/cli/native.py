"""What native libraries print on stderr, past Python: passed on at the end, without their crash reports."""

from __future__ import annotations

import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

_PANIC = re.compile(rb"^(thread .*panicked at|--- PyO3 is resuming a panic)", re.MULTILINE)


@contextmanager
def held_back() -> Iterator[None]:
    """Keep what is written to file descriptor 2 by others than Python's `sys.stderr` until the block ends.

    A panic inside a library written in Rust reaches Python as an exception, which is answered in a sentence; the
    report of it that Rust prints, with a stack of the library's own, goes no further. Where `sys.stderr` is not file
    descriptor 2, as in a notebook, or there is no room for a temporary file anywhere, nothing is done.
    """
    stream = sys.stderr
    try:
        ours = stream.fileno() == 2
    except (OSError, ValueError, AttributeError):
        ours = False
    if not ours or (held := _temporary()) is None:
        yield
        return
    stream.flush()
    with held, os.fdopen(os.dup(2), "wb", buffering=0) as terminal:
        sys.stderr = io.TextIOWrapper(
            terminal, encoding=stream.encoding, errors="replace", line_buffering=True, write_through=True
        )
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            sys.stderr.flush()
            os.dup2(terminal.fileno(), 2)
            sys.stderr = stream
            held.seek(0)
            _pass_on(held.read())


def _temporary() -> IO[bytes] | None:
    """A temporary file; None if no disk has room for one."""
    try:
        return tempfile.TemporaryFile()
    except OSError:
        return None


def _pass_on(text: bytes) -> None:
    """All up to the first report of a panic."""
    if panic := _PANIC.search(text):
        text = text[: panic.start()]
    if text.strip():
        os.write(2, text)


def is_panic(error: BaseException) -> bool:
    """Whether an exception is the panic of a library written in Rust, which is no `Exception`."""
    return any(each.__name__ == "PanicException" for each in type(error).__mro__)
