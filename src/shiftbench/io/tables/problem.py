"""Messages about tables: errors of libraries converted to ours, and abbreviated lists."""

from __future__ import annotations

import csv
import lzma
import re
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError, first_line
from shiftbench.io import aborts, files

MOST_LISTED = 5
POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)
# Raised by libraries for damaged input; NumPy's headers are parsed as Python, so errors of its parser are included.
UNREADABLE = (
    OSError, EOFError, ValueError, RuntimeError, OverflowError, MemoryError, csv.Error, zlib.error, lzma.LZMAError,
    zipfile.BadZipFile, SyntaxError, tokenize.TokenError, TypeError, KeyError, struct.error, *POLARS,
)  # fmt: skip
# Healthy types that polars refuses, with a panic or as if the file were damaged.
UNSUPPORTED = re.compile(
    r"zero width FixedSizeListArray|FixedSizeBinaryArray expects a positive size|"
    r"unable to parse time zone: '[^']*'|`month_day_nano_interval`|Arrow datatype \w+|primitive `Int256`|"
    r"precision must be between 1 and 38, got \d+|not yet implemented(: [^\")]+)?"
)


@contextmanager
def reading(file: Path, kind: str) -> Iterator[None]:
    """Convert library errors in this block to a TableError that names the file; refuses files that are not regular."""
    if odd := files.irregular(file):
        raise TableError(f"{file}: expected a regular file, found {odd}. Write it to a file first.")
    if file.is_dir():
        raise TableError(f"{file}: expected a {kind} file, found a folder. Check the path.")
    try:
        with aborts.reading(file):
            yield
    except TableError:
        raise
    except FileNotFoundError:
        raise TableError(f"{file}: expected a {kind} file, found nothing there. Check the path.") from None
    except UNREADABLE as error:
        if isinstance(error, POLARS) and (refused := UNSUPPORTED.search(str(error))):
            raise TableError(
                f"{file}: expected columns of types that polars can read, found: {refused[0]}. Write it without this "
                "column, or with another type."
            ) from None
        raise TableError(
            f"{file}: expected a readable {kind} file, found: {first_line(error)}. "
            "It may be cut off or damaged: write or fetch it again."
        ) from None


def few(problems: list[str]) -> list[str]:
    """The first problems, and the number of further ones."""
    rest = len(problems) - MOST_LISTED
    return problems[:MOST_LISTED] + ([f"… and {rest:,} more like these."] if rest > 0 else [])


def listed(values: pl.Series) -> str:
    """The number of values, and the first of them."""
    shown = ", ".join(map(repr, values.head(MOST_LISTED)))
    return f"{len(values):,} ({shown}{', …' if len(values) > MOST_LISTED else ''})"


def rows(flags: pl.Series) -> str:
    """The numbers, from 1, of the first flagged rows."""
    places = (flags.arg_true() + 1).to_list()
    shown = ", ".join(f"{place:,}" for place in places[:MOST_LISTED])
    return f"row {shown}" if len(places) == 1 else f"rows {shown}{', …' if len(places) > MOST_LISTED else ''}"
