"""Tables in and out: reads CSV, Parquet, Arrow, NPZ and JSON lines, and lines rows up by id, never by their order.

Rows are counted from 1 after any header. All problems of a table are reported at once.
"""

from __future__ import annotations

import codecs
import csv
import difflib
import fnmatch
import gzip
import io
import json
import mmap
import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal, cast

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import files
from shiftbench.check import Vector
from shiftbench.errors import TableError, UnknownNameError

Bytes = bytes | mmap.mmap

UNPACKED_LIMIT = 4 * 2**30  # bytes; a small file that unpacks to more than this is refused
HEAD_BYTES = 2**20
SAMPLE_ROWS = 500
MOST_LISTED = 5
# What stands for "no value" in a column that otherwise holds numbers, dates or booleans.
MISSING = ("", "NA", "N/A", "na", "n/a", "#N/A", "<NA>", "nan", "NaN", "NAN", "null", "NULL", "None")

FORMATS = {
    ".csv": "CSV", ".tsv": "CSV", ".txt": "CSV", ".parquet": "Parquet", ".arrow": "Arrow", ".feather": "Arrow",
    ".npz": "NPZ", ".jsonl": "JSON lines",
}  # fmt: skip
MAGIC = {b"PAR1": "Parquet", b"ARROW1": "Arrow", b"PK\x03\x04": "NPZ"}
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
_UNREADABLE = (OSError, EOFError, ValueError, RuntimeError, csv.Error, zlib.error, zipfile.BadZipFile)
_POLARS = (pl.exceptions.PolarsError, pl.exceptions.PanicException)


def read_table(path: str | os.PathLike[str], *, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The table in a file: .csv .tsv .txt .jsonl (also packed: .gz, .zst), .parquet, .arrow, .feather or .npz.

    Text columns become integers, floats, booleans, dates or datetimes (UTC where an offset is given) if every
    value allows it; numbers with leading zeros stay text. Separator and decimal sign of a CSV are detected.

    Args:
        path: the file.
        columns: the only columns to read, in this order; all if None.

    Raises:
        TableError: if the file is missing, empty, damaged or not what its suffix says, or lacks a column.
    """
    file = Path(path)
    kind = _format(file)
    with _reading(file, kind):
        frame = _READERS[kind](file, columns)
    if frame.height == 0 or frame.width == 0:
        raise TableError(f"{file}: expected at least one row, found none. Was the writing of this file cut off?")
    return frame if columns is None else frame.select(columns)


def write_table(frame: pl.DataFrame, path: str | os.PathLike[str], *, metadata: dict[str, str] | None = None) -> Path:
    """Write a table whole or not at all, by suffix: .csv, .csv.gz, .parquet (zstd) or .jsonl.

    Raises:
        TableError: if the suffix is another one, metadata is given for anything but Parquet, or writing fails.
    """
    target = Path(path)
    suffix = "".join(target.suffixes[-2:]) if target.suffix == ".gz" else target.suffix
    if suffix not in (".csv", ".csv.gz", ".parquet", ".jsonl"):
        raise TableError(
            f"{target}: expected .csv, .csv.gz, .parquet or .jsonl, found {suffix!r}. Choose another name."
        )
    if metadata and suffix != ".parquet":
        raise TableError(
            f"{target}: expected .parquet, which can hold metadata, found {suffix!r}. Choose another name."
        )
    try:
        with files.replacing(target) as temporary:
            _write(frame, temporary, suffix, metadata)
    except (OSError, *_POLARS) as error:
        raise TableError(
            f"{target}: expected to write {frame.height:,} rows, found: {_first_line(error)}. "
            "Check that the folder may be written to and has room; nothing was left behind."
        ) from None
    return target


def read_metadata(path: str | os.PathLike[str]) -> dict[str, str]:
    """The key-value metadata that `write_table` put into a Parquet file."""
    file = Path(path)
    with _reading(file, "Parquet"):
        found = pl.read_parquet_metadata(file)
    return {key: value for key, value in found.items() if key != "ARROW:schema"}


def ids(frame: pl.DataFrame, column: str | None, *, where: str) -> pl.Series:
    """The ids [N] of the rows as text; row numbers from 1 if `column` is None.

    Raises:
        TableError: if the column is absent or not text or whole numbers, or an id is missing, empty or used twice.
    """
    found, problems = _ids(frame, column, where)
    if problems:
        raise TableError(*problems)
    return found


def line_up(
    frame: pl.DataFrame,
    wanted_ids: pl.Series | Sequence[str],
    *,
    column: str,
    where: str,
    extra: Literal["error", "drop"] = "error",
) -> pl.DataFrame:
    """The rows of `frame` in the order of `wanted_ids`; rows nobody asked for are an error, or dropped.

    Raises:
        TableError: naming duplicated, missing and (unless `extra="drop"`) surplus ids together.
    """
    wanted = pl.Series("id", wanted_ids, dtype=pl.String)
    found, problems = _ids(frame, column, where)
    if wanted.n_unique() < len(wanted):
        problems.append(f"{where}: expected each wanted id once, found {_list(_repeated(wanted))} more than once.")
    missing = wanted.filter(~wanted.is_in(found.implode())).unique(maintain_order=True)
    present = found.drop_nulls()
    surplus = present.filter(~present.is_in(wanted.implode())).unique(maintain_order=True)
    if len(missing):
        problems.append(f"{where}: expected a row for each id, found none for {_list(missing)}. Add these rows.")
    if len(surplus) and extra == "error":
        problems.append(f"{where}: expected only known ids, found {_list(surplus)} besides. Remove these rows.")
    if problems:
        raise TableError(*problems)
    places = pl.DataFrame({"id": found, "place": np.arange(len(found))})
    order = pl.DataFrame({"id": wanted}).join(places, on="id", how="left", maintain_order="left")["place"]
    return frame[order]


def expand(patterns: Iterable[str], columns: Sequence[str], *, what: str) -> list[str]:
    """The columns that are named by, or match, any of the patterns (`obs_*`), in table order.

    Raises:
        UnknownNameError: for a pattern that matches no column; `what` says what it was to be.
    """
    chosen: set[str] = set()
    for pattern in patterns:
        # A name is taken literally first: columns may be called "a[1]".
        matching = [pattern] if pattern in columns else fnmatch.filter(columns, pattern)
        if not matching:
            raise UnknownNameError(what, pattern, columns)
        chosen.update(matching)
    return [column for column in columns if column in chosen]


def require(frame: pl.DataFrame, names: Iterable[str], *, where: str) -> None:
    """Check that every named column is there.

    Raises:
        TableError: naming all that are not, each with its nearest match.
    """
    _require(frame.columns, names, where)


def numbers(frame: pl.DataFrame, column: str, *, where: str) -> Vector:
    """A column as float64 [N], missing values as NaN; booleans are 0 and 1, text must spell a number.

    Raises:
        TableError: if the column is absent or holds anything else; the message gives row and value.
    """
    return number_columns(frame, [column], where=where)[column]


def number_columns(frame: pl.DataFrame, columns: Sequence[str], *, where: str) -> dict[str, Vector]:
    """Several columns as `numbers` gives them; the problems of all are reported together."""
    require(frame, columns, where=where)
    values: dict[str, Vector] = {}
    problems: list[str] = []
    for column in columns:
        try:
            values[column] = _numbers(frame[column], where)
        except TableError as error:
            problems += error.problems
    if problems:
        raise TableError(*problems)
    return values


# -- files of any kind


def _format(file: Path) -> str:
    """Which of FORMATS a file is: its suffix says so, and its first bytes must not say otherwise."""
    if not file.is_file():
        near = difflib.get_close_matches(file.name, _siblings(file), n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "Check the path."
        raise TableError(f"{file}: expected a file, found {'a folder' if file.is_dir() else 'none'}. {hint}")
    with _reading(file, "table"), file.open("rb") as opened:
        first = opened.read(8)
    if not first:
        raise TableError(f"{file}: expected a table, found a file of 0 bytes. Was its writing cut off?")
    held = next((name for magic, name in (MAGIC | PACKED).items() if first.startswith(magic)), "text")
    suffix = Path(file.stem).suffix if file.suffix in (".gz", ".zst") else file.suffix
    said = FORMATS.get(suffix.lower())
    if said is None:
        raise TableError(
            f"{file}: expected a suffix among {', '.join(FORMATS)} (text also with .gz or .zst), "
            f"found {suffix!r}. Rename or convert the file."
        )
    is_text = said in ("CSV", "JSON lines")
    if held != said and not (is_text and held in ("text", *PACKED.values())):
        found = (
            "something else" if held == "text" else "a ZIP archive or workbook" if is_text and held == "NPZ" else held
        )
        raise TableError(f"{file}: expected {said}, as its suffix says, found {found}. Rename or write it again.")
    return said


def _siblings(file: Path) -> list[str]:
    return [entry.name for entry in file.parent.iterdir()] if file.parent.is_dir() else []


@contextmanager
def _reading(file: Path, kind: str) -> Iterator[None]:
    try:
        yield
    except TableError:
        raise
    except (*_UNREADABLE, *_POLARS) as error:
        raise TableError(
            f"{file}: expected a readable {kind} file, found: {_first_line(error)}. "
            "It may be cut off or damaged: write or fetch it again."
        ) from None


def _first_line(error: BaseException) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0].rstrip(".")


def _require(known: Sequence[str], names: Iterable[str], where: str) -> None:
    problems = []
    for name in dict.fromkeys(names):
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = (
                f"Did you mean {near[0]!r}?"
                if near
                else f"It has {', '.join(map(repr, known[:10]))}{'…' * (len(known) > 10)}."
            )
            problems.append(f"{where}: expected a column {name!r}, found none. {hint}")
    if problems:
        raise TableError(*problems)


def _list(values: pl.Series) -> str:
    shown = ", ".join(map(repr, values.head(MOST_LISTED)))
    return f"{len(values):,} ({shown}{', …' if len(values) > MOST_LISTED else ''})"


def _read_parquet(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    _require(list(pl.read_parquet_schema(file)), columns or (), str(file))
    wanted = None if columns is None else list(columns)
    # A folder called "year=2020" above the file must not add a column.
    return pl.read_parquet(file, columns=wanted, glob=False, hive_partitioning=False)


def _read_arrow(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    with file.open("rb") as opened:
        _require(list(pl.read_ipc_schema(opened)), columns or (), str(file))
        opened.seek(0)
        return pl.read_ipc(opened, columns=None if columns is None else list(columns))


def _write(frame: pl.DataFrame, temporary: Path, suffix: str, metadata: dict[str, str] | None) -> None:
    if suffix == ".parquet":
        frame.write_parquet(temporary, compression="zstd", metadata=metadata)
    elif suffix == ".jsonl":
        frame.write_ndjson(temporary)
    elif suffix == ".csv":
        frame.write_csv(temporary)
    else:
        # Neither name nor time goes into the gzip header: the same table gives the same bytes.
        with temporary.open("wb") as raw, gzip.GzipFile("", "wb", 6, raw, mtime=0) as packed:
            frame.write_csv(cast(IO[bytes], packed))


# -- NPZ


def _read_npz(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    with zipfile.ZipFile(file) as archive:
        members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
        if len(members) < len(archive.infolist()):
            raise TableError(f"{file}: expected each array name once, found some twice. Write the file again.")
        _require(list(members), columns or (), str(file))
        chosen = {name: info for name, info in members.items() if columns is None or name in columns}
        _check_arrays(file, {name: _header(archive, info) for name, info in chosen.items()}, chosen)
        arrays = {name: _array(archive, info) for name, info in chosen.items()}
    return _with_times(pl.DataFrame(arrays))


def _header(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type and header size of an array that stays packed."""
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version not in ((1, 0), (2, 0)):
            raise ValueError(f"array {info.filename!r} has .npy version {version}")
        first = version == (1, 0)
        read = np.lib.format.read_array_header_1_0 if first else np.lib.format.read_array_header_2_0
        shape, _, dtype = read(member)
        return shape, dtype, member.tell()


def _check_arrays(
    file: Path,
    headers: dict[str, tuple[tuple[int, ...], np.dtype[Any], int]],
    members: dict[str, zipfile.ZipInfo],
) -> None:
    problems = []
    for name, (shape, dtype, start) in headers.items():
        if dtype.kind not in "biufU" or (dtype.itemsize > 8 and dtype.kind != "U"):
            problems.append(f"{file}: array {name!r}: expected numbers, booleans or text, found {dtype}. Convert it.")
        elif len(shape) != 1:
            problems.append(f"{file}: array {name!r}: expected one dimension [N], found shape {shape}. Split it.")
        elif start + shape[0] * dtype.itemsize != members[name].file_size:
            problems.append(
                f"{file}: array {name!r}: expected the size its header says, found another. Write it again."
            )
    lengths = {name: shape[0] for name, (shape, _, _) in headers.items() if len(shape) == 1}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} has {length:,}" for name, length in lengths.items())
        problems.append(f"{file}: expected arrays of one length, found: {found}.")
    if (size := sum(info.file_size for info in members.values())) > UNPACKED_LIMIT:
        problems.append(_too_large(file, size))
    if problems:
        raise TableError(*problems)


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> npt.NDArray[Any]:
    with archive.open(info) as member:
        array: npt.NDArray[Any] = np.lib.format.read_array(member, allow_pickle=False)
    return array.astype(array.dtype.newbyteorder("="), copy=False)


def _too_large(file: Path, size: int) -> str:
    return (
        f"{file}: expected at most {UNPACKED_LIMIT:,} bytes once unpacked, found {size:,} or more. "
        "Split it, or write it as Parquet."
    )


# -- text: CSV and JSON lines


def _text(file: Path) -> tuple[Path | bytes, Bytes]:
    """What polars is to read (the file, or its unpacked bytes) and a view of the same bytes."""
    with file.open("rb") as opened:
        first = opened.read(4)
    if first.startswith(b"\x1f\x8b"):
        with gzip.open(file) as packed:
            data = _bounded(file, packed)
    elif first == b"\x28\xb5\x2f\xfd":
        # polars unpacks zstd, which the standard library of Python 3.11 does not.
        data = "\n".join(pl.read_lines(file)["line"]).encode()
    else:
        with file.open("rb") as opened:
            return file, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    if not data:
        raise TableError(f"{file}: expected a table, found 0 bytes once unpacked. Was its writing cut off?")
    return data, data


def _bounded(file: Path, packed: gzip.GzipFile) -> bytes:
    parts, size = [], 0
    while part := packed.read(2**22):
        parts.append(part)
        if (size := size + len(part)) > UNPACKED_LIMIT:
            raise TableError(_too_large(file, size))
    return b"".join(parts)


def _read_jsonl(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    data = _text(file)[1][:].removeprefix(codecs.BOM_UTF8)
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except _POLARS as error:
        raise TableError(
            *(_bad_json(file, data) or [f"{file}: expected JSON lines, found: {_first_line(error)}."])
        ) from None
    _require(frame.columns, columns or (), str(file))
    return _with_times(frame if columns is None else frame.select(columns))


def _bad_json(file: Path, data: bytes) -> list[str]:
    problems = []
    for number, line in enumerate(data.splitlines(), start=1):
        try:
            value = json.loads(line, parse_constant=_refuse) if line.strip() else {}
        except ValueError as error:
            problems.append(f"{file}: line {number}: expected a JSON object, found: {error}. Write missing as null.")
        else:
            if not isinstance(value, dict):
                problems.append(f"{file}: line {number}: expected a JSON object, found {type(value).__name__}.")
    return _few(problems)


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant}, which is not JSON")


def _few(problems: list[str]) -> list[str]:
    rest = len(problems) - MOST_LISTED
    return problems[:MOST_LISTED] + ([f"… and {rest:,} more like these."] if rest > 0 else [])


# -- CSV


@dataclass(frozen=True)
class _Layout:
    """How a CSV is written, as its first records show."""

    names: list[str]
    separator: str
    decimal_comma: bool
    floats: list[str]  # columns that can be read as floats without a detour through text


def _read_csv(file: Path, columns: Sequence[str] | None) -> pl.DataFrame:
    source, raw = _text(file)
    layout = _layout(file, raw)
    _require(layout.names, columns or (), str(file))
    # The last column comes along: only it tells whether a row is short.
    wanted = None if columns is None else [name for name in layout.names if name in (*columns, layout.names[-1])]
    try:
        try:
            frame = _parse(source, layout, wanted, layout.floats)
        except pl.exceptions.ComputeError:
            frame = _parse(source, layout, wanted, [])  # the sample misled: read all as text, and look again
    except _POLARS as error:
        problems = _scan(file, raw, layout)[0] or [f"{file}: expected CSV, found: {_first_line(error)}. Check quotes."]
        raise TableError(*problems) from None
    if _has_short_rows(frame, raw, layout, complete=wanted is None):
        problems, blank = _scan(file, raw, layout)
        if problems:
            raise TableError(*problems)
        frame = frame.filter(~pl.int_range(pl.len()).is_in(blank))
    return _typed(frame, layout)


def _parse(source: Path | bytes, layout: _Layout, columns: list[str] | None, floats: list[str]) -> pl.DataFrame:
    places = [place for place, name in enumerate(layout.names) if columns is None or name in columns]
    frame = pl.read_csv(
        source,
        columns=places,
        separator=layout.separator,
        decimal_comma=layout.decimal_comma,
        infer_schema=False,
        schema_overrides=dict.fromkeys(floats, pl.Float64()),
        glob=False,
    )
    # polars leaves doubled quotes in names as they are, so the names come from the layout.
    return frame.rename(dict(zip(frame.columns, (layout.names[place] for place in places), strict=True)))


def _layout(file: Path, raw: Bytes) -> _Layout:
    text = _head(file, raw)
    tabs = ".tsv" in file.suffixes and "\t" in text
    separator = "\t" if tabs else max(",;\t|", key=lambda sign: _fit(text, sign))
    records = list(islice(_records(text, separator), SAMPLE_ROWS + 1))
    names, rows = records[0], records[1:]
    problems = []
    if not names or any(not name.strip() for name in names):
        empty = [str(place) for place, name in enumerate(names, start=1) if not name.strip()]
        places = f"column {', '.join(empty)} has none" if empty else "a blank line"
        problems.append(f"{file}: line 1: expected a name for each column, found: {places}. Name the columns.")
    if repeated := [name for name, count in Counter(names).items() if count > 1 and name.strip()]:
        found = ", ".join(map(repr, repeated[:MOST_LISTED]))
        problems.append(f"{file}: line 1: expected each column name once, found more than once: {found}. Rename them.")
    if problems:
        raise TableError(*problems)
    fields = zip(*(row for row in rows if len(row) == len(names)), strict=True)
    sample = dict(zip(names, fields, strict=False))
    comma = separator != "," and any(_has_decimal_comma(values) for values in sample.values())
    floats = [name for name, values in sample.items() if _is_plain_float(values, "," if comma else ".")]
    return _Layout(names, separator, comma, floats)


def _head(file: Path, raw: Bytes) -> str:
    """The first whole records as text; binary files and other encodings are told apart here."""
    head = raw[:HEAD_BYTES]
    if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise TableError(f"{file}: expected UTF-8 text, found UTF-16. Save it as UTF-8.")
    if b"\0" in head:
        raise TableError(f"{file}: expected text, found binary data (a zero byte at {head.index(0):,}). Is it a CSV?")
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head, final=len(head) == len(raw))
    except UnicodeDecodeError as error:
        raise TableError(_bad_text(file, head, error)) from None
    if not text.strip():
        raise TableError(f"{file}: expected a header line, found blank lines. Was its writing cut off?")
    if "\r" in text.replace("\r\n", "") and "\n" not in text:
        raise TableError(f"{file}: expected lines that end in LF or CRLF, found CR alone. Convert the line ends.")
    if len(head) < len(raw) and "\n" in text:
        text = text[: text.rindex("\n") + 1]
    return text


def _records(text: str, separator: str) -> Iterator[list[str]]:
    return csv.reader(io.StringIO(text, newline=""), delimiter=separator)


def _fit(text: str, separator: str) -> tuple[bool, float, int]:
    """How well a separator explains the first records: more than one column, even widths, many columns."""
    try:
        widths = [len(record) for record in islice(_records(text, separator), 50)]
    except csv.Error:
        return False, 0.0, 0
    return widths[0] > 1, widths.count(widths[0]) / len(widths), widths[0]


def _has_decimal_comma(sample: Sequence[str]) -> bool:
    values = _without_missing(pl.Series(sample)).drop_nulls()
    number = r"^[+-]?\d*(,\d+)?([eE][+-]?\d+)?$"
    return bool(values.str.contains(number).all() and values.str.contains(",", literal=True).any())


def _is_plain_float(sample: Sequence[str], point: str) -> bool:
    """Whether polars can parse such a column by itself: floats or nothing, no integers (ids?), no "NA"."""
    if not any(point in value for value in sample):
        return False
    column = pl.Series(sample)
    points = column if point == "." else column.str.replace(point, ".", literal=True)
    return points.cast(pl.Float64, strict=False).null_count() == sample.count("")


def _has_short_rows(frame: pl.DataFrame, raw: Bytes, layout: _Layout, *, complete: bool) -> bool:
    """Whether some rows have fewer fields than the header: polars fills these up with missing values.

    A short row lacks its last value. Where one is missing, separators are counted, which needs no parsing: those in
    the bytes against those that whole rows have, plus those inside text.
    """
    if len(layout.names) == 1 or not frame[layout.names[-1]].null_count():
        return False
    inside = sum(name.count(layout.separator) for name in layout.names)
    if raw.find(b'"') >= 0:
        if not complete:
            return True  # what stands in the other columns is unknown: let the exact scan decide
        texts = pl.col(pl.String).str.count_matches(layout.separator, literal=True).sum()
        inside += sum(frame.select(texts).row(0))
    return _count(raw, layout.separator) != (frame.height + 1) * (len(layout.names) - 1) + inside


def _count(raw: Bytes, sign: str) -> int:
    array, step = np.frombuffer(raw, dtype=np.uint8), 2**21
    with ThreadPoolExecutor(pl.thread_pool_size()) as pool:
        parts = (array[start : start + step] for start in range(0, len(array), step))
        return sum(pool.map(lambda part: int(np.count_nonzero(part == ord(sign))), parts))


def _scan(file: Path, raw: Bytes, layout: _Layout) -> tuple[list[str], list[int]]:
    """Read record by record to say which lines are wrong, and which records are blank lines (from 0)."""
    data = raw[:]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        return [_bad_text(file, data, error)], []
    problems, blank = [], []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=layout.separator, strict=True)
    try:
        for number, record in enumerate(reader, start=-1):
            if not record:
                blank.append(number)
            elif len(record) != len(layout.names):
                problems.append(
                    f"{file}: line {reader.line_num:,}: expected {len(layout.names)} fields as in the header, "
                    f"found {len(record)}. Quote fields that hold {layout.separator!r}."
                )
    except csv.Error as error:
        problems.append(f"{file}: line {reader.line_num:,}: expected closed quotes, found: {error}.")
    return _few(problems), blank


def _bad_text(file: Path, data: bytes, error: UnicodeDecodeError) -> str:
    line = data.count(b"\n", 0, error.start) + 1
    return (
        f"{file}: line {line:,}: expected UTF-8 text, found byte 0x{data[error.start]:02x} at offset {error.start:,}. "
        "Save it as UTF-8."
    )


# -- types of text


def _typed(frame: pl.DataFrame, layout: _Layout) -> pl.DataFrame:
    typed = [_retyped(column, layout.decimal_comma) for column in frame if column.dtype == pl.String]
    with_nan = frame.select(pl.col(pl.Float64).is_nan().any())
    return frame.with_columns(*typed, *(pl.col(column.name).fill_nan(None) for column in with_nan if column.item()))


def _with_times(frame: pl.DataFrame) -> pl.DataFrame:
    """Text that is all ISO dates or datetimes as such; in formats with types, other text is text."""
    texts = [column for column in frame if column.dtype == pl.String]
    return frame.with_columns(_first_that_fits(column, (_dates, _datetimes)) for column in texts)


def _retyped(text: pl.Series, comma: bool) -> pl.Series:
    def floats(values: pl.Series) -> pl.Series:
        return _floats(values, comma)

    return _first_that_fits(text, (_integers, floats, _booleans, _dates, _datetimes))


def _first_that_fits(text: pl.Series, parsers: Iterable[Callable[[pl.Series], pl.Series]]) -> pl.Series:
    """The column as the first parser reads it that reads every value; else as text, "" missing."""
    # A glance at the first values spares most text columns the work.
    first = _without_missing(text.head(SAMPLE_ROWS))
    fitting = [parse for parse in parsers if parse(first).null_count() == first.null_count()]
    if fitting:
        # Most columns hold neither spaces nor words for "missing", and need no cleaning.
        parsed = _complete(text, fitting)
        if parsed is None:
            parsed = _complete(_without_missing(text), fitting)
        if parsed is not None:
            return parsed
    return text.set(text == "", None) if (text == "").any() else text


def _complete(values: pl.Series, parsers: Iterable[Callable[[pl.Series], pl.Series]]) -> pl.Series | None:
    """What the first parser gives that loses none of the values; None if all do, or there are none."""
    missing = values.null_count()
    for parse in parsers if missing < len(values) else ():
        if (parsed := parse(values)).null_count() == missing:
            return parsed
    return None


def _without_missing(text: pl.Series) -> pl.Series:
    stripped = text.str.strip_chars()
    return stripped.set(stripped.is_in(MISSING), None)


def _integers(values: pl.Series) -> pl.Series:
    padded = values.str.contains(r"^[+-]?0\d").any()
    return values.clear(len(values)).cast(pl.Int64) if padded else values.cast(pl.Int64, strict=False)


def _floats(values: pl.Series, comma: bool) -> pl.Series:
    points = values.str.replace(",", ".", literal=True) if comma else values
    parsed = points.cast(pl.Float64, strict=False).fill_nan(None)
    digits = values.str.contains(r"^[+-]?\d+$").all()
    # Digits alone that are no integers are ids: padded with zeros, or too long to keep their last digits.
    if digits and _integers(values).null_count() > values.null_count():
        return parsed.clear(len(parsed))
    return parsed


def _booleans(values: pl.Series) -> pl.Series:
    return values.str.to_lowercase().replace_strict(
        {"true": True, "false": False}, default=None, return_dtype=pl.Boolean
    )


def _dates(values: pl.Series) -> pl.Series:
    return values.str.to_date("%Y-%m-%d", strict=False)


def _datetimes(values: pl.Series) -> pl.Series:
    iso = values.str.contains(r"^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$").all()
    if not iso:
        return values.clear(len(values))
    return values.str.to_datetime(strict=False, time_zone="UTC").dt.replace_time_zone(None)


# -- columns


def _ids(frame: pl.DataFrame, column: str | None, where: str) -> tuple[pl.Series, list[str]]:
    if column is None:
        return pl.Series("id", np.arange(1, frame.height + 1)).cast(pl.String), []
    require(frame, [column], where=where)
    dtype = frame[column].dtype
    if dtype.is_float() or dtype.is_nested() or dtype in (pl.Binary, pl.Object):
        wanted = f"{where}: column {column!r}: expected ids as text or whole numbers"
        raise TableError(f"{wanted}, found {dtype}. Write them as text.")
    found = frame[column].cast(pl.String).alias("id")
    empty = found.is_null() | (found.str.strip_chars() == "").fill_null(value=True)
    problems = []
    if empty.any():
        problems.append(
            f"{where}: column {column!r}: expected an id in each row, found none in "
            f"{int(empty.sum()):,} of {len(found):,} rows, first {_rows(empty)}. Fill them in."
        )
    if found.n_unique() < len(found) and len(repeated := _repeated(found.filter(~empty))):
        shown = ", ".join(f"{value!r} in {_rows(found == value)}" for value in repeated.head(3))
        problems.append(
            f"{where}: column {column!r}: expected each id once, found {len(repeated):,} ids more than once: "
            f"{shown}{', …' if len(repeated) > 3 else ''}. Remove or rename these rows."
        )
    return found, problems


def _repeated(values: pl.Series) -> pl.Series:
    return values.filter(values.is_duplicated()).unique(maintain_order=True)


def _rows(flags: pl.Series) -> str:
    places = (flags.arg_true() + 1).to_list()
    shown = ", ".join(f"{place:,}" for place in places[:MOST_LISTED])
    return f"row {shown}" if len(places) == 1 else f"rows {shown}{', …' if len(places) > MOST_LISTED else ''}"


def _numbers(column: pl.Series, where: str) -> Vector:
    dtype = column.dtype
    if dtype == pl.String:
        values = _without_missing(column)
        parsed = values.cast(pl.Float64, strict=False)
        if (bad := parsed.is_null() & values.is_not_null()).any():
            raise TableError(
                f"{where}: column {column.name!r}: expected numbers, found {values.filter(bad)[0]!r} "
                f"({int(bad.sum()):,} such, {_rows(bad)}). Correct or drop these rows."
            )
    elif dtype.is_numeric() or dtype in (pl.Boolean, pl.Null):
        parsed = column.cast(pl.Float64)
    else:
        raise TableError(f"{where}: column {column.name!r}: expected numbers, found {dtype}. Choose another column.")
    return parsed.fill_null(np.nan).to_numpy()


_READERS: dict[str, Callable[[Path, Sequence[str] | None], pl.DataFrame]] = {
    "CSV": _read_csv, "Parquet": _read_parquet, "Arrow": _read_arrow, "NPZ": _read_npz, "JSON lines": _read_jsonl,
}  # fmt: skip
