"""The network: a Transformer from source tokens to the next target token (Vaswani et al., NeurIPS 2017).

Its plain forward pass scores all tokens of given targets at once; `begin` gives the state of a search, which keeps the
keys and values of all earlier tokens, so that one more token costs one token's work.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from shiftbench.methods.sequences.batch import padded
from shiftbench.methods.sequences.dataset import Tokens


class Keys(NamedTuple):
    """Keys and values [B, heads, T, width / heads], and which of them may be seen [B or 1, 1, T or 1, T]; None: all."""

    keys: Tensor
    values: Tensor
    seen: Tensor | None = None


Extend = Callable[[Keys], Keys]


class Attention(nn.Module):
    """Attention of several heads to keys and values of the same sequence or another."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value, self.out = (nn.Linear(width, width) for _ in range(4))

    def keys(self, states: Tensor, seen: Tensor | None = None) -> Keys:
        """The keys and values of states [B, T, width]."""
        return Keys(self._split(self.key(states)), self._split(self.value(states)), seen)

    def forward(self, states: Tensor, to: Keys) -> Tensor:
        """Attention of states [B, T, width] over these keys."""
        found = functional.scaled_dot_product_attention(
            self._split(self.query(states)), to.keys, to.values, to.seen, self.dropout if self.training else 0.0
        )
        whole: Tensor = self.out(found.transpose(1, 2).flatten(2))
        return whole

    def _split(self, states: Tensor) -> Tensor:
        return states.reshape(*states.shape[:2], self.heads, -1).transpose(1, 2)


class Layer(nn.Module):
    """Attention to itself, in a decoder to the source, and a feed-forward network, each added to what it is given."""

    def __init__(self, settings: Mapping[str, Any], *, crossed: bool) -> None:
        super().__init__()
        width, heads, rate = settings["width"], settings["heads"], settings["attention_dropout"]
        self.first = settings["norm_first"]
        self.own = Attention(width, heads, rate)
        self.cross = Attention(width, heads, rate) if crossed else None
        self.wide, self.narrow = nn.Linear(width, settings["feed_forward"]), nn.Linear(settings["feed_forward"], width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(3 if crossed else 2))
        self.drop = nn.Dropout(settings["dropout"])

    def forward(self, states: Tensor, extend: Extend, source: Keys | None = None) -> Tensor:
        """States [R, T, width] after this layer; `extend` gives the keys to attend to, from those of these states."""
        norms = iter(self.norms)
        states = self._added(next(norms), states, lambda given: self.own(given, extend(self.own.keys(given))))
        if self.cross is not None and source is not None:
            cross, sentences = self.cross, len(source.keys)
            # Rows of a sentence stand together: their tokens are queries of one attention, so its keys are not copied.
            states = self._added(
                next(norms),
                states,
                lambda given: cross(given.reshape(sentences, -1, given.shape[2]), source).reshape(given.shape),
            )
        return self._added(next(norms), states, nn.Sequential(self.wide, nn.ReLU(), self.narrow))

    def _added(self, norm: nn.Module, states: Tensor, part: Callable[[Tensor], Tensor]) -> Tensor:
        if self.first:
            found: Tensor = states + self.drop(part(norm(states)))
        else:
            found = norm(states + self.drop(part(states)))
        return found


class Transformer(nn.Module):
    """An encoder of the source and a decoder, whose output layer is its embedding, as published."""

    def __init__(self, settings: Mapping[str, Any], special: Mapping[str, int]) -> None:
        super().__init__()
        self.words, self.start, self.eos, self.pad = (special[name] for name in ("size", "bos", "eos", "pad"))
        self.banned: tuple[int, ...] = (self.start, self.pad)
        width, self.longest = settings["width"], settings["longest"]
        self.target = nn.Embedding(self.words, width, padding_idx=self.pad)
        self.source = self.target if settings["share_all"] else nn.Embedding(self.words, width, padding_idx=self.pad)
        self.encoder = nn.ModuleList(Layer(settings, crossed=False) for _ in range(settings["encoder_layers"]))
        self.decoder = nn.ModuleList(Layer(settings, crossed=True) for _ in range(settings["decoder_layers"]))
        ends = [nn.LayerNorm(width) if settings["norm_first"] else nn.Identity() for _ in range(2)]
        self.encoder_end, self.decoder_end = ends
        self.drop = nn.Dropout(settings["dropout"])
        self.scale = math.sqrt(width)
        self.register_buffer("places", positions(self.longest + 1, width), persistent=False)
        self._initialise()

    @property
    def place(self) -> torch.device:
        """The device it computes on."""
        return self.target.weight.device

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        """States [B, S, width] of source tokens [B, S], and which of them are no padding [B, 1, 1, S]."""
        seen = (source != self.pad)[:, None, None]
        states = self._embedded(self.source, source, 0)
        for layer in self.encoder:
            states = layer(states, lambda keys: keys._replace(seen=seen))
        return self.encoder_end(states), seen

    def decode(self, before: Tensor, source: Sequence[Keys]) -> Tensor:
        """States [R, T, width] after each of `before` [R, T], given what each layer sees of the source."""
        ones = torch.ones(before.shape[1], before.shape[1], dtype=torch.bool, device=before.device)
        states = self._embedded(self.target, before, 0)
        for layer, keys in zip(self.decoder, source, strict=True):
            states = layer(states, lambda own: own._replace(seen=ones.tril()[None, None]), keys)
        return states

    def seen(self, encoded: tuple[Tensor, Tensor]) -> list[Keys]:
        """The keys and values of encoded sources for each layer of the decoder."""
        return [layer.cross.keys(*encoded) for layer in self._decoding()]

    def forward(self, source: Tensor, before: Tensor) -> Tensor:
        """Logits [B, T, V] of the token after each of `before` [B, T], given sources [B, S]."""
        return self.logits(self.decode(before, self.seen(self.encode(source))))

    def batch(self, sources: Sequence[Tokens]) -> Tensor:
        """Sources as the network takes them: [B, S] with eos and padding."""
        return padded(sources, self.pad, self.place, last=self.eos)

    def forced(self, sources: Sequence[Tokens], targets: Sequence[Sequence[Tokens]]) -> Tensor:
        """Log-probabilities [L, V] at every token, and eos, of the given targets of each source, one after another."""
        rows = [tokens for each in targets for tokens in each]
        before = padded(rows, self.pad, self.place, first=self.start)
        counts = torch.tensor([len(each) for each in targets], device=self.place)
        states, mask = self.encode(self.batch(sources))
        encoded = states.repeat_interleave(counts, 0), mask.repeat_interleave(counts, 0)
        lengths = torch.tensor([len(tokens) + 1 for tokens in rows], device=self.place)
        real = torch.arange(before.shape[1], device=self.place) < lengths[:, None]
        return self.logits(self.decode(before, self.seen(encoded))[real]).log_softmax(-1)

    def begin(self, sources: Sequence[Tokens], width: int) -> Search:
        """The state of a search of `width` rows for each source."""
        return Search(self, self.seen(self.encode(self.batch(sources))), rows=len(sources) * width)

    def step(self, token: Tensor, place: int, extends: Sequence[Extend], source: Sequence[Keys]) -> Tensor:
        """Logits [R, V] after one more token [R] at this place."""
        states = self._embedded(self.target, token[:, None], place)
        for layer, extend, keys in zip(self.decoder, extends, source, strict=True):
            states = layer(states, extend, keys)
        return self.logits(states[:, 0])

    def _embedded(self, embedding: nn.Embedding, tokens: Tensor, start: int) -> Tensor:
        end = start + tokens.shape[1]
        if end > len(self.get_buffer("places")):
            raise ValueError(f"expected at most {self.longest:,} tokens, found {end - 1:,}")
        whole: Tensor = self.drop(embedding(tokens) * self.scale + self.get_buffer("places")[start:end])
        return whole

    def logits(self, states: Tensor) -> Tensor:
        """Logits […, V] of the next token after states […, width]."""
        return functional.linear(self.decoder_end(states), self.target.weight)

    def _decoding(self) -> Iterator[Any]:
        return iter(self.decoder)

    def _initialise(self) -> None:
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)
            elif isinstance(module, nn.Embedding):
                nn.init.normal_(module.weight, std=module.embedding_dim**-0.5)
                with torch.no_grad():
                    module.weight[self.pad].zero_()


class Search:
    """The cache of a network for rows that grow by one token at a time: the rows of a sentence are consecutive."""

    def __init__(self, net: Transformer, source: list[Keys], *, rows: int) -> None:
        self.net, self.source, self.rows = net, source, rows
        self.past: list[Keys | None] = [None] * len(source)
        self.length = 0

    def step(self, tokens: Tensor) -> Tensor:
        """Log-probabilities [R, V] of what follows when each row is extended by one of `tokens` [R]."""
        extends = [self._extend(layer) for layer in range(len(self.past))]
        logits = self.net.step(tokens, self.length, extends, self.source)
        self.length += 1
        return logits.log_softmax(-1)

    def reorder(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue with these rows, and these sentences alone; None keeps all sentences."""
        self.past = [each and Keys(each.keys[rows], each.values[rows]) for each in self.past]
        if sentences is not None:
            self.source = [Keys(*(part[sentences] for part in each if part is not None)) for each in self.source]

    def _extend(self, layer: int) -> Extend:
        def extended(new: Keys) -> Keys:
            past = self.past[layer]
            if past is not None:
                new = Keys(torch.cat([past.keys, new.keys], 2), torch.cat([past.values, new.values], 2))
            self.past[layer] = new
            return new

        return extended


def positions(count: int, width: int) -> Tensor:
    """Sines and cosines of places [count, width] (Vaswani et al. 2017, section 3.5)."""
    half = width // 2
    rates = torch.exp(torch.arange(half) * -(math.log(10_000.0) / max(1, half - 1)))
    angles = torch.arange(count)[:, None] * rates
    return functional.pad(torch.cat([angles.sin(), angles.cos()], 1), (0, width - 2 * half))
