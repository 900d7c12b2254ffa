"""How fast `shiftbench.io.tables.read_table` reads a large CSV, checks included, against pandas, polars and pyarrow."""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
from pyarrow import csv as arrow_csv

from shiftbench.io.tables import read_table

ROWS = 300_000
COLUMNS = 129
BOUND = 1.15
ROUNDS = 9

READERS: dict[str, Callable[[Path], Any]] = {
    "shiftbench": read_table,
    "polars": lambda path: pl.read_csv(path, try_parse_dates=True),
    "pyarrow": arrow_csv.read_csv,
    "pandas": lambda path: pd.read_csv(path, engine="pyarrow"),
}


def write_example(path: Path, *, rows: int = ROWS, columns: int = COLUMNS, seed: int = 0) -> Path:
    """A CSV with an id, a date and floats of several sizes, of which every third column lacks one value in twenty."""
    rng = np.random.default_rng(seed)
    day = np.datetime64("2020-01-01") + rng.integers(0, 700, rows)
    data = {"id": [f"r{row:07d}" for row in range(rows)], "date": day}
    for place in range(columns - 2):
        values = np.round(rng.normal(size=rows) * 10.0 ** rng.integers(0, 4), 4)
        # The last column lacks values too, so that looking for short rows is part of what is timed.
        lacks = place % 3 == (columns - 3) % 3
        data[f"f{place:03d}"] = np.where(rng.random(rows) < 0.05, np.nan, values) if lacks else values
    frame = pl.DataFrame(data).with_columns(pl.col(pl.Float64).fill_nan(None))
    frame.write_csv(path)
    return path


def seconds(path: Path, *, rounds: int = ROUNDS) -> dict[str, float]:
    """The median time of each reader; they take turns, so that a busy moment of the machine meets them all."""
    times: dict[str, list[float]] = {name: [] for name in READERS}
    for number in range(rounds + 1):
        for name, read in READERS.items():
            gc.collect()
            start = time.perf_counter()
            table = read(path)
            elapsed = time.perf_counter() - start
            del table
            if number:  # the first round warms the file cache and the libraries up
                times[name].append(elapsed)
    return {name: statistics.median(found) for name, found in times.items()}


def ratios() -> list[tuple[str, float, float | None]]:
    """What was measured: name, time relative to the fastest of the others, and its bound where there is one."""
    with tempfile.TemporaryDirectory() as folder:
        found = seconds(write_example(Path(folder) / "table.csv"))
    fastest = min(value for name, value in found.items() if name != "shiftbench")
    shape = f"{ROWS:,} × {COLUMNS} CSV"
    return [
        (
            f"read {shape} with {name}, over the fastest of the others",
            value / fastest,
            BOUND if name == "shiftbench" else None,
        )
        for name, value in found.items()
    ]


if __name__ == "__main__":
    for name, ratio, bound in ratios():
        print(f"{name}: {ratio:.2f}" + (f" (bound {bound})" if bound is not None else ""))
