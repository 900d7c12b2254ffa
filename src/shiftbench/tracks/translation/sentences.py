"""The pairs of a part of a prepared folder, as data that a model of sequences learns from and is tested on."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shiftbench.errors import TableError
from shiftbench.tracks.translation import manifest, texts, tokenizing
from shiftbench.tracks.translation.shards import Lengths, Shards, Tokens, kind
from shiftbench.tracks.translation.tokenizing import Subwords


class _Pairs(Protocol):
    @property
    def lengths(self) -> Lengths: ...

    def pair(self, row: int) -> tuple[Tokens, Tokens]: ...


@dataclass(frozen=True)
class Texts:
    """Pairs that are tokenized when they are read; targets: "" where one is unknown."""

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    vocabulary: Subwords

    @cached_property
    def lengths(self) -> Lengths:
        """The number of tokens of each source and target [N, 2]."""
        rows = [[len(side) for side in self.pair(row)] for row in range(len(self.sources))]
        return np.array(rows, np.int32).reshape(-1, 2)

    def pair(self, row: int) -> tuple[Tokens, Tokens]:
        """The tokens of source and target."""
        words = self.vocabulary
        sides = words.encode(self.sources[row]), words.encode(self.targets[row], side=1)
        return np.array(sides[0], kind(words.size)), np.array(sides[1], kind(words.size))


@dataclass(frozen=True)
class SentencePairs:
    """N pairs of a part; see `methods.sequences.dataset.PairDataset`. rows: which of the pairs, and in which order."""

    pairs: _Pairs
    vocabulary: Subwords
    rows: npt.NDArray[np.int64]
    digest: str

    @classmethod
    def of(cls, folder: Path, part: str) -> SentencePairs:
        """The pairs of a part of a prepared folder.

        Raises:
            TableError: if it is not one, or its files are missing or damaged.
            MissingExtraError: if sentencepiece is not installed.
        """
        held = manifest.held_in(folder)
        words = vocabulary(folder)
        pairs: Shards | Texts
        if part == "train":
            pairs = Shards(tuple(folder.absolute() / entry["file"] for entry in manifest.shards(held)), words.size)
        else:
            read = texts.read(folder / held["parts"][part]["file"])
            targets = tuple(own[0] for own in read.references) if read.references else ("",) * len(read)
            pairs = Texts(tuple(read.sources or ()), targets, words)
        return cls(pairs, words, np.arange(held["counts"][part]), manifest.digest(held, part))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def lengths(self) -> Lengths:
        """The number of tokens of each source and target [N, 2]; 0 where a target is unknown."""
        return self.pairs.lengths[self.rows]

    def pair(self, row: int) -> tuple[Tokens, Tokens]:
        """The tokens of source and target, without the marks of beginning and end."""
        return self.pairs.pair(int(self.rows[row]))

    def source(self, row: int) -> str:
        """The source as text; of training pairs as decoded from their tokens."""
        if isinstance(self.pairs, Texts):
            return self.pairs.sources[int(self.rows[row])]
        return self.vocabulary.decode(self.pair(row)[0].tolist(), side=0)

    def select(self, rows: Sequence[int] | slice | npt.NDArray[Any]) -> SentencePairs:
        """These pairs alone; rows as NumPy takes them."""
        chosen = self.rows[rows if isinstance(rows, slice) else np.asarray(rows)]
        own = hashlib.sha256(self.digest.encode() + chosen.astype("<i8").tobytes()).hexdigest()
        return replace(self, rows=chosen, digest=own)


def vocabulary(folder: Path) -> Subwords:
    """The vocabulary of a prepared folder.

    Raises:
        TableError, MissingExtraError: as `SentencePairs.of`.
    """
    held = manifest.held_in(folder)
    if not held["shards"]:
        raise TableError(f"{folder}: expected pairs of train, which a vocabulary is learnt from, found none. Add them.")
    limits, path = manifest.limits(held), folder / held["vocabulary"]["file"]
    return tokenizing.read(path, languages=limits.languages, moses=limits.moses)
