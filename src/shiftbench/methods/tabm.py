"""TabM: an ensemble inside one network (Gorishniy, Kotelnikov and Babenko, "TabM: Advancing Tabular Deep Learning with
Parameter-Efficient Ensembling", ICLR 2025).

K submodels share the weights of one network of plain layers but for a few scales of their own, and are trained
together, each by its own loss. It is the modern choice because one training gives what a deep ensemble takes ten for: K
answers that disagree where the data say little. In its authors' comparison over 46 tables it came before the
transformers, FT-Transformer among them; and without attention its time grows with the number of columns and not with
its square. It came years after Shifts, whose paper could not have it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.methods import fitted_folder, neural_data
from shiftbench.methods.neural_data import NeuralSettings, from_zero, layer_width
from shiftbench.methods.settings import whole

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(NeuralSettings):
    """Settings of `tabm` beside those of all networks; the defaults are those of the authors' library.

    Attributes:
        submodels: K, the submodels in each network; the ensemble has members·K.
        blocks: layers of each submodel.
        width: of each layer; a multiple of 8.
        dropout: after each layer.
    """

    members: int = 1
    learning_rate: float = 2e-3
    weight_decay: float = 3e-4
    submodels: int = 32
    blocks: int = 3
    width: int = 512
    dropout: float = 0.1

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        return [
            *super().problems(),
            *whole("submodels", self.submodels, 1, 1024),
            *whole("blocks", self.blocks, 1, 64),
            *layer_width(self.width),
            *from_zero("dropout", self.dropout, 0.9),
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
    """Train the networks on `train` and write them to `folder`; see `ft_transformer.fit`.

    Each is stopped early by what its submodels say together about `dev`.
    """
    return neural_data.train(
        "tabm", settings, (train, dev), features=features, target=target, folder=folder, cores=cores,
        progress=progress, overwrite=overwrite,
    )  # fmt: skip


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What all submodels in `folder` say about the N rows of `frame`: [M, N] or [M, N, C], M = members·submodels.

    See `ft_transformer.predict`.
    """
    return neural_data.predict("tabm", frame, folder=folder, cores=cores)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many networks with how many submodels; nothing is done to the rows of `frame`."""
    settings = Settings.from_dict(fitted_folder.read(folder, "tabm")["settings"])
    networks = "one network" if settings.members == 1 else f"each of {settings.members} networks"
    size = f"{settings.blocks} blocks of {settings.width}"
    steps = neural_data.best_steps("tabm", folder, settings.members)
    return f"TabM: {settings.submodels} submodels in {networks} ({size}, best after {steps})"
