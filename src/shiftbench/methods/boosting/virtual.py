"""One CatBoost model that is an ensemble by itself: its members are the model as it stood at several of its trees.

Trained with noise in its gradients and a shrinking of what was learnt before (Ustimenko and Prokhorenkova, "SGLB:
Stochastic Gradient Langevin Boosting", ICML 2021), a model that has converged wanders among the models that the data
allow. So the later half of its training is a virtual ensemble at the cost of one model (Malinin, Prokhorenkova and
Ustimenko, "Uncertainty in Gradient Boosting via Ensembles", ICLR 2021, section 4).

With T trees, member m of M (counted from 1) is the model after T - (M - m)·⌊T / 2M⌋ trees; the last one is the whole
model. Neighbours share most of their trees: they differ less than models trained apart.

dev_in chooses T, as for any boosting: every member is a model that stood there, whatever T is. But a model that stops
soon has not wandered yet: its members then show how it learnt more than what the data leave open. To come closer to
samples of a posterior, give a small learning rate and many iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods.boosting import model
from shiftbench.methods.boosting.fitting import BoostingSettings, Outputs, Plan, boosted, ensemble
from shiftbench.methods.contract import Fitted, Job


@dataclass(frozen=True)
class Settings(BoostingSettings):
    """Settings of `virtual_boosting`: `members` M are virtual; the model gets at least 2M trees.

    `iterations`, the most trees it may have, and `early_stopping`, those without gain on dev_in after which it stops,
    are at least 2M. It is trained on one core, and never on a GPU, where CatBoost cannot sample.
    """

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        return super().problems() or [
            f"{name}: expected at least {2 * self.members} (twice the members), found {value}. "
            "Take more, or fewer members."
            for name, value in (("iterations", self.iterations), ("early_stopping", self.early_stopping))
            if value < 2 * self.members
        ]


def plan(job: Job) -> Plan:
    """One model."""
    fewest = 2 * job.settings.members  # with early_stopping at least as large it is always reached
    return Plan(1, {"posterior_sampling": True, "best_model_min_trees": fewest})


def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The prediction of the M virtual members; see `Method.predict`."""
    whole = model.load(fitted.folder, 1)[0]
    members = fitted.record["settings"]["members"]

    def outputs(pool: Any, _arrays: Any) -> Iterator[Outputs]:
        found = whole.virtual_ensembles_predict(
            pool, prediction_type="VirtEnsembles", virtual_ensembles_count=members, thread_count=fitted.cores
        )  # [N, M, …]
        by_member = (found[:, m] for m in range(members))
        return by_member if fitted.record["classes"] is None else map(_softmax, by_member)

    return ensemble(frame, fitted.record, members=members, outputs=outputs)


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """How many trees, and which of them make the members."""
    (trees,) = model.trees(fitted.folder, 1)
    members, loss = fitted.record["settings"]["members"], fitted.record["losses"][0]
    first = trees - (members - 1) * (trees // (2 * members))
    return f"{members} virtual members of one CatBoost model (SGLB, {loss}): its first {first} to all {trees} trees"


def _softmax(logits: Outputs) -> Outputs:
    """Probabilities of logits [N, K]."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


METHOD = boosted(
    "virtual_boosting", "Stages of one CatBoost model", Settings, plan=plan, answer=answer, describe=describe,
    role="model",
)  # fmt: skip
