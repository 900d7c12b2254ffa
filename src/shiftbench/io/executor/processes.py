"""Runs items in parallel in child processes, which end when this one ends."""

from __future__ import annotations

import json
import os
import queue
import threading
from collections import deque
from collections.abc import Generator, Mapping
from contextlib import suppress

from shiftbench.io.executor import gpus
from shiftbench.io.executor.child import Child, search_path
from shiftbench.io.executor.job import ONE_THREAD, Executor, Job, Reply, cores


def replies(job: Job, executor: Executor) -> Generator[Reply, None, None]:
    """Do the items in up to `workers` processes; when this generator ends or is closed, so do they.

    Raises:
        SettingsError: if each is to have more GPUs than this machine has.
    """
    waiting, found = deque(range(job.items)), queue.SimpleQueue[Reply]()
    crew: list[_Worker] = []
    threads: list[threading.Thread] = []
    try:
        for place in range(min(executor.workers or cores(), job.items)):
            crew.append(_Worker(job, gpus.environment(executor.gpus, place)))
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
    """The environment of a worker: the same module search path, and one thread."""
    return {**os.environ, **ONE_THREAD, "PYTHONPATH": search_path()}


class _Worker(Child):
    """One process, with one thread: it does the items whose numbers it is given, and replies to each."""

    def __init__(self, job: Job, given: Mapping[str, str]) -> None:
        super().__init__(
            "shiftbench.io.executor.task", "--serve", job.work, job.argument, given={**ONE_THREAD, **given}
        )
        self.alive = True

    def reply(self, number: int) -> Reply:
        self.give(number)
        line = self.replies.readline()
        if line.endswith("\n"):
            problems, fatal = json.loads(line)
            return Reply(number, tuple(problems), fatal)
        self.alive = False
        problem = (
            f"that its process had ended ({self.obituary()}). Run again to go on with what is missing; "
            "if memory is short, with fewer workers."
        )
        return Reply(number, (problem,), "failure")
