"""Libraries that end the process where they should raise: answered like any damaged file, with nothing left behind.

A library written in Rust cannot raise where memory that it asks for is refused: it ends the process (SIGABRT). Damaged
Parquet files make polars ask for exabytes. The thread that asked cannot go on, and whoever waits for it never wakes up;
so the handler of the signal, in that thread, leaves what the others have open, answers, and exits. On Windows such a
process ends without a signal, and nothing is answered.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from functools import wraps
from pathlib import Path
from typing import ParamSpec, TypeVar

from shiftbench.errors import TableError

P = ParamSpec("P")
T = TypeVar("T")

_READ: list[Path] = []  # files that libraries are reading
_OPEN: list[ExitStack] = []  # what is left before the end, the last first
_ANSWERS: list[Callable[[TableError], object]] = []


@contextmanager
def answered(answer: Callable[[TableError], object]) -> Iterator[None]:
    """While the block runs, an abort in `reading` is answered with its error, and the process exits with code 2."""
    _ANSWERS.append(answer)
    try:
        yield
    finally:
        _ANSWERS.remove(answer)


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """While the block runs, a library reads a file: what is in there makes it abort, if it does."""
    with ExitStack() as stack:
        if _ANSWERS and not _READ:
            stack.enter_context(_handled())
        _READ.append(file)
        stack.callback(_READ.remove, file)
        yield


def left(function: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """As `contextmanager`; the block is left, too, when a library aborts, as by an error in it."""
    manager = contextmanager(function)

    @wraps(function)
    @contextmanager
    def opened(*args: P.args, **named: P.kwargs) -> Iterator[T]:
        with ExitStack() as stack:
            value = stack.enter_context(manager(*args, **named))
            _OPEN.append(stack)
            try:
                yield value
            finally:
                _OPEN.remove(stack)

    return opened


@contextmanager
def _handled() -> Iterator[None]:
    import ctypes  # which the libraries that read tables have imported already

    install = ctypes.pythonapi.PyOS_setsig  # Python's own handlers run in the main thread only, which waits
    install.argtypes, install.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(_end)
    earlier = install(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        install(signal.SIGABRT, earlier)


def _end(_signal: int) -> None:
    if not (_READ and _ANSWERS):  # an abort of what is done here
        return
    error = TableError(
        f"{_READ[-1]}: expected a readable file, found what makes the library that reads it ask for more memory than "
        "any machine has. It may be cut off or damaged: write or fetch it again."
    )
    _READ.clear()
    try:
        while _OPEN:
            with suppress(BaseException):
                _OPEN.pop().__exit__(TableError, error, None)
        _ANSWERS[-1](error)
    finally:
        os._exit(2)
