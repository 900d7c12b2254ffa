"""Where the official tables lie: the partitions' files or the whole dump, in a folder, in archives, or alone."""

from __future__ import annotations

import os
from pathlib import Path

from shiftbench.errors import TableError
from shiftbench.track.intake.sources import Source, Sources, arranged, tables_in
from shiftbench.tracks.weather.schema import PARTITIONS

PREFIX = "shifts_canonical_"
NO_META = "_no_meta"
EXPECTED = f"{PREFIX}train.csv and the like, an archive (.tar, .zip) that holds them"


def sources(path: str | os.PathLike[str]) -> Sources:
    """The tables in a folder (its subfolders and archives too), in an archive, or in a file.

    Unpacked files go before members of archives. A file that is named after no partition is the dump, if it is the
    only table.

    Raises:
        TableError: if there is no such path or no table in it, a partition is there twice, only files without
            meta data are there, or an archive is damaged or cut off.
    """
    found = tables_in(Path(path), _partition, expected=EXPECTED)
    whole = [source for source in found if NO_META not in source.name.lower()]
    if not whole:
        raise TableError(*(_without_meta(source) for source in found))
    return arranged(whole, PARTITIONS, alone="the dump")


def _partition(name: str) -> str | None:
    """The partition that a file is named after: shifts_canonical_train.csv, train.csv.gz, dev_in_no_meta.csv."""
    stem = name.lower().split(".")[0].removeprefix(PREFIX).removesuffix(NO_META)
    return stem if stem in PARTITIONS else None


def _without_meta(source: Source) -> str:
    return (
        f"{source.label}: expected a table with time, place and climate, found one without ({NO_META}). "
        f"Take {source.name.replace(NO_META, '')} from the same archive."
    )
