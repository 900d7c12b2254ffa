"""Made-up pairs of numbers as text, and small networks, for tests."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

PAD, BOS, EOS, UNK = 0, 1, 2, 3
WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven"]


@dataclass(frozen=True)
class Words:
    """A vocabulary of eight words."""

    bos: int = BOS
    eos: int = EOS
    pad: int = PAD
    unk: int = UNK

    @property
    def size(self) -> int:
        return 4 + len(WORDS)

    def encode(self, text: str) -> list[int]:
        return [4 + WORDS.index(word) if word in WORDS else UNK for word in text.split()]

    def decode(self, tokens) -> str:
        return " ".join(self.pieces(tokens))

    def pieces(self, tokens) -> list[str]:
        return [["<pad>", "<bos>", "<eos>", "<unk>", *WORDS][token] for token in tokens]


@dataclass(frozen=True)
class Pairs:
    """Pairs of texts in memory."""

    texts: tuple[tuple[str, str], ...]
    vocabulary: Words = Words()

    @property
    def lengths(self):
        return np.array([[len(side.split()) for side in pair] for pair in self.texts], np.int32).reshape(-1, 2)

    @property
    def digest(self) -> str:
        return hashlib.sha256(repr(self.texts).encode()).hexdigest()

    def __len__(self) -> int:
        return len(self.texts)

    def pair(self, row: int):
        return tuple(np.array(self.vocabulary.encode(text), np.int32) for text in self.texts[row])

    def source(self, row: int) -> str:
        return self.texts[row][0]

    def select(self, rows):
        return Pairs(tuple(self.texts[int(row)] for row in np.arange(len(self.texts))[rows]))


def made_up(count: int, *, seed: int, longest: int = 6) -> Pairs:
    """Sentences of one to so many words; the target is the source backwards."""
    rng = np.random.default_rng(seed)
    sources = [list(rng.choice(WORDS, rng.integers(1, longest + 1))) for _ in range(count)]
    return Pairs(tuple((" ".join(words), " ".join(words[::-1])) for words in sources))
