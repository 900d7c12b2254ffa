"""A linear model of a target: where trees start from, so that the ends of the training range do not stop them.

Ridge regression (Hoerl and Kennard, Technometrics 12, 1970) on standardised numbers, flags of missing ones and
indicators of frequent categories; the penalty is the one of `PENALTIES` with the least error on held-out records.

Beyond the middle 98 % of what was learnt from, a number counts as changed by at most as much as their range: a line
through most records predicts little about a few far out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftbench.methods.member_files import Arrays

Vector = npt.NDArray[np.float64]
Rows = npt.NDArray[np.bool_]

PENALTIES = 10.0 ** np.arange(-6, 4)  # per record, of standardised columns; the largest leaves hardly a weight
ENDS = (0.01, 0.99)  # quantiles of a number that are its range
BEYOND = 1.0  # of the range, on either side
FEWEST_RECORDS = 5  # of a category with a weight of its own
MOST_CATEGORIES = 64  # of a column, the most frequent ones
MOST_RECORDS = 100_000  # that the weights are found from: more would hardly move them
BLOCK_ROWS = 1 << 14


@dataclass(frozen=True)
class Linear:
    """Weights of columns; plain values, so that they can be kept as JSON.

    Attributes:
        intercept: the prediction for a record at the centers, of no known category.
        low, high: [P] where numbers are cut off.
        center, scale: [P] of the numbers; a missing number is taken as the center.
        weights: [P] of the standardised numbers.
        missing: [P] of their being missing.
        categories: for each column of categories, the weights of those that have one.
    """

    intercept: float
    low: list[float]
    high: list[float]
    center: list[float]
    scale: list[float]
    weights: list[float]
    missing: list[float]
    categories: list[dict[str, float]]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The model that `to_json` wrote."""
        return cls(**value)

    def predict(self, arrays: Arrays, part: str) -> Vector:
        """The prediction for the records [N] of the arrays whose names begin with `part`."""
        numeric = arrays[f"{part}_numeric"]
        found = np.full(len(numeric), self.intercept)
        for start in range(0, len(numeric), BLOCK_ROWS):
            rows = slice(start, start + BLOCK_ROWS)
            for p in range(numeric.shape[1]):  # column by column: the order of a sum is always the same
                values = numeric[rows, p].astype(np.float64)
                gone = np.isnan(values)
                values[gone] = self.center[p]
                standard = (np.clip(values, self.low[p], self.high[p]) - self.center[p]) / self.scale[p]
                found[rows] += self.weights[p] * standard + self.missing[p] * gone
        for q, weights in enumerate(self.categories):
            of_text = np.array([weights.get(text, 0.0) for text in arrays[f"{part}_texts_{q}"].tolist()])
            if len(of_text):
                found += of_text[arrays[f"{part}_codes_{q}"]]
        return found


def fit(arrays: Arrays, learnt: tuple[str, Rows], held_out: tuple[str, Rows]) -> Linear:
    """The weights that the records `learnt` give with the penalty that is best on those `held_out`.

    Both are a part, which the names of its arrays begin with, and which of its records [N] are meant. The sums are
    made in one order only if the process has one thread for products of matrices.
    """
    part, rows = learnt[0], _spread(learnt[1])
    columns = _Columns.of(arrays, part, rows)
    inputs, wanted = columns.of_rows(arrays, part, rows), arrays[f"{part}_target"][rows]
    middle, level = inputs.mean(axis=0), float(wanted.mean())
    inputs -= middle
    values, vectors = np.linalg.eigh(inputs.T @ inputs / len(rows))
    along = vectors.T @ (inputs.T @ (wanted - level) / len(rows))
    part, rows = held_out[0], _spread(held_out[1])
    seen, truth = columns.of_rows(arrays, part, rows) - middle, arrays[f"{part}_target"][rows] - level
    candidates = [vectors @ (along / (np.maximum(values, 0) + penalty)) for penalty in PENALTIES]
    best = min(candidates, key=lambda weights: float(np.mean((seen @ weights - truth) ** 2)))
    return columns.model(best, level - float(middle @ best))


def _spread(rows: Rows) -> npt.NDArray[np.int64]:
    """The numbers of the rows that are chosen, at most `MOST_RECORDS`, evenly spread."""
    found = np.flatnonzero(rows)
    return found[np.linspace(0, len(found) - 1, min(len(found), MOST_RECORDS)).astype(np.int64)]


@dataclass(frozen=True)
class _Columns:
    """How records become columns: numbers standardised, which of them are missing, and indicators of categories."""

    low: Vector
    high: Vector
    center: Vector
    scale: Vector
    frequent: list[list[str]]

    @classmethod
    def of(cls, arrays: Arrays, part: str, rows: npt.NDArray[np.int64]) -> Self:
        numeric = arrays[f"{part}_numeric"][rows].astype(np.float64)
        numeric[:, np.isnan(numeric).all(axis=0)] = 0.0
        first, last = np.nanquantile(numeric, ENDS, axis=0)
        low, high = first - BEYOND * (last - first), last + BEYOND * (last - first)
        center = np.nanmedian(numeric, axis=0)
        scale = np.nanstd(np.clip(numeric, low, high), axis=0)
        frequent = []
        for q in range(len(arrays[f"{part}_categorical_names"])):
            texts = arrays[f"{part}_texts_{q}"]
            counts = np.bincount(arrays[f"{part}_codes_{q}"][rows], minlength=len(texts))
            order = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
            frequent.append([str(texts[code]) for code in order if counts[code] >= FEWEST_RECORDS])
        return cls(low, high, center, np.where(scale > 0, scale, 1.0), frequent)

    def of_rows(self, arrays: Arrays, part: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        """The columns of these rows [n, 2 P + categories]."""
        numeric = arrays[f"{part}_numeric"][rows].astype(np.float64)
        gone = np.isnan(numeric)
        numeric = np.where(gone, self.center, numeric)
        found = [(np.clip(numeric, self.low, self.high) - self.center) / self.scale, gone]
        for q, names in enumerate(self.frequent):
            texts = arrays[f"{part}_texts_{q}"][arrays[f"{part}_codes_{q}"][rows]]
            found += [(texts == name)[:, None] for name in names]
        return np.hstack(found).astype(np.float64)

    def model(self, weights: Vector, intercept: float) -> Linear:
        """The weights of the columns by what they belong to."""
        count = len(self.center)
        rest = iter(weights[2 * count :].tolist())
        return Linear(
            intercept, self.low.tolist(), self.high.tolist(), self.center.tolist(), self.scale.tolist(),
            weights[:count].tolist(), weights[count : 2 * count].tolist(),
            [{name: next(rest) for name in names} for names in self.frequent],
        )  # fmt: skip
