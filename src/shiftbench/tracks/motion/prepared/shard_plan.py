"""The plan of a preparation: the scene files of each shard, and the settings; written first.

So every process finds its work in the folder, and a folder begun with other settings is detected.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import files, tables
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared.sources import Found, Part

FORMAT = "shiftbench motion store 1"
BEGUN = "begun.json"
REFUSED = ".refused.json"  # suffix of the name of a record of refused scenes
SCENES_PER_SHARD = 64
WHAT = {"source": "scenes", "experiment": "experiment", "settings": "map settings", "scenes_per_shard": "shards"}


@dataclass(frozen=True)
class Begun:
    """All that determines the bytes of a prepared folder; `source` is a hash of the names and sizes of its inputs."""

    source: str
    experiment: str
    settings: dict[str, Any]
    scenes_per_shard: int
    format: str = FORMAT

    @classmethod
    def of(cls, source: str, experiment: str, settings: MapSettings, scenes_per_shard: int) -> Begun:
        """From the arguments of a preparation."""
        return cls(source, experiment, plain(settings), scenes_per_shard)

    def different(self, earlier: object, *, scenes: bool = True) -> list[str]:
        """The names of the fields that differ.

        scenes: whether they must be equal, too. While shards are made they need not be: each records its inputs, so
        corrected scenes only require their own shards to be made again.
        """
        own = asdict(self)
        other = earlier if isinstance(earlier, dict) else {}
        return [
            WHAT.get(key, key) for key, value in own.items() if other.get(key) != value and (scenes or key != "source")
        ]

    def require_same(self, folder: Path, earlier: object, *, scenes: bool = True) -> None:
        """Check that a folder was begun with these settings, see `different`.

        Raises:
            TableError: naming the differences.
        """
        if different := self.different(earlier, scenes=scenes):
            raise TableError(
                f"{folder}: expected a new folder, or one begun with the same {' and '.join(different)}, found one "
                "begun with others. Choose a new folder, remove this one, or use the settings it was begun with."
            )


def plain(settings: MapSettings) -> dict[str, Any]:
    """Map settings as JSON values."""
    return {
        each.name: list(value) if isinstance(value := getattr(settings, each.name), tuple) else value
        for each in fields(settings)
    }


def map_settings(settings: Any) -> MapSettings:
    """Map settings from the values of `plain`.

    Raises:
        SettingsError, UnknownNameError: if they are invalid.
    """
    try:
        return MapSettings.of(**settings)
    except TypeError as error:
        raise SettingsError(f"settings: expected those of maps, found {settings!r}: {error}.") from None


@dataclass(frozen=True)
class Plan:
    """The work of a folder: `unfinished/` holds temporary files, `shards/` the shards."""

    folder: Path

    @property
    def unfinished(self) -> Path:
        """The folder that is removed at the end."""
        return self.folder / "unfinished"

    @property
    def table(self) -> Path:
        """The table of files and shards."""
        return self.unfinished / "plan.parquet"

    def shard(self, number: int) -> Path:
        """The file of a shard."""
        return self.folder / "shards" / f"{number:05d}.shard"

    def note(self, number: int) -> Path:
        """The record of a finished shard; written last."""
        return self.unfinished / f"{number:05d}.json"

    def refused(self, number: int) -> Path:
        """The record of ids and files of a shard that could not be made."""
        return self.unfinished / f"{number:05d}{REFUSED}"

    def requests(self, number: int) -> Path:
        """The table of the requests of a shard."""
        return self.unfinished / f"{number:05d}.parquet"

    def write(self, begun: Begun, found: Found) -> int:
        """Write the plan; the number of shards. A shard holds the scenes of one part only.

        Raises:
            TableError: if the folder was begun with other settings.
        """
        path = self.folder / BEGUN
        if path.exists():
            begun.require_same(self.folder, read_json(path), scenes=False)
        files.write_json(path, asdict(begun))
        rows = [
            (number, part.name, part.file(scene), str(scene.absolute()))
            for number, (part, scenes) in enumerate(runs(found, begun.scenes_per_shard))
            for scene in scenes
        ]
        frame = pl.DataFrame(rows, ["shard", "part", "file", "path"], orient="row")
        tables.write_table(frame, self.table)
        return rows[-1][0] + 1

    def begun(self) -> Begun:
        """The settings of the preparation."""
        return Begun(**read_json(self.folder / BEGUN))

    def scenes(self, number: int) -> list[tuple[str, str, Path]]:
        """The scenes of a shard: part, name of the file, and its path."""
        rows = tables.scan_parquet(self.table).filter(pl.col("shard") == number).select("part", "file", "path")
        return [(part, file, Path(path)) for part, file, path in rows.collect().rows()]


def runs(found: Found, size: int) -> list[tuple[Part, tuple[Path, ...]]]:
    """The scenes of each shard, with their part."""
    return [(part, part.scenes[at : at + size]) for part in found.parts for at in range(0, len(part.scenes), size)]


def read_json(path: Path) -> Any:
    """A JSON file that a preparation wrote.

    Raises:
        TableError: if it is damaged or missing.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f"{path}: expected what `prepare` writes, found: {error}. Prepare the data again.") from None
