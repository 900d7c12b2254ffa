"""The published ensemble of CatBoost models: they differ by seed only, and each is stopped early on dev_in.

Regression: loss RMSEWithUncertainty, so that each member says a mean and a variance (Malinin, Prokhorenkova and
Ustimenko, "Uncertainty in Gradient Boosting via Ensembles", ICLR 2021, eq. 7). Classification: loss MultiClass.

Every member is trained on one core, so that no result depends on the number of cores; members train side by
side. A folder holds `settings.json`, and for each member its model and, written last, a file with its hash.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import catboost_data, catboost_member, fitted_folder, workers
from shiftbench.methods.settings import MethodSettings, above_zero, whole
from shiftbench.methods.tally import span

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `likelihood_boosting`; the defaults suit tables of a thousand to a million rows.

    Attributes:
        members: M, the number of models.
        iterations: the most trees a model may have.
        depth: of each tree.
        learning_rate: the weight of each tree.
        early_stopping: trees without gain on dev_in after which a model stops growing; the best ones are kept.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
        gpu: train on a GPU, one member after the other. Its sums have no fixed order: the models are other ones
            than on a CPU, and not the same ones twice.
    """

    members: int = 10
    iterations: int = 1000
    depth: int = 6
    learning_rate: float = 0.05
    early_stopping: int = 50
    seed: int = 0
    gpu: bool = False

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [
            *super().problems(),
            *whole("members", self.members, 1, 1000),
            *whole("iterations", self.iterations, 1, 100_000),
            *whole("depth", self.depth, 1, 16),
            *above_zero("learning_rate", self.learning_rate, 1),
            *whole("early_stopping", self.early_stopping, 1, 100_000),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]
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
    """Train the members on `train`, stopping early on `dev`, and write them to `folder`.

    Killed at any moment and called again with the same arguments, it trains only the missing members and (on a
    CPU) ends with the same files, byte for byte, as an undisturbed call.

    Args:
        train: records [N] to learn from.
        dev: records like those of train (dev_in), for early stopping.
        features: the columns that the models see.
        target: the column to predict.
        settings: see `Settings`.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: the most members to train at a time; all cores if None.
        progress: called with trees done, trees in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        TableError: naming what is wrong with the targets or the features.
        SettingsError: if the folder is another fit's, or cannot be written to, or there is no GPU to train on.
        MissingExtraError: if CatBoost is not installed.
        ShiftbenchError: if a member's process dies; those that are done stay, so call again.
    """
    plan = catboost_data.Plan(
        "likelihood_boosting", settings, settings.members, {"task_type": "GPU"} if settings.gpu else {}
    )
    return catboost_data.train(
        plan, (train, dev), features=features, target=target, folder=folder, cores=cores, progress=progress,
        overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What the M members in `folder` say about the N rows of `frame`: [M, N] or [M, N, C].

    Variances are at least 1e-12 times the variance of the training targets.

    Raises:
        TableError: if a feature is missing in `frame`, or of another type than it was trained with.
        SettingsError: if `folder` holds no fit of this method, or members that are missing or damaged.
        MissingExtraError: if CatBoost is not installed.
    """
    record = fitted_folder.read(folder, "likelihood_boosting")
    models = catboost_member.load(Path(folder), record["models"])
    kind = "RMSEWithUncertainty" if record["classes"] is None else "Probability"
    count = workers.available(cores)

    def outputs(pool: Any, _arrays: Any) -> Iterator[catboost_data.Outputs]:
        return (model.predict(pool, prediction_type=kind, thread_count=count) for model in models)

    return catboost_data.ensemble(frame, record, members=len(models), outputs=outputs)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many models with how many trees; nothing is done to the rows of `frame`."""
    record = fitted_folder.read(folder, "likelihood_boosting")
    trees = catboost_member.trees(Path(folder), record["models"])
    loss = record["losses"][0]
    return f"{len(trees)} CatBoost models that differ by seed ({loss}, {span(trees, 'trees')})"


def caution(*, folder: str | os.PathLike[str]) -> str:
    """A sentence if training ended too early or at the limit of its trees, or ""; see `catboost_data.caution`."""
    return catboost_data.caution(folder, "likelihood_boosting")
