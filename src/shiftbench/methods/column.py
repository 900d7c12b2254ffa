"""A column of the table used unchanged, for instance an external forecast: a baseline without training.

It has one member. A regression takes its constant variance from the residuals on train; a classification gives
the column's label probability 1. A forecast in another unit can be converted: `scale` times the column plus `offset`.
Where the column is empty there is no answer: runs neither score nor write the values that fill the gaps (the training
mean or majority, so that arrays are complete).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shiftbench.check import Flags, Vector
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import TableError
from shiftbench.io import tables
from shiftbench.methods import targets
from shiftbench.methods.contract import Fitted, Job, Method, Prepared
from shiftbench.methods.settings import MethodSettings
from shiftbench.methods.target_encoding import VARIANCE_FLOOR

LARGEST = 5e74  # twice that, squared, is `check.LARGEST`


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `column`.

    Attributes:
        column: the column of answers.
        scale: factor of its numbers, in a regression.
        offset: added afterwards, for instance -273.15 to a forecast in kelvin of a temperature in °C.
    """

    column: str = ""
    scale: float = 1.0
    offset: float = 0.0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if not isinstance(self.column, str) or not self.column:
            found.append(f"column: expected the name of a column, found {self.column!r}.")
        for name, value in (("scale", self.scale), ("offset", self.offset)):
            number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if not (number and math.isfinite(value)) or (name == "scale" and value == 0):
                least = " other than 0" if name == "scale" else ""
                found.append(f"{name}: expected a finite number{least}, found {value!r}.")
        if self.task == "classification" and (self.scale, self.offset) != (1, 0):
            found.append(
                f"scale, offset: expected none for labels, found {self.scale} and {self.offset}. Leave them out."
            )
        return found


def prepare(job: Job) -> Prepared:
    """The variance of the column's residuals on train, and the values that fill its gaps.

    Raises:
        TableError: naming what is wrong with the targets or the column.
    """
    settings: Settings = job.settings
    if settings.task == "regression":
        values, _ = targets.numbers(job.train, job.dev, target=job.target)
        found = _regression(job.train, values, settings)
    else:
        codes, _, names = targets.classes(job.train, job.dev, target=job.target, known=settings.classes)
        _labels(job.train, settings.column, names, where="train")
        found = {"classes": list(names), "filled_with": names[int(np.bincount(codes).argmax())]}
    return Prepared({"records": job.train.height, **found})


def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The column of the N rows of `frame`, as one member: [1, N] or [1, N, C].

    Raises:
        TableError: if the column is missing or holds values that are no answer.
    """
    record, settings = fitted.record, Settings.from_dict(fitted.record["settings"])
    if settings.task == "regression":
        answers = _answers(frame, settings, where="table")
        mean = np.where(np.isnan(answers), record["filled_with"], answers)[None]
        return Gaussian(mean=mean, variance=np.full(mean.shape, record["variance"]))
    names = record["classes"]
    labels = _labels(frame, settings.column, names, where="table").fill_null(record["filled_with"])
    codes = labels.replace_strict({name: code for code, name in enumerate(names)}, return_dtype=pl.Int64)
    return Categorical(np.eye(len(names))[codes.to_numpy()][None], classes=tuple(names))


def has_answer(frame: pl.DataFrame, fitted: Fitted) -> Flags:
    """A mask [N] of the rows in which the column of `frame` has a value.

    Raises:
        TableError: if the column is missing or holds values that are no answer.
    """
    settings = Settings.from_dict(fitted.record["settings"])
    if settings.task == "regression":
        return ~np.isnan(_answers(frame, settings, where="table"))
    return targets.labels(frame, settings.column, where="table").is_not_null().to_numpy()


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The column, its conversion, and the number of rows of `frame` with a value."""
    settings = Settings.from_dict(fitted.record["settings"])
    column, known = settings.column, int(np.count_nonzero(has_answer(frame, fitted)))
    gaps = f"; it has a value for {known:,} of {frame.height:,} records" if known < frame.height else ""
    times = f"{settings.scale:.6g} × " if settings.scale != 1 else ""
    plus = f" {'+' if settings.offset > 0 else '−'} {abs(settings.offset):.6g}" if settings.offset else ""
    taken = f"in another unit ({times}{column}{plus})" if times or plus else "as it stands"
    return f"the column {column} {taken}{gaps}"


def _regression(train: pl.DataFrame, values: Vector, settings: Settings) -> dict[str, Any]:
    answers = _answers(train, settings, where="train")
    known = ~np.isnan(answers)
    if not known.any():
        raise TableError(f"train, {settings.column}: expected numbers, found only missing values. Name another column.")
    residual = float(np.mean((answers[known] - values[known]) ** 2))
    floor = VARIANCE_FLOOR * float(values.var())  # for a column that equals the target
    return {"filled_with": float(values.mean()), "variance": max(residual, floor)}


def _answers(frame: pl.DataFrame, settings: Settings, *, where: str) -> Vector:
    """The column as numbers [N] in the unit of the target, NaN where it is empty."""
    with np.errstate(over="ignore"):
        answers = settings.scale * tables.numbers(frame, settings.column, where=where) + settings.offset
    if large := int((np.abs(answers) > LARGEST).sum()):
        raise TableError(
            f"{where}, {settings.column}: expected numbers within ±{LARGEST:g}, whose squared errors can be added up, "
            f"found larger ones in {large:,} of {len(answers):,} records. Clip or empty these, or correct scale and "
            "offset."
        )
    return answers


def _labels(frame: pl.DataFrame, column: str, names: tuple[str, ...] | list[str], *, where: str) -> pl.Series:
    """The column as labels [N], null where it is empty."""
    labels = targets.labels(frame, column, where=where)
    if problems := targets.absent(labels, names, where=where, advice=targets.OTHER_COLUMN):
        raise TableError(*problems)
    return labels


METHOD = Method(
    "column", "A column of the table as it stands", Settings, prepare, answer, describe, "baseline",
    has_answer=has_answer,
)  # fmt: skip
