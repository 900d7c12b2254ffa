"""An ensemble of CatBoost models, each stopped on a fold of train that it was not trained on.

Member m of M learns from all folds of train but one and is stopped on that one; where clusters are named, no fold cuts
one. Regression: a member's mean comes from a model with the loss RMSE, its variance from another one with the loss
RMSEWithUncertainty on the same folds (Malinin, Prokhorenkova and Ustimenko, ICLR 2021, eq. 7). One model for both, as
published (`likelihood_boosting`), stops when its variances begin to fit noise, which is long before its means are done.
Members 1, 3, 5 … start from a linear model of the same records and learn its residuals: trees predict the same
everywhere beyond the records they know, a line goes on, and where the two disagree uncertainty is large. All variances
are multiplied by one factor, with which dev_in is likeliest. Classification: loss MultiClass.

Every model is trained on one core, so that no result depends on the number of cores; models train side by side. A
folder holds `settings.json`; for each model its trees and, written last, a file with its hash: those of the means are
numbered from 0, those of the variances from M; and `calibration.json` with the factor.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.io import tables
from shiftbench.methods import fitted_folder
from shiftbench.methods.boosting import calibration, model
from shiftbench.methods.boosting.fitting import BoostingSettings, Outputs, Plan, boosted, ensemble
from shiftbench.methods.boosting.folds import folds
from shiftbench.methods.contract import Fitted, Job
from shiftbench.methods.member_files import Arrays, span
from shiftbench.methods.settings import checked, column_names, positive, switch, whole_number
from shiftbench.partition.features import Features

FEWEST_FEATURES = 4  # minimum number that a level of a tree chooses from
INPUTS_OF_A_DATE = 3
MEAN_AND_VARIANCE = ("RMSE", "RMSEWithUncertainty")


@dataclass(frozen=True)
class Settings(BoostingSettings):
    """Settings of `boosting`; the defaults were chosen on public tables, see docs/findings/public-tables.md.

    Attributes:
        feature_share: of the features, drawn anew at each level of each tree, that the level may choose from, at least
            four. Models that must use many features are hurt less if one of them is wrong.
        folds: the number of folds of train; with more members than folds, each is used several times.
        clusters: columns that name families of records; no fold cuts one. In a run, unless named, those of the run; but
            none if most records of eval_in have their family in train, since folds are to be to train what eval_in is.
        gpu: train on a GPU, one model after the other, with all features. Its sums have no fixed order, so models
            differ from those on a CPU, and from run to run.
    """

    feature_share: float = positive(0.25, 1)
    folds: int = whole_number(10, 2, 1000)
    clusters: tuple[str, ...] = checked((), column_names)
    gpu: bool = switch(False)


def plan(job: Job) -> Plan:
    """Models for the means and for the variances, or for the classes; if all of train is one cluster, without folds.

    Raises:
        TableError: if a column of clusters is missing.
    """
    settings: Settings = job.settings
    regression = settings.task == "regression"
    losses = MEAN_AND_VARIANCE if regression else ("MultiClass",)
    return Plan(
        settings.members * len(losses), options(settings, job.features), losses,
        folds(job.train, settings.clusters, count=settings.folds, seed=settings.seed), linear_starts=regression,
    )  # fmt: skip


def options(settings: Settings, features: Features) -> dict[str, Any]:
    """CatBoost's options beyond those of all its methods; on a GPU it cannot draw features."""
    if settings.gpu:
        return {"task_type": "GPU"}
    return {"rsm": min(1.0, max(settings.feature_share, FEWEST_FEATURES / max(inputs(features), 1)))}


def inputs(features: Features) -> int:
    """The number of features that the models see: a date is several."""
    return len(features.numeric) + len(features.categorical) + INPUTS_OF_A_DATE * len(features.dates)


def calibrate(job: Job) -> None:
    """Fit the factor of the variances to dev_in, unless it exists."""
    if job.settings.task == "regression" and calibration.read(job.folder) is None:
        uncalibrated = _predicted(job.dev, Fitted(job.folder, fitted_folder.read(job.folder), job.cores), 1.0)
        assert isinstance(uncalibrated, Gaussian)
        targets = tables.numbers(job.dev, job.target, where="dev_in")
        calibration.write(job.folder, calibration.factor(targets, uncalibrated))


def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The prediction of the M members; see `Method.predict`."""
    model.files_in(fitted.folder).require(fitted.record["models"])
    return _predicted(frame, fitted, calibration.require(fitted.folder) if fitted.record["classes"] is None else 1.0)


def _predicted(frame: pl.DataFrame, fitted: Fitted, factor: float) -> Gaussian | Categorical:
    record, count = fitted.record, fitted.cores
    models, members = model.load(fitted.folder, record["models"]), record["settings"]["members"]
    starts = model.starts(models)

    def outputs(pool: Any, arrays: Arrays) -> Iterator[Outputs]:
        if record["classes"] is not None:
            yield from (each.predict(pool, prediction_type="Probability", thread_count=count) for each in models)
            return
        for each, start, other in zip(models[:members], starts, models[members:], strict=False):
            mean = each.predict(pool, thread_count=count)
            if start is not None:
                mean += start.predict(arrays, "rows")
            both = other.predict(pool, prediction_type="RMSEWithUncertainty", thread_count=count)
            yield np.column_stack([mean, factor * both[:, 1]])

    return ensemble(frame, record, members=members, outputs=outputs)


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """How many models with how many trees."""
    record, members = fitted.record, fitted.record["settings"]["members"]
    trees = model.trees(fitted.folder, record["models"])
    means, variances = trees[:members], trees[members:]
    text = f"{members} members of CatBoost models, each stopped on a fold of its own ({record['losses'][0]}, "
    text += f"{span(means, 'trees')})"
    if record["classes"] is not None:
        return text
    text += ", every other one from a linear start; as many for the variances "
    return f"{text}({span(variances, 'trees')}), multiplied by {calibration.require(fitted.folder):.3g}"


METHOD = boosted(
    "boosting", "Ensemble of CatBoost models", Settings, plan=plan, answer=answer, describe=describe, finish=calibrate
)
