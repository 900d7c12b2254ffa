"""Sealed targets in tables of any format, under any name: by id, whatever its column is called, or in the same order.

A table is read in streams, which keep a row of each sealed record and a few columns at a time.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from shiftbench.errors import ShiftbenchError
from shiftbench.io import tables
from shiftbench.io.tables import dtypes, problem
from shiftbench.io.tables.layout import layout
from shiftbench.io.tables.reading import is_table, scan_parquet, scan_texts
from shiftbench.io.tables.source import source

ID = "id"
UNREADABLE = (ShiftbenchError, OSError, ValueError, *problem.POLARS)
BITS = 30.0  # unrelated columns agree with targets by chance with a probability of at most 2^-BITS
AT_ONCE = 32  # columns
DIGITS = 6  # decimals to which a copy may be rounded
NEAR = 1e-6  # of single precision and the like
_TEXT = (".csv", ".tsv", ".txt")
_OWN, _KEY = "\0target", "\0id"


@dataclass(frozen=True)
class Targets:
    """The ids and the targets of a phase, in the order of its labels; name: of the column of targets."""

    name: str
    frame: pl.DataFrame

    @classmethod
    def read(cls, path: Path, name: str) -> Targets | None:
        """Those of a table of labels; None if it is no such table, or cannot be read, which is refused elsewhere."""
        if not (path.is_file() and is_table(path)):
            return None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                frame = scan_parquet(path) if path.suffix == ".parquet" else tables.read_table(path).lazy()
                if not {ID, name} <= {*(known := frame.collect_schema())}:
                    return None
                values = pl.col(name).list.first() if isinstance(known[name], pl.List) else pl.col(name)
                found = frame.select(_text(ID).alias(_KEY), values.alias(_OWN)).collect().drop_nulls()
        except UNREADABLE:
            return None
        return cls(name, found) if found.height and not found[_OWN].dtype.is_nested() else None


def exposed(path: Path, targets: Targets) -> str:
    """The column of a table that holds the targets of sealed records, and of how many; "" if no column does.

    A file that cannot be read as a table holds none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return next(_found(_lazy(path), targets), "")
    except UNREADABLE:
        return ""


def _lazy(path: Path) -> pl.LazyFrame:
    """A table of which nothing is read yet, as far as that is possible; one of text has texts alone."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        return scan_parquet(path)
    if suffix in _TEXT:
        _, raw = source(path)
        found = layout(path, raw)
        lazy = scan_texts(path, found.separator)
        if found.decimal_comma:
            lazy = lazy.with_columns(pl.col(pl.String).str.replace(r"^(-?\d*),(\d+)$", "$1.$2"))
        return lazy
    return tables.read_table(path).lazy()


def _text(name: str) -> pl.Expr:
    """Ids as texts, of a whole number in any type the same."""
    return pl.col(name).cast(pl.String, strict=False).str.strip_chars().str.replace(r"^(\d+)\.0+$", "$1")


def _found(lazy: pl.LazyFrame, targets: Targets) -> Iterator[str]:
    schema = lazy.collect_schema()
    plain = [name for name, dtype in schema.items() if not dtype.is_nested() and dtype != pl.Binary]
    own = targets.frame
    ids = own[_KEY].implode()
    keyed = [_text(name).is_in(ids).sum().alias(name) for name in plain]
    counts = lazy.select(*keyed, pl.len().alias(_KEY)).collect(engine="streaming").row(0, named=True)
    height = counts.pop(_KEY)
    fewest = BITS / max(math.log2(max(own.height, 2)), 1)  # records that could tell enough
    for key, count in counts.items():
        if count < (1 if key == ID else fewest):
            continue
        matched = lazy.filter(_text(key).is_in(ids)).unique(subset=[key], keep="first", maintain_order=False)
        others = [name for name in plain if name != key]
        for start in range(0, len(others), AT_ONCE):
            names = others[start : start + AT_ONCE]
            part = matched.select(_text(key).alias(_KEY), *names).collect(engine="streaming")
            shared = part.join(own, on=_KEY, how="inner")
            for name in names:
                values = _present(shared[name])
                same = _same(values.drop_nulls(), shared[_OWN].filter(values.is_not_null()))
                if same and ((key, name) == (ID, targets.name) or _bits(values) >= BITS):
                    beside = "" if key == ID else f" beside {key!r}"
                    yield f"the targets of {same:,} sealed records (column {name!r}{beside})"
    if height == own.height and ID not in plain:
        for name in plain:
            values = lazy.select(name).collect()[name]
            if not values.null_count() and _bits(values) >= BITS and (same := _same(values, own[_OWN])):
                yield f"the targets of {same:,} sealed records in their order (column {name!r})"


def _present(values: pl.Series) -> pl.Series:
    """Values, with texts that mean a missing value as missing."""
    return dtypes.without_missing(values) if values.dtype == pl.String else values


def _bits(values: pl.Series) -> float:
    """How improbable it is that values agree with others by chance: the entropy of all of them together."""
    counts = values.drop_nulls().value_counts()["count"].cast(pl.Float64)
    total = counts.sum()
    return float((counts * (total / counts).log(2)).sum()) if total else 0.0


def _same(values: pl.Series, targets: pl.Series) -> int:
    """How many values there are if all equal the targets, perhaps rounded; else 0."""
    if not len(values):
        return 0
    if targets.dtype.is_numeric() or targets.dtype == pl.Boolean:
        numbers = _numbers(values)
        if numbers.null_count() or numbers.is_nan().any():
            return 0
        right = targets.cast(pl.Float64)
        near = (numbers - right).abs() <= _slack(numbers) + NEAR * right.abs()
        return len(values) * bool(near.fill_null(value=False).all())
    texts, right = (each.cast(pl.String, strict=False).str.strip_chars() for each in (values, targets))
    return len(values) * bool((texts == right).fill_null(value=False).all())


def _numbers(values: pl.Series) -> pl.Series:
    if values.dtype == pl.String:
        words = {"true": "1", "false": "0"}
        values = values.str.strip_chars().replace({**words, **{each.capitalize(): n for each, n in words.items()}})
    return values.cast(pl.Float64, strict=False)


def _slack(numbers: pl.Series) -> float:
    """Half of the last decimal of rounded numbers; nothing of those that are not."""
    for digits in range(DIGITS):
        if (numbers.round(digits) == numbers).all():
            return 0.5 * 10.0**-digits * (1 + NEAR)
    return 0.0
