"""Search for the likeliest sequences under an ensemble, samples of it, and the scores of given ones.

The ensemble gives a token the probability sum_m w_m p_m(token | before). As "pe", the product of expectations, all
members have the weight 1/M at every token; as "ep", the expectation of products, they are weighted by the probability
that they gave to the tokens before (Malinin & Gales, ICLR 2021, section 2), so that a sequence has the probability
mean_m prod_t p_m.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from shiftbench.ensembles import Posteriors
from shiftbench.errors import SettingsError
from shiftbench.methods.sequences.dataset import Tokens

Combine = Literal["pe", "ep"]

BLOCK_VALUES = 1 << 24  # numbers of posteriors [M, L, V] that are held at a time


class State(Protocol):
    """The cache of a member for rows that grow by one token at a time; the rows of a sentence are consecutive."""

    def step(self, tokens: Tensor) -> Tensor:
        """Log-probabilities [R, V] of what follows when each row is extended by one of `tokens` [R]."""

    def reorder(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue with these rows, and these sentences alone; None keeps all sentences."""


class Member(Protocol):
    """A model of sequences.

    Attributes:
        words: V, the size of the vocabulary.
        start: the token before the first of a target.
        eos: the token after the last.
        banned: tokens that are never generated.
        place: where it computes.
    """

    words: int
    start: int
    eos: int
    banned: tuple[int, ...]

    @property
    def place(self) -> torch.device:
        """The device it computes on."""

    def begin(self, sources: Sequence[Tokens], width: int) -> State:
        """The state of a search of `width` rows for each source, which is without eos."""

    def forced(self, sources: Sequence[Tokens], targets: Sequence[Sequence[Tokens]]) -> Tensor:
        """Log-probabilities [L, V] at every token, and eos, of the given targets of each source, one after another."""


@dataclass(frozen=True)
class Hypothesis:
    """A sequence that an ensemble gives to a source.

    Attributes:
        tokens: with eos [T].
        log_probabilities: of the tokens under each member [M, T], float64, nats.
        log_probability: of the whole under the ensemble.
        score: the same divided by T to the power of the length penalty, by which hypotheses are sorted.
    """

    tokens: npt.NDArray[np.int64]
    log_probabilities: npt.NDArray[np.float64]
    log_probability: float
    score: float


@dataclass(frozen=True)
class Beam:
    """How to search.

    Attributes:
        width: hypotheses that are followed.
        best: hypotheses that are returned, at most `width`.
        combine: "pe" or "ep".
        length_penalty: hypotheses are ranked by their log-probability over their length to this power.
    """

    width: int = 5
    best: int = 5
    combine: Combine = "pe"
    length_penalty: float = 1.0


@torch.inference_mode()
def beam_search(
    members: Sequence[Member],
    sources: Sequence[Tokens],
    beam: Beam,
    *,
    most: int | Sequence[int] = 200,
) -> list[list[Hypothesis]]:
    """The best hypotheses of each source, the best first, by one search over the whole ensemble.

    At each token the 2 * width best continuations of a sentence's rows are looked at. Those among the first `width`
    that end are finished, the first `width` of the others go on; the search ends with `width` finished ones. After
    `most` tokens, eos included, every row ends.

    Args:
        members: M models of the same vocabulary.
        sources: tokens without eos; all are searched as one batch, so give sources of similar lengths.
        beam: how to search.
        most: tokens of a hypothesis, of all or of each source.

    Raises:
        SettingsError: for members of different vocabularies, or no members.
    """
    require_alike(members)
    limits = [most] * len(sources) if isinstance(most, int) else list(most)
    if not sources:
        return []
    search = _BeamSearch(members, sources, beam, limits)
    while search.running:
        search.advance()
    return [
        sorted(found, key=lambda each: -each.score)[: beam.best]
        for found in search.finished  # stable: first found
    ]


def require_alike(members: Sequence[Member]) -> None:
    """Check that members have one vocabulary.

    Raises:
        SettingsError: for others, or no members.
    """
    found = {(each.words, each.start, each.eos) for each in members}
    if len(found) != 1:
        text = "; ".join(f"{words:,} tokens, {start} before and {eos} after" for words, start, eos in sorted(found))
        raise SettingsError(
            f"members: expected one or more of the same vocabulary, found {text or 'none'}. Use models that were "
            "trained with one vocabulary."
        )


def combined(logs: Tensor, before: Tensor, combine: Combine) -> Tensor:
    """log sum_m w_m p_m [R, V] of log p [M, R, V], given each member's log-probability of the tokens before [M, R]."""
    weights = before.log_softmax(0) if combine == "ep" else torch.full_like(before, -math.log(len(before)))
    return logs[0] if len(logs) == 1 else (logs + weights.to(logs.dtype)[..., None]).logsumexp(0)


class _BeamSearch:
    """A search at some token: B sentences that are not finished, with W rows each."""

    def __init__(self, members: Sequence[Member], sources: Sequence[Tokens], beam: Beam, limits: Sequence[int]) -> None:
        self.members, self.beam, self.limits = members, beam, limits
        self.finished: list[list[Hypothesis]] = [[] for _ in sources]
        self.running = list(range(len(sources)))
        place, rows = members[0].place, len(sources) * beam.width
        self.states = [member.begin(sources, beam.width) for member in members]
        self.tokens = torch.full((rows, 1), members[0].start, device=place)
        self.scores = torch.full((len(sources), beam.width), -math.inf, dtype=torch.float64, device=place)
        self.scores[:, 0] = 0.0  # rows of a sentence are the same before the first token
        self.logs = torch.zeros((len(members), rows, 0), dtype=torch.float64, device=place)

    def advance(self) -> None:
        """One more token of every row."""
        width, length = self.beam.width, self.tokens.shape[1]
        logs = torch.stack([state.step(self.tokens[:, -1]) for state in self.states])
        together = combined(logs, self.logs.sum(2), self.beam.combine)
        ending = torch.tensor([self.limits[at] <= length for at in self.running], device=together.device)
        scores, rows, tokens = self._candidates(together, ending)
        ends = tokens == self.members[0].eos
        ends[:, width:] = False  # those count where they are among the best alone
        gathered = logs[:, rows, tokens].double()
        self._finish(ends & scores.isfinite(), scores, rows, gathered)
        # The first `width` that do not end: there are that many, since each row ends only once.
        going = tokens != self.members[0].eos
        chosen = torch.argsort((~going).to(torch.int8), dim=1, stable=True)[:, :width]
        left = [
            at
            for at, sentence in enumerate(self.running)
            if len(self.finished[sentence]) < width and self.limits[sentence] > length
        ]
        self._continue(left, chosen, (scores, rows, tokens), gathered)

    def _candidates(self, together: Tensor, ending: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best continuations of each sentence [B, K]: scores, the rows that they continue, and their tokens."""
        width, words = self.beam.width, together.shape[1]
        allowed = together.clone()
        allowed[:, list(self.members[0].banned)] = -math.inf
        if bool(ending.any()):
            last = ending.repeat_interleave(width)[:, None] & (
                torch.arange(words, device=together.device) != self.members[0].eos
            )
            allowed.masked_fill_(last, -math.inf)
        most = min(2 * width, words)
        values, tokens = allowed.topk(most, dim=1)
        whole = (self.scores.flatten()[:, None] + values.double()).view(len(self.running), -1)
        scores, places = whole.topk(min(2 * width, whole.shape[1]), dim=1)
        first = torch.arange(len(self.running), device=together.device)[:, None] * width
        return scores, first + places // most, tokens.view(len(self.running), -1).gather(1, places)

    def _finish(self, ends: Tensor, scores: Tensor, rows: Tensor, gathered: Tensor) -> None:
        """Keep the hypotheses that end here, the best first, while their sentence needs any."""
        for at, place in ends.nonzero().tolist():
            found = self.finished[self.running[at]]
            if len(found) >= self.beam.width:
                continue
            row, score = int(rows[at, place]), float(scores[at, place])
            tokens = torch.cat([self.tokens[row, 1:], self.tokens.new_tensor([self.members[0].eos])])
            logs = torch.cat([self.logs[:, row], gathered[:, at, place, None]], 1)
            ranked = score / len(tokens) ** self.beam.length_penalty
            found.append(Hypothesis(tokens.cpu().numpy(), logs.cpu().numpy(), score, ranked))

    def _continue(
        self, left: list[int], chosen: Tensor, candidates: tuple[Tensor, Tensor, Tensor], gathered: Tensor
    ) -> None:
        """Go on with the chosen candidates of the sentences that are left."""
        kept = torch.tensor(left, dtype=torch.int64, device=chosen.device)
        chosen = chosen[kept]
        scores, rows, tokens = (values[kept].gather(1, chosen) for values in candidates)
        new = gathered[:, kept].gather(2, chosen.expand(len(gathered), -1, -1)).flatten(1)
        flat = rows.flatten()
        for state in self.states if left else ():
            state.reorder(flat, None if len(left) == len(self.running) else kept)
        self.running = [self.running[at] for at in left]
        self.scores = scores
        self.tokens = torch.cat([self.tokens[flat], tokens.flatten()[:, None]], 1)
        self.logs = torch.cat([self.logs[:, flat], new[..., None]], 2)


@torch.inference_mode()
def sample(
    members: Sequence[Member],
    sources: Sequence[Tokens],
    *,
    draws: int,
    seed: int,
    combine: Combine = "pe",
    most: int | Sequence[int] = 200,
) -> list[list[Hypothesis]]:
    """Draws from the ensemble for each source: hypotheses in the order in which they were drawn.

    Their random numbers follow from the seed and the source alone. Arguments and errors as of `beam_search`.
    """
    require_alike(members)
    limits = [most] * len(sources) if isinstance(most, int) else list(most)
    if not sources:
        return []
    place, eos = members[0].place, members[0].eos
    numbers = np.zeros((len(sources), draws, max(limits)))
    for drawn, each, length in zip(numbers, sources, limits, strict=True):
        drawn[:, :length] = _uniform(seed, each, draws, length)
    uniform = torch.from_numpy(numbers.reshape(-1, max(limits))).to(place)
    limit = torch.tensor(limits, device=place).repeat_interleave(draws)
    states = [member.begin(sources, draws) for member in members]
    tokens = torch.full((len(uniform), 1), members[0].start, device=place)
    logs = torch.zeros((len(members), len(uniform), 0), dtype=torch.float64, device=place)
    total, lengths = torch.zeros(len(uniform), dtype=torch.float64, device=place), torch.zeros_like(limit)
    while bool((lengths == 0).any()):
        length = tokens.shape[1]
        found = torch.stack([state.step(tokens[:, -1]) for state in states])
        together = combined(found, logs.sum(2), combine).double()
        new = _drawn(together, uniform[:, length - 1], members[0].banned)
        new = torch.where(limit <= length, eos, new)
        of_new = found.double().gather(2, new.expand(len(members), -1)[..., None])
        running = lengths == 0
        total += torch.where(running, together.gather(1, new[:, None])[:, 0], 0.0)
        tokens, logs = torch.cat([tokens, new[:, None]], 1), torch.cat([logs, of_new], 2)
        lengths = torch.where(running & (new == eos), length, lengths)
    every = [_hypothesis(row, tokens, logs, total, lengths) for row in range(len(tokens))]
    return [every[start : start + draws] for start in range(0, len(every), draws)]


def _uniform(seed: int, source: Tokens, draws: int, most: int) -> npt.NDArray[np.float64]:
    key = zlib.crc32(np.asarray(source, np.int64).tobytes())
    return np.random.default_rng([seed, key]).random((draws, most))


def _drawn(logs: Tensor, uniform: Tensor, banned: tuple[int, ...]) -> Tensor:
    """Tokens [R] drawn from log-probabilities [R, V] by uniform numbers [R]; banned ones never are."""
    probabilities = logs.exp()
    probabilities[:, list(banned)] = 0.0
    sums = probabilities.cumsum(1)
    found = torch.searchsorted(sums, (uniform * sums[:, -1])[:, None], right=True)[:, 0]
    return found.clamp(max=logs.shape[1] - 1)


def _hypothesis(row: int, tokens: Tensor, logs: Tensor, total: Tensor, lengths: Tensor) -> Hypothesis:
    length, whole = int(lengths[row]), float(total[row])
    return Hypothesis(
        tokens[row, 1 : length + 1].cpu().numpy(), logs[:, row, :length].cpu().numpy(), whole, whole / length
    )


def forced(
    members: Sequence[Member],
    sources: Sequence[Tokens],
    targets: Sequence[Sequence[Tokens]],
    *,
    values: int = BLOCK_VALUES,
    progress: Callable[[int], None] | None = None,
) -> Iterator[Posteriors]:
    """Posteriors of each member for given targets of each source, block by block of consecutive records.

    Args:
        members, sources: as of `beam_search`.
        targets: one or more of each source, without eos; their posteriors are those of all tokens and of eos.
        values: the most numbers of a block, which holds at least one record.
        progress: called with the records that are done.

    Raises:
        SettingsError: for members of different vocabularies, or no members.
    """
    require_alike(members)
    size, start = len(members) * members[0].words, 0
    tokens = [sum(len(target) + 1 for target in each) for each in targets]
    while start < len(sources):
        end = start + 1
        while end < len(sources) and sum(tokens[start : end + 1]) * size <= values:
            end += 1
        yield _posteriors(members, sources[start:end], targets[start:end])
        start = end
        if progress:
            progress(start)


def _posteriors(
    members: Sequence[Member], sources: Sequence[Tokens], targets: Sequence[Sequence[Tokens]]
) -> Posteriors:
    with torch.inference_mode():
        logs = [member.forced(sources, targets) for member in members]
        # In single precision, with which members compute, a sum over the vocabulary is 1 to some six digits.
        whole = torch.stack([each.cpu() for each in logs]).numpy()
    rows = [[*np.asarray(target).tolist(), members[0].eos] for each in targets for target in each]
    return Posteriors(
        whole,
        np.concatenate([np.asarray(row, np.int64) for row in rows]),
        np.asarray([len(row) for row in rows]),
        np.asarray([len(each) for each in targets]),
    )
