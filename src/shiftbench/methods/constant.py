"""Baselines that predict the same for every record: the mean and variance of the training targets, or the
frequencies of the training classes. What cannot beat these has learnt nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import targets
from shiftbench.methods.contract import Fitted, Job, Method, Prepared
from shiftbench.methods.settings import MethodSettings


@dataclass(frozen=True)
class MeanSettings(MethodSettings):
    """Settings of `mean`."""

    tasks: ClassVar[tuple[str, ...]] = ("regression",)


@dataclass(frozen=True)
class MajoritySettings(MethodSettings):
    """Settings of `majority`."""

    tasks: ClassVar[tuple[str, ...]] = ("classification",)


def mean(job: Job) -> Prepared:
    """The mean and variance (ddof 0) of train."""
    values, _ = targets.numbers(job.train, job.dev, target=job.target)
    return Prepared({"records": job.train.height, "mean": float(values.mean()), "variance": float(values.var())})


def frequencies(job: Job) -> Prepared:
    """The class frequencies of train."""
    codes, _, names = targets.classes(job.train, job.dev, target=job.target, known=job.settings.classes)
    found = np.bincount(codes, minlength=len(names)) / len(codes)
    return Prepared({"records": job.train.height, "classes": list(names), "frequencies": found.tolist()})


def normal(frame: pl.DataFrame, fitted: Fitted) -> Gaussian:
    """The same for each of the N rows, as one member: [1, N]."""
    shape = (1, frame.height)
    return Gaussian(np.full(shape, fitted.record["mean"]), np.full(shape, fitted.record["variance"]))


def probabilities(frame: pl.DataFrame, fitted: Fitted) -> Categorical:
    """The same for each of the N rows, as one member: [1, N, C]."""
    found, classes = np.array(fitted.record["frequencies"]), fitted.record["classes"]
    return Categorical(np.broadcast_to(found, (1, frame.height, len(classes))), classes=tuple(classes))


def describe_mean(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The mean."""
    return f"the mean of the training targets, {fitted.record['mean']:.6g}, with their variance"


def describe_majority(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The most frequent class."""
    most = int(np.argmax(fitted.record["frequencies"]))
    share = fitted.record["frequencies"][most]
    return f"the class frequencies of train; the most frequent is {fitted.record['classes'][most]} ({share:.1%})"


MEAN = Method("mean", "Training mean", MeanSettings, mean, normal, describe_mean, "baseline")
MAJORITY = Method(
    "majority", "Training class frequencies", MajoritySettings, frequencies, probabilities, describe_majority,
    "baseline",
)  # fmt: skip
