"""Members trained side by side: in processes of their own, which end when this process ends, or by a cluster's workers.

A module that trains members has a function `trainer(argument, number)`: it reads what members learn from, and returns
what trains one of them. `number` is that of the process.

Within `kept` processes go from fit to fit: each would import PyTorch anew, which takes some seconds.
"""

from __future__ import annotations

import json
import os
import queue
import secrets
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.io import executor
from shiftbench.io.executor import Job, child, gpus, job
from shiftbench.io.executor.child import Child, Tell

# Memory of a step is kept for the next one, in large pages: clearing it anew took a tenth of small networks' time. Only
# glibc knows this variable; where it is set, it stays.
LARGEST_KEPT, MOST_KEPT = 1 << 25, 1 << 32  # bytes
KEPT_MEMORY = {
    "GLIBC_TUNABLES": f"glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold={LARGEST_KEPT}"
    f":glibc.malloc.trim_threshold={MOST_KEPT}"
}

Report = Callable[[int, str], None]
"""Called with the steps that a member has done, and a sentence about them."""
Train = Callable[[int, Report], None]
"""Trains a member, and reports how far it is."""


def available(cores: int | None) -> int:
    """`cores`, or if None the number of cores that this process may use.

    Raises:
        SettingsError: if `cores` is not a whole number >= 1.
    """
    if cores is None:
        return job.cores()
    if not isinstance(cores, int) or cores < 1:
        raise SettingsError(f"cores: expected a whole number >= 1, found {cores!r}.")
    return cores


def train(
    module: str,
    argument: str,
    members: Sequence[int],
    *,
    folder: Path,
    cores: int,
    done: Callable[[int], None],
    step: Callable[[int, int, str], None] | None = None,
) -> None:
    """Train numbered members with `module.trainer(argument, …)` into a folder, up to `cores` at a time.

    That is in processes of this machine, which are numbered from 0, unless the executor in use is a cluster's: then
    each member is a job of its own. `done(member)` is called here after each member, and `step(member, steps, message)`
    whenever a process here says how far its member is. Whatever goes wrong, no process outlives this call.

    Raises:
        ShiftbenchError: if a member fails or its process dies; the other processes are stopped.
    """
    if (where := executor.current()).elsewhere:
        place = str(folder.absolute())
        work = json.dumps([module, argument, [*members], secrets.token_hex(8)])
        jobs = Job("shiftbench.methods.workers:train_job", work, len(members), (place,))
        executor.run(jobs, where, ended=lambda number: done(members[number]))
        return
    waiting, unfinished = deque(members), len(members)
    replies, idle = queue.SimpleQueue[tuple[_Worker, str]](), _IDLE.get()
    workers: list[_Worker] = []
    try:
        for number in range(min(cores, unfinished)):
            worker = _hired(gpus.environment(where.gpus, number), replies, idle)
            worker.work = [module, argument, number]
            workers.append(worker)
            worker.begin(waiting.popleft())
        while unfinished:
            worker, line = replies.get()
            if worker.member is None:  # the end of one that had nothing left to do
                continue
            if report := worker.reported(line):
                if step:
                    step(worker.member, *report)
                continue
            done(worker.finished())
            unfinished -= 1
            if waiting:
                worker.begin(waiting.popleft())
        if idle is not None:
            idle += workers
            workers = []
    finally:
        _dismiss(workers)


_IDLE: ContextVar[list[_Worker] | None] = ContextVar("_IDLE", default=None)


@contextmanager
def kept() -> Iterator[None]:
    """Keep processes that have trained their members for the next fit in this block; all end with the block."""
    idle: list[_Worker] = []
    token = _IDLE.set(idle)
    try:
        yield
    finally:
        _IDLE.reset(token)
        _dismiss(idle)


def _hired(
    given: Mapping[str, str], replies: queue.SimpleQueue[tuple[_Worker, str]], idle: list[_Worker] | None
) -> _Worker:
    """A process with the variables `given`, which answers into `replies`: one that is idle, or a new one."""
    for worker in [each for each in idle or () if each.given == given]:
        (idle or []).remove(worker)
        worker.into = replies
        if not worker.ended and worker.process.poll() is None:
            return worker
        _dismiss([worker])
    return _Worker(given, replies)


def _dismiss(workers: Sequence[_Worker]) -> None:
    for worker in workers:
        worker.end()
        worker.close()


def train_job(argument: str, number: int) -> None:
    """Train one of the members that an executor's job lists."""
    _loaded(argument)(json.loads(argument)[2][number], lambda _steps, _message: None)


@lru_cache(1)
def _loaded(argument: str) -> Train:
    """The data a worker read for one member, kept for the next one of the same job."""
    module, settings, *_ = json.loads(argument)
    return trainer(module, settings, 0)


def trainer(module: str, argument: str, number: int) -> Train:
    """What trains the members that a module is for."""
    found: Train = import_module(module).trainer(argument, number)
    return found


def serve() -> NoReturn:
    """In a worker process: train the members that are requested, each as [module, argument, number of the process,
    member], and report errors; see `child.serve`."""
    loaded: dict[tuple[str, str, int], Train] = {}

    def reply(request: tuple[str, str, int, int], tell: Tell) -> str:
        *_, member = request
        try:
            if (work := request[:3]) not in loaded:
                loaded.clear()  # first, since memory may be short
                loaded[work] = trainer(*work)
            loaded[work](member, lambda steps, message: tell([steps, message]))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    child.serve(lambda request, tell: reply(tuple(request), tell))


class _Worker(Child):
    """One process, what it trains members of, the member at hand, and the thread that passes its replies on."""

    def __init__(self, given: Mapping[str, str], into: queue.SimpleQueue[tuple[_Worker, str]]) -> None:
        # With one thread, products of matrices have one order only.
        own = {name: os.environ.get(name, value) for name, value in KEPT_MEMORY.items()}
        super().__init__("shiftbench.methods.workers", given={**job.ONE_THREAD, **own, **given})
        self.given, self.into, self.ended = given, into, False
        self.work: list[Any] = []
        self.member: int | None = None
        self.thread = threading.Thread(target=self._wait, daemon=True)
        self.thread.start()

    def _wait(self) -> None:
        for line in self.replies:
            self.into.put((self, line))
        self.ended = True  # before it looks where to: whoever hires it sets that first, and then looks at this
        self.into.put((self, ""))

    def begin(self, member: int) -> None:
        self.member = member
        self.give([*self.work, member])

    def reported(self, line: str) -> list[Any]:
        """Steps done and a message; nothing if the member is finished."""
        if not line:
            raise ShiftbenchError(
                f"member {self.member}: expected to be trained, found its process ended ({self.obituary()}). Run again "
                "to go on with the missing members; if memory is short, with fewer cores."
            )
        reply: list[Any] | str = json.loads(line)
        if reply and isinstance(reply, str):
            raise ShiftbenchError(f"member {self.member}: expected to be trained, found {reply}")
        return list(reply)

    def finished(self) -> int:
        member, self.member = self.member, None
        assert member is not None
        return member

    def close(self) -> None:
        self.thread.join()
        super().close()


if __name__ == "__main__":
    serve()
