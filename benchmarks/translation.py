"""Scores and measures of translations against other libraries and loops. CPU seconds."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from nltk.translate import gleu_score

from shiftbench.ensembles import Posteriors
from shiftbench.measures.hypotheses import sequence_measures
from shiftbench.metrics import translation

GOLDEN = Path(__file__).resolve().parent.parent / "tests/golden/translation/translation.json"
HYPOTHESES, ROUNDS = 15_000, 5
BOUND_GLEU, BOUND_MEASURES = 0.2, 0.05
MEMBERS, BEAM, LENGTH = 5, 5, 25
VOCABULARIES = {32: 300, 40_000: 2}  # words → records


def ratios() -> list[tuple[str, float, float | None]]:
    """Measured ratios and their bounds."""
    hypotheses, references = texts()
    ours = translation.sentence_gleu(hypotheses, references)
    np.testing.assert_array_equal(ours, of_nltk(hypotheses, references))
    ratio = statistics.median(
        seconds(lambda: translation.sentence_gleu(hypotheses, references))
        / seconds(lambda: of_nltk(hypotheses, references))
        for _ in range(ROUNDS)
    )
    return [
        (f"sentence GLEU of {HYPOTHESES:,} hypotheses / nltk's, equal values", ratio, BOUND_GLEU),
        *(measuring(words, records) for words, records in VOCABULARIES.items()),
    ]


def texts() -> tuple[list[str], list[str]]:
    """Made-up hypotheses of up to 40 tokens, five of each sentence, and a reference for each."""
    plain = json.loads(GOLDEN.read_text("utf-8"))
    beams, known = plain["hyps_in"] + plain["hyps_out"], plain["refs_in"] + plain["refs_out"]
    rng = np.random.default_rng(0)  # ends that differ, so that no text is there twice
    numbers = rng.choice(10**6, HYPOTHESES, replace=False)
    hypotheses = [f"{beams[at // 5 % len(beams)][at % 5]} {number}" for at, number in enumerate(numbers)]
    references = [f"{known[at // 5 % len(known)]} {numbers[at // 5 * 5]}" for at in range(HYPOTHESES)]
    return hypotheses, references


def of_nltk(hypotheses: list[str], references: list[str]) -> list[float]:
    """GLEU of each hypothesis by nltk."""
    pairs = zip(hypotheses, references, strict=True)
    return [100 * gleu_score.sentence_gleu([reference.split()], hypothesis.split()) for hypothesis, reference in pairs]


def measuring(words: int, records: int) -> tuple[str, float, float | None]:
    """All measures of beams over a loop over tokens, as fast for a large vocabulary, where exp takes all."""
    made = posteriors(words, records)
    ratio = statistics.median(
        seconds(lambda: sequence_measures(made)) / seconds(lambda: token_by_token(made)) for _ in range(ROUNDS)
    )
    name = f"all measures of {MEMBERS} members × {BEAM} hypotheses, {words:,} words / a loop over tokens"
    return name, ratio, BOUND_MEASURES if words < 1_000 else None


def posteriors(words: int, records: int) -> Posteriors:
    """Random distributions for the tokens of the beams of some records."""
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(MEMBERS, records * BEAM * LENGTH, words)).astype(np.float32) * 3
    logits -= np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    tokens = rng.integers(0, words, logits.shape[1])
    return Posteriors(logits, tokens, [LENGTH] * (BEAM * records), [BEAM] * records)


def token_by_token(made: Posteriors) -> list[list[float]]:
    """The entropies behind the measures in both forms, token by token."""
    found = []
    before = np.zeros(made.members)
    for at, token in enumerate(made.tokens):
        if at % LENGTH == 0:
            before = np.zeros(made.members)
        logs = made.log_posteriors[:, at].astype(np.float64)
        probabilities = np.exp(logs)
        own = -(probabilities * logs).sum(axis=1)
        for weights in (np.full(len(own), 1 / len(own)), np.exp(before - before.max())):
            weights = weights / weights.sum()
            mean = weights @ probabilities
            found.append([-(mean * np.log(mean)).sum(), weights @ own, -(mean * (weights @ logs)).sum()])
        before = before + logs[:, token]
    return found


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start
