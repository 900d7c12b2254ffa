"""Baselines that say the same about every record: the mean and variance of the training targets, or the
frequencies of the training classes. What cannot beat these has learnt nothing."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError
from shiftbench.methods import fitted_folder, targets
from shiftbench.methods.settings import MethodSettings

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `mean` and `majority`: the task, which tells the one from the other, and the classes."""


def fit(
    train: pl.DataFrame,
    dev: pl.DataFrame,
    *,
    features: Features | None = None,
    target: str,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Note the mean and variance (ddof 0) or the class frequencies of `train` in `folder`; see `boosting.fit`.

    The targets of `dev` are checked; `features` and `cores` make no difference.

    Raises:
        TableError: naming what is wrong with the targets.
        SettingsError: if the folder is another fit's, or cannot be written to.
    """
    record: dict[str, Any] = {"settings": settings.to_dict(), "target": target, "records": train.height}
    if settings.task == "regression":
        values, _ = targets.numbers(train, dev, target=target)
        record |= {"method": "mean", "mean": float(values.mean()), "variance": float(values.var())}
    else:
        codes, _, names = targets.classes(train, dev, target=target, known=settings.classes)
        frequencies = np.bincount(codes, minlength=len(names)) / len(codes)
        record |= {"method": "majority", "classes": list(names), "frequencies": frequencies.tolist()}
    place = fitted_folder.claim(folder, record, overwrite=overwrite)
    if progress:
        progress(1, 1, record["method"])
    return place


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """The same for each of the N rows of `frame`, as one member: [1, N] or [1, N, C].

    Raises:
        TableError: if `frame` has no rows.
        SettingsError: if `folder` holds no fit of this method.
    """
    record = fitted_folder.read(folder, "mean", "majority")
    shape = (1, frame.height)
    if not frame.height:
        raise TableError("expected at least one record to predict, found none.")
    if record["settings"]["task"] == "regression":
        return Gaussian(mean=np.full(shape, record["mean"]), variance=np.full(shape, record["variance"]))
    probabilities = np.broadcast_to(np.array(record["frequencies"]), (*shape, len(record["classes"])))
    return Categorical(probabilities, classes=tuple(record["classes"]))


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """What is said about every row."""
    record = fitted_folder.read(folder, "mean", "majority")
    if record["settings"]["task"] == "regression":
        return f"the mean of the training targets, {record['mean']:.6g}, with their variance"
    most = int(np.argmax(record["frequencies"]))
    share = record["frequencies"][most]
    return f"the class frequencies of train; the most frequent is {record['classes'][most]} ({share:.1%})"
