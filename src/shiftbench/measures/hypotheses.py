"""Measures of scored hypotheses: log-probabilities l_mt of the L tokens t of each hypothesis under M members m.

Those of the whole vocabulary p_mt need `Posteriors`. A hypothesis's tokens t are averaged; hypotheses are averaged by
their probability under the ensemble (`hypothesis_weights`). PE is the product over tokens of expectations over members,
EP the expectation over members of products over tokens, which weights members at token t by exp(sum_{j<t} l_mj).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from shiftbench import check
from shiftbench.check import Vector
from shiftbench.ensembles import Array, Hypotheses, Posteriors, ragged
from shiftbench.ensembles.ensemble import BLOCK_VALUES, numbers
from shiftbench.errors import ArrayError
from shiftbench.measures import Measure

_LEAST_LOG = -745.0  # of a word that a member finds impossible: exp of less is 0 in double precision


def hypothesis_weights(log_probabilities: Any, counts: Any, *, temperature: float = 1.0) -> Vector:
    """The weight of each hypothesis [H]: the softmax of log-probabilities over the hypotheses of each record.

    Args:
        log_probabilities: [H] in nats, the hypotheses of the first record first: sums over tokens, or means, which
            weight by the length-normalised likelihood of published submissions.
        counts: [N], the number of hypotheses of each record.
        temperature: above 0; log-probabilities are divided by it.

    Raises:
        ArrayError: for other shapes, NaN, infinity, counts below 1 or of another sum, a temperature of 0 or less.

    The published exp(log P) / sum is 0/0 where all log-probabilities are below about -745; a softmax never is.
    Source: Malinin & Gales 2021.
    """
    logs, problems = numbers("log_probabilities", log_probabilities, "[H]")
    of_records, wrong = numbers("counts", counts, "[N]", dtype=np.int64)
    problems += wrong or ragged.length_problems("counts", of_records, len(logs), "hypotheses")
    if not 0 < check.number(temperature) < np.inf:
        problems.append(f"temperature: expected a number above 0, found {temperature}.")
    if problems:
        raise ArrayError(*problems)
    starts = ragged.offsets(of_records)[:-1]
    highest = np.repeat(np.maximum.reduceat(logs, starts), of_records)
    powers = np.exp((logs - highest) / temperature)
    return np.asarray(powers / np.repeat(np.add.reduceat(powers, starts), of_records))


# --- from the log-probabilities of the tokens -------------------------------------------------------------------------


def _expected(values: Array) -> Array:
    """log(mean(exp(values))) over members [M, …]."""
    highest = values.max(axis=0)
    return np.asarray(highest + np.log(np.exp(values - highest).mean(axis=0)))


def _sums(ensemble: Hypotheses | Posteriors, values: Array) -> Array:
    """Sums over the tokens of each hypothesis, of values […, L] -> […, H]."""
    return np.asarray(np.add.reduceat(values, ragged.offsets(ensemble.lengths)[:-1], axis=-1))


def _per_record(ensemble: Hypotheses | Posteriors, values: Array, log_probabilities: Array) -> Vector:
    """Values [H] averaged over the hypotheses of each record by the softmax of log-probabilities [H]."""
    weights = hypothesis_weights(log_probabilities, ensemble.counts)
    return np.asarray(np.add.reduceat(values * weights, ragged.offsets(ensemble.counts)[:-1]))


class Scores(NamedTuple):
    """Log-probabilities of each hypothesis [H] as PE and EP, sums over tokens, and of each member [M, H]."""

    pe: Array
    ep: Array
    each: Array

    @classmethod
    def of(cls, ensemble: Hypotheses) -> Scores:
        """From the log-probabilities of the tokens."""
        each = _sums(ensemble, ensemble.log_probabilities)
        return cls(_sums(ensemble, _expected(ensemble.log_probabilities)), _expected(each), each)


def _score_pe(scores: Scores, lengths: Array) -> Array:
    return -scores.pe / lengths


def _score_ep(scores: Scores, lengths: Array) -> Array:
    return -scores.ep / lengths


def _data_score(scores: Scores, lengths: Array) -> Array:
    return np.asarray(-scores.each.mean(axis=0) / lengths)


def _knowledge_pe(scores: Scores, lengths: Array) -> Array:
    return np.maximum(_data_score(scores, lengths) - _score_pe(scores, lengths), 0)


def _knowledge_ep(scores: Scores, lengths: Array) -> Array:
    return np.maximum(_data_score(scores, lengths) - _score_ep(scores, lengths), 0)


def _score_variance(scores: Scores, lengths: Array) -> Array:
    return np.asarray((scores.each / lengths).var(axis=0))


def _likelihood_variance(scores: Scores, lengths: Array) -> Array:
    return np.asarray(np.exp(scores.each / lengths).var(axis=0))


OfScores = Callable[[Scores, Array], Array]


def _of_scores(function: OfScores) -> Callable[[Hypotheses], Vector]:
    def of(ensemble: Hypotheses) -> Vector:
        scores = Scores.of(ensemble)
        return _per_record(ensemble, function(scores, ensemble.lengths.astype(np.float64)), scores.pe)

    return of


def _beam_score(ensemble: Hypotheses) -> Vector:
    values = _score_pe(Scores.of(ensemble), ensemble.lengths.astype(np.float64))
    return np.asarray(np.add.reduceat(values, ragged.offsets(ensemble.counts)[:-1]) / ensemble.counts)


# --- from the distributions over the vocabulary -----------------------------------------------------------------------


class Entropies(NamedTuple):
    """Of each token [L], in nats, with p the mean of the members' distributions by the weights of a form.

    total: of p. data: mean of the members'. cross: -sum_v p_v * mean_m(log p_mv).
    """

    total: Array
    data: Array
    cross: Array


class Forms(NamedTuple):
    """Entropies by form: PE, EP with the same weights in all terms, and EP as published, with plain means but of p."""

    pe: Entropies
    ep: Entropies
    published: Entropies

    @classmethod
    def of(cls, ensemble: Posteriors) -> Forms:
        """In blocks of tokens, so that little more than the result is in memory."""
        weights = prefix_weights(ensemble.hypotheses())
        found = np.empty((7, len(ensemble.tokens)))
        for rows, logs in _token_blocks(ensemble):
            found[:, rows] = _entropies(logs, weights[:, rows])
        pe_total, pe_data, pe_cross, ep_total, ep_data, ep_cross, published = found
        return cls(
            Entropies(pe_total, pe_data, pe_cross),
            Entropies(ep_total, ep_data, ep_cross),
            Entropies(ep_total, pe_data, published),
        )


def prefix_weights(ensemble: Hypotheses) -> Array:
    """The weight of each member at each token [M, L] in EP: its posterior given the tokens before, summing to 1.

    Source: Malinin & Gales 2021.
    """
    starts = ragged.offsets(ensemble.lengths)[:-1]
    before = np.cumsum(ensemble.log_probabilities, axis=1) - ensemble.log_probabilities
    before -= np.repeat(before[:, starts], ensemble.lengths, axis=1)
    powers = np.exp(before - before.max(axis=0))
    return np.asarray(powers / powers.sum(axis=0))


def _token_blocks(ensemble: Posteriors) -> Iterator[tuple[slice, Array]]:
    members, tokens, words = ensemble.log_posteriors.shape
    step = max(1, BLOCK_VALUES // (members * words))
    for start in range(0, tokens, step):
        rows = slice(start, start + step)
        yield rows, np.maximum(ensemble.log_posteriors[:, rows], _LEAST_LOG, dtype=np.float64)


def _entropies(logs: Array, weights: Array) -> Array:
    """The seven of `Forms` [7, K] from log-probabilities [M, K, V] and the weights of members in EP [M, K]."""
    probabilities = np.exp(logs)
    own = -np.einsum("mkv,mkv->mk", probabilities, logs)
    both = np.stack([np.full_like(weights, 1 / len(weights)), weights], axis=-1)  # [M, K, 2]: of PE and of EP
    mixed = both.transpose(1, 2, 0) @ probabilities.transpose(1, 0, 2)  # [K, 2, V]
    cross = -(mixed @ logs.transpose(1, 2, 0))  # [K, 2, M]: of a form's mean with each member
    total = -np.einsum("kfv,kfv->fk", mixed, np.log(np.maximum(mixed, np.exp(_LEAST_LOG))))
    return np.stack(
        [
            total[0], own.mean(axis=0), cross[:, 0].mean(axis=1),
            total[1], (weights * own).sum(axis=0), (weights.T * cross[:, 1]).sum(axis=1), cross[:, 1].mean(axis=1),
        ]
    )  # fmt: skip


OfEntropies = Callable[[Entropies], Array]


def _of_forms(form: str, function: OfEntropies) -> Callable[[Posteriors], Vector]:
    def of(ensemble: Posteriors) -> Vector:
        values = _of_hypotheses(ensemble, Forms.of(ensemble), form, function)
        return _per_record(ensemble, values, Scores.of(ensemble.hypotheses()).pe)

    return of


def _of_hypotheses(ensemble: Posteriors, forms: Forms, form: str, function: OfEntropies) -> Array:
    values = function(getattr(forms, form))
    if form != "published":  # which is below 0 for other reasons than rounding
        values = np.maximum(values, 0)
    return _sums(ensemble, values) / ensemble.lengths


def sequence_measures(ensemble: Posteriors, *, equal: bool = False) -> dict[str, Vector]:
    """All measures of `Posteriors` by name [N], from one pass over the vocabulary.

    The same numbers as `shiftbench.uncertainty` gives for one measure after the other, without its passes. `equal`
    averages hypotheses alike, as is right for samples, instead of by their probability.
    """
    forms, scored = Forms.of(ensemble), ensemble.hypotheses()
    scores, lengths = Scores.of(scored), scored.lengths.astype(np.float64)
    found = {name: function(scores, lengths) for name, *_, function in _SCORES}
    found |= {name: _of_hypotheses(ensemble, forms, form, function) for name, form, function in _TOKEN_FUNCTIONS}
    starts = ragged.offsets(scored.counts)[:-1]
    weights = hypothesis_weights(np.zeros(len(lengths)) if equal else scores.pe, scored.counts)
    weighted = np.stack([*found.values()]) * weights
    return {"beam_score": _beam_score(scored)} | dict(
        zip(found, np.add.reduceat(weighted, starts, axis=1), strict=True)
    )


# --- registration -----------------------------------------------------------------------------------------------------

_SOURCE = "Malinin & Gales 2021"
_SCORES: tuple[tuple[str, str, Any, str, OfScores], ...] = (
    ("score_pe", "Score, PE (SCR-PE)", "total", "-mean_t log(mean_m exp(l_mt))", _score_pe),
    ("score_ep", "Score, EP (SCR-EP)", "total", "-log(mean_m exp(sum_t l_mt)) / L", _score_ep),
    ("data_score", "Data score", "data", "-mean_mt l_mt", _data_score),
    ("score_knowledge_pe", "Score-based RMI, PE (sMKL-PE)", "knowledge", "data_score - score_pe", _knowledge_pe),
    ("score_knowledge_ep", "Score-based RMI, EP (sMKL-EP)", "knowledge", "data_score - score_ep", _knowledge_ep),
    ("score_variance", "Variance of scores", "knowledge", "variance over m of mean_t l_mt", _score_variance),
    (
        "likelihood_variance", "Variance of likelihoods", "knowledge", "variance over m of exp(mean_t l_mt)",
        _likelihood_variance,
    ),
)  # fmt: skip
_TOKENS: tuple[tuple[str, str, Any, str, OfEntropies], ...] = (
    ("token_entropy", "Entropy of expected, tokens", "total", "mean_t H(p_t)", lambda e: e.total),
    ("token_expected_entropy", "Expected entropy, tokens", "data", "mean_t mean_m H(p_mt)", lambda e: e.data),
    (
        "token_mutual_information", "Mutual information, tokens", "knowledge", "mean_t H(p_t) - mean_m H(p_mt)",
        lambda e: e.total - e.data,
    ),
    (
        "token_epkl", "EPKL, tokens", "knowledge", "mean_t -sum_v p_tv mean_m(log p_mtv) - mean_m H(p_mt)",
        lambda e: e.cross - e.data,
    ),
    ("token_rmi", "RMI, tokens", "knowledge", "token_epkl - token_mutual_information", lambda e: e.cross - e.total),
)  # fmt: skip
_FORMS = {"pe": ("_pe", "PE"), "ep": ("_ep", "EP"), "published": ("_ep_published", "EP as published")}
# As published, the data term is that of PE; all others differ.
_TAKEN = [
    (stem, title, kind, formula, function, form)
    for stem, title, kind, formula, function in _TOKENS
    for form in _FORMS
    if form != "published" or kind == "knowledge"
]
_TOKEN_FUNCTIONS = tuple((stem + _FORMS[form][0], form, function) for stem, *_, function, form in _TAKEN)
_SCORE_FUNCTIONS = {"beam_score": _beam_score} | {name: _of_scores(function) for name, *_, function in _SCORES}


def _scoring(name: str) -> dict[type[Any], Callable[[Any], Vector]]:
    function = _SCORE_FUNCTIONS[name]
    return {Hypotheses: function, Posteriors: lambda ensemble: function(ensemble.hypotheses())}


MEASURES = (
    Measure(
        "beam_score", "NLL, mean of the beam", "total", "plain mean over hypotheses of score_pe",
        "Shifts 1.0, code", _scoring("beam_score"),
    ),
    *(Measure(name, title, kind, formula, _SOURCE, _scoring(name)) for name, title, kind, formula, _ in _SCORES),
    *(
        Measure(
            stem + _FORMS[form][0], f"{title}, {_FORMS[form][1]}", kind, formula, _SOURCE,
            {Posteriors: _of_forms(form, function)},
        )
        for stem, title, kind, formula, function, form in _TAKEN
    ),
)  # fmt: skip
