"""Members that predict one number, without any distribution around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from shiftbench.check import Vector
from shiftbench.ensembles.ensemble import Array, Ensemble, hold, numbers
from shiftbench.errors import ArrayError


@dataclass(frozen=True, eq=False, repr=False)
class Means(Ensemble):
    """Members that predict a number each: mean [M, N] in the target's unit, without variances.

    All that is known of their uncertainty is how far the members lie apart: knowledge uncertainty. Noise in the data
    is not part of it, so there is no likelihood. Stored as read-only float64, without copying float64 input.

    Raises:
        ArrayError: naming every problem: not [M, N], NaN, infinity.
    """

    mean: Array

    def __post_init__(self) -> None:
        mean, problems = numbers("mean", self.mean, "[M, N]", hint="One model? Use mean[None].")
        if problems:
            raise ArrayError(*problems)
        hold(self, mean=mean)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble."""
        return cls(rng.normal(20, 3, (members, records)))

    def answers(self) -> Vector:
        """The mean of the members [N]."""
        return np.asarray(self.mean.mean(axis=0))
