"""One fitted FT-Transformer as an ensemble, with dropout active in prediction (Gal and Ghahramani, "Dropout as a
Bayesian Approximation", ICML 2016).

Each sample is one draw of the network: its masks are the same for all records, as a draw of weights would be. So
predictions of records are independent of one another; for each record alone the samples are distributed like those of
dropout drawn anew for each record.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError
from shiftbench.methods import fitted_folder, member_files, targets
from shiftbench.methods.contract import Fitted, Job, Method, Prepared, require_same_fit
from shiftbench.methods.networks.fitting import encoded_rows, ensemble
from shiftbench.methods.settings import MethodSettings, is_folder_name, seed_number, whole_number

NETWORK = "ft_transformer"


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `mc_dropout`.

    Attributes:
        of: the name of the folder of a fitted `ft_transformer` beside that of this method; its first member is used.
        samples: M, the number of draws of dropout.
        seed: of the draws.
    """

    of: str = ""
    samples: int = whole_number(10, 1, 1000)
    seed: int = seed_number()

    def problems(self) -> list[str]:
        """The problems of these values."""
        found = super().problems()
        if not is_folder_name(self.of):
            found.append(f"of: expected the name of a fitted {NETWORK} beside this method, found {self.of!r}.")
        return found


def prepare(job: Job) -> Prepared:
    """Check the network to be sampled, and record which it is; nothing is trained.

    Raises:
        TableError: naming the problems of the targets.
        SettingsError: if the network is not fitted, was fitted to another target, task or classes, or has no dropout.
    """
    from shiftbench.methods.networks import architectures

    targets.require(job.train, job.dev, target=job.target, settings=job.settings)
    network = job.folder.parent / job.settings.of
    record = _whole(network)
    wanted: dict[str, Any] = {"target": job.target, "task": job.settings.task}
    if job.settings.classes is not None:
        wanted["classes"] = list(job.settings.classes)
    require_same_fit(network, {**record, "task": record["settings"]["task"]}, wanted, "Name another, or fit it again.")
    options = architectures.transformer_options(record["settings"])
    if not any(options[name] for name in ("attention_dropout", "ffn_dropout", "residual_dropout")):
        raise SettingsError(f"{network}: expected a network with dropout, found none. Fit it with dropout above 0.")
    sizes = {"train": job.train.height, "dev_in": job.dev.height}
    return Prepared({"data": sizes, "network": fitted_folder.identity(network)})


def answer(frame: pl.DataFrame, fitted: Fitted) -> Gaussian | Categorical:
    """The predictions of M draws of the network; see `Method.predict`.

    Raises:
        SettingsError: if the network is missing, damaged, or was fitted again.
    """
    settings, network = _noted(fitted)
    record = _whole(network)
    outputs = _samples(network, record, encoded_rows(frame, record), settings, cores=fitted.cores)
    return ensemble(outputs, record, networks=settings.samples, records=frame.height)


def describe(frame: pl.DataFrame, fitted: Fitted) -> str:
    """The number of draws, and the network."""
    settings, _ = _noted(fitted)
    return f"{settings.samples} draws of the dropout of one network, the first of {settings.of}"


def _samples(
    network: Path, record: dict[str, Any], given: Any, settings: Settings, *, cores: int
) -> Iterator[npt.NDArray[np.float64]]:
    """The outputs of each draw, [1, N, O]."""
    import torch

    from shiftbench.methods.networks import architectures, member

    head = member.head(record)
    net, generator = member.load(network, record, 0), torch.Generator()
    dropouts = architectures.fix_dropout(net, generator)
    first = tuple(array[:1] for array in given)
    for sample in range(settings.samples):
        generator.manual_seed(int(np.random.SeedSequence([settings.seed, sample]).generate_state(1)[0]))
        for dropout in dropouts:
            dropout.mask = None
        member.outputs(net, head, first, cores=1)  # draws the masks, in the order of the layers
        yield member.outputs(net, head, given, cores=cores)


def _whole(network: Path) -> dict[str, Any]:
    """The record of the network, whose first member must be complete."""
    record = fitted_folder.read(network, NETWORK)
    member_files.weights(network).require(1)
    return record


def _noted(fitted: Fitted) -> tuple[Settings, Path]:
    """The settings and the folder of the network, which must be the recorded one."""
    settings = Settings.from_dict(fitted.record["settings"])
    network = fitted.folder.parent / settings.of
    fitted_folder.read(network, NETWORK)
    if fitted_folder.identity(network) != fitted.record["network"]:
        raise SettingsError(
            f"{network}: expected the network that this method was fitted with, found another fit. Fit "
            "this method again."
        )
    return settings, network


METHOD = Method(
    "mc_dropout", "Dropout of one FT-Transformer, drawn", Settings, prepare, answer, describe, "model",
    libraries=("torch", "rtdl_revisiting_models"), extra="neural",
)  # fmt: skip
