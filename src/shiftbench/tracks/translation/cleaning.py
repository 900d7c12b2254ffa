"""Cleaning of parallel text, a block of lines at a time: normalized as by Moses, and dropped pair by pair by rules.

The rules are those of the published preparation (`clean_nmt_data` and `clean-corpus-n`), which names their limits but
not every unit: 1,024 is taken as characters, and the overlap as the Jaccard index of words made of letters.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import ModuleType

import numpy as np
import numpy.typing as npt

from shiftbench.errors import MissingExtraError, SettingsError

LETTERS = re.compile(r"[^\W\d_]+")
SPECIAL = re.compile(r"(?<!\\)[][()+*?.{}|^$]|\\\w")  # what makes a pattern more than plain text
REPLACED = "\N{REPLACEMENT CHARACTER}"  # in place of bytes that are not UTF-8, here or in an earlier conversion
Flags = Sequence[bool]
Lengths = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Cleaning:
    """The limits of the rules, as published.

    languages: codes of source and target. characters: of a sentence, at most. overlap: words of letters that both sides
    share, over all of them, from which on a pair is dropped. tokens: of a sentence, at most, and ratio: of the longer
    side to the shorter, after the vocabulary. moses: whether text is tokenized as by Moses first.

    Raises:
        SettingsError: listing invalid values.
    """

    languages: tuple[str, str] = ("en", "ru")
    characters: int = 1_024
    overlap: float = 0.05
    tokens: int = 250
    ratio: float = 1.5
    moses: bool = False

    def __post_init__(self) -> None:
        problems = []
        if not all(re.fullmatch("[a-z]{2,3}", code) for code in self.languages) or len({*self.languages}) != 2:
            shown = "-".join(self.languages)
            problems.append(f"languages: expected two codes such as en-ru, found {shown!r}. Name source and target.")
        if min(self.characters, self.tokens) < 1:
            found = f"{self.characters} and {self.tokens}"
            problems.append(f"characters and tokens: expected at least 1 of a sentence, found {found}.")
        if not self.overlap > 0:
            problems.append(f"overlap: expected a share above 0 (above 1 for no limit), found {self.overlap}.")
        if not self.ratio >= 1:
            problems.append(f"ratio: expected a number from 1 on, found {self.ratio}.")
        if problems:
            raise SettingsError(*problems)


# --- text ------------------------------------------------------------------------------------------------------------


def normalized(text: str, language: str) -> str:
    """Lines of text (separated by LF alone) with punctuation normalized, without characters that cannot be printed.

    Equal to `normalize-punctuation` and `remove-non-printing-char` of Moses on each line, with spaces collapsed; all
    lines go through each substitution at once, none of which can match a line end.

    Raises:
        MissingExtraError: if sacremoses is not installed.
    """
    for substitute in _substitutions(language):
        text = substitute(text)
    text = re.sub("  +", " ", printable(text))
    return "\n".join(map(str.strip, text.split("\n")))


def printable(text: str) -> str:
    """Text with a space for each character of the Unicode categories C (control, format, unassigned), but LF."""
    for sign in set(text) - {"\n"}:
        if unicodedata.category(sign)[0] == "C":
            text = text.replace(sign, " ")
    return text


@cache
def _substitutions(language: str) -> tuple[Callable[[str], str], ...]:
    """The substitutions of Moses for a language, in their order."""
    normalizer = library("sacremoses").MosesPunctNormalizer(lang=language, perl_parity=True)
    return tuple(_substitution(pattern, new) for pattern, new in normalizer.substitutions)


def _substitution(pattern: str, new: str) -> Callable[[str], str]:
    """What replaces a pattern in text; where it is plain text, or all that it changes are runs of spaces, faster."""
    if not SPECIAL.search(pattern):
        plain = pattern.replace("\\", "")
        return lambda text: text.replace(plain, new)
    needed = next((sign for sign in pattern if not sign.isascii()), "")
    pattern = "  +" if (pattern, new) == (" +", " ") else pattern
    compiled = re.compile(pattern.replace(r"\s", r"[^\S\n]").replace("[^<]", r"[^<\n]"))  # within a line
    return lambda text: compiled.sub(new, text) if needed in text else text


def library(name: str) -> ModuleType:
    """A library of the extra "translation".

    Raises:
        MissingExtraError: if it is not installed.
    """
    try:
        return import_module(name)
    except ImportError as error:
        raise MissingExtraError(
            f"texts: expected the package {name}, found: {error}. Install it: pip install 'shiftbench[translation]'"
        ) from None


# --- rules on text ---------------------------------------------------------------------------------------------------


def bad_encoding(sources: Sequence[str], targets: Sequence[str], _limits: Cleaning) -> Flags:
    """Pairs with bytes that are not UTF-8, or with the character that stands for such."""
    return [REPLACED in source or REPLACED in target for source, target in zip(sources, targets, strict=True)]


def empty(sources: Sequence[str], targets: Sequence[str], _limits: Cleaning) -> Flags:
    """Pairs of which a side is empty."""
    return [not source or not target for source, target in zip(sources, targets, strict=True)]


def long(sources: Sequence[str], targets: Sequence[str], limits: Cleaning) -> Flags:
    """Pairs of which a side has too many characters."""
    most = limits.characters
    return [len(source) > most or len(target) > most for source, target in zip(sources, targets, strict=True)]


def identical(sources: Sequence[str], targets: Sequence[str], _limits: Cleaning) -> Flags:
    """Pairs whose sides are the same."""
    return [source == target for source, target in zip(sources, targets, strict=True)]


def overlapping(sources: Sequence[str], targets: Sequence[str], limits: Cleaning) -> Flags:
    """Pairs whose sides share too many words, so that one of them is hardly translated."""
    words = LETTERS.findall
    return [
        bool(shared := (own := set(words(source))).intersection(other := words(target)))
        and len(shared) >= limits.overlap * len(own.union(other))
        for source, target in zip(sources, targets, strict=True)
    ]


RULES: tuple[Callable[[Sequence[str], Sequence[str], Cleaning], Flags], ...] = (
    bad_encoding, empty, long, identical, overlapping,
)  # fmt: skip
"""The rules on the text of a pair, in the order in which one is named as the reason."""


def one_word(sources: Sequence[str]) -> Flags:
    """Phrases of one word; for Reddit."""
    return [len(source.split()) < 2 for source in sources]


def without_letters(sources: Sequence[str]) -> Flags:
    """Lines without a letter; for Reddit."""
    return [LETTERS.search(source) is None for source in sources]


REDDIT: tuple[Callable[[Sequence[str]], Flags], ...] = (without_letters, one_word)
"""The rules on single sentences, as the paper applies them to comments (Shifts 1.0, Appendix D.1)."""


# --- rules on tokens -------------------------------------------------------------------------------------------------


def token_count(lengths: Lengths, limits: Cleaning) -> npt.NDArray[np.bool_]:
    """Pairs [N, 2] of which a side has no token, or too many."""
    return np.asarray(((lengths < 1) | (lengths > limits.tokens)).any(axis=1), np.bool_)


def token_ratio(lengths: Lengths, limits: Cleaning) -> npt.NDArray[np.bool_]:
    """Pairs [N, 2] of which a side has too many times the tokens of the other."""
    return np.asarray(lengths.max(axis=1) > limits.ratio * lengths.min(axis=1), np.bool_)


TOKEN_RULES: tuple[Callable[[Lengths, Cleaning], npt.NDArray[np.bool_]], ...] = (token_count, token_ratio)
"""The rules on the numbers of tokens of a pair, in the order in which one is named as the reason."""


# --- blocks ----------------------------------------------------------------------------------------------------------


def cleaned(sources: bytes, targets: bytes, limits: Cleaning) -> tuple[list[str], list[str], dict[str, int]]:
    """The pairs of a block that no rule on text drops, and how many each rule drops.

    sources, targets: lines, as many on either side, separated by LF.

    Raises:
        MissingExtraError: if sacremoses is not installed.
    """
    texts = [_lines(data, side, limits) for side, data in enumerate((sources, targets))]
    broken = [(rule.__name__, rule(texts[0], texts[1], limits)) for rule in RULES]
    rows, counts = unbroken(len(texts[0]), broken)
    return [texts[0][row] for row in rows.tolist()], [texts[1][row] for row in rows.tolist()], counts


def unbroken(
    pairs: int, broken: Sequence[tuple[str, Flags | npt.NDArray[np.bool_]]]
) -> tuple[npt.NDArray[np.int64], dict[str, int]]:
    """The rows of pairs that break no rule, and how many each rule drops; broken: by name, in order."""
    dropped, counts = np.zeros(pairs, np.bool_), dict[str, int]()
    for name, flags in broken:
        own = np.asarray(flags, np.bool_) & ~dropped
        counts[name] = int(np.count_nonzero(own))
        dropped |= own
    return np.flatnonzero(~dropped), counts


def _lines(data: bytes, side: int, limits: Cleaning) -> list[str]:
    """Lines of one side, normalized, and tokenized if that is wanted."""
    language = limits.languages[side]
    lines = normalized(data.decode("utf-8", "replace"), language).split("\n")
    return list(map(tokenizer(language), lines)) if limits.moses else lines


@cache
def tokenizer(language: str) -> Callable[[str], str]:
    """The tokenizer of Moses with split hyphens, which escapes what XML does not allow.

    Raises:
        MissingExtraError: if sacremoses is not installed.
    """
    moses = library("sacremoses").MosesTokenizer(lang=language)

    def tokenized(text: str) -> str:
        found: str = moses.tokenize(text, aggressive_dash_splits=True, return_str=True)
        return found

    return tokenized
