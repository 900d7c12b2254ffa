"""Members that predict a normal distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from shiftbench import argument
from shiftbench.check import Vector
from shiftbench.ensembles import members as fitted
from shiftbench.ensembles.ensemble import Array, Ensemble, hold, numbers, where
from shiftbench.ensembles.means import Means
from shiftbench.errors import ArrayError


@dataclass(frozen=True, eq=False, repr=False)
class Gaussian(Ensemble):
    """Members that predict a normal distribution: mean [M, N] in the target's unit, variance [M, N].

    Stored as read-only float64, without copying float64 input. Together the members are one mixture with equal
    weights. If a model predicts at random (dropout, weights drawn from a posterior), its `draws` predictions are
    consecutive, and each is a member: M is models times draws.

    Raises:
        ArrayError: naming every problem: not [M, N], unequal shapes, NaN, infinity, a variance <= 0, members that are
            not a multiple of the draws.
    """

    mean: Array
    variance: Array
    draws: int = 1

    def __post_init__(self) -> None:
        hint = "One model? Use mean[None] and variance[None]."
        mean, problems = numbers("mean", self.mean, "[M, N]", hint=hint)
        variance, more = numbers("variance", self.variance, "[M, N]", hint=hint)
        problems += more
        if mean.size and variance.size and mean.shape != variance.shape:
            problems.append(f"variance: expected the shape of the mean {mean.shape}, found {variance.shape}.")
        if variance.size and not variance.min() > 0 and (bad := variance <= 0).any():
            problems.append(
                f"variance: expected values > 0, found {variance[bad][0]:g} ({where(bad)}). "
                "Set a floor, for instance the square of the target's resolution."
            )
        if not isinstance(self.draws, int) or self.draws < 1 or (mean.size and mean.shape[0] % self.draws):
            problems.append(f"draws: expected a divisor of the {mean.shape[0]} members, found {self.draws!r}.")
        if problems:
            raise ArrayError(*problems)
        hold(self, mean=mean, variance=variance)

    @staticmethod
    def from_members(members: Any, records: Any = None, *, variance: Any = None) -> Gaussian | Means:
        """The predictions of fitted models for N records; `Means` if there are no variances.

        Args:
            members: a fitted ensemble of scikit-learn whose members predict the same target (a forest, bagging,
                voting), alone, in a pipeline or in a search; several fitted models with `predict`, or modules in eval
                mode; a model that predicts standard deviations (`return_std`); or predictions: means [M, N], a list of
                [N] or [N, 1], a table with a column for each member. Tensors may have gradients and be on any device.
            records: what the models are to predict; not needed beside predictions. The targets of a pandas table are
                later lined up with it by its index.
            variance: of the members [M, N], if they know it.

        Raises:
            ArrayError: for models that are not fitted, or to other columns; for a classifier, a single model without
                variances, or one whose `estimators_` are stages of one model (boosting, stacking); for a module in
                training mode; and as the constructors do.
        """
        members, index = fitted.lined_up(members, records)
        found, variance = fitted.of_numbers(members, records), fitted.variances(variance, index)
        if found.variances is not None and variance is not None:
            raise ArrayError("variance: expected none, since the models predict their own. Leave it out.")
        if (known := found.variances if variance is None else variance) is None:
            return Means(found.values).labelled(index)
        return Gaussian(found.values, known).labelled(index)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble."""
        return cls(rng.normal(20, 3, (members, records)), rng.gamma(2.0, size=(members, records)))

    @property
    def models(self) -> int:
        """The number of models: members over draws."""
        return self.members // self.draws

    def answers(self) -> Vector:
        """The mean of the mixture [N]."""
        return np.asarray(self.mean.mean(axis=0))

    def model(self, k: int) -> Self:
        """An ensemble of model k only, 0 … models-1, with all its draws."""
        k = argument.whole("model", k, 0, self.models - 1, wanted=f"0 to {self.models - 1}", error=ArrayError)
        return self._at({"M": slice(k * self.draws, (k + 1) * self.draws)})

    def of_members(self, members: slice | Sequence[int]) -> Self:
        """An ensemble of these members, in this order, each a single draw."""
        part = super().of_members(members)
        object.__setattr__(part, "draws", 1)
        return part

    def merged(self) -> Gaussian:
        """The draws of each model as one normal distribution of their mixture's mean and variance.

        The mean and the total variance of the whole are unchanged (law of total variance); disagreement between the
        draws of one model then counts as its own variance, no longer as knowledge uncertainty.
        """
        if self.draws == 1:
            return self
        mean, variance = (value.reshape(self.models, self.draws, -1) for value in (self.mean, self.variance))
        return Gaussian(mean.mean(axis=1), variance.mean(axis=1) + mean.var(axis=1))
