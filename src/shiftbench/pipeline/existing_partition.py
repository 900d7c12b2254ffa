"""Reads a folder of existing partitions (from `shiftbench partition`, or from whoever prepared the data)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import PartitionError, TableError
from shiftbench.io import tables
from shiftbench.partition import PARTITIONS, Manifest, keys, read_manifest, verify

ROLES = ("id", "time", "group", "by", "apart")  # rules that name columns, which are not features


@dataclass(frozen=True)
class Given:
    """Existing partitions: the id and the partition of each record, and their manifest."""

    ids: pl.Series
    assignment: pl.Series
    manifest: Manifest

    def filter(self, kept: pl.Series) -> Given:
        """The records selected by a mask [N]."""
        return Given(self.ids.filter(kept), self.assignment.filter(kept), self.manifest)


def read(folder: Path) -> tuple[pl.DataFrame, Given]:
    """The records of all partitions, concatenated, and the partition of each.

    Raises:
        PartitionError: no manifest, or files that differ from it; lists all of them.
        TableError: partitions without files of their own, or with different columns.
    """
    if problems := verify(folder):
        raise PartitionError(*problems)
    manifest = read_manifest(folder)
    names = [name for name in PARTITIONS if manifest.counts[name]]
    if missing := [name for name in names if not (folder / f"{name}.parquet").is_file()]:
        raise TableError(
            f"{folder}: expected a table for each partition, found none for {', '.join(missing)}. "
            "Write the partition again, with its tables."
        )
    assignment = tables.read_table(folder / "assignment.parquet", columns=["id", "partition"], retype=False)
    frames, ids = [], []
    for name in names:
        frames.append(tables.read_table(folder / f"{name}.parquet", retype=False))
        ids.append(assignment.filter(pl.col("partition") == name)["id"])
        if len(ids[-1]) != frames[-1].height:
            raise TableError(
                f"{folder}/{name}.parquet: expected {len(ids[-1]):,} records as the assignment says, found "
                f"{frames[-1].height:,}. Write the partition again."
            )
    try:
        frame = pl.concat(frames)
    except pl.exceptions.PolarsError as error:
        raise TableError(f"{folder}: expected the same columns in all partitions, found: {error}.") from None
    belongs = pl.concat(pl.repeat(name, part.height, eager=True) for name, part in zip(names, frames, strict=True))
    return frame, Given(pl.concat(ids), belongs.alias("partition"), manifest)


def roles(rules: Mapping[str, Any], columns: list[str]) -> tuple[str, ...]:
    """Columns with a role in a partition's rules, and the ids: they are not features."""
    named = [rules[role] for role in ROLES if isinstance(rules.get(role), str)]
    parts = [part for name in ("id", *named) for part in keys.parts(name, columns)]
    return tuple(dict.fromkeys(name for name in parts if name in columns))
