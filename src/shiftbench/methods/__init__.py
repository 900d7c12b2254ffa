"""Methods by name: baselines that learn from a train partition and then say something about any record.

Each is a module with the same four names, `Settings`, `fit`, `predict` and `about`, imported only when used, so
that its libraries are needed only by those who use it. What a method has learnt is a folder. A method that may have no
answer for some records has a fifth, `answered`.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast

from shiftbench.errors import UnknownNameError

if TYPE_CHECKING:
    import polars as pl

    from shiftbench.check import Flags
    from shiftbench.ensembles import Categorical, Gaussian
    from shiftbench.features import Features
    from shiftbench.methods.settings import MethodSettings

Progress = Callable[[int, int, str], None]
"""Called with what is done, all there is to do (steps, trees or members, as the method counts), and a sentence."""


class MethodModule(Protocol):
    """What the module of a method holds."""

    Settings: type[MethodSettings]

    def fit(
        self,
        train: pl.DataFrame,
        dev: pl.DataFrame,
        *,
        features: Features,
        target: str,
        settings: Any,
        folder: str | os.PathLike[str],
        cores: int | None = None,
        progress: Progress | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Learn from `train` (and `dev`, records like those of train) and write all that was learnt to `folder`."""

    def predict(
        self, frame: pl.DataFrame, *, folder: str | os.PathLike[str], cores: int | None = None
    ) -> Gaussian | Categorical:
        """What the members learnt into `folder` say about each row of `frame`."""

    def about(self, frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> str:
        """A sentence on what was learnt, and on anything that was done to the rows of `frame`."""


@dataclass(frozen=True)
class Method:
    """A method's name, what it is, the tasks it is for, and the module that holds it.

    role: "ensemble" where each member is a model that could stand alone, "model" where only all members together
    mean something, "baseline" for what is no model.
    """

    name: str
    title: str
    tasks: tuple[str, ...]
    module: str
    role: Literal["ensemble", "model", "baseline"] = "ensemble"

    def load(self) -> MethodModule:
        """The method's module, imported now."""
        return cast(MethodModule, importlib.import_module(f"shiftbench.methods.{self.module}"))


BOTH = ("regression", "classification")
METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method("boosting", "Ensemble of CatBoost models", BOTH, "boosting"),
        Method("likelihood_boosting", "CatBoost models that differ by seed, as published", BOTH, "likelihood_boosting"),
        Method("virtual_boosting", "Stages of one CatBoost model", BOTH, "virtual_boosting", "model"),
        Method("ft_transformer", "Ensemble of FT-Transformers", BOTH, "ft_transformer"),
        Method("mc_dropout", "Dropout of one FT-Transformer, drawn", BOTH, "mc_dropout", "model"),
        Method("tabm", "TabM, an ensemble in one network", BOTH, "tabm", "model"),
        Method("combination", "Fitted methods as one mixture", BOTH, "combination", "model"),
        Method("mlp", "Ensemble of plain networks", ("regression",), "mlp"),
        Method("mlp_dropout", "Ensemble of plain networks, dropout drawn", ("regression",), "mlp_dropout"),
        Method("mlp_flipout", "Ensemble of networks, variational (Flipout)", ("regression",), "mlp_flipout"),
        Method("symbolic", "Ensemble of networks made of ship physics", ("regression",), "symbolic"),
        Method("mean", "Training mean", ("regression",), "constant", "baseline"),
        Method("majority", "Training class frequencies", ("classification",), "constant", "baseline"),
        Method("column", "A column of the table as it stands", BOTH, "column", "baseline"),
    )
}


def method(name: str) -> Method:
    """The method of this name.

    Raises:
        UnknownNameError: if there is none; the message names the nearest.
    """
    if name not in METHODS:
        raise UnknownNameError("method", name, METHODS)
    return METHODS[name]


def fitted(folder: str | os.PathLike[str]) -> Method:
    """The method that was fitted into this folder.

    Raises:
        SettingsError: if none was.
    """
    from shiftbench.methods import fitted_folder

    return method(fitted_folder.read(folder, *METHODS)["method"])


def target_of(folder: str | os.PathLike[str]) -> str | None:
    """The target of the method that was fitted into this folder, where its record tells.

    Raises:
        SettingsError: if none was fitted.
    """
    from shiftbench.methods import fitted_folder

    found = fitted_folder.read(folder, *METHODS).get("target")
    return found if isinstance(found, str) else None


def answered(frame: pl.DataFrame, *, folder: str | os.PathLike[str]) -> Flags | None:
    """Which rows of `frame` [N] the method fitted into `folder` has an answer for; None where it has one for all.

    `predict` fills the gaps so that every array is whole; what it says there counts for nothing.
    """
    from shiftbench.methods import fitted_folder

    flags = getattr(fitted(folder).load(), "answered", None)
    with fitted_folder.using(folder):
        return None if flags is None else flags(frame, folder=folder)


def caution(folder: str | os.PathLike[str]) -> str:
    """A sentence if the training of the method fitted into `folder` makes its scores doubtful, or ""."""
    from shiftbench.methods import fitted_folder

    told = getattr(fitted(folder).load(), "caution", None)
    with fitted_folder.using(folder):
        return "" if told is None else str(told(folder=folder))
