"""The files of a prepared folder, each used only after its hash was compared with the manifest."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import ShiftbenchError, TableError
from shiftbench.io import files, tables
from shiftbench.io.tables import problem
from shiftbench.tracks.motion.prepared.manifest import read_manifest
from shiftbench.tracks.motion.prepared.map_codec import MapCodec
from shiftbench.tracks.motion.prepared.request_table import REQUEST
from shiftbench.tracks.motion.prepared.shard_plan import map_settings
from shiftbench.tracks.motion.prepared.shards import Shard
from shiftbench.tracks.motion.schema import FUTURE

Places = npt.NDArray[np.int64]


class PreparedShards:
    """All requests of a prepared folder by position; everything read is cached, except shards.

    Attributes:
        folder: the prepared folder.
        manifest: its manifest.
        codec: packs and unpacks its maps.

    Raises:
        TableError: if it is not a prepared folder, or files are missing or of another size.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = Path(folder)
        self.manifest = read_manifest(self.folder)
        self.codec = MapCodec(map_settings(self.manifest["settings"]))
        counts = [int(shard["requests"]) for shard in self.manifest["shards"]]
        self._ends = np.cumsum(counts, dtype=np.int64)
        self._trusted: set[Path] = set()

    def __len__(self) -> int:
        return int(self._ends[-1])

    @cached_property
    def requests(self) -> pl.DataFrame:
        """The table of requests without their targets; TableError if it is not that of the manifest."""
        frame = self._columns(pl.all().exclude("target"))
        if frame.height != len(self):
            raise TableError(
                f"{self._table()}: expected {len(self):,} requests, as in the shards, found {frame.height:,}. Prepare "
                "the data again in a new folder."
            )
        return frame

    @cached_property
    def targets(self) -> npt.NDArray[np.float32]:
        """The futures of the vehicles, float32 [N, 25, 2]; TableError as for `requests`."""
        column = self._columns(pl.col("target"))["target"]
        return column.to_numpy().astype(np.float32, copy=False).reshape(-1, FUTURE, 2)

    def each(self, places: Places, kind: str, take: Callable[[bytes, int], None]) -> None:
        """Call `take` with the block ("maps" or "vectors") of each position, and its index among the positions.

        Each shard is opened once.

        Raises:
            TableError: naming a shard that is damaged.
        """
        if not len(places):
            return
        shards = np.searchsorted(self._ends, places, side="right")
        order = np.argsort(shards, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(shards[order])) + 1):
            entry = self.manifest["shards"][shards[rows[0]]]
            first = int(self._ends[shards[rows[0]]]) - int(entry["requests"])
            with Shard(self._trust(entry)) as shard:
                if shard.requests != entry["requests"]:
                    raise TableError(
                        f"{shard.path}: expected {entry['requests']:,} requests, as in the manifest, found "
                        f"{shard.requests:,}. Prepare the data again in a new folder."
                    )
                for row in rows.tolist():
                    block = shard.block(kind, int(places[row]) - first)
                    try:
                        take(block, row)
                    except ShiftbenchError as error:
                        raise TableError(*(f"{shard.path}: {fault}" for fault in error.problems)) from None

    def _columns(self, wanted: pl.Expr) -> pl.DataFrame:
        """Columns of the table of requests, which must be of the types that a preparation writes."""
        table = self._table()
        with problem.reading(table, "Parquet"):
            lazy = tables.scan_parquet(table)
            found = lazy.collect_schema()
            expected = REQUEST | ({"recording": pl.String} if "recording" in found else {})  # older folders lack it
            if odd := [name for name, kind in expected.items() if found.get(name) != kind]:
                faults = [f"column {name!r}: expected {expected[name]}, found {found.get(name)}." for name in odd]
                raise TableError(*(f"{table}: {fault} Prepare the data again in a new folder." for fault in faults))
            return lazy.select(wanted).collect()

    def _table(self) -> Path:
        return self._trust(self.manifest["requests"])

    def _trust(self, entry: dict[str, Any]) -> Path:
        """The path of a file, after its hash was compared with the manifest once."""
        path = self.folder / str(entry["file"])
        if path in self._trusted:
            return path
        try:
            found = files.sha256(path)
        except OSError as error:
            found = str(error.strerror)
        if found != entry["sha256"]:
            raise TableError(
                f"{path}: expected SHA-256 {entry['sha256']}, as in the manifest, found {found}. The file was "
                "changed or damaged: prepare the data again in a new folder."
            )
        self._trusted.add(path)
        return path
