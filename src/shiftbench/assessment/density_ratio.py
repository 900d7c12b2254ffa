"""How many times as dense records of one kind are as those of another, where their features lie: estimated by a
classifier that tells the two apart (Qin 1998; Sugiyama, Suzuki & Kanamori 2012, Section 4).

The classifier is a logistic regression with a ridge penalty on standardised numbers, their squares, flags of missing
values and frequent categories. It is fitted to a seeded sample, and no record is judged by a fit that has seen it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
import polars as pl

from shiftbench.assessment.source import Source
from shiftbench.check import Vector
from shiftbench.partition.features import Features, category_texts, matrix
from shiftbench.scores import logistic
from shiftbench.scores.detection import roc_area
from shiftbench.scores.ranking import Index, Ranking

MOST = 10_000  # records of each kind that the classifier is fitted to; half as many
MANY = 50  # beyond so many features
FOLDS = 5
RIDGE = 1.0
BLOCK = 50_000  # records that are judged at a time
OUTERMOST = 5.0  # deviations beyond which a number says nothing more
MOST_CATEGORIES = 30  # of a feature
RAREST = 0.005  # share of records from which on a category counts
LARGEST = 100.0  # ratios are clipped to this; small ones are not, since then all records far off would count the same
FEWEST = 2 * FOLDS  # records of each kind


@dataclass(frozen=True)
class Ratio:
    """The ratio of the density of N wanted records to that of n known ones: known [n], wanted [N], clipped.

    roc_auc: how well the classifier tells the two apart on records it has not seen: 0.5 is not at all, 1 perfectly.
    clipped: the share of the N wanted records whose ratio was clipped.
    """

    known: Vector
    wanted: Vector
    roc_auc: float
    clipped: float

    @property
    def effective(self) -> float:
        """The effective number of known records, (sum of ratios)² / sum of squares (Kish 1965)."""
        shares = np.sort(self.known / self.known.max())  # squares of tiny ones would vanish; sorted: whatever the order
        return float(shares.sum() ** 2 / (shares**2).sum())


def ratio(known: Source, wanted: Source, *, seed: int) -> Ratio | None:
    """The ratio at the records of both; None if one has fewer than ten records or there are no features."""
    if min(len(known), len(wanted)) < FEWEST or not known.features.columns:
        return None
    most = MOST if len(known.features.columns) <= MANY else MOST // 2
    samples = [each.drawn(most, seed=seed) for each in (known, wanted)]
    coding = _Coding.of(samples)
    inputs = [coding.inputs(each.take(columns=each.features.columns)) for each in samples]
    x, label = np.concatenate(inputs), np.repeat([0.0, 1.0], [len(each) for each in inputs])
    weight = 0.5 / np.repeat([len(each) / len(x) for each in inputs], [len(each) for each in inputs])
    fold = np.concatenate([each.folds(FOLDS, seed=seed + 1) for each in samples])
    whole = logistic.fit(x, label, weight, ridge=RIDGE)  # a start only: records are judged by fits without them
    fits = [
        logistic.fit(x[fold != k], label[fold != k], weight[fold != k], ridge=RIDGE, start=whole)
        if len(np.unique(label[fold != k])) == 2
        else np.zeros(x.shape[1] + 1)
        for k in range(FOLDS)
    ]
    logs = [_judged(each, coding, fits, seed=seed + 1) for each in (known, wanted)]
    ranking = Ranking.of(np.concatenate(logs))
    area = roc_area(np.repeat([False, True], [len(each) for each in logs]), ranking)
    found = [np.exp(np.minimum(each, np.log(LARGEST))) for each in logs]
    return Ratio(found[0], found[1], area, float((logs[1] > np.log(LARGEST)).mean()))


def _judged(source: Source, coding: _Coding, fits: list[Vector], *, seed: int) -> Vector:
    """The logarithm of the ratio at each record [N], by the fit that has not seen its fold."""
    folds, found = source.folds(FOLDS, seed=seed), np.empty(len(source))
    for k, coefficients in enumerate(fits):
        own = np.flatnonzero(folds == k)
        for start in range(0, len(own), BLOCK):
            rows = own[start : start + BLOCK]
            x = coding.inputs(source.take(rows, source.features.columns))
            # Not by BLAS, in which the rounding of a record depends on its place.
            found[rows] = np.einsum("ij,j->i", x, coefficients[1:]) + coefficients[0]
    return found


@dataclass(frozen=True)
class _Coding:
    """What turns features into the inputs of the classifier: centre and scale of P numbers, and categories."""

    features: Features
    centre: Vector
    scale: Vector
    missing: Index  # which of the P numbers are missing somewhere
    categories: tuple[tuple[str, tuple[str, ...]], ...]

    @classmethod
    def of(cls, samples: list[Source]) -> _Coding:
        features = samples[0].features
        frames = [each.take(columns=features.columns) for each in samples]
        numbers = np.concatenate([_numbers(frame, features) for frame in frames])
        known = np.where(np.isfinite(numbers).any(axis=0), numbers, 0.0)  # a column without values has no median
        # Without any numbers nanpercentile has no three rows.
        low, centre, high = np.nanpercentile(known, [15.87, 50.0, 84.13], axis=0) if known.size else np.zeros((3, 0))
        spread = 0.5 * (high - low)
        scale = np.where(spread > 0, spread, np.nanstd(known, axis=0))
        categories = tuple((name, _frequent([frame[name] for frame in frames])) for name in features.categorical)
        return cls(
            features, centre, np.where(scale > 0, scale, 1.0), np.flatnonzero(np.isnan(numbers).any(axis=0)), categories
        )

    def inputs(self, frame: pl.DataFrame) -> Vector:
        """The inputs [n, D] of rows of the table."""
        numbers = _numbers(frame, self.features)
        absent = np.isnan(numbers)
        z = np.clip(np.where(absent, 0.0, (numbers - self.centre) / self.scale), -OUTERMOST, OUTERMOST)
        flags = [
            category_texts(frame[name]).to_numpy() == category
            for name, categories in self.categories
            for category in categories
        ]
        parts = [z, z**2 / OUTERMOST, absent[:, self.missing], *(flag[:, None] for flag in flags)]
        return np.concatenate(parts, axis=1, dtype=np.float64)


def _numbers(frame: pl.DataFrame, features: Features) -> Vector:
    """The numbers [n, P] that models see, dates included, NaN where missing."""
    found = matrix(frame, replace(features, categorical=()))
    return np.asarray(found.numeric, dtype=np.float64)


def _frequent(columns: list[pl.Series]) -> tuple[str, ...]:
    """The most frequent categories, each kind of record counting the same; all but one of them if there are few."""
    shares: dict[str, float] = {}
    for column in columns:
        for name, count in _counts(column):
            shares[name] = shares.get(name, 0.0) + count / len(column) / len(columns)
    order = sorted((name for name in shares if shares[name] >= RAREST), key=lambda name: (-shares[name], name))
    return tuple(order[:MOST_CATEGORIES])


def _counts(column: pl.Series) -> Iterator[tuple[str, int]]:
    yield from category_texts(column).value_counts().iter_rows()
