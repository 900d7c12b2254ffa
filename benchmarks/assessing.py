"""`shiftbench assess` from a Parquet file of 1.14 million rows to the written report, 200 replicates included."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ROWS = 1_137_731  # the rows of the largest evaluation set of the Shifts benchmark
REPLICATES = 200
BOUND_S = 60.0


def table(rows: int = ROWS) -> pl.DataFrame:
    """Errors, an uncertainty, a shift, clusters and a slice column, as a model of one's own would leave them."""
    rng = np.random.default_rng(0)
    shifted = rng.random(rows) < 0.5
    sd = np.exp(0.5 * rng.normal(size=rows) + 0.4 * shifted)
    return pl.DataFrame(
        {
            "id": pl.Series(np.arange(rows)).cast(pl.String),
            "error": (sd * rng.normal(size=rows)) ** 2,
            "uncertainty": sd**2 * np.exp(0.3 * rng.normal(size=rows)),
            "shifted": shifted,
            "station": rng.integers(0, 1000, rows),
            "climate": rng.choice(["dry", "snow", "tropical"], rows),
        }
    )


def ratios() -> list[tuple[str, float, float | None]]:
    """Seconds end to end, by record and by cluster, and as a multiple of reading the file and sorting it once."""
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "errors.parquet"
        table().write_parquet(path)
        begun = time.perf_counter()
        np.argsort(pl.read_parquet(path)["uncertainty"].to_numpy())
        least = time.perf_counter() - begun
        by_record = _seconds(path, Path(place) / "record")
        by_cluster = _seconds(path, Path(place) / "cluster", "--cluster", "station")
    return [
        (f"assess {ROWS:,} rows, {REPLICATES} record replicates: seconds", by_record, BOUND_S),
        (f"assess {ROWS:,} rows, {REPLICATES} cluster replicates: seconds", by_cluster, BOUND_S),
        ("the former / reading and sorting once", by_record / least, None),
    ]


def _seconds(path: Path, out: Path, *more: str) -> float:
    words = ["assess", str(path), "--threshold", "1", "--slice", "climate", "--replicates", str(REPLICATES), *more]
    begun = time.perf_counter()
    subprocess.run(
        [sys.executable, "-m", "shiftbench", *words, "--out", str(out)], check=True, stdout=subprocess.DEVNULL
    )
    return time.perf_counter() - begun


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.3g} (bound {bound})")
