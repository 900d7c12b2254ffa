"""What the methods share whose members train as one stack: settings, from tables to a folder of weights, and back.

PyTorch is imported only when something is trained or predicted.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
import polars as pl

from shiftbench.ensembles import Gaussian
from shiftbench.errors import MissingExtraError, TableError
from shiftbench.methods import fitted_folder, workers
from shiftbench.methods.goals import goals
from shiftbench.methods.settings import MethodSettings, above_zero, whole
from shiftbench.methods.stacked_inputs import Scaling
from shiftbench.methods.tally import span

if TYPE_CHECKING:
    from shiftbench.features import Features
    from shiftbench.methods import Progress
    from shiftbench.methods.member_files import Arrays

SCALES: Mapping[str, float] = {"timeSinceDryDock": 4_324_320.0}  # minutes: 8.2 years, called about 8 by its authors


class Inputs(Protocol):
    """How the records of a table become what networks take."""

    def encode(self, frame: pl.DataFrame) -> npt.NDArray[np.float32]:
        """The records of a table [N, D]."""

    def to_json(self) -> dict[str, Any]:
        """Plain JSON values."""


@dataclass(frozen=True)
class StackSettings(MethodSettings):
    """What all stacked networks must be told; the defaults are those of Shifts 2.0 (appendix D.3 and public code).

    Attributes:
        members: M, the number of networks. One program trains all of them.
        batch: records of each member in a step.
        learning_rate: of Adam; the highest, if it falls.
        cosine: let the learning rate fall to 0 along half a cosine over all steps that there may be.
        weight_decay: of AdamW; without it AdamW is Adam.
        epochs: the most times that a record is seen. After each, and at the end, all of dev_in is looked at.
        most_steps: the most steps, so that the cost has a bound however many records there are; None: no bound.
        patience: looks at dev_in without a smaller mean absolute error, of the mean prediction, after which a member
            stops; its best weights are kept.
        seed: the members' own seeds follow from it; ensembles with different seeds share no member.
    """

    members: int = 10
    batch: int = 32
    learning_rate: float = 1e-4
    cosine: bool = False
    weight_decay: float = 0.0
    epochs: int = 200
    most_steps: int | None = None
    patience: int = 4
    seed: int = 0

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if self.task == "classification":
            found.append("task: expected regression, found 'classification'. Choose another method.")
        found += [
            *whole("members", self.members, 1, 1000),
            *whole("batch", self.batch, 1, 1_000_000),
            *above_zero("learning_rate", self.learning_rate, 1),
            *from_zero("weight_decay", self.weight_decay, 1),
            *whole("epochs", self.epochs, 1, 100_000),
            *([] if self.most_steps is None else whole("most_steps", self.most_steps, 1, 100_000_000)),
            *whole("patience", self.patience, 1, 100_000),
            *whole("seed", self.seed, 0, 2**63 - 1),
        ]
        if not isinstance(self.cosine, bool):
            found.append(f"cosine: expected true or false, found {self.cosine!r}.")
        return found


@dataclass(frozen=True)
class LayeredSettings(StackSettings):
    """What networks of plain layers must be told beside.

    Attributes:
        hidden: widths of the hidden layers.
        scales: for columns that are not to be standardised: what they are divided by. If None, `timeSinceDryDock`, if
            there is such a column, is divided by 4,324,320 minutes, as published.
    """

    hidden: tuple[int, ...] = (50, 20)
    scales: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.hidden, list):
            object.__setattr__(self, "hidden", tuple(self.hidden))
        super().__post_init__()

    def problems(self) -> list[str]:
        """Everything that is wrong with these values."""
        found = super().problems()
        if not isinstance(self.hidden, tuple) or not self.hidden:
            found.append(f"hidden: expected the widths of one or more layers, found {self.hidden!r}.")
        else:
            found += [text for width in self.hidden for text in whole("hidden", width, 1, 65_536)]
        if self.scales is not None and not isinstance(self.scales, Mapping):
            found.append(f"scales: expected a table of columns and divisors, found {self.scales!r}.")
        elif self.scales is not None:
            found += [text for name, value in self.scales.items() for text in above_zero(f"scales.{name}", value, 1e30)]
        return found

    @property
    def layers(self) -> str:
        """The widths, for people."""
        return ", ".join(map(str, self.hidden))

    def scaling(self, train: pl.DataFrame, features: Features) -> Scaling:
        """The scaling that train asks for; see `Scaling.fit`."""
        published = {name: value for name, value in SCALES.items() if name in features.numeric}
        return Scaling.fit(train, features, published if self.scales is None else self.scales)


def from_zero(name: str, value: Any, high: float) -> list[str]:
    """The problem, if any, of a value that must be 0 or a number above 0 and at most `high`."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and value == 0:
        return []
    return [text.replace("above 0 and", "from 0 to") for text in above_zero(name, value, high)]


def require_torch(method: str) -> None:
    """Check that PyTorch is there, and import it.

    Raises:
        MissingExtraError: if it is not.
    """
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise MissingExtraError(
            f"method {method}: expected torch, found: {error}. Install it: pip install 'shiftbench[neural]'"
        ) from None


def train(
    method: str,
    settings: StackSettings,
    parts: tuple[pl.DataFrame, pl.DataFrame],
    *,
    features: Features,
    target: str,
    fit_inputs: Callable[[pl.DataFrame, Features], Inputs],
    folder: str | os.PathLike[str],
    progress: Progress | None,
    overwrite: bool,
) -> Path:
    """Train the stack on (train, dev_in), if `folder` does not hold it yet; see `mlp.fit`."""
    require_torch(method)
    wanted = goals(*parts, target=target, settings=settings)
    inputs = fit_inputs(parts[0], features)
    data: Arrays = {}
    for part, frame, goal in zip(("train", "dev"), parts, (wanted.train, wanted.dev), strict=True):
        data |= {f"{part}_numbers": inputs.encode(frame), f"{part}_targets": goal.astype(np.float32)}
    record = {
        "method": method,
        "settings": settings.to_dict(),
        "target": target,
        "data": {"train": parts[0].height, "dev_in": parts[1].height, "sha256": fitted_folder.digest(data)},
        "libraries": {"torch": importlib.metadata.version("torch")},
        "inputs": inputs.to_json(),
        "width": data["train_numbers"].shape[1],
        **wanted.facts,
    }
    place = fitted_folder.claim(folder, record, overwrite=overwrite)
    from shiftbench.methods import stacked_fit

    stacked_fit.train_missing(place, data, progress)
    return place


def predict(
    method: str,
    frame: pl.DataFrame,
    *,
    inputs: Callable[[Mapping[str, Any]], Inputs],
    folder: str | os.PathLike[str],
    cores: int | None,
) -> Gaussian:
    """What the members in `folder` say about the rows of `frame`, [M·draws, N]; see `mlp.predict`."""
    record = fitted_folder.read(folder, method)
    require_torch(method)
    if not frame.height:
        raise TableError("expected at least one record to predict, found none.")
    from shiftbench.methods import stacked_fit

    stack = stacked_fit.load(Path(folder), record)
    numbers = inputs(record["inputs"]).encode(frame)
    return stacked_fit.answers(stack, record, numbers, cores=workers.available(cores))


def best_steps(method: str, folder: str | os.PathLike[str], members: int) -> str:
    """After how many steps the members were at their best, for people."""
    require_torch(method)
    from shiftbench.methods import stacked_fit

    kept = stacked_fit.files_in(Path(folder))
    kept.require(members)
    return span([kept.note(member)["best_step"] for member in range(members)], "steps")
