"""Targets as members learn them, and what members say led back to the units and classes of the targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError
from shiftbench.methods import targets
from shiftbench.methods.settings import MethodSettings

# Smallest variance, in units of the variance of the training targets: a standard deviation of one millionth.
VARIANCE_FLOOR = 1e-12


@dataclass(frozen=True)
class Goals:
    """What members are to say of each record.

    Attributes:
        train: for each record of train [N], the target in standard deviations from its mean there, so that no result
            depends on its unit; or the place of its class among those that occur there.
        dev: the same for each of `dev_rows`.
        dev_rows: the records of dev_in that can be judged: all but those of a class that train lacks.
        facts: what leads back, plain values for the record of the fit: `classes` (None for a regression), and
            `center` and `scale` or `trained_classes`.
    """

    train: npt.NDArray[Any]
    dev: npt.NDArray[Any]
    dev_rows: pl.DataFrame
    facts: dict[str, Any]


def goals(train: pl.DataFrame, dev: pl.DataFrame, *, target: str, settings: MethodSettings) -> Goals:
    """The goals that the column `target` sets.

    Raises:
        TableError: naming what is wrong with the targets of either table; see `targets`.
    """
    if settings.task == "regression":
        y_train, y_dev = targets.numbers(train, dev, target=target)
        center, scale = float(y_train.mean()), float(y_train.std())
        facts: dict[str, Any] = {"classes": None, "center": center, "scale": scale}
        return Goals((y_train - center) / scale, (y_dev - center) / scale, dev, facts)
    codes, dev_codes, names = targets.classes(train, dev, target=target, known=settings.classes)
    trained = np.unique(codes)
    seen = np.isin(dev_codes, trained)
    if not seen.any():
        raise TableError(f"dev_in, {target}: expected a class that occurs in train, found none. Change the partition.")
    places, dev_places = np.searchsorted(trained, codes), np.searchsorted(trained, dev_codes[seen])
    facts = {"classes": list(names), "trained_classes": trained.tolist()}
    return Goals(places, dev_places, dev.filter(pl.Series(seen)), facts)


class Answers:
    """Room for what M members say about N records, filled part by part: a second copy might not fit.

    `facts` are those of `Goals`. Variances are at least 1e-12 times the variance of the training targets.
    """

    def __init__(self, facts: Mapping[str, Any], *, members: int, records: int) -> None:
        self.facts, self.classes = facts, facts["classes"]
        if self.classes is None:  # means and variances each in one piece, as they will be held
            self.held = np.moveaxis(np.empty((2, members, records)), 0, -1)
        else:
            self.held = np.zeros((members, records, len(self.classes)))

    def put(self, members: int | slice, records: slice, said: npt.NDArray[Any]) -> None:
        """Put there what was said […, O]: mean and variance of the goal, or probabilities of the classes in train."""
        room = self.held[members, records]
        if self.classes is None:
            mean, variance = room[..., 0], room[..., 1]
            np.multiply(said[..., 0], self.facts["scale"], out=mean)
            mean += self.facts["center"]
            np.maximum(said[..., 1], VARIANCE_FLOOR, out=variance)
            variance *= self.facts["scale"] ** 2
        else:
            room[..., self.facts["trained_classes"]] = said

    def ensemble(self) -> Gaussian | Categorical:
        """All that was put, [M, N] or [M, N, C]."""
        if self.classes is None:
            return Gaussian(self.held[..., 0], self.held[..., 1])
        return Categorical(self.held, classes=tuple(self.classes))
