"""A prepared folder for methods: requests, targets, maps and vector features."""

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

    Opening it reads the manifest only; tables and shards are read on demand, and each file is hashed at its first use.
    A pickled store holds only the folder and its positions there.
    """

    def __init__(self, shards: PreparedShards, places: Places) -> None:
        self._shards = shards
        self._places = places

    @classmethod
    def open(cls, folder: Path, places: Places | None = None) -> Store:
        """The requests of a prepared folder, all or those at some positions of its table.

        Raises:
            TableError: if it is not a prepared folder, or files are missing or of another size.
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
        """The settings of its maps."""
        return self._shards.codec.settings

    def scene(self, scene_id: str) -> Scene:
        """One of its scenes, read from the path it had at preparation.

        Raises:
            TableError: if it no longer exists, or came in an archive; naming a scene without any of the requests.
            ShiftbenchError: if the file holds another scene.
        """
        files = self.requests.filter(pl.col("scene_id") == pl.lit(str(scene_id)))["file"]
        if not len(files):
            raise TableError(f"expected a scene of these requests, but no request belongs to scene {scene_id!r}.")
        path = scene_file(self.folder, files[0])
        scene = read_scene(path)
        if scene.id != scene_id:
            raise TableError(f"{path}: expected the scene {scene_id}, found {scene.id}. Were the files swapped?")
        return scene

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest of the whole folder."""
        return self._shards.manifest

    @cached_property
    def requests(self) -> pl.DataFrame:
        """The N requests, one row each: the columns of `request_table.REQUEST` without the target.

        Raises:
            TableError: if the table is not that of the manifest.
        """
        return self._shards.requests[self._places]

    @cached_property
    def targets(self) -> npt.NDArray[np.float32]:
        """The futures of the N vehicles in the agent's frame: float32 [N, 25, 2], in metres.

        Raises:
            TableError: if the table is not that of the manifest.
        """
        return self._shards.targets[self._places]

    def maps(self, rows: Rows) -> npt.NDArray[np.float32]:
        """The feature maps of B requests: float32 [B, C, rows, columns], by default 17 channels of 128 × 128.

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
        """Some of these requests, by their numbers in this store or as N flags; tables already read are shared.

        Raises:
            ArrayError: for invalid rows.
        """
        return Store(self._shards, self._at(rows))

    def _at(self, rows: Rows) -> Places:
        """Positions in the folder of rows of this store."""
        places: Places = self._places[row_numbers(rows, len(self))]
        return places
