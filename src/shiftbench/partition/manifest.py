"""The manifest: the records of each partition and the rules behind them, with a hash that accompanies every score.

A folder holds `manifest.json`, `assignment.parquet` (id, partition), `leakage.json` and optionally one Parquet file
for each partition. The manifest is written last: if it exists, the rest is complete.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shiftbench import __version__, argument, check
from shiftbench.errors import PartitionError, ShiftbenchError, TableError
from shiftbench.io import files, tables
from shiftbench.partition.engine import Partition
from shiftbench.partition.leakage import Leakage
from shiftbench.partition.parts import FILES, Table, write_parts
from shiftbench.partition.rules import Rules
from shiftbench.partition.settings import PARTITIONS

FORMAT = "shiftbench manifest 1"
MANIFEST, ASSIGNMENT, LEAKAGE = "manifest.json", "assignment.parquet", "leakage.json"


@dataclass(frozen=True)
class Manifest:
    """The description of a partition. Its hash depends only on `rules`, `digests` and `source`.

    rules: the settings of the rules, with the seed.
    counts: records of each partition. unused: records outside all partitions, by reason.
    windows: population → [start, end) of its window of time.
    digests: partition → SHA-256 of its sorted ids, see `digest`.
    source: SHA-256 of the table's file, or None without a file.
    files: name → SHA-256 of each file beside the manifest.
    """

    rules: Mapping[str, Any]
    counts: Mapping[str, int]
    unused: Mapping[str, int]
    windows: Mapping[str, Any]
    digests: Mapping[str, str]
    source: str | None = None
    version: str = ""
    files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, partition: Partition, rules: Rules, *, source: str | os.PathLike[str] | None = None) -> Manifest:
        """The manifest of a partition by `rules`; `source` is the file its table was read from."""
        return cls(
            rules=rules.to_settings(),
            counts=partition.counts,
            unused=dict(partition.unused),
            windows={name: list(window) for name, window in partition.windows.items()},
            digests={name: digest(partition.ids_of(name)) for name in PARTITIONS},
            source=None if source is None else _sha256(argument.path(source, error=PartitionError)),
            version=__version__,
        )

    @property
    def hash(self) -> str:
        """SHA-256 of rules, digests and source in canonical JSON (sorted keys, no spaces, ASCII).

        It does not depend on file bytes, versions and times, so equal partitions have equal hashes everywhere.
        """
        content = {"rules": self.rules, "digests": self.digests, "source": self.source}
        text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values, including the hash."""
        return {"format": FORMAT, "hash": self.hash, **dataclasses.asdict(self)}

    @classmethod
    def from_json(cls, value: Any, *, where: str = MANIFEST) -> Manifest:
        """The manifest that `to_json` wrote.

        Raises:
            PartitionError: if the value is not a manifest, is damaged, or was changed after it was written.
        """
        if not isinstance(value, dict) or value.get("format") != FORMAT:
            found = value.get("format") if isinstance(value, dict) else type(value).__name__
            raise PartitionError(f"{where}: expected a manifest ({FORMAT!r}), found {found!r}. Write it again.")
        names = [entry.name for entry in dataclasses.fields(cls)]
        mappings = ("rules", "counts", "unused", "windows", "digests", "files")
        if damaged := [
            name for name in names if name not in value or (name in mappings) != isinstance(value[name], dict)
        ]:
            raise PartitionError(
                f"{where}: expected valid entries, found {', '.join(damaged)} damaged. Write it again."
            )
        try:
            manifest = cls(**{name: value[name] for name in names})
            found = manifest.hash
        except (TypeError, ValueError) as error:
            raise PartitionError(f"{where}: expected a complete manifest, found: {error}. Write it again.") from None
        if value.get("hash") != found:
            raise PartitionError(f"{where}: expected the hash {found}, found {value.get('hash')}: it was changed.")
        return manifest

    def changed(self, paths: Iterable[Path]) -> list[str]:
        """Problems of those files beside the manifest that cannot be read or have other contents than it names."""
        problems = list[str]()
        for path in paths:
            expected = self.files.get(path.name)
            try:
                if expected and (found := _sha256(path)) != expected:
                    problems.append(
                        f"{path}: expected SHA-256 {expected}, found {found}: it was changed. Make the folder again."
                    )
            except TableError as error:
                problems += error.problems
        return problems


def digest(ids: pl.Series) -> str:
    """SHA-256 of a set of ids, text or whole numbers; 64-bit numbers are hashed least significant byte first.

    Text: the lengths in bytes of all ids (64 bits each), then their UTF-8, the ids sorted by their bytes. The lengths
    make the encoding unique. Whole numbers: -1, which cannot be a length, then the ids (64 bits each), sorted.
    """
    ordered = ids.sort()
    if ids.dtype.is_integer():
        summed = hashlib.sha256(np.int64(-1).astype("<i8").tobytes())
        summed.update(ordered.to_numpy().astype("<i8", copy=False).data)
        return summed.hexdigest()
    summed = hashlib.sha256(ordered.str.len_bytes().to_numpy().astype(np.dtype("<u8")).tobytes())
    for first in range(0, len(ordered), 2**20):
        summed.update(ordered[first : first + 2**20].str.join("").cast(pl.Binary)[0])
    return summed.hexdigest()


def write_manifest(
    folder: str | os.PathLike[str],
    partition: Partition,
    rules: Rules,
    *,
    source: str | os.PathLike[str] | None = None,
    leakage: Leakage | None = None,
    frames: bool | Table = False,
    written: Sequence[str | os.PathLike[str]] = (),
) -> Manifest:
    """Write a partition's folder, the manifest last, and return the manifest.

    frames: whether to write the records of each partition, too; a Parquet file or a lazy table is a source from which
        they are streamed, see `write_parts`.
    written: existing files that belong to the folder; the manifest lists them, too.

    Raises:
        TableError: if the folder cannot be written.
    """
    place = argument.path(folder, error=PartitionError)
    check.kind("partition", partition, Partition)
    check.kind("rules", rules, Rules)
    check.kind("leakage", leakage, (Leakage, type(None)))
    check.kind("frames", frames, (bool, str, os.PathLike, pl.LazyFrame))
    kept = [argument.path(file, error=PartitionError) for file in argument.several("written", written, object)]
    manifest = Manifest.of(partition, rules, source=source)
    try:
        place.mkdir(parents=True, exist_ok=True)
        _clear(place, {file.name for file in kept})
        assignment = pl.DataFrame({"id": partition.ids.alias("id"), "partition": partition.assignment})
        held = [*kept, tables.write_table(assignment, place / ASSIGNMENT)]
        if leakage is not None:
            held.append(files.write_json(place / LEAKAGE, leakage.to_json()))
        if frames is not False:
            held += write_parts(place, partition, table=None if frames is True else frames)
        manifest = dataclasses.replace(manifest, files={file.name: files.sha256(file) for file in held})
        files.write_json(place / MANIFEST, manifest.to_json())
    except OSError as error:
        raise TableError(
            f"{place}: expected a folder that can be written, found: {error}. Free or choose one."
        ) from None
    return manifest


def _clear(folder: Path, kept: Collection[str]) -> None:
    """Remove an older manifest before its files, so that no manifest is ever beside files of another partition."""
    if not (folder / MANIFEST).exists():
        return
    for name in (MANIFEST, ASSIGNMENT, LEAKAGE, *FILES.values()):
        if name not in kept:
            (folder / name).unlink(missing_ok=True)


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """The manifest of a folder.

    Raises:
        PartitionError: if there is none, or it is damaged or was changed.
    """
    path = argument.path(folder, error=PartitionError) / MANIFEST
    try:
        value = json.loads(files.read_text(path))
    except FileNotFoundError:
        raise PartitionError(f"{path}: expected a manifest, found no such file. Write the partition again.") from None
    except NotADirectoryError:
        raise PartitionError(
            f"{folder}: expected the folder of a partition, found a file. Make one with `shiftbench partition`."
        ) from None
    except (OSError, ValueError, RecursionError) as error:
        raise PartitionError(f"{path}: expected a manifest as JSON, found: {error}. Write it again.") from None
    return Manifest.from_json(value, where=str(path))


def verify(folder: str | os.PathLike[str]) -> tuple[str, ...]:
    """Problems of a folder: an invalid manifest, missing or changed files, ids that do not match the manifest.

    An empty tuple means that the folder is unchanged.
    """
    try:
        manifest = read_manifest(folder)
    except PartitionError as error:
        return error.problems
    problems = manifest.changed(Path(folder) / Path(name).name for name in manifest.files)
    return (*problems, *_mismatches(Path(folder), manifest))


def _mismatches(folder: Path, manifest: Manifest) -> list[str]:
    path = folder / ASSIGNMENT
    try:
        assignment = tables.read_table(path, columns=["id", "partition"], retype=False)
        ids = {name: assignment.filter(pl.col("partition") == name)["id"] for name in PARTITIONS}
        found = {name: (len(own), digest(own)) for name, own in ids.items()}
    except (ShiftbenchError, pl.exceptions.PolarsError) as error:
        return [str(error)]
    return [
        f"{path}: expected the ids of {name} that the manifest names, found others."
        for name in PARTITIONS
        if found[name] != (manifest.counts.get(name), manifest.digests.get(name))
    ]


def _sha256(path: Path) -> str:
    try:
        return files.sha256(path)
    except OSError as error:
        why = error.strerror or error
        raise TableError(f"{path}: expected a file that can be read, found: {why}. Make the folder again.") from None
