"""CSV files: parsed by polars; rows that it would pad, or refuse without giving a place, are found here."""

from __future__ import annotations

import csv
import io
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.errors import ShiftbenchError, ShiftbenchWarning, TableError, TableWarning, first_line
from shiftbench.io.tables import columns, dtypes, problem
from shiftbench.io.tables.layout import Layout, bad_text, layout, may_be_thousands, shows_decimal_comma
from shiftbench.io.tables.source import Bytes, require_rows_fit, source

LAST_BYTES = 2**16  # examined for the end of the last line


def read_csv(file: Path, names: Sequence[str] | None) -> pl.DataFrame:
    """The table in a CSV, or its named columns (in the file's order, possibly with the last column in addition).

    Raises:
        TableError: naming every line with the wrong number of fields, invalid quotes or an invalid encoding.
    """
    data, raw = source(file)
    require_rows_fit(file, raw)
    found = layout(file, raw)
    columns.require_plain(found.names, where=str(file))
    columns.require_names(found.names, names or (), where=str(file))
    # The last column is always read, since only it reveals short rows.
    wanted = None if names is None else [name for name in found.names if name in (*names, found.names[-1])]
    # Any column may reveal a decimal comma, even after the sample.
    if open_sign := found.separator != "," and not found.decimal_comma and raw.find(b",") >= 0:
        wanted = None
    try:
        frame = _parse(data, found, wanted)
        if open_sign and _shows_decimal_comma(frame):
            found = replace(found, decimal_comma=True, floats=[])
            frame = _parse(data, found, wanted)
    except problem.POLARS as error:
        faults = _faults(file, raw, found)
        unreadable = f"{file}: expected CSV, found: {first_line(error)}. Check quotes."
        raise TableError(*(faults.lines or faults.quotes or [unreadable])) from None
    if _has_short_rows(frame, raw, found, complete=wanted is None):
        faults = _faults(file, raw, found)
        if faults.lines:
            raise TableError(*faults.lines)
        frame = frame.filter(~pl.int_range(pl.len()).is_in(faults.blank))
    if frame.height:
        _look_at_the_end(file, raw, found)
    typed = dtypes.typed(frame, decimal_comma=found.decimal_comma)
    if found.decimal_comma:
        _require_one_decimal_sign(file, frame, typed)
        _tell_of_thousands(frame, typed)
    return typed


def whole_rows(file: Path) -> tuple[pl.DataFrame, pl.Series]:
    """The rows of a CSV that have as many fields as its header, and their numbers [N] from 1; none of what is no CSV.

    For files that `read_csv` refuses, so that problems of these rows can be reported, too.
    """
    try:
        _, raw = source(file)
        found = layout(file, raw)
        reader = csv.reader(io.StringIO(raw[:].decode("utf-8-sig"), newline=""), delimiter=found.separator)
        next(reader)
        records = list(enumerate((record for record in reader if record), start=1))
        whole = [(row, record) for row, record in records if len(record) == len(found.names)]
        frame = pl.DataFrame(
            [record for _, record in whole], schema=dict.fromkeys(found.names, pl.String), orient="row"
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            typed = dtypes.typed(frame, decimal_comma=found.decimal_comma)
    except (ShiftbenchError, *problem.UNREADABLE, StopIteration):
        return pl.DataFrame(), pl.Series(dtype=pl.Int64)
    return typed, pl.Series([row for row, _ in whole], dtype=pl.Int64)


def _shows_decimal_comma(frame: pl.DataFrame) -> bool:
    texts = pl.col(pl.String)
    with_comma = frame.select(texts.str.contains(",", literal=True).any())
    return any(shows_decimal_comma(frame[column.name]) for column in with_comma if column.item())


def _require_one_decimal_sign(file: Path, frame: pl.DataFrame, typed: pl.DataFrame) -> None:
    """Refuse numbers with a point in a file with decimal commas, where 1.200 may be 1.2 or 1200.

    Raises:
        TableError: naming every such column, with its rows.
    """
    problems = []
    for name in frame.select(pl.col(pl.String)).columns:
        if typed[name].dtype != pl.Float64:
            continue
        pointed = dtypes.without_missing(frame[name]).str.contains(".", literal=True).fill_null(value=False)
        if pointed.any():
            problems.append(
                f"{file}: column {name!r}: expected numbers with a decimal comma, as elsewhere in this file, "
                f"found {frame[name].filter(pointed)[0]!r} ({pointed.sum():,} such, {problem.rows(pointed)}), whose "
                "point may be a decimal sign or separate thousands. Write all numbers "
                "with one decimal sign and no separators."
            )
    if problems:
        raise TableError(*problem.few(problems))


def _tell_of_thousands(frame: pl.DataFrame, typed: pl.DataFrame) -> None:
    """Warn if every comma in a file with decimal commas could also separate thousands: 1,234 may be 1234."""
    numbers = [column for column in frame.select(pl.col(pl.String)) if typed[column.name].dtype == pl.Float64]
    shown = [column for column in numbers if column.str.contains(",", literal=True).any()]
    if not shown or not all(map(may_be_thousands, shown)):
        return
    with_comma = shown[0].str.contains(",", literal=True).fill_null(value=False)
    first = shown[0].filter(with_comma)[0].strip()
    warnings.warn(
        TableWarning(
            f"column {shown[0].name!r}: {first!r} was read as {first.replace(',', '.')}, with a decimal comma, like "
            f"all numbers with a comma ({with_comma.sum():,} such, {problem.rows(with_comma)}); if the commas separate "
            "thousands, write the numbers without them"
        ),
        stacklevel=4,
    )


def _parse(data: str | bytes, found: Layout, names: list[str] | None) -> pl.DataFrame:
    try:
        return _parse_with(data, found, names, found.floats)
    except pl.exceptions.ComputeError:
        return _parse_with(data, found, names, [])  # the sample was misleading: read everything as text


def _parse_with(data: str | bytes, found: Layout, names: list[str] | None, floats: list[str]) -> pl.DataFrame:
    frame = pl.read_csv(
        data,
        columns=None if names is None else [found.names.index(name) for name in names],
        separator=found.separator,
        decimal_comma=found.decimal_comma,
        infer_schema=False,
        schema_overrides=dict.fromkeys(floats, pl.Float64()),
        glob=False,
    )
    # polars does not unescape doubled quotes in names, so the names come from the layout.
    frame.columns = found.names if names is None else names
    return frame


def _has_short_rows(frame: pl.DataFrame, raw: Bytes, found: Layout, *, complete: bool) -> bool:
    """Whether some rows have fewer fields than the header: polars pads these with missing values.

    A short row lacks its last value. If one is missing, separators are counted without parsing: those in the bytes
    against those that complete rows have, plus those inside text.
    """
    if len(found.names) == 1 or not frame[found.names[-1]].null_count():
        return False
    separators, quoted = _separators(raw, found.separator)
    if quoted and not complete:
        return True  # the content of the other columns is unknown: let the exact scan decide
    inside = sum(name.count(found.separator) for name in found.names)
    if quoted:
        texts = pl.col(pl.String).str.count_matches(found.separator, literal=True).sum()
        inside += sum(frame.select(texts).row(0))
    return separators != (frame.height + 1) * (len(found.names) - 1) + inside


def _look_at_the_end(file: Path, raw: Bytes, found: Layout) -> None:
    """Refuse a file that ends inside a quoted field; warn if the last line has no line end, since it may be cut off.

    Raises:
        TableError: naming the line with the unclosed quote.
    """
    size = len(raw)
    if raw[size - 1 : size] == b"\n":
        return
    last = raw[max(raw.rfind(b"\n", max(0, size - LAST_BYTES)) + 1, size - LAST_BYTES) :]
    if b'"' in last and (faults := _faults(file, raw, found)).lines:
        raise TableError(*faults.lines)
    warnings.warn(
        ShiftbenchWarning(
            f"{file}: expected a line end after the last record, found none: was the file cut off? Its last line ends "
            f"with {last[-40:].decode('utf-8', 'replace')!r}. If that is whole, add a line end."
        ),
        stacklevel=2,
    )


def _separators(raw: Bytes, separator: str) -> tuple[int, bool]:
    """The number of separators, and whether there is a quote; each part of the file is loaded only once."""
    array, step = np.frombuffer(raw, dtype=np.uint8), 2**20

    def part(start: int) -> tuple[int, bool]:
        count = np.count_nonzero(array[start : start + step] == ord(separator))
        return int(count), raw.find(b'"', start, start + step) >= 0

    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        counts, quotes = zip(*pool.map(part, range(0, len(raw), step)), strict=True)
    return sum(counts), any(quotes)


@dataclass
class _Faults:
    """Problems by line."""

    lines: list[str] = field(default_factory=list)  # certain errors
    quotes: list[str] = field(default_factory=list)  # quotes inside a field, which polars misreads only sometimes
    blank: list[int] = field(default_factory=list)  # records (from 0) that are blank lines, which is allowed


def _faults(file: Path, raw: Bytes, found: Layout) -> _Faults:
    """Read the file slowly, record by record."""
    data = raw[:]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return _Faults(lines=[bad_text(file, data, error)])
    faults, quotes = _Faults(), 0

    def lines() -> Iterator[str]:
        nonlocal quotes
        for line in io.StringIO(text, newline=""):
            quotes += line.count('"')
            yield line

    reader = csv.reader(lines(), delimiter=found.separator, strict=True)
    try:
        for number, record in enumerate(reader, start=-1):
            row = number - len(faults.blank) + 1
            of_row = f" (row {row:,} below the header)" if row > 0 else ""
            line, odd, quotes = f"{file}: line {reader.line_num:,}", quotes % 2, 0  # of this record alone
            if not record:
                faults.blank.append(number)
            elif len(record) != len(found.names):
                faults.lines.append(
                    f"{line}: expected {len(found.names)} fields as in the header, found {len(record)}{of_row}. "
                    f"Quote fields that hold {found.separator!r}."
                )
            elif odd:
                faults.quotes.append(
                    f"{line}: expected quotes around whole fields, found one inside a field. "
                    "Double it and quote the field."
                )
    except csv.Error as error:
        faults.lines.append(f"{file}: line {reader.line_num:,}: expected closed quotes, found: {error}.")
    return _Faults(problem.few(faults.lines), problem.few(faults.quotes), faults.blank)
