"""Runs items in a Ray cluster, started here or existing. Results go to files, not through Ray.

Ray runs in a child process, so that output of its daemons stays off the terminal, and a hanging one can be killed. That
process stays for all jobs of a block `connected`, since joining a cluster and starting Python there takes seconds.
"""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from threading import Timer
from typing import Any

from shiftbench.errors import MissingExtraError, SettingsError, ShiftbenchError
from shiftbench.io.executor.child import Child
from shiftbench.io.executor.job import LOCAL, ONE_THREAD, Executor, Job, Reply

DRIVER = "shiftbench.io.executor.ray_driver"
REACHED = 5.0  # seconds in which a cluster must accept a connection
JOINED = 30.0  # seconds in which it must let us join
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", **ONE_THREAD}
REMEDY = "Start it with `ray start --head`, or name the address that this printed with --executor ray=HOST:PORT."

_KEPT: ContextVar[dict[Executor, Child] | None] = ContextVar("kept", default=None)


@contextmanager
def connected() -> Iterator[None]:
    """Let the jobs of this block share one connection to each cluster; clusters made for them end with it."""
    kept: dict[Executor, Child] = {}
    token = _KEPT.set(kept)
    try:
        yield
        for driver in kept.values():
            _leave(driver)
    finally:
        _KEPT.reset(token)
        for driver in kept.values():
            driver.end()
            driver.close()


def replies(job: Job, executor: Executor) -> Generator[Reply, None, None]:
    """Do the items in a cluster; one that is made for them ends with them, or with the block `connected`.

    Raises:
        MissingExtraError: if Ray is not installed.
        SettingsError: if there is no cluster at the address, or its nodes lack this package or a shared folder.
    """
    if find_spec("ray") is None:
        raise MissingExtraError(
            "executor ray: expected Ray, found that it is not installed. Install it: pip install 'shiftbench[ray]'"
        )
    address = executor.address or _address_here()
    if address not in (None, LOCAL):
        require_reachable(address)
    request = {
        "work": job.work, "argument": job.argument, "items": job.items, "shared": job.shared,
        "workers": executor.workers, "gpus": executor.gpus, "address": address,
    }  # fmt: skip
    kept = _KEPT.get()
    driver = kept.pop(executor, None) if kept else None
    driver, whole = driver or Child(DRIVER, given=QUIET), False
    try:
        driver.give(request)
        yield from _replies(driver, address)
        whole = True
        if kept is None:
            _leave(driver)
    finally:
        if whole and kept is not None:
            kept[executor] = driver
        else:
            driver.end()
            driver.close()


def _leave(driver: Child) -> None:
    """Let a process that has done its jobs leave its cluster, or end the one that it made."""
    timer = Timer(JOINED, driver.process.kill)
    timer.start()
    try:
        driver.give(None)
        any(_read(line) == ["done"] for line in driver.replies)
    finally:
        timer.cancel()


def _address_here() -> str | None:
    """That of the environment, or of the cluster that this process has joined."""
    known = sys.modules.get("ray")
    if known is not None and known.is_initialized():
        return str(known.get_runtime_context().gcs_address)
    named = os.environ.get("RAY_ADDRESS")
    return None if named in (None, "", "auto") else named


def require_reachable(address: str) -> None:
    """Check that something at the address takes connections: Ray itself would wait for minutes.

    Raises:
        SettingsError: if it does not.
    """
    host, _, port = address.rpartition("://")[2].rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=REACHED).close()
    except (OSError, ValueError, OverflowError) as error:
        raise SettingsError(f"executor ray: expected a cluster at {address}, found: {error}. {REMEDY}") from None


def _replies(driver: Child, address: str | None) -> Generator[Reply, None, None]:
    late: list[str] = []

    def give_up() -> None:
        late.append(str(address))
        driver.process.kill()

    timer = Timer(JOINED, give_up)
    try:
        for line in driver.replies:
            match _read(line):
                case ["loaded", address]:
                    if address:
                        timer.start()
                case ["ready"]:
                    timer.cancel()
                case ["reply", number, problems, fatal, *used]:
                    yield Reply(number, tuple(problems), fatal, tuple(used))
                case ["refused", problems]:
                    raise SettingsError(*problems, *_locked(driver))
                case ["done"]:
                    return
    finally:
        timer.cancel()
    if late:
        raise SettingsError(
            f"executor ray: expected a cluster at {late[0]}, found something that gave no answer of Ray within "
            f"{JOINED:.0f} s. {REMEDY}",
            *_locked(driver),
        )
    raise ShiftbenchError(f"executor ray: expected the items to be done, found that Ray ended ({driver.obituary()}).")


def _locked(driver: Child) -> list[str]:
    """What to do about a cluster that requires a token, which Ray reports only in its log."""
    if "AuthToken" not in driver.messages():
        return []
    return [
        "executor ray: expected the token of the cluster, found another or none. Set RAY_AUTH_MODE=token, and "
        "RAY_AUTH_TOKEN_PATH as where the cluster was started, then run this again."
    ]


def _read(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:  # the last line of a process that was killed
        return None
