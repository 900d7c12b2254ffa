"""Items in a Ray cluster, one on this machine or one that is there already. Results go to files, not through Ray."""

from __future__ import annotations

import os
from collections.abc import Generator
from importlib import import_module
from itertools import islice
from typing import Any

from shiftbench.errors import MissingExtraError, SettingsError
from shiftbench.executor.child import search_path
from shiftbench.executor.job import ONE_THREAD, Job, Reply, cores

LOOPBACK = "127.0.0.2"  # Ray takes 127.0.0.1 for an outside address; this one stays on the machine
AHEAD = 2  # items handed over for each core, so that none waits


def library() -> Any:
    """Ray, imported; it is told not to report its usage.

    Raises:
        MissingExtraError: if it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        return import_module("ray")
    except ImportError as error:
        raise MissingExtraError(
            f"executor ray: expected Ray, found: {error}. Install it: pip install 'shiftbench[ray]'"
        ) from None


def replies(job: Job, workers: int | None, address: str | None) -> Generator[Reply, None, None]:
    """Do the items in a cluster; one that is made for them ends with them.

    Raises:
        MissingExtraError: if Ray is not installed.
        SettingsError: if there is no cluster at `address`.
    """
    ray = library()
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, workers, address)
    try:
        # A process that dies is tried again: an item writes whole files or none.
        remote = ray.remote(num_cpus=1, max_retries=2)(_done)
        most = AHEAD * (workers or max(1, int(ray.cluster_resources().get("CPU", 1))))
        yield from _replies(ray, job, remote, most)
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, workers: int | None, address: str | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address is None:
        variables = {**ONE_THREAD, "PYTHONPATH": search_path()}
        ray.init(
            num_cpus=workers or cores(), include_dashboard=False, _node_ip_address=LOOPBACK,
            runtime_env={"env_vars": variables}, **quiet,
        )  # fmt: skip
        return
    try:
        ray.init(address=address, runtime_env={"env_vars": ONE_THREAD}, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise SettingsError(f"address: expected a Ray cluster at {address!r}, found: {error}.") from None


def _replies(ray: Any, job: Job, remote: Any, most: int) -> Generator[Reply, None, None]:
    numbers = iter(range(job.items))
    running = {remote.remote(job.work, job.argument, number): number for number in islice(numbers, most)}
    while running:
        (ended,), _ = ray.wait(list(running), num_returns=1)
        number = running.pop(ended)
        for following in islice(numbers, 1):
            running[remote.remote(job.work, job.argument, following)] = following
        yield _reply(ray, ended, number)


def _reply(ray: Any, ended: Any, number: int) -> Reply:
    try:
        problems, fatal = ray.get(ended)
    except ray.exceptions.RayError as error:
        return Reply(number, (f"{type(error).__name__}: {str(error).strip().splitlines()[0]}",), "failure")
    return Reply(number, tuple(problems), fatal)


def _done(work: str, argument: str, number: int) -> tuple[list[str], str]:
    reply = Job(work, argument, 0).done(number)
    return list(reply.problems), reply.fatal
