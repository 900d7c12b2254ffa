"""Measures of texts alone: how far the texts of a record agree, whatever wrote them.

A record's texts y_k of all members have probabilities p_k, the mean over members of their weights. u(y, z) is the
agreement of y with z if z were the truth: GLEU or chrF, divided by 100, and 1 where both are
the same but for white space.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from shiftbench import argument, check
from shiftbench.check import Vector
from shiftbench.ensembles import Array, Texts, ragged
from shiftbench.ensembles.ensemble import Index
from shiftbench.measures import Measure
from shiftbench.metrics.translation import chrf, chrf_statistics, sentence_gleu

DIGITS = 12  # of a measure after the point; further ones are noise of sums


def _gleu(texts: list[str], others: list[str]) -> Array:
    """GLEU [2, K] of texts by others, and of others by texts, which is the same."""
    return np.broadcast_to(sentence_gleu(texts, others), (2, len(texts)))


def _chrf(texts: list[str], others: list[str]) -> Array:
    """chrF [2, K] of texts by others, and of others by texts, from one count of n-grams."""
    statistics = chrf_statistics(texts, others)
    swapped = statistics.reshape(len(texts), -1, 3)[:, :, [1, 0, 2]].reshape(statistics.shape)
    return chrf(np.stack([statistics, swapped]))


UTILITIES: Mapping[str, Callable[[list[str], list[str]], Array]] = {"gleu": _gleu, "chrf": _chrf}
"""What agreement is measured by."""


class _Distinct(NamedTuple):
    """The D different texts of N records, record by record.

    codes: [D], equal for equal texts. known: the text of each code. shares: [D], of sum 1 over a record.
    sizes: [N], of each record. inverse: [M, H], which of the D each text is.
    """

    codes: Index
    known: list[str]
    shares: Vector
    sizes: Index
    inverse: Index

    @classmethod
    def of(cls, ensemble: Texts) -> _Distinct:
        """From an ensemble; texts that differ in white space alone are equal."""
        assert ensemble.weights is not None, "they are set when an ensemble is made"
        numbers = defaultdict[str, int](itertools.count().__next__)
        texts: list[str] = ensemble.texts.ravel().tolist()
        written = np.fromiter(map(numbers.__getitem__, texts), np.int64, len(texts))
        known, codes = np.unique([" ".join(text.split()) for text in numbers], return_inverse=True)
        keys = np.tile(ensemble.owners, ensemble.members) * len(known) + codes.reshape(-1)[written]
        different, inverse = np.unique(keys, return_inverse=True)
        inverse = inverse.reshape(ensemble.texts.shape)
        shares = np.bincount(inverse.ravel(), weights=ensemble.weights.ravel() / ensemble.members)
        records, codes = np.divmod(different, len(known))
        return cls(codes, known.tolist(), shares.astype(np.float64, copy=False), np.bincount(records), inverse)

    @property
    def starts(self) -> Index:
        """The first of the different texts of each record [N]."""
        return ragged.offsets(self.sizes)[:-1]

    def sums(self, values: Vector) -> Vector:
        """Sums [N] of values [D] over each record."""
        return np.asarray(np.add.reduceat(values, self.starts))

    def pairs(self) -> tuple[Index, Index]:
        """The places of both texts of each pair of different texts of a record."""
        after = np.repeat(self.starts + self.sizes, self.sizes) - np.arange(len(self.codes)) - 1
        first = np.repeat(np.arange(len(after)), after)
        return first, first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(after) - after, after)


def _agreement(found: _Distinct, utility: str) -> Vector:
    """sum_l p_l u(y_k, y_l) of each text [D]; each pair of texts is compared once, wherever it occurs."""
    first, second = found.pairs()
    if not len(first):
        return found.shares.copy()
    keys = found.codes[first] * len(found.known) + found.codes[second]
    pairs, inverse = np.unique(keys, return_inverse=True)
    texts, others = ([found.known[code] for code in codes.tolist()] for codes in np.divmod(pairs, len(found.known)))
    forth, back = UTILITIES[utility](texts, others)[:, inverse.reshape(-1)] / 100
    of_first, of_second = (
        np.bincount(own, weights=found.shares[other] * values, minlength=len(found.codes))
        for own, other, values in ((first, second, forth), (second, first, back))
    )
    return np.asarray(found.shares + of_first + of_second)


def expected_agreement(ensemble: Texts, utility: str = "gleu") -> Array:
    """The expected agreement of each text with those of its record, itself included, 0 to 1: [M, H].

    The text with the highest one is the answer of minimum Bayes risk.

    Args:
        ensemble: of texts.
        utility: "gleu" or "chrf".

    Raises:
        ArrayError: for another ensemble.
        UnknownNameError: for another utility.

    Source: Kumar & Byrne 2004; Eikema & Aziz 2020, Section 5.
    """
    check.kind("ensemble", ensemble, Texts)
    argument.choice("utility", utility, tuple(UTILITIES))
    whole = np.empty(ensemble.texts.shape)
    for rows, block in ensemble.blocks():
        found = _Distinct.of(block)
        whole[:, ragged.places(ensemble.sizes, rows)] = _agreement(found, utility)[found.inverse]
    return whole


def _settled(values: Array) -> Vector:
    """Values [N] without the noise of their sums, which would rank records whose texts agree alike."""
    return np.asarray(np.round(np.maximum(values, 0.0), DIGITS), dtype=np.float64)


def _disagreement(ensemble: Texts, utility: str) -> Vector:
    found = _Distinct.of(ensemble)
    return _settled(1 - found.sums(found.shares * _agreement(found, utility)))


def _risk(ensemble: Texts, utility: str) -> Vector:
    found = _Distinct.of(ensemble)
    best = np.maximum.reduceat(_agreement(found, utility), found.starts)
    return _settled(1 - best)


def _entropy(ensemble: Texts) -> Vector:
    found = _Distinct.of(ensemble)
    logs = np.log(found.shares, out=np.zeros_like(found.shares), where=found.shares > 0)
    return _settled(found.sums(-found.shares * logs))


def _by(function: Callable[[Texts, str], Vector], utility: str) -> dict[type[Texts], Callable[[Texts], Vector]]:
    return {Texts: lambda ensemble: function(ensemble, utility)}


_NAMES = {"gleu": "GLEU", "chrf": "chrF"}

MEASURES = (
    *(
        Measure(
            f"text_disagreement_{utility}", f"Disagreement of texts ({title})", "total",
            f"1 - sum_kl p_k p_l u(y_k, y_l), u: {title} / 100", "Kumar & Byrne 2004, Fomicheva et al. 2020",
            _by(_disagreement, utility),
        )
        for utility, title in _NAMES.items()
    ),
    *(
        Measure(
            f"text_risk_{utility}", f"Minimum Bayes risk ({title})", "total",
            f"1 - max_k sum_l p_l u(y_k, y_l), u: {title} / 100", "Kumar & Byrne 2004", _by(_risk, utility),
        )
        for utility, title in _NAMES.items()
    ),
    Measure(
        "text_entropy", "Entropy of texts", "total", "-sum p log(p) over different texts, p: sum of their p_k",
        "this package", {Texts: _entropy},
    ),
)  # fmt: skip
