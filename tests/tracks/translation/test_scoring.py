"""Errors and scores of stored outputs, against slow twins and sacreBLEU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from nltk.translate.gleu_score import sentence_gleu
from sacrebleu.metrics import BLEU, CHRF

from shiftbench import measures
from shiftbench.scores.metric import METRICS
from shiftbench.scores.score import System
from shiftbench.tracks.translation import scoring
from shiftbench.tracks.translation.outputs import Outputs
from shiftbench.tracks.translation.scoring import Judged, scored

WORDS = ["a", "b", "cat", "dog", "e\u0301", "\u05d0\u05d1", "runs", "slowly"]
N = 40


def text(rng: np.random.Generator, least: int = 1) -> str:
    return " ".join(rng.choice(WORDS, rng.integers(least, 12)))


def made(rng: np.random.Generator, **further: Any) -> Outputs:
    """Up to four hypotheses of 40 records with one to three references, and their log-probabilities."""
    counts = rng.integers(1, 5, N)
    lengths = rng.integers(1, 9, counts.sum())
    references = [tuple(text(rng) for _ in range(rng.integers(1, 4))) for _ in range(N)]
    texts = [text(rng, 0) if rng.random() < 0.8 else references[row][0] for row in np.repeat(np.arange(N), counts)]
    return Outputs(
        [str(row) for row in range(N)], counts, texts, references=references, lengths=lengths,
        log_probabilities=-rng.gamma(1.0, size=(3, lengths.sum())), **further,
    )  # fmt: skip


def rows(found: Outputs) -> list[tuple[list[str], np.ndarray, tuple[str, ...]]]:
    """Record by record: its texts, their weights, its references."""
    ends = np.cumsum(found.counts)
    weights = found.weights()
    assert found.references is not None
    return [
        (found.texts[end - count : end], weights[end - count : end], references)
        for end, count, references in zip(ends, found.counts, found.references, strict=True)
    ]


def test_errors_are_those_of_nltk_and_sacrebleu_record_by_record(rng):
    found = made(rng)
    judged = Judged(found)
    expected: dict[str, list[float]] = {"egleu": [], "chrf": [], "exact_match": []}
    for texts, weights, references in rows(found):
        gleu = [100 * max(sentence_gleu([each.split()], own.split()) for each in references) for own in texts]
        chrf = [CHRF().sentence_score(own, list(references)).score for own in texts]
        expected["egleu"].append(100 - np.dot(weights, gleu))
        expected["chrf"].append(100 - np.dot(weights, chrf))
        expected["exact_match"].append(float(texts[int(np.argmax(weights))] not in references))
    for task, values in expected.items():
        np.testing.assert_allclose(scored(System("s", "model"), judged, task).errors, values, atol=1e-9)


def test_bleu_and_chrf_of_the_most_confident_are_those_of_sacrebleu(rng):
    found = made(rng)
    best = [texts[int(np.argmax(weights))] for texts, weights, _ in rows(found)]
    assert found.references is not None
    streams = [[each[k] if k < len(each) else None for each in found.references] for k in range(3)]
    system = scored(System("s", "model"), Judged(found), "egleu")
    for name, theirs in (("bleu", BLEU()), ("chrf", CHRF())):
        metric, terms = METRICS[name], system.sets[name]
        assert metric.of_sums is not None
        sums, ideal = (each.amounts.sum(axis=0)[None] for each in (terms.found, terms.ideal))
        assert float(metric.of_sums(sums, sums)[0]) == pytest.approx(theirs.corpus_score(best, streams).score)
        assert float(metric.of_sums(ideal, ideal)[0]) == pytest.approx(100.0)
    assert scoring.signatures(found.references)["bleu"] == str(theirs_signature(streams, best))


def theirs_signature(streams: list[list[Any]], best: list[str]) -> Any:
    metric = BLEU(force=True)
    metric.corpus_score(best, streams)
    return metric.get_signature()


def test_exact_match_ignores_white_space_around_and_the_form_of_accents():
    found = Outputs(
        ["1", "2", "3"],
        np.ones(3, np.int64),
        [" caf\u00e9\n", "Cafe", ""],
        references=[("cafe\u0301",), ("cafe",), ("",)],
    )
    assert Judged(found).exact.tolist() == [1, 0, 1]


def test_the_published_measure_comes_first_and_a_files_own_before_it(rng):
    judged = Judged(made(rng))
    assert next(iter(judged.uncertainty)) == "beam_score"
    assert {"score_pe", "score_knowledge_ep", "text_disagreement_gleu"} <= set(judged.uncertainty)
    own = rng.random(N)
    with_own = Judged(made(np.random.default_rng(1), uncertainties={"ours": own}))
    assert next(iter(with_own.uncertainty)) == "ours"
    system = scored(System("s", "model"), with_own, "chrf")
    assert (system.measure, *system.system.measures[:2]) == ("ours", "ours", "beam_score")
    ensemble = judged.found.hypotheses()
    assert ensemble is not None
    np.testing.assert_array_equal(judged.uncertainty["score_ep"], measures.uncertainty(ensemble, "score_ep"))


def test_measures_that_say_the_same_are_shown_once_and_constant_ones_not_at_all(rng):
    lengths = rng.integers(1, 9, N)
    one = Outputs(
        [str(k) for k in range(N)], np.ones(N, np.int64), ["a"] * N, lengths=lengths,
        log_probabilities=-rng.gamma(1.0, size=(1, lengths.sum())),
    )  # fmt: skip
    assert list(Judged(one).uncertainty) == [
        "score_pe"
    ]  # not the mean of a beam; equal to every score of one model and one hypothesis
    alike = Outputs(["1", "2"], np.array([2, 2]), ["a", "a", "b", "b"], references=[("a",), ("b",)])
    assert list(Judged(alike).uncertainty) == [""]


def test_single_texts_without_anything_have_no_uncertainty():
    found = Outputs(["1", "2"], np.ones(2, np.int64), ["a", "b"], references=[("a",), ("c",)])
    system = scored(System("s", "model"), Judged(found), "exact_match")
    assert (system.measure, system.system.measures, list(system.uncertainty)) == ("", (), [""])


def test_scores_alone_give_the_mean_of_the_beam():
    found = Outputs(
        ["1", "2"], np.array([2, 1]), ["a", "b", "c"], references=[("a",), ("c",)], scores=np.array([-1.0, -3.0, -0.5])
    )
    assert Judged(found).uncertainty["beam_score"].tolist() == [2.0, 0.5]
    single = found.select(np.array([1]))
    assert list(Judged(single).uncertainty) == ["score_pe"]


def test_samples_beside_answers_say_how_far_they_agree(rng):
    samples = Outputs(["1", "2"], np.array([2, 2]), ["a b", "a b", "c d", "e f"], sampled=True)
    found = Outputs(["1", "2"], np.ones(2, np.int64), ["a b", "c d"], references=[("a b",), ("c",)], samples=samples)
    values = Judged(found).uncertainty["text_disagreement_gleu"]
    assert values[0] == 0
    assert values[1] == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("given", "errors", "name", "threshold"),
    [
        ({"quality": np.array([90.0, 10.0])}, [10, 90], "100 − quality", None),
        ({"error": np.array([3.0, 4.0]), "quality": np.array([90.0, 10.0])}, [3, 4], "error as given", None),
        ({"correct": np.array([True, False]), "error": np.array([3.0, 4.0])}, [0, 1], "wrong answer", 0.5),
    ],
)
def test_errors_of_the_file_itself(given, errors, name, threshold):
    judged = Judged(Outputs(["1", "2"], np.zeros(2, np.int64), [], uncertainties={"u": np.array([0.1, 0.2])}, **given))
    assert judged.tasks == ["given"]
    assert scored(System("s", "model"), judged, "given").errors.tolist() == errors
    assert judged.error[1:] == (name, threshold)


def test_systems_that_agree_with_others_are_the_more_certain(rng):
    def system(*texts: str) -> Judged:
        return Judged(Outputs(["1", "2"], np.ones(2, np.int64), list(texts), references=[("a",), ("b",)]))

    found = scoring.among([system("a b c", "d e f"), system("a b c", "x y z"), system("a b c", "d e f")])
    assert [values.round(3).tolist() for values in found] == [[0, 0.333], [0, 0.667], [0, 0.333]]


def test_the_length_check_is_by_tokens_or_else_by_words(rng):
    found = made(rng)
    judged = Judged(found)
    assert found.lengths is not None
    np.testing.assert_array_equal(judged.length, found.lengths[found.best()])
    assert scored(System("s", "model"), judged, "egleu").length is judged.length
    words = Outputs(["1", "2"], np.ones(2, np.int64), ["a b c", ""], references=[("a",), ("c",)])
    assert Judged(words).length.tolist() == [3.0, 0.0]  # type: ignore[union-attr]


def test_samples_weigh_the_same_in_every_measure():
    logs = np.log([[0.9, 0.8, 0.1], [0.7, 0.8, 0.2]])
    sampled = Outputs(
        ["1"], np.array([3]), ["a", "b", "c"], lengths=np.ones(3, np.int64), log_probabilities=logs, sampled=True,
        references=[("a",)],
    )  # fmt: skip
    found = Judged(sampled).uncertainty
    assert found["beam_score"] == pytest.approx(-np.log([0.8, 0.8, 0.15]).mean())
    assert found["score_variance"] == pytest.approx(logs.var(axis=0).mean())


def test_a_perfect_beam_has_no_error_however_its_weights_are_rounded():
    confidences = np.concatenate([np.full(count, 1 / count) for count in range(1, 8)])
    counts = np.arange(1, 8)
    found = Outputs(
        [str(row) for row in range(7)], counts, ["a b c d e"] * counts.sum(), references=[("a b c d e",)] * 7,
        confidences=confidences,
    )  # fmt: skip
    for task in (scoring.GLEU_ERROR, scoring.CHRF_ERROR):
        assert scoring.ERRORS[task](Judged(found)).tolist() == [0.0] * 7
