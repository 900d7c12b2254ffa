"""Shards of tokenized pairs: `.bin` holds the tokens, source before target, `.idx` the two lengths of each pair."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.errors import TableError
from shiftbench.io import files

SMALL = 2**16  # tokens that fit into two bytes
OPENED = 256  # shards that are mapped at a time
Tokens = npt.NDArray[np.integer[Any]]
Side = Sequence[int] | Tokens
Lengths = npt.NDArray[np.int32]


def kind(size: int) -> np.dtype[Any]:
    """The type of the tokens of a vocabulary in a shard."""
    return np.dtype("<u2" if size <= SMALL else "<u4")


def write(path: Path, pairs: Iterable[tuple[Side, Side]], *, size: int) -> tuple[Path, Path]:
    """Write pairs of tokens as a shard, its `.idx` last; size: of the vocabulary."""
    sides = [side for pair in pairs for side in pair]
    tokens = np.fromiter(chain.from_iterable(sides), kind(size))
    lengths = np.array([len(side) for side in sides], "<i4").reshape(-1, 2)
    found = path.with_suffix(".bin"), path.with_suffix(".idx")
    for file, numbers in zip(found, (tokens, lengths), strict=True):
        with files.replacing(file) as temporary:
            temporary.write_bytes(numbers.tobytes())
    return found


@dataclass(frozen=True)
class Shards:
    """N pairs in several shards, mapped into memory when they are read.

    paths: of the `.bin` files. size: of the vocabulary.

    Raises:
        TableError: naming shards that are damaged.
    """

    paths: tuple[Path, ...]
    size: int
    _starts: npt.NDArray[np.int64] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        counts = [path.with_suffix(".idx").stat().st_size // 8 for path in self.paths]
        object.__setattr__(self, "_starts", np.cumsum([0, *counts]))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "lengths"}

    def __len__(self) -> int:
        return int(self._starts[-1])

    @cached_property
    def lengths(self) -> Lengths:
        """The number of tokens of each source and target [N, 2]."""
        found = [_lengths(path) for path in self.paths]
        return np.concatenate(found) if found else np.empty((0, 2), np.int32)

    def pair(self, row: int) -> tuple[Tokens, Tokens]:
        """The tokens of source and target."""
        number = int(np.searchsorted(self._starts, row, side="right")) - 1
        tokens, ends = _opened(self.paths[number], self.size)
        at = 2 * (row - int(self._starts[number]))
        first, middle, last = ends[at : at + 3].tolist()
        return tokens[first:middle], tokens[middle:last]


def _lengths(path: Path) -> Lengths:
    return np.fromfile(path.with_suffix(".idx"), "<i4").reshape(-1, 2)


@lru_cache(OPENED)
def _opened(path: Path, size: int) -> tuple[Tokens, npt.NDArray[np.int64]]:
    """The tokens of a shard, and where each side begins [2 N + 1].

    Raises:
        TableError: if its two files do not fit.
    """
    ends = np.concatenate([[0], np.cumsum(_lengths(path), dtype=np.int64)])
    held = path.stat().st_size
    if held != int(ends[-1]) * kind(size).itemsize:
        raise TableError(
            f"{path}: expected {int(ends[-1]):,} tokens as its index tells, found {held:,} bytes. Prepare the data "
            "again."
        )
    return np.asarray(np.memmap(path, kind(size), "r")), ends
