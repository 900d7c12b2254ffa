"""Reads a track's tables in batches of bounded size, with columns by name in any order."""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.io.tables import dtypes, problem
from shiftbench.track.intake.form import Form
from shiftbench.track.intake.sources import Source, Stream, opened
from shiftbench.track.intake.tally import Tally

CHUNK_BYTES = 2**24  # of CSV
BATCH_ROWS = 25_000  # of Parquet
MOST_WHOLE = 2.0**53  # above it floats cannot represent every whole number

Progress = Callable[[int, int], None]


@dataclass
class Reader:
    """Reads one table, and collects its problems meanwhile.

    lines, more: the first invalid lines, and the number of further ones.
    warnings: about the file as a whole.
    bad, odd: values that are problems, and values that deserve a warning.
    """

    source: Source
    form: Form
    progress: Progress | None = None
    lines: list[str] = field(default_factory=list)
    more: int = 0
    warnings: list[str] = field(default_factory=list)
    bad: Tally = field(default_factory=Tally)
    odd: Tally = field(default_factory=Tally)

    def __post_init__(self) -> None:
        if self.source.is_parquet:
            self.bad.place = self.odd.place = "row"

    def problems(self) -> list[str]:
        """All problems of what was read so far."""
        lines = [*self.lines, *([f"… and {self.more:,} more like these."] if self.more else [])]
        return [*lines, *self.bad.messages(self.source.label)]

    def batches(self) -> Iterator[tuple[int, pl.DataFrame]]:
        """The line of a batch's first row, and the batch: the existing columns, in the types of the form.

        Raises:
            TableError: if the table cannot be read at all, or its columns are not those of the form.
        """
        pieces = self._parquet() if self.source.is_parquet else self._csv()
        for line, frame in pieces:
            yield line, self._typed(frame, line)

    def _parquet(self) -> Iterator[tuple[int, pl.DataFrame]]:
        with problem.reading(self.source.path, "Parquet"):
            table = tables.scan_parquet(self.source.path)
            types = table.collect_schema()
            found = dict(zip(self._renamed(types.names()), types.items(), strict=True))
            self._check_types({name: dtype for name, (_, dtype) in found.items() if name in self.form.of(found)})
            rows = table.select(pl.len()).collect().item()
            wanted = table.select(
                pl.col(found[name][0]).cast(self.form.parsed[name]).alias(name) for name in self.form.of(found)
            )
            done = 0
            for frame in wanted.collect_batches(chunk_size=BATCH_ROWS, maintain_order=True):
                yield done + 1, frame
                done += frame.height
                self._report(done, rows)

    def _check_types(self, types: Mapping[str, pl.DataType]) -> None:
        problems = []
        for name, dtype in types.items():
            if self.form.types[name].is_numeric() and not (dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)):
                wanted = self.form.numbers.get(name, "numbers")
                problems.append(f"{self.source.label}: column {name!r}: expected {wanted}, found {dtype}. Convert it.")
        if problems:
            raise TableError(*problems)

    def _csv(self) -> Iterator[tuple[int, pl.DataFrame]]:
        with opened(self.source) as stream:
            pieces = _whole_lines(stream)
            head, _ = next(pieces, (b"", True))
            first, _, rest = head.partition(b"\n")
            names = self._header(first)
            line = 2
            for data, last in itertools.chain([(rest, False)], pieces):
                rows = data.lstrip(b"\r\n")  # polars takes the number of columns from the first line
                line += data.count(b"\n", 0, len(data) - len(rows))
                if rows:
                    yield from ((line, frame) for frame in self._rows(rows, names, line, last=last))
                line += rows.count(b"\n")
                self._report(stream.done(), stream.total)

    def _report(self, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(done, total)

    def _header(self, line: bytes) -> list[str]:
        """All column names of a CSV, in its own order."""
        try:
            text = line.decode("utf-8-sig").rstrip("\r")
        except UnicodeDecodeError:
            raise TableError(
                f"{self.source.label}: line 1: expected names in UTF-8, found other bytes. Is it a CSV?"
            ) from None
        if not text.strip():
            raise TableError(
                f"{self.source.label}: expected a line of names, found an empty file. Was its writing cut off?"
            )
        names = next(csv.reader([text]))
        if len(names) == 1:
            raise TableError(
                f"{self.source.label}: line 1: expected names separated by commas, found {text[:40]!r}. "
                "Is it the right file? Write it with commas."
            )
        return self._renamed(names)

    def _renamed(self, found: list[str]) -> list[str]:
        names, unknown = self.form.names(found, label=self.source.label)
        if unknown:
            self.warnings.append(f"{self.source.label}: unknown columns, left out: {', '.join(map(repr, unknown))}.")
        return names

    def _rows(self, data: bytes, names: list[str], line: int, *, last: bool) -> Iterator[pl.DataFrame]:
        """A chunk of CSV as a frame; invalid lines are added to the problems and yield nothing."""
        if last and not data.endswith(b"\n"):
            self.warnings.append(f"{self.source.label}: its last line has no line end. Was it cut off?")
        blank: list[int] = []
        frame = self._parsed(data, names)
        separators = np.count_nonzero(np.frombuffer(data, dtype=np.uint8) == ord(","))
        # polars pads short rows with missing values; counting separators reveals them.
        if frame is None or separators != frame.height * (len(names) - 1):
            faults, blank = _faults(data, len(names), line)
            if faults:
                shown = faults[: problem.MOST_LISTED - len(self.lines)]
                self.lines += [f"{self.source.label}: {fault}" for fault in shown]
                self.more += len(faults) - len(shown)
                return
        frame = self._from_text(data, names, line) if frame is None else frame
        if blank:
            frame = frame.filter(~pl.int_range(pl.len()).is_in(blank))
        yield frame

    def _parsed(self, data: bytes, names: list[str]) -> pl.DataFrame | None:
        """The rows in the types of the form, or None if a value does not fit."""
        types = {name: self.form.parsed.get(name, pl.String()) for name in names}
        try:
            frame = pl.read_csv(data, has_header=False, schema=types, glob=False)
        except problem.POLARS:
            return None
        return frame.select(self.form.of(names))

    def _from_text(self, data: bytes, names: list[str], line: int) -> pl.DataFrame:
        """The slow path: words for missing values become null, and other text in a numeric column is a problem."""
        types = {name: pl.String() for name in names}
        texts = pl.read_csv(data, has_header=False, schema=types, glob=False)
        parsed = []
        for name in self.form.of(names):
            text = dtypes.without_missing(texts[name])
            values = text.cast(self.form.parsed[name], strict=False)
            bad = values.is_null() & text.is_not_null()
            advice = "Correct or drop these rows."
            self.bad.add(name, "numbers", advice, values=text, bad=bad, line=line)
            parsed.append(values)
        return pl.DataFrame(parsed)

    def _typed(self, frame: pl.DataFrame, line: int) -> pl.DataFrame:
        """NaN and empty texts become null, as does infinity unless it is refused; whole numbers become integers."""
        frame = frame.with_columns(pl.col(pl.String).replace("", None), pl.col(pl.Float32, pl.Float64).fill_nan(None))
        numbers = frame.select(pl.col(pl.Float32, pl.Float64))
        infinite = numbers.select(pl.all().is_infinite().any())
        tally = self.bad if self.form.complete else self.odd
        advice = "Correct or drop these rows." if self.form.complete else "Kept as missing."
        for name in (column.name for column in infinite if column.item()):
            bad = frame[name].is_infinite().fill_null(False)
            tally.add(name, "finite numbers", advice, values=frame[name], bad=bad, line=line)
            if not self.form.complete:
                frame = frame.with_columns(pl.when(pl.col(name).is_finite()).then(pl.col(name)))
        for name in self.form.whole:
            values = frame[name]
            bad = (values != values.round()) | (values.is_finite() & (values.abs() >= MOST_WHOLE))
            wanted, advice = "whole numbers", "Correct or drop these rows."
            self.bad.add(name, wanted, advice, values=values, bad=bad.fill_null(False), line=line)
        # Numbers too large for an integer are already reported; as null they would be reported as missing, too.
        frame = frame.with_columns(pl.col(self.form.whole).clip(-MOST_WHOLE, MOST_WHOLE))
        return frame.cast({name: self.form.types[name] for name in self.form.whole}, strict=False)


def _whole_lines(stream: Stream) -> Iterator[tuple[bytes, bool]]:
    """The bytes in chunks that end with a line, and whether a chunk is the last."""
    kept = b""
    while data := stream.file.read(CHUNK_BYTES):
        end = data.rfind(b"\n") + 1
        if end:
            yield kept + data[:end], False
            kept = data[end:]
        else:
            kept += data
            if len(kept) > 4 * CHUNK_BYTES:
                break
    if kept:
        yield kept, True


def _faults(data: bytes, width: int, line: int) -> tuple[list[str], list[int]]:
    """Problems by line, and the records (from 0) that are blank lines."""
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        place = line + data.count(b"\n", 0, error.start)
        return [f"line {place:,}: expected UTF-8 text, found byte 0x{data[error.start]:02x}. Fetch it again."], []
    faults, blank = [], []
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    ends = data.endswith(b"\n")
    total = data.count(b"\n") + (not ends)
    try:
        for number, record in enumerate(reader):
            place = line + reader.line_num - 1
            if not record:
                blank.append(number)
            elif len(record) != width:
                cut = "The file is cut off here: fetch it again." if reader.line_num == total and not ends else ""
                fault = f"line {place:,}: expected {width} fields as in the header, found {len(record)}."
                faults.append(f"{fault} {cut or 'Correct or drop this line.'}")
    except csv.Error as error:
        faults.append(f"line {line + reader.line_num - 1:,}: expected closed quotes, found: {error}. Check quotes.")
    return faults, blank
