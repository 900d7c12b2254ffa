"""An ensemble of networks by variational inference: the "VI" of Shifts 2.0 (Malinin et al. 2022, appendix D.3).

Weights and biases have normal posteriors, independent of each other, and normal priors. Training makes the evidence
lower bound large, with one draw of the weights a step and signs for each record (Flipout: Wen et al., ICLR 2018); the
divergence from the prior is summed over all layers and divided by the number of training records. Looks at dev_in use
the means of the posterior. Each draw of a member to predict is one function, the same for all records. See `mlp`.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shiftbench.ensembles import Gaussian
from shiftbench.methods import fitted_folder, stacked_data
from shiftbench.methods.settings import above_zero, whole
from shiftbench.methods.stacked_data import LayeredSettings
from shiftbench.methods.stacked_inputs import Scaling

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(LayeredSettings):
    """Settings of `mlp_flipout` beside those of `mlp`; the defaults are the published ones.

    Attributes:
        prior_sd: standard deviation of the prior of every weight and bias; its mean is 0.
        draws: how many functions of each member are drawn to predict.
    """

    prior_sd: float = 1.0
    draws: int = 10

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        return [*super().problems(), *above_zero("prior_sd", self.prior_sd, 1e6), *whole("draws", self.draws, 1, 1000)]


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
    """Train the members on `train` and write them to `folder`; see `mlp.fit`."""
    return stacked_data.train(
        "mlp_flipout", settings, (train, dev), features=features, target=target, fit_inputs=settings.scaling,
        folder=folder, progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian:
    """What the draws of the members say, draw by draw of each: [M·draws, N]; see `mlp.predict`."""
    return stacked_data.predict("mlp_flipout", frame, inputs=Scaling.from_json, folder=folder, cores=cores)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many networks of which size; nothing is done to the rows of `frame`."""
    settings = Settings.from_dict(fitted_folder.read(folder, "mlp_flipout")["settings"])
    steps = stacked_data.best_steps("mlp_flipout", folder, settings.members)
    return (
        f"{settings.members} Bayesian networks (Flipout), {settings.draws} draws of each "
        f"(layers of {settings.layers}, best after {steps})"
    )
