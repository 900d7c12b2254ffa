"""One CatBoost model that is an ensemble by itself: its members are the model as it stood at several of its trees.

Trained with noise in its gradients and a shrinking of what was learnt before (Ustimenko and Prokhorenkova, "SGLB:
Stochastic Gradient Langevin Boosting", ICML 2021), a model that has converged wanders among the models that the data
allow. So the later half of its training is a virtual ensemble at the cost of one model (Malinin, Prokhorenkova and
Ustimenko, "Uncertainty in Gradient Boosting via Ensembles", ICLR 2021, section 4).

With T trees, member m of M (counted from 1) is the model after T - (M - m)·⌊T / 2M⌋ trees; the last one is the whole
model. Neighbours share most of their trees: they differ less than models trained apart.

dev_in chooses T, as for any boosting: every member is a model that stood there, whatever T is. But a model that stops
soon has not wandered yet: its members then tell how it learnt more than what the data leave open. To come closer to
samples of a posterior, give a small learning rate and many iterations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import catboost_data, catboost_member, fitted_folder, workers
from shiftbench.methods.settings import MethodSettings, above_zero, whole

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `virtual_boosting`; the defaults suit tables of a thousand to a million rows.

    Attributes:
        members: M, the number of virtual members; the model gets at least 2M trees.
        iterations: the most trees the model may have, at least 2M.
        depth: of each tree.
        learning_rate: the weight of each tree.
        early_stopping: trees without gain on dev_in after which the model stops growing, at least 2M; the best
            ones are kept.
        seed: of the model.
    """

    members: int = 10
    iterations: int = 1000
    depth: int = 6
    learning_rate: float = 0.05
    early_stopping: int = 50
    seed: int = 0

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
        if found:
            return found
        return [
            f"{name}: expected at least {2 * self.members} (twice the members), found {value}. "
            "Take more, or fewer members."
            for name, value in (("iterations", self.iterations), ("early_stopping", self.early_stopping))
            if value < 2 * self.members
        ]


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
    """Train the model on `train`, stopping early on `dev`, and write it to `folder`; see `boosting.fit`.

    It is trained on one core, so that no result depends on the number of cores, and never on a GPU, where CatBoost
    cannot sample.
    """
    options = {
        "posterior_sampling": True,
        "best_model_min_trees": 2 * settings.members,  # with early_stopping at least as large it is always reached
    }
    return catboost_data.train(
        catboost_data.Plan("virtual_boosting", settings, 1, options), (train, dev), features=features, target=target,
        folder=folder, cores=cores, progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What the M virtual members say about the N rows of `frame`: [M, N] or [M, N, C]; see `boosting.predict`."""
    record = fitted_folder.read(folder, "virtual_boosting")
    model = catboost_member.load(Path(folder), 1)[0]
    members, count = record["settings"]["members"], workers.available(cores)

    def outputs(pool: Any, _arrays: Any) -> Iterator[catboost_data.Outputs]:
        said = model.virtual_ensembles_predict(
            pool, prediction_type="VirtEnsembles", virtual_ensembles_count=members, thread_count=count
        )  # [N, M, …]
        by_member = (said[:, m] for m in range(members))
        return by_member if record["classes"] is None else map(_probabilities, by_member)

    return catboost_data.ensemble(frame, record, members=members, outputs=outputs)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many trees, and which of them make the members; nothing is done to the rows of `frame`."""
    record = fitted_folder.read(folder, "virtual_boosting")
    (trees,) = catboost_member.trees(Path(folder), 1)
    members, loss = record["settings"]["members"], record["losses"][0]
    first = trees - (members - 1) * (trees // (2 * members))
    return f"{members} virtual members of one CatBoost model (SGLB, {loss}): its first {first} to all {trees} trees"


def caution(*, folder: str | os.PathLike[str]) -> str:
    """A sentence if training ended too early or at the limit of its trees, or ""; see `catboost_data.caution`."""
    return catboost_data.caution(folder, "virtual_boosting")


def _probabilities(logits: catboost_data.Outputs) -> catboost_data.Outputs:
    """The softmax of logits [N, K]."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))
