"""The vocabulary: subword units of both languages together, learnt by SentencePiece from cleaned text."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shiftbench.errors import SettingsError, TableError, first_line
from shiftbench.io import files
from shiftbench.tracks.translation import cleaning
from shiftbench.tracks.translation.cleaning import library

PAD, UNK, BOS, EOS = range(4)
COVERAGE = 0.9999  # of the characters of the text; the rest, each very rare, are unknown
FEWEST, MOST = 100, 2**31 - 1
SPACE = "▁"  # what SentencePiece writes for a space
SPLIT_HYPHEN = "@-@"


@dataclass(frozen=True)
class Subwords:
    """A vocabulary of both languages; pickled as the bytes of its model.

    model: as SentencePiece writes it. languages: codes of source and target. moses: whether text was tokenized as by
    Moses before.
    """

    model: bytes
    languages: tuple[str, str]
    moses: bool = False

    pad, unk, bos, eos = PAD, UNK, BOS, EOS

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self.model, "languages": self.languages, "moses": self.moses}

    @cached_property
    def _processor(self) -> Any:
        return library("sentencepiece").SentencePieceProcessor(model_proto=self.model)

    @property
    def size(self) -> int:
        """The number of tokens."""
        return int(self._processor.get_piece_size())

    def encode(self, text: str, *, side: int = 0) -> list[int]:
        """The tokens of a sentence, which is normalized as training text is; side: 0 for the source, 1 for the target.

        Raises:
            MissingExtraError: if sentencepiece or sacremoses is not installed.
        """
        plain = cleaning.normalized(text.replace("\n", " "), self.languages[side])
        found: list[int] = self._processor.encode(self._tokenizer(side)(plain) if self.moses else plain)
        return found

    def encode_cleaned(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of sentences that are cleaned already."""
        found: list[list[int]] = self._processor.encode(list(texts))
        return found

    def decode(self, tokens: Sequence[int], *, side: int = 1) -> str:
        """The sentence that tokens make; by default one of the target language."""
        text: str = self._processor.decode([int(token) for token in tokens])
        if not self.moses:
            return text
        words = text.replace(f" {SPLIT_HYPHEN} ", "-").split()
        found: str = library("sacremoses").MosesDetokenizer(lang=self.languages[side]).detokenize(words)
        return found

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Each token as text, with a space where a word begins."""
        found: list[str] = self._processor.id_to_piece([int(token) for token in tokens])
        return [piece.replace(SPACE, " ") for piece in found]

    def _tokenizer(self, side: int) -> Any:
        return cleaning.tokenizer(self.languages[side])


def learnt(texts: Iterable[str], size: int, *, languages: tuple[str, str], moses: bool = False) -> Subwords:
    """The vocabulary of byte-pair encoding with at most `size` tokens; the same for the same texts in the same order.

    Raises:
        SettingsError: if it is too small for the characters of the text.
        MissingExtraError: if sentencepiece is not installed.
    """
    model = io.BytesIO()
    try:
        library("sentencepiece").SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=model,
            model_type="bpe",
            vocab_size=size,
            hard_vocab_limit=False,
            character_coverage=COVERAGE,
            normalization_rule_name="identity",
            pad_id=PAD,
            unk_id=UNK,
            bos_id=BOS,
            eos_id=EOS,
            num_threads=1,
            minloglevel=2,
        )
    except RuntimeError as error:
        raise SettingsError(
            f"vocabulary: expected enough tokens for the characters of the text, found {size:,}: {first_line(error)}"
        ) from None
    return Subwords(model.getvalue(), languages, moses)


def read(path: Path, *, languages: tuple[str, str], moses: bool) -> Subwords:
    """The vocabulary in a file.

    Raises:
        TableError: if it is no such file.
        MissingExtraError: if sentencepiece is not installed.
    """
    try:
        found = Subwords(files.read_bytes(path), languages, moses)
        _ = found.size
    except (OSError, RuntimeError) as error:
        raise TableError(
            f"{path}: expected a vocabulary of SentencePiece, found: {first_line(error)}. Prepare the data again."
        ) from None
    return found
