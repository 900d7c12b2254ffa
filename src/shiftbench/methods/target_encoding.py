"""Encoded training targets, and predictions decoded to the units and classes of the targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError
from shiftbench.methods import targets

if TYPE_CHECKING:
    from shiftbench.methods.contract import Job

# Smallest variance, in units of the variance of the training targets: a standard deviation of one millionth.
VARIANCE_FLOOR = 1e-12


@dataclass(frozen=True)
class EncodedTargets:
    """Encoded training targets.

    Attributes:
        train: for each record of train [N], the target in standard deviations from its mean there, so that no result
            depends on its unit; or the place of its class among those that occur there.
        dev: the same for each of `dev_rows`.
        dev_rows: the records of dev_in that can be scored: all but those of a class that train lacks.
        facts: what decodes predictions, plain values for the record of the fit: `classes` (None for a regression),
            and `center` and `scale` or `trained_classes`.
    """

    train: npt.NDArray[Any]
    dev: npt.NDArray[Any]
    dev_rows: pl.DataFrame
    facts: dict[str, Any]


def encoded_targets(job: Job) -> EncodedTargets:
    """The targets of a job, encoded.

    Raises:
        TableError: naming what is wrong with the targets of either table; see `targets`.
    """
    if job.settings.task == "regression":
        train, dev = targets.numbers(job.train, job.dev, target=job.target)
        center, scale = float(train.mean()), float(train.std())
        facts: dict[str, Any] = {"classes": None, "center": center, "scale": scale}
        return EncodedTargets((train - center) / scale, (dev - center) / scale, job.dev, facts)
    codes, dev_codes, names = targets.classes(job.train, job.dev, target=job.target, known=job.settings.classes)
    trained = np.unique(codes)
    seen = np.isin(dev_codes, trained)
    if not seen.any():
        raise TableError(
            f"dev_in, {job.target}: expected a class that occurs in train, found none. Change the partition."
        )
    places, dev_places = np.searchsorted(trained, codes), np.searchsorted(trained, dev_codes[seen])
    facts = {"classes": list(names), "trained_classes": trained.tolist()}
    return EncodedTargets(places, dev_places, job.dev.filter(pl.Series(seen)), facts)


class PredictionArrays:
    """Preallocated arrays for the predictions of M members for N records, filled part by part, so that no second copy
    is needed.

    `facts` are those of `EncodedTargets`. Variances are at least 1e-12 times that of the training targets.
    """

    def __init__(self, facts: Mapping[str, Any], *, members: int, records: int) -> None:
        self.facts, self.classes = facts, facts["classes"]
        if self.classes is None:  # means and variances each in one piece, as they will be held
            self.held = np.moveaxis(np.empty((2, members, records)), 0, -1)
        else:
            self.held = np.zeros((members, records, len(self.classes)))

    def put(self, members: int | slice, records: slice, outputs: npt.NDArray[Any]) -> None:
        """Decode outputs […, O]: mean and variance of the encoded target, or probabilities of the classes in train."""
        part = self.held[members, records]
        if self.classes is None:
            mean, variance = part[..., 0], part[..., 1]
            np.multiply(outputs[..., 0], self.facts["scale"], out=mean)
            mean += self.facts["center"]
            np.maximum(outputs[..., 1], VARIANCE_FLOOR, out=variance)
            variance *= self.facts["scale"] ** 2
        else:
            part[..., self.facts["trained_classes"]] = outputs

    def ensemble(self, *, draws: int = 1) -> Gaussian | Categorical:
        """All predictions, [M, N] or [M, N, C]; `draws` consecutive members are draws of one model."""
        if self.classes is None:
            return Gaussian(self.held[..., 0], self.held[..., 1], draws=draws)
        return Categorical(self.held, classes=tuple(self.classes))
