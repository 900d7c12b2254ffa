"""A leaderboard of 1,000 entries under 200 requests at a time, beside a static page of equal size.

Both pages come from one server of one process, in turns; a client in a process of its own asks over 200 connections.
`p99 / static` is the ratio of the 99th percentiles of the times to the last byte; it is to be at most 2, with none
failed.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import tempfile
import time
from pathlib import Path

import numpy as np
import uvicorn
from sqlalchemy import insert
from starlette.staticfiles import StaticFiles

from shiftbench.challenge import definition
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store import schema
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.web.application import application
from shiftbench.challenge.web.server import opened

ENTRIES, AT_ONCE, ROUNDS, EACH = 1_000, 200, 5, 3
PHASE = Phase("development", 0, per_day=1_000)
CHALLENGE = Challenge("large", "Large", "A large one.", (Board("table", "Table", "r_auc", (PHASE,)),))


def clock() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def fill(ledger: Ledger) -> None:
    """A board of many teams, each with a score."""
    rng, now, numbers = np.random.default_rng(0), clock(), range(1, ENTRIES + 1)
    with ledger.engine.execution_options(writes=True).begin() as c:
        c.execute(insert(schema.teams), [{"name": f"Team {n}", "code": f"code {n}"} for n in numbers])
        submission = {"board": "table", "phase": PHASE.name, "name": "answers.csv", "size": 9, "sha256": "0" * 64}
        submission |= {"begun": now, "queued": now, "state": "scored", "problems": "[]"}
        c.execute(insert(schema.submissions), [submission | {"team": n, "user": None, "score": n} for n in numbers])
        values = rng.normal(1.0, 0.2, ENTRIES).tolist()
        score = {"labels": "0a1b2c", "scorer": "shiftbench", "notes": "[]", "at": now, "climbed": True}
        c.execute(
            insert(schema.scores),
            [
                {**score, "submission": n, "value": x, "low": x - 0.1, "high": x + 0.1, "shown": x, "receipt": n}
                for n, x in zip(numbers, values, strict=True)
            ],
        )


def serve(folder: Path, port: int) -> None:
    """The server, with a static page beside its own."""
    app = application(opened(folder / "challenge", folder / "state"))
    app.mount("/equal", StaticFiles(directory=folder / "equal"))
    uvicorn.run(app, port=port, log_level="error", access_log=False)


async def page(port: int, path: str, times: list[float], count: int) -> bytes:
    """The last of `count` answers of a path over one connection; adds the times to `times`."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    body = b""
    for _ in range(count):
        begun = time.perf_counter()
        writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        if not head.startswith(b"HTTP/1.1 200"):
            raise ConnectionError(head.split(b"\r\n")[0].decode())
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        body = await reader.readexactly(int(length.split(b":")[1]))
        times.append(time.perf_counter() - begun)
    writer.close()
    return body


async def measured(port: int, paths: dict[str, str]) -> tuple[dict[str, list[float]], int]:
    """Times by name of a page, in turns, and how many connections failed."""
    times: dict[str, list[float]] = {name: [] for name in paths}
    failed = 0
    for round_ in range(ROUNDS + 1):
        for name, path in paths.items():
            held = times[name] if round_ else []  # the first round warms up
            jobs = (page(port, path, held, EACH) for _ in range(AT_ONCE))
            failed += sum(isinstance(each, Exception) for each in await asyncio.gather(*jobs, return_exceptions=True))
    return times, failed


def figures() -> tuple[dict[str, list[float]], int, bytes]:
    """Times by name of a page, how many connections failed, and the board's page."""
    with tempfile.TemporaryDirectory() as held:
        folder, port = Path(held), 8765
        (folder / "challenge").mkdir()
        (folder / "equal").mkdir()
        definition.write(folder / "challenge" / definition.FILE, CHALLENGE)
        server = opened(folder / "challenge", folder / "state")
        fill(server.ledger)
        server.ledger.close()
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, port))
        process.start()
        try:
            board = asyncio.run(_first(port))
            (folder / "equal" / "page.html").write_bytes(board)
            times, failed = asyncio.run(measured(port, {"board": "/boards/table", "static": "/equal/page.html"}))
        finally:
            process.terminate()
            process.join()
    return times, failed, board


def ratios() -> list[tuple[str, float, float | None]]:
    """Failed requests, and times over those of the static page."""
    times, failed, _ = figures()
    what = f"board of {ENTRIES:,} entries, {AT_ONCE} requests at a time"
    p99, median = ({name: float(np.percentile(each, share)) for name, each in times.items()} for share in (99, 50))
    return [
        (f"{what}: failed", failed, 0.0),
        (f"{what}: 99th percentile / static page of equal size", p99["board"] / p99["static"], 2.0),
        (f"{what}: median / static page of equal size", median["board"] / median["static"], None),
    ]


def main() -> None:
    """Print the figures."""
    times, failed, board = figures()
    p99 = {name: float(np.percentile(each, 99)) for name, each in times.items()}
    median = {name: float(np.median(each)) for name, each in times.items()}
    print(
        f"rows {board.count(b'<tr'):,}, page {len(board) / 1e3:,.0f} kB, requests {len(times['board']):,} of each page"
    )
    print(f"failed {failed}")
    for name in times:
        print(f"{name}: median {1e3 * median[name]:,.0f} ms, p99 {1e3 * p99[name]:,.0f} ms at {AT_ONCE} at a time")
    print(f"p99 / static {p99['board'] / p99['static']:.2f}, median / static {median['board'] / median['static']:.2f}")


async def _first(port: int) -> bytes:
    for _ in range(600):
        try:
            return await page(port, "/boards/table", [], 1)
        except OSError:
            await asyncio.sleep(0.1)
    raise TimeoutError("expected a server, found none")


if __name__ == "__main__":
    main()
