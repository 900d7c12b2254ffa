"""The layout of a CSV, inferred from its first lines: separator, decimal sign, names, and columns of floats."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from shiftbench.errors import TableError
from shiftbench.io.tables import dtypes, problem
from shiftbench.io.tables.source import Bytes

HEAD_BYTES = 2**20
SAMPLE_LINES = 250
SEPARATORS = ",;\t|"
COMMA_NUMBER = r"^[+-]?[\d.]*(,\d+)?([eE][+-]?\d+)?$"  # points may separate thousands or, in some, be decimal signs
THOUSANDS = r"^[+-]?[1-9]\d{0,2},\d{3}$"  # the comma may be a thousands separator


@dataclass(frozen=True)
class Layout:
    """The layout of a CSV."""

    names: list[str]
    separator: str
    decimal_comma: bool
    floats: list[str]  # columns that can be read as floats directly, without text


def layout(file: Path, raw: Bytes) -> Layout:
    """The layout that explains the first lines best.

    Raises:
        TableError: if the file is not text in UTF-8, or its header lacks or repeats a name.
    """
    text = _head(file, raw)
    lines = list(islice(io.StringIO(text, newline=""), SAMPLE_LINES))
    tabs = ".tsv" in file.suffixes and "\t" in text
    separator = "\t" if tabs else max(SEPARATORS, key=lambda sign: _fit(lines, sign))
    names, *rows = _records(lines, separator)
    _check_names(file, names)
    fields = zip(*(row for row in rows if len(row) == len(names)), strict=True)
    sample = dict(zip(names, fields, strict=False))
    columns = [pl.Series(values) for values in sample.values() if separator != "," and any("," in v for v in values)]
    comma = any(map(shows_decimal_comma, columns))
    # With decimal commas polars also accepts points as decimal signs: such numbers must be read as text first, as must
    # those whose commas may not be decimal signs.
    settled = comma and any(shows_decimal_comma(column) and not may_be_thousands(column) for column in columns)
    plain = not comma or (settled and raw.find(b".") < 0)
    floats = [name for name, values in sample.items() if plain and _is_plain_float(values, "," if comma else ".")]
    return Layout(names, separator, comma, floats)


def bad_text(file: Path, data: bytes, error: UnicodeDecodeError) -> str:
    """The problem of bytes that are not UTF-8, with their line."""
    line = data.count(b"\n", 0, error.start) + 1
    return (
        f"{file}: line {line:,}: expected UTF-8 text, found byte 0x{data[error.start]:02x} at offset {error.start:,}. "
        "Save it as UTF-8."
    )


def _head(file: Path, raw: Bytes) -> str:
    """The first complete lines as text; binary files and other encodings are detected here."""
    head = raw[:HEAD_BYTES]
    if b"\0" in head:
        raise TableError(f"{file}: expected text, found binary data (a zero byte at {head.index(0):,}). Is it a CSV?")
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) == len(raw))
    except UnicodeDecodeError as error:
        raise TableError(bad_text(file, head, error)) from None
    if not text.strip():
        raise TableError(f"{file}: expected a header line, found blank lines. Was its writing cut off?")
    if "\r" in text and "\n" not in text:
        raise TableError(f"{file}: expected lines that end in LF or CRLF, found CR alone. Convert the line ends.")
    if len(head) < len(raw) and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    return text


def _records(lines: list[str], separator: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=separator)


def _fit(lines: list[str], separator: str) -> tuple[bool, float, int]:
    """A score of how well a separator explains the first records: several columns, equal widths, many columns."""
    try:
        widths = [len(record) for record in islice(_records(lines, separator), 50)]
    except csv.Error:
        return False, 0.0, 0
    return widths[0] > 1, widths.count(widths[0]) / len(widths), widths[0]


def _check_names(file: Path, names: list[str]) -> None:
    problems = []
    if not names or any(not name.strip() for name in names):
        empty = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
        places = f"column {', '.join(empty)} has none" if empty else "a blank line"
        problems.append(f"{file}: line 1: expected a name for each column, found: {places}. {_advice(names)}")
    if repeated := [name for name, count in Counter(names).items() if count > 1 and name.strip()]:
        found = ", ".join(map(repr, repeated[: problem.MOST_LISTED]))
        problems.append(f"{file}: line 1: expected each column name once, found more than once: {found}. Rename them.")
    if problems:
        raise TableError(*problems)


def _advice(names: list[str]) -> str:
    if names and not names[0].strip() and all(name.strip() for name in names[1:]):
        return (
            "pandas and R write the labels of rows like this: write the file without them (`index=False`, "
            "`row.names=FALSE`), or name this column, such as id."
        )
    return "Name the columns."


def shows_decimal_comma(texts: pl.Series) -> bool:
    """Whether all values of a column are numbers and some have a comma; for most text the first few decide."""
    if not _are_numbers(texts.head(SAMPLE_LINES)):
        return False
    return bool(texts.str.contains(",", literal=True).any()) and _are_numbers(texts)


def may_be_thousands(numbers: pl.Series) -> bool:
    """Whether every comma in numbers [N] may separate thousands; True without commas."""
    with_comma = dtypes.without_missing(numbers.filter(numbers.str.contains(",", literal=True)))
    return bool(with_comma.str.contains(THOUSANDS).all())


def _are_numbers(texts: pl.Series) -> bool:
    return bool(dtypes.without_missing(texts).drop_nulls().str.contains(COMMA_NUMBER).all())


def _is_plain_float(sample: Sequence[str], point: str) -> bool:
    """Whether polars can parse such a column directly: only floats or empty, no integers (ids?), no "NA"."""
    if not any(point in value for value in sample):
        return False
    column = pl.Series(sample)
    points = column if point == "." else column.str.replace(point, ".", literal=True)
    return points.cast(pl.Float64, strict=False).null_count() == sample.count("")
