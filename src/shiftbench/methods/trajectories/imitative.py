"""Deep imitative model: MobileNetV2 and an autoregressive flow from noise to positions (Rhinehart et al., ICLR 2020;
Shifts 1.0, Malinin et al. 2021, appendix E.4), for robust imitative planning.

The flow feeds each position that it makes back to its GRU. Trained by likelihood; see `cloning` for the rest.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.ensembles import Trajectories
from shiftbench.methods.trajectories import fitting
from shiftbench.methods.trajectories.settings import PlannerSettings

if TYPE_CHECKING:
    from shiftbench.methods.progress import Progress
    from shiftbench.methods.trajectories.dataset import TrajectoryDataset


@dataclass(frozen=True)
class Settings(PlannerSettings):
    """Settings of `imitative`: those of all networks of maps."""


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
    """Train the members on `train` and write them to `folder`; see `cloning.fit`."""
    return fitting.fit(
        "imitative", settings, (train, dev), folder=folder, cores=cores, progress=progress, overwrite=overwrite
    )


def predict(
    dataset: TrajectoryDataset,
    *,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    ensemble: str = "deep",
) -> Trajectories:
    """Q plans of each member for each request, all scored under all members; see `cloning.predict`."""
    fitting.require_torch("imitative")
    from shiftbench.methods.trajectories import answers

    return answers.plans("imitative", dataset, folder=folder, cores=cores, progress=progress, ensemble=ensemble)
