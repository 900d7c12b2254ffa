"""Small sealed challenges on a table, and what teams hand in for them."""

from __future__ import annotations

import hashlib
import time
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.challenge import definition, manifest, sandbox
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.track import Arrays

DEV = Phase("development", 0)
HIDDEN = Phase("evaluation", 0, hidden=True)
BOARD = Board("main", "Main", "mean_error", (DEV, HIDDEN), threshold=1.0)  # resampled in no time


def truth(rows: int = 300, *, clusters: bool = False, seed: int = 0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"id": [f"r{n}" for n in range(rows)], "target": rng.normal(size=rows), "shifted": rng.random(rows) < 0.5}
    )
    return frame.with_columns(cluster=pl.Series(rng.integers(0, 40, rows)).cast(pl.String)) if clusters else frame


def sealed(folder: Path, board: Board = BOARD, frame: pl.DataFrame | None = None) -> Path:
    """A challenge with one board on a table."""
    labels = truth() if frame is None else frame
    for phase in board.phases:
        place = folder / "sealed" / board.slug / phase.name
        place.mkdir(parents=True)
        labels.write_parquet(place / "truth.parquet")
    (folder / "public" / board.slug).mkdir(parents=True)
    definition.write(folder / definition.FILE, Challenge("small", "Small", "A small one.", (board,)))
    manifest.seal(folder)
    return folder


def answers(frame: pl.DataFrame, noise: float, *, seed: int = 1) -> pl.DataFrame:
    """Answers that miss by as much as their uncertainty says, which is larger where the world has shifted."""
    rng = np.random.default_rng(seed)
    spread = noise * np.where(frame["shifted"], 2.0, 1.0) * rng.uniform(0.5, 1.5, frame.height)
    told = frame["target"].to_numpy() + rng.normal(size=frame.height) * spread
    return pl.DataFrame({"id": frame["id"], "answer": told, "uncertainty": spread})


def parsed(folder: Path, arrays: Arrays) -> Path:
    """Arrays as the sandbox leaves them."""
    (folder / "arrays").mkdir(parents=True)
    for name, values in arrays.items():
        np.save(folder / "arrays" / f"{name}.npy", np.ascontiguousarray(values))
    assert {*sandbox.arrays(folder)} == {*arrays}
    return folder


def clock() -> int:
    return time.time_ns() // 1_000


def submit(
    state: Path, ledger: Ledger, team: str, content: bytes, *, phase: Phase = DEV, name: str = "mine.csv"
) -> int:
    """Queue a file as the server does, for a team that needs no accounts."""
    sha256 = hashlib.sha256(content).hexdigest()
    path = state / "files" / sha256[:2] / sha256
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return ledger.reference(BOARD.slug, phase, team, file=(name, len(content)), sha256=sha256)
