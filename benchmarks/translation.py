"""Scores of translations against other libraries. CPU seconds."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from nltk.translate import gleu_score

from shiftbench.metrics import translation

GOLDEN = Path(__file__).resolve().parent.parent / "tests/golden/translation/translation.json"
HYPOTHESES, ROUNDS = 15_000, 5
BOUND_GLEU = 0.2


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
    return [(f"sentence GLEU of {HYPOTHESES:,} hypotheses / nltk's, equal values", ratio, BOUND_GLEU)]


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


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of some work."""
    start = time.process_time()
    work()
    return time.process_time() - start
