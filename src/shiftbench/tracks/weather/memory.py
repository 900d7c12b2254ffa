"""Estimates whether a run fits into memory, before anything is read."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from shiftbench.io import tables
from shiftbench.io.executor.memory import available
from shiftbench.io.tables import problem
from shiftbench.tracks.weather.schema import FEATURES

FEATURE_BYTES = 4
COPIES = 3  # the table, the matrix of a method, and the method's own copy
RESERVE = 500 * 2**20  # bytes for the interpreter and its libraries


def foresee(data: int | str | os.PathLike[str], *, memory: int | None = None) -> str | None:
    """A sentence if a run on `data` does not fit into memory; None if it does, or if that is unknown.

    Args:
        data: a number of rows, a Parquet file, or a prepared folder, whose Parquet files are counted together.
        memory: available bytes; `available()` if None.

    Raises:
        TableError: if a Parquet file cannot be read.
    """
    rows = data if isinstance(data, int) else _rows(Path(data))
    memory = available() if memory is None else memory
    of_row = len(FEATURES) * FEATURE_BYTES * COPIES
    need = rows * of_row + RESERVE
    if memory is None or need <= memory:
        return None
    return (
        f"{rows:,} rows of {len(FEATURES)} features: expected to need about {need / 2**30:.1f} GiB of memory, found "
        f"{memory / 2**30:.1f} GiB available. Use a larger machine, or fewer rows: at most "
        f"{max(0, memory - RESERVE) // of_row:,} fit."
    )


def _rows(path: Path) -> int:
    """Rows of the partitions in a folder, by the footers of their files."""
    files = [file for file in sorted(path.glob("*.parquet")) if file.name != "assignment.parquet"]
    total = 0
    for file in files if path.is_dir() else [path]:
        with problem.reading(file, "Parquet"):
            total += tables.scan_parquet(file).select(pl.len()).collect().item()
    return total
