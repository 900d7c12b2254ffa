"""Shards: files of packed maps and vector features of many requests, found through an index.

A shard is `MAGIC`, the number R of its requests, the offsets of 2 R blocks and the end of the last one, and these
blocks: first all maps, then all vector features. Numbers are little-endian, of 8 bytes.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import numpy as np

from shiftbench.errors import TableError
from shiftbench.io import files

MAGIC = b"shiftbench maps1"
COUNT = struct.Struct("<Q")
SPAN = struct.Struct("<QQ")
INDEX = len(MAGIC) + COUNT.size
KINDS = ("maps", "vectors")


def write_shard(path: Path, maps: Sequence[bytes], vectors: Sequence[bytes]) -> None:
    """Write the blocks of R requests, whole or not at all."""
    blocks = [*maps, *vectors]
    sizes = np.fromiter(map(len, blocks), dtype="<u8", count=len(blocks))
    places = INDEX + COUNT.size * (len(blocks) + 1) + np.append(0, np.cumsum(sizes))
    with files.replacing(path) as temporary, temporary.open("wb") as file:
        file.write(MAGIC + COUNT.pack(len(maps)) + places.astype("<u8").tobytes())
        file.writelines(blocks)


class Shard:
    """An open shard; close it after use, or use it in a `with`.

    Raises:
        TableError: if the file is not a shard, or cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file: IO[bytes] = path.open("rb", buffering=0)
        except OSError as error:
            raise TableError(f"{path}: expected a shard, found: {error.strerror}. Prepare the data again.") from None
        self._size = os.fstat(self._file.fileno()).st_size
        head = self._file.read(INDEX)
        if len(head) < INDEX or not head.startswith(MAGIC):
            self._file.close()
            raise self._damaged(f"a file that begins with {head[:16]!r}")
        (self.requests,) = COUNT.unpack_from(head, len(MAGIC))

    def __enter__(self) -> Shard:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def block(self, kind: str, number: int) -> bytes:
        """The "maps" or "vectors" block of a request, by its number in the shard.

        Raises:
            TableError: if the shard is truncated, or has no such request.
        """
        place = number + self.requests * KINDS.index(kind)
        span = self._read(INDEX + COUNT.size * place, SPAN.size)
        if not 0 <= number < self.requests or len(span) < SPAN.size:
            raise self._damaged(f"no request {number} among {self.requests}")
        begin, end = SPAN.unpack(span)
        data = self._read(begin, end - begin) if begin <= end <= self._size else b""
        if len(data) != end - begin:
            raise self._damaged(f"that request {number} ends at byte {end:,}, beyond its own end")
        return data

    def _read(self, place: int, size: int) -> bytes:
        self._file.seek(place)
        return self._file.read(size)

    def _damaged(self, found: str) -> TableError:
        return TableError(f"{self.path}: expected a whole shard, found {found}. Prepare the data again.")


def inflated(data: bytes, size: int) -> bytes:
    """The decompressed bytes of a block: exactly `size`, even of a hostile file that would unpack to more.

    Raises:
        ValueError, zlib.error: if there are more or fewer, or they are damaged.
    """
    engine = zlib.decompressobj()
    body = engine.decompress(data, size + 1)
    if len(body) != size or not engine.eof or engine.unused_data:
        raise ValueError(f"{len(body):,} bytes or no end, in place of {size:,}")
    return body
