"""Members trained side by side in processes of their own, which end when this process ends, however it ends."""

from __future__ import annotations

import json
import queue
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from shiftbench.errors import SettingsError, ShiftbenchError
from shiftbench.executor import child, job
from shiftbench.executor.child import Child, Tell

Report = Callable[[int, str], None]
"""Called with the steps that a member has done, and a sentence about them."""


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
    cores: int,
    done: Callable[[int], None],
    step: Callable[[int, int, str], None] | None = None,
) -> None:
    """Train numbered members in up to `cores` processes, each `python -m module argument number` calling `serve`.

    The processes are numbered from 0. `done(member)` is called here after each member, and `step(member, steps,
    message)` whenever one reports its progress. Whatever goes wrong, no process outlives this call.

    Raises:
        ShiftbenchError: if a member fails or its process dies; the other processes are stopped.
    """
    waiting, unfinished = deque(members), len(members)
    replies = queue.SimpleQueue[tuple[_Worker, str]]()
    workers: list[_Worker] = []
    try:
        for number in range(min(cores, unfinished)):
            workers.append(_Worker(module, (argument, str(number)), replies))
            workers[-1].begin(waiting.popleft())
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
    finally:
        for worker in workers:
            worker.end()
            worker.close()


def serve(work: Callable[[int, Report], None]) -> NoReturn:
    """In a worker process: train the members that are requested, and report errors; see `child.serve`.

    `work` is given a member, and a function that reports its progress.
    """

    def reply(member: int, tell: Tell) -> str:
        try:
            work(member, lambda steps, message: tell([steps, message]))
        except Exception as error:
            return f"{type(error).__name__}: {error}"
        return ""

    child.serve(reply)


class _Worker(Child):
    """One process, the member it has to train, and the thread that waits for its replies."""

    def __init__(
        self, module: str, arguments: tuple[str, ...], replies: queue.SimpleQueue[tuple[_Worker, str]]
    ) -> None:
        super().__init__(module, *arguments, given=job.ONE_THREAD)  # products of matrices have one order only
        self.member: int | None = None
        self.thread = threading.Thread(target=self._wait, args=(replies,), daemon=True)
        self.thread.start()

    def _wait(self, replies: queue.SimpleQueue[tuple[_Worker, str]]) -> None:
        for line in self.replies:
            replies.put((self, line))
        replies.put((self, ""))

    def begin(self, member: int) -> None:
        self.member = member
        self.give(member)

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
