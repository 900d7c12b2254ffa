"""An ensemble of plain networks that differ by seed only: the "DNN" of Shifts 2.0 (Malinin et al. 2022, appendix D.3).

Softplus layers, two outputs: the mean and, through softplus, the standard deviation of a normal distribution, trained
by its negative log-likelihood and stopped early on dev_in. All members train as one program whose layers are batched
products, on one core of a CPU or on a GPU, as if each were trained alone. A folder holds `settings.json`, and for each
member its weights and, written last, a file with their hash.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shiftbench.ensembles import Gaussian
from shiftbench.methods import fitted_folder, stacked_data
from shiftbench.methods.stacked_data import LayeredSettings
from shiftbench.methods.stacked_inputs import Scaling

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(LayeredSettings):
    """Settings of `mlp`; the defaults are the published ones: see `stacked_data`."""


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
    """Train the members on `train`, stopping each early on `dev`, and write them to `folder`.

    Killed at any moment and called again with the same arguments, it goes on from about a minute before, and (on a CPU)
    ends with the same files, byte for byte.

    Args:
        train: records [N] to learn from.
        dev: records like those of train (dev_in), for early stopping; all are used.
        features: the columns that the networks see.
        target: the column to predict.
        settings: see `Settings`.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: makes no difference: on a CPU one core is used.
        progress: called with looks at dev_in done, looks in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        TableError: naming what is wrong with the targets or the features.
        SettingsError: if a scale is of no numeric feature, or the folder is another fit's or cannot be written to.
        MissingExtraError: if PyTorch is not installed.
        ShiftbenchError: if a loss is not finite.
    """
    return stacked_data.train(
        "mlp", settings, (train, dev), features=features, target=target, fit_inputs=settings.scaling,
        folder=folder, progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian:
    """What the M members in `folder` say about the N rows of `frame`: [M, N].

    Standard deviations are at least a millionth of that of the training targets. On a GPU the last digits are others.

    Raises:
        TableError: if a feature is missing in `frame`, or of another type than it was trained with.
        SettingsError: if `folder` holds no fit of this method, or members that are missing or damaged.
        MissingExtraError: if PyTorch is not installed.
    """
    return stacked_data.predict("mlp", frame, inputs=Scaling.from_json, folder=folder, cores=cores)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many networks of which size; nothing is done to the rows of `frame`."""
    settings = Settings.from_dict(fitted_folder.read(folder, "mlp")["settings"])
    steps = stacked_data.best_steps("mlp", folder, settings.members)
    return f"{settings.members} networks that differ by seed (layers of {settings.layers}, best after {steps})"
