"""A process of one's own that is given values, and answers, in lines of JSON.

Plain subprocesses and not a pool of the standard library: those import the caller's main script again, wait for ever
when their parent is killed, and do not say what a process was at when it died.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import IO, Any, NoReturn

from shiftbench.io import metering

Tell = Callable[[object], None]
"""Sends a line to the parent."""


class Child:
    """One process, `python -m module *arguments`, that calls `serve`. It ends when this process ends, however it ends.

    `given` are environment variables besides those of this process.
    """

    def __init__(self, module: str, *arguments: str, given: Mapping[str, str] | None = None) -> None:
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            encoding="utf-8",
            env={**os.environ, **(given or {}), "PYTHONPATH": search_path()},
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the others
        )
        metering.CHILDREN.add(self.process.pid)

    def give(self, value: object) -> None:
        """Send a value, plain JSON; a process that has died is noticed by its missing reply."""
        with suppress(OSError):
            stream = _open(self.process.stdin)
            stream.write(json.dumps(value) + "\n")
            stream.flush()

    @property
    def replies(self) -> IO[str]:
        """Its lines as they arrive; the last one may be cut off."""
        return _open(self.process.stdout)

    def obituary(self) -> str:
        """How the process ended, and its last line on stderr."""
        status = self.process.wait()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        last = self.messages().strip().rpartition("\n")[2]
        return f"{how}{'; ' * bool(last)}{last}"

    def messages(self) -> str:
        """Its output on stderr."""
        self.log.seek(0)
        return self.log.read().decode(errors="replace")

    def end(self) -> None:
        """Kill it, and wait until it is gone."""
        self.process.kill()
        self.process.wait()
        metering.CHILDREN.discard(self.process.pid)

    def close(self) -> None:
        """Close its streams, which may no longer have a reader."""
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                _open(stream).close()
        self.log.close()


def _open(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def search_path() -> str:
    """For PYTHONPATH: where this process finds modules; with `python -P` none beside these."""
    return os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 (text, not a path)


def serve(work: Callable[[Any, Tell], object]) -> NoReturn:
    """In a child: do `work` for each value that arrives and reply with its result; it may send more before that.

    Never returns: the process exits when the input closes, even in the middle of the work, since then either all is
    done or the parent is gone. For that, `work` must release the interpreter lock now and then.
    """
    given = queue.SimpleQueue[Any]()
    threading.Thread(target=_listen, args=(given,), daemon=True).start()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)  # output of libraries must not be mistaken for replies

        def tell(value: object) -> None:
            replies.write(json.dumps(value) + "\n")
            replies.flush()

        while True:
            tell(work(given.get(), tell))


def _listen(given: queue.SimpleQueue[Any]) -> None:
    for line in sys.stdin:
        given.put(json.loads(line))
    os._exit(0)
