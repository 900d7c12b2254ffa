"""A network of vectors: tracks and polylines as tokens, D queries that attend to them and become a mixture of
trajectories, trained on the cNLL that is scored. An ensemble of such networks is the mixture of all their modes.

The encoder of polylines follows VectorNet (Gao et al., CVPR 2020), the queries Scene Transformer's and MTR's idea of
learnt modes (Ngiam et al., ICLR 2022; Shi et al., NeurIPS 2022), much smaller.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.ensembles import Mixture
from shiftbench.methods.settings import layer_width, non_negative, positive, whole_number
from shiftbench.methods.trajectories import fitting
from shiftbench.methods.trajectories.settings import TrajectorySettings

if TYPE_CHECKING:
    from shiftbench.methods.progress import Progress
    from shiftbench.methods.trajectories.dataset import TrajectoryDataset


@dataclass(frozen=True)
class Settings(TrajectorySettings):
    """Settings of `vector`; no paper has them.

    Attributes:
        batch, learning_rate, weight_decay, epochs, dropout: see `TrajectorySettings`.
        width: of tokens; a multiple of 8 from 16, and of the heads.
        heads: of each attention.
        mixing: blocks in which all tokens attend to each other; the expensive ones.
        layers: blocks in which the modes attend to each other and to the tokens.
        lines: how many polylines are seen, the nearest ones.
        modes: D; with five members 25 modes in all, as many as are scored.
        first_sigma_m: the standard deviation that training begins with, in metres; it ends with 1.
    """

    batch: int = whole_number(128, 2, 1_000_000)
    learning_rate: float = positive(5e-4, 1)
    weight_decay: float = non_negative(1e-4, 1)
    epochs: int = whole_number(60, 1, 100_000)
    dropout: float = non_negative(0.1, 0.9)
    width: int = layer_width(128)
    heads: int = whole_number(8, 1, 256)
    mixing: int = whole_number(2, 0, 100)
    layers: int = whole_number(3, 1, 100)
    lines: int = whole_number(128, 1, 100_000)
    modes: int = whole_number(5, 1, 1000)
    first_sigma_m: float = positive(5.0, 1000)

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if not found and self.width % self.heads:
            found.append(f"heads: expected a divisor of the width {self.width}, found {self.heads}.")
        return found


def fit(
    train: TrajectoryDataset,
    dev: TrajectoryDataset,
    *,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Train the members on `train`, keep the weights of the lowest cNLL on `dev`; see `cloning.fit`."""
    return fitting.fit(
        "vector", settings, (train, dev), folder=folder, cores=cores, progress=progress, overwrite=overwrite
    )


def predict(
    dataset: TrajectoryDataset,
    *,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    ensemble: str = "deep",
) -> Mixture:
    """The mixture of each member for each request; `Mixture.merged` makes one of them.

    "deep": the M networks are the members. "dropout": the first network under M sets of masks, the same for all
    requests. Errors are those of `cloning.predict`. All is in memory: 4 bytes for each number [M, N, D, T, 2] and 8 for
    each weight.
    """
    fitting.require_torch("vector")
    from shiftbench.methods.trajectories import answers

    return answers.mixtures("vector", dataset, folder=folder, cores=cores, progress=progress, ensemble=ensemble)
