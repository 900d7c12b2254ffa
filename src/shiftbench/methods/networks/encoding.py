"""Tables as networks take them, learnt from train: numbers of like size, missing ones marked, categories as codes."""

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

UNKNOWN = 0  # the code of categories that train has never or hardly seen
FEWEST = 5  # records that a category needs in train to have a code of its own
FARTHEST = 10.0  # 11,000 standard deviations: beyond are no measurements
# Pairs of quantiles, the narrowest first, and how far apart they are for a normal distribution of deviation 1.
SPREADS = ((0.25, 0.75, 1.349), (0.1, 0.9, 2.563), (0.01, 0.99, 4.653), (0.001, 0.999, 6.180), (0.0, 1.0, 10.0))


@dataclass(frozen=True)
class Encoding:
    """How P numeric and C categorical columns become numbers.

    A number x becomes arsinh((x - center)·factor): linear near the median, logarithmic far from it, so that outliers
    neither squeeze the rest together nor dominate, and values beyond those of train still differ. A missing one
    becomes 0, that of the median, with a flag 1 of its own in columns where train lacks some.

    Attributes:
        center: the medians [P].
        factor: one over the spread [P], from the narrowest pair of quantiles that differ; 0 for constant columns.
        flagged: the Q numeric columns that have a flag.
        categories: for each categorical column the text of the codes 1, 2, …; 0 is for all others.
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
        for place, column in enumerate(inputs.numeric.T):  # one by one: float64 of all would be twice the memory
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
        """How many codes each categorical column has."""
        return [1 + len(known) for known in self.categories]

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values; floats survive exactly."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Encoding:
        """The encoding that `to_json` wrote."""
        return cls(**value)


def _scale(column: Floats) -> tuple[float, float]:
    """Median and one over the spread of the values that are there."""
    present = column[~np.isnan(column)].astype(np.float64)
    if not present.size:
        return 0.0, 0.0
    wanted = [0.5, *(quantile for low, high, _ in SPREADS for quantile in (low, high))]
    median, *quantiles = np.quantile(present, wanted).tolist()
    pairs = zip(quantiles[::2], quantiles[1::2], SPREADS, strict=True)
    factor = next((width / (high - low) for low, high, (_, _, width) in pairs if high > low), 0.0)
    return median, factor
