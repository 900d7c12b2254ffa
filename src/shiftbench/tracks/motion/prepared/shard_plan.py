"""What a preparation sets out to do: which scene files go into which shard, with which settings; written down first.

So every process finds its share of the work in the folder, and a folder begun in another way is noticed.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from shiftbench.errors import SettingsError, TableError
from shiftbench.io import files
from shiftbench.tracks.motion.maps.map_settings import MapSettings
from shiftbench.tracks.motion.prepared.sources import Found, Part

FORMAT = "shiftbench motion store 1"
BEGUN = "begun.json"
REFUSED = ".refused.json"  # what the name of a note of refused scenes ends in
SCENES_PER_SHARD = 64
WHAT = {"source": "scenes", "experiment": "experiment", "settings": "map settings", "scenes_per_shard": "shards"}


@dataclass(frozen=True)
class Begun:
    """What decides the bytes of a prepared folder; `source` is a hash of the names and sizes of what it is made of."""

    source: str
    experiment: str
    settings: dict[str, Any]
    scenes_per_shard: int
    format: str = FORMAT

    @classmethod
    def of(cls, source: str, experiment: str, settings: MapSettings, scenes_per_shard: int) -> Begun:
        """From the arguments of a preparation."""
        return cls(source, experiment, plain(settings), scenes_per_shard)

    def different(self, said: object, *, scenes: bool = True) -> list[str]:
        """What is different in what a folder says of itself.

        scenes: whether they must be the same, too. While shards are made they need not: each knows what it is made of,
        so that scenes that were mended cost no more than their own shards.
        """
        own = asdict(self)
        other = said if isinstance(said, dict) else {}
        return [
            WHAT.get(key, key) for key, value in own.items() if other.get(key) != value and (scenes or key != "source")
        ]

    def require_same(self, folder: Path, said: object, *, scenes: bool = True) -> None:
        """Make sure that a folder was begun in this way, as `different`.

        Raises:
            TableError: naming what is different.
        """
        if different := self.different(said, scenes=scenes):
            raise TableError(
                f"{folder}: expected a new folder, or one begun with the same {' and '.join(different)}, found one "
                "begun with others. Take a new folder, remove this one, or go on in the way it was begun."
            )


def plain(settings: MapSettings) -> dict[str, Any]:
    """Map settings as JSON has them."""
    return {
        each.name: list(value) if isinstance(value := getattr(settings, each.name), tuple) else value
        for each in fields(settings)
    }


def map_settings(said: Any) -> MapSettings:
    """Map settings from what `plain` made of them.

    Raises:
        SettingsError, UnknownNameError: if they are invalid.
    """
    try:
        return MapSettings.of(**said)
    except TypeError as error:
        raise SettingsError(f"settings: expected those of maps, found {said!r}: {error}.") from None


@dataclass(frozen=True)
class Plan:
    """The work of a folder: `unfinished/` holds what is done so far, `shards/` the shards."""

    folder: Path

    @property
    def unfinished(self) -> Path:
        """The folder that goes when all is done."""
        return self.folder / "unfinished"

    @property
    def table(self) -> Path:
        """Which file is in which shard."""
        return self.unfinished / "plan.parquet"

    def shard(self, number: int) -> Path:
        """The file of a shard."""
        return self.folder / "shards" / f"{number:05d}.shard"

    def note(self, number: int) -> Path:
        """What is known of a finished shard; written last."""
        return self.unfinished / f"{number:05d}.json"

    def refused(self, number: int) -> Path:
        """The ids and files of the scenes of a shard that could not be made."""
        return self.unfinished / f"{number:05d}{REFUSED}"

    def requests(self, number: int) -> Path:
        """The table of the requests of a shard."""
        return self.unfinished / f"{number:05d}.parquet"

    def write(self, begun: Begun, found: Found) -> int:
        """Write the plan; the number of shards. A shard holds the scenes of one part only.

        Raises:
            TableError: if the folder was begun in another way.
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
        with files.replacing(self.table) as temporary:
            frame.write_parquet(temporary)
        return rows[-1][0] + 1

    def begun(self) -> Begun:
        """What was set out to do."""
        return Begun(**read_json(self.folder / BEGUN))

    def scenes(self, number: int) -> list[tuple[str, str, Path]]:
        """The scenes of a shard: part, what the file is called, and where it lies."""
        rows = pl.scan_parquet(self.table).filter(pl.col("shard") == number).select("part", "file", "path").collect()
        return [(part, file, Path(path)) for part, file, path in rows.rows()]


def runs(found: Found, size: int) -> list[tuple[Part, tuple[Path, ...]]]:
    """The scenes of each shard in turn, with their part."""
    return [(part, part.scenes[at : at + size]) for part in found.parts for at in range(0, len(part.scenes), size)]


def read_json(path: Path) -> Any:
    """A JSON file that a preparation wrote.

    Raises:
        TableError: if it is damaged or not there.
    """
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(f"{path}: expected what `prepare` writes, found: {error}. Prepare the data again.") from None
