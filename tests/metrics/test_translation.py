"""GLEU against nltk's and the published values, chrF against sacreBLEU's, and texts of every kind."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from nltk.translate.gleu_score import sentence_gleu as of_nltk
from sacrebleu.metrics import CHRF

from shiftbench.errors import ArrayError
from shiftbench.metrics import translation

GOLDEN = Path(__file__).parents[1] / "golden" / "translation"


@pytest.fixture(scope="module")
def published() -> dict[str, np.ndarray]:
    with np.load(GOLDEN / "translation.npz") as archive:
        return dict(archive)


@pytest.fixture(scope="module")
def texts() -> tuple[list[list[str]], list[str]]:
    """Five hypotheses of each of 140 sentences, and the references."""
    plain = json.loads((GOLDEN / "translation.json").read_text("utf-8"))
    return plain["hyps_in"] + plain["hyps_out"], plain["refs_in"] + plain["refs_out"]


def test_the_published_values_hold_to_the_last_digit(published, texts):
    gleu = translation.sentence_gleu(*texts)
    np.testing.assert_array_equal(gleu, published["gleus"])
    expected, highest = translation.egleu(gleu, published["weights"]), translation.max_gleu(gleu)
    for at, rows in enumerate((slice(0, 80), slice(80, 140), slice(None))):
        assert expected[rows].mean() == pytest.approx(published["egleu"][at], abs=1e-4)  # single precision there
        assert highest[rows].mean() == pytest.approx(published["maxgleu"][at], abs=1e-12)
    np.testing.assert_allclose(100 - expected, published["errors"], atol=2e-5)


def test_random_texts_have_the_values_of_nltk():
    rng = np.random.default_rng(0)

    def text(most: int) -> str:
        return " ".join(rng.choice(["a", "b", "c", "d\u0301", "\u05d0"], rng.integers(0, most)))

    hypotheses, references = [text(12) for _ in range(3_000)], [text(12) for _ in range(3_000)]
    theirs = [100 * of_nltk([b.split()], a.split()) for a, b in zip(hypotheses, references, strict=True)]
    np.testing.assert_array_equal(translation.sentence_gleu(hypotheses, references), theirs)


def test_chrf_is_that_of_sacrebleu_to_the_last_digit(texts):
    beams, references = texts
    hypotheses, theirs = [beam[0] for beam in beams], CHRF()
    hypotheses[:6] = ["", " ", "a", "abc", "\u05d0\u05d1 \u05d2", "e\u0301\U0001f600"]
    references[:6] = ["a", "", "ab", "abc", "\u05d0\u05d1\u05d2", "e\u0301 x"]
    segments = [theirs.sentence_score(one, [other]).score for one, other in zip(hypotheses, references, strict=True)]
    np.testing.assert_array_equal(translation.sentence_chrf(hypotheses, references), segments)
    statistics = translation.chrf_statistics(hypotheses, references)
    corpus = theirs.corpus_score(hypotheses, [references])
    assert float(translation.chrf(statistics.sum(axis=0))) == corpus.score
    assert (
        statistics.sum(axis=0).tolist()
        == np.sum(theirs._extract_corpus_statistics(hypotheses, [references]), 0).tolist()
    )
    assert translation.sentence_chrf([["abc", "x"]], ["abc"]).tolist() == [[100.0, 0.0]]
    assert translation.sentence_chrf("\ud800", "\ud800") == 100.0  # half of a character, as broken files have


@pytest.mark.parametrize(
    ("hypothesis", "reference", "value"),
    [
        ("the cat sat", "the cat sat", 100.0),
        ("the cat", "the cat sat", 50.0),  # 3 of 6 n-grams
        ("the the the", "the", 100 / 6),  # 1 of 6: repeated as often as in both
        ("a b", "c d", 0.0),
        ("", "a", 0.0),
        ("a", "", 0.0),
        (" \u3000\n", "", 0.0),
        ("a\tb\u2003c", "a b c", 100.0),
        ("\u0435\u0301", "\u0435", 0.0),  # a combining accent makes another token
    ],
)
def test_known_values(hypothesis, reference, value):
    found = translation.sentence_gleu(hypothesis, reference)
    assert type(found) is float
    assert found == pytest.approx(value, abs=1e-12)


def test_blocks_of_texts_change_nothing(texts, monkeypatch):
    whole = translation.sentence_gleu(*texts)
    monkeypatch.setattr(translation, "_BLOCK_CHARACTERS", 400)
    np.testing.assert_array_equal(translation.sentence_gleu(*texts), whole)
    assert translation.chrf_statistics([], []).shape == (0, 18)


def test_one_record_alone_is_a_number():
    gleu = translation.sentence_gleu(["a b", "a c"], ["a b", "a b"])
    np.testing.assert_allclose(gleu, [100, 100 / 3])
    assert translation.egleu(gleu, [0.75, 0.25]) == pytest.approx(75 + 25 / 3)
    assert translation.max_gleu(gleu) == 100.0
    assert translation.sentence_gleu([], []).shape == (0,)


@pytest.mark.parametrize(
    ("hypothesis", "reference", "told"),
    [
        (["a"], ["a", "b"], "as many records of hypotheses as references, found 1 and 2"),
        ("a", ["a"], "hypothesis: expected texts, as many as of the other argument, found str"),
        (["a"], "a", "reference: expected texts"),
        (3, ["a"], "hypothesis: expected texts, as many as of the other argument, found int"),
        (["a", None], ["a", "b"], "hypothesis: expected texts, found 1 other values, the first a NoneType at 1"),
        (["a", "b"], ["a", b"b"], "reference: expected texts, found 1 other values, the first a bytes at 1"),
        ([["a"], ["a", "b"]], ["a", "b"], "the same number of hypotheses for each record, at least one, found 1 to 2"),
        ([[]], ["a"], "at least one, found 0 to 0"),
        ([["a"], [1]], ["a", "b"], "hypothesis: expected texts, found 1 other values"),
    ],
)
def test_other_texts_are_refused(hypothesis, reference, told):
    with pytest.raises(ArrayError, match=told):
        translation.sentence_gleu(hypothesis, reference)


@pytest.mark.parametrize(
    ("weights", "told"),
    [
        ([0.5, 0.4], "sum to 1 over hypotheses, found a least one of 0.4 and a sum of 0.9"),
        ([1.5, -0.5], "values of at least 0"),
        ([1.0], r"weights: expected the shape of gleu \(2,\), found \(1,\)"),
        ([np.nan, 1.0], "weights: expected numbers, found 1 NaN or infinite"),
        (0.5, r"weights: expected shape \[H\] or \[N, H\], found \[\]"),
    ],
)
def test_weights_that_are_none_are_refused(weights, told):
    with pytest.raises(ArrayError, match=told):
        translation.egleu([10.0, 20.0], weights)
