"""Members trained side by side in processes of their own, which end when this process ends, however it ends.

Plain subprocesses and not a pool of the standard library: those import the caller's main script again, and wait
for ever when their parent is killed.
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
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from shiftbench.errors import SettingsError, ShiftbenchError

Report = Callable[[int, str], None]
"""Called with the steps that a member has done, and a sentence about them."""


def available(cores: int | None) -> int:
    """`cores`, or if None the number of cores that this process may use.

    Raises:
        SettingsError: if `cores` is not a whole number >= 1.
    """
    if cores is None:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
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
    message)` whenever one says how far it is. Whatever goes wrong, no process outlives this call.

    Raises:
        ShiftbenchError: if a member fails or its process dies; the other processes are stopped.
    """
    waiting, unfinished = deque(members), len(members)
    replies = queue.SimpleQueue[tuple[_Worker, str]]()
    workers: list[_Worker] = []
    try:
        for number in range(min(cores, unfinished)):
            workers.append(_Worker(module, (argument, str(number)), replies))
            workers[-1].give(waiting.popleft())
        while unfinished:
            worker, line = replies.get()
            if worker.member is None:  # the end of one that had nothing left to do
                continue
            if told := worker.told(line):
                if step:
                    step(worker.member, *told)
                continue
            done(worker.finished())
            unfinished -= 1
            if waiting:
                worker.give(waiting.popleft())
    finally:
        for worker in workers:
            worker.end()


def serve(work: Callable[[int, Report], None]) -> None:
    """In a worker process: train the members that arrive on standard input, one number a line; reply to each.

    `work` is given a member, and what to call to say how far it is. Never returns: the process exits when the input
    closes, even in the middle of a member, since then either all is done or nobody is left to want it. For that,
    `work` must release the interpreter lock now and then.
    """
    members = queue.SimpleQueue[int]()
    threading.Thread(target=_listen, args=(members,), daemon=True).start()
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as replies:
        os.dup2(2, 1)  # what a library prints is no reply

        def reply(value: object) -> None:
            replies.write(json.dumps(value) + "\n")
            replies.flush()

        while True:
            member, problem = members.get(), ""
            try:
                work(member, lambda steps, message: reply([steps, message]))
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
            reply(problem)


def _listen(members: queue.SimpleQueue[int]) -> None:
    for line in sys.stdin:
        members.put(int(line))
    os._exit(0)


class _Worker:
    """One process, the member it has to train, and the thread that waits for its replies."""

    def __init__(
        self, module: str, arguments: tuple[str, ...], replies: queue.SimpleQueue[tuple[_Worker, str]]
    ) -> None:
        self.member: int | None = None
        self.log = tempfile.TemporaryFile()  # noqa: SIM115 (closed in `end`)
        # The worker finds the modules that this process finds, and none beside them (-P).
        paths = os.pathsep.join(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 (text, not a path)
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            encoding="utf-8",
            env={**os.environ, "PYTHONPATH": paths},
            start_new_session=True,  # Ctrl-C reaches only this process, which then ends the workers
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.input, self.output = self.process.stdin, self.process.stdout
        self.thread = threading.Thread(target=self._wait, args=(replies,), daemon=True)
        self.thread.start()

    def _wait(self, replies: queue.SimpleQueue[tuple[_Worker, str]]) -> None:
        for line in self.output:
            replies.put((self, line))
        replies.put((self, ""))

    def give(self, member: int) -> None:
        self.member = member
        with suppress(OSError):  # if the process has died, its empty reply tells
            self.input.write(f"{member}\n")
            self.input.flush()

    def told(self, line: str) -> list[Any]:
        """Steps done and a message; nothing if the member is finished."""
        if not line:
            raise ShiftbenchError(f"member {self.member}: expected to be trained, found {self._obituary()}")
        reply: list[Any] | str = json.loads(line)
        if reply and isinstance(reply, str):
            raise ShiftbenchError(f"member {self.member}: expected to be trained, found {reply}")
        return list(reply)

    def finished(self) -> int:
        member, self.member = self.member, None
        assert member is not None
        return member

    def _obituary(self) -> str:
        status = self.process.wait()
        how = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        self.log.seek(0)
        last = self.log.read().decode(errors="replace").strip().rpartition("\n")[2]
        return (
            f"its process ended ({how}{'; ' * bool(last)}{last}). Run again to go on with the missing members; "
            "if memory is short, with fewer cores."
        )

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self.thread.join()
        with suppress(OSError):
            self.input.close()
        self.output.close()
        self.log.close()
