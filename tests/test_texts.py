"""Texts of several systems or of a beam: what is accepted, and their measures against loops over pairs."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from nltk.translate.gleu_score import sentence_gleu
from sacrebleu.metrics import CHRF

from shiftbench.ensembles import Texts, combine
from shiftbench.errors import ArrayError, UnknownNameError
from shiftbench.measures import MEASURES, headline, measures_for, uncertainty
from shiftbench.measures.texts import expected_agreement

SYSTEMS = [
    ["the cat sat on the mat", "a b c d", "", "same"],
    ["the cat sat  on the mat ", "a b d c", "x", "same"],
    ["the dog sat on a mat", "c", "", "same"],
]
BEAM, COUNTS, WEIGHTS = ["a b c", "a b", "c d e f", "q", "a b"], [3, 2], [0.5, 0.3, 0.2, 0.9, 0.1]


def of_gleu(text: str, other: str) -> float:
    return float(sentence_gleu([other.split()], text.split()))


def of_chrf(text: str, other: str) -> float:
    return CHRF().sentence_score(text, [other]).score / 100


UTILITIES = {"gleu": of_gleu, "chrf": of_chrf}


def by_loops(texts: list[str], weights: list[float], utility: str) -> list[float]:
    """The expected agreement of each text of a record."""
    function = UTILITIES[utility]
    return [
        sum(
            share * (1.0 if text.split() == other.split() else function(text, other))
            for other, share in zip(texts, weights, strict=True)
        )
        for text in texts
    ]


@pytest.mark.parametrize("utility", UTILITIES)
def test_systems_disagree_by_the_mean_over_all_pairs(utility):
    records = [*zip(*SYSTEMS, strict=True)]
    agreement = [by_loops([*texts], [1 / 3] * 3, utility) for texts in records]
    made = Texts(SYSTEMS)
    np.testing.assert_allclose(expected_agreement(made, utility), np.transpose(agreement), rtol=1e-12)
    told = [1 - np.mean(each) for each in agreement]
    assert uncertainty(made, f"text_disagreement_{utility}") == pytest.approx(told, abs=1e-12)
    risk = [1 - max(each) for each in agreement]
    assert uncertainty(made, f"text_risk_{utility}") == pytest.approx(risk, abs=1e-12)
    assert uncertainty(made, f"text_risk_{utility}")[3] == 0.0


@pytest.mark.parametrize("utility", UTILITIES)
def test_hypotheses_of_a_beam_count_by_their_weights(utility):
    made = Texts(BEAM, COUNTS, WEIGHTS)
    parts = [slice(0, 3), slice(3, 5)]
    agreement = [by_loops(BEAM[part], WEIGHTS[part], utility) for part in parts]
    np.testing.assert_allclose(expected_agreement(made, utility), [[*itertools.chain(*agreement)]], rtol=1e-12)
    told = [1 - np.dot(WEIGHTS[part], each) for part, each in zip(parts, agreement, strict=True)]
    assert uncertainty(made, f"text_disagreement_{utility}") == pytest.approx(told)


def test_the_entropy_is_that_of_different_texts():
    found = uncertainty(Texts([["a", "x"], ["a ", "y"], ["b", "z"]]), "text_entropy")
    expected = [-sum(n / 3 * math.log(n / 3) for n in Counter(each).values()) for each in ("aab", "xyz")]
    assert found == pytest.approx(expected)


def test_two_systems_with_two_hypotheses_each_are_a_mixture_of_their_weights():
    one, other = Texts(["a b", "c"], [2], [0.75, 0.25]), Texts(["c", "d e"], [2], [0.5, 0.5])
    both = combine(one, other)
    alone = Texts(["a b", "c", "d e"], [3], [0.375, 0.375, 0.25])
    for name in measures_for(both):
        assert uncertainty(both, name) == pytest.approx(uncertainty(alone, name))
    assert headline(both) == "text_disagreement_gleu"


def test_the_agreement_of_all_records_is_that_of_each(monkeypatch):
    made = Texts.example(np.random.default_rng(3), members=3, records=20)
    whole = expected_agreement(made, "chrf")
    monkeypatch.setattr("shiftbench.ensembles.ensemble.BLOCK_VALUES", 30)
    np.testing.assert_allclose(expected_agreement(made, "chrf"), whole, rtol=1e-12)


def test_one_text_a_record_has_no_uncertainty():
    made = Texts(["a b", ""])
    assert all(not uncertainty(made, name).any() for name in MEASURES if MEASURES[name].fits(made))


@pytest.mark.parametrize(
    ("texts", "counts", "weights", "told"),
    [
        ("a text", None, None, r"texts: expected texts \[M, H\], found 'a text'"),
        (np.zeros(3), None, None, "found an array of float64"),
        (3, None, None, r"texts: expected texts \[M, H\], found 3"),
        ([], None, None, "texts: expected texts .M, H., at least one, found shape"),
        ([["a"], ["b", "c"]], None, None, "found 2 other values, the first a list"),
        (["a", None], None, None, "texts alone, as many of each member, found 1 other values, the first a NoneType"),
        (["a", "b"], [1], None, "counts: expected 2 texts in all, as there are, found 1"),
        (["a", "b"], [2, 0], None, "counts: expected numbers >= 1, found 0"),
        (["a", "b"], [2], [0.5, 0.4], "sum to 1 over a record's texts, found a least one of 0.4 and a sum of 0.9"),
        (["a", "b"], [2], [1.5, -0.5], "a least one of -0.5 and a sum of 1"),
        (["a", "b"], [2], [1.0], r"weights: expected one of each text, shape \(1, 2\), found \(1, 1\)"),
        (["a"], None, [np.nan], "weights: expected finite numbers, found NaN"),
    ],
)
def test_other_texts_are_refused(texts, counts, weights, told):
    with pytest.raises(ArrayError, match=told):
        Texts(texts, counts, weights)


def test_an_unknown_utility_is_named():
    with pytest.raises(UnknownNameError, match="Unknown utility 'bleu'"):
        expected_agreement(Texts(["a"]), "bleu")
    with pytest.raises(ArrayError, match="ensemble: expected Texts"):
        expected_agreement("a")  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["text_disagreement_gleu", "text_disagreement_chrf", "text_risk_gleu", "text_entropy"])
def test_records_whose_texts_agree_alike_are_ties(name: str):
    # Five or six equal samples, and three of one text and two of another in any order.
    agreeing = Texts(["a b c"] * 11, counts=[5, 6])
    assert uncertainty(agreeing, name).tolist() == [0, 0]
    orders = [order for order in itertools.permutations("aaabb") if order[0] == "a"]
    texts = [{"a": "one two three four", "b": "one two three five"}[each] for order in orders for each in order]
    assert len(set(uncertainty(Texts(texts, counts=[5] * len(orders)), name).tolist())) == 1
