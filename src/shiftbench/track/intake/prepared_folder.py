"""`data.json` of a prepared folder: the origin of the data, and notes on them.

The folder holds the files of `shiftbench.partition`, and this one. Its manifest is written last: if it exists, the rest
is complete.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io import files
from shiftbench.partition import Partition, Rules, read_manifest
from shiftbench.track import Prepared

DATA = "data.json"


@dataclass(frozen=True)
class PublishedRules(Rules):
    """Canonical rules that were applied by others; `made` tells by whom, and where that is documented."""

    made: str = ""

    @classmethod
    def of(cls, rules: Rules, made: str) -> PublishedRules:
        """These rules, marked as applied by others."""
        return cls(**{entry.name: getattr(rules, entry.name) for entry in fields(Rules)}, made=made)


def given(parts: Sequence[tuple[str, pl.DataFrame]]) -> Partition:
    """An existing partition from (name, records with a column `id`), all with the same columns."""
    records = pl.concat([frame for _, frame in parts])
    belongs = pl.concat([pl.repeat(name, frame.height, eager=True) for name, frame in parts])
    return Partition(records, records["id"], belongs.alias("partition"))


def form_of(track: str) -> str:
    """The format name in `data.json` of a track's prepared folder."""
    return f"shiftbench {track} data 1"


def refuse_prepared(source: Path) -> None:
    """Check that a folder of data is not already prepared.

    Raises:
        TableError: if it is.
    """
    if (source / DATA).is_file():
        raise TableError(
            f"{source}: expected data to prepare, found a folder that is already prepared. If `shiftbench run` refuses "
            "it, prepare the source again."
        )


def made_up(example: str) -> str:
    """The origin of example data in words, from what its file holds, such as `rows=4000 seed=0`."""
    found = re.match(r"rows=(all|[0-9]+) seed=([0-9]+) ?(.*)", example)
    if found is None:
        return f"made-up example, {example}"
    rows, seed, rest = found.groups()
    details = [f"{rows if rows == 'all' else format(int(rows), ',')} rows", f"seed {seed}", *filter(None, [rest])]
    return f"made-up example, {', '.join(details)}"


def write_data(folder: Path, track: str, *, origin: str, notes: Sequence[str]) -> Path:
    """Write `data.json`, each note once, and return its path."""
    noted = list(dict.fromkeys(notes))
    return files.write_json(folder / DATA, {"format": form_of(track), "origin": origin, "notes": noted})


def open_prepared(folder: Path, *, track: str) -> Prepared:
    """Open a prepared folder of a track.

    Raises:
        TableError: if it is not a prepared folder of this track.
        PartitionError: if its manifest is damaged.
    """
    manifest = read_manifest(folder)
    try:
        data = json.loads((folder / DATA).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise TableError(
            f"{folder / DATA}: expected a file written by `shiftbench prepare {track}`, found: {error}. Prepare again."
        ) from None
    if not isinstance(data, dict) or data.get("format") != form_of(track):
        raise TableError(f"{folder / DATA}: expected {form_of(track)!r}, found another format. Prepare the data again.")
    origin, notes = data.get("origin"), data.get("notes")
    if not isinstance(origin, str) or not isinstance(notes, list):
        raise TableError(f"{folder / DATA}: expected an origin and notes, found it damaged. Prepare the data again.")
    return Prepared(folder, origin, dict(manifest.counts), tuple(map(str, notes)), dict(manifest.unused))
