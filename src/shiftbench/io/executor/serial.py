"""Runs items one after another in this process."""

from __future__ import annotations

from collections.abc import Generator

from shiftbench.io.executor.job import Executor, Job, Reply


def replies(job: Job, _executor: Executor) -> Generator[Reply, None, None]:
    """Do the items in their order."""
    for number in range(job.items):
        yield job.done(number)
