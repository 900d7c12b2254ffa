"""Work on several threads whose results come in order, and of which little waits in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TypeVar

Given = TypeVar("Given")
Result = TypeVar("Result")


@contextmanager
def in_order(
    work: Callable[[Given], Result], given: Iterable[Given], *, threads: int, ahead: int
) -> Iterator[Iterator[Result]]:
    """The results of `work` for each item, in order.

    At most `ahead` more than the one that is waited for are started, since results take memory. When the block ends,
    for whatever reason, what has not started is cancelled.
    """
    pool = ThreadPoolExecutor(threads)

    def results() -> Iterator[Result]:
        waiting: deque[Future[Result]] = deque()
        for each in given:
            waiting.append(pool.submit(work, each))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()

    try:
        yield results()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
