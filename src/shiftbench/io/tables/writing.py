"""Writes tables, whole or not at all."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, cast

import polars as pl
from polars.io.plugins import register_io_source

from shiftbench.errors import TableError, first_line
from shiftbench.io import files
from shiftbench.io.tables import problem

SUFFIXES = (".csv", ".csv.gz", ".parquet", ".jsonl")


def write_table(
    frame: pl.DataFrame,
    path: str | os.PathLike[str],
    *,
    metadata: dict[str, str] | None = None,
    row_group: int | None = None,
) -> Path:
    """Write a table whole or not at all, by suffix: .csv, .csv.gz, .parquet (zstd) or .jsonl.

    row_group: the rows of a row group of Parquet, which readers can skip; chosen by polars if None.

    Raises:
        TableError: for another suffix, metadata for anything but Parquet, or a write error.
    """
    target = Path(path)
    suffix = "".join(target.suffixes[-2:]) if target.suffix == ".gz" else target.suffix
    if suffix not in SUFFIXES:
        raise TableError(
            f"{target}: expected .csv, .csv.gz, .parquet or .jsonl, found {suffix!r}. Choose another name."
        )
    if metadata and suffix != ".parquet":
        raise TableError(
            f"{target}: expected .parquet, which can hold metadata, found {suffix!r}. Choose another name."
        )
    try:
        with files.replacing(target) as temporary:
            write(frame, temporary, suffix, metadata, row_group)
    except (OSError, *problem.POLARS) as error:
        raise TableError(
            f"{target}: expected to write {frame.height:,} rows, found: {first_line(error)}. "
            "Check that the folder is writable and has enough space."
        ) from None
    return target


def sink(
    frames: Iterator[pl.DataFrame],
    types: Mapping[str, pl.DataType],
    target: Path,
    *,
    row_group: int,
    metadata: dict[str, str] | None = None,
) -> None:
    """Write frames of one schema to a Parquet file as they come, one in memory at a time, in their order."""

    def source(columns: list[str] | None, *_: object) -> Iterator[pl.DataFrame]:
        return frames if columns is None else (frame.select(columns) for frame in frames)

    with target.open("wb") as file:  # given a path, the writer may create the file anew after it was removed
        register_io_source(source, schema=dict(types)).sink_parquet(
            file, compression="zstd", row_group_size=row_group, metadata=metadata
        )


def write(
    frame: pl.DataFrame, target: Path, suffix: str, metadata: dict[str, str] | None, row_group: int | None = None
) -> None:
    """Write a table to a path of any name, in the format of one of SUFFIXES."""
    # Polars does not accept names that are not UTF-8, but it accepts open files. The gzip header has neither name nor
    # time, so that equal tables give equal bytes.
    with target.open("wb") as file:
        if suffix == ".parquet":
            frame.write_parquet(file, compression="zstd", metadata=metadata, row_group_size=row_group)
        elif suffix == ".jsonl":
            frame.write_ndjson(file)
        elif suffix == ".csv":
            _write_csv(frame, file)
        else:
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                _write_csv(frame, cast(IO[bytes], packed))


def _write_csv(frame: pl.DataFrame, file: IO[bytes]) -> None:
    # Polars quotes "\n", but not a lone "\r", at which readers end a line, too.
    ends = any("\r" in name for name in frame.columns) or any(
        column.str.contains("\r", literal=True).any() for column in frame.iter_columns() if column.dtype == pl.String
    )
    frame.write_csv(file, quote_style="non_numeric" if ends else "necessary")
