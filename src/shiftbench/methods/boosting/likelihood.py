"""The published ensemble of CatBoost models: they differ by seed only, and each is stopped early on dev_in.

Regression: loss RMSEWithUncertainty, so that each member predicts a mean and a variance (Malinin, Prokhorenkova and
Ustimenko, "Uncertainty in Gradient Boosting via Ensembles", ICLR 2021, eq. 7). Classification: loss MultiClass.

Every member is trained on one core, so that no result depends on the number of cores; members train side by
side. A folder holds `settings.json`, and for each member its model and, written last, a file with its hash.
"""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

from shiftbench.methods.boosting import model
from shiftbench.methods.boosting.fitting import BoostingSettings, Plan, boosted, outputs_of_models
from shiftbench.methods.contract import Fitted, Job
from shiftbench.methods.member_files import span
from shiftbench.methods.settings import switch


@dataclass(frozen=True)
class Settings(BoostingSettings):
    """Settings of `likelihood_boosting`.

    Attributes:
        gpu: train on a GPU, one member after the other. Its sums have no fixed order: the models are other ones
            than on a CPU, and not the same ones twice.
    """

    gpu: bool = switch(False)


def plan(job: Job) -> Plan:
    """A model for each member."""
    return Plan(job.settings.members, {"task_type": "GPU"} if job.settings.gpu else {})


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """How many models with how many trees."""
    trees = model.trees(fitted.folder, fitted.record["models"])
    loss = fitted.record["losses"][0]
    return f"{len(trees)} CatBoost models that differ by seed ({loss}, {span(trees, 'trees')})"


METHOD = boosted(
    "likelihood_boosting", "CatBoost models that differ by seed, as published", Settings, plan=plan,
    answer=outputs_of_models, describe=describe,
)  # fmt: skip
