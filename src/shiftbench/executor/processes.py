"""Items side by side in processes of their own, which end when this one ends.

Plain subprocesses: a pool of the standard library imports the caller's main script again, and does not say which item
a process was at when it died.
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
from collections import deque
from collections.abc import Generator
from contextlib import suppress

from shiftbench.executor.job import ONE_THREAD, Job, Reply, cores


def replies(job: Job, workers: int | None, address: str | None) -> Generator[Reply, None, None]:
    """Do the items in up to `workers` processes; when this generator ends or is closed, so do they."""
    waiting, found = deque(range(job.items)), queue.SimpleQueue[Reply]()
    crew: list[_Worker] = []
    threads: list[threading.Thread] = []
    try:
        for _ in range(min(workers or cores(), job.items)):
            crew.append(_Worker(job))
            threads.append(threading.Thread(target=_lead, args=(crew[-1], waiting, found), daemon=True))
            threads[-1].start()
        for _ in range(job.items):
            yield found.get()
    finally:
        waiting.clear()
        for worker in crew:
            worker.end()
        for thread in threads:
            thread.join()
        for worker in crew:
            worker.close()


def _lead(worker: _Worker, waiting: deque[int], found: queue.SimpleQueue[Reply]) -> None:
    """Give a worker item after item, until there is none left or it dies."""
    with suppress(IndexError):
        while worker.alive:
            found.put(worker.reply(waiting.popleft()))


def environment() -> dict[str, str]:
    """What a worker is started with: it finds the modules that this process finds, and has one thread."""
    paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 (text, not a path)
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": paths}


class _Worker:
    """One process. It does the items whose numbers come on its standard input, a line each, and replies in JSON."""

    def __init__(self, job: Job) -> None:
        self.alive = True
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `close`)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shiftbench.executor.task", "--serve", job.work, job.argument],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            encoding="utf-8",
            env=environment(),
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the workers
        )

    def reply(self, number: int) -> Reply:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with suppress(OSError):  # if the process has died, its empty reply tells
            self.process.stdin.write(f"{number}\n")
            self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line.endswith("\n"):
            self.alive = False
            return Reply(number, (self._obituary(),), "failure")
        problems, fatal = json.loads(line)
        return Reply(number, tuple(problems), fatal)

    def _obituary(self) -> str:
        status = self.process.wait()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        self.log.seek(0)
        last = self.log.read().decode(errors="replace").strip().rpartition("\n")[2]
        return (
            f"that its process had ended ({how}{'; ' * bool(last)}{last}). Run again to go on with what is missing; "
            "if memory is short, with fewer workers."
        )

    def end(self) -> None:
        self.process.kill()
        self.process.wait()

    def close(self) -> None:
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError, AttributeError):
                stream.close()  # type: ignore[union-attr]
        self.log.close()
