"""The weather partition of ten million records, and its files.

- The canonical manifest (time, group, row numbers, sizes to be met exactly; counts and digests of all five partitions)
  against reading the three columns time, climate and class. Both are timed in a process of their own, as a command
  meets them: with fresh memory.
- The files of the five partitions, streamed from the table's file, against a bare polars read, gather and write.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.partition import PARTITIONS, Manifest, Rules, partition
from shiftbench.partition.parts import write_parts

RECORDS = 10_000_000
WIDE_RECORDS, FEATURES = 1_000_000, 123
ROUNDS = 5
CLIMATES = np.array(["tropical", "dry", "mild temperate", "snow", "polar"])
CLASSES = np.array([0, 10, 11, 12, 13, 20, 21, 22, 23])
HOUR, YEAR = 3_600, 8_760  # seconds in an hour, hours in a year

RULES = Rules(
    seed=1,
    time="fact_time",
    fractions=(0.6, 0.1, 0.15, 0.15),
    eval_first=True,
    group="climate",
    in_domain=("tropical", "dry", "mild temperate"),
    shifted_dev=("snow",),
    shifted_eval=("snow", "polar"),
    shares={"train": 0.83642, "dev_in": 0.01358, "eval_in": 0.15},
    exact=True,
    at_most={"dev_in": 50_000, "dev_out": 50_000},
)


def table(records: int, *, seed: int = 0) -> pl.DataFrame:
    """Records of one year in no order: time in seconds, climate and class [N]."""
    rng = np.random.default_rng(seed)
    hours = rng.integers(0, YEAR, records)
    climate = CLIMATES[rng.choice(5, records, p=[0.1, 0.2, 0.45, 0.23, 0.02])]
    return pl.DataFrame(
        {"fact_time": 1_535_760_000 + HOUR * hours, "climate": climate, "fact_cwsm_class": rng.choice(CLASSES, records)}
    )


def wide(records: int, *, seed: int = 0) -> pl.DataFrame:
    """The same with as many features as the weather data have, float32."""
    rng = np.random.default_rng(seed)
    features = {f"feature_{place}": rng.normal(size=records).astype(np.float32) for place in range(FEATURES)}
    return table(records, seed=seed).with_columns(**features)


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, seconds of ours over seconds of the yardstick, bound)."""
    with tempfile.TemporaryDirectory() as folder:
        return [
            ("manifest of 10M rows / read 3 columns", _manifest(Path(folder)), 3.0),
            ("write five partitions / polars read, gather, write", _writing(Path(folder)), 1.5),
        ]


def _manifest(folder: Path) -> float:
    file = folder / "table.parquet"
    table(RECORDS).write_parquet(file)
    command = [sys.executable, "-m", __name__, str(file)]
    rounds = [subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(ROUNDS)]
    reading, assigning = np.array([printed.split() for printed in rounds], np.float64).T
    return float(np.median(assigning) / np.median(reading))


def _writing(folder: Path) -> float:
    file = folder / "wide.parquet"
    wide(WIDE_RECORDS).write_parquet(file)
    parts = partition(pl.read_parquet(file, columns=["fact_time", "climate"]), RULES)
    rows = {name: (parts.assignment == name).arg_true() for name in PARTITIONS}

    def yardstick() -> None:
        frame = pl.read_parquet(file)
        for name in PARTITIONS:
            frame[rows[name]].write_parquet(folder / f"plain-{name}.parquet", compression="zstd")

    times = [(_seconds(lambda: write_parts(folder, parts, table=file)), _seconds(yardstick)) for _ in range(ROUNDS)]
    ours, plain = zip(*times, strict=True)
    return statistics.median(ours) / statistics.median(plain)


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _one_round(file: str) -> None:
    """Print the seconds to read the three columns, and then to make the manifest of their partition."""
    start = time.perf_counter()
    frame = pl.read_parquet(file)
    read = time.perf_counter()
    Manifest.of(partition(frame, RULES), RULES)
    print(read - start, time.perf_counter() - read)


if __name__ == "__main__":
    _one_round(sys.argv[1])
