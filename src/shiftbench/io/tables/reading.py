"""Reads tables from files of any supported format; the first bytes must agree with the suffix."""

from __future__ import annotations

import difflib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

import polars as pl

from shiftbench import argument
from shiftbench.errors import TableError, TableWarning
from shiftbench.io import files
from shiftbench.io.tables import columns as column_names
from shiftbench.io.tables import dates, dtypes, problem
from shiftbench.io.tables.csv_file import read_csv
from shiftbench.io.tables.jsonl import read_jsonl
from shiftbench.io.tables.npz import read_npz
from shiftbench.io.tables.source import PACKED, literal

FORMATS = {
    ".csv": "CSV", ".tsv": "CSV", ".txt": "CSV", ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow",
    ".npz": "NPZ", ".jsonl": "JSON lines",
}  # fmt: skip
TEXT = ("CSV", "JSON lines")
NO_CATEGORY = "dictionary key"  # pandas and pyarrow write a missing category as -1, which polars takes for damage
MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"PK\x03\x04": "NPZ", **PACKED}


def read_table(
    path: str | os.PathLike[str], *, columns: Sequence[str] | None = None, retype: bool = True
) -> pl.DataFrame:
    """The table in a file: .csv .tsv .txt .jsonl (also packed: .gz, .zst), .parquet, .arrow, .feather or .npz.

    Text columns become integers, floats, booleans, dates or datetimes (in UTC if an offset is given) if every
    value allows it; numbers with leading zeros stay text. Separator and decimal sign of a CSV are detected.
    In formats with types, text that spells dates becomes dates (but not a column called `id`); other text is text.

    Args:
        path: the file.
        columns: the only columns to read, in this order; all if None.
        retype: whether text in Parquet and Arrow may become dates; False for files that this package wrote.

    Raises:
        TableError: if the file is missing, empty, damaged or does not match its suffix, or lacks a column.

    Warns:
        TableWarning: for words read as missing, and for dates in other notations than 2021-01-31.
    """
    file = argument.path(path, error=TableError)
    kind = _format(file)
    with problem.reading(file, kind):
        frame = _READERS[kind](file, columns)
        if retype and kind in ("Parquet", "Arrow"):
            frame = dtypes.with_times(frame)
        frame = dates.bounded(frame, where=str(file))
    if frame.height == 0 or frame.width == 0:
        raise TableError(f"{file}: expected at least one row, found none. Was the writing of this file cut off?")
    return frame if columns is None else frame.select(columns)


@contextmanager
def reading_notes() -> Iterator[list[str]]:
    """Collect the warnings of `read_table` on how values were read into a list; other warnings pass through."""
    notes: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TableWarning)
        yield notes
    for entry in caught:
        if issubclass(entry.category, TableWarning):
            notes.append(str(entry.message))
        else:
            warnings.warn_explicit(entry.message, entry.category, entry.filename, entry.lineno)


def notes_without(notes: Sequence[str], dropped: Iterable[str]) -> list[str]:
    """Notes of reading a table, without those on columns that are not used."""
    starts = tuple(f"column {name!r}: " for name in dropped)
    return [note for note in notes if not note.startswith(starts)]


def scan_parquet(path: str | os.PathLike[str]) -> pl.LazyFrame:
    """The lazy table in a Parquet file, its path taken literally.

    By default polars takes `[ ] ? *` for patterns and thus reads other files, `~` for the home folder, and adds a
    column for a parent folder called "year=2020".
    """
    return pl.scan_parquet(literal(path), glob=False, hive_partitioning=False)


def scan_texts(path: str | os.PathLike[str], separator: str) -> pl.LazyFrame:
    """The lazy table in a text file, all of its columns as text, its path taken literally; long rows are cut."""
    return pl.scan_csv(
        literal(path), separator=separator, infer_schema=False, glob=False, truncate_ragged_lines=True,
        encoding="utf8-lossy",
    )  # fmt: skip


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The key-value metadata that `write_table` stored in a Parquet file."""
    file = Path(path)
    with problem.reading(file, "Parquet"), file.open("rb") as opened:
        if (first := opened.read(4)) and first != b"PAR1":
            raise TableError(f"{file}: expected a Parquet file, found another format. Write it as Parquet.")
        opened.seek(0)
        found = pl.read_parquet_metadata(opened)
    return {key: value for key, value in found.items() if key != "ARROW:schema"}


def is_table(file: Path) -> bool:
    """Whether a file is a table by its name."""
    return _suffix(file).lower() in FORMATS


def _suffix(file: Path) -> str:
    return Path(file.stem).suffix if file.suffix in (".gz", ".zst") else file.suffix


def _format(file: Path) -> str:
    """The format of a file by its suffix, which its first bytes must not contradict."""
    held, suffix = _held(file), _suffix(file)
    expected = FORMATS.get(suffix.lower())
    if expected is None:
        raise TableError(
            f"{file}: expected a suffix among {', '.join(FORMATS)} (text also with .gz or .zst), "
            f"found {suffix!r}. Rename or convert the file."
        )
    if held != expected and not (expected in TEXT and held in ("text", *PACKED.values())):
        found = {"text": "something else", "NPZ": "a ZIP archive or workbook"}.get(held, held)
        raise TableError(f"{file}: expected {expected}, as its suffix says, found {found}. Rename or write it again.")
    return expected


def _held(file: Path) -> str:
    """The content of a file by its first bytes: a format, a compression, or else text."""
    if not file.is_file() and not files.irregular(file):
        beside = file.parent.iterdir() if file.parent.is_dir() else ()
        near = difflib.get_close_matches(file.name, [entry.name for entry in beside if entry.is_file()], n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Check the path."
        raise TableError(f"{file}: expected a file, found {'a folder' if file.is_dir() else 'none'}. {hint}")
    with problem.reading(file, "table"), file.open("rb") as opened:
        first = opened.read(8)
    if not first:
        raise TableError(f"{file}: expected a table, found a file of 0 bytes. Was its writing cut off?")
    return next((name for magic, name in MAGIC.items() if first.startswith(magic)), "text")


def _read_parquet(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    table = scan_parquet(file)
    known = table.collect_schema().names()
    column_names.require_plain(known, where=str(file))
    column_names.require_names(known, columns or (), where=str(file))
    return _plain((table if columns is None else table.select(columns)).collect())


def _read_arrow(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    with file.open("rb") as opened:
        known = list(pl.read_ipc_schema(opened))
        column_names.require_plain(known, where=str(file))
        column_names.require_names(known, columns or (), where=str(file))
        wanted = None if columns is None else list(columns)
        try:
            opened.seek(0)
            return _plain(pl.read_ipc(opened, columns=wanted))
        except pl.exceptions.ComputeError as error:
            if NO_CATEGORY not in str(error):
                raise
        if find_spec("pyarrow") is None:
            raise TableError(
                f"{file}: expected columns that polars reads, found categories with missing values, as pandas writes "
                "them to Arrow. Install pyarrow, or write the table as Parquet."
            )
        opened.seek(0)
        return _plain(pl.read_ipc(opened, columns=wanted, use_pyarrow=True))


def _plain(table: pl.DataFrame) -> pl.DataFrame:
    """The table with columns of Arrow's extension types as what they hold; its booleans of 8 bits as booleans."""
    held = {}
    for name, dtype in table.schema.items():
        if isinstance(dtype, pl.BaseExtension):
            stored = pl.Boolean() if dtype.ext_name() == "arrow.bool8" else dtype.ext_storage()
            held[name] = pl.col(name).ext.storage().cast(stored)
    return table.with_columns(**held) if held else table


_READERS: dict[str, Callable[[Path, Sequence[str] | None], pl.DataFrame]] = {
    "CSV": read_csv, "Parquet": _read_parquet, "Arrow": _read_arrow, "NPZ": read_npz, "JSON lines": read_jsonl,
}  # fmt: skip
