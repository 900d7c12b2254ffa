"""Scores and measures of translations against other libraries and loops. CPU seconds."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from nltk.translate import gleu_score
from torch import Tensor

from shiftbench.ensembles import Posteriors
from shiftbench.measures.hypotheses import sequence_measures
from shiftbench.methods import member_training
from shiftbench.methods.determinism import one_thread
from shiftbench.methods.sequences.decoding import Beam, beam_search
from shiftbench.methods.sequences.transformer import Transformer
from shiftbench.metrics import translation

GOLDEN = Path(__file__).resolve().parent.parent / "tests/golden/translation/translation.json"
HYPOTHESES, ROUNDS = 15_000, 5
BOUND_GLEU, BOUND_MEASURES = 0.2, 0.05
MEMBERS, BEAM, LENGTH = 5, 5, 25
VOCABULARIES = {32: 300, 40_000: 2}  # words → records
SEARCHED, SOURCE, WORDS, TOKENS, BOUND_SEARCH = 2, 40, 8_000, 50, 0.25
SIZES = {6: (512, BOUND_SEARCH), 2: (128, None)}  # layers of encoder and decoder → width, and the bound


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
        *(searching(layers, width, bound) for layers, (width, bound) in SIZES.items()),
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


class Uncached:
    """A network whose search computes all earlier tokens again for each new one; it encodes sources once, too."""

    def __init__(self, net: Transformer) -> None:
        self.net, self.words, self.start, self.eos, self.banned = net, net.words, net.start, net.eos, net.banned
        self.place = net.place

    def begin(self, sources: list[np.ndarray], width: int) -> Uncached:
        """The state of a search."""
        state = Uncached(self.net)
        state.source = self.net.seen(self.net.encode(self.net.batch(sources)))
        state.tokens = torch.empty((len(sources) * width, 0), dtype=torch.int64)
        return state

    def step(self, tokens: Tensor) -> Tensor:
        """Log-probabilities of what follows one more token of each row."""
        self.tokens = torch.cat([self.tokens, tokens[:, None]], 1)
        return self.net.logits(self.net.decode(self.tokens, self.source)[:, -1]).log_softmax(-1)

    def reorder(self, rows: Tensor, sentences: Tensor | None) -> None:
        """Continue with these rows."""
        assert sentences is None, "no sentence ends early here"
        self.tokens = self.tokens[rows]


def searching(layers: int, width: int, bound: float | None) -> tuple[str, float, float | None]:
    """A search over two networks with caches over one without, which finds the same."""
    settings = {
        "width": width, "heads": width // 64, "feed_forward": 4 * width, "encoder_layers": layers,
        "decoder_layers": layers, "dropout": 0.0, "attention_dropout": 0.0, "norm_first": True, "share_all": True,
        "longest": 64,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    sources = [rng.integers(4, WORDS, SOURCE) for _ in range(SEARCHED)]
    cached, times = [], []
    for seed in range(2):
        with member_training.seeded(seed):
            cached.append(Transformer(settings, {"size": WORDS, "bos": 1, "eos": 2, "pad": 0}).eval())
        cached[-1].target.weight.data[2] = 0  # so hardly any row ends before the limit
    found: list[list[list[int]]] = []
    with one_thread():
        for nets in (cached, [Uncached(net) for net in cached]):
            start = time.process_time()
            searched = beam_search(nets, sources, Beam(), most=TOKENS)
            times.append(time.process_time() - start)
            found.append([each.tokens.tolist() for hypotheses in searched for each in hypotheses])
    assert found[0] == found[1], "both find the same"
    assert {len(tokens) for tokens in found[0]} == {TOKENS}
    name = f"beam search of {TOKENS} tokens, 2 members of {layers} + {layers} layers of width {width} / without caches"
    return name, times[0] / times[1], bound


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
