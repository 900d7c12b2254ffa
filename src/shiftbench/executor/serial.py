"""One item after another, in this process."""

from __future__ import annotations

from collections.abc import Generator

from shiftbench.executor.job import Job, Reply


def replies(job: Job, workers: int | None, address: str | None) -> Generator[Reply, None, None]:
    """Do the items in their order; `workers` and `address` are of no matter."""
    for number in range(job.items):
        yield job.done(number)
