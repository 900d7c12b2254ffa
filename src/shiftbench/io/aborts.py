"""Turns aborts of native libraries into errors, as for any damaged file, with all contexts cleaned up.

A Rust library cannot raise when an allocation fails: it ends the process (SIGABRT). Damaged Parquet files make polars
allocate exabytes. The failing thread cannot continue, and threads that wait for it would wait for ever; so the signal
handler, in that thread, exits the open contexts of the others, reports the error, and exits. On Windows such a process
ends without a signal, and no error is reported.
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
_OPEN: list[ExitStack] = []  # contexts to exit before the process ends, the last first
_ANSWERS: list[Callable[[TableError], object]] = []


@contextmanager
def answered(answer: Callable[[TableError], object]) -> Iterator[None]:
    """While the block runs, report an abort in `reading` by calling `answer` with its error, and exit with code 2."""
    _ANSWERS.append(answer)
    try:
        yield
    finally:
        _ANSWERS.remove(answer)


@contextmanager
def reading(file: Path) -> Iterator[None]:
    """While the block runs, a library reads this file; an abort is attributed to it."""
    with ExitStack() as stack:
        if _ANSWERS and not _READ:
            stack.enter_context(_handled())
        _READ.append(file)
        stack.callback(_READ.remove, file)
        yield


def left(function: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """Like `contextmanager`, but the context is also exited when a library aborts, as if by an error in the block."""
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
    import ctypes  # already imported by the libraries that read tables

    install = ctypes.pythonapi.PyOS_setsig  # Python's own handlers run in the main thread only, which waits
    install.argtypes, install.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    handler = ctypes.CFUNCTYPE(None, ctypes.c_int)(_end)
    earlier = install(signal.SIGABRT, ctypes.cast(handler, ctypes.c_void_p))
    try:
        yield
    finally:
        install(signal.SIGABRT, earlier)


def _end(_signal: int) -> None:
    if not (_READ and _ANSWERS):  # an abort for another reason
        return
    error = TableError(
        f"{_READ[-1]}: expected a readable file, found content that makes the library allocate more memory than "
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
