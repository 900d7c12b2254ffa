"""The words of two made-up languages: roots by chance from a fixed seed, so that the languages never change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

Value = TypeVar("Value")

SEED = 2021
COUNTS = {"nouns": 100, "verbs": 50, "adjectives": 30, "times": 10, "names": 20}
SYNONYMS, SLANG = 0.25, 0.4  # shares of words with two translations, and with a slang form
GENDERS = 3
LONG = str.maketrans("aeiou", "āēīōū")  # how the target writes names
SOURCE = (tuple("bdfghklmnprstvz"), tuple("aeiou"), ("", "n", "r", "s", "l", "k"))
TARGET = ((*"bčdgjklmnprsštvzž", "st", "kr", "pl"), tuple("aeiouě"), tuple("bdgklmnrstvž"))
FUNCTION = {
    "determiner": ("el", "un"),
    "pronoun": ("mi", "tu", "jo", "nos", "vos", "ilos"),  # 1st to 3rd person, singular and plural
    "preposition": ("ad", "sub", "kum", "dis"),
    "particle": ("da", "vil", "nu", "ka", "ro", "kon", "ek"),  # past, future, not, question, of, who, and
}
PAST, FUTURE, NOT, WHETHER, OF, WHO, AND = FUNCTION["particle"]


class Draw:
    """Choices from one stream of random numbers, drawn in blocks, which is faster than one by one."""

    def __init__(self, *key: int) -> None:
        self._rng = np.random.default_rng(key)
        self._held: list[float] = []

    def chance(self, share: float) -> bool:
        """Whether something happens that does so with this probability."""
        return self._number() < share

    def pick(self, values: Sequence[Value]) -> Value:
        """One of some values, all equally likely."""
        return values[int(self._number() * len(values))]

    def _number(self) -> float:
        if not self._held:
            self._held = self._rng.random(64).tolist()
        return self._held.pop()


@dataclass(frozen=True)
class Word:
    """A concept: its source form, its target stems (each a valid translation) with their genders, its slang form."""

    source: str
    stems: tuple[str, ...]
    genders: tuple[int, ...]
    slang: str = ""


def _roots(draw: Draw, parts: tuple[Sequence[str], ...], syllables: Sequence[int]) -> Iterator[str]:
    """Made-up roots, each once."""
    onsets, vowels, ends = parts
    seen = {word for words in FUNCTION.values() for word in words}
    while True:
        root = "".join(draw.pick(onsets) + draw.pick(vowels) for _ in range(draw.pick(syllables))) + draw.pick(ends)
        if root not in seen:
            seen.add(root)
            yield root


def _words() -> dict[str, tuple[Word, ...]]:
    draw = Draw(SEED)
    sources, targets = _roots(draw, SOURCE, (2, 2, 3)), _roots(draw, TARGET, (1, 2, 2))
    found: dict[str, list[Word]] = {kind: [] for kind in COUNTS}
    for kind, count in COUNTS.items():
        for _ in range(count):
            source = next(sources)
            if kind == "names":
                found[kind].append(
                    Word(source.capitalize(), (source.rstrip("aeiou").translate(LONG).capitalize(),), (0,))
                )
                continue
            stems = tuple(next(targets) for _ in range(1 + draw.chance(SYNONYMS)))
            own = next(sources) if kind != "times" and draw.chance(SLANG) else ""
            found[kind].append(Word(source, stems, tuple(draw.pick(range(GENDERS)) for _ in stems), own))
    return {kind: tuple(words) for kind, words in found.items()}


WORDS = _words()
"""Kind → its words."""
