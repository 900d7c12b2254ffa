"""A process that is killed at its k-th call that makes, writes, renames or removes something, without a process.

Every such call of Python raises an audit event before it acts. From the k-th on all of them fail, as they would not
happen in a process that is dead; what happens in memory after that leaves no trace on the disk.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ACTS = {
    "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.link", "os.symlink", "os.truncate", "os.chmod", "os.utime",
}  # fmt: skip


class Killed(BaseException):
    """What no code of ours catches on purpose."""


@dataclass
class _Killer:
    at: int = 0  # 0: nobody is to be killed
    root: str = ""
    seen: int = 0

    def __call__(self, event: str, args: tuple[object, ...]) -> None:
        if not self.at:
            return
        if event == "open":
            _, mode, flags = args
            writes = isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
            if not writes and not (isinstance(mode, str) and set(mode) & set("wax+")):
                return
        elif event not in ACTS:
            return
        path = args[0]
        if isinstance(path, str | os.PathLike) and Path(path).is_absolute() and self.root not in os.fspath(path):
            return
        self.seen += 1
        if self.seen >= self.at:
            raise Killed(f"{event} {args}")


_killer = _Killer()
sys.addaudithook(_killer)


@contextmanager
def killed_at(number: int, root: Path) -> Iterator[Callable[[], bool]]:
    """Kill the block at its call of this number below `root`; yields a function that tells whether it came so far."""
    _killer.seen, _killer.root, _killer.at = 0, str(root), number
    try:
        with suppress(Killed):
            yield lambda: _killer.seen >= number
    finally:
        _killer.at = 0


@contextmanager
def killed_later(root: Path) -> Iterator[None]:
    """Kill the block where it calls `kill`."""
    with killed_at(sys.maxsize, root.absolute()):
        yield


def kill() -> None:
    """Be killed: from now on nothing reaches the disk."""
    _killer.at = 1
    raise Killed


def every_kill(act: Callable[[], object], begin: Callable[[], Path]) -> Iterator[tuple[int, Path]]:
    """For each call: what is there, made by `begin`, after `act` was killed at it."""
    for number in itertools.count(1):
        root = begin()
        with killed_at(number, root) as fired:
            act()
        if not fired():
            return
        yield number, root
