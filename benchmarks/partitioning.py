"""Assigning a table to partitions (time, group, hash of the id) against reading the three columns it needs.

The aim is at most 3 at ten million rows; no bound is enforced yet.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.partition import Rules, partition

RECORDS = 2_000_000
ROUNDS = 5
CLIMATES = np.array(["tropical", "dry", "mild temperate", "snow", "polar"])

RULES = Rules(
    id="id",
    seed=1,
    time="date",
    fractions=(0.6, 0.1, 0.15, 0.15),
    eval_first=True,
    group="climate",
    in_domain=("tropical", "dry", "mild temperate"),
    shifted_dev=("snow",),
    shifted_eval=("snow", "polar"),
    at_most={"dev_out": 10_000},
)


def table(records: int, *, seed: int = 0) -> pl.DataFrame:
    """Stations x days in no order: ids such as S01234-2019-03-04, dates, and a climate for each station."""
    rng = np.random.default_rng(seed)
    stations, days = 8_000, -(-records // 8_000)
    places = rng.permutation(stations * days)[:records]
    station, day = places % stations, places // stations
    climate = CLIMATES[rng.choice(5, stations, p=[0.1, 0.2, 0.45, 0.23, 0.02])]
    frame = pl.DataFrame(
        {"station": station, "date": pl.Series(17_000 + day).cast(pl.Date), "climate": climate[station]}
    )
    name = pl.format("S{}-{}", pl.col("station").cast(pl.String).str.zfill(5), pl.col("date").cast(pl.String))
    return frame.select(name.alias("id"), "date", "climate")


def ratios() -> list[tuple[str, float, float | None]]:
    """(name, seconds to assign over seconds to read, no bound)."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.parquet"
        table(RECORDS).write_parquet(file)
        reading, assigning = [], []
        for _ in range(ROUNDS):
            reading.append(_seconds(lambda: pl.read_parquet(file)))
            frame = pl.read_parquet(file)
            assigning.append(_seconds(lambda frame=frame: partition(frame, RULES)))
    return [("partition 2M rows / read 3 columns", statistics.median(assigning) / statistics.median(reading), None)]


def _seconds(act: Callable[[], object]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


if __name__ == "__main__":
    for name, ratio, _ in ratios():
        print(f"{name}: {ratio:.2f}")
