"""Members that score hypotheses token by token: sequences of different length, a few per record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from shiftbench.ensembles import ragged
from shiftbench.ensembles.ensemble import Array, Ensemble, Index, Key, hold, numbers, where
from shiftbench.errors import ArrayError


@dataclass(frozen=True, eq=False, repr=False)
class Hypotheses(Ensemble):
    """The log-probability of each token of each hypothesis of N records under each member.

    Attributes:
        log_probabilities: float64 [M, L], nats, the tokens of the first hypothesis, then those of the second, …
        lengths: integers [H], the number of tokens of each hypothesis, those of the first record first.
        counts: integers [N], the number of hypotheses of each record.

    Raises:
        ArrayError: naming every problem: other axes, NaN, infinity, log-probabilities above 0, lengths that do not add
            up to L, counts that do not add up to H.
    """

    AXES: ClassVar = {"log_probabilities": "ML", "lengths": "H", "counts": "N"}

    log_probabilities: Array
    lengths: Index
    counts: Index

    def __post_init__(self) -> None:
        scores, problems = numbers("log_probabilities", self.log_probabilities, "[M, L]")
        lengths, of_lengths = numbers("lengths", self.lengths, "[H]", dtype=np.int64)
        counts, of_counts = numbers("counts", self.counts, "[N]", dtype=np.int64)
        problems += of_lengths + of_counts
        if scores.size and scores.max() > 0:
            bad = scores > 0
            problems.append(
                f"log_probabilities: expected values <= 0, found {scores[bad][0]:g} ({where(bad, 'token')})."
            )
        if scores.size:
            problems += ragged.length_problems("lengths", lengths, scores.shape[1], "tokens")
        if lengths.size:
            problems += ragged.length_problems("counts", counts, len(lengths), "hypotheses")
        if problems:
            raise ArrayError(*problems)
        hold(self, log_probabilities=scores, lengths=lengths, counts=counts)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of one to three hypotheses a record."""
        counts = rng.integers(1, 4, records)
        lengths = rng.integers(1, 9, counts.sum())
        return cls(-rng.gamma(1.0, size=(members, lengths.sum())), lengths, counts)

    def _places(self, rows: Key) -> dict[str, Key]:
        hypotheses = ragged.places(self.counts, rows)
        return {"N": rows, "H": hypotheses, "L": ragged.places(self.lengths, hypotheses)}

    def _starts(self, values: int) -> list[int]:
        tokens = np.add.reduceat(self.lengths, ragged.offsets(self.counts)[:-1])
        return list(ragged.block_starts(tokens, values // self.members))
