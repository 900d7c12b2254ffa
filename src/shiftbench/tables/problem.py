"""What is wrong with a table, in words: errors of libraries as ours, and long lists cut short."""

from __future__ import annotations

import csv
import lzma
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from shiftbench import aborts, files
from shiftbench.errors import TableError, first_line

MOST_LISTED = 5
POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
# What libraries raise at damaged input; of NumPy's headers, which are read as Python, also what its parser raises.
UNREADABLE = (
    OSError, EOFError, ValueError, RuntimeError, OverflowError, MemoryError, csv.Error, zlib.error, lzma.LZMAError,
    zipfile.BadZipFile, SyntaxError, tokenize.TokenError, TypeError, KeyError, struct.error, *POLARS,
)  # fmt: skip


@contextmanager
def reading(file: Path, kind: str) -> Iterator[None]:
    """Whatever a library raises in this block, as a TableError that names the file; it must not be a named pipe."""
    if odd := files.irregular(file):
        raise TableError(f"{file}: expected a regular file, found {odd}. Write it to a file first.")
    try:
        with aborts.reading(file):
            yield
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"{file}: expected a {kind} file, found nothing there. Check the path.") from None
    except UNREADABLE as error:
        raise TableError(
            f"{file}: expected a readable {kind} file, found: {first_line(error)}. "
            "It may be cut off or damaged: write or fetch it again."
        ) from None


def few(problems: list[str]) -> list[str]:
    """The first problems, and how many there are besides."""
    rest = len(problems) - MOST_LISTED
    return problems[:MOST_LISTED] + ([f"… and {rest:,} more like these."] if rest > 0 else [])


def listed(values: pl.Series) -> str:
    """How many values there are, and the first of them."""
    shown = ", ".join(map(repr, values.head(MOST_LISTED)))
    return f"{len(values):,} ({shown}{', …' if len(values) > MOST_LISTED else ''})"


def rows(flags: pl.Series) -> str:
    """The numbers, from 1, of the first rows that are flagged."""
    places = (flags.arg_true() + 1).to_list()
    shown = ", ".join(f"{place:,}" for place in places[:MOST_LISTED])
    return f"row {shown}" if len(places) == 1 else f"rows {shown}{', …' if len(places) > MOST_LISTED else ''}"
