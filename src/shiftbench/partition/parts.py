"""The records of each partition as a Parquet file of its own."""

from __future__ import annotations

import os
from contextlib import ExitStack
from pathlib import Path

import polars as pl

from shiftbench.errors import PartitionError, TableError, first_line
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.partition.engine import Partition
from shiftbench.partition.settings import PARTITIONS

FILES = {name: f"{name}.parquet" for name in PARTITIONS}
NAME = "shiftbench.partition"  # of a temporary column


Table = str | os.PathLike[str] | pl.LazyFrame


def write_parts(folder: str | os.PathLike[str], partition: Partition, *, table: Table | None = None) -> list[Path]:
    """Write the records of each partition [N of the partitioned table] in their order: all files completely, or none.

    table: these N records with any columns, as a Parquet file or a lazy table. They are streamed once, so they need
        not fit into memory, and the partition may have been made from a few of the columns. If None, the partition's
        own table.

    Raises:
        PartitionError: if the table has another number of records.
        TableError: if it cannot be read, or the folder cannot be written to.
    """
    paths = {name: Path(folder) / file for name, file in FILES.items()}
    if table is None:
        return [tables.write_table(partition.frame(name), path) for name, path in paths.items()]
    where = "the table" if isinstance(table, pl.LazyFrame) else str(table)
    records = table if isinstance(table, pl.LazyFrame) else tables.scan_parquet(table)
    try:
        _stream(records, partition, paths, where)
    except (OSError, *problem.POLARS) as error:
        raise TableError(
            f"{folder}: expected to write the partitions of {where}, found: {first_line(error)}. "
            "Check that the table is readable, and that the folder is writable and has enough space."
        ) from None
    return list(paths.values())


def _stream(records: pl.LazyFrame, partition: Partition, paths: dict[str, Path], where: str) -> None:
    height = records.select(pl.len()).collect().item()
    if height != len(partition.assignment):
        raise PartitionError(
            f"{where}: expected the {len(partition.assignment):,} records that were partitioned, found {height:,}. "
            "Partition this table, or name the one that was."
        )
    assignment = partition.assignment.alias(NAME).to_frame().lazy()
    named = pl.concat([records, assignment], how="horizontal")
    with ExitStack() as stack:
        # Open files, since with a path the writer may recreate a file after an error has removed it.
        temporary = {
            name: stack.enter_context(stack.enter_context(files.replacing(path)).open("wb"))
            for name, path in paths.items()
        }
        pl.collect_all(  # one pass over the file for all five
            [
                named.filter(pl.col(NAME) == name).drop(NAME).sink_parquet(file, compression="zstd", lazy=True)
                for name, file in temporary.items()
            ],
            engine="streaming",
        )
