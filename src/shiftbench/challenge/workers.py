"""Worker processes that a server starts, starts again when they die, and ends with itself.

`python -m shiftbench.challenge.workers STATE CHALLENGE` is one of them: it ends when its standard input does, so that
none outlives its server, whatever killed that. The database's URL, which may have a password, is in its environment.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

DATABASE = "SHIFTBENCH_DATABASE"
LIVES_S = 60.0  # a worker that lived so long is started again at once
MOST_WAIT_S = 30.0  # between attempts to start one that dies at once
LEAVES_S = 5.0  # to end by itself


class Workers:
    """Some worker processes of one server."""

    def __init__(self, state: Path, folder: Path, url: str, count: int, *, command: Sequence[str] = ()) -> None:
        """Start `count` workers; command: what each runs, for tests."""
        self._command = [*command] or [sys.executable, "-m", "shiftbench.challenge.workers", str(state), str(folder)]
        self._environment = {**os.environ, DATABASE: url}
        self._over = threading.Event()
        self._threads = [threading.Thread(target=self._keep, name=f"worker {n}", daemon=True) for n in range(count)]
        self._running: dict[int, subprocess.Popen[bytes]] = {}
        for thread in self._threads:
            thread.start()

    @property
    def pids(self) -> list[int]:
        """The processes that run now."""
        return [process.pid for process in [*self._running.values()] if process.poll() is None]

    def close(self) -> None:
        """End all of them. What they were at goes back into the queue when its lease ends."""
        self._over.set()
        for process in [*self._running.values()]:
            with suppress(OSError):
                process.terminate()
        for thread in self._threads:
            thread.join()

    def _keep(self) -> None:
        deaths = 0
        while not self._over.is_set():
            began = time.monotonic()
            self._run()
            deaths = 0 if time.monotonic() - began > LIVES_S else deaths + 1
            if deaths > 1:
                self._over.wait(min(MOST_WAIT_S, 0.1 * 2**deaths))

    def _run(self) -> None:
        """Run one worker until it ends; it gets a session of its own, so that Ctrl-C reaches it through us."""
        process = subprocess.Popen(self._command, stdin=subprocess.PIPE, start_new_session=True, env=self._environment)
        self._running[process.pid] = process
        try:
            if self._over.is_set():
                process.terminate()
            while process.poll() is None:
                if self._over.wait(0.1):
                    with suppress(subprocess.TimeoutExpired):
                        process.wait(LEAVES_S)
                    process.kill()
                    process.wait()
        finally:
            del self._running[process.pid]
            if process.stdin:
                process.stdin.close()


def _end_with_parent() -> None:
    """End this process when its standard input ends."""

    def watch() -> None:
        with suppress(OSError):
            while os.read(0, 1):
                pass
        os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def main(arguments: Sequence[str]) -> None:
    """Work for the server of these arguments until it ends."""
    _end_with_parent()
    from shiftbench.challenge.worker import run

    state, folder = arguments
    run(Path(state), Path(folder), os.environ.get(DATABASE, ""))


if __name__ == "__main__":
    main(sys.argv[1:])
