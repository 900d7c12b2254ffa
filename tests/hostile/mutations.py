"""What damage, haste and malice do to files: their bytes, the values of tables, the values of JSON and TOML."""

from __future__ import annotations

import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

Rng = np.random.Generator

NAMES = (
    "", " ", ".", "..", "a/b", "a\\b", "=1+1", "@x", "+x", "-x", "\t", "\n", "\x00", "\x1b[31m", "\u202e",
    "é" * 300, "x" * 5000,
    "id", "target", "error", "date", "y", "NaN", "null", "__index__", "a+b", "*", "[a]", "{}", "%s", "$(x)", "'",
    '"', "🙂",
)  # fmt: skip
TOKENS = (
    b"NaN", b"inf", b"-inf", b"1e308", b"-1.7e308", b"1e-320", b"1e999", b"-0.0", b"9" * 400, b"0x10", b"1_000",
    b"9223372036854775808",
    b"-9223372036854775809", b"2021-02-30", b"0000-00-00", b"99999-01-01", b"n/a", b"", b'"', b'""', b"'", b"\\",
    b"=1+1", b"\x00",
    b"\xff", b"\xed\xa0\x80", b"\r", b"\n\n\n", b"\r\n", b"\xef\xbb\xbf", b"true", b"null", b"[1,2]", b"{}",
    b"\x1b[31m", b"x" * 3000,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, 10**18, 10**400, 0.5, -0.0, 1e308, -1.7e308, 1e-320,
    float("inf"), float("nan"),
    "", " ", "x", "x" * 3000, "\x00", "\ud800", "../..", "/etc/passwd", "=1+1", [], {}, [[]], [None], {"": {}},
    ["a", 1], "2021-02-30",
)  # fmt: skip


# --- bytes ------------------------------------------------------------------------------------------------------------


def _cut(data: bytes, rng: Rng) -> bytes:
    return data[: rng.integers(0, len(data))] if data else data


def _flip(data: bytes, rng: Rng) -> bytes:
    array = bytearray(data)
    for place in rng.integers(0, len(array), int(2 ** rng.integers(0, 6))) if array else ():
        array[place] ^= 1 << int(rng.integers(8))
    return bytes(array)


def _span(data: bytes, rng: Rng) -> tuple[int, int]:
    start = int(rng.integers(0, len(data) + 1))
    return start, min(len(data), start + int(2 ** rng.integers(0, 9)))


def _drop(data: bytes, rng: Rng) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[end:]


def _repeat(data: bytes, rng: Rng) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + data[start:end] * int(rng.integers(2, 50)) + data[end:]


def _splice(data: bytes, rng: Rng) -> bytes:
    (start, end), place = _span(data, rng), int(rng.integers(0, len(data) + 1))
    return data[:place] + data[start:end] + data[place:]


def _fill(data: bytes, rng: Rng) -> bytes:
    start, end = _span(data, rng)
    return data[:start] + bytes([int(rng.choice([0, 255, 127, 128, 1]))]) * (end - start) + data[end:]


def _insert(data: bytes, rng: Rng) -> bytes:
    place = int(rng.integers(0, len(data) + 1))
    return data[:place] + TOKENS[rng.integers(len(TOKENS))] + data[place:]


def _last(data: bytes, rng: Rng) -> bytes:
    """Damage where formats keep their tables of contents."""
    tail = min(len(data), int(2 ** rng.integers(3, 11)))
    return data[: len(data) - tail] + _flip(data[len(data) - tail :], rng)


def _append(data: bytes, rng: Rng) -> bytes:
    return data + rng.bytes(int(rng.integers(1, 300)))


BYTES: tuple[Callable[[bytes, Rng], bytes], ...] = (
    _cut,
    _flip,
    _drop,
    _repeat,
    _splice,
    _fill,
    _insert,
    _last,
    _append,
)


def damaged(data: bytes, rng: Rng) -> bytes:
    """Bytes after one to three accidents."""
    for _ in range(int(rng.choice([1, 1, 1, 2, 3]))):
        data = BYTES[rng.integers(len(BYTES))](data, rng)
    return data


def edited(data: bytes, rng: Rng, separators: bytes = b",\n") -> bytes:
    """Text with some of its fields replaced, lines dropped, doubled or cut, or in another encoding."""
    way = rng.integers(7)
    if way == 0:
        encoding = str(rng.choice(["utf-16", "utf-8-sig", "utf-16-be", "latin-1", "utf-32"]))
        return data.decode("utf-8", "replace").encode(encoding, "replace")
    if way == 1:
        lines = data.splitlines(keepends=True)
        place = int(rng.integers(len(lines)))
        return b"".join([*lines[:place], lines[place][: rng.integers(len(lines[place]))], *lines[place + 1 :]])
    if way == 2:
        lines = data.splitlines(keepends=True)
        return b"".join(lines[place] for place in rng.integers(0, len(lines), len(lines)))
    for _ in range(int(2 ** rng.integers(0, 4))):
        ends = [place for place, byte in enumerate(data) if byte in separators]
        if len(ends) < 2:
            break
        which = int(rng.integers(len(ends) - 1))
        data = data[: ends[which] + 1] + TOKENS[rng.integers(len(TOKENS))] + data[ends[which + 1] :]
    return data


# --- tables -----------------------------------------------------------------------------------------------------------


def _typed(values: pl.Series, rng: Rng) -> pl.Series:
    """The column in a type that nobody expects there; as it is where that cannot be."""
    n = len(values)
    whole = pl.Series(np.arange(n))
    makers: tuple[Callable[[], pl.Series], ...] = (
        lambda: pl.Series([[k] for k in range(n)]),
        lambda: pl.Series([[1.0, 2.0]] * n, dtype=pl.Array(pl.Float64, 2)),
        lambda: pl.Series([{"a": k} for k in range(n)]),
        lambda: pl.Series([datetime.timedelta(days=k) for k in range(n)]),
        lambda: pl.Series([b"\xff\x00%d" % k for k in range(n)]),
        lambda: pl.Series([datetime.time(k % 24) for k in range(n)]),
        lambda: pl.Series([decimal.Decimal(k) / 8 for k in range(n)]),
        lambda: values.cast(pl.String).cast(pl.Categorical),
        lambda: values.cast(pl.String).cast(pl.Enum(values.cast(pl.String).drop_nulls().unique().to_list())),
        lambda: pl.Series([None] * n, dtype=pl.Null),
        lambda: pl.Series([None] * n, dtype=pl.Float64),
        lambda: (whole % 2).cast(pl.Boolean),
        lambda: whole.cast(pl.Datetime("ns", "Europe/Berlin")),
        lambda: whole.cast(pl.Int32).cast(pl.Date),
        lambda: pl.Series([2**70 + k for k in range(n)], dtype=pl.Int128),
        lambda: whole.cast(pl.UInt64) + (2**63 + 5),
        lambda: values.cast(pl.Float32, strict=False),
        lambda: values.cast(pl.Int8, strict=False),
        lambda: values.cast(pl.String),
        lambda: pl.Series([[]] * n, dtype=pl.List(pl.List(pl.String))),
        lambda: pl.Series([None] * n, dtype=pl.Struct([])),
    )
    return makers[rng.integers(len(makers))]()


def _extreme(values: pl.Series, rng: Rng) -> pl.Series:
    chosen = (
        1e308,
        -1.7e308,
        1.79e308,
        5e-324,
        -0.0,
        0.0,
        float("inf"),
        -float("inf"),
        float("nan"),
        None,
        1e200,
        -1e155,
    )
    found: list[Any] = values.to_list() if values.dtype.is_numeric() else [0.0] * len(values)
    for _ in range(int(2 ** rng.integers(0, 4)) if found else 0):
        found[rng.integers(len(found))] = chosen[rng.integers(len(chosen))]
    return pl.Series(values.name, [None if value is None else float(value) for value in found], dtype=pl.Float64)


def retyped(frame: pl.DataFrame, rng: Rng) -> pl.DataFrame:
    """A table with another type, extreme numbers, other names, rows or columns than it should have."""
    for _ in range(int(rng.choice([1, 1, 2, 3]))):
        if not frame.width:
            return frame
        name = frame.columns[rng.integers(frame.width)]
        try:
            match int(rng.integers(9)):
                case 0 | 1 | 2:
                    frame = frame.with_columns(_typed(frame[name], rng).alias(name))
                case 3 | 4:
                    frame = frame.with_columns(_extreme(frame[name], rng).alias(name))
                case 5:
                    frame = frame.rename({name: NAMES[rng.integers(len(NAMES))]})
                case 6:
                    frame = frame.drop(name)
                case 7:
                    frame = frame[rng.integers(0, max(frame.height, 1), int(rng.integers(0, 30)))]
                case 8:
                    label = "ab"[rng.integers(2)] if rng.integers(2) else NAMES[rng.integers(len(NAMES))]
                    frame = frame.with_columns(pl.lit(label).alias(name))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException, TypeError):
            continue
    return frame


# --- JSON and TOML ----------------------------------------------------------------------------------------------------


def revalued(value: Any, rng: Rng) -> Any:
    """Nested values with one of them, anywhere, replaced, removed, renamed or doubled."""
    if isinstance(value, (dict, list)) and value and rng.random() < 0.8:
        places = list(value) if isinstance(value, dict) else list(range(len(value)))
        place = places[rng.integers(len(places))]
        copy = value.copy()
        match int(rng.integers(8)):
            case 0:
                del copy[place]
            case 1 if isinstance(copy, dict):
                copy[NAMES[rng.integers(len(NAMES))]] = copy.pop(place)
            case 2:
                copy[place] = VALUES[rng.integers(len(VALUES))]
            case _:
                copy[place] = revalued(value[place], rng)
        return copy
    return VALUES[rng.integers(len(VALUES))]


def nested(depth: int, rng: Rng) -> bytes:
    """Lists or objects in each other."""
    return b"[" * depth + b"]" * depth if rng.integers(2) else b'{"a":' * depth + b"1" + b"}" * depth


def json_bytes(data: bytes, rng: Rng) -> bytes:
    """JSON with other values, or other bytes."""
    way = rng.integers(10)
    if way == 0:
        return damaged(data, rng)
    if way == 1:
        return nested(int(rng.choice([10, 900, 5000, 100_000])), rng)
    value = json.loads(data)
    for _ in range(int(rng.choice([1, 1, 2, 4]))):
        value = revalued(value, rng)
    try:
        return json.dumps(value).encode()
    except ValueError:  # whole numbers of over 4,300 digits
        return data


# --- files ------------------------------------------------------------------------------------------------------------


def pick(rng: Rng, *of: object) -> str:
    return str(of[rng.integers(len(of))])


def one_of(folder: Path, rng: Rng) -> Path:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return files[rng.integers(len(files))]


def spoil(path: Path, rng: Rng) -> None:
    """Damage a file: the values of JSON, the columns of a table, or bytes."""
    data = path.read_bytes()
    if path.suffix == ".json":
        data = json_bytes(data, rng)
    elif path.suffix == ".parquet" and rng.random() < 0.6:
        frame = retyped(pl.read_parquet(path), rng)
        try:
            frame.write_parquet(path)
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            path.write_bytes(damaged(data, rng))
        return
    else:
        data = damaged(data, rng)
    path.write_bytes(data)
