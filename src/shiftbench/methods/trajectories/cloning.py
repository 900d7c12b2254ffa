"""Behavioural cloning: MobileNetV2 and a GRU that predicts, step by step, where the vehicle goes next (Shifts 1.0,
Malinin et al. 2021, appendix E.4), for robust imitative planning with a deep or a dropout ensemble.

A folder holds `settings.json`, and for each member its weights and, written last, a file with their hash.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from shiftbench.ensembles import Trajectories
from shiftbench.methods.trajectories import fitting
from shiftbench.methods.trajectories.settings import PlannerSettings, one_of

if TYPE_CHECKING:
    from shiftbench.methods.progress import Progress
    from shiftbench.methods.trajectories.dataset import TrajectoryDataset


@dataclass(frozen=True)
class Settings(PlannerSettings):
    """Settings of `cloning` beside those of all networks of maps.

    Attributes:
        generation: what a step is conditioned on in training: "sampling" (the published one) on the network's own
            samples, "teacher_forcing" on the true positions before. Plans are sampled and scored alike after both.
    """

    generation: str = one_of("sampling", "teacher_forcing")


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
    """Train the members on `train`, keep the weights that are best on `dev`, and write them to `folder`.

    Killed at any moment and called again with the same arguments, it goes on from about a minute before, and (on a CPU)
    ends with the same weights, bit for bit, for any number of cores.

    Args:
        train: requests [N], N >= 2, to learn from.
        dev: requests like those of train (dev_in); of more than 10,000, a sample of 10,000 is used.
        settings: see `Settings`.
        folder: a fresh folder, or that of the same fit begun earlier.
        cores: processes at a time, one thread each, one member in each; all available ones if None. On GPUs one member
            on each.
        progress: called with steps done, steps in all, and a sentence.
        overwrite: delete another fit in `folder` instead of refusing it.

    Raises:
        ArrayError: naming requests whose targets or inputs are not finite, or of another form.
        SettingsError: if the folder is another fit's or cannot be written to, or train and dev are of other forms.
        MissingExtraError: if PyTorch is not installed.
        ShiftbenchError: if a loss is not finite, naming the request.
    """
    return fitting.fit(
        "cloning", settings, (train, dev), folder=folder, cores=cores, progress=progress, overwrite=overwrite
    )


def predict(
    dataset: TrajectoryDataset,
    *,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    ensemble: str = "deep",
) -> Trajectories:
    """Q plans of each member for each request, all scored under all members: every number of members and every
    aggregation of robust imitative planning follow from them.

    "deep": the K networks are the members. "dropout": the first network under K sets of masks; member k scores all
    plans under one set of its own and makes each of its Q plans under another, all drawn from the seed and the same for
    all requests. Which random numbers a plan is made of follows from the request's map, so no number depends on blocks,
    cores or the order of the requests.

    The result is held in memory: 4 bytes for each number of the plans [K, N, Q, T, 2] and 8 for each score
    [K, N, K·Q], 12 KB a request with 5 members of 10 plans, 6 GB for 500,000. Blocks take little more.

    Args:
        dataset: the requests [N].
        folder: of the fit.
        cores: blocks of requests at a time on a CPU; all cores if None.
        progress: called with requests done, requests in all, and a sentence.
        ensemble: see above.

    Raises:
        ArrayError: if there are no requests, or inputs are not finite.
        SettingsError: if `folder` holds no fit of this method, members that are missing or damaged, or networks that
            were trained on inputs of another form.
        MissingExtraError: if PyTorch is not installed.
        ShiftbenchError: if the plans will not fit into memory, naming how many requests do: `select` so many.
    """
    fitting.require_torch("cloning")
    from shiftbench.methods.trajectories import answers

    return answers.plans("cloning", dataset, folder=folder, cores=cores, progress=progress, ensemble=ensemble)
