"""Encoding of tables for plain networks, fitted to train: z-scores, flags of missing values, category indicators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.check import Vector
from shiftbench.errors import SettingsError
from shiftbench.partition import features as columns
from shiftbench.partition.features import Features, Inputs

Floats = npt.NDArray[np.float32]

FEWEST = 5  # records of a category in train for an indicator column of its own


@dataclass(frozen=True)
class Scaling:
    """The encoding of the columns of `features` as D numbers.

    A number x becomes (x − center)·factor. A missing one becomes the mean of train, with a flag of 1 in columns with
    missing values in train. A category has an indicator column if train has it at least five times.

    Attributes:
        features: the columns.
        center: the means of train [P], or 0 for columns with a divisor.
        factor: one over the standard deviations or the divisors [P]; 0 for constant columns.
        missing: stands for a missing number [P].
        flagged: the numeric columns that have a flag.
        categories: those with a column, for each categorical column.
    """

    features: Features
    center: list[float]
    factor: list[float]
    missing: list[float]
    flagged: list[int]
    categories: list[list[str]]

    @classmethod
    def fit(cls, train: pl.DataFrame, features: Features, divisors: Mapping[str, float]) -> Self:
        """The scaling learnt from train; the columns in `divisors` are divided instead of standardised.

        Raises:
            SettingsError: if a divisor is of a column that is no number among the features.
            TableError: if no column varies, or one is not what its feature says.
        """
        inputs = columns.matrix(train, features)
        columns.require_variety(inputs)
        if unknown := [name for name in divisors if name not in inputs.numeric_names]:
            known = ", ".join(inputs.numeric_names) or "none"
            raise SettingsError(f"scales: expected numeric features ({known}), found {', '.join(unknown)}.")
        spread = [_spread(column, divisors.get(name)) for column, name in _numeric(inputs)]
        center, factor, missing = np.array(spread, np.float64).reshape(-1, 3).T.tolist()
        categories = [columns.frequent(texts, FEWEST) for texts in inputs.categorical]
        return cls(features, center, factor, missing, columns.partly_missing(inputs), categories)

    @property
    def width(self) -> int:
        """D, how many numbers a record becomes."""
        return len(self.center) + len(self.flagged) + sum(map(len, self.categories))

    def encode(self, frame: pl.DataFrame) -> Floats:
        """The records of a table [N, D].

        Raises:
            TableError: if a feature is missing there, or of another type than in train.
        """
        inputs = columns.matrix(frame, self.features)
        numbers = np.empty((len(inputs), self.width), np.float32)
        for place, (column, _) in enumerate(_numeric(inputs)):
            filled = np.where(np.isnan(column), self.missing[place], column)
            numbers[:, place] = (filled - self.center[place]) * self.factor[place]
        end = len(self.center) + len(self.flagged)
        numbers[:, len(self.center) : end] = np.isnan(inputs.numeric[:, self.flagged])
        for known, texts in zip(self.categories, inputs.categorical, strict=True):
            for place, name in enumerate(known, start=end):
                numbers[:, place] = texts == name
            end += len(known)
        return numbers

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; floats survive exactly."""
        return {**vars(self), "features": self.features.to_json()}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """The scaling that `to_json` wrote."""
        return cls(**{**value, "features": Features.from_json(value["features"])})


def _numeric(inputs: Inputs) -> list[tuple[Vector, str]]:
    """The numeric columns in float64, by name."""
    return [
        (column.astype(np.float64), name) for column, name in zip(inputs.numeric.T, inputs.numeric_names, strict=True)
    ]


def _spread(column: Vector, divisor: float | None) -> tuple[float, float, float]:
    """Center, factor and stand-in of a column."""
    present = column[~np.isnan(column)]
    mean = float(present.mean()) if present.size else 0.0
    varies = bool(present.size and present.min() < present.max())
    if divisor is not None:
        return 0.0, 1 / divisor, mean
    return mean, 1 / float(present.std()) if varies else 0.0, mean
