"""BLEU and chrF of a set as functions of sums, against sacreBLEU."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics import BLEU, CHRF

from shiftbench.metrics import texts
from shiftbench.metrics.translation import chrf_statistics
from shiftbench.scores.metric import METRICS

GOLDEN = Path(__file__).parents[1] / "golden" / "translation"


@pytest.fixture(scope="module")
def pairs() -> tuple[list[str], list[str]]:
    """The first hypothesis of each of 140 sentences, and the references."""
    plain = json.loads((GOLDEN / "translation.json").read_text("utf-8"))
    hypotheses = plain["hyps_in"] + plain["hyps_out"]
    return [each[0] for each in hypotheses], plain["refs_in"] + plain["refs_out"]


def bleu_sums(hypotheses: list[str], references: list[str]) -> np.ndarray:
    found = BLEU(force=True).corpus_score(hypotheses, [references])
    return np.array([found.sys_len, found.ref_len, *found.counts, *found.totals], dtype=np.float64)


@pytest.mark.parametrize("rows", [slice(None), slice(0, 80), slice(3, 4), slice(5, 8)])
def test_a_corpus_has_the_scores_of_sacrebleu_to_the_last_digit(pairs, rows):
    hypotheses, references = (each[rows] for each in pairs)
    theirs = BLEU(force=True).corpus_score(hypotheses, [references]).score
    assert float(texts.bleu(bleu_sums(hypotheses, references))) == pytest.approx(theirs, rel=1e-14)
    assert float(METRICS["bleu"].of_sums(bleu_sums(hypotheses, references)[None], None)[0]) == pytest.approx(theirs)
    sums = chrf_statistics(hypotheses, references).sum(axis=0)
    assert float(texts.chrf(sums)) == pytest.approx(CHRF().corpus_score(hypotheses, [references]).score, rel=1e-14)


@pytest.mark.parametrize(
    ("hypothesis", "reference"),
    [("", "a b c d e"), ("a b", "a b"), ("a b c d", "e f g h"), ("a b c d e f", "a b c x y z"), ("a", "a b c d e f")],
)
def test_short_texts_and_missing_orders_are_smoothed_as_there(hypothesis, reference):
    theirs = BLEU(force=True).corpus_score([hypothesis], [[reference]]).score
    assert float(texts.bleu(bleu_sums([hypothesis], [reference]))) == pytest.approx(theirs, abs=1e-12)


def test_many_sets_are_scored_at_once(pairs):
    sums = np.stack([bleu_sums(pairs[0][rows], pairs[1][rows]) for rows in (slice(0, 9), slice(9, 70))])
    np.testing.assert_array_equal(texts.bleu(sums), [float(texts.bleu(each)) for each in sums])
