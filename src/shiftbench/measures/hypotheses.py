"""Measures of scored hypotheses: log-probabilities l_mt of the tokens t of each hypothesis under member m."""

from __future__ import annotations

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles import Array, Hypotheses, ragged
from shiftbench.measures import Measure


def _score_of_products(ensemble: Hypotheses) -> Vector:
    """The score of each hypothesis, averaged over a record's hypotheses by their probability under the ensemble."""
    scores = ensemble.log_probabilities
    highest = scores.max(axis=0)
    expected = highest + np.log(np.exp(scores - highest).mean(axis=0))  # of each token, log mean_m exp l_mt
    total = np.add.reduceat(expected, ragged.offsets(ensemble.lengths)[:-1])
    return _averaged(-total / ensemble.lengths, total, ensemble)


def _averaged(values: Array, log_probabilities: Array, ensemble: Hypotheses) -> Vector:
    """Values [H] averaged over the hypotheses of each record by the softmax of their log-probabilities [H]."""
    starts = ragged.offsets(ensemble.counts)[:-1]
    highest = np.maximum.reduceat(log_probabilities, starts)
    powers = np.exp(log_probabilities - np.repeat(highest, ensemble.counts))
    return np.asarray(np.add.reduceat(powers * values, starts) / np.add.reduceat(powers, starts))


MEASURES = (
    Measure(
        "score_of_products",
        "SCR-PE",
        "total",
        "mean over hypotheses by probability of -mean over tokens of log(mean(exp(l_mt)))",
        "Malinin & Gales 2021",
        {Hypotheses: _score_of_products},
    ),
)
