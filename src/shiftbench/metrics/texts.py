"""Scores of sets of texts by name: BLEU and chrF as functions of sums over records, and means over records of others.

The sums are sacreBLEU's statistics of the most confident text of each record; the functions of them have its values.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from shiftbench.check import Vector
from shiftbench.metrics.translation import chrf as chrf_of_statistics
from shiftbench.scores.metric import Metric

BLEU_ORDER = 4  # tokens of the longest n-gram


def bleu(sums: Any, _whole: Any = None) -> Vector:
    """Corpus BLEU [P], 0 to 100, with exponential smoothing.

    Args:
        sums: [P, 10]: tokens of the texts and of the references, then for n-grams of 1 to 4 tokens those that agree,
            and all of the texts.

    Source: Papineni et al. 2002; smoothing as in Chen & Cherry 2014, method 3.
    """
    found = np.asarray(sums, dtype=np.float64)
    texts, references = found[..., 0], found[..., 1]
    agree, every = found[..., 2 : 2 + BLEU_ORDER], found[..., 2 + BLEU_ORDER :]
    missed = (agree == 0) & (every > 0)
    smoothed = np.where(missed, 0.5 ** np.cumsum(missed, axis=-1), agree)
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = 100.0 * smoothed / every
        brevity = np.where(texts < references, np.exp(1.0 - references / texts), 1.0)
        score = brevity * np.exp(np.log(precision).sum(axis=-1) / BLEU_ORDER)
    return np.asarray(np.where(agree.any(axis=-1) & (every > 0).all(axis=-1), score, 0.0))


def chrf(sums: Any, _whole: Any = None) -> Vector:
    """Corpus chrF [P], 0 to 100, of the sums [P, 18] of `chrf_statistics`."""
    return chrf_of_statistics(sums)


_GLEU = "Shifts 1.0, Section 4"

METRICS = (
    Metric(
        "bleu", "BLEU", "max", "plain", "geometric mean of the precision of n-grams (1 to 4) × brevity penalty",
        "Papineni et al. 2002", most=100.0, compared=True, of_sums=bleu, area="bleu_area",
        plain="how many word sequences agree with the references",
    ),
    Metric(
        "chrf", "chrF", "max", "plain", "F2 of the n-grams of 1 to 6 characters", "Popović 2015", most=100.0,
        compared=True, of_sums=chrf, area="chrf_area", plain="how many character sequences agree with the references",
    ),
    Metric("egleu", "eGLEU", "max", "plain", "mean of sum_h w_h GLEU_h", _GLEU, most=100.0, compared=True),
    Metric("maxgleu", "maxGLEU", "max", "plain", "mean of max_h GLEU_h", _GLEU, most=100.0),
    Metric(
        "gleu", "GLEU", "max", "plain", "mean GLEU of the most confident hypotheses", "Wu et al. 2016", most=100.0,
    ),
    Metric(
        "exact_match", "Exact match", "max", "percent", "share of records whose most confident text is a reference",
        "this package", most=1.0, share=True,
    ),
    Metric(
        "quality", "Quality, as given", "max", "plain", "mean of a score that the file has", "this package",
        least=-math.inf, compared=True,
    ),
)  # fmt: skip

AREAS = (
    Metric(
        "bleu_area", "BLEU, area", "max", "plain", "area under its retention curve", "this package",
        uses_uncertainty=True, most=100.0,
    ),
    Metric(
        "chrf_area", "chrF, area", "max", "plain", "area under its retention curve", "this package",
        uses_uncertainty=True, most=100.0,
    ),
)  # fmt: skip
