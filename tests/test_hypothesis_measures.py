"""Measures of hypotheses against loops over records, hypotheses, tokens, members and words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
import pytest

from shiftbench.ensembles import Hypotheses, Posteriors
from shiftbench.errors import ArrayError
from shiftbench.measures import MEASURES, uncertainty
from shiftbench.measures.hypotheses import MEASURES as OURS
from shiftbench.measures.hypotheses import hypothesis_weights, prefix_weights, sequence_measures

KNOWLEDGE = ("token_mutual_information", "token_epkl", "token_rmi")


@pytest.fixture
def posteriors() -> Posteriors:
    return Posteriors.example(np.random.default_rng(3), members=4, records=6)


# --- slow twins -------------------------------------------------------------------------------------------------------


def beams(of: Posteriors) -> Iterator[list[np.ndarray]]:
    """For each record its hypotheses, each as log-probabilities [M, L, V + 1], with those of its tokens last."""
    lengths, start = iter(of.lengths.tolist()), 0
    for count in of.counts.tolist():
        found = []
        for length in [next(lengths) for _ in range(count)]:
            rows = range(start, start + length)
            own = np.stack([of.log_posteriors[:, t, of.tokens[t]] for t in rows], axis=1)
            found.append(np.concatenate([of.log_posteriors[:, rows], own[..., None]], axis=2))
            start += length
        yield found


def log_mean(values: list[float]) -> float:
    return math.log(sum(map(math.exp, values)) / len(values))


def scores(one: np.ndarray) -> dict[str, float]:
    own, length = one[..., -1], one.shape[1]
    sums = own.sum(axis=1)
    pe = -sum(log_mean(list(own[:, t])) for t in range(length)) / length
    ep = -log_mean(list(sums)) / length
    data = -sums.mean() / length
    return {
        "score_pe": pe, "score_ep": ep, "data_score": data, "score_knowledge_pe": data - pe,
        "score_knowledge_ep": data - ep, "score_variance": np.var(sums / length),
        "likelihood_variance": np.var(np.exp(sums / length)),
    }  # fmt: skip


def of_tokens(one: np.ndarray) -> dict[str, float]:
    members, length, _ = one.shape
    total: dict[str, float] = {}
    for t in range(length):
        logs = one[:, t, :-1]
        before = [math.exp(one[m, :t, -1].sum()) for m in range(members)]
        weights = {"pe": [1 / members] * members, "ep": [each / sum(before) for each in before]}
        for form, (inside, outside) in {
            "pe": ("pe", "pe"), "ep": ("ep", "ep"), "ep_published": ("ep", "pe"),
        }.items():  # fmt: skip
            expected = data = cross = 0.0
            for word in range(logs.shape[1]):
                p = sum(w * math.exp(each) for w, each in zip(weights[inside], logs[:, word], strict=True))
                expected -= p * math.log(p)
                for w, each in zip(weights[outside], logs[:, word], strict=True):
                    data -= w * math.exp(each) * each
                    cross -= p * w * each
            found = {
                "token_entropy": expected, "token_expected_entropy": data, "token_mutual_information": expected - data,
                "token_epkl": cross - data, "token_rmi": (cross - data) - (expected - data),
            }  # fmt: skip
            for name, value in found.items():
                total[f"{name}_{form}"] = total.get(f"{name}_{form}", 0.0) + value / length
    return total


def twin(of: Posteriors, measure: Callable[[np.ndarray], dict[str, float]], name: str) -> list[float]:
    """The mean over each record's hypotheses, by their probability under the ensemble."""
    found = []
    for beam in beams(of):
        totals = [math.exp(-scores(one)["score_pe"] * one.shape[1]) for one in beam]
        values = [measure(one)[name] for one in beam]
        found.append(sum(t * v for t, v in zip(totals, values, strict=True)) / sum(totals))
    return found


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [measure.name for measure in OURS if measure.name != "beam_score"])
def test_each_measure_is_that_of_loops(posteriors, name):
    slow = of_tokens if name.startswith("token") else scores
    expected = twin(posteriors, slow, name)
    assert uncertainty(posteriors, name) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    if slow is scores:
        assert uncertainty(posteriors.hypotheses(), name) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_score_of_a_beam_is_a_plain_mean(posteriors):
    expected = [np.mean([scores(one)["score_pe"] for one in beam]) for beam in beams(posteriors)]
    assert uncertainty(posteriors, "beam_score") == pytest.approx(expected)


def test_all_at_once_are_the_same_bits(posteriors):
    found = sequence_measures(posteriors)
    assert set(found) == {name for name, measure in MEASURES.items() if measure.fits(posteriors)}
    for name, values in found.items():
        np.testing.assert_array_equal(values, uncertainty(posteriors, name), err_msg=name)


def test_blocks_of_tokens_change_nothing(posteriors, monkeypatch):
    whole = sequence_measures(posteriors)
    monkeypatch.setattr("shiftbench.measures.hypotheses.BLOCK_VALUES", 1)
    for name, values in sequence_measures(posteriors).items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-12, atol=1e-15, err_msg=name)


def test_consistent_expectations_of_products_are_never_negative_while_published_ones_are():
    """A member that explains the token before takes all weight and is certain of the next, unlike nine others."""
    certain, flat = [0.97, 0.01, 0.01, 0.01], [0.25] * 4
    logs = np.log([[certain] * 4, *[[[0.01, 0.33, 0.33, 0.33], flat, flat, flat]] * 9])
    found = sequence_measures(Posteriors(logs, [0, 0, 0, 0], [4], [1]))
    assert all(found[f"{name}_ep"][0] >= 0 for name in KNOWLEDGE)
    assert found["token_mutual_information_ep_published"][0] < 0
    assert found["token_mutual_information_ep_published"][0] < found["token_mutual_information_ep"][0]


def test_members_are_weighted_by_what_they_said_of_the_tokens_before():
    logs = np.log(np.array([[0.5, 0.5, 0.9], [0.25, 0.5, 0.1]]))
    weights = prefix_weights(Hypotheses(logs, [2, 1], [2]))
    np.testing.assert_allclose(weights, [[1 / 2, 2 / 3, 1 / 2], [1 / 2, 1 / 3, 1 / 2]])


def test_words_that_a_member_finds_impossible_count_nothing():
    logs = np.log([[[0.5, 0.5, 1e-300]], [[0.5, 0.5, 1e-300]]])
    logs[:, :, 2] = -np.inf
    found = sequence_measures(Posteriors(logs, [0], [1], [1]))
    assert found["token_entropy_pe"] == pytest.approx([math.log(2)])
    assert found["token_epkl_pe"] == pytest.approx([0.0], abs=1e-12)


# --- weights of hypotheses --------------------------------------------------------------------------------------------


def test_weights_of_hypotheses_never_underflow():
    found = hypothesis_weights([-800.0, -801.0, -1e9], [2, 1])
    np.testing.assert_allclose(found, [1 / (1 + math.exp(-1)), 1 / (1 + math.exp(1)), 1.0])
    hot = hypothesis_weights([-800.0, -801.0], [2], temperature=50)
    np.testing.assert_allclose(hot, [1 / (1 + math.exp(-0.02)), 1 / (1 + math.exp(0.02))])


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (([-1.0, np.nan], [2]), "log_probabilities: "),
        (([-1.0, -2.0], [3]), "counts: expected 2 hypotheses in all, as there are, found 3"),
        (([-1.0, -2.0], [2, 0]), "counts: expected numbers >= 1, found 0"),
        (([-1.0], ["a"]), "counts: expected numbers"),
    ],
)
def test_weights_of_other_values_are_refused(words, told):
    with pytest.raises(ArrayError, match=told):
        hypothesis_weights(*words)


@pytest.mark.parametrize("temperature", [0, -1, math.nan, math.inf, "hot"])
def test_temperatures_that_are_none_are_refused(temperature):
    with pytest.raises(ArrayError, match="temperature: expected a number above 0"):
        hypothesis_weights([-1.0], [1], temperature=temperature)


# --- distributions ----------------------------------------------------------------------------------------------------

GOOD = np.log(np.full((2, 3, 4), 0.25))


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"log_posteriors": np.full((2, 3, 4), 0.25)}, "found a sum of 5.13.*Take the logarithm of probabilities"),
        ({"log_posteriors": GOOD - 1}, r"found a sum of 0.367879 \(member 0, token 0; 6 of 6\)"),
        ({"log_posteriors": GOOD * np.nan}, "found a sum of nan"),
        ({"log_posteriors": GOOD[0]}, r"expected floating numbers \[M, L, V\], found float64 of shape \(3, 4\)"),
        ({"log_posteriors": np.zeros((2, 3, 4), int)}, "expected floating numbers"),
        ({"tokens": [0, 1]}, "tokens: expected 3, one for each distribution, found 2"),
        ({"tokens": [0, 1, 4]}, "tokens: expected 0 to 3, found 4 at 2"),
        ({"lengths": [2]}, "lengths: expected 3 tokens in all, as there are, found 2"),
        ({"counts": [2]}, "counts: expected 1 hypotheses in all"),
    ],
)
def test_other_distributions_are_refused(changed, told):
    good = {"log_posteriors": GOOD, "tokens": [0, 1, 2], "lengths": [3], "counts": [1]}
    with pytest.raises(ArrayError, match=told):
        Posteriors(**(good | changed))


def test_a_token_that_a_member_finds_impossible_is_refused():
    logs = GOOD.copy()
    logs[1, 2] = np.log([1 / 3, 1 / 3, 1 / 3, 1]) - [0, 0, 0, np.inf]
    with pytest.raises(ArrayError, match=r"found probability 0 \(member 1, token 2; 1 of 6\)"):
        Posteriors(logs, [0, 1, 3], [3], [1])
