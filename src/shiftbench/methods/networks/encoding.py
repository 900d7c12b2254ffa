"""Inputs of networks, encoded as learnt from train: scaled numbers, flags of missing ones, categories as codes."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.partition import features
from shiftbench.partition.features import Inputs

Floats = npt.NDArray[np.float32]
Codes = npt.NDArray[np.int64]

UNKNOWN = 0  # the code of categories that are rare or missing in train
FEWEST = 5  # records in train for a category to have a code of its own
FARTHEST = 10.0  # 11,000 standard deviations: larger values cannot be measurements
# Pairs of quantiles, the narrowest first, and their distance in a standard normal distribution.
SPREADS = ((0.25, 0.75, 1.349), (0.1, 0.9, 2.563), (0.01, 0.99, 4.653), (0.001, 0.999, 6.180), (0.0, 1.0, 10.0))


@dataclass(frozen=True)
class Encoding:
    """The encoding of P numeric and C categorical columns.

    A number x becomes arsinh((x - center)·factor): linear near the median, logarithmic far from it, so that outliers
    neither compress the rest nor dominate, and values beyond those of train still differ. A missing one becomes 0, the
    value of the median, with a flag of 1 in columns with missing values in train.

    Attributes:
        center: the medians [P].
        factor: one over the spread [P], from the narrowest pair of quantiles that differ; 0 for constant columns.
        flagged: the Q numeric columns that have a flag.
        categories: for each categorical column the texts with the codes 1, 2, …; all others have 0.
    """

    center: list[float]
    factor: list[float]
    flagged: list[int]
    categories: list[list[str]]

    @classmethod
    def fit(cls, inputs: Inputs) -> Encoding:
        """The encoding learnt from the inputs of train.

        Raises:
            TableError: if no column varies.
        """
        features.require_variety(inputs)
        scales = [_scale(column) for column in inputs.numeric.T]
        categories = [features.frequent(column, FEWEST) for column in inputs.categorical]
        center, factor = np.array(scales).reshape(-1, 2).T.tolist()
        return cls(center, factor, features.partly_missing(inputs), categories)

    def encode(self, inputs: Inputs) -> tuple[Floats, Codes]:
        """The numbers, then the flags [N, P + Q], and the codes [N, C]."""
        columns = len(self.center)
        numbers = np.empty((len(inputs), columns + len(self.flagged)), np.float32)
        for place, column in enumerate(
            inputs.numeric.T
        ):  # column by column: all of them in float64 would need twice the memory
            scaled = np.arcsinh((column.astype(np.float64) - self.center[place]) * self.factor[place])
            numbers[:, place] = np.nan_to_num(np.clip(scaled, -FARTHEST, FARTHEST))
        numbers[:, columns:] = np.isnan(inputs.numeric[:, self.flagged])
        codes = np.empty((len(inputs), len(self.categories)), np.int64)
        for place, (column, known) in enumerate(zip(inputs.categorical, self.categories, strict=True)):
            code = {text: number for number, text in enumerate(known, start=1)}
            series = pl.Series(column, dtype=pl.String)
            codes[:, place] = series.replace_strict(code, default=UNKNOWN, return_dtype=pl.Int64).to_numpy()
        return numbers, codes

    @property
    def cardinalities(self) -> list[int]:
        """The number of codes of each categorical column."""
        return [1 + len(known) for known in self.categories]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; floats survive exactly."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Encoding:
        """The encoding that `to_json` wrote."""
        return cls(**value)


def _scale(column: Floats) -> tuple[float, float]:
    """Median and one over the spread of the values that are not missing."""
    present = column[~np.isnan(column)].astype(np.float64)
    if not present.size:
        return 0.0, 0.0
    wanted = [0.5, *(quantile for low, high, _ in SPREADS for quantile in (low, high))]
    median, *quantiles = np.quantile(present, wanted).tolist()
    pairs = zip(quantiles[::2], quantiles[1::2], SPREADS, strict=True)
    factor = next((width / (high - low) for low, high, (_, _, width) in pairs if high > low), 0.0)
    return median, factor
