"""A prepared folder as methods see it: requests, targets, and maps and vector features of any of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.errors import TableError
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import vector_codec
from shiftbench.tracks.motion.prepared.manifest import scene_file
from shiftbench.tracks.motion.prepared.prepared_shards import Places, PreparedShards
from shiftbench.tracks.motion.prepared.request_table import row_numbers
from shiftbench.tracks.motion.prepared.vector_codec import Vectors
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene

Rows = Sequence[int] | npt.NDArray[Any]


class Store:
    """N requests of a prepared folder, all of them or some, in a given order.

    Opening it reads the manifest only; tables are read when they are asked for, shards when maps or vectors are; each
    file is hashed when it is first used. Pickled, a store is no more than the folder and its places there.
    """

    def __init__(self, shards: PreparedShards, places: Places) -> None:
        self._shards = shards
        self._places = places

    @classmethod
    def open(cls, folder: Path, places: Places | None = None) -> Store:
        """The requests of a prepared folder, all or those at some places of its table.

        Raises:
            TableError: if it is no prepared folder, or files are missing or of another size.
            ShiftbenchError: if `folder` is not a path; ArrayError for invalid indices.
        """
        shards = PreparedShards(protobuf.path_of(folder))
        whole = cls(shards, np.arange(len(shards), dtype=np.int64))
        return whole if places is None else whole.select(places)

    def __reduce__(self) -> tuple[Any, ...]:
        return Store.open, (self.folder.absolute(), self._places)

    def __len__(self) -> int:
        return len(self._places)

    @property
    def folder(self) -> Path:
        """The prepared folder."""
        return self._shards.folder

    @property
    def map_settings(self) -> MapSettings:
        """How its maps are drawn."""
        return self._shards.codec.settings

    def scene(self, scene_id: str) -> Scene:
        """One of its scenes, read where it was when the folder was prepared.

        Raises:
            TableError: if it is there no more, or came in an archive; naming a scene that none of the requests is of.
            ShiftbenchError: if the file holds another scene.
        """
        files = self.requests.filter(pl.col("scene_id") == pl.lit(str(scene_id)))["file"]
        if not len(files):
            raise TableError(f"expected a scene of these requests, but no request belongs to scene {scene_id!r}.")
        path = scene_file(self.folder, files[0])
        scene = read_scene(path)
        if scene.id != scene_id:
            raise TableError(f"{path}: expected the scene {scene_id}, found {scene.id}. Were the files exchanged?")
        return scene

    @property
    def manifest(self) -> dict[str, Any]:
        """What its manifest says, of all its requests."""
        return self._shards.manifest

    @cached_property
    def requests(self) -> pl.DataFrame:
        """The N requests, a row each: the columns of `request_table.REQUEST` but for the target.

        Raises:
            TableError: if the table is not the one that the manifest names.
        """
        return self._shards.requests[self._places]

    @cached_property
    def targets(self) -> npt.NDArray[np.float32]:
        """Where the N vehicles went, in the agent's frame: float32 [N, 25, 2], in metres.

        Raises:
            TableError: if the table is not the one that the manifest names.
        """
        return self._shards.targets[self._places]

    def maps(self, rows: Rows) -> npt.NDArray[np.float32]:
        """The feature maps of B requests: float32 [B, C, rows, columns], 17 channels of 128 · 128 if not set so.

        Raises:
            ArrayError: for invalid rows.
            TableError: naming a shard that is damaged.
        """
        places, codec = self._at(rows), self._shards.codec
        found: npt.NDArray[np.float32] = np.zeros((len(places), *codec.shape), np.float32)
        self._shards.each(places, "maps", lambda data, row: codec.unpack(data, found[row]))
        return found

    def vectors(self, rows: Rows) -> Vectors:
        """The vector features of B requests, padded: names, shapes [B, …] and types of `vector_codec.FORMS`.

        Raises:
            ArrayError: for invalid rows.
            TableError: naming a shard that is damaged.
        """
        places = self._at(rows)
        found = vector_codec.empty(len(places))
        self._shards.each(places, "vectors", lambda data, row: vector_codec.unpack(data, found, row))
        return found

    def select(self, rows: Rows) -> Store:
        """Some of these requests, by their numbers in this store or as N flags; tables read once serve both.

        Raises:
            ArrayError: for invalid rows.
        """
        return Store(self._shards, self._at(rows))

    def _at(self, rows: Rows) -> Places:
        """Places in the folder of rows of this store."""
        places: Places = self._places[row_numbers(rows, len(self))]
        return places
