"""Search over an ensemble against a slow twin without caches or batches, built on the plain forward pass."""

from __future__ import annotations

import math
from functools import cache
from itertools import product

import numpy as np
import pytest
import torch

from shiftbench.ensembles import Hypotheses
from shiftbench.errors import SettingsError
from shiftbench.measures.hypotheses import sequence_measures
from shiftbench.methods import member_training
from shiftbench.methods.sequences import decoding
from shiftbench.methods.sequences.decoding import Beam, beam_search, forced, sample
from shiftbench.methods.sequences.transformer import Transformer
from tests.methods.sequences.made_up import BOS, EOS, PAD

SIZE = 9
SETTINGS = {
    "width": 8, "heads": 2, "feed_forward": 16, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.1,
    "attention_dropout": 0.1, "norm_first": True, "share_all": False, "longest": 64,
}  # fmt: skip
SOURCES = [np.array(each) for each in ([4, 5, 6], [], [7, 8, 4, 4, 5], [6], [8, 8])]


def network(seed: int, *, double: bool = True, words: int = SIZE, **changed) -> Transformer:
    with member_training.seeded(seed):
        net = Transformer(SETTINGS | changed, {"size": words, "bos": BOS, "eos": EOS, "pad": PAD})
        for tensor in net.parameters():  # sharper than as initialised, so that hypotheses end at different lengths
            tensor.data *= 1.5
    return (net.double() if double else net).eval()


@pytest.fixture(scope="module", params=[True, False], ids=["norm first", "norm last"])
def members(request):
    return [network(seed, norm_first=request.param) for seed in range(3)]


def scored(members, source, tokens) -> np.ndarray:
    """Log-probabilities [M, T, V] of what follows `tokens` one by one, from whole forward passes of one sequence."""
    return _scored(tuple(members), tuple(source.tolist()), tuple(tokens))


@cache  # searches of all widths and combinations try many sequences alike
def _scored(members: tuple[Transformer, ...], source: tuple[int, ...], tokens: tuple[int, ...]) -> np.ndarray:
    given, before = torch.tensor([[*source, EOS]]), torch.tensor([[BOS, *tokens]])
    with torch.no_grad():
        return np.stack([each(given, before)[0].log_softmax(-1).numpy() for each in members])


def total(logs: np.ndarray, combine: str) -> float:
    """The log-probability of a sequence of its tokens' [M, T]."""
    if combine == "pe":
        return float(np.log(np.exp(logs).mean(0)).sum())
    return float(np.log(np.exp(logs.sum(1)).mean()))


def slow(members, source, beam: Beam, most: int) -> list[tuple[tuple[int, ...], float, np.ndarray]]:
    """Hypotheses (tokens, score, log-probabilities of tokens), by a search that starts anew at every token."""
    rows, finished = [((), np.empty((len(members), 0)))], []
    for length in range(1, most + 1):
        found = []
        for tokens, logs in rows:
            after = scored(members, source, tokens)[:, -1]
            for token in range(SIZE):
                if token not in (PAD, BOS) and (token == EOS or length < most):
                    whole = np.hstack([logs, after[:, [token]]])
                    found.append((total(whole, beam.combine), (*tokens, token), whole))
        found.sort(key=lambda each: -each[0])
        for score, tokens, logs in found[: beam.width]:
            if tokens[-1] == EOS and len(finished) < beam.width:
                finished.append((tokens, score / len(tokens) ** beam.length_penalty, logs))
        if len(finished) >= beam.width:
            break
        rows = [each[1:] for each in found[: 2 * beam.width] if each[1][-1] != EOS][: beam.width]
    return sorted(finished, key=lambda each: -each[1])[: beam.best]


@pytest.mark.parametrize("combine", ["pe", "ep"])
@pytest.mark.parametrize("width", [1, 3])
def test_the_search_finds_what_its_slow_twin_finds(members, combine, width):
    beam = Beam(width, width, combine)
    together = beam_search(members, SOURCES, beam, most=[7, 8, 9, 5, 8])
    for source, most, found in zip(SOURCES, [7, 8, 9, 5, 8], together, strict=True):
        wanted = slow(members, source, beam, most)
        assert [tuple(each.tokens) for each in found] == [tokens for tokens, *_ in wanted]
        for ours, (_, score, logs) in zip(found, wanted, strict=True):
            assert ours.score == pytest.approx(score, rel=1e-12)
            np.testing.assert_allclose(ours.log_probabilities, logs, rtol=1e-11)
            assert ours.log_probability == pytest.approx(total(logs, combine), rel=1e-12)


def test_in_single_precision_the_search_is_as_good():
    nets = [network(seed, double=False) for seed in range(2)]
    beam = Beam(3, 3)
    for source, found in zip(SOURCES, beam_search(nets, SOURCES, beam, most=8), strict=True):
        wanted = slow(nets, source, beam, 8)
        assert [tuple(each.tokens) for each in found] == [tokens for tokens, *_ in wanted]
        np.testing.assert_allclose([each.score for each in found], [score for _, score, _ in wanted], atol=1e-5)


def test_hypotheses_end_at_different_lengths(members):
    lengths = {len(each.tokens) for found in beam_search(members, SOURCES, Beam(), most=12) for each in found}
    assert len(lengths) > 2  # or the tests above would not see sentences leave the search


def test_a_width_of_all_sequences_finds_the_likeliest(members):
    (found,) = beam_search(members, SOURCES[:1], Beam(400, 1, "ep", 0.0), most=3)
    words = [token for token in range(SIZE) if token not in (PAD, BOS, EOS)]
    every = [(*tokens, EOS) for length in range(3) for tokens in product(words, repeat=length)]
    scores = {}
    for tokens in every:
        logs = scored(members, SOURCES[0], tokens[:-1])
        chosen = logs[:, np.arange(len(tokens)), list(tokens)]
        scores[tokens] = total(chosen, "ep")
    best = max(scores, key=lambda tokens: scores[tokens])
    assert tuple(found[0].tokens) == best
    assert found[0].log_probability == pytest.approx(scores[best], rel=1e-12)


def test_scores_of_given_targets_are_those_of_the_search_in_blocks(members):
    found = beam_search(members, SOURCES, Beam(4, 3), most=9)
    targets = [[each.tokens[:-1] for each in hypotheses] for hypotheses in found]
    one, many = (list(forced(members, SOURCES, targets, values=size)) for size in (10**9, 500))
    assert (len(one), len(many)) == (1, len(SOURCES))
    assert one[0].records == len(SOURCES)
    logs = np.concatenate([block.hypotheses().log_probabilities for block in many], axis=1)
    np.testing.assert_allclose(one[0].hypotheses().log_probabilities, logs, rtol=1e-10)
    searched = np.concatenate([each.log_probabilities for hypotheses in found for each in hypotheses], axis=1)
    np.testing.assert_allclose(logs, searched, rtol=1e-10)
    measured = [sequence_measures(block) for block in many]
    for name, values in sequence_measures(one[0]).items():
        np.testing.assert_allclose(np.concatenate([each[name] for each in measured]), values, rtol=1e-8, atol=1e-12)


def test_samples_follow_the_ensemble_and_their_seed(members):
    source = SOURCES[:1]
    drawn = sample(members, source, draws=800, seed=5, combine="ep", most=2)[0]
    logs = scored(members, source[0], ())[:, 0]
    wanted = np.exp(logs).mean(0)
    wanted[[PAD, BOS]] = 0
    shares = np.bincount([each.tokens[0] for each in drawn], minlength=SIZE) / len(drawn)
    np.testing.assert_allclose(shares, wanted / wanted.sum(), atol=0.07)
    again = sample(members, [SOURCES[2], *source], draws=800, seed=5, combine="ep", most=2)[1]
    assert [tuple(each.tokens) for each in again] == [tuple(each.tokens) for each in drawn]
    beside = sample(members, [SOURCES[2], *source], draws=800, seed=5, combine="ep", most=[7, 2])[1]
    assert [tuple(each.tokens) for each in beside] == [tuple(each.tokens) for each in drawn]
    other = sample(members, source, draws=800, seed=6, combine="ep", most=2)[0]
    assert [tuple(each.tokens) for each in other] != [tuple(each.tokens) for each in drawn]


@pytest.mark.parametrize("combine", ["pe", "ep"])
def test_a_sample_has_the_probability_that_the_ensemble_gives_it(members, combine):
    for source, drawn in zip(SOURCES, sample(members, SOURCES, draws=3, seed=1, combine=combine, most=6), strict=True):
        for each in drawn:
            logs = scored(members, source, each.tokens[:-1])[:, np.arange(len(each.tokens)), each.tokens]
            np.testing.assert_allclose(each.log_probabilities, logs, rtol=1e-10)
            assert each.log_probability == pytest.approx(total(logs, combine), rel=1e-10)
            assert each.tokens[-1] == EOS


def test_a_likelihood_of_minus_800_gives_no_nan():
    nets = [network(seed, words=2000) for seed in range(2)]
    target = np.random.default_rng(0).integers(4, 2000, 60)
    sharp = [net for net in nets if net.target.weight.data.mul_(3) is not None]
    (block,) = forced(sharp, SOURCES[:1], [[target, target[::-1]]], values=10**9)
    assert isinstance(scores := block.hypotheses(), Hypotheses)
    assert scores.log_probabilities.sum(1).max() < -800
    assert all(np.isfinite(values).all() for values in sequence_measures(block).values())


def test_no_sources_need_no_search(members):
    assert beam_search(members, [], Beam()) == sample(members, [], draws=2, seed=0) == []
    assert list(forced(members, [], [])) == []


def test_members_of_other_vocabularies_are_refused(members):
    with pytest.raises(SettingsError, match="same vocabulary, found 9 tokens, 1 before and 2 after; 10 tokens"):
        beam_search([*members, network(0, words=10)], SOURCES, Beam())
    with pytest.raises(SettingsError, match="same vocabulary, found none"):
        sample([], SOURCES, draws=1, seed=0)


def test_expectation_of_products_weighs_members_by_what_they_gave_to_the_tokens_before():
    logs = torch.log(torch.tensor([[[0.9, 0.1]], [[0.2, 0.8]]], dtype=torch.float64))
    before = torch.log(torch.tensor([[0.6], [0.2]], dtype=torch.float64))
    product_first = decoding.combined(logs, before, "ep").exp()[0].tolist()
    assert product_first == pytest.approx([0.75 * 0.9 + 0.25 * 0.2, 0.75 * 0.1 + 0.25 * 0.8])
    assert decoding.combined(logs, before, "pe").exp()[0].tolist() == pytest.approx([0.55, 0.45])
    far = torch.full((2, 1), -800.0, dtype=torch.float64)
    assert math.isfinite(float(decoding.combined(logs, far, "ep").sum()))
