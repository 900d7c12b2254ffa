"""Training and prediction data: pairs of a source and a target sequence of tokens, read one at a time."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from shiftbench.errors import counted

Tokens = npt.NDArray[np.integer[Any]]
Lengths = npt.NDArray[np.int32]

MOST_NAMED = 20  # pairs with problems


class Vocabulary(Protocol):
    """The tokens that a text is made of, numbered from 0; pickled for other processes."""

    @property
    def size(self) -> int:
        """V, how many there are."""

    @property
    def bos(self) -> int:
        """The token before the first of a target."""

    @property
    def eos(self) -> int:
        """The token after the last of a sequence."""

    @property
    def pad(self) -> int:
        """The token that fills up shorter sequences of a batch."""

    @property
    def unk(self) -> int:
        """The token of whatever the vocabulary lacks."""

    def encode(self, text: str) -> list[int]:
        """The tokens of a text, none of them bos, eos or pad."""

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of tokens."""

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Each token as people may read it."""


class PairDataset(Protocol):
    """N pairs that are read on demand. Pickled for other processes."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The tokens of both sides."""

    @property
    def lengths(self) -> Lengths:
        """The number of tokens of each source and target [N, 2]; 0 where a target is unknown."""

    @property
    def digest(self) -> str:
        """The SHA-256 of what the pairs are."""

    def __len__(self) -> int:
        """N, the number of pairs."""

    def pair(self, row: int) -> tuple[Tokens, Tokens]:
        """The tokens of source and target, without bos and eos."""

    def source(self, row: int) -> str:
        """The source as text, for models with a vocabulary of their own."""

    def select(self, rows: Any) -> PairDataset:
        """These pairs alone."""


@dataclass(frozen=True)
class Sources:
    """Sources as text alone, for models that were trained elsewhere and have a vocabulary of their own.

    Attributes:
        texts: [N].
    """

    texts: tuple[str, ...]

    @property
    def digest(self) -> str:
        """The SHA-256 of the texts."""
        total = hashlib.sha256()
        for text in self.texts:
            total.update(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())
        return total.hexdigest()

    def __len__(self) -> int:
        return len(self.texts)

    def source(self, row: int) -> str:
        """A source as text."""
        return self.texts[row]

    def select(self, rows: Any) -> Sources:
        """These sources alone."""
        return Sources(tuple(self.texts[row] for row in np.arange(len(self))[rows].tolist()))


def learnable(lengths: Lengths, most: int) -> npt.NDArray[np.int64]:
    """The pairs whose source and target, with eos, have at most so many tokens, and are not empty."""
    return np.flatnonzero(((lengths > 0) & (lengths < most)).all(axis=1))


def training_problems(dataset: PairDataset, part: str, *, longest: int) -> Iterator[str]:
    """Everything wrong with pairs to learn from, up to `MOST_NAMED`; each is read once."""
    rows = learnable(dataset.lengths, longest) if len(dataset) else np.empty(0, np.int64)
    if not len(rows):
        found = f"{counted(len(dataset), 'pair')}, all empty or longer" if len(dataset) else "none"
        yield f"{part}: expected at least one pair of 1 to {longest - 1:,} tokens a side, found {found}."
    named = 0
    for row in rows.tolist():
        for side, tokens in zip(("source", "target"), dataset.pair(row), strict=True):
            if problem := token_problem(tokens, dataset.vocabulary.size):
                yield f"{part}, pair {row}, {side}: {problem} Prepare it again with this vocabulary."
                named += 1
        if named >= MOST_NAMED:
            return


def token_problem(tokens: Tokens, size: int) -> str:
    """What is wrong with the tokens of a sequence, or ""."""
    if tokens.ndim != 1 or tokens.dtype.kind not in "iu":
        return f"expected whole numbers [T], found {tokens.dtype} of shape {tokens.shape}."
    if tokens.size and not 0 <= int(tokens.min()) <= int(tokens.max()) < size:
        outside = int(tokens[(tokens < 0) | (tokens >= size)][0])
        return f"expected tokens from 0 to {size - 1:,}, found {outside}."
    return ""
