"""The bytes of a text file, plain or compressed with gzip or zstd, limited to what fits into memory."""

from __future__ import annotations

import gzip
import json
import mmap
import os
from pathlib import Path

import numpy as np
import polars as pl

from shiftbench.errors import TableError
from shiftbench.io.executor import memory

Bytes = bytes | mmap.mmap

UNKNOWN_MEMORY = 12 * 2**30  # bytes assumed to be free if the system does not tell
COPIES = 3  # of unpacked data: the bytes, the columns made from them, and results made from these
LINE_BYTES = 24  # minimum memory of a line, as a row of one column
PACKED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd"}
ZSTD_BLOCK = 128 * 2**10  # maximum unpacked bytes of a compressed zstd block


def literal(file: str | os.PathLike[str]) -> str:
    """A path for polars, which would take a leading `~` for the home folder; brackets need `glob=False` besides."""
    return os.path.join(os.curdir, file)  # noqa: PTH118 (pathlib would drop the dot)


def source(file: Path) -> tuple[str | bytes, Bytes]:
    """The input for polars (a literal path, or the unpacked bytes) and a view of the same bytes.

    Raises:
        TableError: if the unpacked file is empty, in UTF-16 or UTF-32, or larger than the free memory allows.
    """
    with file.open("rb") as opened:
        raw = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
    packing = next((name for magic, name in PACKED.items() if raw[: len(magic)] == magic), None)
    if packing is None:
        _require_utf8(file, raw)
        return literal(file), raw
    data = _gunzip(file) if packing == "gzip" else _unzstd(file, raw)
    if not data:
        raise TableError(f"{file}: expected a table, found 0 bytes once unpacked. Was its writing cut off?")
    _require_utf8(file, data)
    return data, data


def _require_utf8(file: Path, raw: Bytes) -> None:
    head = raw[:4]
    found = json.detect_encoding(head)  # by a mark, or by where the zero bytes are
    if found.startswith(("utf-16", "utf-32")) and head.replace(b"\0", b"").decode("latin-1").isprintable():
        raise TableError(f"{file}: expected UTF-8 text, found {found[:6].upper()}. Save it as UTF-8.")


def unpacked_limit() -> int:
    """The maximum unpacked size of a file in bytes: a share of the free memory."""
    free = memory.available()
    return (UNKNOWN_MEMORY if free is None else free) // COPIES


def too_large(file: Path, found: str, limit: int) -> str:
    """The problem of a file whose unpacked size exceeds a limit."""
    return (
        f"{file}: expected at most {limit:,} bytes once unpacked, found {found}. More does not "
        "fit into memory: split it, or write it as Parquet."
    )


def require_rows_fit(file: Path, raw: Bytes) -> None:
    """Check that a text of mostly line ends does not become more rows than fit into memory.

    Raises:
        TableError: if it does.
    """
    limit = unpacked_limit()
    if len(raw) * LINE_BYTES <= limit:  # fits even if every byte is a line
        return
    array, step = np.frombuffer(raw, dtype=np.uint8), 2**24
    lines = sum(int(np.count_nonzero(array[start : start + step] == 10)) for start in range(0, len(raw), step))
    if lines * LINE_BYTES > limit:
        raise TableError(
            f"{file}: expected at most {limit // LINE_BYTES:,} lines, for which there is memory, found {lines:,}. "
            "Split it, or write it as Parquet."
        )


def _gunzip(file: Path) -> bytes:
    parts, size, limit = [], 0, unpacked_limit()
    with gzip.open(file) as packed:
        while part := packed.read(2**22):
            parts.append(part)
            if (size := size + len(part)) > limit:
                raise TableError(too_large(file, f"{size:,} or more", limit))
    return b"".join(parts)


def _unzstd(file: Path, raw: Bytes) -> bytes:
    # polars unpacks zstd, which the standard library of Python 3.11 does not, but sets no limit.
    if (size := _zstd_bound(raw)) > (limit := unpacked_limit()):
        raise TableError(too_large(file, f"up to {size:,}", limit))
    text: str | None = pl.read_lines(literal(file), glob=False)["line"].str.join("\n").item()
    return f"{text}\n".encode() if text else b""  # the reader drops the last line end, too


def _zstd_bound(raw: Bytes) -> int:
    """An upper bound on the unpacked bytes of zstd frames, from the headers of their blocks (RFC 8878, section 3.1.1).

    The size declared by a frame is not trusted, since decompressors compare it only at the end.
    """
    size = place = 0
    while place < len(raw):
        if 0x184D2A50 <= _number(raw, place, 4) <= 0x184D2A5F:  # a skippable frame
            place += 8 + _number(raw, place + 4, 4)
            continue
        descriptor = _number(raw, place + 4, 1)
        place += _frame_header_size(descriptor)
        last = False
        while not last and place < len(raw):
            header = _number(raw, place, 3)
            last, kind, length = bool(header & 1), header >> 1 & 3, header >> 3
            size += length if kind < 2 else ZSTD_BLOCK
            place += 3 + (1 if kind == 1 else length)  # kind 1: one byte, repeated
        place += 4 * (descriptor >> 2 & 1)  # a checksum
    return size


def _frame_header_size(descriptor: int) -> int:
    single_segment = descriptor >> 5 & 1
    content_size = (single_segment, 2, 4, 8)[descriptor >> 6]
    dictionary_id = (0, 1, 2, 4)[descriptor & 3]
    return 4 + 1 + (1 - single_segment) + dictionary_id + content_size


def _number(raw: Bytes, place: int, size: int) -> int:
    return int.from_bytes(raw[place : place + size], "little")
