"""Members that predict class probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from shiftbench import check
from shiftbench.ensembles import members as fitted
from shiftbench.ensembles.ensemble import Array, Ensemble, hold, numbers, where
from shiftbench.errors import ArrayError

# Tolerance of the sum of class probabilities: float32 softmax and four printed decimals pass.
SUM_TOLERANCE = 1e-3
# Added inside the logarithm of every probability, as in the published code, so that the logarithm of 0 is finite.
LOG_EPSILON = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Categorical(Ensemble):
    """Members that predict class probabilities [M, N, C]; `classes` may name the C classes.

    Stored as read-only float64, without copying float64 input, and not rescaled to sum to 1.

    Raises:
        ArrayError: naming every problem: not [M, N, C], fewer than two classes, NaN, infinity, probabilities
            outside [0, 1] or not summing to 1 within 0.001, class names that repeat or are not C in number.
    """

    probabilities: Array
    classes: tuple[Any, ...] | None = None

    def __post_init__(self) -> None:
        hint = f"One model? Use probabilities[None]. {fitted.TWO_CLASSES}"
        array, problems = class_probabilities(self.probabilities, "[M, N, C]", hint=hint)
        if self.classes is not None:
            classes = check.names("classes", self.classes)
            object.__setattr__(self, "classes", classes)
            problems += _class_problems(classes, array.shape[-1] if array.shape[-1] > 1 else 0)
        if problems:
            raise ArrayError(*problems)
        hold(self, probabilities=array)

    @staticmethod
    def from_members(members: Any, records: Any = None, *, classes: Sequence[Any] | None = None) -> Categorical:
        """The class probabilities that fitted models predict for N records.

        Args:
            members: a fitted classifier with `predict_proba`, alone, in a pipeline or in a search: M members if it is
                made of classifiers that vote with equal weights (a forest, bagging, soft voting), else one; several
                fitted classifiers, whose classes are lined up by name (one that has never seen a class gives it
                probability 0, and reports say so), or modules in eval mode that return
                probabilities; or probabilities: [M, N, C], [N, C] of one model, a list of [N, C], a table with a column
                for each class. Tensors may have gradients and be on any device.
            records: as in `Gaussian.from_members`.
            classes: the names of the C classes, if the models do not know them.

        Raises:
            ArrayError: for models that are not fitted, or to other columns or other classes; for a classifier without
                `predict_proba`, a module in training mode, and as the constructor does: logits need a softmax first.
        """
        classes = None if classes is None else check.names("classes", classes)
        members, index = fitted.lined_up(members, records)
        found = fitted.of_classes(members, records)
        if classes is not None and found.classes is not None and classes != tuple(found.classes):
            known = ", ".join(map(str, found.classes))
            raise ArrayError(f"classes: expected those of the models in their order, {known}. Leave them out.")
        names = found.classes if classes is None else classes
        return Categorical(found.values, names).labelled(index)

    @classmethod
    def example(cls, rng: np.random.Generator, *, members: int, records: int) -> Self:
        """A made-up ensemble of four classes."""
        return cls(rng.dirichlet(np.full(4, 0.4), (members, records)))

    def answers(self) -> Array:
        """The probabilities of the mixture [N, C]."""
        return np.asarray(self.probabilities.mean(axis=0))

    def labels(self) -> npt.NDArray[Any]:
        """The most probable class of the mixture [N], the first of ties: its name, or else its index."""
        indices = np.asarray(self.answers().argmax(axis=-1))
        return indices if self.classes is None else np.asarray(np.asarray(self.classes)[indices])


def class_probabilities(values: Any, axes: str, *, hint: str) -> tuple[Array, list[str]]:
    """Class probabilities with the axes "[M, N, C]" or "[N, C]" as float64, and their problems."""
    name = "probabilities"
    array, problems = numbers(name, values, axes, hint=hint)
    if not array.size:
        return array, problems
    if array.shape[-1] < 2:
        found = f"at least 2 classes on the last axis, found {array.shape[-1]}"
        problems.append(f"{name}: expected {found}. {fitted.TWO_CLASSES}")
        return array, problems
    if not (array.min() >= 0 and array.max() <= 1 + SUM_TOLERANCE):
        bad = (array < 0) | (array > 1 + SUM_TOLERANCE)
        if bad.any():
            outside = np.asarray(bad.any(axis=-1))
            found = f"found {array[bad][0]:g} ({where(outside)})"
            problems.append(f"{name}: expected values in [0, 1], {found}. Logits? Apply a softmax first.")
            if outside.mean() > 0.5:  # what they sum to says no more
                return array, problems
    with np.errstate(invalid="ignore"):
        sums = array @ np.ones(array.shape[-1])
        bad = np.abs(sums - 1) > SUM_TOLERANCE
    if bad.any():
        found = f"found {sums[bad][0]:g} ({where(bad)})"
        problems.append(
            f"{name}: expected a sum of 1 over the classes, {found}. Logits? Apply a softmax first. Shares? Divide by "
            "their sum."
        )
    return array, problems


def _class_problems(classes: tuple[Any, ...], expected: int) -> list[str]:
    problems = []
    if expected and len(classes) != expected:
        problems.append(f"classes: expected {expected} names, one for each class, found {len(classes)}.")
    if len(set(classes)) < len(classes):
        problems.append(f"classes: expected different names, found {', '.join(map(str, classes))}.")
    return problems
