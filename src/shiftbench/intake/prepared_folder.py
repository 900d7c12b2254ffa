"""`data.json` of a prepared folder: whose data these are, and what to know about them.

The folder holds what `shiftbench.partition` writes, and this file. Its manifest is written last: where there is one,
the rest is whole.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from shiftbench import files
from shiftbench.errors import TableError
from shiftbench.partition import Partition, Rules, read_manifest
from shiftbench.track import Prepared

DATA = "data.json"


@dataclass(frozen=True)
class PublishedRules(Rules):
    """Canonical rules where they were applied by somebody else; `made` says by whom and where that is printed."""

    made: str = ""

    @classmethod
    def of(cls, rules: Rules, made: str) -> PublishedRules:
        """These rules, applied by somebody else."""
        return cls(**{entry.name: getattr(rules, entry.name) for entry in fields(Rules)}, made=made)


def given(parts: Sequence[tuple[str, pl.DataFrame]]) -> Partition:
    """The partition that somebody else made: (name, its records with a column `id`), all of the same columns."""
    records = pl.concat([frame for _, frame in parts])
    belongs = pl.concat([pl.repeat(name, frame.height, eager=True) for name, frame in parts])
    return Partition(records, records["id"], belongs.alias("partition"))


def form_of(track: str) -> str:
    """What `data.json` of a track's prepared folder calls its form."""
    return f"shiftbench {track} data 1"


def refuse_prepared(source: Path) -> None:
    """Make sure that a folder of data is not one that was prepared before.

    Raises:
        TableError: if it is.
    """
    if (source / DATA).is_file():
        raise TableError(
            f"{source}: expected data to prepare, found a folder that is prepared already. If `shiftbench run` refuses "
            "it, prepare the source again."
        )


def write_data(folder: Path, track: str, *, origin: str, notes: Sequence[str]) -> Path:
    """Write `data.json`, each note once, and return its path."""
    noted = list(dict.fromkeys(notes))
    return files.write_json(folder / DATA, {"format": form_of(track), "origin": origin, "notes": noted})


def open_prepared(folder: Path, track: str) -> Prepared:
    """What a prepared folder of a track holds.

    Raises:
        TableError: if it is the folder of something else.
        PartitionError: if its manifest is damaged.
    """
    manifest = read_manifest(folder)
    try:
        data = json.loads((folder / DATA).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(
            f"{folder / DATA}: expected what `shiftbench prepare {track}` writes, found: {error}. Prepare again."
        ) from None
    if not isinstance(data, dict) or data.get("format") != form_of(track):
        raise TableError(f"{folder / DATA}: expected {form_of(track)!r}, found another format. Prepare the data again.")
    origin, notes = data.get("origin"), data.get("notes")
    if not isinstance(origin, str) or not isinstance(notes, list):
        raise TableError(f"{folder / DATA}: expected an origin and notes, found it damaged. Prepare the data again.")
    return Prepared(folder, origin, dict(manifest.counts), tuple(map(str, notes)), dict(manifest.unused))
