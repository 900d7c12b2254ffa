"""Models of the Marian form (Junczys-Dowmunt et al., ACL 2018) on disk, read by transformers, as members."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import DynamicCache, EncoderDecoderCache, MarianMTModel, MarianTokenizer
from transformers.modeling_outputs import BaseModelOutput

from shiftbench.errors import SettingsError, counted, first_line
from shiftbench.methods.sequences.batch import padded
from shiftbench.methods.sequences.dataset import Tokens


class MarianVocabulary:
    """The tokens of a model's own tokenizer, whose texts are of the source to encode and of the target to decode."""

    def __init__(self, tokenizer: Any, config: Any) -> None:
        self.tokenizer = tokenizer
        self.size = int(config.decoder_vocab_size or config.vocab_size)
        self.bos, self.eos, self.pad = config.decoder_start_token_id, config.eos_token_id, config.pad_token_id
        self.unk = int(tokenizer.unk_token_id)

    def encode(self, text: str) -> list[int]:
        """The tokens of a source."""
        tokens: list[int] = self.tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"]
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of a target."""
        text: str = self.tokenizer.decode(list(tokens), skip_special_tokens=True, use_source_tokenizer=False)
        return text

    def pieces(self, tokens: Sequence[int]) -> list[str]:
        """Each token of a target as people may read it."""
        pieces: list[str] = self.tokenizer.convert_ids_to_tokens(list(tokens))
        return pieces

    @cached_property
    def words(self) -> dict[str, int]:
        """Every token by name."""
        words: dict[str, int] = self.tokenizer.get_vocab()
        return words


class MarianMember:
    """A model as a member of an ensemble; see `decoding.Member`."""

    def __init__(self, model: Any, vocabulary: MarianVocabulary) -> None:
        self.model, self.vocabulary = model, vocabulary
        self.words, self.start, self.eos, self.pad = vocabulary.size, vocabulary.bos, vocabulary.eos, vocabulary.pad
        self.banned: tuple[int, ...] = tuple({self.start, self.pad} - {self.eos})
        self.positions = int(model.config.max_position_embeddings)

    @property
    def place(self) -> torch.device:
        """The device it computes on."""
        place: torch.device = self.model.device
        return place

    def encoded(self, sources: Sequence[Tokens], counts: Tensor) -> tuple[Tensor, Tensor]:
        """The encoder's states of each source, and which are no padding, so many times each: [R, S, width], [R, S]."""
        given = padded(sources, self.pad, self.place, last=self.eos)
        lengths = torch.tensor([len(tokens) + 1 for tokens in sources], device=self.place)
        seen = (torch.arange(given.shape[1], device=self.place) < lengths[:, None]).long()
        states = self.model.get_encoder()(input_ids=given, attention_mask=seen)[0]
        return states.repeat_interleave(counts, 0), seen.repeat_interleave(counts, 0)

    def begin(self, sources: Sequence[Tokens], width: int) -> MarianSearch:
        """The state of a search of `width` rows for each source."""
        return MarianSearch(self, *self.encoded(sources, torch.full((len(sources),), width, device=self.place)))

    def forced(self, sources: Sequence[Tokens], targets: Sequence[Sequence[Tokens]]) -> Tensor:
        """Log-probabilities [L, V] at every token, and eos, of the given targets of each source, one after another."""
        rows = [tokens for each in targets for tokens in each]
        states, seen = self.encoded(sources, torch.tensor([len(each) for each in targets], device=self.place))
        before = padded(rows, self.pad, self.place, first=self.start)
        logits = self.model(
            encoder_outputs=BaseModelOutput(states), attention_mask=seen, decoder_input_ids=before, use_cache=False
        ).logits
        lengths = torch.tensor([len(tokens) + 1 for tokens in rows], device=self.place)
        real = torch.arange(before.shape[1], device=self.place) < lengths[:, None]
        found: Tensor = logits[real].log_softmax(-1)
        return found


class MarianSearch:
    """The cache of a model for rows that grow by one token at a time; see `decoding.State`."""

    def __init__(self, member: MarianMember, states: Tensor, seen: Tensor) -> None:
        self.member, self.states, self.seen = member, states, seen
        self.past = EncoderDecoderCache(DynamicCache(), DynamicCache())

    def step(self, tokens: Tensor) -> Tensor:
        """Log-probabilities [R, V] of what follows when each row is extended by one of `tokens` [R]."""
        logits = self.member.model(
            encoder_outputs=BaseModelOutput(self.states),
            attention_mask=self.seen,
            decoder_input_ids=tokens[:, None],
            past_key_values=self.past,
            use_cache=True,
        ).logits
        found: Tensor = logits[:, -1].log_softmax(-1)
        return found

    def reorder(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue with these rows; those of a sentence share its source, so that it follows them."""
        self.past.batch_select_indices(rows)
        if sentences is not None:
            self.states, self.seen = self.states[rows], self.seen[rows]


def members(folders: Sequence[str], place: torch.device) -> list[MarianMember]:
    """The models in these folders, from which alone they are read; no code in them is executed.

    Raises:
        SettingsError: if one cannot be read, or has another vocabulary than the first.
    """
    found = [_read(Path(folder), place) for folder in folders]
    for folder, each in zip(folders, found, strict=True):
        if each.vocabulary.words != found[0].vocabulary.words:
            raise SettingsError(
                f"models: expected the vocabulary of {folders[0]} ({found[0].words:,} tokens), found another in "
                f"{folder} ({each.words:,} tokens). Use models that were trained with one vocabulary."
            )
    return found


def _read(folder: Path, place: torch.device) -> MarianMember:
    try:
        tokenizer = MarianTokenizer.from_pretrained(folder, local_files_only=True)
        load: Any = MarianMTModel.from_pretrained
        model, info = load(folder, local_files_only=True, dtype=torch.float32, output_loading_info=True)
        if absent := sorted(info["missing_keys"]):  # which the library would fill with random numbers
            raise ValueError(f"no weights of {absent[0]}, nor of {counted(len(absent) - 1, 'other')}")
    except Exception as error:  # the library raises whatever its parts raise
        raise SettingsError(
            f"models: expected a model of the Marian form in {folder}, found: {type(error).__name__}: "
            f"{first_line(error)}. Save one there with save_pretrained, its tokenizer too."
        ) from error
    return MarianMember(model.to(place).eval(), MarianVocabulary(tokenizer, model.config))
