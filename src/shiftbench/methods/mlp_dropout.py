"""An ensemble of plain networks with dropout, on when they predict too: the "MC dropout" of Shifts 2.0 (Malinin et al.
2022, appendix D.3; Gal and Ghahramani, ICML 2016).

Each draw of a member is one function: its masks are the same for all records, so what it says about one depends on no
other. Each record alone sees draws that are distributed like those of dropout drawn anew. See `mlp`.
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
    """Settings of `mlp_dropout` beside those of `mlp`; the defaults are the published ones.

    Attributes:
        dropout: of the outputs of every hidden layer.
        draws: how many functions of each member are drawn to predict.
    """

    dropout: float = 0.005
    draws: int = 10

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        return [*super().problems(), *above_zero("dropout", self.dropout, 0.9), *whole("draws", self.draws, 1, 1000)]


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
    """Train the members on `train` and write them to `folder`; see `mlp.fit`. Looks at dev_in are without dropout."""
    return stacked_data.train(
        "mlp_dropout", settings, (train, dev), features=features, target=target, fit_inputs=settings.scaling,
        folder=folder, progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian:
    """What the draws of the members say, draw by draw of each: [M·draws, N]; see `mlp.predict`."""
    return stacked_data.predict("mlp_dropout", frame, inputs=Scaling.from_json, folder=folder, cores=cores)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many networks of which size; nothing is done to the rows of `frame`."""
    settings = Settings.from_dict(fitted_folder.read(folder, "mlp_dropout")["settings"])
    steps = stacked_data.best_steps("mlp_dropout", folder, settings.members)
    return (
        f"{settings.members} networks with dropout {settings.dropout:g}, {settings.draws} draws of each "
        f"(layers of {settings.layers}, best after {steps})"
    )
