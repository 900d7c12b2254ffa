"""One fitted FT-Transformer as an ensemble, by leaving dropout on when it predicts (Gal and Ghahramani, "Dropout as a
Bayesian Approximation", ICML 2016).

Each sample is one draw of the network: its masks are the same for all records, as a draw of weights would be. So what
it says about a record depends on no other; for each record alone the samples are distributed like those of dropout
drawn anew for each record.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench import files
from shiftbench.ensembles import Categorical, Gaussian
from shiftbench.errors import SettingsError
from shiftbench.methods import fitted_folder, neural_data, targets, workers
from shiftbench.methods.settings import MethodSettings, is_folder_name, whole

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress


@dataclass(frozen=True)
class Settings(MethodSettings):
    """Settings of `mc_dropout`.

    Attributes:
        of: the folder of a fitted `ft_transformer`, by its name beside that of this method; its first member is used.
        samples: M, how many times dropout is drawn.
        seed: of the draws.
    """

    of: str = ""
    samples: int = 10
    seed: int = 0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = [
            *super().problems(),
            *whole("samples", self.samples, 1, 1000),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]
        if not isinstance(self.of, str) or not is_folder_name(self.of):
            found.append(f"of: expected the name of a fitted ft_transformer beside this method, found {self.of!r}.")
        return found


def fit(
    train: pl.DataFrame,
    dev: pl.DataFrame,
    *,
    features: Features | None = None,
    target: str,
    settings: Settings,
    folder: str | os.PathLike[str],
    cores: int | None = None,
    progress: Progress | None = None,
    overwrite: bool = False,
) -> Path:
    """Check the network that is to be sampled, and note in `folder` which it is: nothing is learnt.

    The targets are checked; `features` and `cores` make no difference.

    Raises:
        TableError: naming what is wrong with the targets.
        SettingsError: if the network is not fitted, or to another target, task or classes, or has no dropout; or if
            the folder is another fit's, or cannot be written to.
        MissingExtraError: if PyTorch or a library of the networks is not installed.
    """
    targets.require(train, dev, target=target, settings=settings)
    place = Path(folder)
    network = place.parent / settings.of
    _require_fitting(network, _of(network), target, settings)
    record = {
        "method": "mc_dropout",
        "settings": settings.to_dict(),
        "target": target,
        "data": {"train": train.height, "dev_in": dev.height},
        "network": files.sha256(network / fitted_folder.RECORD),
    }
    fitted_folder.claim(place, record, overwrite=overwrite)
    if progress:
        progress(1, 1, f"{settings.samples} samples of {settings.of}")
    return place


def predict(frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None) -> Gaussian | Categorical:
    """What M draws of the network say about the N rows of `frame`: [M, N] or [M, N, C]; see `ft_transformer.predict`.

    Raises:
        TableError: if a feature is missing in `frame`, or of another type than it was trained with.
        SettingsError: if `folder` holds no fit of this method, or the network is gone, damaged, or was fitted anew.
        MissingExtraError: if PyTorch or a library of the networks is not installed.
    """
    settings, network = _fitted(folder)
    record = _of(network)
    given = neural_data.rows(frame, record)
    outputs = _samples(network, record, given, settings, cores=workers.available(cores))
    return neural_data.ensemble(outputs, record, networks=settings.samples, records=frame.height)


def about(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
    """How many draws of which network; nothing is done to the rows of `frame`."""
    settings, _ = _fitted(folder)
    return f"{settings.samples} draws of the dropout of one network, the first of {settings.of}"


def _samples(
    network: Path, record: dict[str, Any], given: Any, settings: Settings, *, cores: int
) -> Iterator[npt.NDArray[np.float64]]:
    """What each draw says, [1, N, O]."""
    import torch

    from shiftbench.methods import neural_member, neural_nets

    says = neural_member.head(record)
    net, generator = neural_member.load(network, record, 0), torch.Generator()
    dropouts = neural_nets.fix_dropout(net, generator)
    first = tuple(array[:1] for array in given)
    for sample in range(settings.samples):
        generator.manual_seed(int(np.random.SeedSequence([settings.seed, sample]).generate_state(1)[0]))
        for dropout in dropouts:
            dropout.mask = None
        neural_member.answers(net, says, first, cores=1)  # draws the masks, in the order of the layers
        yield neural_member.answers(net, says, given, cores=cores)


def _of(network: Path) -> dict[str, Any]:
    """The record of the network, which must be whole."""
    record = fitted_folder.read(network, "ft_transformer")
    neural_data.require_libraries("ft_transformer")
    from shiftbench.methods import neural_member

    neural_member.files_in(network).require(1)
    return record


def _require_fitting(network: Path, record: dict[str, Any], target: str, settings: Settings) -> None:
    from shiftbench.methods import neural_nets

    found = {"target": record["target"], "task": record["settings"]["task"]}
    wanted: dict[str, Any] = {"target": target, "task": settings.task}
    if settings.classes is not None:
        found["classes"], wanted["classes"] = record["classes"], list(settings.classes)
    problems = [
        f"{network}: expected a fit to the {what} {value!r}, found {found[what]!r}. Name another, or fit it again."
        for what, value in wanted.items()
        if found[what] != value
    ]
    options = neural_nets.transformer_options(record["settings"])
    if not any(options[name] for name in ("attention_dropout", "ffn_dropout", "residual_dropout")):
        problems.append(f"{network}: expected a network with dropout, found none. Fit it with dropout above 0.")
    if problems:
        raise SettingsError(*problems)


def _fitted(folder: str | os.PathLike[str]) -> tuple[Settings, Path]:
    """The settings and the folder of the network, which must be the one that was noted."""
    record = fitted_folder.read(folder, "mc_dropout")
    settings = Settings.from_dict(record["settings"])
    network = Path(folder).parent / settings.of
    fitted_folder.read(network, "ft_transformer")
    if files.sha256(network / fitted_folder.RECORD) != record["network"]:
        raise SettingsError(
            f"{network}: expected the network that was to be sampled, found another fit. Fit this method again."
        )
    return settings, network
