"""Members that give every token of every hypothesis a distribution over a vocabulary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Ensemble, Index, Key, hold, numbers, where
from shiftbench.ensembles.hypotheses import Hypotheses
from shiftbench.errors import ArrayError

_SUM_TOLERANCE = 1e-3  # of probabilities that were computed in half precision


@dataclass(frozen=True, eq=False, repr=False)
class Posteriors(Ensemble):
    """The log-probability of every word of a vocabulary at every token of N records' hypotheses under each member.

    One record needs members × tokens × vocabulary numbers, so that models make these for a few records at a time.

    Attributes:
        log_posteriors: floating [M, L, V], nats, the tokens of the first hypothesis, then those of the second, …;
            minus infinity where a word is impossible.
        tokens: integers [L], the tokens of the hypotheses, from 0 to V - 1.
        lengths: integers [H], the number of tokens of each hypothesis, those of the first record first.
        counts: integers [N], the number of hypotheses of each record.

    Raises:
        ArrayError: naming every problem: other axes, NaN, distributions that do not sum to 1, tokens outside the
            vocabulary or that a member finds impossible, lengths that do not add up to L, counts that do not to H.
    """

    AXES: ClassVar = {"log_posteriors": "MLV", "tokens": "L", "lengths": "H", "counts": "N"}

    log_posteriors: npt.NDArray[np.floating[Any]]
    tokens: Index
    lengths: Index
    counts: Index

    def __post_init__(self) -> None:
        logs, problems = _distributions(self.log_posteriors)
        tokens, of_tokens = numbers("tokens", self.tokens, "[L]", dtype=np.int64)
        lengths, of_lengths = numbers("lengths", self.lengths, "[H]", dtype=np.int64)
        counts, of_counts = numbers("counts", self.counts, "[N]", dtype=np.int64)
        problems += of_tokens + of_lengths + of_counts
        if logs.size and tokens.size:
            problems += _token_problems(logs, tokens)
        if logs.size and lengths.size:
            problems += ragged.length_problems("lengths", lengths, logs.shape[1], "tokens")
        if lengths.size:
            problems += ragged.length_problems("counts", counts, len(lengths), "hypotheses")
        if problems:
            raise ArrayError(*problems)
        hold(self, log_posteriors=logs, tokens=tokens, lengths=lengths, counts=counts)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of one to three hypotheses a record over a vocabulary of six words."""
        counts = rng.integers(1, 4, records)
        lengths = rng.integers(1, 6, counts.sum())
        probabilities = rng.dirichlet(np.ones(6), (members, lengths.sum()))
        return cls(np.log(probabilities), rng.integers(0, 6, lengths.sum()), lengths, counts)

    def hypotheses(self) -> Hypotheses:
        """The same with the log-probabilities of the tokens alone."""
        chosen = np.take_along_axis(self.log_posteriors, self.tokens[None, :, None], axis=2)[..., 0]
        return Hypotheses(np.minimum(chosen.astype(np.float64), 0), self.lengths, self.counts)

    def _places(self, rows: Key) -> dict[str, Key]:
        hypotheses = ragged.places(self.counts, rows)
        return {"N": rows, "H": hypotheses, "L": ragged.places(self.lengths, hypotheses)}

    def _starts(self, values: int) -> list[int]:
        tokens = np.add.reduceat(self.lengths, ragged.offsets(self.counts)[:-1])
        return list(ragged.block_starts(tokens, values // (self.members * self.log_posteriors.shape[2])))


def _distributions(values: Any) -> tuple[npt.NDArray[np.floating[Any]], list[str]]:
    """Log-probabilities [M, L, V] in the precision that they have, and their problems."""
    try:
        logs = check.as_array("log_posteriors", values)
    except ArrayError as error:
        return np.empty((0, 0, 0)), list(error.problems)
    if logs.ndim != 3 or not logs.size or logs.dtype.kind != "f":
        found = f"{logs.dtype} of shape {logs.shape}"
        return np.empty((0, 0, 0)), [f"log_posteriors: expected floating numbers [M, L, V], found {found}."]
    with np.errstate(over="ignore", invalid="ignore"):
        sums = np.exp(logs).sum(axis=2, dtype=np.float64)
    wrong = ~(np.abs(sums - 1) <= _SUM_TOLERANCE)
    if wrong.any():
        hint = ""
        if np.fmin.reduce(logs, axis=None) >= 0:
            hint = " Take the logarithm of probabilities, the log-softmax of logits."
        return logs[:0], [
            f"log_posteriors: expected logarithms of probabilities that sum to 1 over the vocabulary, found a sum of "
            f"{sums[wrong][0]:g} ({where(wrong, 'token')}).{hint}"
        ]
    return logs, []


def _token_problems(logs: npt.NDArray[np.floating[Any]], tokens: Index) -> list[str]:
    words = logs.shape[2]
    if len(tokens) != logs.shape[1]:
        return [f"tokens: expected {logs.shape[1]:,}, one for each distribution, found {len(tokens):,}."]
    outside = (tokens < 0) | (tokens >= words)
    if outside.any():
        return [f"tokens: expected 0 to {words - 1:,}, found {tokens[outside][0]} at {int(outside.argmax())}."]
    chosen = np.take_along_axis(logs, tokens[None, :, None], axis=2)[..., 0]
    if np.isneginf(chosen).any():
        found = where(np.isneginf(chosen), "token")
        return [f"tokens: expected tokens that every member finds possible, found probability 0 ({found})."]
    return []
