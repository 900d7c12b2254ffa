"""A submission of 1.14 million rows from upload to score, against `shiftbench assess` of the same file.

Upload: the file is copied into the server's state, hashed and queued (without a network between). Score: read in the
sandbox, scored, resampled for the Ladder, written to the ledger. The second submission of a team is compared with its
first one on the same records, so it takes more.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.assessment.predictions import Predictions
from shiftbench.challenge import definition, manifest
from shiftbench.challenge.definition import Board, Challenge, Phase
from shiftbench.challenge.store.ledger import Ledger
from shiftbench.challenge.worker import Worker
from shiftbench.ensembles import Gaussian
from shiftbench.io import files

ROWS = 1_137_731  # the rows of the largest evaluation set of the Shifts benchmark
BOUND = 3.0
PHASE = Phase("evaluation", 0, hidden=True)
BOARD = Board("main", "Main", "r_auc", (PHASE,), threshold=1.0)


def clock() -> int:
    """Microseconds since 1970 UTC."""
    return time.time_ns() // 1_000


def make(folder: Path) -> tuple[Path, list[Path]]:
    """A sealed challenge and two predictions files for it; returns the labels and the files."""
    rng = np.random.default_rng(0)
    shifted = rng.random(ROWS) < 0.5
    ids, target = np.arange(ROWS).astype(str).astype(object), rng.normal(size=ROWS)
    truth = folder / "challenge" / "sealed" / BOARD.slug / PHASE.name / "truth.parquet"
    truth.parent.mkdir(parents=True)
    pl.DataFrame({"id": ids.tolist(), "target": target, "shifted": shifted}).write_parquet(truth)
    definition.write(folder / "challenge" / definition.FILE, Challenge("large", "Large", "A large one.", (BOARD,)))
    manifest.seal(folder / "challenge")
    made = []
    for seed in (1, 2):
        spread = np.exp(0.5 * rng.normal(size=ROWS) + 0.4 * shifted)
        ensemble = Gaussian((target + spread * rng.normal(size=ROWS))[None], np.square(spread)[None])
        made.append(Predictions(ids, ensemble).save(folder / f"model-{seed}.parquet"))
    return truth, made


def upload(state: Path, ledger: Ledger, file: Path) -> int:
    """Copy, hash and queue a file."""
    aside = state / file.name
    shutil.copyfile(file, aside)
    sha256 = files.sha256(aside)
    goal = state / "files" / sha256[:2] / sha256
    goal.parent.mkdir(parents=True)
    aside.replace(goal)
    return ledger.reference(BOARD.slug, PHASE, "team", file=(file.name, goal.stat().st_size), sha256=sha256)


@contextmanager
def timed(found: list[float]) -> Iterator[None]:
    """Append the seconds that the block takes."""
    begun = time.perf_counter()
    yield
    found.append(time.perf_counter() - begun)


def ratios() -> list[tuple[str, float, float | None]]:
    """Seconds of each submission over those of `shiftbench assess` on the same file."""
    with tempfile.TemporaryDirectory() as place:
        folder, took = Path(place), list[float]()
        truth, (one, two) = make(folder)
        command = ["assess", str(one), "--truth", str(truth), "--target", "target", "--threshold", "1"]
        with timed(took):
            subprocess.run(
                [sys.executable, "-m", "shiftbench", *command, "--out", str(folder / "report")], check=True,
                stdout=subprocess.DEVNULL,
            )  # fmt: skip
        state = folder / "state"
        (state / "parsed").mkdir(parents=True)
        ledger = Ledger(state / "server.sqlite", clock=clock)
        worker = Worker(state, folder / "challenge", definition.read(folder / "challenge" / definition.FILE), ledger)
        for file in (one, two):
            with timed(took):
                number = upload(state, ledger, file)
                worker.step()
            assert ledger.submission(number).state == "scored", ledger.submission(number).problems
        ledger.close()
    assess, first, second = took
    return [
        (f"assess {ROWS:,} rows: seconds", assess, None),
        ("first submission from upload to score / assess", first / assess, BOUND),
        ("second submission, compared with the first / assess", second / assess, BOUND),
    ]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.3g} (bound {bound})", flush=True)
