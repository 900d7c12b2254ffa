"""Scenes for methods, drawn on demand; nothing is prepared, and only the last scenes are cached."""

from __future__ import annotations

import hashlib
import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import check
from shiftbench.errors import ShiftbenchError, TableError, counted
from shiftbench.tracks.motion.maps.feature_map import feature_maps
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared import sources, vector_codec
from shiftbench.tracks.motion.prepared.request_table import (
    REQUEST,
    request_rows,
    row_numbers,
    usable_requests,
    with_recordings,
)
from shiftbench.tracks.motion.prepared.shard_plan import plain
from shiftbench.tracks.motion.prepared.vector_codec import Vectors
from shiftbench.tracks.motion.scenes import protobuf
from shiftbench.tracks.motion.scenes.scene import Scene, read_scene, scene_of
from shiftbench.tracks.motion.schema import FUTURE

KEPT = 64  # scenes in memory at a time


def _scenes(source: Path) -> tuple[Path, ...]:
    return tuple(path for part in sources.found(source).parts for path in part.scenes)


def _read(source: Path, paths: Sequence[Path], settings: MapSettings) -> tuple[list[dict[str, Any]], str]:
    """A row for each usable request, and a hash of the scenes and settings."""
    digest = hashlib.sha256(json.dumps(plain(settings), sort_keys=True).encode())
    rows, problems, seen = list[dict[str, Any]](), list[str](), Counter[str]()
    for number, path in enumerate(paths):
        try:
            data = protobuf.read_bytes(path, limit=protobuf.SCENE_BYTES)
            message = protobuf.parse_scene(data, source=str(path))
            seen.update(filter(None, [message.id]))  # problems of a scene do not hide that it is duplicated
            scene = scene_of(message, source=str(path))
            made = request_rows(scene, usable_requests(scene, settings)[0], settings, file=path.name)
        except ShiftbenchError as error:
            if isinstance(error, ImportError):  # the same for all scenes
                raise
            problems += error.problems
            continue
        digest.update(hashlib.sha256(data).digest())
        rows += [{**row, "number": number} for row in made]
    if twice := [scene for scene, count in seen.items() if count > 1]:
        problems.append(f"{source}: expected each scene once, found {', '.join(twice[:3])} more than once.")
    if problems:
        raise ShiftbenchError(*problems)
    return rows, digest.hexdigest()


class LiveStore:
    """N requests of scene files, with the same numbers as a `Store` of them, for training and prediction.

    Attributes:
        requests: one row each, as in a `Store`; partition and shifted are null, since the part is unknown, and
            `recording` is the recording that its scene was cut from, or else its scene.
        targets: float32 [N, 25, 2], metres in the agent's frame.
        map_settings: of the maps.
        key: a hash of the scenes, in their order, and of the map settings.
    """

    def __init__(
        self, files: tuple[Path, ...], requests: pl.DataFrame, targets: npt.NDArray[np.float32],
        map_settings: MapSettings, key: str,
    ) -> None:  # fmt: skip
        self._files, self._scenes = files, OrderedDict[int, Scene]()
        self.requests, self.targets, self.map_settings, self.key = requests, targets, map_settings, key

    @classmethod
    def of(cls, source: Path, map_settings: MapSettings | None = None) -> LiveStore:
        """All usable requests of a folder of scenes, or of one scene.

        Raises:
            TableError: if there are no scenes or no usable requests in them.
            ShiftbenchError: listing all problems of scenes, and duplicates; if `source` is no path.
        """
        check.kind("map_settings", map_settings, (MapSettings, type(None)))
        source, settings = protobuf.path_of(source), map_settings or MapSettings()
        paths = (source,) if source.is_file() else _scenes(source)
        rows, key = _read(source, paths, settings)
        if not rows:
            raise TableError(
                f"{source}: expected requests that can be scored, found none in {counted(len(paths), 'scene')}."
            )
        frame = with_recordings(pl.DataFrame(rows, schema={**REQUEST, "number": pl.Int64}), sources.recordings(source))
        targets = frame["target"].to_numpy().astype(np.float32, copy=False).reshape(-1, FUTURE, 2)
        return cls(paths, frame.drop("target"), targets, settings, key)

    def __reduce__(self) -> tuple[Any, ...]:
        files = tuple(path.absolute() for path in self._files)  # workers may be in other folders
        return LiveStore, (files, self.requests, self.targets, self.map_settings, self.key)

    def __len__(self) -> int:
        return self.requests.height

    def maps(self, rows: Any) -> npt.NDArray[np.float32]:
        """The feature maps of some requests: float32 [B, C, rows, columns].

        Raises:
            ArrayError: for invalid rows.
        """
        settings, rows = self.map_settings, row_numbers(rows, len(self))
        found = np.zeros((len(rows), settings.planes, *settings.size), np.float32)

        def draw(scene: Scene, tracks: list[int], places: npt.NDArray[np.intp]) -> None:
            found[places] = feature_maps(scene, tracks, settings)

        self._each(rows, draw)
        return found

    def vectors(self, rows: Any) -> Vectors:
        """The vector features of some requests, as `Store.vectors`.

        Raises:
            ArrayError: for invalid rows.
        """
        rows = row_numbers(rows, len(self))
        found = vector_codec.empty(len(rows))

        def fill(scene: Scene, tracks: list[int], places: npt.NDArray[np.intp]) -> None:
            for track, place in zip(tracks, places.tolist(), strict=True):
                made = vector_codec.vectors_of(scene, track, interpolation=self.map_settings.interpolation)
                for name, values in made.items():
                    found[name][place] = values

        self._each(rows, fill)
        return found

    def select(self, rows: Any) -> LiveStore:
        """Some of these requests, by number or as N flags.

        Raises:
            ArrayError: for invalid rows.
        """
        rows = row_numbers(rows, len(self))
        return LiveStore(self._files, self.requests[rows], self.targets[rows], self.map_settings, self.key)

    def scene(self, scene_id: str) -> Scene:
        """One of its scenes.

        Raises:
            TableError: naming a scene without any of the requests.
        """
        numbers = self.requests.filter(pl.col("scene_id") == pl.lit(str(scene_id)))["number"]
        if not len(numbers):
            raise TableError(f"expected a scene of these requests, but no request belongs to scene {scene_id!r}.")
        return self._scene(numbers[0])

    def _each(self, rows: npt.NDArray[np.int64], act: Callable[[Scene, list[int], npt.NDArray[np.intp]], None]) -> None:
        """Call `act` with each scene, its requested tracks, and their positions in `rows`."""
        numbers = self.requests["number"].to_numpy()[rows]
        tracks = self.requests["track_id"].to_numpy()[rows]
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            act(self._scene(number), tracks[places].tolist(), places)

    def _scene(self, number: int) -> Scene:
        scene = self._scenes.pop(number, None) or read_scene(self._files[number])
        self._scenes[number] = scene
        if len(self._scenes) > KEPT:
            self._scenes.popitem(last=False)
        return scene
