"""An ensemble of CatBoost models, each stopped on a fold of train that it has not learnt from.

Member m of M learns from all folds of train but one and is stopped on that one; where clusters are named, no fold cuts
one. Regression: a member's mean comes from a model with the loss RMSE, its variance from another one with the loss
RMSEWithUncertainty on the same folds (Malinin, Prokhorenkova and Ustimenko, ICLR 2021, eq. 7). One model for both, as
published (`likelihood_boosting`), stops when its variances begin to fit noise, which is long before its means are done.
Members 1, 3, 5 … start from a linear model of the same records and learn what it leaves: trees say the same everywhere
beyond the records they know, a line goes on, and where the two disagree nobody knows. All variances are multiplied by
one factor, with which dev_in is likeliest. Classification: loss MultiClass.

Every model is trained on one core, so that no result depends on the number of cores; models train side by side. A
folder holds `settings.json`; for each model its trees and, written last, a file with its hash: those of the means are
numbered from 0, those of the variances from M; and `calibration.json` with the factor.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench import tables
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import calibration, catboost_data, catboost_member, fitted_folder, workers
from shiftbench.methods.folds import folds
from shiftbench.methods.settings import MethodSettings, above_zero, whole
from shiftbench.methods.tally import span

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress
    from shiftbench.methods.member_files import Arrays

NAME = "boosting"
FEWEST_FEATURES = 4  # that a level of a tree may choose from
INPUTS_OF_A_DATE = 3
MEAN_AND_VARIANCE = ("RMSE", "RMSEWithUncertainty")


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `boosting`; the defaults were chosen on public tables, see docs/tables.md.

    Attributes:
        members: M, the number of members.
        iterations: the most trees a model may have.
        depth: of each tree.
        learning_rate: the weight of each tree.
        early_stopping: trees without gain on its fold after which a model stops growing; the best ones are kept.
        feature_share: of the features, drawn anew at each level of each tree: what the level may choose from, but at
            least four. Models that must use many features are hurt less where one of them is wrong.
        folds: into how many train is divided; with more members than folds, each is used several times.
        clusters: columns that name families of records; no fold cuts one. In a run, unless named, those of the run; but
            none if most records of eval_in have their family in train, since folds are to be to train what eval_in is.
        seed: folds and the models' own seeds follow from it; ensembles with different seeds share no model.
        gpu: train on a GPU, one model after the other, with all features. Its sums have no fixed order: the models
            are other ones than on a CPU, and not the same ones twice.
    """

    members: int = 10
    iterations: int = 1000
    depth: int = 6
    learning_rate: float = 0.05
    early_stopping: int = 50
    feature_share: float = 0.25
    folds: int = 10
    clusters: tuple[str, ...] = ()
    seed: int = 0
    gpu: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.clusters, list):
            object.__setattr__(self, "clusters", tuple(self.clusters))
        super().__post_init__()

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [
            *super().problems(),
            *whole("members", self.members, 1, 1000),
            *whole("iterations", self.iterations, 1, 100_000),
            *whole("depth", self.depth, 1, 16),
            *above_zero("learning_rate", self.learning_rate, 1),
            *whole("early_stopping", self.early_stopping, 1, 100_000),
            *above_zero("feature_share", self.feature_share, 1),
            *whole("folds", self.folds, 2, 1000),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]
        if not isinstance(self.clusters, tuple) or not all(isinstance(name, str) and name for name in self.clusters):
            found.append(f"clusters: expected names of columns, found {self.clusters!r}.")
        if not isinstance(self.gpu, bool):
            found.append(f"gpu: expected true or false, found {self.gpu!r}.")
        return found


def fit(
    train: pl.DataFrame,
    dev: pl.DataFrame,
    *,
    features: Features,
    target: str,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Train the models on folds of `train`, find the factor of their variances on `dev`, and write all to `folder`.

    Killed at any moment and called again with the same arguments, it trains only the missing models and (on a CPU)
    ends with the same files, byte for byte, as an undisturbed call.

    Args:
        train: records [N] to learn from.
        dev: records like those of train (dev_in), for the factor of the variances; if all of train is one cluster,
            models are stopped on them.
        features: the columns that the models see.
        target: the column to predict.
        settings: see `Settings`.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: the most models to train at a time; all cores if None.
        progress: called with trees done, trees in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        TableError: naming what is wrong with the targets, the features or the clusters.
        SettingsError: if the folder is another fit's, or cannot be written to, or there is no GPU to train on.
        MissingExtraError: if CatBoost is not installed.
        ShiftbenchError: if a model's process dies; those that are done stay, so call again.
    """
    regression = settings.task == "regression"
    losses = MEAN_AND_VARIANCE if regression else ("MultiClass",)
    plan = catboost_data.Plan(
        NAME, settings, settings.members * len(losses), _options(settings, features), losses,
        folds(train, settings.clusters, count=settings.folds, seed=settings.seed), linear_starts=regression,
    )  # fmt: skip
    place = catboost_data.train(
        plan, (train, dev), features=features, target=target, folder=folder, cores=cores, progress=progress,
        overwrite=overwrite,
    )  # fmt: skip
    if regression and calibration.read(place) is None:
        said = _predicted(dev, place, 1.0, cores)
        assert isinstance(said, Gaussian)
        calibration.write(place, calibration.factor(tables.numbers(dev, target, where="dev_in"), said))
    return place


def _options(settings: Settings, features: Features) -> dict[str, Any]:
    """CatBoost's options beyond those of all its methods; on a GPU it cannot draw features."""
    if settings.gpu:
        return {"task_type": "GPU"}
    return {"rsm": min(1.0, max(settings.feature_share, FEWEST_FEATURES / max(inputs(features), 1)))}


def inputs(features: Features) -> int:
    """How many features the models see: a date is several."""
    return len(features.numeric) + len(features.categorical) + INPUTS_OF_A_DATE * len(features.dates)


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What the M members in `folder` say about the N rows of `frame`: [M, N] or [M, N, C].

    Variances are at least 1e-12 times the variance of the training targets.

    Raises:
        TableError: if a feature is missing in `frame`, or of another type than it was trained with.
        SettingsError: if `folder` holds no fit of this method, or models that are missing or damaged.
        MissingExtraError: if CatBoost is not installed.
    """
    record = fitted_folder.read(folder, NAME)
    catboost_member.files_in(Path(folder)).require(record["models"])
    factor = calibration.require(Path(folder)) if record["classes"] is None else 1.0
    return _predicted(frame, Path(folder), factor, cores)


def _predicted(frame: pl.DataFrame, folder: Path, factor: float, cores: int | None) -> Gaussian | Categorical:
    record, count = fitted_folder.read(folder, NAME), workers.available(cores)
    models, members = catboost_member.load(folder, record["models"]), record["settings"]["members"]
    starts = catboost_member.starts(models)

    def outputs(pool: Any, arrays: Arrays) -> Iterator[catboost_data.Outputs]:
        if record["classes"] is not None:
            yield from (model.predict(pool, prediction_type="Probability", thread_count=count) for model in models)
            return
        for model, start, other in zip(models[:members], starts, models[members:], strict=False):
            mean = model.predict(pool, thread_count=count)
            if start is not None:
                mean += start.predict(arrays, "rows")
            both = other.predict(pool, prediction_type="RMSEWithUncertainty", thread_count=count)
            yield np.column_stack([mean, factor * both[:, 1]])

    return catboost_data.ensemble(frame, record, members=members, outputs=outputs)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many models with how many trees; nothing is done to the rows of `frame`."""
    record = fitted_folder.read(folder, NAME)
    trees, members = catboost_member.trees(Path(folder), record["models"]), record["settings"]["members"]
    means = trees[:members]
    text = f"{members} members of CatBoost models, each stopped on a fold of its own ({record['losses'][0]}, "
    text += f"{span(means, 'trees')})"
    if record["classes"] is not None:
        return text
    variances, factor = trees[members:], calibration.require(Path(folder))
    text += f", every other one from a linear start; variances by as many ({span(variances, 'trees')})"
    return f"{text} times {factor:.3g}"


def caution(*, folder: str | os.PathLike[str]) -> str:
    """A sentence if training ended too early or at the limit of its trees, or ""; see `catboost_data.caution`."""
    return catboost_data.caution(folder, "boosting")
