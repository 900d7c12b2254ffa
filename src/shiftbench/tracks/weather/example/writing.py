"""Writes a table block by block, whole or not at all, with one block in memory at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import polars as pl

from shiftbench.errors import SettingsError, TableError, first_line
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.progress import Progress
from shiftbench.tracks.weather import schema

Blocks = Callable[[], Iterator[pl.DataFrame]]

BYTES = {".csv": 800, ".parquet": 300}  # per row, a low estimate
STAGE = "rows"
ROW_GROUP = 131_072


def write_blocks(target: Path, made: Blocks, rows: int, origin: str, progress: Progress | None) -> Path:
    """Write the blocks of a weather table as .csv or .parquet; `origin` is stored in the metadata of Parquet.

    progress: called with a stage, the rows written and the number of rows.

    Raises:
        SettingsError: for another suffix.
        TableError: if the file cannot be written, or the disk lacks space.
    """
    if target.suffix not in BYTES:
        raise SettingsError(f"{target}: expected .csv or .parquet, found {target.suffix!r}. Choose another name.")
    parts = _reported(made, rows, progress)
    try:
        files.require_room(target, rows * BYTES[target.suffix], what=f"{rows:,} rows")
        with files.replacing(target) as temporary:
            if target.suffix == ".csv":
                _write_csv(temporary, parts)
            else:
                tables.sink(parts, schema.TYPES, temporary, row_group=ROW_GROUP, metadata={"shiftbench": origin})
    except (OSError, *problem.POLARS) as error:
        raise TableError(
            f"{target}: expected to write {rows:,} rows, found: {first_line(error)}. "
            "Check that the folder is writable and has enough space."
        ) from None
    return target


def _reported(made: Blocks, rows: int, progress: Progress | None) -> Iterator[pl.DataFrame]:
    done = 0
    for block in made():
        yield block
        done += block.height
        if progress is not None:
            progress(STAGE, done, rows)


def _write_csv(path: Path, blocks: Iterator[pl.DataFrame]) -> None:
    with path.open("wb") as file:
        for number, block in enumerate(blocks):
            # The official files hold codes as floats: 10.0.
            block.with_columns(pl.col(schema.CLASS).cast(pl.Float64)).write_csv(file, include_header=number == 0)
