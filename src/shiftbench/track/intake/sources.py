"""Finds a track's tables: in a folder, in tar or zip archives, or as a single file."""

from __future__ import annotations

import gzip
import tarfile
import zipfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from shiftbench.errors import TableError, first_line
from shiftbench.io import files, tables
from shiftbench.io.fetch import container
from shiftbench.io.tables import problem

CSVS = (".csv", ".csv.gz")
TABLES = (*CSVS, ".parquet")
TARS = (".tar", ".tar.gz", ".tgz")
ZIPS = (".zip",)
MOST_MEMBERS = 10_000  # of an archive of tables; published ones hold a dozen
TRAINING = ("train", "dev_in")

Naming = Callable[[str], str | None]
"""The name of a table's file → the partition in its name, or None."""


@dataclass(frozen=True)
class Source:
    """One table: a file, or a member of an archive. `partition` is the one in its name, if any."""

    path: Path
    partition: str | None = None
    member: str | None = None

    @property
    def label(self) -> str:
        """The name of the table in messages."""
        return str(self.path) if self.member is None else f"{self.path}: {self.member}"

    @property
    def name(self) -> str:
        """The name of the table's own file."""
        return Path(self.member or self.path).name

    @property
    def folder(self) -> str:
        """The name of the folder that the table lies in, on disk or in its archive."""
        return Path(self.member or self.path).parent.name

    @property
    def is_parquet(self) -> bool:
        """Whether it is Parquet; else it is CSV."""
        return self.name.lower().endswith(".parquet")


@dataclass(frozen=True)
class Sources:
    """The tables found: partitions in the published order, or a single other table; and the missing partitions."""

    tables: tuple[Source, ...]
    missing: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def divided(self) -> bool:
        """Whether the tables are partitions."""
        return self.tables[0].partition is not None

    @property
    def absences(self) -> list[str]:
        """A note for each missing partition."""
        return [f"{name}: not there, so nothing is scored on it" for name in self.missing]

    def require_training(self, place: Path) -> None:
        """Check that the partitions for training and for early stopping exist.

        Raises:
            TableError: if train or dev_in is missing in `place`.
        """
        if absent := [name for name in TRAINING if name in self.missing]:
            there = ", ".join(str(table.partition) for table in self.tables)
            raise TableError(
                f"{place}: expected the partitions {' and '.join(TRAINING)} at least, found only {there}. "
                f"Add {' and '.join(absent)}."
            )


@dataclass(frozen=True)
class Stream:
    """The unpacked bytes of a table; `done` of `total` bytes have been read (compressed ones for a .gz)."""

    file: IO[bytes]
    done: Callable[[], int]
    total: int


def tables_in(place: Path, naming: Naming, *, expected: str) -> list[Source]:
    """The tables in a folder (its subfolders and archives too), in an archive, or in a file; at least one.

    Raises:
        TableError: if the path does not exist or holds no table (`expected` describes what it should hold), an
            archive is damaged or cut off, or names are not UTF-8.
        FetchError: if an archive holds more than MOST_MEMBERS.
    """
    if found := list(_tables(place, naming)):
        _require_unicode(found)
        return found
    raise TableError(
        f"{place}: expected {expected}, or one table ({', '.join(TABLES)}), found {_contents(place)}. Check the path."
    )


def arranged(found: Sequence[Source], partitions: Iterable[str], *, alone: str) -> Sources:
    """The tables by partition, or the only table if none is named after a partition; `alone` describes it in messages.

    Raises:
        TableError: naming every partition that occurs twice.
    """
    by_partition: dict[str | None, list[Source]] = defaultdict(list)
    for source in found:
        by_partition[source.partition].append(source)
    others = by_partition.pop(None, [])
    if not by_partition:
        return Sources((_only(others, alone, rivals=others),))
    chosen: list[Source] = []
    missing: list[str] = []
    problems: list[str] = []
    for name in partitions:
        try:
            chosen += [_partition(by_partition[name], name)] if name in by_partition else []
        except TableError as error:
            problems += error.problems
        missing += [] if name in by_partition else [name]
    if problems:
        raise TableError(*problems)
    ignored = tuple(f"{source.label}: not named after a partition, left out" for source in others)
    return Sources(tuple(chosen), tuple(missing), ignored)


def example_of(source: Source, track: str) -> str:
    """The description in the metadata of a track's example data, such as "rows=2000 seed=0"; "" for other tables."""
    if not source.is_parquet:
        return ""
    origin, mark = tables.read_metadata(source.path).get("shiftbench", ""), f"example {track} "
    return origin.removeprefix(mark) if origin.startswith(mark) else ""


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
        elif _is(source.path, ZIPS):
            packed = stack.enter_context(zipfile.ZipFile(source.path))
            raw, total = stack.enter_context(packed.open(source.member)), packed.getinfo(source.member).file_size
        else:
            archive = stack.enter_context(tarfile.open(source.path))
            info = archive.getmember(source.member)
            member = archive.extractfile(info)
            if member is None:
                raise TableError(f"{source.label}: expected a file, found a link or folder. Fetch the archive again.")
            raw, total = stack.enter_context(member), info.size
        file = stack.enter_context(gzip.open(raw)) if source.name.lower().endswith(".gz") else raw
        yield Stream(file, raw.tell, total)  # type: ignore[arg-type]


def _require_unicode(found: Sequence[Source]) -> None:
    """Refuse names that are not text: notes on the data name their tables."""
    odd = [source.label for source in found if not files.is_unicode(source.label)]
    if odd:
        raise TableError(
            *problem.few([f"{name!a}: expected a name in UTF-8, found another. Rename it." for name in odd])
        )


def _is(file: Path, endings: tuple[str, ...]) -> bool:
    return file.name.lower().endswith(endings)


def _tables(place: Path, naming: Naming) -> Iterator[Source]:
    if place.is_dir():
        # Archives come last, so that files unpacked from them take precedence.
        held = (file for file in place.rglob("*") if file.is_file())
        for file in sorted(held, key=lambda file: (_is(file, TARS + ZIPS), file)):
            if not any(part.startswith(".") for part in file.relative_to(place).parts):
                yield from _of_file(file, naming)
    elif place.is_file():
        yield from _of_file(place, naming)


def _of_file(file: Path, naming: Naming) -> Iterator[Source]:
    if _is(file, TARS + ZIPS):
        for name in _zip_members(file) if _is(file, ZIPS) else _tar_members(file):
            own = Path(name).name
            # macOS adds "._name" beside a file's own entry.
            if own.lower().endswith(CSVS) and not own.startswith("."):
                yield Source(file, naming(own), name)
    elif _is(file, TABLES):
        yield Source(file, naming(file.name))


def _zip_members(file: Path) -> list[str]:
    try:
        with zipfile.ZipFile(file) as archive:
            few = container.few(file, archive.infolist(), most=MOST_MEMBERS)
            return [info.filename for info in few if not info.is_dir()]
    except (*container.DAMAGED, OSError) as error:
        raise _not_whole(file, "zip", error) from None


def _tar_members(file: Path) -> list[str]:
    """The files in a tar archive, which must be as long as its headers state."""
    size = file.stat().st_size
    try:
        with tarfile.open(file) as archive:
            members = [member for member in container.few(file, archive, most=MOST_MEMBERS) if member.isfile()]
            while archive.fileobj is not None and archive.fileobj.read(2**20):
                pass  # a compressed archive verifies its checksum only at its end
    except (*container.DAMAGED, OSError) as error:
        raise _not_whole(file, "tar", error) from None
    for member in members:
        end = member.offset_data + member.size
        if _is(file, (".tar",)) and end > size:
            raise TableError(
                f"{file}: expected {member.name} to end at byte {end:,}, found {size:,} bytes in all: the archive is "
                "cut off. Fetch it again."
            )
    return [member.name for member in members]


def _not_whole(file: Path, kind: str, error: BaseException) -> TableError:
    return TableError(
        f"{file}: expected a complete {kind} archive, found: {first_line(error)}. It may be cut off at "
        f"{file.stat().st_size:,} bytes: fetch it again."
    )


def _only(found: Sequence[Source], what: str, *, rivals: Sequence[Source]) -> Source:
    unpacked = [source for source in found if source.member is None]
    if len(rivals := unpacked if len(unpacked) > 1 else rivals) > 1:
        names = ", ".join(source.label for source in rivals[: problem.MOST_LISTED])
        raise TableError(f"expected one table for {what}, found {len(rivals)}: {names}. Name or keep one.")
    return found[0]


def _partition(found: Sequence[Source], name: str) -> Source:
    """The table of a partition: an unpacked one before archived ones, and the first of several archives."""
    return _only(found, name, rivals=[source for source in found if source.path == found[0].path])


def _contents(place: Path) -> str:
    if not place.exists():
        return "nothing there"
    if kind := files.irregular(place):
        return kind
    if place.is_file():
        packed = _is(place, TARS + ZIPS)
        return f"{'an archive without such CSVs' if packed else 'a file'} called {place.name!r}"
    names = sorted(entry.name for entry in place.iterdir())
    shown = ", ".join(names[: problem.MOST_LISTED])
    return f"a folder with {shown}" if shown else "an empty folder"
