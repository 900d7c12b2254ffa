"""Predictions of an ensemble of sequence models, block by block, computed when they are asked for."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from shiftbench.ensembles import Hypotheses
from shiftbench.errors import ShiftbenchWarning, counted
from shiftbench.measures.hypotheses import sequence_measures
from shiftbench.methods.contract import Fitted
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.sequences import decoding
from shiftbench.methods.sequences.batch import Rows, by_tokens
from shiftbench.methods.sequences.dataset import PairDataset, Sources, Tokens, Vocabulary
from shiftbench.methods.sequences.decoding import Beam, Hypothesis, Member
from shiftbench.methods.threads import in_order

WINDOW = 512  # records of a block, which are sorted by length to be searched together

Values = npt.NDArray[np.float64]
Found = tuple[list[list[Hypothesis]], dict[str, Values]]


@dataclass(frozen=True)
class Ensemble:
    """Models of one vocabulary, and how they read a record's source: its tokens without eos."""

    members: Sequence[Member]
    vocabulary: Vocabulary
    source: Callable[[int], Tokens]


@dataclass(frozen=True)
class Decoded:
    """Predictions of an ensemble for N consecutive records of a data set.

    Attributes:
        rows: their positions [N].
        texts: of the hypotheses [H], those of the first record first, and of each record the best first.
        pieces: the tokens of the hypotheses as people may read them, eos included [L].
        hypotheses: the log-probabilities of these tokens under each member.
        scores: log-probabilities of the hypotheses under the ensemble over their lengths [H].
        measures: of uncertainty, by name, each [N].
        unknown: tokens of each source that the vocabulary lacks [N].
        truncated: whether a source was cut because it was too long [N].
        sampled: whether the hypotheses were drawn, and so are equally likely.
    """

    rows: Rows
    texts: list[str]
    pieces: list[str]
    hypotheses: Hypotheses
    scores: Values
    measures: dict[str, Values]
    unknown: npt.NDArray[np.int64]
    truncated: npt.NDArray[np.bool_]
    sampled: bool


class SequenceAnswers:
    """Predictions of an ensemble for N records: computed on demand, never kept."""

    def __init__(self, dataset: PairDataset | Sources, fitted: Fitted, ensemble: Ensemble) -> None:
        self.dataset, self.fitted, self.ensemble = dataset, fitted, ensemble
        self.settings: dict[str, Any] = fitted.record["settings"]

    @property
    def records(self) -> int:
        """N, the number of records."""
        return len(self.dataset)

    @property
    def members(self) -> int:
        """M, the number of members."""
        return len(self.ensemble.members)

    def of_member(self, member: int) -> SequenceAnswers:
        """Predictions of a single member, by a search of its own."""
        alone = replace(self.ensemble, members=[self.ensemble.members[member]])
        return SequenceAnswers(self.dataset, self.fitted, alone)

    def __iter__(self) -> Iterator[Decoded]:
        """Predictions of the ensemble, block by block."""
        for start in range(0, self.records, WINDOW):
            yield self.block(np.arange(start, min(start + WINDOW, self.records)))

    def block(self, rows: Rows) -> Decoded:
        """Predictions of the ensemble for these records."""
        whole = [np.asarray(self.ensemble.source(row)) for row in rows.tolist()]
        most = self.settings["longest"] - 1
        sources = [tokens[:most] for tokens in whole]
        truncated = np.array([len(tokens) > most for tokens in whole])
        _warn_of_cut(rows[truncated], most)
        found, measures = self._computed(sources, int(rows[0]))
        vocabulary, every = self.ensemble.vocabulary, [each for hypotheses in found for each in hypotheses]
        return Decoded(
            rows,
            [vocabulary.decode(each.tokens[:-1].tolist()) for each in every],
            vocabulary.pieces(np.concatenate([each.tokens for each in every]).tolist()),
            Hypotheses(
                np.minimum(np.concatenate([each.log_probabilities for each in every], axis=1), 0.0),
                np.array([len(each.tokens) for each in every]),
                np.array([len(hypotheses) for hypotheses in found]),
            ),
            np.array([each.log_probability / len(each.tokens) for each in every]),
            measures,
            np.array([int((tokens == vocabulary.unk).sum()) for tokens in sources], np.int64),
            truncated,
            bool(self.settings["samples"]),
        )

    def _computed(self, sources: Sequence[Tokens], done: int) -> Found:
        """Hypotheses and measures of the sources, in batches of similar lengths, several at a time."""
        lengths = np.array([len(tokens) + 1 for tokens in sources])
        parts = by_tokens(lengths, self.settings["decoding_tokens"], seed=0)
        threads = 1 if self.ensemble.members[0].place.type == "cuda" else self.fitted.cores
        hypotheses: list[list[Hypothesis]] = [[] for _ in sources]
        measures: dict[str, Values] = {}

        def work(rows: Rows) -> Found:
            return self._decoded([sources[row] for row in rows.tolist()])

        with one_thread(), in_order(work, parts, threads=threads, ahead=threads) as results:
            for rows, (found, measured) in zip(parts, results, strict=True):
                for row, each in zip(rows.tolist(), found, strict=True):
                    hypotheses[row] = each
                for name, values in measured.items():
                    measures.setdefault(name, np.empty(len(sources)))[rows] = values
                done += len(rows)
                if self.fitted.progress:
                    self.fitted.progress(done, self.records, f"{done:,} of {self.records:,} records")
        return hypotheses, measures

    def _decoded(self, sources: Sequence[Tokens]) -> Found:
        """Hypotheses of these sources, and measures from one further pass over what was found."""
        members, settings = self.ensemble.members, self.settings
        limits = [self._most(len(tokens)) for tokens in sources]
        if draws := settings["samples"]:
            found = decoding.sample(
                members, sources, draws=draws, seed=settings["seed"], combine=settings["combine"], most=limits
            )
        else:
            beam = Beam(settings["beam"], settings["best"], settings["combine"], settings["length_penalty"])
            found = decoding.beam_search(members, sources, beam, most=limits)
        targets = [[each.tokens[:-1] for each in hypotheses] for hypotheses in found]
        blocks = [sequence_measures(block, equal=bool(draws)) for block in decoding.forced(members, sources, targets)]
        return found, {name: np.concatenate([block[name] for block in blocks]) for name in blocks[0]}

    def _most(self, length: int) -> int:
        """The most tokens of a hypothesis of a source of this length."""
        ratio, most = self.settings["tokens_per_source"], int(self.settings["most_tokens"])
        return min(most, 10 + math.ceil(ratio * length)) if ratio else most


def _warn_of_cut(rows: Rows, most: int) -> None:
    if len(rows):
        first = ", ".join(f"{row + 1:,}" for row in rows[:5].tolist())
        warnings.warn(
            ShiftbenchWarning(
                f"expected sources of at most {most:,} tokens, found {counted(len(rows), 'longer one')} (number {first}"
                f"{', …' if len(rows) > 5 else ''}): only their first {most:,} tokens are read."
            ),
            stacklevel=2,
        )
