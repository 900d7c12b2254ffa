"""Where the official tables lie: the partitions' files or the whole dump, in a folder, in tar archives, or alone."""

from __future__ import annotations

import gzip
import os
import tarfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shiftbench.errors import TableError
from shiftbench.tables import problem
from shiftbench.tracks.weather.schema import PARTITIONS

CSVS = (".csv", ".csv.gz")
TABLES = (*CSVS, ".parquet")
TARS = (".tar", ".tar.gz", ".tgz")
PREFIX = "shifts_canonical_"
NO_META = "_no_meta"


@dataclass(frozen=True)
class Source:
    """One table: a file, or a member of a tar archive. `partition` is what its name says; None for the dump."""

    path: Path
    partition: str | None = None
    member: str | None = None

    @property
    def label(self) -> str:
        """What messages call it."""
        return str(self.path) if self.member is None else f"{self.path}: {self.member}"

    @property
    def name(self) -> str:
        """The name of the table's own file."""
        return Path(self.member or self.path).name

    @property
    def is_parquet(self) -> bool:
        """Whether it is Parquet; else it is CSV."""
        return self.name.lower().endswith(".parquet")


@dataclass(frozen=True)
class Sources:
    """The tables that were found: partitions in the published order, or the dump alone; and what is not there."""

    tables: tuple[Source, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stream:
    """The unpacked bytes of a table; `done` of `total` bytes, as they are packed, have been read."""

    file: IO[bytes]
    done: Callable[[], int]
    total: int


def sources(path: str | os.PathLike[str]) -> Sources:
    """The tables in a folder (its subfolders and archives too), in a tar archive, or in a file.

    Unpacked files go before members of archives. A file that is named after no partition is the dump, if it is the
    only table.

    Raises:
        TableError: if there is no such path or no table in it, a partition is there twice, only files without
            meta data are there, or an archive is damaged or cut off.
    """
    place = Path(path)
    found = list(_tables(place))
    if not found:
        raise TableError(
            f"{place}: expected {PREFIX}train.csv and the like, a .tar that holds them, or one table "
            f"({', '.join(TABLES)}), found {_contents(place)}. Check the path."
        )
    whole = [source for source in found if NO_META not in source.name.lower()]
    if not whole:
        raise TableError(*(_without_meta(source) for source in found))
    by_partition: dict[str | None, list[Source]] = defaultdict(list)
    for source in whole:
        by_partition[source.partition].append(source)
    others = by_partition.pop(None, [])
    if by_partition:
        return _partitions(by_partition, others)  # type: ignore[arg-type]
    return Sources((_only(others, "the dump"),))


@contextmanager
def opened(source: Source) -> Iterator[Stream]:
    """The bytes of a CSV, unpacked on the way.

    Raises:
        TableError: if the file or its archive cannot be read to its end.
    """
    with problem.reading(source.path, "archive" if source.member else "CSV"), ExitStack() as stack:
        if source.member is None:
            raw: IO[bytes] = stack.enter_context(source.path.open("rb"))
            total = source.path.stat().st_size
        else:
            archive = stack.enter_context(tarfile.open(source.path))
            info = archive.getmember(source.member)
            member = archive.extractfile(info)
            if member is None:
                raise TableError(f"{source.label}: expected a file, found a link or folder. Fetch the archive again.")
            raw, total = stack.enter_context(member), info.size
        packed = source.name.lower().endswith(".gz")
        file = stack.enter_context(gzip.open(raw)) if packed else raw
        yield Stream(file, raw.tell, total)  # type: ignore[arg-type]


def _tables(place: Path) -> Iterator[Source]:
    if place.is_dir():
        # The archives come last, so that what was unpacked from them goes first.
        files = sorted((file for file in place.rglob("*") if file.is_file()), key=lambda file: (_is_tar(file), file))
        for file in files:
            if not any(part.startswith(".") for part in file.relative_to(place).parts):
                yield from _of_file(file)
    elif place.is_file():
        yield from _of_file(place)


def _of_file(file: Path) -> Iterator[Source]:
    if _is_tar(file):
        yield from _members(file)
    elif file.name.lower().endswith(TABLES):
        yield Source(file, _partition(file.name))


def _is_tar(file: Path) -> bool:
    return file.name.lower().endswith(TARS)


def _members(file: Path) -> Iterator[Source]:
    """The CSVs in a tar archive, which must hold all that its headers promise."""
    size = file.stat().st_size
    try:
        with tarfile.open(file) as archive:
            members = [member for member in archive if member.isfile() and member.name.lower().endswith(CSVS)]
            while archive.fileobj is not None and archive.fileobj.read(2**20):
                pass  # a packed archive checks its sum at its very end
    except (tarfile.TarError, EOFError, OSError) as error:
        raise TableError(
            f"{file}: expected a whole tar archive, found: {problem.first_line(error)}. It may be cut off at "
            f"{size:,} bytes: fetch it again."
        ) from None
    for member in members:
        end = member.offset_data + member.size
        if file.name.lower().endswith(".tar") and end > size:
            raise TableError(
                f"{file}: expected {member.name} to end at byte {end:,}, found {size:,} bytes in all: the archive is "
                "cut off. Fetch it again."
            )
        # macOS writes "._name" beside a file's own entry.
        if not Path(member.name).name.startswith("."):
            yield Source(file, _partition(Path(member.name).name), member.name)


def _partition(name: str) -> str | None:
    """The partition that a file is named after: shifts_canonical_train.csv, train.csv.gz, dev_in_no_meta.csv."""
    stem = name.lower().split(".")[0].removeprefix(PREFIX).removesuffix(NO_META)
    return stem if stem in PARTITIONS else None


def _partitions(found: dict[str, list[Source]], others: list[Source]) -> Sources:
    chosen: list[Source] = []
    problems: list[str] = []
    for name in PARTITIONS:
        if name in found:
            try:
                chosen.append(_only(found[name], name))
            except TableError as error:
                problems += error.problems
    if problems:
        raise TableError(*problems)
    ignored = tuple(f"{source.label}: not named after a partition, left out" for source in others)
    return Sources(tuple(chosen), tuple(name for name in PARTITIONS if name not in found), ignored)


def _only(found: list[Source], what: str) -> Source:
    """The one table, unpacked before archived; the first of several archives that hold it."""
    rivals = [source for source in found if source.member is None]
    if len(rivals) < 2:
        rivals = found if what not in PARTITIONS else [source for source in found if source.path == found[0].path]
    if len(rivals) > 1:
        names = ", ".join(source.label for source in rivals[: problem.MOST_LISTED])
        raise TableError(f"expected one table for {what}, found {len(rivals)}: {names}. Name or keep one.")
    return found[0]


def _without_meta(source: Source) -> str:
    return (
        f"{source.label}: expected a table with time, place and climate, found one without ({NO_META}). "
        f"Take {source.name.replace(NO_META, '')} from the same archive."
    )


def _contents(place: Path) -> str:
    if not place.exists():
        return "nothing there"
    if place.is_file():
        return f"{'an archive without such CSVs' if _is_tar(place) else 'a file'} called {place.name!r}"
    names: Iterable[str] = sorted(entry.name for entry in place.iterdir())
    shown = ", ".join(list(names)[: problem.MOST_LISTED])
    return f"a folder with {shown}" if shown else "an empty folder"
